"""Where roots hold what belongs to this program: the guest is told, and keeps it from every tool.

What a root holds is decided by the identity of directories, so that it makes no difference by which path a root is
named: a bind mount of the home directory holds what the home directory holds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from . import _cache, _state
from ._mountinfo import MountTable
from ._mounts import OpenedRoot, Root, is_utf8
from ._resolve import Location, ResolvedPath, join, resolve
from .errors import OpenError, PolicyError

KERNEL = ("/proc", "/sys")
"""Where a system shows its processes, this one's memory among them, and itself: no files that a tool could want."""
KERNEL_KINDS = ("proc", "sysfs")


class OwnPath(NamedTuple):
    """A path of this program's own."""

    what: str
    way_out: str
    """What a person can do where a root and this path are in each other's way."""
    resolved: ResolvedPath


class ToldPaths(NamedTuple):
    """What the guest is told, as absolute paths below the roots' own."""

    private: list[str]
    """Kept from every tool."""
    fixed: list[str]
    """May be followed, and not be changed."""
    blocked: list[str]
    """The policy's blocked directories, by more paths than the policy has."""


class HeldPaths:
    """The paths by which the roots of a workspace hold something."""

    def __init__(self, found: list[OpenedRoot], table: MountTable) -> None:
        self._table = table
        self._aliases = [(each.root, table.aliases(each.resolved.location)) for each in found]

    def told(self, own: Iterable[OwnPath], blocked: list[str]) -> ToldPaths:
        """Fails with `OpenError` where something that has to be kept from tools cannot be named to the guest."""
        private, fixed = list[str](), list[str]()
        for each in own:
            self._refuse_roots_in(each)
            location = each.resolved.location
            for alias in [*self._table.aliases(location), *self._table.parts(location)]:
                private += self._paths(alias, each.what, each.way_out)
            for link in each.resolved.links:
                for alias in self._table.aliases(link):
                    fixed += self._paths(alias, f"a link to {each.what}", each.way_out)
        fixed += self._read_only()
        blocked = [*self._blocked(blocked), *self._inner_blocked(blocked)]
        return ToldPaths(list(dict.fromkeys(private)), list(dict.fromkeys(fixed)), blocked)

    def _paths(self, location: Location, what: str, way_out: str) -> Iterator[str]:
        """The paths by which roots hold `location`, from each root's own path."""
        for root, _ in self._aliases:
            for names in location.below(root.directory.identity):
                path = join(root.host, names)
                if not is_utf8(path):
                    cause = f"it holds {what} at {path!r}, a path that is not UTF-8, so no tool could be kept from it"
                    raise OpenError(f"cannot open the root `{root.host}`: {cause}; {way_out}")
                yield path

    def _refuse_roots_in(self, own: OwnPath) -> None:
        """The guest cannot keep a whole root from tools."""
        if own.resolved.failure is not None:
            return
        for root in self._roots_in(own.resolved.location):
            cause = f"it is in {own.what}, which belongs to the program that runs the tools"
            raise OpenError(f"cannot open the root `{root.host}`: {cause}; {own.way_out}")

    def _roots_in(self, location: Location) -> list[Root]:
        """The roots that are the directory at `location`, or lie in it."""
        top = location.directory.identity
        return [root for root, aliases in self._aliases if any(alias.is_below(top) for alias in aliases)]

    def _inner(self) -> Iterator[tuple[Root, str]]:
        """Roots that lie in another, with the path by which that holds them."""
        for root, aliases in self._aliases:
            for alias in aliases:
                for path in self._paths(alias, f"the root `{root.host}`", "rename the directories on that path"):
                    # A root that its own path says to be in another is known to the guest.
                    if path != root.host:
                        yield root, path

    def _read_only(self) -> list[str]:
        return [path for inner, path in self._inner() if inner.access == "read-only"]

    def _inner_blocked(self, blocked: list[str]) -> list[str]:
        """Blocked paths from the top of every root, by whichever root that is reached."""
        below = [path for path in blocked if "/" in path and not path.startswith("/")]
        return [f"{top}/{path}" for _, top in self._inner() for path in below] if below else []

    def _blocked(self, blocked: list[str]) -> list[str]:
        """The paths without links of absolute blocked paths, and those by which roots hold them."""
        found = list[str]()
        for path in blocked:
            if not os.path.isabs(path):
                continue
            try:
                location = resolve(path).location
            except OSError as cause:
                raise PolicyError(f"wrong policy: `blocked_directories`: {path!r}: {cause.strerror}") from None
            if is_utf8(location.path):
                found.append(location.path)
            for alias in self._table.aliases(location):
                found += self._paths(alias, "a blocked directory", "move it, or block a directory above it")
            if not location.names:
                found += [root.host for root in self._roots_in(location)]
        return found


def own_paths(state: ResolvedPath | None, table: MountTable) -> Iterator[OwnPath]:
    """What no tool is to reach: state, cache and configuration directories, and the kernel's file systems."""
    if state is not None:
        yield OwnPath("the state directory", "name another by `state_dir`", state)
    environment = (
        ("the directory of all state directories", "PADDOCK_STATE_DIR", _state.parent()),
        ("the cache directory", "PADDOCK_CACHE_DIR", _cache.path()),
        ("the cache directory", "PADDOCK_CACHE_DIR", _cache.held_path()),
        ("the configuration directory", "XDG_CONFIG_HOME", _state.config_directory()),
    )
    for what, variable, path in environment:
        if path is not None:
            yield OwnPath(what, f"set {variable} to another directory", resolve(path))
    for kernel in sorted({*KERNEL, *table.points_of(*KERNEL_KINDS)}):
        yield OwnPath(f"`{kernel}`", "name another directory", resolve(kernel))
