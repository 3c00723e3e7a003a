//! Notes about a search that found no match.

use paddock_search::matcher::Matcher;
use paddock_types::error::printable;
use paddock_types::request::{self, GrepOutput, LetterCase};
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
    let looser = advice::loosened(args)?;
    let looser = request::Grep { output: GrepOutput::Content, limit: 1, before: 0, after: 0, ..looser };
    let mut search = Search::begin(workspace, &looser).ok()?;
    search.advance(usize::MAX);
    let (page, _) = search.files.take();
    let nearest = page.matches.first()?;
    let matches = |args: &request::Grep| Some(Matcher::new(args).ok()?.find(nearest.text.as_bytes(), 0).is_some());
    if matches(args)? {
        return None;
    }
    let folded = request::Grep { letter_case: LetterCase::Insensitive, ..args.clone() };
    let difference =
        if matches(&folded)? { "letter case" } else { "letter case or the kind of its spaces, quotes and dashes" };
    Some(format!("line {} of `{}` would match but for {difference}", nearest.line, printable(&nearest.path)))
}
