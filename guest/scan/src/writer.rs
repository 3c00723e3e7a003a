//! A text that is written in blocks.

use crate::block::{Block, LANES};

/// A text that grows by copies of blocks, of which only the first bytes count. In WebAssembly, such a copy is two
/// instructions. A copy of another size is a call of the runtime, which takes longer than a few bytes do.
pub struct Writer {
    /// The text, and bytes after it that mean nothing.
    bytes: Vec<u8>,
    len: usize,
}

impl Writer {
    /// Continues `text`, with memory for `more` bytes.
    pub fn after(text: String, more: usize) -> Self {
        let mut bytes = text.into_bytes();
        let len = bytes.len();
        bytes.resize(len + more + LANES, 0);
        Self { bytes, len }
    }

    /// Appends a byte.
    #[inline(always)]
    pub fn push_byte(&mut self, byte: u8) {
        self.push_block(&[byte; LANES], 1);
    }

    /// Appends `text` up to the first byte whose bit `stops` returns for its block. Returns the number of bytes.
    #[inline(always)]
    pub fn copy_until(&mut self, text: &[u8], stops: impl Fn(Block) -> u32) -> usize {
        let count = |block: &[u8; LANES]| (stops(Block::load(block)) | 1 << LANES).trailing_zeros() as usize;
        let (blocks, rest) = text.as_chunks::<LANES>();
        let mut copied = 0;
        for block in blocks {
            let count = count(block);
            self.push_block(block, count);
            copied += count;
            if count < LANES {
                return copied;
            }
        }
        let mut last = [0; LANES];
        last.iter_mut().zip(rest).for_each(|(byte, of_rest)| *byte = *of_rest);
        let count = count(&last).min(rest.len());
        self.push_block(&last, count);
        copied + count
    }

    /// Appends the first `count` bytes of `block`.
    #[inline(always)]
    pub fn push_block(&mut self, block: &[u8; LANES], count: usize) {
        if self.bytes.len() - self.len < LANES {
            self.grow();
        }
        if let Some(free) = self.bytes.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut) {
            *free = *block;
            self.len += count;
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.bytes.resize(self.bytes.len() * 2 + LANES, 0);
    }

    /// Removes the last byte if it is `byte`.
    pub fn strip(&mut self, byte: u8) {
        if self.len.checked_sub(1).and_then(|last| self.bytes.get(last)) == Some(&byte) {
            self.len -= 1;
        }
    }

    /// Returns the text.
    ///
    /// # Safety
    ///
    /// All bytes that were appended, together, are UTF-8.
    #[expect(unsafe_code, reason = "the caller knows that the bytes are UTF-8, and a check takes as long as the copy")]
    pub unsafe fn into_text(mut self) -> String {
        self.bytes.truncate(self.len);
        unsafe { String::from_utf8_unchecked(self.bytes) }
    }
}
