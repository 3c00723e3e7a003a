//! Writes a whole file, or appends to it.

use encoding_rs::{Encoding, UTF_8};
use paddock_text::codec::is_utf16;
use paddock_text::document::{Document, Splice};
use paddock_text::encoding;
use paddock_text::encoding::Detected;
use paddock_text::eol;
use paddock_text::eol::Eol;
use paddock_types::accessed_paths::{WriteMode, Written};
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::response::Response;
use paddock_types::{phrase, request, response};
use paddock_vfs::content::FileContent;
use paddock_workspace::Workspace;
use paddock_workspace::change::commit::commit;
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::resolved_path::ResolvedPath;

use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::read::content;
use crate::recorder::Recorder;

const OPERATION: &str = "write";

impl Operation for request::Write {
    fn name(&self) -> &'static str {
        "write"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Write)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Write(write) = response else { return };
        recorder.add(&write.path);
        recorder.measure(write.bytes_written, None);
        if self.append {
            let overwritten = |file: &&mut Written| file.mode == WriteMode::Overwrite;
            for file in recorder.record.written.iter_mut().filter(overwritten) {
                (file.mode, file.bytes) = (WriteMode::Append, write.bytes_written);
            }
        }
    }
}

impl ChangingOperation for request::Write {
    fn can_delete(&self) -> bool {
        false
    }

    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        let planned = plan(draft.workspace, self)?;
        draft.add_target(if self.append { "append to" } else { "write" }, &self.path)?;
        draft.change(&planned.resolved.path, planned.old.as_ref(), &planned.new).map(|()| false)
    }
}

/// A file before and after a write.
struct Planned {
    resolved: ResolvedPath,
    old: Option<FileContent>,
    new: FileContent,
    notes: Vec<String>,
}

/// Writes a whole file, or appends to it.
pub fn run(workspace: &Workspace<'_>, args: &request::Write) -> Result<response::Write> {
    let Planned { resolved, old, new, notes } = plan(workspace, args)?;
    let old_size = old.as_ref().filter(|_| args.append).map_or(0, FileContent::size);
    let mut result = response::Write {
        path: resolved.path.clone(),
        bytes_written: new.size().saturating_sub(old_size),
        created: old.is_none(),
        appended: args.append && old.is_some(),
        etag: Some(new.etag()),
        backup: None,
        notes: Vec::new(),
    };
    if old.as_ref() != Some(&new) {
        result.notes = commit(workspace, OPERATION, vec![FileChange { resolved, old, new: Some(new), to: None }])?;
        result.backup = workspace.backup();
        result.notes.extend(notes);
    }
    Ok(result)
}

/// Returns the content that the file is to have. Fails if it may not be written.
fn plan(workspace: &Workspace<'_>, args: &request::Write) -> Result<Planned> {
    let requested_path = args.encoding.as_deref().map(encoding::by_label).transpose()?;
    let resolved = workspace.resolve(&args.path, OPERATION)?;
    check(&resolved, args)?;
    workspace.check_change(&resolved, OPERATION)?;
    check_size(workspace, &resolved, args.content.len() as u64 / 3)?;
    let old = resolved.stat.map(|_| workspace.read_whole(&resolved, OPERATION)).transpose()?.map(|(bytes, _)| bytes);
    paddock_workspace::check_etag(args.if_match.as_deref(), old.as_deref(), &resolved, OPERATION)?;
    let (new, notes) = match &old {
        Some(old) if args.append && !old.is_empty() => appended(&resolved, old, requested_path, &args.content)?,
        _ => written(&resolved, old.as_deref(), requested_path, &args.content)?,
    };
    check_size(workspace, &resolved, new.len() as u64)?;
    Ok(Planned { resolved, old: old.map(Into::into), new: new.into(), notes })
}

fn check(resolved: &ResolvedPath, args: &request::Write) -> Result<()> {
    match resolved.stat {
        Some(stat) if stat.kind != Kind::File => return Err(resolved.not_a_file(OPERATION, stat.kind)),
        Some(_) if args.create_only => {
            return Err(Error::at(Code::AlreadyExists, OPERATION, &resolved.requested_path, "the path already exists")
                .hint(phrase!["leave ", Term::CreateOnly, " out to replace it, or choose another name"])
                .or_hint(phrase!["set ", Term::Overwrite, " to replace it, or choose another name"])
                .or_hint(phrase![Term::WriteTool, " overwrites it"])
                .or_hint("choose another name, or edit the existing file"));
        }
        Some(_) => {}
        None if resolved.requested_path.ends_with(['/']) || resolved.requested_path.ends_with("/.") => {
            return Err(Error::at(
                Code::NotAFile,
                OPERATION,
                &resolved.requested_path,
                "a path that ends in `/` names a directory",
            )
            .hint(phrase!["leave the `/` at the end out, or use ", Term::MakeDirectoryTool])
            .or_hint("leave the `/` at the end out"));
        }
        None => {}
    }
    if args.append && args.create_only {
        return Err(Error::argument(
            Term::Append,
            phrase![Term::CreateOnly, " writes a new file, and there is nothing to append to"],
        )
        .hint("leave one of them out"));
    }
    Ok(())
}

