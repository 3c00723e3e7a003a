//! Differences from the base, as a list and as a patch.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result};
use paddock_vfs::content::FileContent;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::overlay::whiteouts::BaseEntry;
use paddock_vfs::overlay::{Difference, Is};
use paddock_vfs::{Fault, FsResult};

use crate::overlay::git::{Counts, Mode, Side};
use crate::overlay::{Transaction, failed, git};

/// Maximum size of a patch in bytes.
const MAX_PATCH: usize = 64 * 1024 * 1024;
/// Maximum number of comparisons of a new with a removed entry. Beyond it, a move is a removed and a new entry.
const MAX_COMPARISONS: usize = 16_000_000;

/// Options of a diff.
#[derive(Clone, Debug, Default)]
pub struct DiffArgs {
    /// Paths to compare, with everything below them; empty for all.
    pub paths: Vec<String>,
    /// Whether to create a patch as well.
    pub patch: bool,
    /// Paths of the executable files in the base and in the overlay, which WASI does not report.
    pub executable: (Vec<String>, Vec<String>),
}

/// Result of a diff.
#[derive(Clone, Debug, Default)]
pub struct Diff {
    /// Differences, one path each; a directory precedes its entries.
    pub differences: Vec<RenderedDifference>,
    /// Patch for `git apply`; empty if it was not requested.
    pub patch: String,
}

/// Difference at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedDifference {
    /// Rendered path.
    pub path: String,
    /// Kind of the entry in the base when it was first changed.
    pub was: Option<Kind>,
    /// Kind of the entry in the overlay.
    pub is: Option<Kind>,
    /// Size of the old file in bytes.
    pub old_size: Option<u64>,
    /// Size of the new file in bytes.
    pub new_size: Option<u64>,
    /// Numbers of lines added and removed, if a patch was requested and the content is text.
    pub lines: Counts,
    /// Whether the base has changed at this path since.
    pub is_stale: bool,
    /// Path of the new file in the overlay's directory.
    pub content: Option<String>,
    /// Path of the removed file or link whose content the new one has.
    pub moved_from: Option<String>,
}

