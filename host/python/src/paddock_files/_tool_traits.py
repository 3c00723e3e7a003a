"""Calls that need no directory: the list of tools, and whether a tool changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._budget import CallBudget
from ._sandbox import Sandbox, SandboxConfig

if TYPE_CHECKING:
    from .types import Shape

TIME_S = 30.0

MAX_KNOWN = 1_024
"""Maximum number of tools whose answer is stored."""

_known: dict[tuple[str, str], bool] = {}


def changes(dialect: str, tool: str) -> bool:
    """Returns whether a tool can change anything, by its own description. An unknown tool changes nothing."""
    known = _known.get((dialect, tool))
    if known is not None:
        return known
    traits = bare("tools", "changes", ("string", dialect), ("string", tool))
    # Unknown names are not stored, because a caller could ask for any number of them.
    if traits is None:
        return False
    # Callers can combine dialects in any number of ways.
    if len(_known) < MAX_KNOWN:
        _known[dialect, tool] = bool(traits)
    return bool(traits)


def bare(interface: str, function: str, *arguments: tuple[Shape, Any], around: SandboxConfig | None = None) -> Any:
    """Returns the answer of a guest without a directory."""
    budget = CallBudget(TIME_S)
    sandbox = Sandbox(around or SandboxConfig(), budget)
    try:
        return sandbox.call(budget, interface, function, *arguments)
    finally:
        sandbox.close()
