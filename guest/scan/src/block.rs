//! Sixteen bytes at once: the instructions of WebAssembly where it is built for
//! them, and the same by plain code elsewhere, so that the tests run natively.

#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
use vector as imp;

#[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
use plain as imp;

pub use imp::{Block, Table};

/// Bytes of a block.
pub const LANES: usize = 16;

#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
mod vector {
    use core::arch::wasm32::{
        u8x16_eq, u8x16_shr, u8x16_splat, u8x16_swizzle, v128, v128_and, v128_any_true, v128_load, v128_or, v128_store,
    };

    use super::LANES;

    /// What is said of each value of half a byte.
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
        /// The same byte in every place.
        #[inline(always)]
        pub fn of(byte: u8) -> Self {
            Self(u8x16_splat(byte))
        }

        /// These bytes.
        #[inline(always)]
        pub fn load(bytes: &[u8; LANES]) -> Self {
            #[expect(unsafe_code, reason = "the array has the sixteen bytes that are loaded, of any alignment")]
            Self(unsafe { v128_load(bytes.as_ptr().cast()) })
        }

        /// The low half of each byte.
        #[inline(always)]
        pub fn low(self) -> Self {
            Self(v128_and(self.0, u8x16_splat(0x0f)))
        }

        /// The high half of each byte.
        #[inline(always)]
        pub fn high(self) -> Self {
            Self(u8x16_shr(self.0, 4))
        }

        /// What `table` says of each byte, which is half a byte's value.
        #[inline(always)]
        pub fn pick(self, table: &Table) -> Self {
            Self(u8x16_swizzle(table.0, self.0))
        }

        /// The bits that both have.
        #[inline(always)]
        pub fn and(self, other: Self) -> Self {
            Self(v128_and(self.0, other.0))
        }

        /// The bits that one of both has.
        #[inline(always)]
        pub fn or(self, other: Self) -> Self {
            Self(v128_or(self.0, other.0))
        }

        /// All bits where both have the same byte, none elsewhere.
        #[inline(always)]
        pub fn equals(self, other: Self) -> Self {
            Self(u8x16_eq(self.0, other.0))
        }

        /// Whether any bit is set.
        #[inline(always)]
        pub fn any(self) -> bool {
            v128_any_true(self.0)
        }

        /// The bytes one by one.
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

    /// What is said of each value of half a byte.
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
        /// The same byte in every place.
        pub fn of(byte: u8) -> Self {
            Self([byte; LANES])
        }

        /// These bytes.
        pub fn load(bytes: &[u8; LANES]) -> Self {
            Self(*bytes)
        }

        /// The low half of each byte.
        pub fn low(self) -> Self {
            Self(self.0.map(|byte| byte & 0x0f))
        }

        /// The high half of each byte.
        pub fn high(self) -> Self {
            Self(self.0.map(|byte| byte >> 4))
        }

        /// What `table` says of each byte, which is half a byte's value.
        pub fn pick(self, table: &Table) -> Self {
            Self(self.0.map(|half| table.0.get(usize::from(half)).copied().unwrap_or_default()))
        }

        /// The bits that both have.
        pub fn and(self, other: Self) -> Self {
            let mut both = self.0;
            both.iter_mut().zip(other.0).for_each(|(byte, other)| *byte &= other);
            Self(both)
        }

        /// The bits that one of both has.
        pub fn or(self, other: Self) -> Self {
            let mut all = self.0;
            all.iter_mut().zip(other.0).for_each(|(byte, other)| *byte |= other);
            Self(all)
        }

        /// All bits where both have the same byte, none elsewhere.
        pub fn equals(self, other: Self) -> Self {
            let mut same = self.0;
            same.iter_mut().zip(other.0).for_each(|(byte, other)| *byte = if *byte == other { u8::MAX } else { 0 });
            Self(same)
        }

        /// Whether any bit is set.
        pub fn any(self) -> bool {
            self.0.iter().any(|byte| *byte != 0)
        }

        /// The bytes one by one.
        pub fn bytes(self) -> [u8; LANES] {
            self.0
        }
    }
}
