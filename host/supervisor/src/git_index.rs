//! The paths that a Git index stages. Git does not check the paths of an index that it reads, and writes to each of them
//! when a person discards changes. The format is `gitformat-index(5)`; what can make Git read other entries than this
//! parser is refused.

use std::collections::HashMap;
use std::path::PathBuf;

/// Length of an object name in bytes. Repositories with SHA-256 are refused by the caller.
const OBJECT_NAME: usize = 20;
/// Length of the part of an entry before its flags.
const FIXED: usize = 40 + OBJECT_NAME;
/// Extensions that do not change the entries.
const EXTENSIONS: [&[u8]; 4] = [b"TREE", b"REUC", b"UNTR", b"FSMN"];

/// Flags of an entry.
const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const LENGTH: u16 = 0x0fff;
/// Flag of the extended flags.
const SKIP_WORKTREE: u16 = 0x4000;

/// A path and its stage.
type Key = (Vec<u8>, u16);

/// The content and mode that an index has for a path.
#[derive(PartialEq, Eq)]
struct Entry {
    mode: u32,
    object: Vec<u8>,
    /// Whether Git does not compare the file with the entry.
    is_hidden: bool,
}

/// Returns the paths of the entries that `new` has and `old` does not have. An `old` that cannot be read has no entries.
///
/// # Errors
///
/// The reason why `new` is refused.
pub(crate) fn changed_paths(old: Option<&[u8]>, new: &[u8]) -> Result<Vec<PathBuf>, String> {
    let new = entries(new)?;
    let old = old.and_then(|old| entries(old).ok()).unwrap_or_default();
    let mut changed = Vec::new();
    for (key, entry) in new {
        if old.get(&key) == Some(&entry) {
            continue;
        }
        let path = String::from_utf8(key.0).map_err(|_| "a changed path in the index is not UTF-8")?;
        if entry.is_hidden {
            return Err(format!("`{path}` would be marked so that Git shows no change of it"));
        }
        changed.push(PathBuf::from(path));
    }
    Ok(changed)
}

fn entries(content: &[u8]) -> Result<HashMap<Key, Entry>, String> {
    let mut input = Input { content, at: 0 };
    if input.take(4)? != b"DIRC" {
        return Err(UNREADABLE.to_owned());
    }
    let version = input.u32()?;
    if !(2..=4).contains(&version) {
        return Err(format!("version {version} of the index cannot be checked"));
    }
    let count = input.u32()?;
    let mut entries = HashMap::new();
    let mut path = Vec::new();
    for _ in 0..count {
        let (stage, entry) = input.entry(version, &mut path)?;
        check(&path, entry.mode)?;
        if entries.insert((path.clone(), stage), entry).is_some() {
            return Err(UNREADABLE.to_owned());
        }
    }
    input.extensions()?;
    Ok(entries)
}

/// Refuses a path that Git itself would not put into an index. The rules of the workspace are checked by the caller.
fn check(path: &[u8], mode: u32) -> Result<(), String> {
    let is_plain = |name: &[u8]| !matches!(name, b"" | b"." | b".." | b".git") && !name.contains(&b'\\');
    if path.split(|byte| *byte == b'/').all(is_plain) && MODES.contains(&mode) {
        return Ok(());
    }
    Err(format!("the index would have the entry `{}`", String::from_utf8_lossy(path).escape_debug()))
}

/// Modes of a file, an executable file, a symbolic link and a commit of a submodule.
const MODES: [u32; 4] = [0o100_644, 0o100_755, 0o120_000, 0o160_000];

struct Input<'c> {
    content: &'c [u8],
    at: usize,
}

