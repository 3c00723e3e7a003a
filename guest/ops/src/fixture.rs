//! In-memory workspaces for tests of archives.

use std::io::Read;

use paddock_types::entry::Time;
use paddock_types::error::Result;
use paddock_types::policy::Policy;
use paddock_types::request::{Request, Restore};
use paddock_types::response::{Change, Response};
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::memory_tar::snapshot;
use paddock_vfs::{Dir, Filesystem, Open};

/// An in-memory workspace with a state directory.
pub struct Fixture {
    pub memory: MemoryFs,
    pub policy: Policy,
}

impl Fixture {
    /// Creates a workspace with these files; `a/` is a directory, `a -> b` a symbolic link.
    pub fn new(files: &[(&str, &[u8])]) -> Self {
        let clock = || Time { seconds: 1_700_000_000, nanoseconds: 0 };
        let fixture =
            Self { memory: MemoryFs::new(&["/workspace", "/paddock-state"], clock, 7), policy: Policy::default() };
        files.iter().for_each(|(path, bytes)| fixture.put(path, bytes));
        fixture
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

    /// Opens the directory of a path, created if missing, and returns it with the last name.
    pub fn enter<'p>(&self, path: &'p str) -> (Dir, &'p str) {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut dir = self.memory.preopens().remove(0).dir;
        for name in above.split('/').filter(|name| !name.is_empty()) {
            let _ = self.memory.make_dir(&dir, name);
            dir = self.memory.open_dir(&dir, name).unwrap();
        }
        (dir, name)
    }

    /// Returns every entry in the workspace, one line each.
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

    /// Executes the request and returns the changes that it made.
    pub fn run(&self, request: Request) -> Result<(Response, Vec<Change>)> {
        let workspace = crate::open(&self.memory, &self.policy, request.access())?;
        let response = crate::run(&workspace, &request)?;
        Ok((response, workspace.take_changes()))
    }

    /// Undoes a call.
    pub fn restore(&self, backup: Option<String>) {
        self.run(Request::Restore(Restore { backup: Some(backup.unwrap()), ..Restore::default() })).unwrap();
    }
}
