"""The compiled component, stored in the user's cache directory in the form that is mapped into memory."""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import wasmtime
from wasmtime import Engine, WasmtimeError
from wasmtime.component import Component

from ._directory import MAGIC_LINKS, Directory
from ._resolve import resolve
from ._state import absolute, below_home


def component(engine: Engine, wasm: bytes) -> Component:
    """Loads the component from the cache, or compiles it and stores it. Without a cache, each process compiles."""
    above = directory()
    if above is None:
        return Component(engine, wasm)
    name = file_name(wasm)
    known = load(engine, above, name)
    if known is not None:
        return known
    compiled = Component(engine, wasm)
    keep(above, name, compiled.serialize())
    return compiled


def load(engine: Engine, above: Directory, name: str) -> Component | None:
    """Loads a component from the cache. Only this user can have written it, as any program that this user runs.

    The checks apply to the open file, and that file is loaded, whatever has its name by then.
    """
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=above.descriptor)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        # Tools could change a file through another hard link.
        if not is_safe(status, stat.S_ISREG) or status.st_nlink > 1:
            return None
        return deserialized(engine, descriptor)
    except (OSError, WasmtimeError):
        # Compiled for another build of the runtime or another processor, or cut short.
        return None
    finally:
        os.close(descriptor)


def deserialized(engine: Engine, descriptor: int) -> Component:
    """Loads the component of an open file, mapped into memory if the system has a path for open files."""
    path = f"{MAGIC_LINKS}/{descriptor}"
    if os.path.exists(path):
        return Component.deserialize_file(engine, path)
    with open(descriptor, "rb", closefd=False) as file:
        return Component.deserialize(engine, file.read())


def keep(above: Directory, name: str, compiled: bytes | bytearray) -> None:
    """Writes the file atomically, because other processes read it at any time. Ignores a cache that is not writable."""
    new, within = f"{name}.{os.getpid()}.{os.urandom(4).hex()}.new", above.descriptor
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=within)
        try:
            with open(descriptor, "wb") as file:
                file.write(compiled)
            os.replace(new, name, src_dir_fd=within, dst_dir_fd=within)
        except BaseException:
            os.unlink(new, dir_fd=within)
            raise
    except OSError:
        return


def file_name(wasm: bytes) -> str:
    """Returns the file name for a component, version of the runtime and kind of processor."""
    # By the name of its metadata's folder: asking for the version proper takes longer than loading the component.
    package = Path(wasmtime.__file__).parent
    version = next(package.parent.glob("wasmtime-*.dist-info"), package).name
    version_text = f"{version}\n{platform.system()}\n{platform.machine()}\n".encode()
    return f"python-{hashlib.sha256(version_text + wasm).hexdigest()[:32]}.cwasm"


def path() -> Path | None:
    """Returns the path of the user's cache directory."""
    configured = absolute("PADDOCK_CACHE_DIR")
    if configured is not None:
        return configured
    cache = absolute("XDG_CACHE_HOME")
    return below_home(".cache/paddock") if cache is None else cache / "paddock"


class Held:
    """The cache directory of this process, after the first search for it."""

    def __init__(self, directory: Directory | None) -> None:
        self.directory = directory


_held: Held | None = None
_opening = threading.Lock()


def directory() -> Directory | None:
    """Returns the cache directory, opened once in a process. None if another user could write to it."""
    global _held
    with _opening:
        if _held is None:
            location = path()
            _held = Held(None if location is None else opened(location))
        return _held.directory


def held_path() -> str | None:
    """Returns the present path of the directory that this process loads from."""
    known = None if _held is None else _held.directory
    return None if known is None else known.current_path()


def opened(location: Path) -> Directory | None:
    """Opens or creates the directory, unless it is a link or another user can write to it."""
    try:
        above = resolve(location.parent).location
        directory_above = above.directory
        for name in (*above.names, location.name):
            if not directory_above.has(name):
                make(directory_above, name)
            directory_above = directory_above.child(name)
        return directory_above if is_safe(os.fstat(directory_above.descriptor), stat.S_ISDIR) else None
    except OSError:
        return None


def make(above: Directory, name: str) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=above.descriptor)
    except FileExistsError:
        # Another process has created it.
        return


def is_safe(status: os.stat_result, kind: Callable[[int], bool]) -> bool:
    """Returns whether it has the expected type, and no other user can change it."""
    return kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
