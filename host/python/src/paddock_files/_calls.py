"""Calls of tools, for every kind of workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from . import _tool_traits
from ._approval import Approver, ApprovalSigner, DecisionForGuest, Grant, Refused
from ._budget import CallBudget
from ._convert import check_text, lift, lower
from ._operations import Operations
from ._policy import Policy
from ._sandbox import Sandbox, SandboxConfig
from ._values import Tagged
from .errors import ComponentError, PolicyError, ToolError
from .formats import Format, tools
from .outcome import Outcome, compact

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._mounts import Root
    from .types import Plan

Answer = TypeVar("Answer")
Body = Callable[[Sandbox, CallBudget], "tuple[Answer, ToolError | None]"]
"""A function that makes a call in a guest, and returns its answer and the error in it, if any."""

DIALECT = "paddock"
"""The dialect of calls that name none."""
MAX_QUESTIONS = 3
"""Maximum number of questions to an approver about one call."""
UNREADABLE = "cannot read PADDOCK_POLICY: "
"""Start of the guest's message about a policy with a wrong name or type."""


class Calls(Operations):
    """The methods of every kind of workspace."""

    def __init__(self, policy: Policy, signer: ApprovalSigner, environment: str, approver: Approver | None) -> None:
        self._policy = policy
        self._signer = signer
        self._environment = environment
        self._approver = approver
        self._closed = False
        self._check_policy()

    def _run(self, body: Callable[[Sandbox], Answer], changing: bool, budget: CallBudget) -> Answer:
        """Runs `body` in a guest."""
        raise NotImplementedError

    def call(
        self,
        tool: str,
        arguments: str | Mapping[str, Any] = "{}",
        *,
        dialect: str = DIALECT,
        timeout: float | None = None,
        grant: Grant | None = None,
        approver: Approver | None = None,
    ) -> Outcome:
        """Calls a tool. It blocks its thread until the tool is done, and a failure is a value.

        Args:
            tool: Name of the tool; `tools` returns all tools.
            arguments: Arguments of the tool, a mapping or a JSON object.
            dialect: Dialect of the tool and its arguments.
            timeout: Seconds for the call, at most the policy's limit.
            grant: Permission to carry out the plan of an earlier call, which ended with `approval-required`.
            approver: Approver of this call, in place of the workspace's own approver.
        """
        try:
            texts = {"dialect": dialect, "tool": tool, "arguments": argument_text(arguments)}
            for name, text in texts.items():
                check_text(name, text)
            values = [("string", text) for text in texts.values()]
            called, error, plan = self._run_with_approval(
                lambda sandbox, budget: with_error(sandbox.call(budget, "tools", "call", *values)),
                _tool_traits.changes(dialect, tool),
                timeout=timeout,
                grant=grant,
                approver=approver,
            )
        except ToolError as failed:
            return Outcome.failed(failed)
        except ComponentError as failed:
            hint = "the person who runs this has to see to the installation"
            return Outcome.failed(ToolError("io", str(failed), hint=hint))
        changes = lift(("list", "change"), called["changes"])
        return Outcome(called["ok"], called["result"], called["text"], error, changes, called["truncated"], plan)

    def tools(self, dialect: str = DIALECT, format: Format = "mcp") -> list[dict[str, Any]]:
        """Returns the tools of a dialect in the format of a provider."""
        return tools(dialect, format)

    def grant(self, plan: Plan, seconds: float) -> Grant:
        """Returns a grant for one call to carry out `plan`, valid for that time: for programs that decide later."""
        return self._signer.grant(plan, seconds)

    def close(self) -> None:
        """Ends the workspace: later calls fail with `backend-gone`."""
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _typed(
        self, interface: str, function: str, arguments: tuple[str, tuple[object, ...]], result: str, *, changing: bool
    ) -> Any:
        lowered = (arguments[0], lower(*arguments))

        def body(sandbox: Sandbox, budget: CallBudget) -> tuple[Any, ToolError | None]:
            answer = lift(("result", result), sandbox.call(budget, interface, function, lowered))
            return answer, answer if isinstance(answer, ToolError) else None

        answer, error, _ = self._run_with_approval(body, changing)
        if error is not None:
            raise error
        return answer

    def _run_with_approval(
        self,
        body: Body[Answer],
        changing: bool,
        *,
        timeout: float | None = None,
        grant: Grant | None = None,
        approver: Approver | None = None,
    ) -> tuple[Answer, ToolError | None, Plan | None]:
        """Runs a call that may need approval, and runs it again if a person approves it.

        Returns its answer, the error in it, and the plan that still needs approval.
        """

        def attempt(verdict: DecisionForGuest) -> tuple[Answer, ToolError | None, Plan | None]:
            budget = self._budget(timeout)
            return self._run(lambda sandbox: self._decided(sandbox, budget, verdict, body), changing, budget)

        answer = attempt(None if grant is None else self._signer.take(grant))
        approver = approver or self._approver
        # The files may have changed while a person decided. The person then decides about the new plan.
        for _ in range(MAX_QUESTIONS):
            plan = answer[2]
            verdict = None if plan is None or approver is None else self._signer.decided(plan, approver(plan))
            if verdict is None:
                break
            answer = attempt(verdict)
        return answer

    def _decided(
        self, sandbox: Sandbox, budget: CallBudget, verdict: DecisionForGuest, body: Body[Answer]
    ) -> tuple[Answer, ToolError | None, Plan | None]:
        """Makes a call with this decision, and returns its plan too if it needs approval."""
        if verdict is not None:
            decision = Tagged("refused" if isinstance(verdict, Refused) else "approved", str(verdict))
            sandbox.call(budget, "approval", "decide", (("variant", "string"), decision), has_result=False)
        answer, error = body(sandbox, budget)
        if error is None or error.code != "approval-required":
            return answer, error, None
        return answer, error, lift(("option", "plan"), sandbox.call(budget, "approval", "pending"))

    def _budget(self, timeout: float | None = None) -> CallBudget:
        own = self._policy.max_time_ms / 1000
        return CallBudget(own if timeout is None else min(timeout, own))

    def _sandbox_config(self, roots: tuple[Root, ...] = ()) -> SandboxConfig:
        return SandboxConfig(roots, self._environment, self._policy.max_memory_bytes)

    def _check_open(self) -> None:
        if self._closed:
            hint = "the person who runs this has to open it again"
            raise ToolError("backend-gone", "the workspace was closed", hint=hint)

    def _check_policy(self) -> None:
        """Has a guest read the policy's names and types."""
        values = [("string", text) for text in (DIALECT, "stat", '{"path":"."}')]
        _, error = with_error(_tool_traits.bare("tools", "call", *values, around=self._sandbox_config()))
        if error is not None and error.message.startswith(UNREADABLE):
            raise PolicyError(f"wrong policy: {error.message.removeprefix(UNREADABLE)}")


def with_error(outcome: Any) -> tuple[Any, ToolError | None]:
    return outcome, lift("error", outcome["error"])


def argument_text(arguments: str | Mapping[str, Any]) -> str:
    """Returns the arguments of a tool in the form that the component takes."""
    if isinstance(arguments, str):
        return arguments
    try:
        return compact(arguments)
    except (TypeError, ValueError) as cause:
        raise ToolError("invalid-argument", f"the arguments are no JSON: {cause}") from None
