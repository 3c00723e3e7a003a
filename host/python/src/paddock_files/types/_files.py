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
    """The text, with lines joined by LF; with `raw` as in the file; with `base64` Base64."""
    start_line: int
    """First line returned; 0 if no line is returned. With `base64`, the first byte."""
    end_line: int
    """Last line returned; 0 if no line is returned. With `base64`, the last byte."""
    total_lines: int | None
    """Number of lines of the file; none over the whole-file limit."""
    next_offset: int | None
    """The `offset` that continues; none at the end of the file."""
    truncated: bool
    """Whether a limit left out lines, or cut a long line."""
    encoding: str
    """WHATWG name of the encoding that was used; `binary` with `base64`."""
    bom: bool
    """Whether the file starts with a byte order mark, which is not in `content`."""
    line_ending: str
    """Line ending of the part that was read: `lf`, `crlf`, `cr`, `mixed` or `none`."""
    size: int
    """Size of the file in bytes."""
    modified: str | None
    """Time of the last change of the content."""
    etag: str | None
    """First 16 hexadecimal digits of the SHA-256 of the file's bytes; none over the whole-file limit."""
    mime: str
    """Media type, from content and name."""
    unchanged: bool
    """Whether the file still has the etag `if_none_match`; `content` is then empty."""
    diff: str | None
    """Unified diff of the whole file against the version with the etag `if_none_match`. `content` is then empty, and no
    line is returned. None if `content` has the text.
    """


@dataclass(frozen=True)
class FileRange:
    """One file of `read_many`, with the lines to read."""

    path: str
    """The file."""
    offset: int = 1
    """First line, 1-based."""
    limit: int | None = None
    """Maximum number of lines."""


@dataclass(frozen=True)
class ReadManyEntry:
    """One entry of `read_many`."""

    path: str
    """The path as the caller passed it, or as the glob found it."""
    outcome: ReadResult | ToolError
    """The content, or the failure; the failure of one file does not end the call."""


@dataclass(frozen=True)
class ReadManyResult:
    """Result of `read_many`."""

    entries: list[ReadManyEntry]
    """One entry for each file, in the requested order."""
    truncated: bool
    """Whether the text limit or the file limit ended the call early."""
    remaining: list[str]
    """Paths that were left out, for another call."""
    skipped: Skipped
    """Entries that the search for `glob` left out."""


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
    """New etag; none over the whole-file limit."""
    backup: str | None
    """The backup with which `restore` undoes the change; none if nothing changed or backups are off."""
    notes: list[str]
    """Notes for the caller, such as a hard link that was broken."""


@dataclass(frozen=True)
class Replacement:
    """One replacement."""

    old_text: str
    """Text to find in the file. LF matches the line endings of the file. If the text does not occur, spaces, quotes and
    dashes of Unicode match similar ASCII characters, at a place that must be the only one. Parts that the old and the
    new text have in common keep the characters of the file, and `notes` reports the edit.
    """
    new_text: str
    """Text that replaces it; LF becomes the line ending of the file."""
    replace_all: bool = False
    """Replace every occurrence. If false, there must be exactly one. Default: false."""


@dataclass(frozen=True)
class LineRange:
    """Lines of the new file that an edit changed."""

    start: int
    """First line."""
    end: int
    """Last line; `start` minus 1 if the edit only removed lines."""


@dataclass(frozen=True)
class EditResult:
    """Result of `edit`."""

    path: str
    """The file, relative to the workspace."""
    edits_applied: int
    """Number of occurrences replaced."""
    diff: str
    """Unified diff of the change."""
    etag: str
    """New etag; with `dry_run`, the etag that the file would have."""
    lines: list[LineRange]
    """Changed lines, in order."""
    backup: str | None
    """The backup with which `restore` undoes the change; none if nothing changed or backups are off."""
    notes: list[str]
    """Notes for the caller, such as an edit that did not match exactly, or a hard link that was broken."""


@dataclass(frozen=True)
class PatchedFile:
    """One file of a patch."""

    path: str
    """The file, relative to the workspace; for a move the new path."""
    action: PatchAction
    """Action of the patch on the file."""
    moved_from: str | None
    """Path before a move."""
    lines_added: int
    """Lines added."""
    lines_removed: int
    """Lines removed."""
    etag: str | None
    """New etag; none for a deletion."""


@dataclass(frozen=True)
class ApplyPatchResult:
    """Result of `apply_patch`."""

    files: list[PatchedFile]
    """One entry for each file, in the order of the patch."""
    backup: str | None
    """The backup with which `restore` undoes the change; none if nothing changed or backups are off."""
    notes: list[str]
    """Notes for the caller, such as a hard link that was broken, or a mode that WASI cannot set."""


@dataclass(frozen=True)
class ReplacedFile:
    """One file with replacements."""

    path: str
    """The file, relative to the workspace."""
    replacements: int
    """Number of matches replaced."""
    etag: str
    """New etag; without `plan`, the etag that the file would have."""


@dataclass(frozen=True)
class ReplacedLine:
    """A line that changes. Matches on one line that are close to each other are one entry, and so are the lines of a
    match across lines.
    """

    path: str
    """The file, relative to the workspace."""
    line: int
    """Number of the line, or of the first one."""
    old: str
    """The line as it is, without its line ending. `…` stands for what is cut: the matches after 500 bytes, and of a
    line that continues for more than 500 bytes on one side of them, all but 100 bytes of that side.
    """
    new: str
    """The line as it would be, cut in the same way."""
    replacements: int
    """Number of matches in it."""


