//! Generated trees, the same bytes on every machine, created once under `target/`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Number of files in the searched tree.
const FILES: usize = 20_000;
const FILE_BYTES: usize = 7_500;

const WORDS: [&str; 24] = [
    "let", "fn", "return", "value", "index", "buffer", "stream", "error", "config", "handler", "request", "response",
    "parse", "token", "offset", "length", "match", "while", "struct", "impl", "self", "const", "string", "result",
];

/// Returns a tree of 20,000 files in 400 directories, 150 MB of text that resembles source code.
pub fn source_tree() -> PathBuf {
    created_once("source-20000", |top| {
        let mut random = Random(7);
        for number in 0..FILES {
            let dir = top.join(format!("d{:02}/e{:02}", number % 20, number / 20 % 20));
            fs::create_dir_all(&dir)?;
            fs::write(dir.join(format!("file{number:05}.rs")), source(&mut random))?;
        }
        Ok(())
    })
}

/// Returns a directory of 10,000 small files.
pub fn wide_dir() -> PathBuf {
    created_once("wide-10000", |top| {
        (0..10_000).try_for_each(|number| fs::write(top.join(format!("file{number:05}.txt")), "x\n"))
    })
}

/// Returns a tree of `count` files, a thousand in each directory. Most of them are empty, because the costs depend on
/// their number.
pub fn entries(count: usize) -> PathBuf {
    created_once(&format!("entries-{count}"), |top| {
        for number in 0..count {
            let dir = top.join(format!("d{:02}/e{:03}", number / 100_000, number / 1_000 % 100));
            if number % 1_000 == 0 {
                fs::create_dir_all(&dir)?;
            }
            let text = if number % 100 == 0 { "some text that says nothing\n" } else { "" };
            fs::write(dir.join(format!("file{number:07}.txt")), text)?;
        }
        fs::write(top.join("last.txt"), "needle_in_haystack\n")
    })
}

/// Returns a directory with a text of 100 MB, in lines of 64 bytes, and a text of 4 KB.
pub fn texts() -> PathBuf {
    created_once("texts", |top| {
        let mut file = std::io::BufWriter::new(fs::File::create(top.join("large.txt"))?);
        for line in 0..1_600_000 {
            writeln!(file, "{line:07} {:-<55}", "")?;
        }
        fs::write(top.join("small.txt"), "0123456789abcdef 0123456789abcdef 0123456789abcdef 0123456789a\n".repeat(64))
    })
}

/// Returns a directory for a tree that a benchmark changes.
pub fn scratch(name: &str) -> PathBuf {
    let dir = top().join(format!("scratch-{name}"));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("target/ can be written");
    dir
}

fn created_once(name: &str, make: impl FnOnce(&Path) -> std::io::Result<()>) -> PathBuf {
    let dir = top().join(name);
    if !dir.exists() {
        let half = top().join(format!("{name}.half"));
        let _ = fs::remove_dir_all(&half);
        fs::create_dir_all(&half)
            .and_then(|()| make(&half))
            .and_then(|()| fs::rename(&half, &dir))
            .expect("target/ has room");
    }
    dir
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench-trees")
}

fn source(random: &mut Random) -> String {
    let mut text = String::with_capacity(FILE_BYTES + 80);
    while text.len() < FILE_BYTES {
        text.push_str(&" ".repeat(random.below(5) * 4));
        for _ in 0..3 + random.below(8) {
            text.push_str(WORDS[random.below(WORDS.len())]);
            text.push(if random.below(6) == 0 { '_' } else { ' ' });
        }
        if random.below(20_000) == 0 {
            text.push_str("needle_in_haystack");
        }
        text.push('\n');
    }
    text
}

/// SplitMix64: small, seeded, the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).expect("below a usize")
    }
}
