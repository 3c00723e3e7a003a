//! Requests of the tools: how the reference server reads their arguments.

use paddock_types::error::{Code, Error, Result};
use paddock_types::request;
use paddock_types::request::{EditMatching, ReadMode, Request};

use crate::args::Args;

/// Maximum number of entries in a result.
pub(super) const MAX_ENTRIES: u32 = 10_000;
/// Number of context lines in a diff.
const DIFF_CONTEXT: usize = 4;

/// Returns the request to read text. Zero counts as absent, as in the reference.
pub(super) fn read_text(args: &Args) -> Result<Request> {
    let line_count = |name: &str| args.opt_whole(name).filter(|lines| *lines > 0);
    let (head, tail) = (line_count("head"), line_count("tail"));
    if head.is_some() && tail.is_some() {
        return Err(Error::new(Code::InvalidArgument, "Cannot specify both head and tail parameters simultaneously"));
    }
    Ok(Request::Read(whole_text(args.text("path"), head, tail)))
}

pub(super) fn whole_text(path: String, head: Option<u64>, tail: Option<u64>) -> request::Read {
    let read = request::Read::lines(path, 1, head);
    request::Read { tail, mode: ReadMode::Raw, unlimited: true, ..read }
}

/// Returns the path of an entry to create. A path on a drive of Windows is refused, since its first part would become
/// the name of a directory in the workspace.
pub(super) fn new_path(args: &Args, name: &str) -> Result<String> {
    let path = args.text(name);
    if matches!(path.as_bytes(), [drive, b':', b'/', ..] if drive.is_ascii_alphabetic()) {
        return Err(Error::at(Code::OutsideWorkspace, "create", &path, "it is no path below an allowed directory"));
    }
    Ok(path)
}

pub(super) fn edit(args: &Args) -> Result<Request> {
    let mut edits = args.replacements("edits", "oldText", "newText");
    for edit in &mut edits {
        for text in [&mut edit.old_text, &mut edit.new_text] {
            *text = text.replace("\r\n", "\n");
        }
    }
    Ok(Request::Edit(request::Edit {
        path: args.text("path"),
        edits,
        dry_run: args.flag("dryRun"),
        matching: EditMatching::WhiteSpace,
        context: Some(DIFF_CONTEXT),
        ..request::Edit::default()
    }))
}

pub(super) fn list(path: String) -> Request {
    Request::List(request::List {
        limit: MAX_ENTRIES,
        include_hidden: true,
        include_ignored: true,
        unlimited: true,
        ..request::List::of(path)
    })
}

pub(super) fn search(args: &Args) -> Result<Request> {
    let mut pattern = args.text("pattern");
    anchor(&mut pattern, "./");
    Ok(Request::Glob(request::Glob {
        path: args.text("path"),
        exclude: excluded(args, false),
        directories: true,
        links: true,
        include_hidden: true,
        include_ignored: true,
        limit: MAX_ENTRIES,
        unlimited: true,
        ..request::Glob::of(pattern)
    }))
}

/// Returns `excludePatterns` as the reference server interprets them: relative to `path`. In a tree, a pattern without
/// `*` matches at any depth.
pub(super) fn excluded(args: &Args, is_tree: bool) -> Vec<String> {
    let mut globs = args.texts("excludePatterns");
    globs.retain(|glob| !matches!(glob.as_str(), "" | "."));
    for glob in &mut globs {
        let prefix = if is_tree && !glob.contains('*') { "**/" } else { "./" };
        anchor(glob, prefix);
    }
    globs
}

/// Adds `prefix`, so that a bare name matches only below it and not at every depth. A glob that is refused stays
/// unchanged.
fn anchor(glob: &mut String, prefix: &str) {
    if !glob.is_empty() && !glob.starts_with(['/', '!']) {
        glob.insert_str(0, prefix);
    }
}
