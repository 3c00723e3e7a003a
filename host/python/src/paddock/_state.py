"""Where journals are kept, outside the workspace, and the lock beside them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from pathlib import Path

from ._control import Control
from .errors import ToolError

RETRY_S = 0.005
"""How often a held lock is tried again."""


def parent() -> Path | None:
    """Where the state directories of all workspaces are."""
    if (given := absolute("PADDOCK_STATE_DIR")) is not None:
        return given
    if (state := absolute("XDG_STATE_HOME")) is not None:
        return state / "paddock"
    return below_home(".local/state/paddock")


def absolute(name: str) -> Path | None:
    """The directory that an environment variable names, where that is an absolute path."""
    path = Path(os.environ.get(name, ""))
    return path if path.is_absolute() else None


def below_home(path: str) -> Path | None:
    try:
        return Path.home() / path
    except RuntimeError:
        return None


def of_workspace(root: str) -> StateDir | None:
    """The state directory of the workspace at the real path `root`, the same that every host takes."""
    above = parent()
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return None if above is None else StateDir(above / name)


class StateDir:
    """The state directory of one workspace; it is made when something is first changed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> bool:
        """Makes it, for its owner alone. Where it cannot be made, calls go without."""
        try:
            missing = [self.path, *self.path.parents]
            for directory in reversed([each for each in missing if not each.exists()]):
                directory.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            return False
        return self.exists()

    def exists(self) -> bool:
        return os.path.isdir(self.path)

    def has_journal(self) -> bool:
        """Whether a call left a journal, or an overlay was being taken over, which the next call finishes or undoes."""
        return any(os.path.exists(f"{self.path}/{name}") for name in ("journal", "commit"))

    def lock(self, control: Control) -> Lock:
        """Waits until no other call changes the workspace."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as cause:
            raise failed(cause) from None
        lock = Lock(descriptor)
        try:
            while not lock.acquire():
                if control.remaining_s() <= 0:
                    message = "another process is changing this workspace"
                    hint = "call again when it has finished; nothing was changed"
                    raise ToolError("limit-exceeded", message, hint=hint)
                time.sleep(RETRY_S)
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
    hint = "the person who runs this has to see to the state directory"
    return ToolError("io", f"cannot lock the workspace: {cause.strerror}", hint=hint)


def config_directory() -> Path | None:
    """Where a user's own policy is, which no tool sees."""
    config = absolute("XDG_CONFIG_HOME")
    return below_home(".config/paddock") if config is None else config / "paddock"
