"""Where paths lead."""

from __future__ import annotations

import os
from collections import deque
from typing import NamedTuple

MAX_LINKS = 40
"""Links that one path may go through, as on Linux."""


class Trail(NamedTuple):
    """Where a path leads, as far as it exists."""

    links: list[str]
    """The links on the way: where each of them is."""
    end: str
    """The path without links."""


def trail(path: str | os.PathLike[str]) -> Trail:
    """Follows `path` name by name."""
    links: list[str] = []
    end = "/"
    ahead = deque(names(os.path.join(os.getcwd(), path)))
    while ahead:
        name = ahead.popleft()
        if name == "..":
            end = os.path.dirname(end)
            continue
        step = os.path.join(end, name)
        try:
            target = os.readlink(step) if len(links) < MAX_LINKS else None
        except OSError:
            target = None
        if target is None:
            end = step
            continue
        links.append(step)
        ahead.extendleft(reversed(names(target)))
        if os.path.isabs(target):
            end = "/"
    return Trail(links, end)


def names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def is_below(path: str, directory: str) -> bool:
    """Whether a path is a directory's, or that of something in it. Both are absolute and without links."""
    return directory == "/" or path == directory or path.startswith(directory + "/")
