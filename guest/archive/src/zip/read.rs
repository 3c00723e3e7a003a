//! Reading of untrusted archives. All headers are checked before any byte is decompressed, and the content is checked
//! against the headers: an archive is used completely or not at all.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};
use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::policy::Limits;
use rawzip::{CompressionMethod, ZipArchive, ZipFileHeaderRecord, ZipSliceArchive};

use crate::zip::name::Refused;
use crate::zip::{MAX_TOTAL_BYTES, name};

const OPERATION: &str = "unpack";
/// Maximum number of characters of an entry's name in an error.
const MAX_PRINTED: usize = 200;
/// Bit 5 of an entry's flags: the data is a patch for data of another archive.
const PATCHED: u16 = 1 << 5;

/// Mask and values of the file type in a mode.
const TYPE: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;
const EXECUTABLE: u32 = 0o111;

/// An entry with valid headers.
#[derive(Debug)]
pub struct Member<'a> {
    /// Path below the destination, without a `/` at the end; empty for the top itself.
    pub path: String,
    /// Whether the entry is a directory; otherwise it is a file.
    pub is_dir: bool,
    /// Size of the content in bytes, from the header.
    pub size: u64,
    /// Whether the mode of the entry has an execute bit.
    pub is_executable: bool,
    is_deflated: bool,
    checksum: u32,
    data: &'a [u8],
}

impl Member<'_> {
    /// Returns the content. Fails if its size or checksum differs from the header; never holds more bytes than the
    /// header states.
    pub fn content(&self, archive: &str) -> Result<Vec<u8>> {
        let refuse = |cause| Err(refused(archive, &self.path, Code::InvalidArgument, cause));
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let content = if !self.is_deflated {
            self.data.to_vec()
        } else {
            match decompress_to_vec_with_limit(self.data, size.saturating_add(1)) {
                Ok(content) => content,
                Err(failure) if failure.status == TINFLStatus::HasMoreOutput => {
                    return refuse("is longer than its header says");
                }
                Err(_) => return refuse("is damaged: it cannot be inflated"),
            }
        };
        match content.len().cmp(&size) {
            Ordering::Less => return refuse("is shorter than its header says"),
            Ordering::Equal => {}
            Ordering::Greater => return refuse("is longer than its header says"),
        }
        if rawzip::crc32(&content) != self.checksum {
            return refuse("is damaged: its checksum does not match");
        }
        Ok(content)
    }
}

/// Returns all entries of an archive. Fails if one of them cannot be unpacked safely, or if they conflict.
pub fn members<'a>(bytes: &'a [u8], limits: &Limits, archive: &str) -> Result<Vec<Member<'a>>> {
    let zip = ZipArchive::from_slice(bytes).map_err(|cause| damaged(archive, &cause))?;
    let (mut members, mut taken) = (Vec::new(), Taken::default());
    for record in zip.entries() {
        let record = record.map_err(|cause| damaged(archive, &cause))?;
        if members.len() as u64 >= limits.max_files {
            return Err(too_many(archive, limits));
        }
        let (member, range) = Reader { zip: &zip, bytes, limits, archive }.member(&record)?;
        if range.end > zip.directory_offset() || !taken.take(range) {
            let cause = "shares its bytes with another part of the archive";
            return Err(refused(archive, &member.path, Code::InvalidArgument, cause));
        }
        members.push(member);
    }
    if zip.entries_hint() != members.len() as u64 {
        return Err(damaged(archive, &"it has fewer entries than its header states"));
    }
    check_tree(&members, limits, archive)?;
    if members.iter().fold(0, |sum: u64, member| sum.saturating_add(member.size)) > MAX_TOTAL_BYTES {
        let cause = format!("its files have more than {MAX_TOTAL_BYTES} bytes together");
        return Err(
            Error::at(Code::LimitExceeded, OPERATION, archive, cause).hint("make several smaller archives of it")
        );
    }
    Ok(members)
}