fn check_size(workspace: &Workspace<'_>, resolved: &ResolvedPath, size: u64) -> Result<()> {
    let limit = workspace.policy.limits.max_file_bytes;
    if size <= limit {
        return Ok(());
    }
    let cause = format!("it would have more than {limit} bytes, the maximum for a whole file");
    Err(Error::at(Code::TooLarge, OPERATION, &resolved.requested_path, cause)
        .hint("nothing was changed; write several smaller files"))
}

/// Returns the bytes of a file that is written whole, with a note if the line endings change.
fn written(
    resolved: &ResolvedPath,
    old: Option<&[u8]>,
    requested_path: Option<&'static Encoding>,
    content: &str,
) -> Result<(Vec<u8>, Vec<String>)> {
    let (content, marked) = match content.strip_prefix('\u{feff}') {
        Some(content) => (content, true),
        None => (content, false),
    };
    // Binary content has no encoding to preserve.
    let before = old.filter(|old| !old.is_empty() && !encoding::is_binary(old)).map(encoding::detect);
    let encoding = requested_path.or(before.map(|before| before.encoding)).unwrap_or(UTF_8);
    let same = before.filter(|before| before.encoding == encoding);
    let bom = marked || same.map_or(is_utf16(encoding), |same| same.bom > 0);
    let bom = if bom { encoding::bom(encoding).to_vec() } else { Vec::new() };
    let detected = Detected { encoding, bom: bom.len() };
    let new = Document::decode_as(bom, detected).encode_like(content);
    let new = new.map_err(|loss| loss.at(OPERATION, &resolved.requested_path))?;
    let note = old.filter(|_| before.is_some()).and_then(|old| changed_endings(old, content));
    Ok((new, note.into_iter().collect()))
}

/// Returns a note if a file with CRLF line endings is replaced by text with others. Callers often do not see them.
fn changed_endings(old: &[u8], content: &str) -> Option<String> {
    let before = eol::detect(&Document::decode(old.to_vec(), None).text);
    let lost = before == Eol::Crlf && matches!(eol::detect(content), Eol::Lf | Eol::Mixed);
    lost.then(|| "the lines ended in CRLF before, and now end as in the given text, in LF".to_owned())
}

/// Returns a note if the appended text ends its lines otherwise than the file.
fn mixed_endings(before: &str, content: &str) -> Option<String> {
    let (before, added) = (eol::detect(before), eol::detect(content));
    let is_mixed = before != added && before != Eol::None && added != Eol::None;
    is_mixed.then(|| "the lines of the appended text end in another way than those of the file".to_owned())
}

/// Returns the bytes of a file with text appended. A last line without an ending gets one, and a note says so: the text
/// would otherwise continue that line.
fn appended(
    resolved: &ResolvedPath,
    old: &[u8],
    requested_path: Option<&'static Encoding>,
    content: &str,
) -> Result<(Vec<u8>, Vec<String>)> {
    if requested_path.is_none() && encoding::is_binary(old) {
        return Err(content::binary(resolved, OPERATION, old.len() as u64, old)
            .hint(phrase!["text is appended to text; give ", Term::Encoding, " if it is text after all"])
            .or_hint("text is appended to text"));
    }
    let is = encoding::detect(old).encoding;
    if let Some(requested_path) = requested_path
        && is_utf16(requested_path) != is_utf16(is)
    {
        return Err(Error::argument(Term::Encoding, format!("the file that is there is {}", is.name())).hint(phrase![
            "leave ",
            Term::Encoding,
            " out to append in the file's own"
        ]));
    }
    let document = Document::decode(old.to_vec(), requested_path);
    let end = document.text.len();
    let is_open = |text: &str| !text.is_empty() && !text.ends_with(['\n', '\r']);
    let is_joined = is_open(&document.text) && !content.is_empty() && !content.starts_with(['\n', '\r']);
    let ending = if is_joined { eol::near(&document.text, end) } else { "" };
    let splice = Splice { range: end..end, text: format!("{ending}{content}") };
    let new = document.splice(&[splice]).map_err(|loss| loss.at(OPERATION, &resolved.requested_path))?;
    let mut notes: Vec<_> = mixed_endings(&document.text, content).into_iter().collect();
    if is_joined {
        notes.push("the last line had no line ending, and got one before the appended text".to_owned());
    }
    Ok((new, notes))
}

#[cfg(test)]
mod tests {
    use paddock_types::digest;
    use paddock_types::policy::Policy;
    use paddock_workspace::fixture;

