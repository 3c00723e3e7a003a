"""A workspace of directories."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, Union

from . import _cache, _policy, _state
from ._approval import Approver, Desk
from ._calls import Answer, Calls
from ._control import Control
from ._mounts import STATE, Mount, Root, roots
from ._paths import is_below, trail
from ._policy import Policy, PolicyLike
from ._sandbox import Sandbox
from ._state import Lock, StateDir

StrPath = Union[str, "os.PathLike[str]"]

KERNEL = ("/proc", "/sys")
"""Where a system shows its processes, this one's memory among them, and itself: no files that a tool could want."""


class Workspace(Calls):
    """Directories, rules and limits, in which tools are called: each call in a guest of its own.

    Calls can be made from any number of threads at once. Those that change something wait for each other, and for those
    of other processes.
    """

    def __init__(
        self,
        root: StrPath | Mount,
        *,
        policy: PolicyLike | None = None,
        read_only: bool = False,
        mounts: Iterable[Mount] = (),
        state_dir: StrPath | Literal[False] | None = None,
        approver: Approver | None = None,
    ) -> None:
        """Opens the workspace at `root`.

        Args:
            root: The workspace itself: relative paths start here. A `Mount` says whether it may be changed.
            policy: What tools may do, by the names of the README's table, as a mapping or as JSON.
            read_only: Nothing may be changed in any root.
            mounts: Further directories.
            state_dir: Where journals, backups and the lock are: below the user's own state directory, unless this names
                another. False keeps journals in `.paddock/` inside the workspace and takes no lock: for a workspace
                that only one process changes.
            approver: Who is asked about calls that need approval. Without anybody, they end in `approval-required`, and
                `Outcome.plan` says what to ask.

        Raises:
            OpenError: A root is no directory, or a guest path is taken.
            PolicyError: The policy is wrong.
            ComponentError: The component does not load.
        """
        checked = Policy.parse(policy, read_only=read_only)
        self._roots = roots(root if isinstance(root, Mount) else Mount(root), mounts, checked)
        self._state = chosen_state(state_dir, self._roots[0].host)
        desk = Desk()
        told = _policy.environment(checked, "wasi", self._roots, self._host(desk))
        if all(root.access == "read-only" for root in self._roots):
            self._state = None
        super().__init__(checked, desk, told, approver)

    def _host(self, desk: Desk) -> dict[str, Any]:
        """What the host has and does, for the guest. Its own files stay closed where a root holds them."""
        state = None if self._state is None else self._state.path
        own = [state, _state.parent(), _cache.directory(), _state.config_directory(), *map(Path, KERNEL)]
        ways = [trail(path) for path in own if path is not None]

        def inside(path: str) -> bool:
            return any(is_below(path, root.host) for root in self._roots)

        return {
            # Wasmtime's own rename serves the guest, so there is nobody to carry a file's mode over: the guest rewrites
            # files in place, from a copy that a later call replays after a crash.
            "carries_modes": False,
            "private": [way.end for way in ways if inside(way.end)],
            "fixed": [link for way in ways for link in way.links if inside(link)],
            "approval_key": desk.key(),
        }

    def _run(self, body: Callable[[Sandbox], Answer], changing: bool, control: Control) -> Answer:
        """Runs `body` in a fresh guest, with the lock if it is to change something or to recover from a crash."""
        self._check_open()
        found, lock = self._mounted(changing, control)
        try:
            sandbox = Sandbox(self._surroundings(found), control)
            try:
                return body(sandbox)
            finally:
                sandbox.close()
        finally:
            if lock is not None:
                lock.release()

    def _mounted(self, changing: bool, control: Control) -> tuple[tuple[Root, ...], Lock | None]:
        """What a guest gets."""
        state, found, lock = self._state, tuple(self._roots), None
        if state is None:
            return found, None
        if (changing and state.create()) or state.exists():
            found = (*found, Root(str(state.path), STATE, "read-write"))
            lock = state.lock(control) if changing or state.has_journal() else None
        if not changing and lock is None:
            # A journal that another call writes after the look for one is not for a call without the lock to follow.
            found = tuple(root.for_looks() for root in found)
        return found, lock


def chosen_state(chosen: StrPath | Literal[False] | None, root: str) -> StateDir | None:
    if chosen is False:
        return None
    return _state.of_workspace(root) if chosen is None else StateDir(Path(os.path.abspath(chosen)))
