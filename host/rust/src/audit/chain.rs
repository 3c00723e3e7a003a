//! Chain of audit records: adding the hash to a record, and verifying records line by line.

use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::audit::Problem;
use crate::hex::hex;

/// Value of `event` in a record that describes an incomplete line after a crash.
pub(super) const TORN: &str = "torn";

/// Text before the hash of a record, and after it.
const HASH: &[u8] = br#","hash":""#;
const END: &[u8] = br#""}"#;
const HASH_CHARS: usize = 64;

/// Maximum length of a line in bytes. A record with a thousand paths is shorter.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// Length of the head file in bytes. It is constant, so that each head completely replaces the previous one.
const HEAD_BYTES: usize = 160;

/// Position in the audit file, after a record.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// Sequence number of the record; 0 before the first.
    pub(super) sequence: u64,
    /// Hash of the record; zeros before the first.
    pub(super) hash: String,
    /// Length of the file up to this position, in bytes.
    pub(super) size: u64,
}

/// Content of the head file about the last record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) sequence: u64,
    pub(super) size: u64,
    pub(super) hash: String,
}

/// A verified record.
pub(super) struct Sealed {
    pub(super) sequence: u64,
    pub(super) hash: String,
}

/// Consecutive lines that are neither records nor JSON, as after a crash.
pub(super) struct Torn {
    pub(super) line: u64,
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

/// End of a verified chain.
pub(super) struct End {
    /// Number of lines read.
    pub(super) lines: u64,
    /// First line that breaks the chain.
    pub(super) problem: Option<Problem>,
    /// Incomplete lines at the end of the file that no record describes yet.
    pub(super) torn: Option<Torn>,
    pub(super) notes: Vec<String>,
}

impl Chain {
    /// Returns the position before the first record.
    pub(super) fn start() -> Self {
        Self { sequence: 0, hash: "0".repeat(HASH_CHARS), size: 0 }
    }

    /// Returns the line of the next record, a JSON object, with its hash, and advances to it.
    pub(super) fn seal(&mut self, record: &str) -> String {
        let body = record.strip_suffix('}').unwrap_or(record);
        self.hash = hex(&Sha256::digest(body));
        self.sequence += 1;
        let line = format!("{body},\"hash\":\"{}\"}}\n", self.hash);
        self.size += line.len() as u64;
        line
    }

    /// Returns the head for this position.
    pub(super) fn head(&self) -> Head {
        Head { sequence: self.sequence, size: self.size, hash: self.hash.clone() }
    }

    /// Advances as long as the records follow each other, and passes each to `each`.
    pub(super) fn follow(&mut self, reader: &mut impl BufRead, mut each: impl FnMut(&Sealed)) -> io::Result<End> {
        let mut end = End { lines: 0, problem: None, torn: None, notes: Vec::new() };
        let (mut line, mut torn) = (Vec::new(), None::<Pending>);
        loop {
            line.clear();
            if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            end.lines += 1;
            match self.check(&line, torn.as_ref()) {
                Ok(record) => {
                    if let Some(torn) = torn.take() {
                        let Pending { line, bytes, .. } = torn;
                        end.notes.push(format!(
                            "line {line}: {bytes} bytes that are not a record, as after a crash; line {} describes them",
                            end.lines
                        ));
                        self.size += bytes;
                    }
                    (self.sequence, self.hash) = (record.sequence, record.hash.clone());
                    self.size += line.len() as u64;
                    each(&record);
                }
                Err(reason) if serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok() => {
                    end.problem = Some(match torn {
                        Some(torn) => Problem { line: torn.line, reason: "it is not a record".to_owned() },
                        None => Problem { line: end.lines, reason },
                    });
                    return Ok(end);
                }
                Err(_) => torn.get_or_insert_with(|| Pending::at(end.lines)).add(&line),
            }
        }
        end.torn = torn.map(Pending::end);
        Ok(end)
    }

    /// Parses a line and checks that it is the next record.
    fn check(&self, line: &[u8], torn: Option<&Pending>) -> Result<Sealed, String> {
        let (hash, record) = Sealed::parse(line)?;
        let (sequence, next) = (record.sequence, self.sequence + 1);
        if sequence != next {
            return Err(format!(
                "it is record {sequence}, and {next} is expected here: a record was removed, moved or inserted"
            ));
        }
        if record.prev != self.hash {
            return Err("it does not continue the record before".to_owned());
        }
        let reported = (record.event == TORN).then_some((record.bytes, record.sha256));
        let there = torn.map(|torn| (torn.bytes, hex(&torn.digest.clone().finalize())));
        if reported != there {
            return Err("it describes a torn line that does not exist".to_owned());
        }
        Ok(Sealed { sequence, hash })
    }
}

/// Members of a record that the verification uses.
#[derive(Deserialize)]
struct Parsed {
    sequence: u64,
    prev: String,
    event: String,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    sha256: String,
}

impl Sealed {
    /// Returns the hash and the members of a record's line, after checking the hash.
    fn parse(line: &[u8]) -> Result<(String, Parsed), String> {
        let broken = || "it is not a record".to_owned();
        let line = line.strip_suffix(b"\n").ok_or_else(|| "it does not end".to_owned())?;
        let sealed = line.strip_suffix(END).ok_or_else(broken)?;
        let (body, hash) = sealed.split_at_checked(sealed.len().saturating_sub(HASH_CHARS)).ok_or_else(broken)?;
        let body = body.strip_suffix(HASH).ok_or_else(broken)?;
        let own = hex(&Sha256::digest(body));
        if own.as_bytes() != hash {
            return Err("its content is not what its hash is of: it was altered".to_owned());
        }
        let parsed = serde_json::from_slice(&[body, b"}"].concat()).map_err(|_| broken())?;
        Ok((own, parsed))
    }
}

/// Consecutive lines that are not records, while reading.
struct Pending {
    line: u64,
    bytes: u64,
    digest: Sha256,
}

impl Pending {
    fn at(line: u64) -> Self {
        Self { line, bytes: 0, digest: Sha256::new() }
    }

    fn add(&mut self, line: &[u8]) {
        self.bytes += line.len() as u64;
        self.digest.update(line);
    }

    fn end(self) -> Torn {
        Torn { line: self.line, bytes: self.bytes, sha256: hex(&self.digest.finalize()) }
    }
}

impl Head {
    /// Reads the head file; an empty file stands for no records.
    pub(super) fn read(file: &mut File) -> io::Result<Self> {
        let mut text = Vec::with_capacity(HEAD_BYTES);
        file.take(2 * HEAD_BYTES as u64).read_to_end(&mut text)?;
        if text.is_empty() {
            return Ok(Chain::start().head());
        }
        serde_json::from_slice(&text)
            .map_err(|cause| io::Error::other(format!("the head of the audit cannot be read: {cause}")))
    }

    /// Replaces the content of the head file, which was `before`.
    pub(super) fn write(&self, file: &mut File, before: &Self) -> io::Result<()> {
        let text = format!("{:<width$}\n", serde_json::to_string(self)?, width = HEAD_BYTES - 1);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())?;
        if before.sequence == 0 {
            // The sync makes the new head file itself durable. If a later write is lost, the head is only behind.
            file.sync_all()?;
        }
        Ok(())
    }

    /// Returns the position that the head describes.
    pub(super) fn chain(&self) -> Chain {
        Chain { sequence: self.sequence, hash: self.hash.clone(), size: self.size }
    }

    /// Returns whether the head describes this record.
    pub(super) fn is(&self, record: &Sealed) -> bool {
        self.sequence == record.sequence && self.hash == record.hash
    }
}
