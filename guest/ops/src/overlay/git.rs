//! A change of a file as `git apply` takes it.

use std::fmt::Write;

use paddock_text::diff;
use paddock_text::diff::{Change, LineChange};
use paddock_types::digest::hex;
use sha1::{Digest, Sha1};

/// Level of compression of binary content.
const LEVEL: u8 = 6;
/// Bytes of binary content in a line, as git has it.
const BINARY_LINE: usize = 52;
const ALPHABET: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// One side of a change.
#[derive(Clone, Copy)]
pub struct Side<'c> {
    pub mode: Mode,
    pub content: &'c [u8],
}

/// Mode of a file as git distinguishes it.
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

/// Lines added and removed; none of binary content.
pub type Counts = Option<(u64, u64)>;

/// Writes how the file `path` changes. At least one side is there.
pub fn push(out: &mut String, path: &str, old: Option<Side<'_>>, new: Option<Side<'_>>) -> Counts {
    // A file does not become a link: one goes, the other comes.
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
    // An empty file comes and goes without any.
    if let Some((_, hunks)) = hunks.split_once("+++ b/\n") {
        // As git has it, so that the end of a name with spaces is known.
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

/// The lines that differ between two texts.
pub fn line_changes(old: &str, new: &str) -> Vec<LineChange> {
    diff::line_changes(old, new, &[Change { old: 0..old.len(), new: 0..new.len() }])
}

/// Content that git shows by lines.
pub fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

/// A name as git quotes it.
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

/// The name of the content as git's object; zeros where there is none.
fn object(side: Option<Side<'_>>) -> String {
    let Some(Side { content, .. }) = side else { return "0".repeat(40) };
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    hex(&hash.finalize())
}

/// Both contents whole, so that the patch can be applied in either direction.
fn push_binary(out: &mut String, old: &[u8], new: &[u8]) {
    out.push_str("GIT binary patch\n");
    for content in [new, old] {
        let _ = writeln!(out, "literal {}", content.len());
        for line in miniz_oxide::deflate::compress_to_vec_zlib(content, LEVEL).chunks(BINARY_LINE) {
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
