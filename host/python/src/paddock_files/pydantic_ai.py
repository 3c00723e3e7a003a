"""The tools for Pydantic AI: `Agent(model, toolsets=[paddock_files.pydantic_ai.toolset(workspace)])`.

Needs the extra `paddock-files[pydantic-ai]`.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai import FunctionToolset, Tool

from ._calls import DIALECT, Calls
from .formats import describe, plain


def toolset(workspace: Calls, dialect: str = DIALECT) -> FunctionToolset[Any]:
    """The tools of a dialect in a workspace.

    The model is shown a tool's text, that of a failure too, which says what would work instead. Calls run on threads,
    those that change something one after the other.
    """
    return FunctionToolset(
        [
            Tool.from_schema(
                call_of(workspace, tool.name, dialect),
                name=plain(tool.name),
                description=tool.description,
                json_schema=json.loads(tool.input_schema),
                sequential=not tool.annotations.read_only,
            )
            for tool in describe(dialect)
        ]
    )


def call_of(workspace: Calls, tool: str, dialect: str) -> Any:
    def call(**arguments: Any) -> str:
        return workspace.call(tool, arguments, dialect=dialect).text

    return call