impl<'c> Input<'c> {
    fn entry(&mut self, version: u32, path: &mut Vec<u8>) -> Result<(u16, Entry), String> {
        let start = self.at;
        let fixed = self.take(FIXED)?;
        let mode = fixed.get(24..28).map_or(0, be32);
        let object = fixed.get(40..).unwrap_or_default().to_vec();
        let flags = self.u16()?;
        let extended = if flags & EXTENDED == 0 { 0 } else { self.u16()? };
        if extended != 0 && version < 3 {
            return Err(UNREADABLE.to_owned());
        }
        let shared = if version == 4 { path.len().checked_sub(self.varint()?).ok_or(UNREADABLE)? } else { 0 };
        path.truncate(shared);
        path.extend_from_slice(self.text()?);
        // Git takes the length from the flags, unless it is too long for them.
        if usize::from(flags & LENGTH) != path.len().min(LENGTH.into()) {
            return Err(UNREADABLE.to_owned());
        }
        if version < 4 {
            // Between one and eight zero bytes follow the path, one of which has been read.
            let length = (self.at - 1 - start + 8) & !7;
            self.at = start;
            self.take(length)?;
        }
        let is_hidden = flags & ASSUME_VALID != 0 || extended & SKIP_WORKTREE != 0;
        Ok((flags & STAGE, Entry { mode, object, is_hidden }))
    }

    fn extensions(&mut self) -> Result<(), String> {
        while self.content.len().saturating_sub(self.at) > OBJECT_NAME {
            let name = self.take(4)?;
            if !EXTENSIONS.contains(&name) {
                let name = String::from_utf8_lossy(name).escape_debug().to_string();
                return Err(format!("the extension `{name}` of the index cannot be checked"));
            }
            let length = self.u32()?;
            self.take(usize::try_from(length).unwrap_or(usize::MAX))?;
        }
        self.take(OBJECT_NAME).map(drop)
    }

    fn take(&mut self, length: usize) -> Result<&'c [u8], String> {
        let end = self.at.checked_add(length).ok_or(UNREADABLE)?;
        let taken = self.content.get(self.at..end).ok_or(UNREADABLE)?;
        self.at = end;
        Ok(taken)
    }

    /// Returns the bytes before the next zero byte.
    fn text(&mut self) -> Result<&'c [u8], String> {
        let rest = self.content.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == 0).ok_or(UNREADABLE)?;
        let text = self.take(length)?;
        self.take(1)?;
        Ok(text)
    }

    /// Returns a number in the variable length of `gitformat-pack(5)`, as offsets have it.
    fn varint(&mut self) -> Result<usize, String> {
        let mut byte = self.u8()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.u8()?;
            // No path is that long.
            if value > usize::from(u16::MAX) {
                return Err(UNREADABLE.to_owned());
            }
            value = ((value + 1) << 7) | usize::from(byte & 0x7f);
        }
        Ok(value)
    }

    fn u8(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    fn u16(&mut self) -> Result<u16, String> {
        self.take(2).map(|bytes| bytes.iter().fold(0, |value, byte| (value << 8) | u16::from(*byte)))
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.take(4).map(be32)
    }
}

fn be32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |value, byte| (value << 8) | u32::from(*byte))
}

