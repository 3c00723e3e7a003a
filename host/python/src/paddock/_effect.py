"""Calls that need no directory: what tools there are, and which of them change something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._control import Control
from ._sandbox import Sandbox, Surroundings

if TYPE_CHECKING:
    from .types import Shape

TIME_S = 30.0

_known: dict[tuple[str, str], bool] = {}


def changes(dialect: str, tool: str) -> bool:
    """Whether a tool can change something, as it says itself. One that is not known changes nothing."""
    known = _known.get((dialect, tool))
    if known is not None:
        return known
    told = bare("tools", "changes", ("string", dialect), ("string", tool))
    # Nothing is kept of a tool that there is not: any number of names could be asked for.
    if told is None:
        return False
    _known[dialect, tool] = bool(told)
    return bool(told)


def bare(interface: str, function: str, *arguments: tuple[Shape, Any], around: Surroundings | None = None) -> Any:
    """What a guest without a directory answers."""
    control = Control(TIME_S)
    sandbox = Sandbox(around or Surroundings(), control)
    try:
        return sandbox.call(control, interface, function, *arguments)
    finally:
        sandbox.close()
