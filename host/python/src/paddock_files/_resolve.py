"""Resolves paths name by name, each name relative to the descriptor of the directory before it."""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, Union

from ._directory import SEARCH, Directory, Identity, identity

MAX_LINKS = 40
"""Links that one path may go through, as on Linux."""

ENDS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG)
"""Errors that mean that a path ends at a name. Others, such as too many open files, are not about the path."""


class Step(NamedTuple):
    """A directory on a path, and the name by which it was opened."""

    name: str
    directory: Directory


class Location(NamedTuple):
    """A resolved path: its directories from `/` on, none of them a link, and the names that follow."""

    steps: tuple[Step, ...]
    names: tuple[str, ...] = ()
    """Names below the last directory that are not directories which can be opened."""

    @property
    def directory(self) -> Directory:
        """The deepest directory."""
        return self.steps[-1].directory

    @property
    def directory_path(self) -> str:
        return "/" + "/".join(step.name for step in self.steps[1:])

    @property
    def path(self) -> str:
        """The whole path, without links."""
        return join(self.directory_path, self.names)

    def below(self, top: Identity) -> Iterator[tuple[str, ...]]:
        """Returns the names from a directory on the path to its end. A mount can put a directory on the path twice."""
        for index, step in enumerate(self.steps):
            if step.directory.identity == top:
                yield (*(below.name for below in self.steps[index + 1 :]), *self.names)

    def is_below(self, top: Identity) -> bool:
        """Returns whether a directory is on the path, or its end."""
        return any(step.directory.identity == top for step in self.steps)


class Failure(NamedTuple):
    """The reason why a path leads to no directory. An exception would hold descriptors by its traceback."""

    errno: int
    cause: str


class ResolvedPath(NamedTuple):
    """The result of following a path."""

    location: Location
    links: tuple[Location, ...]
    """The links on the path: the directory and the name of each."""
    failure: Failure | None
    """The reason why the path leads to no directory, if it does not."""


Ahead = deque[Union[str, Identity]]
"""The names still to be resolved, and between them directories that must be reached at that point."""


def resolve(path: str | os.PathLike[str]) -> ResolvedPath:
    """Follows `path` as far as it exists. Raises `OSError` if the system cannot tell."""
    ahead = start(os.fsdecode(path))
    steps, names, links = [Step("", Directory.top())], list[str](), list[Location]()
    failure: Failure | None = None
    while ahead:
        name = ahead.popleft()
        if not isinstance(name, str):
            if failure is None and steps[-1].directory.identity != name:
                failure = Failure(errno.ESTALE, "a link or the current directory leads elsewhere than its path")
        elif name == ".." and names:
            names.pop()
        elif name == "..":
            del steps[max(1, len(steps) - 1) :]
        elif names:
            names.append(name)
        else:
            above = steps[-1].directory
            try:
                steps.append(Step(name, above.child(name)))
                continue
            except OSError as cause:
                if cause.errno not in ENDS:
                    raise
                refused = Failure(cause.errno, os.strerror(cause.errno))
            target = link_target(above, name)
            if target is not None and len(links) == MAX_LINKS:
                target, refused = None, Failure(errno.ELOOP, os.strerror(errno.ELOOP))
            if target is None:
                names.append(name)
                failure = failure or refused
                continue
            links.append(Location(tuple(steps), (name,)))
            if target.startswith("/"):
                del steps[1:]
            ahead.extendleft(reversed([*names_of(target), *kernel_target(above, name)]))
    return ResolvedPath(Location(tuple(steps), tuple(names)), tuple(links), failure)


def start(path: str) -> Ahead:
    try:
        is_path = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_path = False
    if not is_path:
        raise OSError(errno.EINVAL, "no path can have these characters")
    if path.startswith("/"):
        return deque(names_of(path))
    return deque([*names_of(os.getcwd()), identity(os.stat(".")), *names_of(path)])


def link_target(above: Directory, name: str) -> str | None:
    """Returns the target of the link of that name, or None if it is not a link."""
    try:
        return os.readlink(name, dir_fd=above.descriptor)
    except OSError:
        return None


def kernel_target(above: Directory, name: str) -> list[Identity]:
    """Returns the directory that a link of procfs leads to.

    The text of such a link is a description. It can be valid in another namespace only, or can name a directory that
    was deleted and replaced by another one.
    """
    try:
        if os.stat("/proc").st_dev != above.identity[0]:
            return []
        descriptor = os.open(name, SEARCH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=above.descriptor)
    except OSError:
        return []
    return [Directory(descriptor).identity]


def names_of(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def join(path: str, names: tuple[str, ...]) -> str:
    return "/".join([path.rstrip("/"), *names]) or "/"
