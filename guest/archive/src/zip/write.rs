//! Writing of archives: equal names, times and contents produce equal bytes.

use std::io::Write;

use miniz_oxide::deflate::compress_to_vec;
use paddock_types::entry::Time;
use rawzip::path::EntryPath;
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, DataDescriptorOutput, Error, ZipArchiveWriter};

use crate::zip::name;

/// Compression level: the default of most tools.
const COMPRESSION_LEVEL: u8 = 6;
/// Earliest and latest second that an archive can store: 1980-01-01 and 2107-12-31.
const TIMES: (u64, u64) = (315_532_800, 4_354_819_198);
/// Modes of packed files and directories, since WASI reports none.
const FILE_MODE: u32 = 0o100_644;
const DIRECTORY_MODE: u32 = 0o040_755;

/// An archive that is being written, in memory.
pub struct Writer(ZipArchiveWriter<Vec<u8>>);

impl Writer {
    /// Creates an archive without entries.
    pub fn new() -> Self {
        Self(ZipArchiveWriter::new(Vec::new()))
    }

    /// Adds a directory; its name ends in `/`.
    pub fn directory(&mut self, name: &str, modified: Option<Time>) -> Result<(), Error> {
        let entry = self.0.new_dir(entry_path(name)).last_modified(time(modified));
        entry.unix_permissions(DIRECTORY_MODE).create().map(drop)
    }

    /// Adds a file.
    pub fn file(&mut self, name: &str, modified: Option<Time>, content: &[u8]) -> Result<(), Error> {
        // Every file is compressed, even if that makes it longer, because readers of streams need the end of the data.
        let entry = self.0.new_file(entry_path(name)).compression_method(CompressionMethod::DEFLATE);
        let (mut entry, _) = entry.last_modified(time(modified)).unix_permissions(FILE_MODE).start()?;
        entry.write_all(&compress_to_vec(content, COMPRESSION_LEVEL))?;
        entry.finish(DataDescriptorOutput::new(rawzip::crc32(content), content.len() as u64)).map(drop)
    }

    /// Returns the size so far in bytes, without the directory at the end.
    pub fn size(&self) -> u64 {
        self.0.stream_offset()
    }

    /// Returns the complete archive.
    pub fn finish(self) -> Result<Vec<u8>, Error> {
        self.0.finish()
    }
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns whether every tool would read the name in the same way.
pub fn can_hold(name: &str) -> bool {
    // The library marks a name as UTF-8 only if it contains no colon.
    name::path(name).is_ok() && (name.is_ascii() || !name.contains(':'))
}

/// Returns the unchanged name: the library would remove the part before a colon.
fn entry_path(name: &str) -> EntryPath<'_> {
    if name.is_ascii() { EntryPath::verbatim(name.as_bytes()) } else { EntryPath::conformant(name) }
}

fn time(modified: Option<Time>) -> UtcDateTime {
    let seconds = modified.map_or(0, |time| time.seconds).clamp(TIMES.0, TIMES.1);
    UtcDateTime::from_unix(i64::try_from(seconds).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawzip::ZipArchive;

    #[test]
    fn names_and_times_are_unchanged() {
        let mut writer = Writer::new();
        let at = |seconds| Some(Time { seconds, nanoseconds: 999 });
        writer.directory("day:1/", at(1_700_000_000)).unwrap();
        writer.file("day:1/at 12:30", at(0), b"").unwrap();
        writer.file("ü/./x", at(u64::MAX), b"x").unwrap();
        let bytes = writer.finish().unwrap();
        let archive = ZipArchive::from_slice(&bytes).unwrap();
        let reported = archive.entries().map(|entry| {
            let entry = entry.unwrap();
            let name = String::from_utf8(entry.file_path().as_bytes().to_vec()).unwrap();
            (name, entry.last_modified_dos().year(), entry.flags().is_utf8(), entry.external_attributes() >> 16)
        });
        let expected = [
            ("day:1/".to_owned(), 2023, false, 0o040_755),
            ("day:1/at 12:30".to_owned(), 1980, false, 0o100_644),
            ("ü/x".to_owned(), 2107, true, 0o100_644),
        ];
        assert_eq!(reported.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn names_that_no_tool_misreads() {
        assert!(["a", "at 12:30", "ü", "d/"].iter().all(|name| can_hold(name)));
        assert!(["ü:b", "a\\b", "c:x", "../a"].iter().all(|name| !can_hold(name)));
    }
}
