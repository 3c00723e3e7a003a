//! Content of an open file: held whole up to the whole-file limit, otherwise read in chunks.

use std::borrow::Cow;

use encoding_rs::Encoding;
use paddock_text::encoding::Detected;
use paddock_text::eol::Eol;
use paddock_text::lines::{CHUNK, Ender, Lines, Source};
use paddock_text::{codec, encoding, eol, mime};
use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::{digest, phrase};
use paddock_vfs::{File, Stat};
use paddock_workspace::Workspace;
use paddock_workspace::resolved_path::ResolvedPath;
use sha2::{Digest, Sha256};

/// Content of an open file.
pub struct OpenContent<'w> {
    /// Workspace of the file.
    pub workspace: &'w Workspace<'w>,
    /// Resolved path of the file.
    pub resolved: &'w ResolvedPath,
    operation: &'static str,
    file: File,
    /// Metadata of the file.
    pub stat: Stat,
    /// All bytes of the file, up to the whole-file limit.
    pub whole: Option<Vec<u8>>,
}

/// Encoding and line structure of a text.
#[derive(Clone, Copy)]
pub struct Format {
    /// Encoding, and length of the byte order mark.
    pub detected: Detected,
    /// Terminator of its lines.
    pub ender: Ender,
}

impl<'w> OpenContent<'w> {
    /// Opens the file at `resolved`, and reads it if it does not exceed the whole-file limit.
    pub fn open(workspace: &'w Workspace<'w>, resolved: &'w ResolvedPath, operation: &'static str) -> Result<Self> {
        let (file, stat) = workspace.open_file(resolved, operation)?;
        let whole = match stat.size <= workspace.policy.limits.max_file_bytes {
            true => Some(workspace.read_open(&file, &stat, resolved, operation)?),
            false => None,
        };
        Ok(Self { workspace, resolved, operation, file, stat, whole })
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.whole.as_ref().map_or(self.stat.size, |bytes| bytes.len() as u64)
    }

    /// Returns all bytes, or the first chunk of a file above the whole-file limit.
    pub fn sample(&self) -> Result<Cow<'_, [u8]>> {
        match &self.whole {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => {
                let mut head = Vec::with_capacity(CHUNK);
                self.read(0, &mut head)?;
                Ok(Cow::Owned(head))
            }
        }
    }

    /// Returns the format of the text, with the encoding detected unless requested; `None` if the content is binary.
    pub fn format(&self, sample: &[u8], requested_path: Option<&'static Encoding>) -> Option<Format> {
        // UTF-16 without a byte order mark looks binary to the detection.
        if !requested_path.is_some_and(codec::is_utf16) && encoding::is_binary(sample) {
            return None;
        }
        let detected = match requested_path {
            Some(name) => encoding::declared(name, sample),
            None => encoding::detect(sample),
        };
        let ender = Ender::of(sample.get(detected.bom..).unwrap_or_default(), detected.encoding);
        Some(Format { detected, ender })
    }

    /// Returns the lines, starting with the first.
    pub fn lines(&self, format: Format) -> Lines<'_, Self> {
        Lines::from(self, format.ender, format.detected.bom as u64)
    }

    /// Returns the number of lines; `None` above the whole-file limit.
    pub fn count_lines(&self, format: Format) -> Result<Option<u64>> {
        self.whole.is_some().then(|| self.lines(format).skip(u64::MAX)).transpose()
    }

    /// Returns the line ending of the whole file; `None` above the whole-file limit.
    pub fn line_ending(&self, format: Format) -> Option<Eol> {
        let bytes = self.whole.as_deref()?;
        Some(match codec::is_utf16(format.detected.encoding) {
            true => eol::detect(&codec::decode(bytes, format.detected.encoding)),
            false => eol::detect_bytes(bytes),
        })
    }

    /// Returns the etag; `None` above the whole-file limit.
    pub fn etag(&self) -> Option<String> {
        self.whole.as_deref().map(digest::etag)
    }

    /// Returns the SHA-256 of the content in hexadecimal, for files of any size.
    pub fn sha256(&self) -> Result<String> {
        if let Some(bytes) = &self.whole {
            return Ok(digest::sha256(bytes));
        }
        let mut hash = Sha256::new();
        let mut chunk = Vec::with_capacity(CHUNK);
        let mut offset = 0;
        loop {
            chunk.clear();
            self.read(offset, &mut chunk).map_err(|error| match error.code {
                Code::LimitExceeded => {
                    error.hint(phrase!["leave ", Term::Checksum, " out: the file is too large for it"])
                }
                _ => error,
            })?;
            if chunk.is_empty() {
                return Ok(digest::hex(&hash.finalize()));
            }
            hash.update(&chunk);
            offset += chunk.len() as u64;
        }
    }

    /// Returns the media type.
    pub fn mime(&self, sample: &[u8], format: Option<Format>) -> &'static str {
        mime::of(&self.resolved.name, sample, format.is_some())
    }

    /// Returns the error of a call that needs text.
    pub fn binary(&self, sample: &[u8]) -> Error {
        binary(self.resolved, self.operation, self.size(), sample)
    }
}

/// Returns the error of a call that needs text, for a file of `size` bytes that starts with `head`.
pub fn binary(resolved: &ResolvedPath, operation: &str, size: u64, head: &[u8]) -> Error {
    let cause = format!("it is binary: {size} bytes of {}", mime::of(&resolved.name, head, false));
    Error::at(Code::BinaryFile, operation, &resolved.requested_path, cause)
        .hint(phrase![Term::BytesTool, " gives its bytes"])
        .or_hint("only text can be read here")
}

impl Source for OpenContent<'_> {
    type Error = Error;

    fn read(&self, offset: u64, into: &mut Vec<u8>) -> Result<()> {
        if let Some(bytes) = &self.whole {
            let Ok(()) = bytes.as_slice().read(offset, into);
            return Ok(());
        }
        if self.workspace.out_of_time() {
            return Err(Error::at(
                Code::LimitExceeded,
                self.operation,
                &self.resolved.requested_path,
                "the time of one call ran out",
            )
            .hint(phrase!["ask for lines nearer to the start, or use ", Term::SearchTool])
            .or_hint("ask for lines nearer to the start"));
        }
        let mut read = 0;
        while read < CHUNK {
            let got = self.workspace.fs.read(&self.file, offset + read as u64, CHUNK - read, into);
            match got.map_err(|fault| fault.at(self.operation, &self.resolved.requested_path))? {
                0 => break,
                got => read += got,
            }
        }
        Ok(())
    }
}
