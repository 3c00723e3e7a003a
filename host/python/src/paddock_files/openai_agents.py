"""The tools for the OpenAI Agents SDK: `Agent(name=…, tools=paddock_files.openai_agents.tools(workspace))`.

Needs the extra `paddock-files[openai-agents]`.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import FunctionTool, Tool

from ._calls import DIALECT, Calls
from .formats import describe, plain


def tools(workspace: Calls, dialect: str = DIALECT) -> list[Tool]:
    """The tools of a dialect in a workspace.

    The model is shown a tool's text, that of a failure too, which says what would work instead. Calls run on threads.
    """
    return [
        FunctionTool(
            name=plain(tool.name),
            description=tool.description,
            params_json_schema=json.loads(tool.input_schema),
            on_invoke_tool=call_of(workspace, tool.name, dialect),
            # Strict schemas do not accept optional arguments.
            strict_json_schema=False,
        )
        for tool in describe(dialect)
    ]


def call_of(workspace: Calls, tool: str, dialect: str) -> Any:
    async def call(context: Any, arguments: str) -> str:
        outcome = await asyncio.to_thread(workspace.call, tool, arguments or "{}", dialect=dialect)
        return outcome.text

    return call
