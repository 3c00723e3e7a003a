//! Conversions between the types of the bindings and of the crates, field by field under the same names.

use paddock_ops::command::record::Before;
use paddock_ops::overlay;
use paddock_ops::partitions::{Names, PartitionMatches, PartitionResult};
use paddock_types::accessed_paths::{AccessedPaths, WriteMode, Written};
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, ErrorText, TypedNames};
use paddock_types::outcome::Outcome;
use paddock_types::{request, response};

use crate::exports::NAME_CASE;
use crate::exports::bindings::exports::paddock::files::{commands, files, partitions, search, session, tools, types};

/// Conversion of a value between the bindings and the crates, in either direction.
pub trait Convert<T> {
    /// Returns the converted value.
    fn lower(self) -> T;
}

macro_rules! same {
    ($($type:ty),*) => { $(impl Convert<$type> for $type { fn lower(self) -> $type { self } })* };
}

macro_rules! record {
    ($from:path => $to:path { $($field:ident),* $(,)? $(; ..$rest:expr)? }) => {
        impl Convert<$to> for $from {
            fn lower(self) -> $to {
                $to { $($field: self.$field.lower(),)* $(..$rest)? }
            }
        }
    };
}

macro_rules! variants {
    ($from:path => $to:path { $($case:ident),* $(,)? }) => {
        impl Convert<$to> for $from {
            fn lower(self) -> $to {
                match self { $(<$from>::$case => <$to>::$case),* }
            }
        }
    };
}

same!(bool, u32, u64, String);

impl Convert<String> for &'static str {
    fn lower(self) -> String {
        self.to_owned()
    }
}

impl<T: Convert<U>, U> Convert<Option<U>> for Option<T> {
    fn lower(self) -> Option<U> {
        self.map(Convert::lower)
    }
}

impl<T: Convert<U>, U> Convert<Vec<U>> for Vec<T> {
    fn lower(self) -> Vec<U> {
        self.into_iter().map(Convert::lower).collect()
    }
}

record!(ErrorText => types::Error { code, message, path, hint });

impl Convert<types::Error> for Error {
    fn lower(self) -> types::Error {
        self.in_names(&TypedNames(NAME_CASE.get())).lower()
    }
}

record!(response::Change => types::Change { kind, path, to, size });
record!(response::Skipped => types::Skipped {
    ignored, hidden, denied, unreadable, too_deep, unnamed, links, special, binary, too_large, long_lines,
});
variants!(Kind => types::EntryKind { File, Directory, Link, Other });
variants!(response::ChangeKind => types::ChangeKind { Created, Modified, Deleted, Moved });
variants!(Code => types::ErrorCode {
    NotFound, AlreadyExists, NotAFile, NotADirectory, DirectoryNotEmpty, OutsideWorkspace, InvalidPath,
    InvalidArgument, UnknownTool, UnknownDialect, BinaryFile, EncodingLoss, NoMatch, AmbiguousMatch, PatchInvalid,
    PatchRejected, ChangedSinceRead, ReadOnly, Denied, ApprovalRequired, TooLarge, LimitExceeded, NoSpace,
    PermissionDenied, Cancelled, BackendGone, Io,
});

