"""The records of more than one interface, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from dataclasses import dataclass

from ._enums import ChangeKind


@dataclass(frozen=True)
class Skipped:
    """Number of entries that a call left out, by reason."""

    ignored: int
    """Entries that `.gitignore` or `.ignore` rules exclude; `include_ignored` includes them."""
    hidden: int
    """Entries whose name starts with a dot; `include_hidden` includes them."""
    denied: int
    """Entries that `.agentignore` hides from every tool."""
    unreadable: int
    """Entries that the file system did not permit to read."""
    too_deep: int
    """Directories below the policy's maximum depth, which were not listed."""
    unnamed: int
    """Entries whose name is not UTF-8."""
    links: int
    """Symbolic links, which a walk never follows."""
    special: int
    """FIFOs, sockets and devices."""
    binary: int
    """Files that are not text."""
    too_large: int
    """Files over the whole-file limit, which the call would have to hold in memory."""
    long_lines: int
    """Lines over 16 MiB. They are searched in parts, so a match across two parts is not found."""


@dataclass(frozen=True)
class Change:
    """One change that a call made."""

    kind: ChangeKind
    """Kind of the change."""
    path: str
    """The path, relative to the workspace. For `moved`, the old path."""
    to: str | None
    """The new path, for `moved`."""
    size: int | None
    """Size after the change in bytes, if a file is at the path then."""


@dataclass(frozen=True)
class Plan:
    """Description of a change that a person has to approve."""

    digest: str
    """SHA-256, in hexadecimal, of the call with all its arguments, of the present state of every path that it would
    change, and of the whole text of which `summary` has the start.
    """
    summary: str
    r"""The planned change as lines of text; the first line is a short description. After the paths comes the change of
    each file, as a unified diff: the lines of a file start with a space, `+` or `-`. Of lines with more than 1,000
    bytes, it has the part that changes, and a line that starts with `\` gives the number of bytes around it. A file
    that is not text is described by its size and SHA-256. Names are escaped, and the text of a change is not. The
    summary has at most 256 KiB; if the text is longer, a last line gives the number of lines and bytes that are left
    out, and the SHA-256 of the whole text.
    """
    omitted_bytes: int
    """Number of bytes at the end of the text that `summary` leaves out; 0 if it is whole."""
    paths: list[str]
    """Paths that would change."""
