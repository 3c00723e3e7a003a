"""The types of the tools, made from `wit/` by `generate.py`: change them there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Tuple, Union

if TYPE_CHECKING:
    from .errors import ToolError

ErrorCode = Literal[
    "not-found",
    "already-exists",
    "not-a-file",
    "not-a-directory",
    "directory-not-empty",
    "outside-workspace",
    "invalid-path",
    "invalid-argument",
    "unknown-tool",
    "unknown-dialect",
    "binary-file",
    "encoding-loss",
    "no-match",
    "ambiguous-match",
    "patch-invalid",
    "patch-rejected",
    "changed-since-read",
    "read-only",
    "denied",
    "approval-required",
    "too-large",
    "limit-exceeded",
    "no-space",
    "permission-denied",
    "cancelled",
    "backend-gone",
    "io",
]
"""Why a call failed. A failure is a value: nothing here traps.

`not-found`: Nothing exists at the path. Similar to `ENOENT`.

`already-exists`: Something exists at the path, and the call may not replace it. Similar to `EEXIST`.

`not-a-file`: The call needs a regular file, and the path names a directory, FIFO, socket or device.

`not-a-directory`: The call needs a directory, and the path, or a part of it, names something else. Similar to
`ENOTDIR`.

`directory-not-empty`: The directory has entries, and the call was not recursive. Similar to `ENOTEMPTY`.

`outside-workspace`: The path, or a link on it, leads out of every root.

`invalid-path`: The path cannot name anything: empty, a NUL byte, a backslash, too long, or a link loop.

`invalid-argument`: An argument is missing, unknown, of the wrong type, out of range, or at odds with another.

`unknown-tool`: The dialect has no tool of that name.

`unknown-dialect`: There is no dialect of that name.

`binary-file`: The file is not text, and the call reads or changes text.

`encoding-loss`: The text cannot be written in the file's encoding without loss.

`no-match`: The text to replace does not occur in the file.

`ambiguous-match`: The text to replace occurs more than once.

`patch-invalid`: The patch does not parse.

`patch-rejected`: The patch parses and does not apply.

`changed-since-read`: The file no longer has the etag that the caller gave.

`read-only`: The root, the path or the whole workspace may not be changed.

`denied`: A rule forbids the path to every tool.

`approval-required`: A person has to approve the call first.

`too-large`: The file is over the whole-file limit.

`limit-exceeded`: A limit on time, memory, entries or depth ended the call.

`no-space`: The file system has no room left. Similar to `ENOSPC`, `EDQUOT`.

`permission-denied`: The file system refused access. Similar to `EACCES`, `EPERM`.

`cancelled`: The caller cancelled the call.

`backend-gone`: The file system behind the workspace has gone away.

`io`: Anything else that the file system reported. Similar to `EIO`.
"""

EntryKind = Literal[
    "file",
    "directory",
    "link",
    "other",
]
"""What a path names.

`file`: A regular file.

`directory`: A directory.

`link`: A symbolic link.

`other`: A FIFO, socket or device.
"""

LetterCase = Literal[
    "sensitive",
    "insensitive",
    "smart",
]
"""How letter case is compared.

`sensitive`: As written, the default.

`insensitive`: Not at all.

`smart`: As written where the pattern has an upper-case letter, else not at all.
"""

ChangeKind = Literal[
    "created",
    "modified",
    "deleted",
    "moved",
]
"""What a call did to one path.

`created`: The path did not exist before.

`modified`: The path's content was replaced.

`deleted`: The path no longer exists.

`moved`: The path was renamed to `to`.
"""

ReadMode = Literal[
    "lines",
    "indentation",
    "raw",
    "base64",
]
"""How `read` shows a file.

`lines`: Lines without their endings, long ones cut, the default.

`indentation`: The block around `anchor_line`, by indentation.

`raw`: The text of the lines as it is, endings included, long lines whole.

`base64`: Bytes in Base64; `offset` and `limit` then count bytes.
"""

PatchAction = Literal[
    "add",
    "update",
    "move",
    "delete",
]
"""What a patch does to a file.

`add`: Makes it.

`update`: Changes it in place.

`move`: Moves it, and may change it.

`delete`: Removes it.
"""

ListSort = Literal[
    "name",
    "size",
    "modified",
]
"""How a listing is ordered.

`name`: By path, the default.

