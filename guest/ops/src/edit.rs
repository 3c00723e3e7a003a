//! Replaces text in a file. Each replacement is spliced into the bytes that the previous one produced, so that all
//! other bytes stay unchanged.

use paddock_text::diff::{Change, LineChange};
use paddock_text::document::{Document, Splice};
use paddock_text::{diff, encoding, eol, find, nearest};
use paddock_types::error::{Code, Detail, Error, Phrase, Result, Term, When};
use paddock_types::request::{Insertion, Replacement};
use paddock_types::response::{LineRange, Response};
use paddock_types::{digest, phrase, request, response};
use paddock_workspace::Workspace;
use paddock_workspace::change::commit::commit;
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::resolved_path::ResolvedPath;

use crate::approval::PlanDraft;
use crate::audit::Recorder;
use crate::operation::{ChangingOperation, Operation};
use crate::read::content;

mod lenient;
mod snippet;

const OPERATION: &str = "edit";
/// Maximum number of occurrences of one replacement: each is held in memory.
const MAX_OCCURRENCES: usize = 100_000;
/// Maximum number of occurrences counted, and of lines listed, if `old_text` is ambiguous.
const MAX_COUNTED: usize = 1_000;
const MAX_LISTED: usize = 50;
/// Maximum number of line ranges in a result.
const MAX_RANGES: usize = 1_000;

impl Operation for request::Edit {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Edit)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Edit(edit) = response else { return };
        recorder.add(&edit.path);
        let lines = edit.lines.iter().map(|at| (at.end + 1).saturating_sub(at.start)).sum();
        recorder.measure(recorder.written_bytes(), Some(lines));
    }
}

impl ChangingOperation for request::Edit {
    fn can_delete(&self) -> bool {
        false
    }

    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        draft.add_target(OPERATION, &self.path)?;
        let dry = request::Edit { dry_run: true, ..self.clone() };
        draft.say(&run(draft.workspace, &dry)?.diff);
        Ok(false)
    }
}

/// Replaces text in a file, or inserts lines.
pub fn run(workspace: &Workspace<'_>, args: &request::Edit) -> Result<response::Edit> {
    let resolved = workspace.resolve(&args.path, OPERATION)?;
    if args.insert.is_none() {
        check(&resolved, &args.edits)?;
    }
    let (bytes, _) = workspace.read_whole(&resolved, OPERATION)?;
    if !args.dry_run {
        workspace.check_change(&resolved, OPERATION)?;
    }
    paddock_workspace::check_etag(args.if_match.as_deref(), Some(&bytes), &resolved, OPERATION)?;
    if encoding::is_binary(&bytes) {
        return Err(content::binary(&resolved, OPERATION, bytes.len() as u64, &bytes));
    }
    let old = Document::decode(bytes, None);
    let edited = match &args.insert {
        Some(insert) => inserted(workspace, &resolved, &old, insert)?,
        None => apply(workspace, &resolved, &old, args)?,
    };
    let lines = diff::line_changes(&old.text, &edited.document.text, &edited.changes);
    let max = workspace.policy.limits.max_result_bytes;
    let diff = diff::unified(
        &resolved.path,
        (&old.text, &edited.document.text),
        &lines,
        args.context.unwrap_or(diff::CONTEXT),
        max,
    );
    let first = lines.first().map(range);
    let shown = args.snippet.zip(first.as_ref());
    let limits = &workspace.policy.limits;
    let snippet = shown.and_then(|(around, first)| snippet::of(&edited.document.text, first, around, limits));
    let (old, new) = (old.into_bytes(), edited.document.into_bytes());
    let mut result = response::Edit {
        path: resolved.path.clone(),
        edits_applied: edited.count,
        diff,
        etag: digest::etag(&new),
        lines: lines.iter().take(MAX_RANGES).map(range).collect(),
        backup: None,
        notes: Vec::new(),
        snippet,
        dry_run: args.dry_run,
    };
    if lines.len() > MAX_RANGES {
        result.notes.push(format!("`lines` has the first {MAX_RANGES} of {} ranges", lines.len()));
    }
    if !args.dry_run && old != new {
        let change = FileChange { resolved, old: Some(old.into()), new: Some(new.into()), to: None };
        result.notes.extend(commit(workspace, OPERATION, vec![change])?);
        result.backup = workspace.backup();
    }
    Ok(result)
}