@dataclass(frozen=True)
class ReplaceResult:
    """Result of `replace`."""

    files: list[ReplacedFile]
    """Files that change, in walk order: those of `lines`; once the change is made, the first 100."""
    total_files: int
    """Number of files that change."""
    total_replacements: int
    """Number of matches replaced in all files."""
    lines: list[ReplacedLine]
    """One page of the lines that would change, in the order of the files. Empty once the change is made."""
    plan: str | None
    """Plan to pass as `plan`, with the same arguments, to make the change. It is bound to the arguments and to path and
    content of every file that changes. None if nothing would change, and once the change is made.
    """
    next_cursor: str | None
    """Value to pass as `cursor`, with the same arguments, for the next page of `lines`. It is invalid once the plan is.
    """
    applied: bool
    """Whether the change was made."""
    files_searched: int
    """Number of files searched."""
    unchangeable: int
    """Number of files with matches that are not changed, because they are read-only or protected, or because their
    encoding cannot hold the result without loss; `notes` names the first 10.
    """
    skipped: Skipped
    """Entries that the search left out."""
    truncated: bool
    """Whether more lines follow or, once the change is made, `files` is incomplete."""
    backup: str | None
    """The backup with which `restore` undoes the change; none if nothing changed or backups are off."""
    notes: list[str]
    """Notes for the caller, such as a file that is left out or not changed, or a hard link that was broken."""


@dataclass(frozen=True)
class MakeDirectoryResult:
    """Result of `make_directory`."""

    path: str
    """The directory, relative to the workspace."""
    created: bool
    """Whether the call created the directory."""
    backup: str | None
    """The backup with which `restore` undoes the change; none if nothing changed or backups are off."""


@dataclass(frozen=True)
class TransferResult:
    """Result of `copy` and `move_entry`."""

    source: str
    """The path that was copied or moved, relative to the workspace."""
    destination: str
    """The new path, relative to the workspace."""
    files: int
    """Number of files and links copied or moved."""
    bytes: int
    """Size of these files, in bytes."""
    backup: str | None
    """The backup with which `restore` undoes the change; none if nothing changed or backups are off."""
    notes: list[str]
    """Notes for the caller."""


@dataclass(frozen=True)
class DeleteResult:
    """Result of `delete`."""

    path: str
    """The path that was deleted, relative to the workspace."""
    entries_deleted: int
    """Number of files, links and directories deleted."""
    backup: str | None
    """The backup with which `restore` undoes the change; none if nothing changed or backups are off."""
    notes: list[str]
    """Notes for the caller, such as that no backup could be stored."""


@dataclass(frozen=True)
class StatResult:
    """Result of `stat`."""

    path: str
    """The path, relative to the workspace."""
    kind: EntryKind
    """Kind of the entry."""
    size: int | None
    """Size in bytes, for a regular file."""
    modified: str | None
    """Time of the last change of the content."""
    accessed: str | None
    """Time of the last read, if the file system stores it."""
    changed: str | None
    """Time of the last change of the entry's status."""
    hard_links: int
    """Number of hard links."""
    lines: int | None
    """Number of lines, for text up to the whole-file limit."""
    encoding: str | None
    """Encoding, for text."""
    mime: str | None
    """Media type, for a regular file."""
    link_target: str | None
    """Target of a symbolic link, as the link contains it, if it stays inside the workspace."""
    etag: str | None
    """First 16 hexadecimal digits of the SHA-256; none over the whole-file limit."""
    sha256: str | None
    """SHA-256 of the file's bytes in hexadecimal, if `checksum` requested it."""


@dataclass(frozen=True)
class RestoreResult:
    """Result of `restore`."""

    undone: str
    """The backup whose changes were undone; with `last`, that of the last call."""
    also_undone: list[str]
    """The backups of the further calls that were undone, latest first."""
    restored: list[str]
    """The paths whose changes were undone."""
    backup: str | None
    """The backup with which `restore` undoes this undo; none if nothing changed."""
    notes: list[str]
    """Paths that were not restored, with the reason."""


@dataclass(frozen=True)
class HistoryEntry:
    """One backup: the changes of one call."""

    backup: str
    """The backup, for `restore`."""
    time: str
    """Time of the call."""
    operation: str
    """Operation of the call: `write`, `edit`, `patch`, `delete` and so on."""
    paths: list[str]
    """Paths that the call changed. A path that `.agentignore` hides is replaced by a text that says so."""
    size: int
    """Size of the old contents, in bytes."""


@dataclass(frozen=True)
class HistoryResult:
    """Result of `history`."""

    entries: list[HistoryEntry]
    """The backups, newest first."""
    truncated: bool
    """Whether there are more than `limit` backups."""


@dataclass(frozen=True)
class PackResult:
    """Result of `pack`."""

    path: str
    """The archive, relative to the workspace."""
    entries: int
    """Number of files and directories in the archive."""
    files: int
    """Number of files in the archive."""
    bytes: int
    """Size of these files, in bytes."""
    size: int
    """Size of the archive in bytes."""
    etag: str
    """Etag of the archive."""
    backup: str | None
    """The backup with which `restore` undoes the change; none if nothing changed or backups are off."""
    notes: list[str]
    """Entries that were left out: each reason with the number of entries."""


@dataclass(frozen=True)
class UnpackResult:
    """Result of `unpack`."""

    destination: str
    """The directory, relative to the workspace."""
    entries: int
    """Number of files and directories in the archive."""
    files: int
    """Number of files in the archive, including files that already existed with the same content."""
    bytes: int
    """Size of these files, in bytes."""
    backup: str | None
    """The backup with which `restore` undoes the change; none if nothing changed or backups are off."""
    notes: list[str]
    """Notes for the caller, such as a hard link that was broken, or modes that WASI cannot set."""