`size`: By size, largest first.

`modified`: By time of modification, newest first.
"""

PathSort = Literal[
    "path",
    "modified",
]
"""How paths are ordered.

`path`: By path, the default.

`modified`: By time of modification, newest first.
"""

GrepOutput = Literal[
    "content",
    "files",
    "count",
]
"""What `grep` returns.

`content`: Each matching line, the default.

`files`: The files that have a match.

`count`: How many lines match in each file.
"""


@dataclass(frozen=True)
class Skipped:
    """What a call left out, each by its reason. Zero is nothing left out."""

    ignored: int
    """Entries that `.gitignore` or `.ignore` rules exclude; `include_ignored` shows them."""
    hidden: int
    """Entries whose name starts with a dot; `include_hidden` shows them."""
    denied: int
    """Entries that `.agentignore` keeps from every tool."""
    unreadable: int
    """Entries that the file system would not let be read."""
    unnamed: int
    """Entries whose name is not UTF-8."""
    links: int
    """Symbolic links, which a walk never follows."""
    special: int
    """FIFOs, sockets and devices."""
    binary: int
    """Files that are not text."""
    too_large: int
    """Files over the whole-file limit that the call would have to hold whole."""
    long_lines: int
    """Lines over 16 MiB, which are searched in parts, so that a match across two parts is missed."""


@dataclass(frozen=True)
class Change:
    """One change that a call made."""

    kind: ChangeKind
    """What happened."""
    path: str
    """Where, relative to the workspace."""
    to: str | None
    """Where to, for `moved`."""
    size: int | None
    """Size afterwards, in bytes, where a file is there afterwards."""


@dataclass(frozen=True)
class Plan:
    """What a person is asked about."""

    digest: str
    """SHA-256, in hexadecimal, of the call with all its arguments and of what is now at every path that it would
    change.
    """
    summary: str
    """What would be done, in lines of text; the first says it in short. Names are escaped, the text of a change is as
    it is.
    """
    paths: list[str]
    """The paths that would change."""


@dataclass(frozen=True)
class ReadResult:
    """Result of `read`."""

    path: str
    """The file, relative to the workspace."""
    content: str
    """The text, its lines joined by LF; with `raw` as in the file; with `base64` Base64."""
    start_line: int
    """The first line returned; 0 where none is. With `base64`, the first byte."""
    end_line: int
    """The last line returned; 0 where none is. With `base64`, the last byte."""
    total_lines: int | None
    """How many lines the file has; none over the whole-file limit."""
    next_offset: int | None
    """The `offset` that continues; none at the end."""
    truncated: bool
    """Whether a limit cut lines off, or a long line short."""
    encoding: str
    """The encoding that was used, by its WHATWG name; `binary` with `base64`."""
    bom: bool
    """Whether a byte order mark was at the start; it is not in `content`."""
    line_ending: str
    """`lf`, `crlf`, `cr`, `mixed` or `none`, over what was read."""
    size: int
    """Size of the file in bytes."""
    modified: str | None
    """When the content last changed."""
    etag: str | None
    """First 16 hexadecimal digits of the SHA-256 of the file's bytes; none over the whole-file limit."""
    mime: str
    """The media type, by content and name."""
    unchanged: bool
    """`if_none_match` still fits; `content` is empty then."""
    diff: str | None
    """What changed since the content with the etag `if_none_match`, as a unified diff of the whole file against it.
    `content` is empty then, and no line is returned. None where `content` tells.
    """


@dataclass(frozen=True)
class FileRange:
    """One file of `read_many`."""

    path: str
    """The file."""
    offset: int = 1
    """The first line, 1-based."""
    limit: int | None = None
    """Most lines."""


@dataclass(frozen=True)
class ReadManyEntry:
    """One entry of `read_many`."""

    path: str
    """The path as given, or as found by the glob."""
    outcome: ReadResult | ToolError
    """What was read, or why not; one failure does not end the call."""


@dataclass(frozen=True)
class ReadManyResult:
    """Result of `read_many`."""

    entries: list[ReadManyEntry]
    """One entry a file, in the order asked."""
    truncated: bool
    """Whether the text limit or the file limit ended the call early."""
    remaining: list[str]
    """Paths that were left out for it, to ask for in another call."""