variants!(files::ReadMode => request::ReadMode { Lines, Indentation, Function, Raw, Base64 });
record!(files::ReadArgs => request::Read {
    path, offset, limit, tail, mode, anchor_line, max_levels, include_siblings, include_header, encoding,
    if_none_match; ..request::Read::lines("", 1, None)
});
record!(response::Read => files::ReadResult {
    path, content, start_line, end_line, total_lines, next_offset, truncated, encoding, bom, line_ending, size,
    modified, etag, mime, unchanged, diff,
});
record!(files::FileRange => request::Read { path, offset, limit; ..request::Read::lines("", 1, None) });
record!(files::ReadManyArgs => request::ReadMany { files, glob });
record!(response::ReadMany => files::ReadManyResult { entries, truncated, remaining, skipped });
record!(response::ReadManyEntry => files::ReadManyEntry { path, outcome });
record!(files::WriteArgs => request::Write { path, content, create_only, append, encoding, if_match });
record!(response::Write => files::WriteResult { path, bytes_written, created, etag, backup, notes });
record!(files::Replacement => request::Replacement { old_text, new_text, replace_all });
record!(files::EditArgs => request::Edit {
    path, edits, if_match, dry_run;
    ..request::Edit { matching: request::EditMatching::Punctuation, ..request::Edit::default() }
});
record!(response::LineRange => files::LineRange { start, end });
record!(response::Edit => files::EditResult { path, edits_applied, diff, etag, lines, backup, notes });
record!(files::ApplyPatchArgs => request::ApplyPatch { patch, dry_run; ..request::ApplyPatch::default() });
variants!(response::PatchAction => files::PatchAction { Add, Update, Move, Delete });
record!(response::PatchedFile => files::PatchedFile { path, action, moved_from, lines_added, lines_removed, etag });
record!(response::ApplyPatch => files::ApplyPatchResult { files, backup, notes });
record!(files::ReplaceArgs => request::Replace {
    pattern, replacement, path, glob, fixed, letter_case, multiline, word, include_hidden, include_ignored,
    exclude_paths, plan, cursor,
});
record!(response::ReplacedFile => files::ReplacedFile { path, replacements, etag });
record!(response::ReplacedLine => files::ReplacedLine { path, line, old, new, replacements });
record!(response::Replace => files::ReplaceResult {
    files, total_files, total_replacements, lines, plan, next_cursor, applied, files_searched, unchangeable, skipped, truncated,
    backup, notes,
});
record!(files::MakeDirectoryArgs => request::MakeDir { path, parents });
record!(response::MakeDir => files::MakeDirectoryResult { path, created, backup });
record!(files::TransferArgs => request::Transfer { source, destination, overwrite, recursive });
record!(response::Transfer => files::TransferResult { source, destination, files, bytes, backup, notes });
record!(files::DeleteArgs => request::Delete {
    path, recursive; ..request::Delete { path: String::new(), recursive: false, files_only: false }
});
record!(response::Delete => files::DeleteResult { path, entries_deleted, backup, notes });
record!(files::RestoreArgs => request::Restore { path, backup, last, overwrite });
record!(response::Restore => files::RestoreResult { undone, also_undone, restored, backup, notes });
record!(files::HistoryArgs => request::History { limit });
record!(response::HistoryEntry => files::HistoryEntry { backup, time, operation, paths, size });
record!(response::History => files::HistoryResult { entries, truncated });
record!(files::PackArgs => request::Pack { sources, destination, overwrite });
record!(response::Pack => files::PackResult { path, entries, files, bytes, size, etag, backup, notes });
record!(files::UnpackArgs => request::Unpack { source, destination, overwrite });
record!(response::Unpack => files::UnpackResult { destination, entries, files, bytes, backup, notes });
record!(files::StatArgs => request::Stat { path, checksum, brief; ..request::Stat::of(String::new()) });
record!(response::Stat => files::StatResult {
    path, kind, size, modified, accessed, changed, hard_links, lines, encoding, mime, link_target, etag, sha256,
});

variants!(search::ListSort => request::ListSort { Name, Size, Modified });
record!(search::ListArgs => request::List {
    path, depth, pattern, include_hidden, include_ignored, sort, limit, cursor; ..request::List::of(String::new())
});
record!(response::Entry => search::Entry { path, kind, size, modified });
record!(response::List => search::ListResult {
    path, entries, total_files, total_directories, total_size, skipped, truncated, next_cursor,
});
record!(search::TreeArgs => request::Tree {
    path, depth, limit, include_hidden, include_ignored; ..request::Tree::of(String::new())
});
variants!(search::PathSort => request::PathSort { Path, Modified });
record!(search::GlobArgs => request::Glob {
    pattern, path, exclude, directories, include_hidden, include_ignored, sort, limit, cursor;
    ..request::Glob::of(String::new())
});
record!(request::Glob => search::GlobArgs {
    pattern, path, exclude, directories, include_hidden, include_ignored, sort, limit, cursor,
});
variants!(request::PathSort => search::PathSort { Path, Modified });
record!(response::Glob => search::GlobResult { paths, skipped, truncated, next_cursor, notes });
record!(search::GlobResult => response::Glob {
    paths, skipped, truncated, next_cursor, notes; ..response::Glob::default()
});
variants!(types::LetterCase => request::LetterCase { Sensitive, Insensitive, Smart });
variants!(search::GrepOutput => request::GrepOutput { Content, Files, Count });
record!(search::GrepArgs => request::Grep {
    pattern, path, glob, fixed, letter_case, multiline, word, before, after, output, limit, max_per_file, include_hidden,
    include_ignored, cursor; ..request::Grep::of(String::new())
});
record!(response::ContextLine => search::ContextLine { line, text });
record!(response::GrepMatch => search::GrepMatch {
    path, line, text, text_start, match_start, match_end, before, after,
});
record!(response::FileCount => search::FileCount { path, count });
record!(response::Grep => search::GrepResult {
    matches, files, files_searched, bytes_searched, skipped, truncated, next_cursor, notes,
});
record!(search::ChangesArgs => request::Changes { since, path, include_hidden, include_ignored, limit });
record!(response::Changes => search::ChangesResult {
    token, created, modified, deleted, total, watched, skipped, truncated,
});

record!(AccessedPaths => tools::AccessedPaths { operation, paths, redacted, bytes, lines, truncated, changes, written });
record!(Written => tools::Written { path, bytes, mode });
variants!(WriteMode => tools::WriteMode { Create, Overwrite, Append });

