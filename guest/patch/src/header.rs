//! The header of a file in a unified diff: the lines above its hunks, which name the file and the action.

use paddock_types::error::{Result, Term};
use paddock_types::phrase;

use crate::{Action, Cursor, FilePatch, Hunk, PatchLine, RowKind, invalid, quoted};

const NULL: &str = "/dev/null";
const GIT: &str = "diff --git ";

/// The header of one file.
#[derive(Debug, Default)]
pub struct Header {
    /// Line of the patch at which the header starts.
    pub line: usize,
    /// Path of the `diff --git` line, if both of its sides name the same path.
    git: Option<String>,
    sides: Option<(String, String)>,
    rename_from: Option<String>,
    rename_to: Option<String>,
    is_new: bool,
    is_deleted: bool,
    mode: Option<String>,
}

/// Reads the header at the cursor. `None` if no header starts there.
pub fn parse(cursor: &mut Cursor<'_>) -> Result<Option<Header>> {
    let Some(line) = cursor.peek() else { return Ok(None) };
    let mut header = Header { line: line.number, ..Header::default() };
    if let Some(paths) = line.text.strip_prefix(GIT) {
        cursor.next();
        header.git = git_path(paths, line.number)?;
        while let Some(line) = cursor.peek()
            && header.extended(line)?
        {
            cursor.next();
        }
        header.parse_sides(cursor)?;
        return Ok(Some(header));
    }
    Ok(header.parse_sides(cursor)?.then_some(header))
}

impl Header {
    /// Reads one of git's extended header lines. Returns false if `line` is not one.
    fn extended(&mut self, line: PatchLine<'_>) -> Result<bool> {
        let text = line.text;
        let number = line.number;
        if let Some(mode) = text.strip_prefix("new file mode ") {
            self.is_new = true;
            self.take_mode(mode, number)?;
        } else if let Some(mode) = text.strip_prefix("deleted file mode ") {
            self.is_deleted = true;
            check_mode(mode, number)?;
        } else if let Some(mode) = text.strip_prefix("new mode ") {
            check_mode(mode, number)?;
            self.mode = Some(mode.trim().to_owned());
        } else if let Some(path) = text.strip_prefix("rename from ") {
            self.rename_from = Some(unquoted(path, number)?);
        } else if let Some(path) = text.strip_prefix("rename to ") {
            self.rename_to = Some(unquoted(path, number)?);
        } else if text.starts_with("copy from ") || text.starts_with("copy to ") {
            return Err(invalid(number, "copies are not supported")
                .hint(phrase!["use ", Term::CopyTool, ", then patch the new file"])
                .or_hint("leave the copy out of the patch"));
        } else if let Some(index) = text.strip_prefix("index ") {
            index.rsplit_once(' ').map_or(Ok(()), |(_, mode)| check_mode(mode, number))?;
        } else {
            refuse_binary(line)?;
            let others = ["old mode ", "similarity index ", "dissimilarity index "];
            return Ok(others.iter().any(|other| text.starts_with(other)));
        }
        Ok(true)
    }

    fn take_mode(&mut self, mode: &str, number: usize) -> Result<()> {
        check_mode(mode, number)?;
        self.mode = Some(mode.trim().to_owned()).filter(|mode| mode != "100644");
        Ok(())
    }

    /// Reads the `---` and `+++` lines if they come next.
    fn parse_sides(&mut self, cursor: &mut Cursor<'_>) -> Result<bool> {
        let (Some(old), new) = (cursor.peek(), cursor.second()) else { return Ok(false) };
        let Some(old_path) = old.text.strip_prefix("--- ") else { return Ok(false) };
        match new.and_then(|new| Some((new.text.strip_prefix("+++ ")?, new.number))) {
            Some((new_path, number)) => {
                self.sides = Some((side(old_path, old.number)?, side(new_path, number)?));
                cursor.next();
                cursor.next();
                Ok(true)
            }
            None if self.git.is_some() || new.is_some_and(|new| new.text.starts_with("@@")) => {
                Err(invalid(old.number + 1, "a `---` line has to be followed by a `+++` line"))
            }
            None => Ok(false),
        }
    }

