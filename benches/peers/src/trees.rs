//! Trees of the tasks: generated trees, which are created once below `target/`, and the crate registry.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result};

use crate::directories;
use crate::text::{Random, source};

/// Average size of a generated file in bytes.
const FILE_BYTES: usize = 3_500;
/// Version of the generator. It is part of the directory's name, so that trees of an older generator are not reused.
const GENERATION: u32 = 1;

/// Kind of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A generated tree of this many files.
    Generated(usize),
    /// The crates that cargo has unpacked.
    Registry,
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "registry" {
            return Ok(Self::Registry);
        }
        let files = text.parse().map_err(|_| format!("`{text}` is neither `registry` nor a number of files"))?;
        Ok(Self::Generated(files))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generated(files) => write!(formatter, "{} files", grouped(*files as u64)),
            Self::Registry => formatter.write_str("crate registry"),
        }
    }
}

/// A tree on the disk.
pub struct Tree {
    /// Kind of the tree.
    pub kind: Kind,
    /// Top directory.
    pub top: PathBuf,
    /// Number of files.
    pub files: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Files that contain NUL or are not UTF-8. Programs treat them differently, so answers about them are not
    /// compared.
    pub odd: HashSet<String>,
}

impl Tree {
    /// Returns the tree, created if it does not exist.
    pub fn prepare(kind: Kind) -> Result<Self> {
        let top = match kind {
            Kind::Registry => directories::registry()?,
            Kind::Generated(files) => {
                created_once(&format!("source-{files}-{GENERATION}"), |top| generate(top, files))?
            }
        };
        let mut tree = Self { kind, top, files: 0, bytes: 0, odd: HashSet::new() };
        tree.inspect(&tree.top.clone())?;
        Ok(tree)
    }

    fn inspect(&mut self, dir: &Path) -> Result<()> {
        for entry in fs::read_dir(dir).with_context(|| format!("cannot list `{}`", dir.display()))? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.inspect(&entry.path())?;
            } else if kind.is_file() {
                let bytes = fs::read(entry.path())?;
                self.files += 1;
                self.bytes += bytes.len() as u64;
                if bytes.contains(&0) || std::str::from_utf8(&bytes).is_err() {
                    let path = entry.path();
                    self.odd.insert(path.strip_prefix(&self.top)?.to_string_lossy().into_owned());
                }
            }
        }
        Ok(())
    }
}

/// Formats `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Creates texts of 100 MB with lines of 64 bytes, of 4 KB and of 150 KB.
pub fn texts() -> Result<PathBuf> {
    created_once(&format!("texts-{GENERATION}"), |top| {
        for (name, lines) in [("large.txt", 1_600_000), ("small.txt", 64), ("middle.txt", 2_400)] {
            let mut file = BufWriter::new(fs::File::create(top.join(name))?);
            for line in 1..=lines {
                writeln!(file, "{line:07} {:-<55}", "")?;
            }
            file.flush()?;
        }
        Ok(())
    })
}

/// Returns the text of the files that edits and patches change.
pub fn editable(value: u8) -> String {
    let (above, below) = ("fn one() {}\n".repeat(150), "fn two() {}\n".repeat(150));
    format!("{above}let value = {value};\n{below}")
}

fn generate(top: &Path, files: usize) -> Result<()> {
    let mut random = Random(7);
    // Each directory has about 20 files. The number of directories is not a round number, so that each directory has
    // files of all kinds of names.
    let dirs = files / 20 + 1;
    for number in 0..files {
        let dir = top.join(directory(number % dirs));
        fs::create_dir_all(&dir)?;
        let bytes = FILE_BYTES / 2 + random.below(FILE_BYTES);
        fs::write(dir.join(file_name(number)), source(&mut random, number, bytes))?;
    }
    fs::write(top.join(".gitignore"), "*.tmp\nbuild/\n")?;
    for dir in (0..dirs).step_by(7) {
        fs::write(top.join(directory(dir)).join(".gitignore"), "generated_*\n!generated_1*\n/local.rs\n")?;
    }
    Ok(())
}

fn directory(number: usize) -> PathBuf {
    let last = if number % 23 == 22 { "build".to_owned() } else { format!("m{number}") };
    let hidden = if number % 41 == 40 { ".cache" } else { "src" };
    [format!("a{}", number / 100), format!("b{}", number / 10 % 10), hidden.to_owned(), last].iter().collect()
}

fn file_name(number: usize) -> String {
    match number % 50 {
        0 => format!(".hidden{number}.rs"),
        1 => format!("scratch{number}.tmp"),
        2 | 3 => format!("generated_{number}.rs"),
        4..12 => format!("page{number}.md"),
        12..15 => format!("parser{number}.rs"),
        _ => format!("file{number}.rs"),
    }
}

/// Returns a directory below `target/`, which `make` fills if it does not exist.
pub fn created_once(name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let dir = directories::trees()?.join(name);
    if !dir.exists() {
        eprintln!("making {name}");
        let half = dir.with_extension("half");
        if half.exists() {
            fs::remove_dir_all(&half)?;
        }
        fs::create_dir_all(&half)?;
        make(&half)?;
        fs::rename(&half, &dir)?;
    }
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_a_number_or_the_registry() {
        assert_eq!("1000".parse(), Ok(Kind::Generated(1000)));
        assert_eq!("registry".parse(), Ok(Kind::Registry));
        assert!("many".parse::<Kind>().is_err());
        assert_eq!(Kind::Generated(100_000).to_string(), "100,000 files");
    }

    #[test]
    fn a_generated_tree_has_all_its_files_and_rules() {
        let dir = tempfile::tempdir().unwrap();
        generate(dir.path(), 500).unwrap();
        let mut tree =
            Tree { kind: Kind::Generated(500), top: dir.path().into(), files: 0, bytes: 0, odd: HashSet::new() };
        tree.inspect(dir.path()).unwrap();
        assert_eq!(tree.files, 500 + 1 + 4, "26 directories, every seventh with rules");
        assert!(tree.odd.is_empty());
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([1, 999, 1000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
    }
}
