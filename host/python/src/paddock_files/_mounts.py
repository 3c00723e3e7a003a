"""The directories that the guest gets."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ._directory import Directory
from ._mountinfo import MountTable
from ._policy import Policy
from ._resolve import ResolvedPath, resolve
from .errors import OpenError

WORKSPACE = "/workspace"
"""The guest path of the first root, the workspace itself."""
STATE = "/paddock-state"
"""The guest path of the state directory."""
OVERLAY = "/paddock-overlay"
"""The guest path of an overlay's directory. This host has no overlays, and reserves the path."""

Access = Literal["read-only", "read-write"]


@dataclass(frozen=True)
class Mount:
    """A further root."""

    path: str | os.PathLike[str]
    """The directory."""
    guest: str | None = None
    """The guest path, `/` and one name; by default the directory's own name, with a number if that is taken."""
    read_only: bool = False
    """Whether the directory is read-only."""


@dataclass(frozen=True)
class Root:
    """One directory with its guest path."""

    host: str
    """The real path of the directory when the workspace was opened."""
    guest: str
    access: Access
    directory: Directory
    """The open directory, whatever its present path is."""
    aliases: tuple[str, ...] = ()
    """The absolute path by which the caller named the directory, if it is not the real path."""

    def for_reads(self) -> Root:
        return replace(self, access="read-only")


class OpenedRoot(NamedTuple):
    """A root and the results of opening it."""

    root: Root
    requested_path: str
    resolved: ResolvedPath

    def for_reads(self) -> OpenedRoot:
        return self._replace(root=self.root.for_reads())


def roots(workspace: Mount, further: Iterable[Mount], policy: Policy, table: MountTable) -> list[OpenedRoot]:
    """Opens the given directories and those of the policy for the guest, the workspace first."""
    further = list(further)
    named = [mount.guest for mount in further if mount.guest is not None]
    taken = {WORKSPACE, STATE, OVERLAY, *named}
    all_roots = [opened(workspace, WORKSPACE)]
    for mount in further:
        new = opened(mount, mount.guest) if mount.guest is not None else with_free_name(opened(mount), taken)
        if new.root.guest in [known.root.guest for known in all_roots]:
            raise OpenError(f"cannot mount `{new.root.guest}`: two roots have that guest path")
        if new.root.guest in (STATE, OVERLAY):
            raise OpenError(f"cannot mount `{new.root.guest}`: it is the state directory's")
        all_roots.append(new)
    allowed = [opened(Mount(path, read_only=access == "read-only")) for path, access in policy.allowed_directories]
    for new in allowed:
        add(all_roots, taken, new)
    if policy.mode == "unrestricted":
        add(all_roots, taken, opened(Mount("/")), name="host")
    for each in [*all_roots, *allowed]:
        check_links(f"the root `{each.requested_path}`", each.resolved, all_roots, table)
    return with_settled_rights(all_roots, policy.read_only)


def add(all_roots: list[OpenedRoot], taken: set[str], new: OpenedRoot, name: str | None = None) -> None:
    """Adds the directories that the policy allows. An existing root keeps its guest path, and can lose a right."""
    for index, known in enumerate(all_roots):
        if known.root.host == new.root.host and known.root.directory.identity == new.root.directory.identity:
            all_roots[index] = known.for_reads() if new.root.access == "read-only" else known
            return
    all_roots.append(with_free_name(new, taken, name))


def opened(mount: Mount, guest: str = "/unnamed") -> OpenedRoot:
    """Resolves a root's path once, and holds the directory open. The path is not resolved again."""
    path_text = os.fsdecode(mount.path)
    try:
        resolved = resolve(path_text)
    except OSError as cause:
        raise OpenError(f"cannot open the root {path_text!r}: {cause.strerror}") from None
    if resolved.failure is not None:
        missing = f"{resolved.failure.cause}; it has to be a directory"
        is_file = resolved.failure.errno == errno.ENOTDIR
        raise OpenError(f"cannot open the root `{path_text}`: {'it is no directory' if is_file else missing}")
    host = resolved.location.path
    if not is_utf8(host):
        raise OpenError(f"cannot open the root {path_text!r}: its path is not UTF-8")
    name = guest.removeprefix("/")
    if not guest.startswith("/") or name in ("", ".", "..") or any(odd in name for odd in "/\\\0"):
        raise OpenError(f"cannot mount `{guest}`: a guest path is `/` and one name")
    access: Access = "read-only" if mount.read_only else "read-write"
    absolute = os.path.join(os.getcwd(), path_text)
    has_parents = ".." in absolute.split("/")
    normal = os.path.normpath(absolute)
    aliases = () if has_parents or normal == host or not is_utf8(absolute) else (normal,)
    return OpenedRoot(Root(host, guest, access, resolved.location.directory, aliases), path_text, resolved)


def check_links(what: str, resolved: ResolvedPath, all_roots: Iterable[OpenedRoot], table: MountTable) -> None:
    """Refuses a path on which a link in a root leads out of that root, because the content of a root must not decide
    which other directory is opened. Every setting that names a directory is checked here.

    A path is in a root if a directory on it has the root's identity, under every path that mounts give it.
    """
    links = [alias for link in resolved.links for alias in table.aliases(link)]
    ends = table.aliases(resolved.location) if links else []
    for known in all_roots:
        top = known.root.directory.identity
        if any(link.is_below(top) for link in links) and not any(end.is_below(top) for end in ends):
            end = resolved.location.path
            cause = f"a symbolic link in the root `{known.root.host}` leads out of it; if that is meant, name `{end}`"
            raise OpenError(f"cannot open {what}: {cause}")


def with_settled_rights(all_roots: list[OpenedRoot], read_only: bool) -> list[OpenedRoot]:
    """Gives roots that are one directory the narrower of their rights, and applies the policy's `read_only`."""
    narrow = {known.root.directory.identity for known in all_roots if known.root.access == "read-only"}
    return [known.for_reads() if read_only or known.root.directory.identity in narrow else known for known in all_roots]


def with_free_name(new: OpenedRoot, taken: set[str], name: str | None = None) -> OpenedRoot:
    """Returns a root with its directory's name as the guest path, with a number if another root has that path."""
    name = name or new.resolved.location.steps[-1].name or "root"
    guest, number = f"/{name}", 2
    while guest in taken:
        guest, number = f"/{name}-{number}", number + 1
    taken.add(guest)
    return new._replace(root=replace(new.root, guest=guest))


def is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
