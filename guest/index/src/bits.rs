//! Codes of numbers as bits: Elias gamma for any number, Rice for numbers whose magnitude is known.

/// Appends bits, the least significant bit of each byte first.
#[derive(Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    count: u32,
}

impl BitWriter {
    /// Appends the low `count` bits of `bits`. At most 32 bits fit.
    pub fn bits(&mut self, bits: u64, count: u32) {
        self.pending |= (bits & ((1 << count) - 1)) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.count -= 8;
        }
    }

    /// Appends `number` in unary: as many zeros, then a one.
    fn unary(&mut self, number: u32) {
        for _ in 0..number / 32 {
            self.bits(0, 32);
        }
        let rest = number % 32;
        self.bits(0, rest);
        self.bits(1, 1);
    }

    /// Appends a number of at least 1 in Elias gamma code.
    pub fn gamma(&mut self, number: u32) {
        let length = number.max(1).ilog2();
        self.unary(length);
        self.bits(u64::from(number), length);
    }

    /// Appends a number in a Rice code with `width` binary digits.
    pub fn rice(&mut self, number: u32, width: u32) {
        self.unary(number >> width);
        self.bits(u64::from(number), width);
    }

    /// Returns the number of whole bytes after the current one is filled with zeros.
    pub fn end_byte(&mut self) -> usize {
        if self.count > 0 {
            self.bits(0, 8 - self.count);
        }
        self.bytes.len()
    }

    /// Returns the bytes. A byte that is not full is filled with zeros.
    pub fn finish(mut self) -> Vec<u8> {
        self.end_byte();
        self.bytes
    }
}

/// Reads what [`BitWriter`] wrote. Every function returns `None` at the end of the bytes.
pub struct BitReader<'b> {
    bytes: &'b [u8],
    pending: u64,
    count: u32,
}

impl<'b> BitReader<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, pending: 0, count: 0 }
    }

    /// Loads bytes until at least 32 bits are pending, or the bytes end.
    fn load(&mut self) {
        while self.count <= 32
            && let Some((first, rest)) = self.bytes.split_first()
        {
            self.pending |= u64::from(*first) << self.count;
            self.count += 8;
            self.bytes = rest;
        }
    }

    /// Reads `count` bits, at most 32.
    pub fn bits(&mut self, count: u32) -> Option<u32> {
        self.load();
        let rest = self.count.checked_sub(count)?;
        let bits = self.pending & ((1 << count) - 1);
        self.pending >>= count;
        self.count = rest;
        u32::try_from(bits).ok()
    }

    fn unary(&mut self) -> Option<u32> {
        let mut number: u32 = 0;
        loop {
            self.load();
            let zeros = self.pending.trailing_zeros().min(self.count);
            number = number.checked_add(zeros)?;
            if zeros < self.count {
                self.pending >>= zeros + 1;
                self.count -= zeros + 1;
                return Some(number);
            }
            if self.bytes.is_empty() {
                return None;
            }
            (self.pending, self.count) = (0, 0);
        }
    }

    /// Reads a number in Elias gamma code.
    pub fn gamma(&mut self) -> Option<u32> {
        let length = self.unary().filter(|length| *length < 32)?;
        Some(self.bits(length)? | 1 << length)
    }

    /// Reads a number in a Rice code with `width` binary digits.
    pub fn rice(&mut self, width: u32) -> Option<u32> {
        let high = self.unary()?.checked_shl(width)?;
        high.checked_add(self.bits(width)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn codes_are_read_as_they_were_written(numbers in proptest::collection::vec((0..3u8, 0..70_000u32, 0..17u32), 0..200)) {
            let mut writer = BitWriter::default();
            for (code, number, width) in &numbers {
                match code {
                    0 => writer.gamma(number + 1),
                    1 => writer.rice(*number, *width),
                    _ => writer.bits(u64::from(*number), *width),
                }
            }
            let bytes = writer.finish();
            let mut reader = BitReader::new(&bytes);
            for (code, number, width) in &numbers {
                let (read, expected) = match code {
                    0 => (reader.gamma(), number + 1),
                    1 => (reader.rice(*width), *number),
                    _ => (reader.bits(*width), number & ((1 << width) - 1)),
                };
                prop_assert_eq!(read, Some(expected));
            }
        }

        #[test]
        fn arbitrary_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..100), width in 0..32u32) {
            let mut reader = BitReader::new(&bytes);
            let mut reads = 0;
            while reader.rice(width).is_some() && reader.gamma().is_some() {
                reads += 1;
                prop_assert!(reads <= 800);
            }
        }
    }
}
