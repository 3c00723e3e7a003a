//! Replaces text in a file. Each replacement is spliced into the bytes that the previous one produced, so that all
//! other bytes stay unchanged.

use std::borrow::Cow;

use paddock_text::diff::{Change, LineChange};
use paddock_text::document::{Document, Splice};
use paddock_text::{diff, encoding, eol, find};
use paddock_types::error::{Code, Detail, Error, Result, Term};
use paddock_types::match_pass::Pass;
use paddock_types::request::{EditMatching, Insertion, Replacement};
use paddock_types::response::{LineRange, Response};
use paddock_types::{phrase, request, response};
use paddock_vfs::content::FileContent;
use paddock_workspace::Workspace;
use paddock_workspace::change::commit::commit;
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::resolved_path::ResolvedPath;

use crate::edit::mistakes::Mistakes;
use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::read::content;
use crate::recorder::Recorder;

mod lenient;
mod mistakes;
mod snippet;

const OPERATION: &str = "edit";
/// Maximum number of occurrences of one replacement: each is held in memory.
const MAX_OCCURRENCES: usize = 100_000;
/// Maximum number of occurrences counted if `old_text` is ambiguous.
const MAX_COUNTED: usize = 1_000;
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
        let (resolved, old, edited) = edited(draft.workspace, self)?;
        draft.add_target(OPERATION, &self.path)?;
        draft.diff(&resolved.path, (&old.text, &edited.document.text), &edited.changes);
        Ok(false)
    }
}

/// Replaces text in a file, or inserts lines.
pub fn run(workspace: &Workspace<'_>, args: &request::Edit) -> Result<response::Edit> {
    let (resolved, old, edited) = edited(workspace, args)?;
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
    let snippet_range = args.snippet.zip(first.as_ref());
    let limits = &workspace.policy.limits;
    let snippet = snippet_range.and_then(|(around, first)| snippet::of(&edited.document.text, first, around, limits));
    let (old, new) = (old.into_bytes(), FileContent::from(edited.document.into_bytes()));
    let old = FileContent::from(old);
    let mut result = response::Edit {
        path: resolved.path.clone(),
        edits_applied: edited.count,
        diff,
        etag: new.etag(),
        lines: lines.iter().take(MAX_RANGES).map(range).collect(),
        backup: None,
        notes: edited.notes,
        snippet,
        dry_run: args.dry_run,
    };
    if lines.len() > MAX_RANGES {
        result.notes.push(format!("`lines` has the first {MAX_RANGES} of {} ranges", lines.len()));
    }
    if !args.dry_run && old != new {
        let change = FileChange { resolved, old: Some(old), new: Some(new), to: None };
        result.notes.extend(commit(workspace, OPERATION, vec![change])?);
        result.backup = workspace.backup();
    }
    Ok(result)
}

