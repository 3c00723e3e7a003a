use std::process::Command;

use paddock_guest::engine::{self, Outcome};
use paddock_guest::fs::memory::MemoryFs;
use paddock_guest::fs::{Fault, Filesystem, Open, Time};
use paddock_guest::policy::Policy;

/// Comparisons of each kind.
pub fn asked() -> usize {
    std::env::var("PADDOCK_COMPARISONS").map_or(400, |count| count.parse().unwrap())
}

/// Whether a program is there; says so where it is not.
pub fn has(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: there is no `{program}`");
    }
    is_there
}

/// Numbers that are the same in each run.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % most
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

pub fn memory(files: &[(String, String)]) -> MemoryFs {
    let fs = MemoryFs::new(&["/workspace"], || Time { seconds: 7, nanoseconds: 0 }, 1);
    for (path, text) in files {
        let mut dir = fs.preopens().remove(0).dir;
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        for part in above.split('/').filter(|part| !part.is_empty()) {
            match fs.make_dir(&dir, part) {
                Ok(()) | Err(Fault::Exists) => {}
                Err(fault) => panic!("{fault:?}"),
            }
            dir = fs.open_dir(&dir, part).unwrap();
        }
        let file = fs.open_file(&dir, name, Open::CreateNew).unwrap();
        fs.write(&file, 0, text.as_bytes()).unwrap();
    }
    fs
}

pub fn read(fs: &MemoryFs, name: &str) -> String {
    let file = fs.open_file(&fs.preopens().remove(0).dir, name, Open::Read).unwrap();
    let mut bytes = Vec::new();
    while fs.read(&file, bytes.len() as u64, 1 << 16, &mut bytes).unwrap() > 0 {}
    String::from_utf8(bytes).unwrap()
}

pub fn call(fs: &MemoryFs, tool: &str, arguments: &serde_json::Value) -> Outcome {
    engine::call(fs, &Policy::default(), "paddock", tool, &arguments.to_string())
}