const UNREADABLE: &str = "it is not a valid index of Git";

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of version 2 with these entries: path, mode, flags without the length.
    fn index(entries: &[(&str, u32, u16)], rest: &[u8]) -> Vec<u8> {
        let mut content = [b"DIRC".as_slice(), &2_u32.to_be_bytes(), &(entries.len() as u32).to_be_bytes()].concat();
        for (path, mode, flags) in entries {
            let start = content.len();
            content.extend([0; 24]);
            content.extend(mode.to_be_bytes());
            content.extend([7; 32]);
            content.extend((flags | path.len() as u16).to_be_bytes());
            content.extend(path.as_bytes());
            let length = (content.len() - start + 8) & !7;
            content.resize(start + length, 0);
        }
        content.extend(rest);
        content.extend([0; OBJECT_NAME]);
        content
    }

    const FILE: u32 = 0o100_644;

    fn changed(old: &[u8], new: &[u8]) -> Vec<String> {
        let mut paths: Vec<_> =
            changed_paths(Some(old), new).unwrap().iter().map(|path| path.display().to_string()).collect();
        paths.sort();
        paths
    }

    #[test]
    fn only_changed_paths_are_returned() {
        let old = index(&[("a", FILE, 0), ("b/c", FILE, 0)], b"TREE\0\0\0\x01x");
        assert_eq!(changed(&old, &old), [""; 0]);
        let new = index(&[("a", 0o100_755, 0), ("b/c", FILE, 0), ("d", FILE, 0)], b"");
        assert_eq!(changed(&old, &new), ["a", "d"]);
        assert_eq!(changed(&new, &old), ["a"]);
        assert_eq!(changed(b"broken", &old), ["a", "b/c"]);
        // The same path in another stage is another entry.
        assert_eq!(changed(&old, &index(&[("a", FILE, 0x1000), ("b/c", FILE, 0)], b"")), ["a"]);
    }

    #[test]
    fn paths_that_leave_the_working_tree_are_refused() {
        for path in ["", "/x", "../x", "a/../../x", "a//b", "a/", "./a", ".git/hooks/x", "a/.git/x", "a\\b"] {
            assert!(changed_paths(None, &index(&[(path, FILE, 0)], b"")).is_err(), "{path}");
        }
        assert!(changed_paths(None, &index(&[("a", 0o040_000, 0)], b"")).is_err());
    }

    #[test]
    fn marks_that_hide_changes_are_refused_where_they_are_new() {
        let hidden = index(&[("a", FILE, ASSUME_VALID)], b"");
        assert!(changed_paths(None, &hidden).unwrap_err().contains("`a`"));
        assert_eq!(changed(&hidden, &hidden), [""; 0]);
    }

    #[test]
    fn ambiguous_indices_are_refused() {
        let good = index(&[("abc", FILE, 0)], b"");
        for rest in
            [b"link\0\0\0\0".as_slice(), b"sdir\0\0\0\0", b"IEOT\0\0\0\0", b"EOIE\0\0\0\0", b"TREE\0\0\0\x09x", b"x"]
        {
            assert!(changed_paths(None, &index(&[("abc", FILE, 0)], rest)).is_err(), "{rest:?}");
        }
        // The length in the flags is that of `ab`.
        let mut short = good.clone();
        short[12 + FIXED + 1] = 2;
        assert!(changed_paths(None, &short).is_err());
        for length in 0..good.len() {
            assert!(changed_paths(None, &good[..length]).is_err(), "{length}");
        }
        let mut version = good;
        version[7] = 5;
        assert!(changed_paths(None, &version).is_err());
    }

    /// Git writes indices of each version, and this parser reads the same paths.
    #[test]
    fn indices_of_git_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let output = std::process::Command::new("git").args(args).current_dir(directory.path()).output().unwrap();
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["init", "-q"]);
        let long = format!("{0}/{0}/{0}/x", "long".repeat(40));
        for path in ["a", "b/one.txt", "b/one.txt2", "b/two", "über/ä", &long] {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        git(&["add", "-A"]);
        let listed = git(&["-c", "core.quotePath=false", "ls-files"]);
        for version in ["2", "3", "4"] {
            git(&["update-index", "--index-version", version]);
            git(&["rm", "-q", "--cached", "a"]);
            std::fs::write(directory.path().join("a"), version).unwrap();
            git(&["add", if version == "3" { "-N" } else { "-f" }, "a"]);
            let content = std::fs::read(directory.path().join(".git/index")).unwrap();
            let mut paths: Vec<_> = entries(&content).unwrap().into_keys().map(|key| key.0).collect();
            paths.sort();
            let expected: Vec<_> = listed.lines().map(|line| line.as_bytes().to_vec()).collect();
            assert_eq!(paths, expected, "version {version}");
        }
    }
}
