use std::process::Command;

use paddock_guest::engine;
use paddock_types::entry::Time;
use paddock_types::outcome::Outcome;
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use serde_json::{Value, json};

use crate::tree::tree_of;

/// Returns the number of comparisons of each kind.
pub fn requested_cases() -> usize {
    std::env::var("PADDOCK_COMPARISONS").map_or(400, |count| count.parse().unwrap())
}

/// Returns whether a program is installed, and prints a note if it is not.
pub fn has(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: there is no `{program}`");
    }
    is_there
}

/// Pseudo-random numbers, the same in each run.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, max: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % max
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

pub fn memory(files: &[(String, String)]) -> MemoryFs {
    let fs = MemoryFs::new(&["/workspace"], || Time { seconds: 7, nanoseconds: 0 }, 1);
    for (path, content) in files {
        let written = call(&fs, "write_file", &json!({"path": path, "content": content}));
        assert!(written.error.is_none(), "{path}: {:?}", written.error);
    }
    fs
}

pub fn read(fs: &MemoryFs, path: &str) -> String {
    String::from_utf8(tree_of(fs).remove(path).unwrap().1).unwrap()
}

pub fn call(fs: &MemoryFs, tool: &str, arguments: &Value) -> Outcome {
    engine::call(fs, &Policy::default(), "paddock", tool, &arguments.to_string())
}
