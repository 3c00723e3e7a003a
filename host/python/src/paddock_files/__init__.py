"""File tools for AI agents that cannot leave the workspace.

The tools are a WebAssembly component inside this package. A `Workspace` defines which directories the component
gets; it cannot open anything else. Each call runs in a fresh instance, with a limit on time and memory.

    with paddock_files.Workspace("project") as workspace:
        outcome = workspace.call("read_file", {"path": "README.md"})   # a model's tool call
        print(outcome.text)
        workspace.edit("README.md", [Replacement("colour", "color")])  # the same tools with types

`call` returns an `Outcome`, in which a failure is a value; the typed methods raise `ToolError`. Any number of threads
can use a workspace. A process that has called a tool must not be forked: start further processes by `spawn`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import fcntl as _fcntl  # noqa: F401
except ImportError:
    raise ImportError(
        "paddock_files cannot be imported on this system: it needs `fcntl`, which Linux and macOS have; on Windows, "
        "run the native program in place of it, with the command `paddock-files`"
    ) from None

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
    # Loading the types takes longer than a call, and only typed methods need them.
    if name in ("FileRange", "Replacement"):
        from . import types

        return getattr(types, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
