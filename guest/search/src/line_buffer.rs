//! A buffer for the text of one file after another. A small file is read whole, a larger file in windows of whole
//! lines.

use std::ops::Range;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use paddock_text::encoding;
use paddock_vfs::{File, Filesystem, FsResult, READ_SIZE};

/// Size of a window in bytes. A larger window is not read faster, and exceeds the processor's cache.
const WINDOW: usize = READ_SIZE;
/// Maximum number of bytes of a line; a longer line is searched in parts.
pub const MAX_LINE: usize = 16 * 1024 * 1024;
/// Number of leading bytes that decide whether a file is binary.
const HEAD: usize = 8 * 1024;
/// Sizes to which a host may cut a read are multiples of this number; the rest of a file rarely is.
const BLOCK: usize = 4 * 1024;

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// Text, in the windows of [`Source::next_window`].
    Text,
    /// Binary content.
    Binary,
    /// A text that must be read whole and exceeds the limit.
    TooLarge,
}

/// A part of the text of a file.
pub struct Window<'s> {
    /// Whole lines, or a part of a line that is too long.
    pub text: &'s [u8],
    /// Number of bytes of the first line in earlier windows.
    pub continued: u64,
    /// Whether this is the first window that ends within a line that is too long.
    pub splits_line: bool,
    /// Whether this is the last window.
    pub is_last: bool,
}

/// Reads one file after another.
pub struct Source<'a> {
    /// Number of bytes read from all files.
    pub bytes_read: u64,
    fs: &'a dyn Filesystem,
    max_whole: u64,
    buffer: Vec<u8>,
    file: Option<File>,
    offset: u64,
    ended: bool,
    window: Range<usize>,
    continued: u64,
    legacy: Option<Legacy>,
}

/// Decoder for lines that are not UTF-8; the encoding is guessed once for each file.
#[derive(Default)]
struct Legacy {
    encoding: Option<&'static Encoding>,
    text: Vec<u8>,
}

impl<'a> Source<'a> {
    /// Creates a source without a file. A file that is read whole has at most `max_whole` bytes. With `decodes`,
    /// every line is decoded to UTF-8.
    pub fn new(fs: &'a dyn Filesystem, max_whole: u64, decodes: bool) -> Self {
        Self {
            bytes_read: 0,
            fs,
            max_whole,
            buffer: Vec::new(),
            file: None,
            offset: 0,
            ended: false,
            window: 0..0,
            continued: 0,
            legacy: decodes.then(Legacy::default),
        }
    }

    /// Returns the number of bytes read from the last file.
    pub fn last_read(&self) -> u64 {
        self.offset
    }

    /// Starts a file. With `whole`, the file is one window.
    pub fn open(&mut self, file: File, whole: bool) -> FsResult<Opened> {
        self.buffer.clear();
        self.buffer.shrink_to(2 * WINDOW);
        (self.file, self.offset, self.ended, self.window, self.continued) = (Some(file), 0, false, 0..0, 0);
        if let Some(legacy) = &mut self.legacy {
            legacy.encoding = None;
        }
        self.fill(1)?;
        let head = self.buffer.get(..HEAD).unwrap_or(&self.buffer);
        // Nearly every file is neither, and one search for a NUL byte excludes both.
        if is_utf16_marked(head) || memchr::memchr(0, head).is_some() {
            if encoding::is_binary(head) {
                return Ok(Opened::Binary);
            }
            if let Some(utf16) = utf16(head) {
                return self.decode_whole(utf16);
            }
        }
        if head.starts_with(b"\xef\xbb\xbf") {
            self.window = 0..3;
        }
        Ok(if whole && !self.fill_whole()? { Opened::TooLarge } else { Opened::Text })
    }

    /// Counts the bytes of a file that need not be read.
    pub fn pass_over(&mut self, bytes: u64) {
        self.bytes_read += bytes;
        (self.file, self.offset) = (None, 0);
    }

