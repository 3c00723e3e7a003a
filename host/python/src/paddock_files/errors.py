"""Errors. `Workspace.call` returns the failure of a tool as a value; the typed methods raise it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .types._enums import ErrorCode


class PaddockError(Exception):
    """Base class of all errors of Paddock."""


class OpenError(PaddockError):
    """A workspace cannot be opened: a root is not a directory, or a guest path is taken."""


class PolicyError(OpenError):
    """A policy has an unknown name, a wrong type, contradictory settings, or a setting that this host lacks."""


class ComponentError(PaddockError):
    """The component is missing, or the installed wasmtime does not load it."""


class ToolError(PaddockError):
    """A tool failed, or the call was ended. The texts are worded for a model that has to act on them."""

    code: ErrorCode
    """Class of the failure."""
    message: str
    """The operation that failed, the path in backticks, and the cause."""
    path: str | None
    """The path as the caller passed it, if the failure concerns a path."""
    hint: str | None
    """A call or an argument that would work instead."""

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
