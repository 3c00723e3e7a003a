//! A workspace in memory with a small tree.

use paddock_guest::engine;
use paddock_types::entry::Time;
use paddock_types::outcome::Outcome;
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Dir, Filesystem, Open};
use serde_json::{Value, json};

use crate::tree::{Tree, tree_of};

pub struct Fixture {
    pub fs: MemoryFs,
    pub policy: Policy,
}

impl Fixture {
    pub fn new() -> Self {
        Self::with("{}")
    }

    pub fn with(policy: &str) -> Self {
        let fs = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 7, nanoseconds: 0 }, 1);
        Self { fs, policy: Policy::parse(policy, "paddock").unwrap() }
    }

    /// Creates a workspace with a small tree that contains links.
    pub fn furnished() -> Self {
        let fixture = Self::new();
        for (path, text) in [("a.txt", "one\ntwo\nthree\n"), ("dir/b.txt", "two\r\nthree\r\n"), ("dir/in/c", "x")] {
            fixture.ok("write_file", &json!({"path": path, "content": text}));
        }
        let top = fixture.top();
        fixture.fs.symlink(&top, "link", "dir/b.txt").unwrap();
        fixture.fs.symlink(&top, "out", "../../outside").unwrap();
        fixture.fs.symlink(&top, "loop", "loop").unwrap();
        fixture
    }

    pub fn top(&self) -> Dir {
        self.fs.preopens().remove(0).dir
    }

    /// Writes a file with these bytes.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let file = self.fs.open_file(&self.top(), name, Open::CreateNew).unwrap();
        self.fs.write(&file, 0, bytes).unwrap();
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.tree().remove(name).unwrap().1
    }

    pub fn call_as(&self, dialect: &str, tool: &str, arguments: &str) -> Outcome {
        let outcome = engine::call(&self.fs, &self.policy, dialect, tool, arguments);
        serde_json::from_str::<Value>(&outcome.result).expect("a result is JSON");
        outcome
    }

    pub fn call(&self, tool: &str, arguments: &Value) -> Outcome {
        self.call_as("paddock", tool, &arguments.to_string())
    }

    /// Makes a call that must succeed, and returns its result.
    pub fn ok(&self, tool: &str, arguments: &Value) -> Value {
        let outcome = self.call(tool, arguments);
        assert!(outcome.error.is_none(), "{tool} {arguments}: {:?}", outcome.error);
        serde_json::from_str(&outcome.result).unwrap()
    }

    pub fn tree(&self) -> Tree {
        tree_of(&self.fs)
    }
}

/// Splits the bytes at the first NUL and returns both parts as text.
pub fn halves(bytes: &[u8]) -> (String, String) {
    let at = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&bytes[..at]), text(bytes.get(at + 1..).unwrap_or_default()))
}