    /// Returns the next window; `None` after the last. A window is decoded only if `may_match` returns true for it. The
    /// function is not generic, so that it is optimised as this crate is and not as that of its caller.
    pub fn next_window(&mut self, may_match: &dyn Fn(&[u8]) -> bool) -> FsResult<Option<Window<'_>>> {
        if self.ended && self.window.end >= self.buffer.len() {
            return Ok(None);
        }
        self.buffer.drain(..self.window.end);
        self.window = 0..0;
        self.fill(WINDOW)?;
        // The rest of a file is a window, even if it does not end with a line ending.
        let mut end = if self.ended { None } else { self.end_of_lines(0) };
        while end.is_none() && !self.ended && self.buffer.len() < MAX_LINE {
            let had = self.buffer.len();
            self.fill(had + WINDOW)?;
            end = self.end_of_lines(had);
        }
        let continued = self.continued;
        let splits = end.is_none() && !self.ended;
        let length = if self.ended { self.buffer.len() } else { end.unwrap_or(self.buffer.len()) };
        self.continued = if splits { continued + length as u64 } else { 0 };
        self.window = 0..length;
        let text = self.buffer.get(..length).unwrap_or_default();
        // A part of a line is not decoded: it may start and end within a character.
        let text = match &mut self.legacy {
            Some(legacy) if !splits && continued == 0 && may_match(text) => legacy.decoded(text),
            _ => text,
        };
        let splits_line = splits && continued == 0;
        Ok(Some(Window { text, continued, splits_line, is_last: self.ended && length == self.buffer.len() }))
    }

    /// Returns the end of the last line that ends in the buffer, from `from` on.
    fn end_of_lines(&self, from: usize) -> Option<usize> {
        memchr::memrchr(b'\n', self.buffer.get(from..)?).map(|at| from + at + 1)
    }

    /// Reads until the buffer has `wanted` bytes or the file ends.
    fn fill(&mut self, wanted: usize) -> FsResult<()> {
        let Some(file) = &self.file else { return Ok(()) };
        while !self.ended && self.buffer.len() < wanted {
            if wanted > WINDOW {
                self.buffer.reserve_exact((wanted + READ_SIZE).saturating_sub(self.buffer.len()));
            }
            let read = self.fs.read(file, self.offset, READ_SIZE, &mut self.buffer)?;
            self.offset += read as u64;
            self.bytes_read += read as u64;
            // A short read is the end of the file, unless a host limits reads: a second read would double the number
            // of calls.
            self.ended = read == 0 || (read < READ_SIZE && !read.is_multiple_of(BLOCK));
        }
        Ok(())
    }

    /// Returns whether the whole file is in the buffer.
    fn fill_whole(&mut self) -> FsResult<bool> {
        while !self.ended && self.buffer.len() as u64 <= self.max_whole {
            self.fill(self.buffer.len() + WINDOW)?;
        }
        Ok(self.buffer.len() as u64 <= self.max_whole)
    }

    fn decode_whole(&mut self, encoding: &'static Encoding) -> FsResult<Opened> {
        if !self.fill_whole()? {
            return Ok(Opened::TooLarge);
        }
        let (text, _) = encoding.decode_with_bom_removal(&self.buffer);
        self.buffer = text.into_owned().into_bytes();
        Ok(Opened::Text)
    }
}

impl Legacy {
    fn decoded<'t>(&'t mut self, text: &'t [u8]) -> &'t [u8] {
        if simdutf8::basic::from_utf8(text).is_ok() {
            return text;
        }
        let encoding = *self.encoding.get_or_insert_with(|| encoding::detect(text).encoding);
        self.text.clear();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match std::str::from_utf8(line) {
                Ok(_) => self.text.extend_from_slice(line),
                Err(_) => self.text.extend_from_slice(encoding.decode_without_bom_handling(line).0.as_bytes()),
            }
        }
        &self.text
    }
}

fn is_utf16_marked(head: &[u8]) -> bool {
    head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff")
}

fn utf16(head: &[u8]) -> Option<&'static Encoding> {
    Some(encoding::detect(head).encoding).filter(|encoding| *encoding == UTF_16LE || *encoding == UTF_16BE)
}