/// An archive whose entries are checked one by one.
struct Reader<'r, 'a> {
    zip: &'r ZipSliceArchive<&'a [u8]>,
    bytes: &'a [u8],
    limits: &'r Limits,
    archive: &'r str,
}

impl<'a> Reader<'_, 'a> {
    /// Returns the entry of a record of the archive's directory, and the range of its bytes in the archive.
    fn member(&self, record: &ZipFileHeaderRecord<'_>) -> Result<(Member<'a>, Range<u64>)> {
        let raw = record.file_path();
        let entry_name = String::from_utf8_lossy(raw.as_bytes());
        let refuse = |code, cause: &str| refused(self.archive, &entry_name, code, cause);
        let text = std::str::from_utf8(raw.as_bytes())
            .map_err(|_| refuse(Code::InvalidPath, "has a name that is not UTF-8"))?;
        let path = name::path(text).map_err(|Refused { code, cause }| refuse(code, cause))?;
        if path.split('/').count() > usize::try_from(self.limits.max_depth).unwrap_or(usize::MAX) {
            return Err(refuse(Code::InvalidPath, "is nested deeper than `limits.max_depth` allows"));
        }
        let is_dir = text.ends_with('/');
        let mode = record.external_attributes() >> 16;
        check_kind(mode, is_dir, &path).map_err(|cause| refuse(Code::InvalidArgument, cause))?;
        let is_deflated = check_method(record).map_err(|cause| refuse(Code::InvalidArgument, &cause))?;
        let (size, packed) = (record.uncompressed_size_hint(), record.compressed_size_hint());
        if is_dir && size > 0 {
            return Err(refuse(Code::InvalidArgument, "is a directory with content"));
        }
        if size > self.limits.max_file_bytes {
            let max = self.limits.max_file_bytes;
            let cause = format!("has {size} bytes, and files are handled whole up to {max}");
            return Err(refuse(Code::TooLarge, &cause));
        }
        if !is_deflated && size != packed {
            return Err(refuse(Code::InvalidArgument, "is not as long as its header says"));
        }
        let (data, range) = self
            .data(record)
            .ok_or_else(|| refuse(Code::InvalidArgument, "is damaged: its local header contradicts the directory"))?;
        let (checksum, is_executable) = (record.crc32(), mode & EXECUTABLE != 0);
        Ok((Member { path, is_dir, size, is_executable, is_deflated, checksum, data }, range))
    }

    /// Returns the data of an entry, and the byte range from its local header to the end of the data. Returns
    /// `None` if the local header contradicts the central directory: tools that read only one of them would see
    /// different archives.
    fn data(&self, record: &ZipFileHeaderRecord<'_>) -> Option<(&'a [u8], Range<u64>)> {
        let entry = self.zip.get_entry(record.wayfinder()).ok()?;
        let header = entry.local_header();
        let is_same = header.file_path().as_bytes() == record.file_path().as_bytes()
            && header.compression_method() == record.compression_method()
            && header.flags().is_encrypted() == record.flags().is_encrypted();
        let (start, end) = entry.compressed_data_range();
        let data = self.bytes.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)?;
        is_same.then_some((data, record.local_header_offset()..end))
    }
}

/// Refuses an entry that is neither a file nor a directory, or whose mode and name contradict each other.
fn check_kind(mode: u32, is_dir: bool, path: &str) -> std::result::Result<(), &'static str> {
    match (mode & TYPE, is_dir) {
        (LINK, _) => Err("is a symbolic link"),
        (DIRECTORY, false) => Err("is a directory by its mode, and a file by its name"),
        _ if !is_dir && path.is_empty() => Err("is a file with the name of a directory"),
        (0 | FILE | DIRECTORY, _) => Ok(()),
        _ => Err("is a FIFO, socket or device"),
    }
}

