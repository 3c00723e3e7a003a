"""Paddock's own directories inside roots: the guest gets their paths and closes them to every tool.

Directories are compared by identity, so the path by which a root is named makes no difference: a bind mount of the home
directory contains the same own directories as the home directory.
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
"""File systems of the kernel. They expose processes, with the memory of this one, and contain no ordinary files."""
KERNEL_KINDS = ("proc", "sysfs")


class OwnPath(NamedTuple):
    """A path that belongs to Paddock."""

    what: str
    way_out: str
    """The hint for a root that conflicts with this path."""
    resolved: ResolvedPath


class ReportedPaths(NamedTuple):
    """Paths for the guest, absolute below the roots' own paths."""

    private: list[str]
    """Closed to every tool."""
    fixed: list[str]
    """Links that may be followed and not changed."""
    blocked: list[str]
    """The policy's blocked directories, with the further paths that lead to them."""


class HeldPaths:
    """Finds the paths by which roots of a workspace contain a location."""

    def __init__(self, all_roots: list[OpenedRoot], table: MountTable) -> None:
        self._table = table
        self._aliases = [(each.root, table.aliases(each.resolved.location)) for each in all_roots]

    def reported_paths(self, own: Iterable[OwnPath], blocked: list[str]) -> ReportedPaths:
        """Finds the paths. Raises `OpenError` if a path that must be closed cannot be passed to the guest."""
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
        return ReportedPaths(list(dict.fromkeys(private)), list(dict.fromkeys(fixed)), blocked)

    def _paths(self, location: Location, what: str, way_out: str) -> Iterator[str]:
        """Returns the paths by which roots contain `location`, below each root's own path."""
        for root, _ in self._aliases:
            for names in location.below(root.directory.identity):
                path = join(root.host, names)
                if not is_utf8(path):
                    cause = f"it holds {what} at {path!r}, a path that is not UTF-8, so no tool could be kept from it"
                    raise OpenError(f"cannot open the root `{root.host}`: {cause}; {way_out}")
                yield path

    def _refuse_roots_in(self, own: OwnPath) -> None:
        """Refuses a root that would have to be closed as a whole, which the guest cannot do."""
        if own.resolved.failure is not None:
            return
        for root in self._roots_in(own.resolved.location):
            cause = f"it is in {own.what}, which belongs to the program that runs the tools"
            raise OpenError(f"cannot open the root `{root.host}`: {cause}; {own.way_out}")

    def _roots_in(self, location: Location) -> list[Root]:
        """Returns the roots that are the directory at `location`, or are inside it."""
        top = location.directory.identity
        return [root for root, aliases in self._aliases if any(alias.is_below(top) for alias in aliases)]

    def _inner(self) -> Iterator[tuple[Root, str]]:
        """Yields roots inside another root, with their path below that root."""
        for root, aliases in self._aliases:
            for alias in aliases:
                for path in self._paths(alias, f"the root `{root.host}`", "rename the directories on that path"):
                    # If the path of a root shows that it is inside another, the guest knows this already.
                    if path != root.host:
                        yield root, path

    def _read_only(self) -> list[str]:
        return [path for inner, path in self._inner() if inner.access == "read-only"]

    def _inner_blocked(self, blocked: list[str]) -> list[str]:
        """Returns blocked paths from the top of every root, by every root that reaches them."""
        below = [path for path in blocked if "/" in path and not path.startswith("/")]
        return [f"{top}/{path}" for _, top in self._inner() for path in below] if below else []

    def _blocked(self, blocked: list[str]) -> list[str]:
        """Returns the real paths of absolute blocked paths, and the paths by which roots contain them."""
        paths = list[str]()
        for path in blocked:
            if not os.path.isabs(path):
                continue
            try:
                location = resolve(path).location
            except OSError as cause:
                raise PolicyError(f"wrong policy: `blocked_directories`: {path!r}: {cause.strerror}") from None
            if is_utf8(location.path):
                paths.append(location.path)
            for alias in self._table.aliases(location):
                paths += self._paths(alias, "a blocked directory", "move it, or block a directory above it")
            if not location.names:
                paths += [root.host for root in self._roots_in(location)]
        return paths


def own_paths(state: ResolvedPath | None, table: MountTable) -> Iterator[OwnPath]:
    """Returns the paths closed to every tool: state, cache and configuration directories, kernel file systems."""
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