@dataclass(frozen=True)
class WriteResult:
    """Result of `write`."""

    path: str
    """The file, relative to the workspace."""
    bytes_written: int
    """Bytes written."""
    created: bool
    """Whether the file is new."""
    etag: str | None
    """Its new etag; none over the whole-file limit."""
    backup: str | None
    """What undoes the change, for `restore`; none where nothing changed, or backups are off."""
    notes: list[str]
    """What the caller should know: a hard link that was broken."""


@dataclass(frozen=True)
class Replacement:
    """One replacement."""

    old_text: str
    """Text that is in the file. LF matches the file's own line endings."""
    new_text: str
    """Text in its place; LF becomes the file's own line ending."""
    replace_all: bool = False
    """Replace every occurrence, not exactly one. Default: false."""


@dataclass(frozen=True)
class LineRange:
    """Lines that an edit touched, in the new file."""

    start: int
    """The first line."""
    end: int
    """The last line; one before `start` where lines were only removed."""


@dataclass(frozen=True)
class EditResult:
    """Result of `edit`."""

    path: str
    """The file, relative to the workspace."""
    edits_applied: int
    """Occurrences replaced."""
    diff: str
    """A unified diff of the change."""
    etag: str
    """The new etag, as it would be with `dry_run`."""
    lines: list[LineRange]
    """The lines touched, in order."""
    backup: str | None
    """What undoes the change, for `restore`; none where nothing changed, or backups are off."""
    notes: list[str]
    """What the caller should know: a hard link that was broken."""


@dataclass(frozen=True)
class PatchedFile:
    """One file of a patch."""

    path: str
    """The file, relative to the workspace; for a move the new path."""
    action: PatchAction
    """What the patch did to it."""
    moved_from: str | None
    """Where it was before a move."""
    lines_added: int
    """Lines added."""
    lines_removed: int
    """Lines removed."""
    etag: str | None
    """Its new etag; none for a deletion."""


@dataclass(frozen=True)
class ApplyPatchResult:
    """Result of `apply_patch`."""

    files: list[PatchedFile]
    """One entry a file, in the order of the patch."""
    backup: str | None
    """What undoes the change, for `restore`; none where nothing changed, or backups are off."""
    notes: list[str]
    """What the caller should know: a hard link that was broken, a mode that WASI cannot set."""


@dataclass(frozen=True)
class ReplacedFile:
    """One file in which something is replaced."""

    path: str
    """The file, relative to the workspace."""
    replacements: int
    """Matches replaced."""
    etag: str
    """Its new etag, as it would be where nothing is changed yet."""


@dataclass(frozen=True)
class ReplaceResult:
    """Result of `replace`."""

    files: list[ReplacedFile]
    """The first 100 files that change, in the order of a walk."""
    total_files: int
    """How many files change."""
    total_replacements: int
    """Matches replaced in all of them."""
    diff: str
    """Unified diffs of the first files, as a sample: at most 8 KiB, and 2 KiB a file. Empty once it is done."""
    plan: str | None
    """Pass as `plan`, with the same arguments, to do it. It is bound to the arguments and to the path and content of
    every file that changes. None where nothing would change, and once it is done.
    """
    applied: bool
    """Whether it is done."""
    files_searched: int
    """Files searched."""
    unchangeable: int
    """Files with matches that stay as they are, since they are read-only or protected, or since their encoding does not
    hold the result without loss; `notes` names the first 10.
    """
    skipped: Skipped
    """What was left out of the search."""
    truncated: bool
    """Whether `files` has not all of them."""
    backup: str | None
    """What undoes the change, for `restore`; none where nothing changed, or backups are off."""
    notes: list[str]
    """What the caller should know: a file that stays as it is, a hard link that was broken."""


@dataclass(frozen=True)
class MakeDirectoryResult:
    """Result of `make_directory`."""

    path: str
    """The directory, relative to the workspace."""
    created: bool
    """Whether it is new."""
    backup: str | None
    """What undoes the change, for `restore`; none where nothing changed, or backups are off."""


@dataclass(frozen=True)
class TransferResult:
    """Result of `copy` and `move_entry`."""

    source: str
    """What was copied or moved, relative to the workspace."""
    destination: str
    """Where it is now."""
    files: int
    """Files and links copied or moved."""
    bytes: int
    """Their size in bytes."""
    backup: str | None
    """What undoes the change, for `restore`; none where nothing changed, or backups are off."""
    notes: list[str]
    """What the caller should know."""


