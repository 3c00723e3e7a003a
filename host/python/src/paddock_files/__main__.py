"""The command line: `paddock-files call`, `batch` and `tools` print the same output as the `paddock` binary.

The scripts of the package run it if there is no native program; `python -P -m paddock_files` always runs it.

Results go to standard output and nothing else does. The exit status is 0 where all went well, 1 where a tool failed, 2
for wrong usage and 3 where the host failed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, get_args

from . import _state
from ._calls import DIALECT
from ._engine import component_bytes
from ._mounts import Mount
from .errors import PaddockError, PolicyError, ToolError
from .formats import Format, tools
from .outcome import Outcome, compact
from .workspace import Workspace

TOOL_FAILED = 1
HOST_FAILED = 3
EXTENSIONS = ("yaml", "yml", "toml", "json")
"""File name extensions of policy files."""


def main() -> int:
    arguments = parser().parse_args()
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has closed the output, so nothing more is written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (PaddockError, OSError) as cause:
        print(f"paddock: {cause}", file=sys.stderr)
        return HOST_FAILED


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser("paddock", description="File tools for AI agents that cannot leave the workspace.")
    commands = whole.add_subparsers(required=True, metavar="COMMAND")

    call = commands.add_parser("call", help="call one tool and print its result as one JSON object")
    add_workspace(call)
    call.add_argument("tool", help="the tool; `paddock-files tools` shows all")
    call.add_argument(
        "arguments",
        nargs="?",
        default="{}",
        metavar="JSON | -",
        help="its arguments; `-` reads them from standard input",
    )
    call.set_defaults(run=run_call)

    batch = commands.add_parser("batch", help="make the calls on standard input, one JSON object a line")
    add_workspace(batch)
    batch.set_defaults(run=run_batch)

    listed = commands.add_parser("tools", help="print the tools of a dialect, as JSON for a model's interface")
    listed.add_argument("--dialect", default=DIALECT, metavar="LIST")
    listed.add_argument("--format", default="mcp", choices=get_args(Format))
    listed.set_defaults(run=run_tools)

    mcp = commands.add_parser("mcp", help="not in this host: serve the tools over MCP by the native program")
    mcp.add_argument("arguments", nargs=argparse.REMAINDER)
    mcp.set_defaults(run=run_mcp)

    component = commands.add_parser("component", help="write the WebAssembly component out, for another host")
    component.add_argument("-o", "--output", required=True, metavar="FILE")
    component.set_defaults(run=run_component)
    return whole


def add_workspace(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--root", action="append", metavar="DIR", help="a directory that the tools may use; `DIR:ro` only to look at"
    )
    command.add_argument(
        "--dialect",
        default=DIALECT,
        metavar="LIST",
        help="whose tool names, arguments and results to have; anthropic,paddock:grep,glob combines dialects",
    )
    command.add_argument("--policy", metavar="FILE", help="a JSON file that says what tools may do")
    command.add_argument("--read-only", action="store_true", help="let nothing be changed")
    command.add_argument("--state-dir", metavar="DIR", help="where to keep journals and the lock")


def opened(arguments: argparse.Namespace) -> Workspace:
    first, *further = [root(text) for text in arguments.root or ["."]]
    settings = policy(arguments)
    workspace = Workspace(
        first, policy=settings, read_only=arguments.read_only, mounts=further, state_dir=arguments.state_dir
    )
    if arguments.policy is None:
        check_others(workspace)
    return workspace


def root(text: str) -> Mount:
    # A directory can have such a name.
    if text.endswith(":ro") and not os.path.exists(text):
        return Mount(text.removesuffix(":ro"), read_only=True)
    return Mount(text)


def policy(arguments: argparse.Namespace) -> str | None:
    """Returns the policy of `--policy`, or of `PADDOCK_POLICY` without that option."""
    if arguments.policy is not None:
        return Path(arguments.policy).read_text(encoding="utf-8")
    return os.environ.get("PADDOCK_POLICY") or None


def check_others(workspace: Workspace) -> None:
    """Refuses a workspace or user with policy files that this host does not read."""
    root, config = workspace._roots[0], _state.config_directory()
    for extension in EXTENSIONS:
        # In the directory that the workspace has open.
        if root.directory.has(f".paddock.{extension}"):
            refuse_other(os.path.join(root.host, f".paddock.{extension}"))
        if config is not None and os.path.lexists(config / f"policy.{extension}"):
            refuse_other(str(config / f"policy.{extension}"))


def refuse_other(path: str) -> None:
    hint = "run the `paddock` binary, which does, or say by --policy FILE which JSON policy counts"
    raise PolicyError(f"this host does not read the policy `{path}`: {hint}")


def run_call(arguments: argparse.Namespace) -> int:
    with opened(arguments) as workspace:
        outcome = called(workspace, arguments)
    print_line(outcome.to_json())
    return 0 if outcome.ok else TOOL_FAILED


def called(workspace: Workspace, arguments: argparse.Namespace) -> Outcome:
    text = arguments.arguments
    if text == "-":
        try:
            text = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as cause:
            return Outcome.failed(ToolError("invalid-argument", f"the arguments are not UTF-8: {cause}"))
    return workspace.call(arguments.tool, text, dialect=arguments.dialect)


def run_batch(arguments: argparse.Namespace) -> int:
    ok = True
    with opened(arguments) as workspace:
        for line in sys.stdin.buffer:
            if line.strip():
                outcome = one_of_batch(workspace, line, arguments.dialect)
                ok = ok and outcome.ok
                print_line(outcome.to_json())
    return 0 if ok else TOOL_FAILED


def one_of_batch(workspace: Workspace, line: bytes, dialect: str) -> Outcome:
    try:
        call = json.loads(line)
        if not isinstance(call, dict) or not call.keys() <= {"tool", "arguments", "dialect"}:
            raise ValueError("it has other members")
        tool, call_arguments, dialect = call["tool"], call.get("arguments", {}), call.get("dialect", dialect)
        if not isinstance(tool, str) or not isinstance(dialect, str):
            raise ValueError("a name is a text")
    except (KeyError, ValueError) as cause:
        message = f'a line is {{"tool", "arguments", "dialect"}}: {cause}'
        return Outcome.failed(ToolError("invalid-argument", message))
    return workspace.call(tool, compact(call_arguments), dialect=dialect)


def run_tools(arguments: argparse.Namespace) -> int:
    try:
        definitions: Any = tools(arguments.dialect, arguments.format)
    except ToolError as error:
        print_line(Outcome.failed(error).to_json())
        return TOOL_FAILED
    print_line(json.dumps(definitions, ensure_ascii=False, indent=2))
    return 0


def run_mcp(_: argparse.Namespace) -> int:
    cause = "this host has no MCP server, and this wheel is without the native program, which has one"
    raise PaddockError(f"{cause}: `cargo install paddock-files` and `npm install --global paddock-files` install it")


def run_component(arguments: argparse.Namespace) -> int:
    Path(arguments.output).write_bytes(component_bytes())
    return 0


def print_line(line: str) -> None:
    # The client may wait for this line before it writes the next one.
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