    /// Returns the file, and the action of the header and its hunks.
    pub fn finish(self, hunks: Vec<Hunk<'_>>) -> Result<FilePatch<'_>> {
        let line = self.line;
        let (old, new) = self.paths()?;
        let mode = self.mode;
        let (path, action) = match (old, new) {
            (None, None) => return Err(invalid(line, "both sides are `/dev/null`")),
            (None, Some(path)) => {
                all_rows(&hunks, RowKind::Add, "a new file has only lines that start with `+`")?;
                (path, Action::Add(hunks))
            }
            (Some(path), None) => {
                all_rows(&hunks, RowKind::Remove, "a deleted file has only lines that start with `-`")?;
                (path, Action::Delete(Some(hunks)))
            }
            (Some(from), Some(to)) if from != to => (from, Action::Move { to, hunks }),
            (Some(path), _) if hunks.is_empty() && mode.is_none() => {
                let cause = format!("there is no hunk for {}", quoted(&path));
                return Err(invalid(line, cause).hint("a hunk starts with `@@ -1,2 +1,3 @@`, with its own numbers"));
            }
            (Some(path), _) => (path, Action::Update(hunks)),
        };
        Ok(FilePatch { path, line, action, mode })
    }

    /// Returns the paths before and after the patch; `None` for a side without a file.
    fn paths(&self) -> Result<(Option<String>, Option<String>)> {
        match (&self.rename_from, &self.rename_to) {
            (Some(from), Some(to)) => return Ok((Some(from.clone()), Some(to.clone()))),
            (None, None) => {}
            _ => return Err(invalid(self.line, "`rename from` and `rename to` need each other")),
        }
        let (old, new) = match (&self.sides, &self.git) {
            (Some((old, new)), _) => {
                (Some(old.as_str()).filter(|path| *path != NULL), Some(new.as_str()).filter(|path| *path != NULL))
            }
            (None, Some(path)) => (Some(path.as_str()), Some(path.as_str())),
            (None, None) => {
                return Err(invalid(self.line, "the file cannot be determined")
                    .hint("give `---` and `+++` lines, or `rename from` and `rename to`"));
            }
        };
        let alone = |path: &str, prefix: &str| match &self.git {
            Some(git) if path.ends_with(git.as_str()) => git.clone(),
            _ => path.strip_prefix(prefix).unwrap_or(path).to_owned(),
        };
        match (old, new) {
            (Some(old), Some(new)) => {
                let path = common(old, new).ok_or_else(|| {
                    let cause = format!("the two sides are different files, {} and {}", quoted(old), quoted(new));
                    invalid(self.line, cause).hint("for a move give `diff --git`, `rename from` and `rename to` lines")
                })?;
                Ok((Some(path.clone()).filter(|_| !self.is_new), Some(path).filter(|_| !self.is_deleted)))
            }
            (old, new) => Ok((old.map(|path| alone(path, "a/")), new.map(|path| alone(path, "b/")))),
        }
    }
}

fn all_rows(hunks: &[Hunk<'_>], kind: RowKind, cause: &str) -> Result<()> {
    match hunks.iter().flat_map(|hunk| &hunk.rows).find(|row| row.kind != kind) {
        Some(row) => Err(invalid(row.number, cause)),
        None => Ok(()),
    }
}

/// Refuses changes that a text patch cannot describe.
pub fn refuse_binary(line: PatchLine<'_>) -> Result<()> {
    let differ = line.text.starts_with("Binary files ") && line.text.ends_with(" differ");
    if differ || line.text == "GIT binary patch" {
        return Err(invalid(line.number, "binary files cannot be patched")
            .hint(phrase![
                "leave them out of the patch, and use ",
                Term::CopyTool,
                ", ",
                Term::MoveTool,
                " or ",
                Term::DeleteTool,
                " on them"
            ])
            .or_hint("leave them out of the patch"));
    }
    Ok(())
}

/// Refuses symbolic links and submodules: their content in a patch must not be written into a file.
fn check_mode(mode: &str, number: usize) -> Result<()> {
    match mode.trim() {
        "120000" => Err(invalid(number, "symbolic links cannot be patched").hint("leave the link out of the patch")),
        "160000" => Err(invalid(number, "submodules cannot be patched").hint("leave the submodule out of the patch")),
        mode if mode.len() == 6 && mode.bytes().all(|digit| matches!(digit, b'0'..=b'7')) => Ok(()),
        mode => Err(invalid(number, format!("{} is not a file mode", quoted(mode)))),
    }
}

/// Returns the path that both sides name: equal, equal after `a/` and `b/`, or a file and its `.orig`.
fn common(old: &str, new: &str) -> Option<String> {
    if old == new || old.strip_suffix(".orig") == Some(new) {
        return Some(new.to_owned());
    }
    // Git writes `i/`, `w/`, `c/` and `o/` with `diff.mnemonicPrefix`.
    let strip =
        |path: &str| path.split_once('/').filter(|(prefix, _)| prefix.len() == 1).map(|(_, rest)| rest.to_owned());
    strip(old).filter(|path| strip(new).as_ref() == Some(path))
}

/// Returns the path of `diff --git a/path b/path`, if both sides agree.
fn git_path(paths: &str, number: usize) -> Result<Option<String>> {
    if paths.starts_with('"') {
        let Some((old, rest)) = quoted_path(paths, number)? else { return Ok(None) };
        return Ok(common(&old, &unquoted(rest.trim_start(), number)?));
    }
    let middle = paths.len() / 2;
    let halves = paths.get(..middle).zip(paths.get(middle..).and_then(|rest| rest.strip_prefix(' ')));
    Ok(halves.and_then(|(old, new)| common(old, new)))
}

/// Returns the path of a `---` or `+++` line, without the time after it.
fn side(text: &str, number: usize) -> Result<String> {
    let path = match text.starts_with('"') {
        true => unquoted(text, number)?,
        false => text.split('\t').next().unwrap_or(text).trim_end().to_owned(),
    };
    if path.is_empty() { Err(invalid(number, "the path is missing")) } else { Ok(path) }
}

fn unquoted(text: &str, number: usize) -> Result<String> {
    Ok(quoted_path(text, number)?.map_or_else(|| text.to_owned(), |(path, _)| path))
}

/// Returns a path in double quotes with C escapes, and the text after it. `None` if the text has no quote.
fn quoted_path(text: &str, number: usize) -> Result<Option<(String, &str)>> {
    let Some(inner) = text.strip_prefix('"') else { return Ok(None) };
    let bad = || invalid(number, format!("{} is not a quoted path", quoted(text)));
    let mut bytes = Vec::new();
    let mut rest = inner.bytes().enumerate();
    while let Some((at, byte)) = rest.next() {
        match byte {
            b'"' => {
                let path = String::from_utf8(bytes).map_err(|_| invalid(number, "the path is not UTF-8"))?;
                return Ok(Some((path, inner.get(at + 1..).unwrap_or_default())));
            }
            b'\\' => {
                let (_, escape) = rest.next().ok_or_else(bad)?;
                let octal =
                    |byte: u8| Some(u32::from(byte)).filter(|byte| (48..56).contains(byte)).map(|byte| byte - 48);
                bytes.push(match escape {
                    b'0'..=b'3' => {
                        let mut digits = [octal(escape), None, None];
                        digits
                            .iter_mut()
                            .skip(1)
                            .for_each(|digit| *digit = rest.next().and_then(|(_, byte)| octal(byte)));
                        let value = digits.into_iter().try_fold(0, |value, digit| Some(value * 8 + digit?));
                        value.and_then(|value| u8::try_from(value).ok()).ok_or_else(bad)?
                    }
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => escape,
                    _ => return Err(bad()),
                });
            }
            byte => bytes.push(byte),
        }
    }
    Err(bad())
}
