//! An open file's content: held whole up to the limit, else read piece by piece.

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

/// An open file's content.
pub struct OpenContent<'w> {
    /// Resolved path of the file.
    pub workspace: &'w Workspace<'w>,
    /// The file.
    pub resolved: &'w ResolvedPath,
    operation: &'static str,
    file: File,
    /// Metadata of the file.
    pub stat: Stat,
    /// Its bytes, up to the whole-file limit.
    pub whole: Option<Vec<u8>>,
}

/// Format of a text: encoding and line terminator.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its encoding, and its byte order mark.
    pub detected: Detected,
    /// Line terminator.
    pub ender: Ender,
}

impl<'w> OpenContent<'w> {
    /// Opens the file at `place`, and reads it up to the whole-file limit.
    pub fn open(workspace: &'w Workspace<'w>, resolved: &'w ResolvedPath, operation: &'static str) -> Result<Self> {
        let (file, stat) = workspace.open_file(resolved, operation)?;
        let whole = match stat.size <= workspace.policy.limits.max_file_bytes {
            true => Some(workspace.read_open(&file, &stat, resolved, operation)?),
            false => None,
        };
        Ok(Self { workspace, resolved, operation, file, stat, whole })
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.whole.as_ref().map_or(self.stat.size, |bytes| bytes.len() as u64)
    }

    /// All of it, or its start where that is too much.
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

    /// What the text is made of, by its bytes unless the encoding is given; none where it is binary.
    pub fn format(&self, sample: &[u8], requested_path: Option<&'static Encoding>) -> Option<Format> {
        // UTF-16 without a mark may have gone undetected.
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

    /// The lines, from the first one on.
    pub fn lines(&self, format: Format) -> Lines<'_, Self> {
        Lines::from(self, format.ender, format.detected.bom as u64)
    }

    /// Returns the number of lines; `None` if the file is larger than the whole-file limit.
    pub fn count_lines(&self, format: Format) -> Result<Option<u64>> {
        self.whole.is_some().then(|| self.lines(format).skip(u64::MAX)).transpose()
    }

    /// All line endings; none over the whole-file limit.
    pub fn line_ending(&self, format: Format) -> Option<Eol> {
        let bytes = self.whole.as_deref()?;
        Some(match codec::is_utf16(format.detected.encoding) {
            true => eol::detect(&codec::decode(bytes, format.detected.encoding)),
            false => eol::detect_bytes(bytes),
        })
    }

    /// The etag; none over the whole-file limit.
    pub fn etag(&self) -> Option<String> {
        self.whole.as_deref().map(digest::etag)
    }

    /// SHA-256 of the content, of any size, in hexadecimal.
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

    /// The media type.
    pub fn mime(&self, sample: &[u8], format: Option<Format>) -> &'static str {
        mime::of(&self.resolved.name, sample, format.is_some())
    }

    /// The failure of a call that needs text.
    pub fn binary(&self, sample: &[u8]) -> Error {
        binary(self.resolved, self.operation, self.size(), sample)
    }
}

/// The failure of a call that needs text, for a file of `size` bytes that starts with `head`.
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
            .or_hint("ask for lines nearer to the start, or search in it"));
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