fn check(resolved: &ResolvedPath, edits: &[Replacement]) -> Result<()> {
    if edits.is_empty() {
        return Err(Error::argument(Term::Edits, "there is none").hint(phrase![
            "give at least one ",
            Term::OldText,
            " with its ",
            Term::NewText
        ]));
    }
    for (index, edit) in edits.iter().enumerate() {
        let invalid = |cause: Phrase| at_edit(Code::InvalidArgument, resolved, index, cause);
        if edit.old_text.is_empty() {
            return Err(invalid(phrase![Term::OldText, " is empty"])
                .hint(phrase![
                    "to insert, give the text beside the place as ",
                    Term::OldText,
                    " and repeat it in ",
                    Term::NewText
                ])
                .also_hint(phrase![Term::WriteTool, " replaces a whole file"]));
        }
        if edit.old_text == edit.new_text {
            return Err(
                invalid(phrase![Term::OldText, " and ", Term::NewText, " are the same"]).hint("leave this edit out")
            );
        }
    }
    Ok(())
}

/// A document after all edits.
struct Edited {
    document: Document,
    /// Differences from the original document.
    changes: Vec<Change>,
    /// Number of occurrences replaced.
    count: u64,
}

fn apply(workspace: &Workspace<'_>, resolved: &ResolvedPath, old: &Document, args: &request::Edit) -> Result<Edited> {
    let mut edited: Option<Edited> = None;
    for (index, edit) in args.edits.iter().enumerate() {
        if workspace.out_of_time() {
            return Err(at_edit(Code::LimitExceeded, resolved, index, "the time of one call ran out".into())
                .hint("nothing was changed; make fewer edits in one call"));
        }
        let document = edited.as_ref().map_or(old, |edited| &edited.document);
        let loose = args.is_loose.then(|| lenient::splice(&document.text, edit)).flatten();
        let splices = match loose {
            Some(splice) => vec![splice],
            None => splices(workspace, resolved, &document.text, (index, edit))?,
        };
        let bytes = document.splice(&splices).map_err(|loss| {
            let mut error = loss.at(OPERATION, &resolved.requested_path);
            error.message = phrase![error.message, format!(" (edit {})", index + 1)];
            error
        })?;
        check_size(workspace, resolved, bytes.len())?;
        let changes = diff::compose(edited.as_ref().map_or(&[], |edited| &edited.changes), &splices);
        let count = edited.as_ref().map_or(0, |edited| edited.count) + splices.len() as u64;
        edited = Some(Edited { document: document.decode_like(bytes), changes, count });
    }
    edited.ok_or_else(|| Error::argument(Term::Edits, "there is none"))
}

/// Returns the document with the lines inserted.
fn inserted(workspace: &Workspace<'_>, resolved: &ResolvedPath, old: &Document, insert: &Insertion) -> Result<Edited> {
    let text = &old.text;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    let ends: Vec<_> = ends.chain((!text.is_empty() && !text.ends_with('\n')).then_some(text.len())).collect();
    let at = match insert.after_line.checked_sub(1).map(usize::try_from) {
        None => 0,
        Some(index) => *index.ok().and_then(|index| ends.get(index)).ok_or_else(|| {
            let cause = format!("{} is past the end: the file has {} lines", insert.after_line, ends.len());
            let detail = Detail::PastEnd { argument: Term::InsertLine, total: ends.len() as u64 };
            Error::argument(Term::InsertLine, cause)
                .hint(format!("use a number from 0 to {}", ends.len()))
                .detail(detail)
        })?,
    };
    let near = eol::near(text, at);
    let mut new = eol::with_ending(&insert.text, near).into_owned();
    // Inserted text always forms lines of its own; a last line without a line ending stays without one.
    let is_open = !text.is_empty() && !text.ends_with('\n');
    let is_last = at == text.len();
    if is_open && is_last {
        new.insert_str(0, near);
    }
    if !new.ends_with('\n') && (insert.ends_file || !(is_open && is_last)) {
        new.push_str(near);
    }
    check_size(workspace, resolved, text.len().saturating_add(new.len()) / 3)?;
    let mut splices = vec![Splice { range: at..at, text: new }];
    if insert.ends_file && is_open && !is_last {
        splices.push(Splice { range: text.len()..text.len(), text: near.to_owned() });
    }
    let bytes = old.splice(&splices).map_err(|loss| loss.at(OPERATION, &resolved.requested_path))?;
    check_size(workspace, resolved, bytes.len())?;
    Ok(Edited { document: old.decode_like(bytes), changes: diff::compose(&[], &splices), count: 1 })
}

