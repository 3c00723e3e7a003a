//! Archives made by hand, with headers that say whatever a test wants, and workspaces to unpack them in.

use std::io::Read;

use miniz_oxide::deflate::compress_to_vec;

use crate::engine;
use crate::error::Result;
use crate::fs::archive::snapshot;
use crate::fs::memory::MemoryFs;
use crate::fs::{Dir, Filesystem, Open, Time};
use crate::ops;
use crate::policy::Policy;
use crate::request::{Request, Restore};
use crate::response::{Change, Response};

/// An entry as it is written, true or not.
#[derive(Clone)]
pub struct Forged {
    pub name: Vec<u8>,
    /// The name in front of the data, where it is another one.
    pub local_name: Option<Vec<u8>>,
    pub data: Vec<u8>,
    pub method: u16,
    pub flags: u16,
    pub checksum: u32,
    pub size: u32,
    pub mode: u32,
    /// Bytes of the data, as the directory says.
    pub packed: u32,
    /// Where its header is, where that is not where it was written.
    pub offset: Option<u32>,
}

/// A file, deflated.
pub fn file(name: &str, content: &[u8]) -> Forged {
    let data = compress_to_vec(content, 6);
    Forged { method: 8, packed: data.len() as u32, data, ..stored(name, content) }
}

/// A file, stored as it is.
pub fn stored(name: &str, content: &[u8]) -> Forged {
    Forged {
        name: name.as_bytes().to_vec(),
        local_name: None,
        data: content.to_vec(),
        method: 0,
        flags: 1 << 11,
        checksum: rawzip::crc32(content),
        size: content.len() as u32,
        mode: 0o100_644,
        packed: content.len() as u32,
        offset: None,
    }
}

/// An archive of these entries.
pub fn archive(entries: &[Forged]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let offset = entry.offset.unwrap_or(bytes.len() as u32);
        let local = entry.local_name.as_ref().unwrap_or(&entry.name);
        bytes.extend(b"PK\x03\x04\x14\0");
        bytes.extend(common(entry));
        bytes.extend((local.len() as u16).to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(local);
        bytes.extend(&entry.data);
        directory.extend(b"PK\x01\x02\x14\x03\x14\0");
        directory.extend(common(entry));
        directory.extend((entry.name.len() as u16).to_le_bytes());
        directory.extend([0; 8]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(&entry.name);
    }
    let (start, count) = (bytes.len() as u32, entries.len() as u16);
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// What both headers say in the same form.
fn common(entry: &Forged) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(entry.flags.to_le_bytes());
    bytes.extend(entry.method.to_le_bytes());
    bytes.extend([0, 0, 0x21, 0]);
    bytes.extend(entry.checksum.to_le_bytes());
    bytes.extend(entry.packed.to_le_bytes());
    bytes.extend(entry.size.to_le_bytes());
    bytes
}

/// A workspace in memory with a state directory.
pub struct Desk {
    pub memory: MemoryFs,
    pub policy: Policy,
}

impl Desk {
    /// With these files; `a/` is a directory, `a -> b` a link.
    pub fn new(files: &[(&str, &[u8])]) -> Self {
        let clock = || Time { seconds: 1_700_000_000, nanoseconds: 0 };
        let desk =
            Self { memory: MemoryFs::new(&["/workspace", "/paddock-state"], clock, 7), policy: Policy::default() };
        files.iter().for_each(|(path, bytes)| desk.put(path, bytes));
        desk
    }

    pub fn put(&self, path: &str, bytes: &[u8]) {
        let (path, link) = path.split_once(" -> ").map_or((path, None), |(path, target)| (path, Some(target)));
        let (dir, name) = self.enter(path);
        match link {
            Some(target) => self.memory.symlink(&dir, name, target).unwrap(),
            None if name.is_empty() => {}
            None => {
                let file = self.memory.open_file(&dir, name, Open::CreateNew).unwrap();
                self.memory.write(&file, 0, bytes).unwrap();
            }
        }
    }

    /// The directory of a path, made where it is missing, and the last name.
    pub fn enter<'p>(&self, path: &'p str) -> (Dir, &'p str) {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut dir = self.memory.preopens().remove(0).dir;
        for name in above.split('/').filter(|name| !name.is_empty()) {
            let _ = self.memory.make_dir(&dir, name);
            dir = self.memory.open_dir(&dir, name).unwrap();
        }
        (dir, name)
    }

    /// Everything in the workspace, as a line each.
    pub fn tree(&self) -> Vec<String> {
        let snapshot = snapshot(&self.memory).unwrap();
        let mut archive = tar::Archive::new(snapshot.as_slice());
        let line = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            let path = entry.path().unwrap().display().to_string();
            match entry.header().entry_type() {
                tar::EntryType::Directory => format!("{}/", path.trim_end_matches('/')),
                tar::EntryType::Symlink => format!("{path} -> {}", entry.link_name().unwrap().unwrap().display()),
                _ => format!("{path}: {}", String::from_utf8_lossy(&content)),
            }
        };
        let mut lines: Vec<_> = archive.entries().unwrap().map(line).collect();
        lines.sort();
        lines
    }

    /// Does what is asked, with the changes that were made.
    pub fn run(&self, request: Request) -> Result<(Response, Vec<Change>)> {
        let workspace = engine::open(&self.memory, &self.policy, request.access())?;
        let response = ops::run(&workspace, &request)?;
        Ok((response, workspace.take_changes()))
    }

    /// Undoes a call.
    pub fn restore(&self, backup: Option<String>) {
        self.run(Request::Restore(Restore { backup: Some(backup.unwrap()), ..Restore::default() })).unwrap();
    }
}