    use super::*;

    const FILES: &[(&str, &[u8])] = &[
        ("utf8", b"a\r\n"),
        ("bom", b"\xef\xbb\xbfa"),
        ("utf16", b"\xff\xfea\0"),
        ("latin1", b"caf\xe9\n"),
        ("binary", b"\0\x01"),
        ("empty", b""),
        ("d/", b""),
        ("link -> utf8", b""),
    ];

    fn args(path: &str, content: &str) -> request::Write {
        request::Write { path: path.to_owned(), content: content.to_owned(), ..request::Write::default() }
    }

    fn write(args: &request::Write) -> Result<response::Write> {
        fixture::with(FILES, &Policy::default(), |workspace| run(workspace, args))
    }

    /// Checks that the etag of the result is that of these bytes.
    fn check(args: &request::Write, bytes: &[u8], written: u64, created: bool) {
        let result = write(args).unwrap();
        assert_eq!(result.etag, Some(digest::etag(bytes)), "{args:?}");
        assert_eq!((result.bytes_written, result.created), (written, created), "{args:?}");
    }

    fn requested_path(path: &str, content: &str, encoding: &str) -> request::Write {
        request::Write { encoding: Some(encoding.to_owned()), ..args(path, content) }
    }

    fn append(path: &str, content: &str) -> request::Write {
        request::Write { append: true, ..args(path, content) }
    }

    #[test]
    fn the_encoding_that_is_there_stays() {
        check(&args("new/file", "ä\n"), "ä\n".as_bytes(), 3, true);
        check(&args("utf8", "x\n"), b"x\n", 2, false);
        check(&args("bom", "ä"), b"\xef\xbb\xbf\xc3\xa4", 5, false);
        check(&args("utf16", "ä"), b"\xff\xfe\xe4\0", 4, false);
        check(&args("latin1", "ä"), b"\xe4", 1, false);
        check(&args("binary", "ä"), b"\xc3\xa4", 2, false);
        check(&args("empty", "\u{feff}ä"), b"\xef\xbb\xbf\xc3\xa4", 5, false);
        check(&args("bom", "\u{feff}ä"), b"\xef\xbb\xbf\xc3\xa4", 5, false);
        assert_eq!(write(&args("link", "x")).unwrap().path, "utf8");
    }

    #[test]
    fn a_requested_encoding() {
        check(&requested_path("new", "a", "utf-16be"), b"\xfe\xff\0a", 4, true);
        check(&requested_path("utf8", "a", "utf-16le"), b"\xff\xfea\0", 4, false);
        check(&requested_path("utf16", "é", "latin1"), b"\xe9", 1, false);
        check(&requested_path("latin1", "中", "utf-8"), "中".as_bytes(), 3, false);
        assert_eq!(write(&args("latin1", "中")).unwrap_err().code, Code::EncodingLoss);
        assert_eq!(write(&requested_path("new", "a", "none")).unwrap_err().code, Code::InvalidArgument);
    }

    #[test]
    fn appending() {
        check(&append("utf8", "b\n"), b"a\r\nb\n", 2, false);
        check(&append("bom", "ä"), b"\xef\xbb\xbfa\n\xc3\xa4", 3, false);
        check(&append("bom", "\nä"), b"\xef\xbb\xbfa\n\xc3\xa4", 3, false);
        check(&append("utf16", "ä"), b"\xff\xfea\0\n\0\xe4\0", 4, false);
        check(&append("latin1", "ä"), b"caf\xe9\n\xe4", 1, false);
        check(&append("empty", "ä"), b"\xc3\xa4", 2, false);
        check(&append("new", "ä"), b"\xc3\xa4", 2, true);
        assert_eq!(write(&append("binary", "a")).unwrap_err().code, Code::BinaryFile);
        let mixed = request::Write { append: true, ..requested_path("utf8", "a", "utf-16") };
        assert_eq!(write(&mixed).unwrap_err().code, Code::InvalidArgument);
    }

    #[test]
    fn refusals() {
        let code = |args: &request::Write| write(args).unwrap_err().code;
        assert_eq!(code(&request::Write { create_only: true, ..args("utf8", "") }), Code::AlreadyExists);
        assert_eq!([code(&args("d", "")), code(&args(".", "")), code(&args("new/", ""))], [Code::NotAFile; 3]);
        assert_eq!(code(&args(".git/config", "")), Code::ReadOnly);
        let stale = |path| request::Write { if_match: Some("0".repeat(16)), ..args(path, "") };
        assert_eq!([code(&stale("utf8")), code(&stale("new"))], [Code::ChangedSinceRead; 2]);
        assert_eq!(code(&args("new", &"x".repeat(10 * 1024 * 1024 + 1))), Code::TooLarge);
    }
}