@dataclass(frozen=True)
class DeleteResult:
    """Result of `delete`."""

    path: str
    """What was deleted, relative to the workspace."""
    entries_deleted: int
    """Files, links and directories deleted."""
    backup: str | None
    """What undoes the change, for `restore`; none where nothing changed, or backups are off."""
    notes: list[str]
    """What else there is to say, such as that no backup could be kept."""


@dataclass(frozen=True)
class StatResult:
    """Result of `stat`."""

    path: str
    """The path, relative to the workspace."""
    kind: EntryKind
    """What it is."""
    size: int | None
    """Size in bytes, for a regular file."""
    modified: str | None
    """When the content last changed."""
    accessed: str | None
    """When it was last read, where the file system keeps that."""
    changed: str | None
    """When its status last changed."""
    hard_links: int
    """Hard links to it."""
    lines: int | None
    """How many lines it has, for text up to the whole-file limit."""
    encoding: str | None
    """Its encoding, for text."""
    mime: str | None
    """Its media type, for a regular file."""
    link_target: str | None
    """What a symbolic link says, where it stays inside the workspace."""
    etag: str | None
    """First 16 hexadecimal digits of the SHA-256, up to the whole-file limit."""
    sha256: str | None
    """SHA-256 of the file's bytes in hexadecimal, where `checksum` asked for it."""


@dataclass(frozen=True)
class RestoreResult:
    """What was undone."""

    undone: str
    """The backup whose changes were undone."""
    restored: list[str]
    """The paths whose changes were undone."""
    backup: str | None
    """What undoes the undoing; none where nothing changed."""
    notes: list[str]
    """What did not come back, and why."""


@dataclass(frozen=True)
class HistoryEntry:
    """One backup: what a call changed."""

    backup: str
    """The backup, for `restore`."""
    time: str
    """When the call was made."""
    verb: str
    """What it did: `write`, `edit`, `patch`, `delete` and so on."""
    paths: list[str]
    """What it changed."""
    size: int
    """Bytes of the old contents."""


@dataclass(frozen=True)
class HistoryResult:
    """Backups, the newest first."""

    entries: list[HistoryEntry]
    """The backups."""
    truncated: bool
    """Whether there are more than `limit`."""


@dataclass(frozen=True)
class PackResult:
    """Result of `pack`."""

    path: str
    """The archive, relative to the workspace."""
    entries: int
    """Files and directories in it."""
    files: int
    """Files in it."""
    bytes: int
    """Their size in bytes."""
    size: int
    """Size of the archive in bytes."""
    etag: str
    """Its etag."""
    backup: str | None
    """What undoes the change, for `restore`; none where nothing changed, or backups are off."""
    notes: list[str]
    """What was left out, by reason, with how many there were of it."""


@dataclass(frozen=True)
class UnpackResult:
    """Result of `unpack`."""

    destination: str
    """The directory, relative to the workspace."""
    entries: int
    """Files and directories in the archive."""
    files: int
    """Files in it, those included that were there already as they are in it."""
    bytes: int
    """Their size in bytes."""
    backup: str | None
    """What undoes the change, for `restore`; none where nothing changed, or backups are off."""
    notes: list[str]
    """What the caller should know: a hard link that was broken, modes that WASI cannot set."""


@dataclass(frozen=True)
class Entry:
    """One entry of a listing."""

    path: str
    """Path relative to the workspace."""
    kind: EntryKind
    """What it is."""
    size: int | None
    """Size in bytes, for a regular file."""
    modified: str | None
    """When the content last changed."""


@dataclass(frozen=True)
class ListResult:
    """Result of `list`."""

    path: str
    """The directory, relative to the workspace."""
    entries: list[Entry]
    """The entries of this page."""
    total_files: int | None
    """Files in the whole listing, on every page; none where the walk stopped at the limit."""
    total_directories: int | None
    """Directories in the whole listing."""
    total_size: int | None
    """Size of all its files, in bytes."""
    skipped: Skipped
    """What was left out."""
    truncated: bool
    """Whether more entries follow."""
    next_cursor: str | None
    """Pass as `cursor` for the rest."""


