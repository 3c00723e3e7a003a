"""Directories that are opened once and held by descriptor."""

from __future__ import annotations

import os
from collections.abc import Callable

MAGIC_LINKS = "/proc/self/fd"
"""Directory in which Linux has this process's descriptors as links to the open files, whatever their names are."""
SEARCH: int = getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))
"""Flags that open a directory for reaching its entries, without the right to list it if the system has `O_PATH`."""

Identity = tuple[int, int]
"""The device and inode of a directory, which no other directory has while the directory is held open."""


class Gone(Exception):
    """A held directory can no longer be reached. The message is the cause."""


def identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


class Directory:
    """An open directory. Its descriptor is closed with the last reference, so that no running call can lose it."""

    __slots__ = ("descriptor", "identity")

    def __init__(self, descriptor: int) -> None:
        """Takes over the descriptor."""
        self.descriptor = descriptor
        self.identity = identity(os.fstat(descriptor))

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self.descriptor)

    @classmethod
    def top(cls) -> Directory:
        """Opens `/`."""
        return cls(os.open("/", SEARCH | os.O_DIRECTORY | os.O_CLOEXEC))

    def child(self, name: str) -> Directory:
        """Opens the directory of that name in this one. Fails for a link."""
        flags = SEARCH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        return Directory(os.open(name, flags, dir_fd=self.descriptor))

    def has(self, name: str) -> bool:
        """Returns whether an entry of that name exists in this directory, including a broken link."""
        try:
            os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return False
        return True

    def is_deleted(self) -> bool:
        try:
            return os.fstat(self.descriptor).st_nlink == 0
        except OSError:
            # A network file system reports this if another machine has deleted the directory.
            return True

    def current_path(self) -> str | None:
        """Returns the present path of the directory, if the system knows it. It can change at any time."""
        try:
            return os.readlink(f"{MAGIC_LINKS}/{self.descriptor}")
        except OSError:
            return None

    def path_to_open(self, known_path: str) -> str:
        """Returns a path for a library that opens directories by path alone.

        The path leads to this directory, or `Gone` is raised. On Linux it leads through the held descriptor. Elsewhere
        it is `known_path`, which led to this directory at the time of the call: if a process exchanges the directory
        before the library opens the path, the host does not notice.
        """
        if self.is_deleted():
            raise Gone("the directory was deleted")
        for path in (f"{MAGIC_LINKS}/{self.descriptor}", known_path):
            try:
                if identity(os.stat(path)) == self.identity:
                    return path
            except (OSError, ValueError):
                continue
        raise Gone("the directory is not at its path any more")
