//! Notes about a search that found no match.

use paddock_search::matcher::Matcher;
use paddock_types::error::printable;
use paddock_types::request::{self, GrepOutput, LetterCase};
use paddock_types::response::GrepMatch;
use paddock_workspace::Workspace;

use super::Search;
use crate::advice;

/// Maximum number of bytes that a second search, with a looser pattern, may have to read.
const MAX_SECOND: u64 = 64 << 20;

/// Returns notes about a search of a number of files and bytes without a match: about its glob if no file was searched,
/// otherwise about its pattern.
pub fn notes(workspace: &Workspace<'_>, args: &request::Grep, files: u64, bytes: u64) -> Vec<String> {
    if files == 0 {
        let Some(glob) = args.glob.clone() else { return Vec::new() };
        let (include_hidden, include_ignored) = (args.include_hidden, args.include_ignored);
        let glob =
            request::Glob { path: args.path.clone(), include_hidden, include_ignored, ..request::Glob::of(glob) };
        return crate::glob::notes(workspace, &glob);
    }
    let mut notes = advice::of_pattern(args);
    if notes.is_empty() && bytes <= MAX_SECOND {
        notes.extend(near(workspace, args));
    }
    notes
}

/// Returns a note about the first line that a looser pattern matches.
fn near(workspace: &Workspace<'_>, args: &request::Grep) -> Option<String> {
    let (nearest, difference) = match advice::with_crlf(args).and_then(|with_crlf| first(workspace, with_crlf)) {
        Some(nearest) => (nearest, "its CRLF line endings, which `\\r?\\n` in a regular expression matches"),
        None => loosely(workspace, args)?,
    };
    Some(format!("line {} of `{}` would match but for {difference}", nearest.line, printable(&nearest.path)))
}

/// Returns the first line that matches if letter case and the kind of spaces, quotes and dashes are ignored, and how it
/// differs.
fn loosely(workspace: &Workspace<'_>, args: &request::Grep) -> Option<(GrepMatch, &'static str)> {
    let nearest = first(workspace, advice::loosened(args)?)?;
    let matches = |args: &request::Grep| Some(Matcher::new(args).ok()?.find(nearest.text.as_bytes(), 0).is_some());
    if matches(args)? {
        return None;
    }
    let folded = request::Grep { letter_case: LetterCase::Insensitive, ..args.clone() };
    let difference =
        if matches(&folded)? { "letter case" } else { "letter case or the kind of its spaces, quotes and dashes" };
    Some((nearest, difference))
}

/// Returns the first match.
fn first(workspace: &Workspace<'_>, args: request::Grep) -> Option<GrepMatch> {
    let args = request::Grep { output: GrepOutput::Content, limit: 1, before: 0, after: 0, ..args };
    let mut search = Search::begin(workspace, &args).ok()?;
    search.advance(usize::MAX);
    search.files.take().0.matches.into_iter().next()
}
