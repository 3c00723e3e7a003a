//! The text of one file after another, in one buffer: whole where it is small,
//! else in windows that end where a line does.

use std::ops::Range;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use paddock_text::encoding;
use paddock_vfs::{File, Filesystem, FsResult, READ_SIZE};

use crate::matcher::Matcher;

/// Bytes of a window. A larger one reads no faster, and is no longer in the processor's cache.
const WINDOW: usize = READ_SIZE;
/// Bytes of a line before it is searched in parts.
pub const MAX_LINE: usize = 16 * 1024 * 1024;
/// Bytes by which binary files are told.
const HEAD: usize = 8 * 1024;
/// What a host may cut a read to has this for a factor; what is left of a file seldom has.
const BLOCK: usize = 4 * 1024;

/// What a file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// Text, of which [`Source::next_window`] gives the windows.
    Text,
    /// Not text.
    Binary,
    /// A text that has to be held whole, and is over the limit.
    TooLarge,
}

/// A part of a file's text.
pub struct Window<'s> {
    /// Whole lines, unless the line is too long.
    pub text: &'s [u8],
    /// Bytes of the first line that earlier windows had.
    pub continued: u64,
    /// Whether this is the first window that ends in a line that is too long.
    pub splits_line: bool,
    /// Whether the text ends with it.
    pub is_last: bool,
}

/// One file after another.
pub struct Source<'a> {
    /// Bytes read so far, of all files.
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

/// Decodes lines that are not UTF-8, by an encoding that is guessed once a file.
#[derive(Default)]
struct Legacy {
    encoding: Option<&'static Encoding>,
    text: Vec<u8>,
}

impl<'a> Source<'a> {
    /// No file yet. Those that are held whole may have `max_whole` bytes; `decodes` asks for UTF-8 in every line.
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

    /// Bytes of the last file that were read.
    pub fn last_read(&self) -> u64 {
        self.offset
    }

    /// Begins a file; `whole` asks for one window.
    pub fn open(&mut self, file: File, whole: bool) -> FsResult<Opened> {
        self.buffer.clear();
        self.buffer.shrink_to(2 * WINDOW);
        (self.file, self.offset, self.ended, self.window, self.continued) = (Some(file), 0, false, 0..0, 0);
        if let Some(legacy) = &mut self.legacy {
            legacy.encoding = None;
        }
        self.fill(1)?;
        let head = self.buffer.get(..HEAD).unwrap_or(&self.buffer);
        // Nearly every file is neither, and one look for a NUL byte tells.
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

    /// The next window; none after the last. Only one in which `matcher` may find something is decoded.
    pub fn next_window(&mut self, matcher: &Matcher) -> FsResult<Option<Window<'_>>> {
        if self.ended && self.window.end >= self.buffer.len() {
            return Ok(None);
        }
        self.buffer.drain(..self.window.end);
        self.window = 0..0;
        self.fill(WINDOW)?;
        // The rest of a file is a window whatever it ends with.
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
        // A part of a line is left as it is: it may begin and end within a character.
        let text = match &mut self.legacy {
            Some(legacy) if !splits && continued == 0 && matcher.may_match(text) => legacy.decoded(text),
            _ => text,
        };
        let splits_line = splits && continued == 0;
        Ok(Some(Window { text, continued, splits_line, is_last: self.ended && length == self.buffer.len() }))
    }

    /// Where the last line that ends in the buffer, from `from` on, has its end.
    fn end_of_lines(&self, from: usize) -> Option<usize> {
        memchr::memrchr(b'\n', self.buffer.get(from..)?).map(|at| from + at + 1)
    }

    /// Reads until the buffer has `wanted` bytes or the file has no more.
    fn fill(&mut self, wanted: usize) -> FsResult<()> {
        let Some(file) = &self.file else { return Ok(()) };
        while !self.ended && self.buffer.len() < wanted {
            if wanted > WINDOW {
                self.buffer.reserve_exact((wanted + READ_SIZE).saturating_sub(self.buffer.len()));
            }
            let read = self.fs.read(file, self.offset, READ_SIZE, &mut self.buffer)?;
            self.offset += read as u64;
            self.bytes_read += read as u64;
            // A short read is the end, unless a host gives less a call: asking again would double the calls.
            self.ended = read == 0 || (read < READ_SIZE && !read.is_multiple_of(BLOCK));
        }
        Ok(())
    }

    /// Whether the whole file is in the buffer.
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
