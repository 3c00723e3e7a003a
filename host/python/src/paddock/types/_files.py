"""The records of the interface `files`, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._enums import EntryKind, PatchAction
from ._shared import Skipped

if TYPE_CHECKING:
    from ..errors import ToolError


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