/// Returns the file, its document, and the document after the edits.
fn edited(workspace: &Workspace<'_>, args: &request::Edit) -> Result<(ResolvedPath, Document, Edited)> {
    let resolved = workspace.resolve(&args.path, OPERATION)?;
    if args.insert.is_none() && args.edits.is_empty() {
        return Err(mistakes::no_edits());
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
    Ok((resolved, old, edited))
}

/// A document after all edits.
struct Edited {
    document: Document,
    /// Differences from the original document.
    changes: Vec<Change>,
    /// Number of occurrences replaced.
    count: u64,
    /// Edits that did not match exactly.
    notes: Vec<String>,
}

/// Applies the edits one after the other. Fails with the mistakes of all edits.
fn apply(workspace: &Workspace<'_>, resolved: &ResolvedPath, old: &Document, args: &request::Edit) -> Result<Edited> {
    let mut mistakes = Mistakes::default();
    let mut edited: Option<Edited> = None;
    // In a file without CR, no line ends as an `old_text` with CR says, so the text can only mean the lines themselves.
    let has_cr = old.text.contains('\r');
    let edits: Vec<Cow<'_, Replacement>> = args.edits.iter().map(|edit| in_lf(edit, has_cr)).collect();
    for (index, edit) in edits.iter().enumerate() {
        let is_over = workspace.out_of_time();
        let before = edited.as_ref().map_or(old, |edited| &edited.document);
        let label = if args.edits.len() > 1 { format!("edit {}: ", index + 1) } else { String::new() };
        let applied = match is_over {
            true => Err(mistakes::out_of_time()),
            false => apply_one(workspace, before, edit, (args.matching, &label)),
        };
        match applied {
            Ok(EditedDocument { document, splices, is_exact }) => {
                let (changes, count, mut notes) = match edited.take() {
                    Some(Edited { changes, count, notes, .. }) => (changes, count, notes),
                    None => (Vec::new(), 0, Vec::new()),
                };
                if matches!(edit, Cow::Owned(_)) {
                    notes.push(format!(
                        "the lines of edit {} end in LF, as those of the file, and not in CRLF",
                        index + 1
                    ));
                }
                if !is_exact {
                    notes.push(format!(
                        "edit {} matched {}; the file keeps its punctuation where the new text repeats the old",
                        index + 1,
                        Pass::Punctuation.name()
                    ));
                }
                let changes = diff::compose(&changes, &splices);
                edited = Some(Edited {
                    document,
                    changes,
                    count: count + if is_exact { splices.len() as u64 } else { 1 },
                    notes,
                });
            }
            Err(error) => {
                if !mistakes.add(index, edit, error) || is_over {
                    break;
                }
            }
        }
    }
    mistakes.check(resolved)?;
    edited.ok_or_else(mistakes::no_edits)
}

/// A document after one edit.
struct EditedDocument {
    document: Document,
    splices: Vec<Splice>,
    is_exact: bool,
}

/// Applies one edit. Errors name neither the operation nor the path.
fn apply_one(
    workspace: &Workspace<'_>,
    before: &Document,
    edit: &Replacement,
    (matching, label): (EditMatching, &str),
) -> Result<EditedDocument> {
    mistakes::check(edit)?;
    let text = &before.text;
    let lenient_match = match matching {
        EditMatching::WhiteSpace => lenient::splice(text, edit)
            .map_err(|several| mistakes::ambiguous(text, &several, Some(Pass::Trimmed.name())))?,
        EditMatching::Exact | EditMatching::Punctuation => None,
    };
    let (splices, is_exact) = match lenient_match {
        Some(splice) => (vec![splice], true),
        None => splices(workspace, text, edit, (matching, label))?,
    };
    let bytes = before.splice(&splices).map_err(|loss| loss.error())?;
    check_size(workspace, bytes.len())?;
    Ok(EditedDocument { document: before.decode_like(bytes), splices, is_exact })
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
    let check_size = |size| check_size(workspace, size).map_err(|error| error.on(OPERATION, &resolved.requested_path));
    check_size(text.len().saturating_add(new.len()) / 3)?;
    let mut splices = vec![Splice { range: at..at, text: new }];
    if insert.ends_file && is_open && !is_last {
        splices.push(Splice { range: text.len()..text.len(), text: near.to_owned() });
    }
    let bytes = old.splice(&splices).map_err(|loss| loss.at(OPERATION, &resolved.requested_path))?;
    check_size(bytes.len())?;
    Ok(Edited { document: old.decode_like(bytes), changes: diff::compose(&[], &splices), count: 1, notes: Vec::new() })
}

/// Returns the edit with LF for CRLF, if its old text has CRLF and the file has no CR.
fn in_lf(edit: &Replacement, has_cr: bool) -> Cow<'_, Replacement> {
    if has_cr || !edit.old_text.contains("\r\n") {
        return Cow::Borrowed(edit);
    }
    let [old_text, new_text] = [&edit.old_text, &edit.new_text].map(|text| text.replace("\r\n", "\n"));
    Cow::Owned(Replacement { old_text, new_text, replace_all: edit.replace_all })
}