@dataclass(frozen=True)
class TreeResult:
    """Result of `tree`."""

    path: str
    """The directory, relative to the workspace."""
    tree: str
    """The tree as nested JSON: `{name, kind, size?, children?}`; WIT has no recursive types."""
    files: int
    """Files shown."""
    directories: int
    """Directories shown, the first one not counted."""
    skipped: Skipped
    """What was left out."""
    truncated: bool
    """Whether entries were left out for the limit."""


@dataclass(frozen=True)
class GlobResult:
    """Result of `glob`."""

    paths: list[str]
    """Paths of files, and of directories where asked for, relative to the workspace."""
    skipped: Skipped
    """What was left out."""
    truncated: bool
    """Whether more paths follow."""
    next_cursor: str | None
    """Pass as `cursor` for the rest."""


@dataclass(frozen=True)
class ContextLine:
    """A line of context."""

    line: int
    """Its number."""
    text: str
    """Its text, cut at the line limit."""


@dataclass(frozen=True)
class GrepMatch:
    """One matching line, or with `multiline` one match."""

    path: str
    """The file, relative to the workspace."""
    line: int
    """The line on which the match starts."""
    text: str
    """The text of the line, or of all lines of a multi-line match, without the last line ending, cut at the line limit.
    """
    text_start: int
    """Where `text` starts in the line, in bytes of its UTF-8; 0 unless a long line was cut at its front."""
    match_start: int
    """Where the first match starts in the line, in bytes of its UTF-8."""
    match_end: int
    """Where it ends."""
    before: list[ContextLine]
    """Lines before it that no earlier match shows."""
    after: list[ContextLine]
    """Lines after it, up to the next match."""


@dataclass(frozen=True)
class FileCount:
    """A file with matches."""

    path: str
    """The file, relative to the workspace."""
    count: int | None
    """How many lines match, or with `multiline` how many matches there are; at least 1. None for `grep-output::files`,
    which stops at the first.
    """


@dataclass(frozen=True)
class GrepResult:
    """Result of `grep`."""

    matches: list[GrepMatch]
    """The matches, for `grep-output::content`."""
    files: list[FileCount]
    """The files, for `grep-output::files` and `grep-output::count`."""
    files_searched: int
    """Files searched for this page."""
    bytes_searched: int
    """Bytes searched for this page."""
    skipped: Skipped
    """What was left out."""
    truncated: bool
    """Whether more follows."""
    next_cursor: str | None
    """Pass as `cursor` for the rest."""


@dataclass(frozen=True)
class ChangesResult:
    """Result of `changes`. Paths are relative to the workspace and in the order of a walk."""

    token: str
    """Pass as `since` to learn what changes from here on, with the same other arguments."""
    created: list[str]
    """Files and links that were not there."""
    modified: list[str]
    """Files with another content, links with another target."""
    deleted: list[str]
    """Files and links that are not there any more."""
    total: int
    """How many changes there are, returned or not."""
    watched: int
    """Files and links that the token stands for."""
    skipped: Skipped
    """What was left out."""
    truncated: bool
    """Whether more changed than `limit` let be told; the same `since` with a higher one tells it."""


@dataclass(frozen=True)
class Annotations:
    """Hints on what a tool does, as in the Model Context Protocol."""

    title: str
    """A title for people."""
    read_only: bool
    """The tool changes nothing."""
    destructive: bool
    """The tool can replace or remove what is there."""
    idempotent: bool
    """A second call with the same arguments changes nothing more."""


@dataclass(frozen=True)
class Tool:
    """One tool of a dialect."""

    name: str
    """The name that `call` takes."""
    description: str
    """What it does, for the model."""
    input_schema: str
    """JSON Schema (2020-12) of the arguments, an object."""
    output_schema: str
    """JSON Schema (2020-12) of the result, an object."""
    annotations: Annotations
    """What it does to files."""


Shape = Union[str, Tuple[str, Any]]
"""How a value is passed: a scalar, the name of an enum or a record, or a list, option or result of one."""

