//! Archives: loading and export return the same tree, and a hostile archive changes nothing.

use std::io::Read;

use paddock::types::ErrorCode;
use paddock::{Policy, Workspace};
use tar::{EntryType, Header};

use super::{read, write};

/// An archive with arbitrary members.
#[derive(Default)]
struct Archive(Vec<u8>);

impl Archive {
    fn member(mut self, name: &[u8], kind: EntryType, mode: u32, target: &str, content: &[u8]) -> Self {
        let mut header = Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_mtime(1);
        header.set_size(content.len() as u64);
        header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn file(self, name: &[u8], content: &[u8]) -> Self {
        self.member(name, EntryType::Regular, 0o644, "", content)
    }

    fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

/// A name, kind, mode, target and content.
type Member = (String, EntryType, u32, Option<String>, Vec<u8>);

fn members(archive: &[u8]) -> Vec<Member> {
    let mut archive = tar::Archive::new(archive);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let target = entry.link_name().unwrap().map(|target| target.to_str().unwrap().to_owned());
        (name, entry.header().entry_type(), entry.header().mode().unwrap(), target, content)
    });
    entries.collect()
}

#[test]
fn modes_links_and_empty_directories_come_out_as_they_went_in() {
    let archive = Archive::default()
        .member(b"bin", EntryType::Directory, 0o750, "", b"")
        .member(b"empty", EntryType::Directory, 0o700, "", b"")
        .member(b"link", EntryType::Symlink, 0o777, "bin/run", b"")
        .member(b"bin/run", EntryType::Regular, 0o755, "", b"#!/bin/sh\n")
        .end();
    let workspace = Workspace::memory(Policy::default()).unwrap();
    workspace.load(&archive).unwrap();
    let snapshot = workspace.snapshot().unwrap();
    assert_eq!(members(&snapshot), members(&archive));
    let again = Workspace::memory(Policy::default()).unwrap();
    again.load(&snapshot).unwrap();
    assert_eq!(again.snapshot().unwrap(), snapshot, "to the byte");
    write(&workspace, "link", "#!/bin/true\n");
    let (name, _, mode, _, content) = members(&workspace.snapshot().unwrap()).pop().unwrap();
    assert_eq!((name.as_str(), mode, content.as_slice()), ("bin/run", 0o755, b"#!/bin/true\n".as_slice()));
}

#[test]
fn a_hostile_archive_changes_nothing() {
    let link = || Archive::default().member(b"out", EntryType::Symlink, 0o777, "/etc", b"");
    let huge = {
        let mut bytes = Archive::default().file(b"huge", b"x").end();
        let mut header = Header::from_byte_slice(&bytes[..512]).clone();
        header.set_size(1 << 60);
        header.set_cksum();
        bytes[..512].copy_from_slice(header.as_bytes());
        bytes
    };
    let long = vec![b'n'; 100];
    for (what, archive) in [
        ("an absolute name", Archive::default().file(b"/etc/passwd", b"x").end()),
        ("a name that goes up", Archive::default().file(b"../x", b"x").end()),
        ("one that goes up later", Archive::default().file(b"a/../../x", b"x").end()),
        ("a name through a link", link().file(b"out/passwd", b"x").end()),
        ("a directory in a link's place", link().member(b"out", EntryType::Directory, 0o755, "", b"").end()),
        ("a name twice", Archive::default().file(b"a", b"1").file(b"a", b"2").end()),
        ("a file as directory", Archive::default().file(b"a", b"1").file(b"a/b", b"2").end()),
        ("a hard link", Archive::default().member(b"a", EntryType::Link, 0o644, "/etc/passwd", b"").end()),
        ("a device", Archive::default().member(b"a", EntryType::Char, 0o644, "", b"").end()),
        ("a FIFO", Archive::default().member(b"a", EntryType::Fifo, 0o644, "", b"").end()),
        ("a backslash", Archive::default().file(b"a\\b", b"x").end()),
        ("no UTF-8", Archive::default().file(b"a\xff", b"x").end()),
        ("more than there is", huge),
        ("half of an archive", Archive::default().file(&long, &[b'x'; 2000]).end()[..1500].to_vec()),
        ("no archive", vec![b'x'; 2000]),
    ] {
        let workspace = Workspace::memory(Policy::default()).unwrap();
        write(&workspace, "kept/a.txt", "kept");
        let before = workspace.snapshot().unwrap();
        let error = workspace.load(&archive).expect_err(what);
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{what}: {error:?}");
        assert_eq!(workspace.snapshot().unwrap(), before, "{what}");
    }
}

#[test]
fn a_link_that_leads_out_leads_nowhere() {
    let archive = Archive::default().member(b"passwd", EntryType::Symlink, 0o777, "/etc/passwd", b"").end();
    let workspace = Workspace::memory(Policy::default()).unwrap();
    workspace.load(&archive).unwrap();
    assert_eq!(read(&workspace, "passwd"), "outside-workspace");
}
