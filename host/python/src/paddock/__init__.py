"""File tools for AI agents that cannot leave the workspace.

The tools are a WebAssembly component inside this package. A `Workspace` says which directories the component gets;
there is nothing else that it could open. Each call runs in a guest of its own, with a limit on time and memory.

    with paddock.Workspace("project") as workspace:
        outcome = workspace.call("read_file", {"path": "README.md"})   # a model's tool call
        print(outcome.text)
        workspace.edit("README.md", [Replacement("colour", "color")])  # the same tools with types

`call` gives an `Outcome`, in which a failure is a value; methods with types raise `ToolError`. A workspace can be used
from any number of threads. A process that calls a tool must not be forked afterwards: start others by `spawn`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._approval import Approver, Decision, Grant
from ._engine import component_bytes as component
from ._mounts import Mount
from ._policy import PolicyLike
from .errors import ComponentError, OpenError, PaddockError, PolicyError, ToolError
from .formats import Format, describe, dialects, tools
from .memory import MemoryWorkspace
from .outcome import Outcome
from .workspace import Workspace

if TYPE_CHECKING:
    from .types import FileRange, Replacement

__all__ = [
    "Approver",
    "ComponentError",
    "Decision",
    "FileRange",
    "Format",
    "Grant",
    "MemoryWorkspace",
    "Mount",
    "OpenError",
    "Outcome",
    "PaddockError",
    "PolicyError",
    "PolicyLike",
    "Replacement",
    "ToolError",
    "Workspace",
    "component",
    "describe",
    "dialects",
    "tools",
]


def __getattr__(name: str) -> Any:
    # What only methods with types need takes longer to make than a call.
    if name in ("FileRange", "Replacement"):
        from . import types

        return getattr(types, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