ENUMS: dict[str, frozenset[str]] = {
    "error-code": frozenset([
        "not-found",
        "already-exists",
        "not-a-file",
        "not-a-directory",
        "directory-not-empty",
        "outside-workspace",
        "invalid-path",
        "invalid-argument",
        "unknown-tool",
        "unknown-dialect",
        "binary-file",
        "encoding-loss",
        "no-match",
        "ambiguous-match",
        "patch-invalid",
        "patch-rejected",
        "changed-since-read",
        "read-only",
        "denied",
        "approval-required",
        "too-large",
        "limit-exceeded",
        "no-space",
        "permission-denied",
        "cancelled",
        "backend-gone",
        "io",
    ]),
    "entry-kind": frozenset(["file", "directory", "link", "other"]),
    "letter-case": frozenset(["sensitive", "insensitive", "smart"]),
    "change-kind": frozenset(["created", "modified", "deleted", "moved"]),
    "read-mode": frozenset(["lines", "indentation", "raw", "base64"]),
    "patch-action": frozenset(["add", "update", "move", "delete"]),
    "list-sort": frozenset(["name", "size", "modified"]),
    "path-sort": frozenset(["path", "modified"]),
    "grep-output": frozenset(["content", "files", "count"]),
}

RECORDS: dict[str, tuple[type | None, tuple[tuple[str, Shape], ...]]] = {
    "skipped": (Skipped, (
        ("ignored", "u64"),
        ("hidden", "u64"),
        ("denied", "u64"),
        ("unreadable", "u64"),
        ("unnamed", "u64"),
        ("links", "u64"),
        ("special", "u64"),
        ("binary", "u64"),
        ("too-large", "u64"),
        ("long-lines", "u64"),
    )),
    "change": (Change, (
        ("kind", "change-kind"),
        ("path", "string"),
        ("to", ("option", "string")),
        ("size", ("option", "u64")),
    )),
    "plan": (Plan, (("digest", "string"), ("summary", "string"), ("paths", ("list", "string")),)),
    "read-args": (None, (
        ("path", "string"),
        ("offset", "u64"),
        ("limit", ("option", "u64")),
        ("tail", ("option", "u64")),
        ("mode", "read-mode"),
        ("anchor-line", ("option", "u64")),
        ("max-levels", "u32"),
        ("include-siblings", "bool"),
        ("include-header", "bool"),
        ("encoding", ("option", "string")),
        ("if-none-match", ("option", "string")),
    )),
    "read-result": (ReadResult, (
        ("path", "string"),
        ("content", "string"),
        ("start-line", "u64"),
        ("end-line", "u64"),
        ("total-lines", ("option", "u64")),
        ("next-offset", ("option", "u64")),
        ("truncated", "bool"),
        ("encoding", "string"),
        ("bom", "bool"),
        ("line-ending", "string"),
        ("size", "u64"),
        ("modified", ("option", "string")),
        ("etag", ("option", "string")),
        ("mime", "string"),
        ("unchanged", "bool"),
        ("diff", ("option", "string")),
    )),
    "file-range": (FileRange, (("path", "string"), ("offset", "u64"), ("limit", ("option", "u64")),)),
    "read-many-args": (None, (("files", ("list", "file-range")), ("glob", ("option", "string")),)),
    "read-many-entry": (ReadManyEntry, (("path", "string"), ("outcome", ("result", "read-result")),)),
    "read-many-result": (ReadManyResult, (
        ("entries", ("list", "read-many-entry")),
        ("truncated", "bool"),
        ("remaining", ("list", "string")),
    )),
    "write-args": (None, (
        ("path", "string"),
        ("content", "string"),
        ("create-only", "bool"),
        ("append", "bool"),
        ("encoding", ("option", "string")),
        ("if-match", ("option", "string")),
    )),
    "write-result": (WriteResult, (
        ("path", "string"),
        ("bytes-written", "u64"),
        ("created", "bool"),
        ("etag", ("option", "string")),
        ("backup", ("option", "string")),
        ("notes", ("list", "string")),
    )),
    "replacement": (Replacement, (("old-text", "string"), ("new-text", "string"), ("replace-all", "bool"),)),
    "edit-args": (None, (
        ("path", "string"),
        ("edits", ("list", "replacement")),
        ("if-match", ("option", "string")),
        ("dry-run", "bool"),
    )),
    "line-range": (LineRange, (("start", "u64"), ("end", "u64"),)),
    "edit-result": (EditResult, (
        ("path", "string"),
        ("edits-applied", "u64"),
        ("diff", "string"),
        ("etag", "string"),
        ("lines", ("list", "line-range")),
        ("backup", ("option", "string")),
        ("notes", ("list", "string")),
    )),
    "apply-patch-args": (None, (("patch", "string"), ("dry-run", "bool"),)),
    "patched-file": (PatchedFile, (
        ("path", "string"),
        ("action", "patch-action"),
        ("moved-from", ("option", "string")),
        ("lines-added", "u64"),
        ("lines-removed", "u64"),
        ("etag", ("option", "string")),
    )),
    "apply-patch-result": (ApplyPatchResult, (
        ("files", ("list", "patched-file")),
        ("backup", ("option", "string")),
        ("notes", ("list", "string")),
    )),
    "replace-args": (None, (
        ("pattern", "string"),
        ("replacement", "string"),
        ("path", "string"),
        ("glob", ("option", "string")),
        ("fixed", "bool"),
        ("letter-case", "letter-case"),
        ("multiline", "bool"),
        ("include-hidden", "bool"),
        ("include-ignored", "bool"),
        ("plan", ("option", "string")),
    )),
    "replaced-file": (ReplacedFile, (("path", "string"), ("replacements", "u64"), ("etag", "string"),)),
    "replace-result": (ReplaceResult, (
        ("files", ("list", "replaced-file")),
        ("total-files", "u64"),
        ("total-replacements", "u64"),
        ("diff", "string"),
        ("plan", ("option", "string")),
        ("applied", "bool"),
        ("files-searched", "u64"),
        ("unchangeable", "u64"),
        ("skipped", "skipped"),
        ("truncated", "bool"),
        ("backup", ("option", "string")),
        ("notes", ("list", "string")),
    )),
    "make-directory-args": (None, (("path", "string"), ("parents", "bool"),)),
    "make-directory-result": (MakeDirectoryResult, (
        ("path", "string"),
        ("created", "bool"),
        ("backup", ("option", "string")),
    )),
    "transfer-args": (None, (
        ("source", "string"),
        ("destination", "string"),
        ("overwrite", "bool"),
        ("recursive", "bool"),
    )),
    "transfer-result": (TransferResult, (
        ("source", "string"),
        ("destination", "string"),
        ("files", "u64"),
        ("bytes", "u64"),
        ("backup", ("option", "string")),
        ("notes", ("list", "string")),
    )),
    "delete-args": (None, (("path", "string"), ("recursive", "bool"),)),
    "delete-result": (DeleteResult, (
        ("path", "string"),
        ("entries-deleted", "u64"),
        ("backup", ("option", "string")),
        ("notes", ("list", "string")),
    )),
    "stat-args": (None, (("path", "string"), ("checksum", "bool"), ("brief", "bool"),)),
    "stat-result": (StatResult, (
        ("path", "string"),
        ("kind", "entry-kind"),
        ("size", ("option", "u64")),
        ("modified", ("option", "string")),
        ("accessed", ("option", "string")),
        ("changed", ("option", "string")),
        ("hard-links", "u64"),
        ("lines", ("option", "u64")),
        ("encoding", ("option", "string")),
        ("mime", ("option", "string")),
        ("link-target", ("option", "string")),
        ("etag", ("option", "string")),
        ("sha256", ("option", "string")),
    )),
    "restore-args": (None, (("path", ("option", "string")), ("backup", ("option", "string")), ("overwrite", "bool"),)),
    "restore-result": (RestoreResult, (
        ("undone", "string"),
        ("restored", ("list", "string")),
        ("backup", ("option", "string")),
        ("notes", ("list", "string")),
    )),
    "history-args": (None, (("limit", "u32"),)),
    "history-entry": (HistoryEntry, (
        ("backup", "string"),
        ("time", "string"),
        ("verb", "string"),
        ("paths", ("list", "string")),
        ("size", "u64"),
    )),
    "history-result": (HistoryResult, (("entries", ("list", "history-entry")), ("truncated", "bool"),)),
    "pack-args": (None, (("sources", ("list", "string")), ("destination", "string"), ("overwrite", "bool"),)),
    "pack-result": (PackResult, (
        ("path", "string"),
        ("entries", "u64"),
        ("files", "u64"),
        ("bytes", "u64"),
        ("size", "u64"),
        ("etag", "string"),
        ("backup", ("option", "string")),
        ("notes", ("list", "string")),
    )),
    "unpack-args": (None, (("source", "string"), ("destination", "string"), ("overwrite", "bool"),)),
    "unpack-result": (UnpackResult, (
        ("destination", "string"),
        ("entries", "u64"),
        ("files", "u64"),
        ("bytes", "u64"),
        ("backup", ("option", "string")),
        ("notes", ("list", "string")),
    )),
    "list-args": (None, (
        ("path", "string"),
        ("depth", "u32"),
        ("pattern", ("option", "string")),
        ("include-hidden", "bool"),
        ("include-ignored", "bool"),
        ("sort", "list-sort"),
        ("limit", "u32"),
        ("cursor", ("option", "string")),
    )),
    "entry": (Entry, (
        ("path", "string"),
        ("kind", "entry-kind"),
        ("size", ("option", "u64")),
        ("modified", ("option", "string")),
    )),
    "list-result": (ListResult, (
        ("path", "string"),
        ("entries", ("list", "entry")),
        ("total-files", ("option", "u64")),
        ("total-directories", ("option", "u64")),
        ("total-size", ("option", "u64")),
        ("skipped", "skipped"),
        ("truncated", "bool"),
        ("next-cursor", ("option", "string")),
    )),
    "tree-args": (None, (
        ("path", "string"),
        ("depth", "u32"),
        ("limit", "u32"),
        ("include-hidden", "bool"),
        ("include-ignored", "bool"),
    )),
    "tree-result": (TreeResult, (
        ("path", "string"),
        ("tree", "string"),
        ("files", "u64"),
        ("directories", "u64"),
        ("skipped", "skipped"),
        ("truncated", "bool"),
    )),
    "glob-args": (None, (
        ("pattern", "string"),
        ("path", "string"),
        ("exclude", ("list", "string")),
        ("directories", "bool"),
        ("include-hidden", "bool"),
        ("include-ignored", "bool"),
        ("sort", "path-sort"),
        ("limit", "u32"),
        ("cursor", ("option", "string")),
    )),
    "glob-result": (GlobResult, (
        ("paths", ("list", "string")),
        ("skipped", "skipped"),
        ("truncated", "bool"),
        ("next-cursor", ("option", "string")),
    )),
    "grep-args": (None, (
        ("pattern", "string"),
        ("path", "string"),
        ("glob", ("option", "string")),
        ("fixed", "bool"),
        ("letter-case", "letter-case"),
        ("multiline", "bool"),
        ("before", "u32"),
        ("after", "u32"),
        ("output", "grep-output"),
        ("limit", "u32"),
        ("max-per-file", ("option", "u32")),
        ("include-hidden", "bool"),
        ("include-ignored", "bool"),
        ("cursor", ("option", "string")),
    )),
    "context-line": (ContextLine, (("line", "u64"), ("text", "string"),)),
    "grep-match": (GrepMatch, (
        ("path", "string"),
        ("line", "u64"),
        ("text", "string"),
        ("text-start", "u64"),
        ("match-start", "u64"),
        ("match-end", "u64"),
        ("before", ("list", "context-line")),
        ("after", ("list", "context-line")),
    )),
    "file-count": (FileCount, (("path", "string"), ("count", ("option", "u64")),)),
    "grep-result": (GrepResult, (
        ("matches", ("list", "grep-match")),
        ("files", ("list", "file-count")),
        ("files-searched", "u64"),
        ("bytes-searched", "u64"),
        ("skipped", "skipped"),
        ("truncated", "bool"),
        ("next-cursor", ("option", "string")),
    )),
    "changes-args": (None, (
        ("since", ("option", "string")),
        ("path", "string"),
        ("include-hidden", "bool"),
        ("include-ignored", "bool"),
        ("limit", "u32"),
    )),
    "changes-result": (ChangesResult, (
        ("token", "string"),
        ("created", ("list", "string")),
        ("modified", ("list", "string")),
        ("deleted", ("list", "string")),
        ("total", "u64"),
        ("watched", "u64"),
        ("skipped", "skipped"),
        ("truncated", "bool"),
    )),
    "annotations": (Annotations, (
        ("title", "string"),
        ("read-only", "bool"),
        ("destructive", "bool"),
        ("idempotent", "bool"),
    )),
    "tool": (Tool, (
        ("name", "string"),
        ("description", "string"),
        ("input-schema", "string"),
        ("output-schema", "string"),
        ("annotations", "annotations"),
    )),
}
"""Each record with its class, if Python has one, and its fields by WIT's names."""
