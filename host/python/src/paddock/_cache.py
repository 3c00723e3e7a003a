"""The compiled component, kept in the user's cache directory as it is mapped into memory."""

from __future__ import annotations

import hashlib
import os
import platform
import stat
from pathlib import Path

import wasmtime
from wasmtime import Engine, WasmtimeError
from wasmtime.component import Component

from ._state import absolute, below_home


def component(engine: Engine, wasm: bytes) -> Component:
    """The component of these bytes: from the cache, or compiled and put there. Without one, each process compiles."""
    above = directory()
    if above is None:
        return Component(engine, wasm)
    path = above / file_name(wasm)
    known = load(engine, path)
    if known is not None:
        return known
    compiled = Component(engine, wasm)
    keep(path, compiled.serialize())
    return compiled


def load(engine: Engine, path: Path) -> Component | None:
    """What is kept there: only this user can have written it, and what this user runs it could replace."""
    try:
        if not is_safe(path, stat.S_ISREG):
            return None
        return Component.deserialize_file(engine, str(path))
    except (OSError, UnicodeEncodeError, WasmtimeError):
        # Compiled for another build of the runtime or another processor, or cut short.
        return None


def keep(path: Path, compiled: bytes | bytearray) -> None:
    """Writes the whole file or nothing: others may read it at any time. A cache that cannot be written is none."""
    new = path.with_suffix(f".{os.getpid()}.{os.urandom(4).hex()}.new")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(compiled)
            os.replace(new, path)
        except BaseException:
            os.unlink(new)
            raise
    except OSError:
        return


def file_name(wasm: bytes) -> str:
    """One name for each component, version of the runtime and kind of processor."""
    # By the name of its metadata's folder: asking for the version proper takes longer than loading the component.
    package = Path(wasmtime.__file__).parent
    version = next(package.parent.glob("wasmtime-*.dist-info"), package).name
    told = f"{version}\n{platform.system()}\n{platform.machine()}\n".encode()
    return f"python-{hashlib.sha256(told + wasm).hexdigest()[:32]}.cwasm"


def directory() -> Path | None:
    """The user's own cache directory, made if need be. None where somebody else could write to it."""
    given = absolute("PADDOCK_CACHE_DIR")
    if given is None:
        cache = absolute("XDG_CACHE_HOME")
        given = below_home(".cache/paddock") if cache is None else cache / "paddock"
    if given is None:
        return None
    try:
        for above in reversed([given, *given.parents]):
            if not above.exists():
                above.mkdir(mode=0o700, exist_ok=True)
        return given if is_safe(given, stat.S_ISDIR) else None
    except OSError:
        return None


def is_safe(path: Path, kind: object) -> bool:
    """Whether it is what it has to be, and nobody but this user can have changed it."""
    found = path.lstat()
    is_kind = callable(kind) and kind(found.st_mode)
    return bool(is_kind) and found.st_uid == os.geteuid() and not found.st_mode & 0o022
