"""The records of the interface `search`, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from dataclasses import dataclass

from ._enums import EntryKind
from ._shared import Skipped


@dataclass(frozen=True)
class Entry:
    """One entry of a listing."""

    path: str
    """Path relative to the workspace."""
    kind: EntryKind
    """Kind of the entry."""
    size: int | None
    """Size in bytes, for a regular file."""
    modified: str | None
    """Time of the last change of the content."""


@dataclass(frozen=True)
class ListResult:
    """Result of `list`."""

    path: str
    """The directory, relative to the workspace."""
    entries: list[Entry]
    """The entries of this page."""
    total_files: int | None
    """Number of files in the whole listing, on every page; none if the walk stopped at a limit."""
    total_directories: int | None
    """Number of directories in the whole listing."""
    total_size: int | None
    """Size of all its files, in bytes."""
    skipped: Skipped
    """Entries that were left out."""
    truncated: bool
    """Whether more entries follow."""
    next_cursor: str | None
    """Value to pass as `cursor` for the next page."""


@dataclass(frozen=True)
class TreeResult:
    """Result of `tree`."""

    path: str
    """The directory, relative to the workspace."""
    tree: str
    """The tree as nested JSON: `{name, kind, size?, children?}`; WIT has no recursive types."""
    files: int
    """Number of files in the tree."""
    directories: int
    """Number of directories in the tree, without the first one."""
    skipped: Skipped
    """Entries that were left out."""
    truncated: bool
    """Whether the limit left out entries."""


@dataclass(frozen=True)
class GlobResult:
    """Result of `glob`."""

    paths: list[str]
    """Paths of files, and of directories if `directories` is set, relative to the workspace."""
    skipped: Skipped
    """Entries that were left out."""
    truncated: bool
    """Whether more paths follow."""
    next_cursor: str | None
    """Value to pass as `cursor` for the next page."""
    notes: list[str]
    """If nothing was found: parts of the glob that may have been meant differently."""


@dataclass(frozen=True)
class ContextLine:
    """A line of context."""

    line: int
    """Line number."""
    text: str
    """Text of the line, cut at the line limit and then marked."""


@dataclass(frozen=True)
class GrepMatch:
    """One matching line; with `multiline`, one match."""

    path: str
    """The file, relative to the workspace."""
    line: int
    """The line on which the match starts."""
    text: str
    """Text of the line, or of all lines of a multi-line match, without the last line ending, cut around the match at
    the line limit. If the end is cut, a mark replaces it; if the start is cut, `text_start` is not 0.
    """
    text_start: int
    """Byte offset of `text` in the line, in UTF-8; 0 unless the start of a long line was cut off."""
    match_start: int
    """Byte offset of the start of the first match in the line, in UTF-8."""
    match_end: int
    """Byte offset of the end of the first match."""
    before: list[ContextLine]
    """Context lines before the match that are not part of an earlier match."""
    after: list[ContextLine]
    """Context lines after the match, up to the next match."""


@dataclass(frozen=True)
class FileCount:
    """A file with matches."""

    path: str
    """The file, relative to the workspace."""
    count: int | None
    """Number of matching lines, or with `multiline` of matches; at least 1. None for `grep-output::files`, which stops
    at the first match.
    """


@dataclass(frozen=True)
class GrepResult:
    """Result of `grep`."""

    matches: list[GrepMatch]
    """The matches, for `grep-output::content`."""
    files: list[FileCount]
    """The files, for `grep-output::files` and `grep-output::count`."""
    files_searched: int
    """Number of files searched for this page."""
    bytes_searched: int
    """Number of bytes searched for this page."""
    skipped: Skipped
    """Entries that were left out."""
    truncated: bool
    """Whether more matches follow."""
    next_cursor: str | None
    """Value to pass as `cursor` for the next page."""
    notes: list[str]
    """If nothing was found: parts of the pattern or glob that may have been meant differently, and the line that
    differs only in letter case or in the kind of its spaces, quotes and dashes.
    """


@dataclass(frozen=True)
class ChangesResult:
    """Result of `changes`. Paths are relative to the workspace and in walk order."""

    token: str
    """Value to pass as `since`, with the same other arguments, to list later changes."""
    created: list[str]
    """Files and links that did not exist."""
    modified: list[str]
    """Files with different content, and links with a different target."""
    deleted: list[str]
    """Files and links that no longer exist."""
    total: int
    """Number of changes, returned or not."""
    watched: int
    """Number of files and links that the token represents."""
    skipped: Skipped
    """Entries that were left out."""
    truncated: bool
    """Whether `limit` left out changes; the same `since` with a higher limit returns them."""
