"""A workspace of directories."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Literal, Union

from . import _cache, _policy, _state
from ._approval import Approver, ApprovalSigner
from ._calls import Answer, Calls
from ._budget import CallBudget
from ._mountinfo import MountTable
from ._mounts import STATE, Mount, OpenedRoot, Root, check_links, roots
from ._own import HeldPaths, own_paths
from ._policy import Policy, PolicyLike
from ._resolve import ResolvedPath, resolve
from ._sandbox import Sandbox
from ._state import Lock, StateDir
from .errors import OpenError

StrPath = Union[str, "os.PathLike[str]"]


class Workspace(Calls):
    """Directories, rules and limits for tool calls. Each call runs in a fresh guest.

    Any number of threads can make calls at once. Calls that change files wait for each other, and for changing calls of
    other processes.
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
            policy: The settings of the policy, by the names of the README's table, as a mapping or as JSON.
            read_only: Nothing may be changed in any root.
            mounts: Further directories.
            state_dir: Directory of journals, backups and the lock, by default below the user's own state directory.
                False keeps journals in `.paddock/` inside the workspace and takes no lock: only one process may then
                change the workspace.
            approver: Approver of calls that need approval. Without one, they end with `approval-required`, and
                `Outcome.plan` is the plan to approve.

        Raises:
            OpenError: A root is no directory, or a guest path is taken; a link in a root decides where another setting
                leads; a root is this program's own, or holds that where tools could not be kept from it.
            PolicyError: The policy is wrong.
            ComponentError: The component does not load.
        """
        checked = Policy.parse(policy, read_only=read_only)
        signer = ApprovalSigner()
        try:
            table = MountTable.read()
            all_roots = roots(root if isinstance(root, Mount) else Mount(root), mounts, checked, table)
            state = resolved_state(state_dir, all_roots, table)
            self._roots = tuple(each.root for each in all_roots)
            self._state = None if state is None or is_read_only(self._roots) else StateDir(state)
            settings = environment(checked, all_roots, state, table, signer)
        except OSError as cause:
            # Too many open files, in practice.
            raise OpenError(f"cannot open the workspace: {cause.strerror}") from None
        super().__init__(checked, signer, settings, approver)

    def close(self) -> None:
        """Ends the workspace: later calls fail with `backend-gone`, and its directories are closed after the last of
        those under way."""
        super().close()
        self._roots, self._state = (), None

    def _run(self, body: Callable[[Sandbox], Answer], changing: bool, budget: CallBudget) -> Answer:
        """Runs `body` in a fresh guest, with the lock if it changes files or recovers from a crash."""
        held = self._roots, self._state
        # These directories stay open until the call has ended.
        self._check_open()
        mounted_roots, lock = mounted(*held, changing, budget)
        try:
            sandbox = Sandbox(self._sandbox_config(mounted_roots), budget)
            try:
                return body(sandbox)
            finally:
                sandbox.close()
        finally:
            if lock is not None:
                lock.release()


def mounted(
    roots: tuple[Root, ...], state: StateDir | None, changing: bool, budget: CallBudget
) -> tuple[tuple[Root, ...], Lock | None]:
    """Returns the configuration of the sandbox."""
    mounted_roots, lock = roots, None
    if state is None:
        return mounted_roots, None
    directory = state.directory(create=changing)
    if directory is not None:
        mounted_roots = (*mounted_roots, Root(state.path, STATE, "read-write", directory))
        lock = _state.lock(directory, budget) if changing or _state.has_journal(directory) else None
    if not changing and lock is None:
        # Without the lock, a call must not follow a journal that another call has written since the check.
        mounted_roots = tuple(root.for_reads() for root in mounted_roots)
    return mounted_roots, lock


def resolved_state(
    chosen: StrPath | Literal[False] | None, all_roots: list[OpenedRoot], table: MountTable
) -> ResolvedPath | None:
    """Returns the path of the state directory, which may not exist yet."""
    if chosen is False:
        return None
    path = _state.of_workspace(all_roots[0].root.host) if chosen is None else chosen
    if path is None:
        return None
    description = f"the state directory {os.fsdecode(path)!r}"
    try:
        resolved = resolve(path)
    except OSError as cause:
        raise OpenError(f"cannot open {description}: {cause.strerror}") from None
    if resolved.failure is not None and resolved.failure.errno == errno.ESTALE:
        raise OpenError(f"cannot open {description}: {resolved.failure.cause}")
    check_links(description, resolved, all_roots, table)
    return resolved


def is_read_only(roots: Iterable[Root]) -> bool:
    return all(root.access == "read-only" for root in roots)


def environment(
    policy: Policy, all_roots: list[OpenedRoot], state: ResolvedPath | None, table: MountTable, signer: ApprovalSigner
) -> str:
    """Returns the policy of the guest. Paddock's own files in roots are closed to tools."""
    # The cache is opened first, because it is created if it is missing.
    _cache.directory()
    paths = HeldPaths(all_roots, table).reported_paths(own_paths(state, table), _policy.blocked_directories(policy))
    host: dict[str, Any] = {
        # Wasmtime's own rename does not carry a file's mode over, so the guest rewrites
        # files in place, from a copy that a later call replays after a crash.
        "carries_modes": False,
        "names": "folded" if sys.platform in ("darwin", "win32") else None,
        "private": paths.private,
        "fixed": paths.fixed,
        "approval_key": signer.key(),
    }
    return _policy.environment(policy, "wasi", [each.root for each in all_roots], host, paths.blocked)