/// Returns whether an entry is deflated; otherwise it is stored.
fn check_method(record: &ZipFileHeaderRecord<'_>) -> std::result::Result<bool, String> {
    let (flags, method) = (record.flags(), record.compression_method());
    if flags.is_encrypted() || flags.has_strong_encryption() || flags.is_masked() || method == CompressionMethod::AES {
        return Err("is encrypted".to_owned());
    }
    if flags.bits() & PATCHED != 0 {
        return Err("is a patch to another archive".to_owned());
    }
    match method {
        CompressionMethod::STORE => Ok(false),
        CompressionMethod::DEFLATE => Ok(true),
        other => Err(format!("is compressed by method {other}, and only 0 (STORE) and 8 (DEFLATE) are known")),
    }
}

/// Byte ranges of the entries so far. Entries must not overlap, because a small archive with shared data could expand
/// to a huge size.
#[derive(Default)]
struct Taken(Vec<Range<u64>>);

impl Taken {
    /// Adds the byte range of one more entry. Returns whether it overlaps no earlier range.
    fn take(&mut self, range: Range<u64>) -> bool {
        let next = self.0.partition_point(|taken| taken.start < range.start);
        let before = next.checked_sub(1).and_then(|before| self.0.get(before));
        let is_free = before.is_none_or(|before| before.end <= range.start)
            && self.0.get(next).is_none_or(|after| range.end <= after.start);
        self.0.insert(next, range);
        is_free
    }
}

/// Type of an archive entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    /// A file.
    File,
    /// A directory with an entry.
    Directory,
    /// A directory that has no entry of its own, but contains another entry.
    Implied,
}

