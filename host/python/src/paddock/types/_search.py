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