/// Returns the splices of one edit, and whether its text occurs exactly.
fn splices(
    workspace: &Workspace<'_>,
    text: &str,
    edit: &Replacement,
    (matching, label): (EditMatching, &str),
) -> Result<(Vec<Splice>, bool)> {
    let max = if edit.replace_all { MAX_OCCURRENCES + 1 } else { MAX_COUNTED + 1 };
    let occurrences = find::occurrences(text, &edit.old_text, !edit.replace_all, max);
    match occurrences.len() {
        0 => {
            let folded = matching == EditMatching::Punctuation;
            let alike = if folded { find::alike(text, &edit.old_text, MAX_COUNTED + 1) } else { Vec::new() };
            return match alike.as_slice() {
                [] => Err(mistakes::no_match(text, edit, label)),
                [range] => match lenient::alike(text, range, edit) {
                    Some(splices) => Ok((splices, false)),
                    None => Err(mistakes::no_match(text, edit, label)),
                },
                several => Err(mistakes::ambiguous(text, several, Some(Pass::Punctuation.name()))),
            };
        }
        1 => {}
        _ if !edit.replace_all => return Err(mistakes::ambiguous(text, &occurrences, None)),
        count if count > MAX_OCCURRENCES => {
            let cause = phrase![Term::OldText, format!(" is there more than {MAX_OCCURRENCES} times")];
            return Err(Error::new(Code::LimitExceeded, cause)
                .hint("include more of the surrounding text, so that it occurs less often"));
        }
        _ => {}
    }
    // The size is checked before the new text is copied for each occurrence. Every encoding needs at least a third of
    // the bytes that UTF-8 needs for a character.
    let grown = text.len().saturating_add(occurrences.len().saturating_mul(edit.new_text.len()));
    let gone = occurrences.iter().map(|range| range.len()).sum::<usize>();
    check_size(workspace, grown.saturating_sub(gone) / 3)?;
    let splice = |range: std::ops::Range<usize>| {
        let text = find::localize(text, &range, &edit.new_text).into_owned();
        Splice { range, text }
    };
    Ok((occurrences.into_iter().map(splice).collect(), true))
}

fn check_size(workspace: &Workspace<'_>, size: usize) -> Result<()> {
    let limit = workspace.policy.limits.max_file_bytes;
    if size as u64 <= limit {
        return Ok(());
    }
    let cause = format!("it would have more than {limit} bytes, the maximum for a whole file");
    Err(Error::new(Code::TooLarge, cause).hint("nothing was changed; make fewer or shorter replacements"))
}

fn range(change: &LineChange) -> LineRange {
    let (start, count) = change.new;
    LineRange { start, end: (start + count).saturating_sub(1) }
}