// The host's description of a command.
record!(types::Change => response::Change { kind, path, to, size });
variants!(types::ChangeKind => response::ChangeKind { Created, Modified, Deleted, Moved });
variants!(types::EntryKind => Kind { File, Directory, Link, Other });
variants!(types::ErrorCode => Code {
    NotFound, AlreadyExists, NotAFile, NotADirectory, DirectoryNotEmpty, OutsideWorkspace, InvalidPath,
    InvalidArgument, UnknownTool, UnknownDialect, BinaryFile, EncodingLoss, NoMatch, AmbiguousMatch, PatchInvalid,
    PatchRejected, ChangedSinceRead, ReadOnly, Denied, ApprovalRequired, TooLarge, LimitExceeded, NoSpace,
    PermissionDenied, Cancelled, BackendGone, Io,
});
record!(commands::Captured => response::Captured { text, bytes, truncated, omitted });
record!(commands::Unread => response::Unread { session, offset });
record!(commands::Refused => response::Refused { path, cause });
record!(commands::Session => response::Session { id, command, age_ms, running });
record!(commands::Before => Before { path, kind, target, staged_file, mode });

// Values exchanged between the coordinator and the workers of a search. `SearchJob` has the `links` of a glob. The
// other fields without a counterpart concern the page, which is the coordinator's.
variants!(request::LetterCase => types::LetterCase { Sensitive, Insensitive, Smart });
variants!(request::GrepOutput => search::GrepOutput { Content, Files, Count });
record!(request::Grep => search::GrepArgs {
    pattern, path, glob, fixed, letter_case, multiline, word, before, after, output, limit, max_per_file, include_hidden,
    include_ignored, cursor,
});
record!(types::Skipped => response::Skipped {
    ignored, hidden, denied, unreadable, too_deep, unnamed, links, special, binary, too_large, long_lines,
});
record!(search::ContextLine => response::ContextLine { line, text });
record!(search::GrepMatch => response::GrepMatch {
    path, line, text, text_start, match_start, match_end, before, after,
});
record!(search::FileCount => response::FileCount { path, count });
record!(search::GrepResult => response::Grep {
    matches, files, files_searched, bytes_searched, skipped, truncated, next_cursor, notes;
    ..response::Grep::default()
});
record!(partitions::Names => Names { paths, skipped });
record!(Names => partitions::Names { paths, skipped });
record!(partitions::PartitionResult => PartitionResult { matches, reached, examined, text_bytes, rest });
record!(PartitionResult => partitions::PartitionResult { matches, reached, examined, text_bytes, rest });

impl Convert<PartitionMatches> for partitions::PartitionMatches {
    fn lower(self) -> PartitionMatches {
        match self {
            Self::Grep(matches) => PartitionMatches::Grep(matches.lower()),
            Self::Glob(matches) => PartitionMatches::Glob(matches.lower()),
        }
    }
}

impl Convert<partitions::PartitionMatches> for PartitionMatches {
    fn lower(self) -> partitions::PartitionMatches {
        match self {
            Self::Grep(matches) => partitions::PartitionMatches::Grep(matches.lower()),
            Self::Glob(matches) => partitions::PartitionMatches::Glob(matches.lower()),
        }
    }
}

impl Convert<request::Request> for partitions::Search {
    fn lower(self) -> request::Request {
        match self {
            Self::Grep(args) => request::Request::Grep(args.lower()),
            Self::Glob(args) => request::Request::Glob(args.lower()),
        }
    }
}

impl Convert<Result<files::ReadResult, types::Error>> for response::ReadOutcome {
    fn lower(self) -> Result<files::ReadResult, types::Error> {
        match self {
            Self::Result(read) => Ok(read.lower()),
            Self::Error(error) => Err(error.lower()),
        }
    }
}

impl Convert<search::TreeResult> for response::Tree {
    fn lower(self) -> search::TreeResult {
        search::TreeResult {
            tree: serde_json::json!(self.tree).to_string(),
            path: self.path,
            files: self.files,
            directories: self.directories,
            skipped: self.skipped.lower(),
            truncated: self.truncated,
        }
    }
}

impl Convert<tools::Outcome> for Outcome {
    fn lower(self) -> tools::Outcome {
        tools::Outcome {
            ok: self.error.is_none(),
            result: self.result,
            text: self.text,
            error: self.error.lower(),
            changes: self.changes.lower(),
            truncated: self.truncated,
        }
    }
}

impl Convert<session::DiffResult> for overlay::Diff {
    fn lower(self) -> session::DiffResult {
        session::DiffResult { differences: self.differences.lower(), patch: self.patch }
    }
}

impl Convert<session::Difference> for overlay::RenderedDifference {
    fn lower(self) -> session::Difference {
        let (added, removed) = self.lines.unzip();
        session::Difference {
            path: self.path,
            was: self.was.lower(),
            is: self.is.lower(),
            old_size: self.old_size,
            new_size: self.new_size,
            added,
            removed,
            stale: self.is_stale,
            content: self.content,
            moved_from: self.moved_from,
        }
    }
}

record!(overlay::Conflict => session::Conflict { path, cause, theirs, ours });
record!(overlay::Commit => session::CommitResult { changes, merged, conflicts, backup, notes });