/// Returns the splices of one edit.
fn splices(
    workspace: &Workspace<'_>,
    resolved: &ResolvedPath,
    text: &str,
    (index, edit): (usize, &Replacement),
) -> Result<Vec<Splice>> {
    let max = if edit.replace_all { MAX_OCCURRENCES + 1 } else { MAX_COUNTED + 1 };
    let found = find::occurrences(text, &edit.old_text, !edit.replace_all, max);
    match found.len() {
        0 => return Err(no_match(resolved, text, index, edit)),
        1 => {}
        _ if !edit.replace_all => return Err(ambiguous(resolved, text, index, &found)),
        count if count > MAX_OCCURRENCES => {
            let cause = phrase![Term::OldText, format!(" is there more than {MAX_OCCURRENCES} times")];
            return Err(at_edit(Code::LimitExceeded, resolved, index, cause)
                .hint("give more of the text around it, so that it is rarer"));
        }
        _ => {}
    }
    // The size is checked before the new text is copied for each occurrence. Every encoding needs at least a third of
    // the bytes that UTF-8 needs for a character.
    let grown = text.len().saturating_add(found.len().saturating_mul(edit.new_text.len()));
    let gone = found.iter().map(|range| range.len()).sum::<usize>();
    check_size(workspace, resolved, grown.saturating_sub(gone) / 3)?;
    let splice = |range: std::ops::Range<usize>| {
        let text = find::localize(text, &range, &edit.new_text).into_owned();
        Splice { range, text }
    };
    Ok(found.into_iter().map(splice).collect())
}

fn check_size(workspace: &Workspace<'_>, resolved: &ResolvedPath, size: usize) -> Result<()> {
    let limit = workspace.policy.limits.max_file_bytes;
    if size as u64 <= limit {
        return Ok(());
    }
    let cause = format!("it would have more than {limit} bytes, up to which files are handled whole");
    Err(Error::at(Code::TooLarge, OPERATION, &resolved.requested_path, cause)
        .hint("nothing was changed; replace less, or by less"))
}

fn no_match(resolved: &ResolvedPath, text: &str, index: usize, edit: &Replacement) -> Error {
    let near = nearest::candidates(text, &edit.old_text);
    let cause = match near.first().and_then(|near| Some((near, near.difference?))) {
        Some((near, difference)) => {
            phrase![Term::OldText, format!(" is not there, but line {} differs only in {difference}", near.line)]
        }
        None => phrase![Term::OldText, " is not there"],
    };
    // A shorter text is likely to occur by chance.
    let made = if edit.new_text.trim().chars().count() < 4 {
        Vec::new()
    } else {
        find::occurrences(text, &edit.new_text, false, 1)
    };
    let made = find::line_numbers(text, made.iter().map(|range| range.start)).first().copied();
    let mut error = at_edit(Code::NoMatch, resolved, index, cause);
    if let Some(line) = made {
        let already = format!(" is already in the file, at line {line}: the edit may have been made before");
        error = error.also_hint(phrase![Term::NewText, already]);
    }
    if near.is_empty() {
        let from = " from it";
        error.also_hint(phrase!["nothing there is like it: read the file and copy ", Term::OldText, from])
    } else {
        let shown: Vec<_> = near.iter().map(|near| format!("line {}: `{}`", near.line, near.shown)).collect();
        error.also_hint(format!("nearest (`·` space, `→` tab, `⏎` line end): {}", shown.join("; "))).also_hint(phrase![
            "copy ",
            Term::OldText,
            " from the file, character by character"
        ])
    }
}