impl Transaction<'_> {
    /// Returns the differences from the base, without those that the base has adopted.
    ///
    /// # Errors
    ///
    /// `Code::NotFound` if nothing differs at one of the paths, `Code::TooLarge` if the patch would be too large.
    pub fn diff(&self, args: &DiffArgs) -> Result<Diff> {
        let mut diff = Diff::default();
        let chosen = self.choose(&args.paths)?;
        let states = self.now(&chosen)?;
        let differing: Vec<_> = chosen.iter().zip(states).filter(|(_, (_, is_there))| !is_there).collect();
        let sources = move_sources(&differing);
        for (index, (difference, (now, _))) in differing.iter().enumerate() {
            let mut rendered = self.rendered(difference, *now != difference.was);
            let source = sources.get(index).copied().flatten();
            let old = source.filter(|source| *source != index).and_then(|source| differing.get(source));
            let old = old.map(|(old, _)| *old);
            rendered.moved_from = old.map(|old| self.path(old));
            if args.patch {
                let pushed = match old {
                    Some(old) => self.push_move(&mut diff.patch, old, difference, args),
                    None if source.is_some() => Ok(Some((0, 0))),
                    None => self.push(&mut diff.patch, difference, args),
                };
                rendered.lines = pushed.map_err(|fault| match fault {
                    Fault::TooLarge => self.too_large(&rendered.path),
                    fault => failed("read", &fault),
                })?;
            }
            diff.differences.push(rendered);
        }
        Ok(diff)
    }

    fn rendered(&self, difference: &Difference, is_stale: bool) -> RenderedDifference {
        let (old_size, new_size) = (
            match difference.was {
                Some(BaseEntry::File { size, .. }) => Some(size),
                _ => None,
            },
            match difference.is {
                Some(Is::File { size, .. }) => Some(size),
                _ => None,
            },
        );
        let (was, is) = (difference.was.as_ref().map(BaseEntry::kind), difference.is.as_ref().map(Is::kind));
        let content = (is == Some(Kind::File)).then(|| self.overlay.upper_path(difference));
        let path = self.path(difference);
        RenderedDifference { path, was, is, old_size, new_size, lines: None, is_stale, content, moved_from: None }
    }

    fn push_move(&self, out: &mut String, old: &Difference, new: &Difference, args: &DiffArgs) -> FsResult<Counts> {
        let (from, to) = (self.path(old), self.path(new));
        let is_link = matches!(new.is, Some(Is::Link { .. }));
        let modes = (mode(is_link, &from, &args.executable.0), mode(is_link, &to, &args.executable.1));
        git::push_move(out, from.trim_start_matches('/'), to.trim_start_matches('/'), modes);
        if out.len() > MAX_PATCH { Err(Fault::TooLarge) } else { Ok(Some((0, 0))) }
    }

    fn push(&self, out: &mut String, difference: &Difference, args: &DiffArgs) -> FsResult<Counts> {
        if difference.is_unchanged() {
            return Ok(Some((0, 0)));
        }
        let path = self.path(difference);
        let old = self.old_content(difference)?;
        let new = self.new_content(difference)?;
        let was_link = matches!(difference.was, Some(BaseEntry::Link { .. }));
        let is_link = matches!(difference.is, Some(Is::Link { .. }));
        let old = old.as_deref().map(|content| Side { mode: mode(was_link, &path, &args.executable.0), content });
        let new = new.as_deref().map(|content| Side { mode: mode(is_link, &path, &args.executable.1), content });
        if old.is_none() && new.is_none() {
            return Ok(None);
        }
        let counts = git::push(out, path.trim_start_matches('/'), old, new);
        if out.len() > MAX_PATCH { Err(Fault::TooLarge) } else { Ok(counts) }
    }

    /// Returns the content of the file or the target of the link in the base when it was first changed; `None` for
    /// other kinds.
    pub(super) fn old_content(&self, difference: &Difference) -> FsResult<Option<Vec<u8>>> {
        match &difference.was {
            Some(BaseEntry::Link { target: Some(target), .. }) => Ok(Some(target.clone().into_bytes())),
            Some(BaseEntry::File { size, .. }) => match self.overlay.origin_location(difference) {
                Err(Fault::NotFound) => self.read(self.overlay.base_location(difference)?, *size).map(Some),
                location => self.read(location?, *size).map(Some),
            },
            _ => Ok(None),
        }
    }

    fn new_content(&self, difference: &Difference) -> FsResult<Option<Vec<u8>>> {
        match &difference.is {
            Some(Is::Link { target: Some(target) }) => Ok(Some(target.clone().into_bytes())),
            Some(Is::File { size, .. }) => self.read(self.overlay.upper_location(difference)?, *size).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn read(&self, location: OpenLocation, size: u64) -> FsResult<Vec<u8>> {
        if size > self.policy.limits.max_file_bytes {
            return Err(Fault::TooLarge);
        }
        match FileContent::stored(self.fs, location, 0, size)?.load(self.fs)? {
            FileContent::Bytes(bytes, _) => Ok(bytes),
            FileContent::FileRange(_) => Err(Fault::TooLarge),
        }
    }

    fn too_large(&self, path: &str) -> Error {
        let limit = self.policy.limits.max_file_bytes;
        let cause = format!("a patch has at most {MAX_PATCH} bytes, and files in it at most {limit}");
        Error::at(Code::TooLarge, "show", path, cause).hint("name other paths, or ask for the list without the patch")
    }
}

fn mode(is_link: bool, path: &String, executable: &[String]) -> Mode {
    match () {
        () if is_link => Mode::Link,
        () if executable.contains(path) => Mode::Executable,
        () => Mode::File,
    }
}

/// Returns for each difference that is part of a move the index of the removed entry, for that entry itself too. A move
/// is a pair of a removed and a new file with the same content, or of links with the same target. Paths that have
/// changed in the base since belong to no move.
fn move_sources(differing: &[(&Difference, (Option<BaseEntry>, bool))]) -> Vec<Option<usize>> {
    let (mut sources, mut removed) = (Vec::new(), Vec::new());
    for (index, (difference, (now, _))) in differing.iter().enumerate() {
        sources.push(None);
        if difference.is.is_none() && *now == difference.was {
            removed.push((index, *difference));
        }
    }
    let mut comparisons = 0;
    for (index, (new, (now, _))) in differing.iter().enumerate() {
        let is_new = now.is_none() && new.was.is_none() && matches!(new.is, Some(Is::File { .. } | Is::Link { .. }));
        if !is_new || comparisons > MAX_COMPARISONS {
            continue;
        }
        let source_index = removed.iter().position(|(_, old)| new.is_same(old.was.as_ref()));
        comparisons += source_index.unwrap_or(removed.len());
        // Entries of a directory that was moved follow in the same order, so that each is the first one then.
        let Some((source, _)) = source_index.map(|at| removed.remove(at)) else { continue };
        for part in [source, index] {
            if let Some(part) = sources.get_mut(part) {
                *part = Some(source);
            }
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMOVED: usize = 8_000;

    fn removed(content: usize) -> Difference {
        let was = Some(BaseEntry::File { size: 1, sha256: Some(content.to_string()) });
        Difference { root: "/workspace".to_owned(), path: vec![format!("old{content}")], was, is: None }
    }

    fn new(content: usize) -> Difference {
        let is = Some(Is::File { size: 1, sha256: content.to_string() });
        Difference { root: "/workspace".to_owned(), path: vec![format!("new{content}")], was: None, is }
    }

    /// Returns how many of `unlike` new files without a source and of one moved file, the last, are part of a move.
    fn moves(unlike: usize) -> usize {
        let differences: Vec<_> =
            (0..REMOVED).map(removed).chain((0..unlike).map(|number| new(REMOVED + number))).chain([new(7)]).collect();
        let differing: Vec<_> = differences.iter().map(|it| (it, (it.was.clone(), false))).collect();
        move_sources(&differing).iter().flatten().count()
    }

    #[test]
    fn moves_are_looked_for_up_to_a_number_of_comparisons() {
        let max_sources = MAX_COMPARISONS / REMOVED;
        assert_eq!(moves(max_sources), 2);
        assert_eq!(moves(max_sources + 1), 0);
    }
}
