//! Writes changes in the patch format of `git apply`.

use std::fmt::Write;

use paddock_text::diff;
use paddock_text::diff::{Change, LineChange};
use paddock_types::digest::hex;
use sha1::{Digest, Sha1};

/// Compression level of binary content.
const COMPRESSION_LEVEL: u8 = 6;
/// Number of bytes of binary content per line, as in git.
const BINARY_LINE: usize = 52;
const ALPHABET: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// Old or new side of a change.
#[derive(Clone, Copy)]
pub struct Side<'c> {
    pub mode: Mode,
    pub content: &'c [u8],
}

/// File modes that git distinguishes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    File,
    Executable,
    Link,
}

impl Mode {
    fn digits(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }
}

/// Numbers of lines added and removed; `None` for binary content.
pub type Counts = Option<(u64, u64)>;

/// Appends the change of the file `path` to the patch. At least one side must exist.
pub fn push(out: &mut String, path: &str, old: Option<Side<'_>>, new: Option<Side<'_>>) -> Counts {
    // A file and a link are different objects to git: one is deleted, the other created.
    if let (Some(was), Some(is)) = (old, new)
        && (was.mode == Mode::Link) != (is.mode == Mode::Link)
    {
        let (_, removed) = push(out, path, old, None)?;
        let (added, _) = push(out, path, None, new)?;
        return Some((added, removed));
    }
    let (a, b) = (quoted("a/", path), quoted("b/", path));
    let _ = writeln!(out, "diff --git {a} {b}");
    let modes = (old.map(|side| side.mode.digits()), new.map(|side| side.mode.digits()));
    match modes {
        (None, Some(mode)) => drop(writeln!(out, "new file mode {mode}")),
        (Some(mode), None) => drop(writeln!(out, "deleted file mode {mode}")),
        (Some(was), Some(is)) if was != is => drop(writeln!(out, "old mode {was}\nnew mode {is}")),
        _ => {}
    }
    let [was, is] = [old, new].map(|side| side.map_or(&[][..], |side| side.content));
    if old.is_some() && new.is_some() && was == is {
        return Some((0, 0));
    }
    let _ = write!(out, "index {}..{}", object(old), object(new));
    match modes {
        (Some(was), Some(is)) if was == is => drop(writeln!(out, " {is}")),
        _ => out.push('\n'),
    }
    let (Some(was_text), Some(is_text)) = (text(was), text(is)) else {
        push_binary(out, was, is);
        return None;
    };
    let changes = line_changes(was_text, is_text);
    let hunks = diff::unified("", (was_text, is_text), &changes, diff::CONTEXT, usize::MAX);
    // The creation or deletion of an empty file has no hunks.
    if let Some((_, hunks)) = hunks.split_once("+++ b/\n") {
        // Git ends a name that contains spaces with a tab.
        let end = if path.contains(' ') { "\t" } else { "" };
        let name = |side: Option<Side<'_>>, name: &str| match side {
            Some(_) => format!("{name}{end}"),
            None => "/dev/null".to_owned(),
        };
        let _ = write!(out, "--- {}\n+++ {}\n{hunks}", name(old, &a), name(new, &b));
    }
    let sum = |lines: fn(&LineChange) -> u64| changes.iter().map(lines).sum();
    Some((sum(|change| change.new.1), sum(|change| change.old.1)))
}

/// Appends the move of an unchanged file or link to the patch.
pub fn push_move(out: &mut String, from: &str, to: &str, (was, is): (Mode, Mode)) {
    let _ = writeln!(out, "diff --git {} {}", quoted("a/", from), quoted("b/", to));
    if was != is {
        let _ = writeln!(out, "old mode {}\nnew mode {}", was.digits(), is.digits());
    }
    let (from, to) = (quoted("", from), quoted("", to));
    let _ = writeln!(out, "similarity index 100%\nrename from {from}\nrename to {to}");
}

/// Returns the line changes between two texts.
pub fn line_changes(old: &str, new: &str) -> Vec<LineChange> {
    diff::line_changes(old, new, &[Change { old: 0..old.len(), new: 0..new.len() }])
}

/// Returns the content as text if git would diff it by lines.
pub fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

/// Quotes a name like git.
fn quoted(side: &str, path: &str) -> String {
    let is_plain = |c: char| !c.is_ascii_control() && c != '"' && c != '\\';
    if path.chars().all(is_plain) {
        return format!("{side}{path}");
    }
    let mut out = format!("\"{side}");
    for c in path.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_ascii_control() => drop(write!(out, "\\{:03o}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Returns the git object name of the content, or zeros if the side does not exist.
fn object(side: Option<Side<'_>>) -> String {
    let Some(Side { content, .. }) = side else { return "0".repeat(40) };
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    hex(&hash.finalize())
}

/// Appends both contents in full, so that the patch applies in either direction.
fn push_binary(out: &mut String, old: &[u8], new: &[u8]) {
    out.push_str("GIT binary patch\n");
    for content in [new, old] {
        let _ = writeln!(out, "literal {}", content.len());
        for line in miniz_oxide::deflate::compress_to_vec_zlib(content, COMPRESSION_LEVEL).chunks(BINARY_LINE) {
            push_base85(out, line);
        }
        out.push('\n');
    }
}

fn push_base85(out: &mut String, line: &[u8]) {
    let length = u8::try_from(line.len()).unwrap_or(0);
    out.push(char::from(if length <= 26 { b'A' + length.saturating_sub(1) } else { b'a' + length - 27 }));
    for group in line.chunks(4) {
        let mut bytes = [0; 4];
        bytes.iter_mut().zip(group).for_each(|(to, from)| *to = *from);
        let mut number = u32::from_be_bytes(bytes);
        let mut digits = [b'0'; 5];
        for digit in digits.iter_mut().rev() {
            let at = usize::try_from(number % 85).unwrap_or(0);
            *digit = ALPHABET.get(at).copied().unwrap_or(b'0');
            number /= 85;
        }
        out.extend(digits.map(char::from));
    }
    out.push('\n');
}
