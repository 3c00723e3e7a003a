//! Operations on sixteen bytes at once: WebAssembly SIMD instructions if the target has them, otherwise plain code, so
//! that the tests run natively.

#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
use vector as imp;

#[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
use plain as imp;

pub use imp::{Block, Table};

/// Number of bytes of a block.
pub const LANES: usize = 16;

#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
mod vector {
    use core::arch::wasm32::{
        u8x16_bitmask, u8x16_eq, u8x16_lt, u8x16_shr, u8x16_splat, u8x16_swizzle, v128, v128_and, v128_any_true,
        v128_load, v128_or, v128_store,
    };

    use super::LANES;

    /// A table from the value of half a byte to a set of bits.
    #[derive(Clone, Copy)]
    pub struct Table(v128);

    impl Default for Table {
        fn default() -> Self {
            Self(u8x16_splat(0))
        }
    }

    impl Table {
        /// Adds `bits` for the value `half`.
        pub fn add(&mut self, half: u8, bits: u8) {
            let mut bytes = Block(self.0).bytes();
            if let Some(entry) = bytes.get_mut(usize::from(half)) {
                *entry |= bits;
            }
            self.0 = Block::load(&bytes).0;
        }
    }

    /// Sixteen bytes.
    #[derive(Clone, Copy)]
    pub struct Block(v128);

    impl Block {
        /// Returns a block with the same byte in every lane.
        #[inline(always)]
        pub fn of(byte: u8) -> Self {
            Self(u8x16_splat(byte))
        }

        /// Returns a block with these bytes.
        #[inline(always)]
        pub fn load(bytes: &[u8; LANES]) -> Self {
            #[expect(unsafe_code, reason = "the array has the sixteen bytes that are loaded, of any alignment")]
            Self(unsafe { v128_load(bytes.as_ptr().cast()) })
        }

        /// Returns the low half of each byte.
        #[inline(always)]
        pub fn low(self) -> Self {
            Self(v128_and(self.0, u8x16_splat(0x0f)))
        }

        /// Returns the high half of each byte.
        #[inline(always)]
        pub fn high(self) -> Self {
            Self(u8x16_shr(self.0, 4))
        }

        /// Looks up each byte, the value of half a byte, in `table`.
        #[inline(always)]
        pub fn pick(self, table: &Table) -> Self {
            Self(u8x16_swizzle(table.0, self.0))
        }

        /// Returns the bits that are set in both blocks.
        #[inline(always)]
        pub fn and(self, other: Self) -> Self {
            Self(v128_and(self.0, other.0))
        }

        /// Returns the bits that are set in either block.
        #[inline(always)]
        pub fn or(self, other: Self) -> Self {
            Self(v128_or(self.0, other.0))
        }

        /// Sets all bits of the lanes in which both blocks have the same byte, and no other bits.
        #[inline(always)]
        pub fn equals(self, other: Self) -> Self {
            Self(u8x16_eq(self.0, other.0))
        }

        /// Sets all bits of the lanes that are less than those of `other`, and no other bits.
        #[inline(always)]
        pub fn below(self, other: Self) -> Self {
            Self(u8x16_lt(self.0, other.0))
        }

        /// Returns the highest bit of each lane, that of the first lane as the lowest bit.
        #[inline(always)]
        pub fn bits(self) -> u32 {
            u32::from(u8x16_bitmask(self.0))
        }

        /// Returns whether any bit is set.
        #[inline(always)]
        pub fn any(self) -> bool {
            v128_any_true(self.0)
        }

        /// Returns the bytes.
        pub fn bytes(self) -> [u8; LANES] {
            let mut bytes = [0; LANES];
            #[expect(unsafe_code, reason = "the array has the sixteen bytes that are stored, of any alignment")]
            unsafe {
                v128_store(bytes.as_mut_ptr().cast(), self.0);
            }
            bytes
        }
    }
}

#[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
mod plain {
    use super::LANES;

    /// A table from the value of half a byte to a set of bits.
    #[derive(Clone, Copy, Default)]
    pub struct Table([u8; LANES]);

    impl Table {
        /// Adds `bits` for the value `half`.
        pub fn add(&mut self, half: u8, bits: u8) {
            if let Some(entry) = self.0.get_mut(usize::from(half)) {
                *entry |= bits;
            }
        }
    }

    /// Sixteen bytes.
    #[derive(Clone, Copy)]
    pub struct Block([u8; LANES]);

    impl Block {
        /// Returns a block with the same byte in every lane.
        pub fn of(byte: u8) -> Self {
            Self([byte; LANES])
        }

        /// Returns a block with these bytes.
        pub fn load(bytes: &[u8; LANES]) -> Self {
            Self(*bytes)
        }

        /// Returns the low half of each byte.
        pub fn low(self) -> Self {
            Self(self.0.map(|byte| byte & 0x0f))
        }

        /// Returns the high half of each byte.
        pub fn high(self) -> Self {
            Self(self.0.map(|byte| byte >> 4))
        }

        /// Looks up each byte, the value of half a byte, in `table`.
        pub fn pick(self, table: &Table) -> Self {
            Self(self.0.map(|half| table.0.get(usize::from(half)).copied().unwrap_or_default()))
        }

        /// Returns the bits that are set in both blocks.
        pub fn and(self, other: Self) -> Self {
            let mut both = self.0;
            both.iter_mut().zip(other.0).for_each(|(byte, other)| *byte &= other);
            Self(both)
        }

        /// Returns the bits that are set in either block.
        pub fn or(self, other: Self) -> Self {
            let mut all = self.0;
            all.iter_mut().zip(other.0).for_each(|(byte, other)| *byte |= other);
            Self(all)
        }

        /// Sets all bits of the lanes in which both blocks have the same byte, and no other bits.
        pub fn equals(self, other: Self) -> Self {
            let mut same = self.0;
            same.iter_mut().zip(other.0).for_each(|(byte, other)| *byte = if *byte == other { u8::MAX } else { 0 });
            Self(same)
        }

        /// Sets all bits of the lanes that are less than those of `other`, and no other bits.
        pub fn below(self, other: Self) -> Self {
            let mut less = self.0;
            less.iter_mut().zip(other.0).for_each(|(byte, other)| *byte = if *byte < other { u8::MAX } else { 0 });
            Self(less)
        }

        /// Returns the highest bit of each lane, that of the first lane as the lowest bit.
        pub fn bits(self) -> u32 {
            self.0.iter().rev().fold(0, |bits, byte| bits << 1 | u32::from(byte >> 7))
        }

        /// Returns whether any bit is set.
        pub fn any(self) -> bool {
            self.0.iter().any(|byte| *byte != 0)
        }

        /// Returns the bytes.
        pub fn bytes(self) -> [u8; LANES] {
            self.0
        }
    }
}