fn ambiguous(resolved: &ResolvedPath, text: &str, index: usize, found: &[std::ops::Range<usize>]) -> Error {
    let lines = find::line_numbers(text, found.iter().map(|range| range.start));
    let listed: Vec<_> = lines.iter().take(MAX_LISTED).map(u64::to_string).collect();
    let count = match found.len() {
        count if count > MAX_COUNTED => format!("more than {MAX_COUNTED}"),
        count => count.to_string(),
    };
    let more = if lines.len() > MAX_LISTED { " and more" } else { "" };
    let lines = format!("{}{more}", listed.join(", "));
    let cause = phrase![Term::OldText, format!(" is there {count} times, at lines {lines}")];
    let around = "give more of the lines around the one that is meant";
    at_edit(Code::AmbiguousMatch, resolved, index, cause)
        .hint(phrase![around, ", or set ", Term::ReplaceAll])
        .or_hint(around)
        .detail(Detail::Occurrences(lines))
}

/// Returns the error of one edit. The number of the edit is rendered only if the dialect accepts several edits.
fn at_edit(code: Code, resolved: &ResolvedPath, index: usize, cause: Phrase) -> Error {
    Error::at(
        code,
        OPERATION,
        &resolved.requested_path,
        phrase![When(Term::Edits, format!("edit {}: ", index + 1)), cause],
    )
}

fn range(change: &LineChange) -> LineRange {
    let (start, count) = change.new;
    LineRange { start, end: (start + count).saturating_sub(1) }
}

#[cfg(test)]
mod tests {
    use paddock_types::policy::Policy;
    use paddock_workspace::fixture;

    use super::*;

    fn replacement(old: &str, new: &str) -> Replacement {
        Replacement { old_text: old.to_owned(), new_text: new.to_owned(), replace_all: false }
    }

    fn all(old: &str, new: &str) -> Replacement {
        Replacement { replace_all: true, ..replacement(old, new) }
    }

    fn edit(bytes: &[u8], edits: &[Replacement]) -> Result<response::Edit> {
        let args = request::Edit {
            path: "a.txt".to_owned(),
            edits: edits.to_vec(),
            if_match: Some(digest::etag(bytes)),
            dry_run: true,
            ..request::Edit::default()
        };
        fixture::with(&[("a.txt", bytes)], &Policy::default(), |workspace| run(workspace, &args))
    }

    /// Returns the bytes after the edits.
    fn edited(bytes: &[u8], edits: &[Replacement]) -> Vec<u8> {
        fixture::with(&[("a.txt", bytes)], &Policy::default(), |workspace| {
            let resolved = workspace.resolve("a.txt", OPERATION).unwrap();
            let old = Document::decode(bytes.to_vec(), None);
            let args = request::Edit { edits: edits.to_vec(), ..request::Edit::default() };
            apply(workspace, &resolved, &old, &args).unwrap().document.into_bytes()
        })
    }

    fn failure(bytes: &[u8], edits: &[Replacement]) -> (Code, String, String) {
        let error = edit(bytes, edits).unwrap_err();
        (error.code, error.message(), error.hint_text().unwrap())
    }

    #[test]
    fn only_what_was_asked_for_changes() {
        let script = b"\xef\xbb\xbf#!/bin/sh\r\necho one\r\n\tx \r\n";
        assert_eq!(
            edited(script, &[replacement("one\n\tx", "two\nthree\n\tx")]),
            b"\xef\xbb\xbf#!/bin/sh\r\necho two\r\nthree\r\n\tx \r\n"
        );
        assert_eq!(edited(b"\xff\xfea\0\n\0", &[replacement("a", "\u{e4}")]), b"\xff\xfe\xe4\0\n\0");
        assert_eq!(edited(b"caf\xe9 a\nna\xefve b", &[replacement("b", "\u{e9}")]), b"caf\xe9 a\nna\xefve \xe9");
        assert_eq!(edited(b"a\r\nb\nc\n", &[replacement("b", "x\ny")]), b"a\r\nx\r\ny\nc\n");
    }

