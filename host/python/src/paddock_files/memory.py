"""A workspace in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _policy
from ._approval import Approver, ApprovalSigner
from ._calls import Answer, Calls
from ._budget import CallBudget
from ._convert import check_text, lift
from ._policy import Policy, PolicyLike
from ._sandbox import Sandbox
from .errors import ToolError

if TYPE_CHECKING:
    from .types import Shape


class MemoryWorkspace(Calls):
    """A tree in the memory of a persistent guest. It uses no disk, and exists as long as this object.

    Calls can be made from any number of threads, and are made one after the other.
    """

    def __init__(self, *, policy: PolicyLike | None = None, approver: Approver | None = None) -> None:
        """Creates an empty tree. Roots of the policy have no effect.

        Raises:
            PolicyError: The policy is wrong.
            ComponentError: The component does not load.
        """
        signer = ApprovalSigner()
        checked = Policy.parse(policy)
        # A tree in memory has no modes to lose.
        host = {"carries_modes": True, "approval_key": signer.key()}
        super().__init__(checked, signer, _policy.environment(checked, "memory", [], host), approver)
        self._turn = threading.Lock()
        self._persistent: Sandbox | None = Sandbox(self._sandbox_config(), self._budget())

    def load(self, archive: bytes) -> None:
        """Replaces the whole tree by that of a tar archive. On failure it raises `ToolError` and changes nothing."""
        self._session("load", ("bytes", bytes(archive)))

    def snapshot(self) -> bytes:
        """Returns the whole tree as a tar archive, in path order."""
        return bytes(self._session("snapshot"))

    def checkpoint(self, name: str) -> None:
        """Stores the state of the tree for `rollback`, under a name of at most 64 letters, digits, `_`, `-` and `.`."""
        check_text("name", name)
        self._session("checkpoint", ("string", name))

    def rollback(self, name: str) -> None:
        """Returns the tree to the state of a checkpoint. All checkpoints remain."""
        check_text("name", name)
        self._session("rollback", ("string", name))

    def checkpoints(self) -> list[str]:
        """Returns the names of all checkpoints, in order."""
        names: list[str] = self._session("checkpoints")
        return names

    def close(self) -> None:
        """Ends the workspace and discards its tree. Later calls fail with `backend-gone`."""
        super().close()
        with self._turn:
            if self._persistent is not None:
                self._persistent.close()
                self._persistent = None

    def _session(self, function: str, *arguments: tuple[Shape, Any]) -> Any:
        budget = self._budget()
        lowered = self._run(lambda sandbox: sandbox.call(budget, "session", function, *arguments), True, budget)
        answer = lift(("result", "any"), lowered)
        if isinstance(answer, ToolError):
            raise answer
        return answer

    def _run(self, body: Callable[[Sandbox], Answer], changing: bool, budget: CallBudget) -> Answer:
        """Runs `body` in the guest that holds the tree. A trap ends the guest, and its tree is lost."""
        with self._turn:
            self._check_open()
            sandbox, self._persistent = self._persistent, None
            if sandbox is None:
                hint = "the person who runs this has to make a new one from its last snapshot"
                raise ToolError("backend-gone", "the workspace in memory was lost with a call that was ended", hint=hint)
            try:
                answer = body(sandbox)
            except BaseException:
                sandbox.close()
                raise
            self._persistent = sandbox
            return answer