#[cfg(test)]
mod tests {
    use paddock_types::digest;
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
    fn only_what_was_requested_changes() {
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
    fn crlf_is_found_in_a_file_without_cr() {
        assert_eq!(edited(b"a\nb\nc\n", &[replacement("a\r\nb", "x\r\ny")]), b"x\ny\nc\n");
        let result = edit(b"a\nb\nc\n", &[replacement("a\r\nb", "x\r\ny")]).unwrap();
        assert!(result.notes[0].contains("end in LF"), "{:?}", result.notes);
        // Only the new text has CRLF, and the file gets CRLF.
        assert_eq!(edited(b"a\nb\n", &[replacement("a\n", "x\r\n")]), b"x\r\nb\n");
        assert_eq!(failure(b"a\nb\r\n", &[replacement("a\r\nb", "x")]).0, Code::NoMatch);
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
        assert!(hint.starts_with(r#"nearest: line 2: "\tone();"; copy `old_text` from there"#), "{hint}");
        let (_, message, hint) = failure(b"two\n", &[replacement("two", "three"), replacement("one", "three")]);
        assert_eq!(message, "cannot edit `a.txt`: edit 2: `old_text` is not there");
        assert!(hint.starts_with("edit 2: `new_text` is already in the file, at line 1"), "{hint}");
    }

    #[test]
    fn mistakes_of_all_edits_are_reported() {
        let text = b"one\ntwo\ntwo\nfour();\n";
        let edits = [
            replacement("one", "first line"),
            replacement("three", "THREE lines"),
            replacement("two", "2"),
            // The first edit changes the result of the second edit.
            replacement("THREE", "3"),
            replacement("", "x"),
            replacement("  four();", "five();"),
            replacement("x", "x"),
            replacement("first", "1st"),
        ];
        let (code, message, hint) = failure(text, &edits);
        assert_eq!(code, Code::NoMatch);
        assert_eq!(
            message,
            "cannot edit `a.txt`: edit 2: `old_text` is not there; edit 3: `old_text` occurs 2 times, at lines 2, 3; \
             edit 5: `old_text` is empty; edit 6: `old_text` is not there, but line 4 differs only in indentation; \
             edit 7: `old_text` and `new_text` are the same"
        );
        for remark in [
            "edit 2: the file has no similar text",
            "or set `replace_all`",
            r#"edit 6: nearest: line 4: "four();""#,
            "leave this edit out",
        ] {
            assert!(hint.contains(remark), "{remark}: {hint}");
        }
        let (_, message, hint) = failure(b"x", &vec![replacement("nowhere", "y"); 12]);
        assert!(message.ends_with("edit 10: `old_text` is not there"), "{message}");
        assert!(hint.ends_with("edits after edit 10 were not checked"), "{hint}");
        let edits = [replacement("nowhere", "y"), replacement("caf", "\u{4e2d}"), all("\u{e9}", &"x".repeat(20 << 20))];
        let (_, message, _) = failure(b"caf\xe9", &edits);
        assert!(message.contains("edit 2: its encoding windows-1252 has no `中`"), "{message}");
        assert!(message.contains("; edit 3: it would have more than"), "{message}");
    }

    #[test]
    fn spaces_quotes_and_dashes_may_differ() {
        let call = |text: &str, edits: &[Replacement]| {
            let args = request::Edit {
                path: "a.txt".to_owned(),
                edits: edits.to_vec(),
                matching: EditMatching::Punctuation,
                ..request::Edit::default()
            };
            fixture::with(&[("a.txt", text.as_bytes())], &Policy::default(), |workspace| {
                let edit = run(workspace, &args)?;
                let resolved = workspace.resolve("a.txt", OPERATION)?;
                let bytes = workspace.read_whole(&resolved, OPERATION)?.0;
                Ok::<_, Error>((String::from_utf8(bytes).unwrap(), edit.notes))
            })
        };
        let edited = |text: &str, old: &str, new: &str| call(text, &[replacement(old, new)]);
        let note = || {
            vec!["edit 1 matched with Unicode punctuation as ASCII; the file keeps its punctuation where the new text repeats the old".to_owned()]
        };
        let text = "say\u{a0}“one” – “two”\r\nnext ’\r\n";
        let new = edited(text, "say \"one\" - \"two\"\nnext", "say \"one\" - \"2\"\nmore\nnext");
        assert_eq!(new, Ok(("say\u{a0}“one” – “2”\r\nmore\r\nnext ’\r\n".to_owned(), note())));
        assert_eq!(edited("a\u{a0}b", "a b", "a\tb"), Ok(("a\tb".to_owned(), note())));
        assert_eq!(edited("it's", "it’s", "it’s not"), Ok(("it's not".to_owned(), note())));
        // If the text occurs exactly, lenient matches do not count.
        assert_eq!(edited("a b a\u{a0}b", "a b", "c"), Ok(("c a\u{a0}b".to_owned(), vec![])));
        assert_eq!(call("“a” \"a\"", &[all("\"a\"", "b")]), Ok(("“a” b".to_owned(), vec![])));
        for edit in [replacement("\"a\"", "b"), all("\"a\"", "b")] {
            let error = call("“a”\n„a“", &[edit]).unwrap_err();
            assert_eq!((error.code, error.hint_text().unwrap().contains("replace_all")), (Code::AmbiguousMatch, false));
            assert!(error.message().ends_with(
                "does not occur exactly, and with Unicode punctuation as ASCII it occurs 2 times, at lines 1, 2"
            ));
        }
        // An earlier call has already made the edit.
        let error = edited("“made” before", "\"made\" before", "“made” before").unwrap_err();
        assert_eq!(error.code, Code::NoMatch);
        assert!(error.hint_text().unwrap().starts_with("`new_text` is already in the file"));
        // The default is exact.
        assert_eq!(failure("“a”".as_bytes(), &[replacement("\"a\"", "b")]).0, Code::NoMatch);
    }

    #[test]
    fn ambiguity_tells_every_line() {
        let (code, message, hint) = failure(b"a\nb\na\n", &[replacement("a", "x")]);
        assert_eq!(code, Code::AmbiguousMatch);
        assert_eq!(message, "cannot edit `a.txt`: edit 1: `old_text` occurs 2 times, at lines 1, 3");
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
