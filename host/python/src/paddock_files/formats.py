"""Definitions of the tools in the formats of providers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, get_args

from . import _tool_traits
from ._convert import check_text, lift
from .errors import PaddockError, ToolError

if TYPE_CHECKING:
    from .types import Tool

Format = Literal["mcp", "openai", "anthropic", "gemini"]
"""A format: Model Context Protocol, OpenAI chat completions, Anthropic messages, Google Gemini."""


def describe(dialect: str = "paddock") -> list[Tool]:
    """Returns the tools of a dialect, always in the same order. Raises `ToolError` for an unknown dialect."""
    check_text("dialect", dialect)
    answer = lift(("result", ("list", "tool")), _tool_traits.bare("tools", "describe", ("string", dialect)))
    if isinstance(answer, ToolError):
        raise answer
    tool_list: list[Tool] = answer
    return tool_list


def tools(dialect: str = "paddock", format: Format = "mcp") -> list[dict[str, Any]]:
    """Returns the tools of a dialect in the format of a provider, as `paddock tools --format` prints them."""
    if format not in get_args(Format):
        raise PaddockError(f"there is no format `{format}`; there are {', '.join(get_args(Format))}")
    definitions = describe(dialect)
    if format == "gemini":
        return [{"functionDeclarations": [gemini(tool) for tool in definitions]}]
    convert = {"mcp": mcp, "openai": openai, "anthropic": anthropic}[format]
    return [convert(tool) for tool in definitions]


def dialects() -> list[str]:
    """Returns the names of all dialects."""
    names: list[str] = _tool_traits.bare("tools", "dialects")
    return names


def plain(name: str) -> str:
    """Returns the name for providers that allow only letters, digits, `_` and `-`. Calls accept this name too."""
    return name.replace(".", "_")


def mcp(tool: Tool) -> dict[str, Any]:
    hints = tool.annotations
    return {
        "name": tool.name,
        "title": hints.title,
        "description": tool.description,
        "inputSchema": json.loads(tool.input_schema),
        "outputSchema": json.loads(tool.output_schema),
        "annotations": {
            "title": hints.title,
            "readOnlyHint": hints.read_only,
            "destructiveHint": hints.destructive,
            "idempotentHint": hints.idempotent,
            "openWorldHint": False,
        },
    }


def openai(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": plain(tool.name),
            "description": tool.description,
            "parameters": json.loads(tool.input_schema),
        },
    }


def anthropic(tool: Tool) -> dict[str, Any]:
    return {
        "name": plain(tool.name),
        "description": tool.description,
        "input_schema": json.loads(tool.input_schema),
    }


def gemini(tool: Tool) -> dict[str, Any]:
    return {
        "name": plain(tool.name),
        "description": tool.description,
        "parametersJsonSchema": json.loads(tool.input_schema),
    }
