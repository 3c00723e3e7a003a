//! Converts the arguments of a tool into its request.

use paddock_types::error::Result;
use paddock_types::request;
use paddock_types::request::{EditMatching, GrepOutput, LetterCase, ListSort, PathSort, ReadMode, Request};

use crate::args::Args;

pub fn read(args: &Args) -> Result<Request> {
    args.not_both("offset", "tail", "give `offset` to read from a line on, or `tail` to read the last lines")?;
    Ok(Request::Read(request::Read {
        tail: args.opt_whole("tail"),
        mode: match args.text("mode").as_str() {
            "indentation" => ReadMode::Indentation,
            "function" => ReadMode::Function,
            "raw" => ReadMode::Raw,
            "base64" => ReadMode::Base64,
            _ => ReadMode::Lines,
        },
        anchor_line: args.opt_whole("anchor_line"),
        max_levels: args.whole32("max_levels"),
        include_siblings: args.flag("include_siblings"),
        include_header: args.flag("include_header"),
        encoding: args.opt_text("encoding"),
        if_none_match: args.opt_text("if_none_match"),
        ..request::Read::lines(args.text("path"), args.opt_whole("offset").unwrap_or(1), args.opt_whole("limit"))
    }))
}

pub fn read_many(args: &Args) -> Result<Request> {
    args.not_both("files", "paths", "give one of them")?;
    args.not_both("files", "glob", "give one of them")?;
    args.not_both("paths", "glob", "give one of them")?;
    let ranges = args.objects("files").into_iter();
    let ranges =
        ranges.map(|file| request::Read::lines(file.text("path"), file.whole("offset"), file.opt_whole("limit")));
    let whole = args.texts("paths").into_iter().map(|path| request::Read::lines(path, 1, None));
    Ok(Request::ReadMany(request::ReadMany { files: ranges.chain(whole).collect(), glob: args.opt_text("glob") }))
}

pub fn edit(args: &Args) -> Result<Request> {
    Ok(Request::Edit(request::Edit {
        path: args.text("path"),
        edits: args.replacements("edits", "old_text", "new_text"),
        matching: EditMatching::Punctuation,
        if_match: args.opt_text("if_match"),
        dry_run: args.flag("dry_run"),
        ..request::Edit::default()
    }))
}

pub fn list(args: &Args) -> Result<Request> {
    Ok(Request::List(request::List {
        depth: args.whole32("depth"),
        pattern: args.opt_text("pattern"),
        include_hidden: args.flag("include_hidden"),
        include_ignored: args.flag("include_ignored"),
        sort: match args.text("sort").as_str() {
            "size" => ListSort::Size,
            "modified" => ListSort::Modified,
            _ => ListSort::Name,
        },
        limit: args.whole32("limit"),
        cursor: args.opt_text("cursor"),
        ..request::List::of(args.text("path"))
    }))
}

pub fn glob(args: &Args) -> Result<Request> {
    Ok(Request::Glob(request::Glob {
        path: args.text("path"),
        include_hidden: args.flag("include_hidden"),
        include_ignored: args.flag("include_ignored"),
        sort: if args.text("sort") == "modified" { PathSort::Modified } else { PathSort::Path },
        limit: args.whole32("limit"),
        cursor: args.opt_text("cursor"),
        ..request::Glob::of(args.text("pattern"))
    }))
}

pub fn grep(args: &Args) -> Result<Request> {
    let hint = "`context` shows lines on both sides; give `before` and `after` for different numbers";
    args.not_both("context", "before", hint)?;
    args.not_both("context", "after", hint)?;
    let context = args.whole32("context");
    Ok(Request::Grep(request::Grep {
        path: args.text("path"),
        glob: args.opt_text("glob"),
        fixed: args.flag("fixed"),
        letter_case: letter_case(args),
        multiline: args.flag("multiline"),
        word: args.flag("word"),
        before: context.max(args.whole32("before")),
        after: context.max(args.whole32("after")),
        output: match args.text("output").as_str() {
            "files" => GrepOutput::Files,
            "count" => GrepOutput::Count,
            _ => GrepOutput::Content,
        },
        limit: args.whole32("limit"),
        max_per_file: args.opt_whole("max_per_file").map(|max| u32::try_from(max).unwrap_or(u32::MAX)),
        include_hidden: args.flag("include_hidden"),
        include_ignored: args.flag("include_ignored"),
        cursor: args.opt_text("cursor"),
        ..request::Grep::of(args.text("pattern"))
    }))
}

pub fn replace(args: &Args) -> Result<Request> {
    Ok(Request::Replace(request::Replace {
        path: args.text("path"),
        glob: args.opt_text("glob"),
        fixed: args.flag("fixed"),
        letter_case: letter_case(args),
        multiline: args.flag("multiline"),
        word: args.flag("word"),
        include_hidden: args.flag("include_hidden"),
        include_ignored: args.flag("include_ignored"),
        exclude_paths: args.texts("exclude_paths"),
        plan: args.opt_text("plan"),
        cursor: args.opt_text("cursor"),
        ..request::Replace::of(args.text("pattern"), args.text("replacement"))
    }))
}

fn letter_case(args: &Args) -> LetterCase {
    match args.text("case").as_str() {
        "insensitive" => LetterCase::Insensitive,
        "smart" => LetterCase::Smart,
        _ => LetterCase::Sensitive,
    }
}

pub fn transfer(args: &Args) -> request::Transfer {
    request::Transfer {
        source: args.text("source"),
        destination: args.text("destination"),
        overwrite: args.flag("overwrite"),
        recursive: args.flag("recursive"),
    }
}

/// Number of calls that `restore` lists.
const LISTED_CALLS: u32 = 20;

pub fn restore(args: &Args) -> Result<Request> {
    let (path, backup) = (args.opt_text("path"), args.opt_text("backup"));
    let last = args.opt_whole("last").map(|last| u32::try_from(last).unwrap_or(u32::MAX));
    // A call without arguments must not undo anything.
    if path.is_none() && backup.is_none() && last.is_none() {
        return Ok(Request::History(request::History { limit: LISTED_CALLS }));
    }
    Ok(Request::Restore(request::Restore { path, backup, last, overwrite: args.flag("overwrite") }))
}