/// Refuses paths that occur twice, in one spelling or in two that some file systems treat as equal. Also refuses more
/// files and directories than one call may create.
fn check_tree(members: &[Member<'_>], limits: &Limits, archive: &str) -> Result<()> {
    // Nodes by the number of their parent directory and the key of their name.
    let mut known: HashMap<(usize, String), (usize, &str, Node)> = HashMap::new();
    for member in members.iter().filter(|member| !member.path.is_empty()) {
        let refuse = |cause: &str| Err(refused(archive, &member.path, Code::InvalidArgument, cause));
        let own = if member.is_dir { Node::Directory } else { Node::File };
        let last = member.path.split('/').count();
        let mut above = 0;
        for (number, component) in (1..).zip(member.path.split('/')) {
            let node = if number == last { own } else { Node::Implied };
            let next = known.len() + 1;
            let (id, spelled, there) =
                known.entry((above, name::key(component))).or_insert((next, component, Node::Implied));
            above = *id;
            match (*there, node) {
                _ if *spelled != component => {
                    return refuse("has a name that differs from another one only in letter case");
                }
                (Node::File, _) | (_, Node::File) if above != next => {
                    return refuse("occurs twice, or is both a file and a directory");
                }
                (Node::Directory, Node::Directory) => return refuse("is there twice"),
                (Node::Implied, _) => *there = node,
                _ => {}
            }
        }
        if known.len() as u64 > limits.max_files {
            return Err(too_many(archive, limits));
        }
    }
    Ok(())
}

fn too_many(archive: &str, limits: &Limits) -> Error {
    let cause = format!("it holds more than {} files and directories, the maximum for one call", limits.max_files);
    Error::at(Code::LimitExceeded, OPERATION, archive, cause).hint("make several smaller archives of it")
}

fn damaged(archive: &str, cause: &dyn std::fmt::Display) -> Error {
    Error::at(Code::InvalidArgument, OPERATION, archive, format!("it is not a zip archive, or it is damaged ({cause})"))
        .hint("nothing was unpacked; only zip archives can be")
}

fn refused(archive: &str, entry: &str, code: Code, cause: &str) -> Error {
    let entry_name: String = entry.chars().take(MAX_PRINTED).collect();
    Error::at(code, OPERATION, archive, format!("its entry `{}` {cause}", printable(&entry_name)))
        .hint("nothing was unpacked: an archive is unpacked whole, or not at all")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zip::fixture;
    use crate::zip::fixture::{Forged, file, stored};
    use proptest::prelude::*;

    /// Returns all entries with their contents, or the error.
    fn read(bytes: &[u8], limits: &Limits) -> Result<Vec<(String, Vec<u8>)>> {
        let members = members(bytes, limits, "a.zip")?;
        members.into_iter().map(|member| Ok((member.path.clone(), member.content("a.zip")?))).collect()
    }

    #[track_caller]
    fn check_refused(entries: &[Forged], code: Code, cause: &str) {
        let error = read(&fixture::archive(entries), &Limits::default()).unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.message().contains(cause), "{error}");
        assert_eq!(error.path.as_deref(), Some("a.zip"));
    }

    fn directory(name: &str) -> Forged {
        Forged { mode: 0o040_755, ..stored(name, b"") }
    }

    #[test]
    fn entries_of_all_kinds() {
        let large = b"abc".repeat(100_000);
        let entries = [
            directory("d/"),
            stored("./d/a", b"a"),
            file("d/b", &large),
            file("e/", b""),
            file("f", b""),
            directory("./"),
        ];
        let contents = read(&fixture::archive(&entries), &Limits::default()).unwrap();
        let expected: [(&str, &[u8]); 6] =
            [("d", b""), ("d/a", b"a"), ("d/b", &large), ("e", b""), ("f", b""), ("", b"")];
        assert_eq!(contents, expected.map(|(path, content)| (path.to_owned(), content.to_vec())));
        assert!(read(&fixture::archive(&[]), &Limits::default()).unwrap().is_empty());
    }

    #[test]
    fn an_archive_behind_something_else() {
        let bytes = [b"#!/bin/sh\n".as_slice(), &fixture::archive(&[file("a", b"x")])].concat();
        assert_eq!(read(&bytes, &Limits::default()).unwrap(), [("a".to_owned(), b"x".to_vec())]);
    }

    #[test]
    fn invalid_names_are_reported_with_the_cause() {
        check_refused(
            &[stored("ok", b""), stored("a/../../b", b"")],
            Code::OutsideWorkspace,
            "entry `a/../../b` has `..`",
        );
        check_refused(&[stored("/etc/x", b"")], Code::OutsideWorkspace, "entry `/etc/x` has an absolute name");
        check_refused(&[stored("c:/x", b"")], Code::OutsideWorkspace, "drive letter");
        check_refused(&[stored("..\\x", b"")], Code::InvalidPath, "entry `..\\x` has a backslash");
        check_refused(&[stored("a\0b", b"")], Code::InvalidPath, "entry `a\\u{0}b` has a NUL byte");
        check_refused(&[stored(".", b"")], Code::InvalidArgument, "a file with the name of a directory");
        check_refused(&[stored("", b"")], Code::InvalidPath, "no name");
        check_refused(&[stored(&"n".repeat(60_000), b"")], Code::InvalidPath, "more than 4096 bytes");
        check_refused(&[stored(&"d/".repeat(300), b"")], Code::InvalidPath, "nested deeper");
        let latin = Forged { name: b"caf\xe9".to_vec(), ..stored("", b"") };
        check_refused(&[latin], Code::InvalidPath, "entry `caf\u{fffd}` has a name that is not UTF-8");
    }

    #[test]
    fn sizes_that_lie() {
        let zeros = vec![0; 3 << 20];
        let lie = |size: u32| Forged { size, ..file("bomb", &zeros) };
        check_refused(&[lie(5)], Code::InvalidArgument, "longer than its header says");
        check_refused(&[lie(0)], Code::InvalidArgument, "longer than its header says");
        check_refused(&[lie((3 << 20) - 1)], Code::InvalidArgument, "longer than its header says");
        check_refused(&[lie((3 << 20) + 1)], Code::InvalidArgument, "shorter than its header says");
        check_refused(&[lie(u32::MAX - 1)], Code::TooLarge, "has 4294967294 bytes");
        check_refused(&[Forged { size: 4, ..stored("a", b"abc") }], Code::InvalidArgument, "not as long");
        check_refused(&[Forged { packed: 2, ..stored("a", b"abc") }], Code::InvalidArgument, "not as long");
        check_refused(&[Forged { packed: 900, size: 900, ..stored("a", b"abc") }], Code::InvalidArgument, "damaged");
        check_refused(&[Forged { size: 1, ..directory("d/") }], Code::InvalidArgument, "a directory with content");
        let ten: Vec<_> = (0..10).map(|n| Forged { size: 9 << 20, ..file(&format!("{n}"), b"x") }).collect();
        check_refused(&ten, Code::LimitExceeded, "more than 67108864 bytes together");
    }

    #[test]
    fn damaged_content() {
        check_refused(&[Forged { checksum: 1, ..file("a", b"x") }], Code::InvalidArgument, "checksum");
        check_refused(
            &[Forged { data: b"\xff\xff".to_vec(), packed: 2, ..file("a", b"x") }],
            Code::InvalidArgument,
            "inflated",
        );
        let whole = file("a", b"some text");
        let cut = Forged { data: whole.data[..4].to_vec(), packed: 4, ..whole };
        check_refused(&[cut], Code::InvalidArgument, "inflated");
        for bytes in [b"".as_slice(), b"PK", &[0; 100], &fixture::archive(&[file("a", b"x")])[..20]] {
            assert_eq!(read(bytes, &Limits::default()).unwrap_err().code, Code::InvalidArgument);
        }
    }

    /// Many entries share one block of data, and entries contain the following entries in their data.
    #[test]
    fn entries_that_share_bytes() {
        let kernel = file("a", &vec![0; 100_000]);
        let duplicate = Forged { offset: Some(0), ..kernel.clone() };
        check_refused(&[kernel.clone(), duplicate], Code::InvalidArgument, "shares its bytes");
        let inner = fixture::archive(std::slice::from_ref(&kernel));
        let inner = &inner[..30 + 1 + kernel.data.len()];
        let outer = stored("b", inner);
        // The kernel's header is in the data of the entry before it.
        let quoted = Forged { offset: Some(30 + 1), ..kernel };
        check_refused(&[outer.clone(), quoted.clone()], Code::InvalidArgument, "shares its bytes");
        check_refused(
            &[stored("c", b""), Forged { offset: Some(31 + 31), ..quoted }, outer],
            Code::InvalidArgument,
            "",
        );
        let long = Forged { packed: 40, size: 40, ..stored("in the directory", b"") };
        check_refused(&[long], Code::InvalidArgument, "shares its bytes");
    }

    #[test]
    fn headers_that_differ() {
        let local = Forged { local_name: Some(b"evil".to_vec()), ..file("good", b"x") };
        check_refused(&[local], Code::InvalidArgument, "entry `good` is damaged: its local header");
        check_refused(&[Forged { offset: Some(3), ..file("a", b"x") }], Code::InvalidArgument, "its local header");
        let mut more = fixture::archive(&[file("a", b"x")]);
        let count = more.len() - 12;
        more[count] = 2;
        assert!(read(&more, &Limits::default()).unwrap_err().message().contains("fewer entries"));
    }

    #[test]
    fn special_entries_are_refused() {
        for flags in [1, 1 << 6, 1 << 13] {
            check_refused(&[Forged { flags, ..file("a", b"x") }], Code::InvalidArgument, "entry `a` is encrypted");
        }
        check_refused(&[Forged { method: 99, ..file("a", b"x") }], Code::InvalidArgument, "encrypted");
        check_refused(&[Forged { flags: 1 << 5, ..file("a", b"x") }], Code::InvalidArgument, "a patch");
        check_refused(&[Forged { method: 12, ..file("a", b"x") }], Code::InvalidArgument, "method 12 (BZIP2)");
        check_refused(&[Forged { method: 777, ..file("a", b"x") }], Code::InvalidArgument, "method 777 (UNKNOWN)");
        let mode = |mode, name: &str| Forged { mode, ..stored(name, b"") };
        check_refused(
            &[Forged { mode: 0o120_777, ..stored("link", b"/etc") }],
            Code::InvalidArgument,
            "`link` is a symbolic link",
        );
        check_refused(&[mode(0o120_777, "d/")], Code::InvalidArgument, "symbolic link");
        check_refused(&[mode(0o010_644, "fifo")], Code::InvalidArgument, "FIFO");
        check_refused(&[mode(0o060_644, "disk/")], Code::InvalidArgument, "FIFO, socket or device");
        check_refused(&[mode(0o040_755, "d")], Code::InvalidArgument, "a directory by its mode");
    }

    #[test]
    fn paths_that_are_there_twice() {
        let pairs = [
            ["a", "a"],
            ["a", "./a"],
            ["a", "a/"],
            ["a/", "a/"],
            ["a", "a/b"],
            ["a/b", "a"],
            ["a/b/c", "a/b"],
            ["README", "readme"],
            ["a/b", "A/c"],
            ["A/", "a/b"],
            ["stra\u{df}e", "STRASSE"],
            ["a", "a."],
            ["x/y. ", "x/y"],
        ];
        for [one, other] in pairs {
            for [one, other] in [[one, other], [other, one]] {
                let error = read(&fixture::archive(&[stored(one, b""), stored(other, b"")]), &Limits::default());
                let error = error.expect_err(&format!("{one} {other}"));
                assert_eq!(error.code, Code::InvalidArgument, "{one} {other}: {error}");
            }
        }
        for [one, other] in [["a/", "a/b"], ["a/b", "a/c"], ["a/b", "b"], ["12:30", "12:31"], ["a.b", "a"]] {
            assert!(read(&fixture::archive(&[stored(one, b""), stored(other, b"")]), &Limits::default()).is_ok());
        }
    }

    #[test]
    fn more_than_a_call_makes() {
        let many: Vec<_> = (0..5_000).map(|n| stored(&format!("{n}"), b"")).collect();
        check_refused(&many, Code::LimitExceeded, "more than 1000 files and directories");
        // Few entries in many directories.
        let deep: Vec<_> = (0..10).map(|n| stored(&format!("{n}/").repeat(200), b"")).collect();
        check_refused(&deep, Code::LimitExceeded, "more than 1000 files and directories");
        let few = Limits { max_files: 3, ..Limits::default() };
        assert!(read(&fixture::archive(&[stored("a/b/c", b"")]), &few).is_ok());
        assert!(read(&fixture::archive(&[stored("a/b/c", b""), stored("d", b"")]), &few).is_err());
    }

    proptest! {
        /// Reading a damaged archive returns a value or an error within the limits.
        #[test]
        fn damage_anywhere_is_a_value(changes in prop::collection::vec((0usize..400, any::<u8>()), 1..6), cut in 0usize..500) {
            let entries = [directory("d/"), file("d/a", b"some text, some text"), stored("b", b"stored"), file("c", b"")];
            let mut bytes = fixture::archive(&entries);
            for (at, byte) in changes {
                let length = bytes.len();
                bytes[at % length] = byte;
            }
            bytes.truncate(bytes.len().saturating_sub(cut.saturating_sub(400)));
            let limits = Limits { max_file_bytes: 1_000, max_files: 5, ..Limits::default() };
            if let Ok(contents) = read(&bytes, &limits) {
                prop_assert!(contents.len() <= 5);
                prop_assert!(contents.iter().all(|(path, content)| content.len() <= 1_000 && name::path(path).is_ok() || path.is_empty()));
            }
        }
    }
}
