"""The records of more than one interface, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from dataclasses import dataclass

from ._enums import ChangeKind


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
