"""The state directory, which holds journals outside the workspace, and its lock."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import threading
import time
from pathlib import Path

from ._budget import CallBudget
from ._directory import Directory
from ._resolve import ResolvedPath
from .errors import ToolError

RETRY_S = 0.005
"""Interval at which a held lock is tried again."""


def parent() -> Path | None:
    """Returns the directory of all state directories."""
    if (configured := absolute("PADDOCK_STATE_DIR")) is not None:
        return configured
    if (state := absolute("XDG_STATE_HOME")) is not None:
        return state / "paddock"
    return below_home(".local/state/paddock")


def absolute(name: str) -> Path | None:
    """Returns the directory that an environment variable names, if it is an absolute path."""
    path = Path(os.environ.get(name, ""))
    return path if path.is_absolute() else None


def below_home(path: str) -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / path if home.is_absolute() else None


def of_workspace(root: str) -> Path | None:
    """Returns the state directory of the workspace at the real path `root`. It is the same in every host."""
    above = parent()
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return None if above is None else above / name


class StateDir:
    """The state directory of one workspace, created at the first change.

    Until then, the deepest existing directory on its path is held, and the names below it must not be links. Once the
    state directory exists, it is held itself.
    """

    def __init__(self, resolved: ResolvedPath) -> None:
        self.path = resolved.location.path
        self._above = resolved.location.directory
        self._names = resolved.location.names
        self._is_usable = resolved.failure is None or resolved.failure.errno == errno.ENOENT
        self._held = self._above if resolved.failure is None else None
        self._lock = threading.Lock()

    def directory(self, *, create: bool) -> Directory | None:
        """Returns the directory if it exists. If it cannot be created, calls have no state directory.

        Raises `ToolError` if the directory was deleted, or another entry has its name.
        """
        if not self._is_usable:
            return None
        with self._lock:
            if (self._held or self._above).is_deleted():
                raise gone("was deleted")
            if self._held is None:
                self._held = self._find(create)
            return self._held

    def _find(self, create: bool) -> Directory | None:
        directory = self._above
        for name in self._names:
            try:
                if create:
                    os.mkdir(name, 0o700, dir_fd=directory.descriptor)
            except FileExistsError:
                pass
            except FileNotFoundError:
                raise gone("was deleted") from None
            except OSError:
                return None
            try:
                directory = directory.child(name)
            except FileNotFoundError:
                if create:
                    raise gone("was deleted") from None
                return None
            except OSError:
                raise gone("cannot be made: something else has its name, or that of a directory above it") from None
        return directory


def has_journal(directory: Directory) -> bool:
    """Returns whether an interrupted call left a journal or an overlay commit for the next call to finish or undo."""
    # The held descriptor can reach names and cannot list them.
    listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory.descriptor)
    try:
        names = os.listdir(listed)
    finally:
        os.close(listed)
    return any(name.startswith(("journal", "commit")) and not name.endswith(".refused") for name in names)


def lock(directory: Directory, budget: CallBudget) -> Lock:
    """Locks the workspace of that state directory, and waits while another call changes it."""
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open("lock", flags, 0o600, dir_fd=directory.descriptor)
    except OSError as cause:
        raise failed(cause) from None
    lock = Lock(descriptor)
    try:
        while not lock.acquire():
            if budget.remaining_s() <= 0:
                message = "another process is changing this workspace"
                hint = "call again when it has finished; nothing was changed"
                raise ToolError("limit-exceeded", message, hint=hint)
            time.sleep(RETRY_S)
        # A process that has since created the directory again holds the lock of the new one.
        if directory.is_deleted():
            raise gone("was deleted")
    except BaseException:
        lock.release()
        raise
    return lock


class Lock:
    """The right to change a workspace, until it is released."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def acquire(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as cause:
            raise failed(cause) from None
        return True

    def release(self) -> None:
        os.close(self._descriptor)


def failed(cause: OSError) -> ToolError:
    hint = "the person who runs this has to check the state directory"
    return ToolError("io", f"cannot lock the workspace: {cause.strerror}", hint=hint)


def gone(cause: str) -> ToolError:
    hint = "the person who runs this has to open the workspace again"
    return ToolError("backend-gone", f"the state directory {cause}", hint=hint)


def config_directory() -> Path | None:
    """Returns the directory of the user's own policy, which is closed to tools."""
    config = absolute("XDG_CONFIG_HOME")
    return below_home(".config/paddock") if config is None else config / "paddock"
