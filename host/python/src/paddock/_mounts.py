"""The directories that a guest gets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ._paths import is_below, trail
from ._policy import Policy
from .errors import OpenError

WORKSPACE = "/workspace"
"""The guest path of the first root, the workspace itself."""
STATE = "/paddock-state"
"""The guest path of the state directory."""
OVERLAY = "/paddock-overlay"
"""The guest path of an overlay's directory, of which this host has none."""

Access = Literal["read-only", "read-write"]


@dataclass(frozen=True)
class Mount:
    """A further directory beside the workspace."""

    path: str | os.PathLike[str]
    """The directory."""
    guest: str | None = None
    """Where tools see it, `/` and one name; by default its own, numbered where that is taken."""
    read_only: bool = False
    """Nothing may be changed in it."""


@dataclass(frozen=True)
class Root:
    """One directory with its guest path."""

    host: str
    """Its real path."""
    guest: str
    access: Access

    def for_looks(self) -> Root:
        return replace(self, access="read-only")


def roots(workspace: Mount, further: Iterable[Mount], policy: Policy) -> list[Root]:
    """The directories that a guest gets by these and the policy: the workspace first."""
    further = list(further)
    named = [mount.guest for mount in further if mount.guest is not None]
    taken = {WORKSPACE, STATE, OVERLAY, *named}
    found = [root(workspace, WORKSPACE)]
    for mount in further:
        check_way(found, mount.path)
        guest = mount.guest if mount.guest is not None else free_name(mount.path, taken)
        if guest in [known.guest for known in found]:
            raise OpenError(f"cannot mount `{guest}`: two roots have that guest path")
        if guest in (STATE, OVERLAY):
            raise OpenError(f"cannot mount `{guest}`: it is the state directory's")
        found.append(root(mount, guest))
    for path, access in policy.allowed_directories:
        add(found, taken, Mount(path, read_only=access == "read-only"))
    if policy.mode == "unrestricted":
        add(found, taken, Mount("/"), name="host")
    return with_settled_rights(found, policy.read_only)


def add(found: list[Root], taken: set[str], mount: Mount, name: str | None = None) -> None:
    """Adds what the policy allows. What is there already keeps its guest path, and may lose a right."""
    check_way(found, mount.path)
    new = root(mount, "/unnamed")
    for index, known in enumerate(found):
        if known.host == new.host:
            found[index] = known.for_looks() if mount.read_only else known
            return
    found.append(replace(new, guest=free_name(name or mount.path, taken)))


def root(mount: Mount, guest: str) -> Root:
    shown = os.fspath(mount.path)
    try:
        host = os.path.realpath(shown, strict=True)
    except OSError as cause:
        raise OpenError(f"cannot open the root `{shown}`: {cause.strerror}; it has to be a directory") from None
    if not os.path.isdir(host):
        raise OpenError(f"cannot open the root `{shown}`: it is no directory")
    try:
        host.encode()
    except UnicodeEncodeError:
        raise OpenError(f"cannot open the root {shown!r}: its path is not UTF-8") from None
    name = guest.removeprefix("/")
    if not guest.startswith("/") or name in ("", ".", "..") or any(odd in name for odd in "/\\\0"):
        raise OpenError(f"cannot mount `{guest}`: a guest path is `/` and one name")
    return Root(host, guest, "read-only" if mount.read_only else "read-write")


def check_way(found: list[Root], host: str | os.PathLike[str]) -> None:
    """Refuses a directory to which a link in a root leads out of it: what is in a root is not to say what else is."""
    way = trail(host)
    for known in found:
        if not is_below(way.end, known.host) and any(is_below(link, known.host) for link in way.links):
            cause = f"a symbolic link in the root `{known.host}` leads out of it; if that is meant, name `{way.end}`"
            raise OpenError(f"cannot open the root `{os.fspath(host)}`: {cause}")


def with_settled_rights(found: list[Root], read_only: bool) -> list[Root]:
    """Of two roots that are one directory, neither may do more than the other; if the policy says so, none may."""
    narrow = {known.host for known in found if known.access == "read-only"}
    return [known.for_looks() if read_only or known.host in narrow else known for known in found]


def free_name(path: str | os.PathLike[str], taken: set[str]) -> str:
    """The guest path of a directory's own name, numbered where another root has it already."""
    name = os.path.basename(os.path.realpath(path)) or "root"
    guest, number = f"/{name}", 2
    while guest in taken:
        guest, number = f"/{name}-{number}", number + 1
    taken.add(guest)
    return guest