    #[test]
    fn edits_follow_each_other() {
        let result =
            edit(b"a b\nc\n", &[replacement("a", "x"), replacement("x b", "y\nz"), all("\n", "\n\n")]).unwrap();
        assert_eq!(result.edits_applied, 5);
        assert_eq!(result.diff, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,6 @@\n-a b\n+y\n+\n+z\n+\n c\n+\n");
        assert_eq!(result.lines, [LineRange { start: 1, end: 4 }, LineRange { start: 6, end: 6 }]);
        assert_eq!(result.etag, digest::etag(b"y\n\nz\n\nc\n\n"));
    }

    #[test]
    fn removed_lines_end_before_they_start() {
        let result = edit(b"a\nb\nc\n", &[replacement("b\n", "")]).unwrap();
        assert_eq!(result.lines, [LineRange { start: 2, end: 1 }]);
    }

    #[test]
    fn no_match_tells_the_nearest() {
        let (code, message, hint) = failure(b"fn a() {\n\tone();\n}\n", &[replacement("    one();", "two();")]);
        assert_eq!(code, Code::NoMatch);
        assert_eq!(
            message,
            "cannot edit `a.txt`: edit 1: `old_text` is not there, but line 2 differs only in indentation (tabs against spaces)"
        );
        assert!(hint.contains("line 2: `→one();`"), "{hint}");
        let (_, message, hint) = failure(b"two\n", &[replacement("two", "three"), replacement("one", "three")]);
        assert_eq!(message, "cannot edit `a.txt`: edit 2: `old_text` is not there");
        assert!(hint.starts_with("`new_text` is already in the file, at line 1"), "{hint}");
    }

    #[test]
    fn ambiguity_tells_every_line() {
        let (code, message, hint) = failure(b"a\nb\na\n", &[replacement("a", "x")]);
        assert_eq!(code, Code::AmbiguousMatch);
        assert_eq!(message, "cannot edit `a.txt`: edit 1: `old_text` is there 2 times, at lines 1, 3");
        assert!(hint.contains("`replace_all`"));
        assert_eq!(failure(b"xaaa", &[replacement("aa", "b")]).0, Code::AmbiguousMatch);
        let (_, message, _) = failure(&b"a\n".repeat(5000), &[replacement("a", "x")]);
        assert!(message.contains("more than 1000 times") && message.ends_with("50 and more"), "{message}");
    }

    #[test]
    fn wrong_arguments() {
        for edits in [&[][..], &[replacement("", "x")], &[replacement("a", "a")]] {
            assert_eq!(failure(b"a", edits).0, Code::InvalidArgument);
        }
        assert_eq!(failure(b"\0a", &[replacement("a", "b")]).0, Code::BinaryFile);
        assert_eq!(failure(b"caf\xe9", &[replacement("caf", "\u{4e2d}")]).0, Code::EncodingLoss);
        let (code, message, _) = failure(&b"ab".repeat(60_000), &[all("a", &"x".repeat(1000))]);
        assert_eq!(code, Code::TooLarge, "{message}");
        assert_eq!(failure(&b"a".repeat(100_001), &[all("a", "b")]).0, Code::LimitExceeded);
    }

    #[test]
    fn a_stale_etag_changes_nothing() {
        let args = request::Edit {
            path: "a.txt".to_owned(),
            edits: vec![replacement("a", "b")],
            if_match: Some("0123456789abcdef".to_owned()),
            dry_run: true,
            ..request::Edit::default()
        };
        let result = fixture::with(&[("a.txt", b"a")], &Policy::default(), |workspace| run(workspace, &args));
        assert_eq!(result.unwrap_err().code, Code::ChangedSinceRead);
    }
}
