"""Checks every dialect's tools in every provider's format against the provider's own types.

Usage: check.py PADDOCK (in an environment with requirements.txt)
"""

import json
import re
import subprocess
import sys

from anthropic.types import ToolParam
from google.genai.types import FunctionDeclaration, Tool as GeminiTool
from jsonschema import Draft202012Validator
from mcp.types import Tool as McpTool
from openai.types.chat import ChatCompletionFunctionToolParam
from pydantic import ConfigDict, TypeAdapter, with_config

PLAIN = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
MCP_NAME = re.compile(r"^[A-Za-z0-9_.-]{1,128}$")


def strict(typed_dict):
    """Returns a validator that refuses members which the provider's type does not have."""
    return TypeAdapter(with_config(ConfigDict(extra="forbid"))(typed_dict))


OPENAI = strict(ChatCompletionFunctionToolParam)
ANTHROPIC = strict(ToolParam)


def tools(paddock, dialect, form):
    run = subprocess.run([paddock, "tools", "--dialect", dialect, "--format", form], capture_output=True, check=True)
    return json.loads(run.stdout)


def check_schema(schema):
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object", schema


def check(paddock, dialect):
    mcp = tools(paddock, dialect, "mcp")
    for tool in mcp:
        validated = McpTool.model_validate(tool)
        assert MCP_NAME.match(validated.name), validated.name
        check_schema(tool["inputSchema"])
        check_schema(tool["outputSchema"])
    for tool in tools(paddock, dialect, "openai"):
        OPENAI.validate_python(tool)
        assert PLAIN.match(tool["function"]["name"]), tool
        check_schema(tool["function"]["parameters"])
    for tool in tools(paddock, dialect, "anthropic"):
        ANTHROPIC.validate_python(tool)
        assert PLAIN.match(tool["name"]), tool
        check_schema(tool["input_schema"])
    declared = 0
    for group in tools(paddock, dialect, "gemini"):
        for declaration in GeminiTool.model_validate(group).function_declarations:
            assert isinstance(declaration, FunctionDeclaration)
            assert PLAIN.match(declaration.name), declaration.name
            check_schema(declaration.parameters_json_schema)
            declared += 1
    assert declared == len(mcp), (dialect, declared, len(mcp))
    print(f"pass {dialect}: {len(mcp)} tools")


def dialects(paddock):
    """Returns the names of all dialects, from the error for an unknown dialect."""
    run = subprocess.run([paddock, "tools", "--dialect", "?"], capture_output=True)
    return re.search(r"dialects are (.+)$", json.loads(run.stdout)["error"]["hint"])[1].split(", ")


if __name__ == "__main__":
    names = dialects(sys.argv[1])
    assert len(names) > 8, names
    for name in names:
        check(sys.argv[1], name)
