"""What can go wrong. What a tool reports is a value of `Workspace.call`, and an exception of the methods with types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .types import ErrorCode


class PaddockError(Exception):
    """Anything that Paddock raises."""


class OpenError(PaddockError):
    """A workspace cannot be what was asked for: a root that is no directory, a guest path that is taken."""


class PolicyError(OpenError):
    """A policy has an unknown name, a wrong type, or a setting that contradicts another or that this host has not."""


class ComponentError(PaddockError):
    """The component is missing, or the installed wasmtime does not load it."""


class ToolError(PaddockError):
    """A tool failed, or the call was ended: written for a reader that has to act on it."""

    code: ErrorCode
    """What class of failure it is."""
    message: str
    """What failed and why: the verb, the path in backticks, the cause."""
    path: str | None
    """The path as the caller gave it, where the failure is about one."""
    hint: str | None
    """What would work instead."""

    def __init__(self, code: ErrorCode, message: str, path: str | None = None, hint: str | None = None) -> None:
        super().__init__(code, message, path, hint)
        self.code = code
        self.message = message
        self.path = path
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n{self.hint}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolError) and self.args == other.args

    def __hash__(self) -> int:
        return hash(self.args)
