"""`python -m paddock_files` prints the same output as the binary, byte for byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import paddock_files

BINARY = os.environ.get("PADDOCK_BINARY")
OWN = [sys.executable, "-m", "paddock_files"]

CALLS = [
    ["read_file", '{"path": "a.txt"}'],
    ["read_file", '{"path": "ü.txt"}'],
    ["read_file", '{"path": "../a.txt"}'],
    ["grep", '{"pattern": "[a-z]+", "context": 1}'],
    ["tree"],
    ["read_file", "{"],
    ["reed_file"],
    ["write_file", '{"path": "new \\u0001 \\ud83d\\ude00.txt", "content": "\\u007f\\u2028"}'],
    ["move", '{"source": "a.txt", "destination": "b.txt"}'],
    ["--read-only", "write_file", '{"path": "x", "content": "x"}'],
    ["--dialect", "mcp-filesystem", "read_text_file", '{"path": "ü.txt"}'],
    ["--dialect", "mcp-filesystem", "read_text_file", '{"path": "none"}'],
    ["--dialect", "anthropic", "str_replace_based_edit_tool", '{"command": "view"}'],
    ["--dialect", "none", "tree"],
    ["--dialect", "anthropic,paddock:grep,glob", "grep", '{"pattern": "one"}'],
    ["--dialect", "anthropic,paddock:grep,glob", "tree"],
    ["--dialect", "codex,paddock", "tree"],
    ["read_file", "-"],
]


def project(directory: Path) -> Path:
    directory.mkdir(parents=True)
    (directory / "a.txt").write_text("one\ntwo\n")
    (directory / "ü.txt").write_text('quotes " and \\ and \t tabs\x01\x7f\u2028 😀\n')
    for file in directory.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return directory


def run(command: list[str], directory: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=directory, input=stdin, capture_output=True)


@pytest.mark.skipif(BINARY is None, reason="PADDOCK_BINARY names no binary to compare with")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join(call)[:40])
def test_calls_print_the_same(tmp_path: Path, call: list[str]) -> None:
    printed = []
    for name, command in (("binary", [BINARY or ""]), ("python", OWN)):
        process = run([*command, "call", *call], project(tmp_path / name / "work"), b'{"path": "a.txt"}')
        output = json.loads(process.stdout)
        backup = (output.get("result") or {}).get("backup") or "none"
        # The text contains the time of the backup, which is the first part of its name.
        backup_time = backup.split("-")[0].encode()
        printed.append(
            (process.returncode, process.stdout.replace(backup.encode(), b"<backup>").replace(backup_time, b"<backup>"))
        )
    assert printed[0] == printed[1]


@pytest.mark.skipif(BINARY is None, reason="PADDOCK_BINARY names no binary to compare with")
@pytest.mark.parametrize("form", ["mcp", "openai", "anthropic", "gemini"])
def test_tools_are_the_same(tmp_path: Path, form: str) -> None:
    for dialect in paddock_files.dialects():
        native = run([BINARY or "", "tools", "--dialect", dialect, "--format", form], tmp_path).stdout
        assert json.dumps(paddock_files.tools(dialect, form)) == json.dumps(json.loads(native))  # type: ignore[arg-type]
    own = run([*OWN, "tools", "--dialect", "codex", "--format", form], tmp_path).stdout
    theirs = run([BINARY or "", "tools", "--dialect", "codex", "--format", form], tmp_path).stdout
    assert json.loads(own) == json.loads(theirs)


def test_a_batch_answers_a_line_for_a_line(tmp_path: Path) -> None:
    lines = [
        {"tool": "read_file", "arguments": {"path": "a.txt"}},
        {"tool": "read_file"},
        {"tool": "read_file", "argument": {}},
        {"tool": "read_text_file", "arguments": {"path": "a.txt"}, "dialect": "mcp-filesystem"},
    ]
    stdin = "\n\n".join(json.dumps(line) for line in lines).encode()
    process = run([*OWN, "batch"], project(tmp_path / "work"), stdin)
    output = [json.loads(line)["ok"] for line in process.stdout.splitlines()]
    assert (output, process.returncode) == ([True, False, False, True], 1)


MISSING = [
    ("paddock", "read_file", {"path": "b"}),
    ("dispatch", "read_file", {"path": "b"}),
    ("dotnet-prompt", "read_file", {"path": "b"}),
    ("chorus", "file.read", {"path": "b"}),
    ("weakincentives", "read_file", {"file_path": "b"}),
    ("lincona", "read_file", {"path": "b"}),
    ("mcp-filesystem", "read_text_file", {"path": "b"}),
    ("anthropic", "str_replace_based_edit_tool", {"command": "view", "path": "b"}),
    ("codex", "read_file", {"file_path": "b"}),
    ("openai", "apply_patch", {"operation": {"type": "delete_file", "path": "b"}}),
]
"""A call that fails because a file is missing, in each dialect."""


def test_errors_have_the_same_members_in_every_dialect(tmp_path: Path) -> None:
    directory = project(tmp_path / "work")
    assert [dialect for dialect, *_ in MISSING] == paddock_files.dialects()
    calls = [(call, "not-found") for call in MISSING]
    calls += [((dialect, tool, {"no_such_argument": [1]}), "invalid-argument") for dialect, tool, _ in MISSING]
    calls += [((dialect, "no_such_tool", {}), "unknown-tool") for dialect, *_ in MISSING]
    lines = [{"dialect": dialect, "tool": tool, "arguments": args} for (dialect, tool, args), _ in calls]
    process = run([*OWN, "batch"], directory, "\n".join(json.dumps(line) for line in lines).encode())
    for (call, code), line in zip(calls, process.stdout.splitlines(), strict=True):
        output = json.loads(line)
        assert list(output) == ["ok", "error", "result", "text"], call
        assert list(output["error"]) == ["code", "message", "path", "hint"], call
        assert (output["ok"], output["error"]["code"]) == (False, code), call
        assert output["text"] and output["result"], call
    wrong = run([*OWN, "call", "--dialect", "codex", "read_file", "{"], directory)
    assert list(json.loads(wrong.stdout)) == ["ok", "error", "result", "text"]


def test_dialects_combine(tmp_path: Path) -> None:
    directory = project(tmp_path / "work")
    combined = "anthropic,paddock:grep,glob"
    process = run([*OWN, "call", "--dialect", combined, "grep", '{"pattern": "two"}'], directory)
    assert [match["path"] for match in json.loads(process.stdout)["result"]["matches"]] == ["a.txt"]
    names = [tool["name"] for tool in paddock_files.tools(combined, "anthropic")]
    assert names == ["str_replace_based_edit_tool", "memory", "grep", "glob"]
    refused = run([*OWN, "tools", "--dialect", "codex,paddock"], directory)
    assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (1, "invalid-argument")
    with paddock_files.Workspace(directory) as workspace:
        outcome = workspace.call("stat", "{}", dialect=combined)
    assert outcome.error is not None and outcome.error.code == "unknown-tool"


def test_statuses(tmp_path: Path) -> None:
    directory = project(tmp_path / "work")
    assert run([*OWN, "call", "tree"], directory).returncode == 0
    assert run([*OWN, "call", "read_file", "{}"], directory).returncode == 1
    assert run([*OWN, "call"], directory).returncode == 2
    failed = run([*OWN, "call", "--root", "none", "tree"], directory)
    assert failed.returncode == 3 and failed.stderr.startswith(b"paddock: cannot open the root `none`: No such file")


def test_a_policy_that_is_not_read_is_not_passed_over(tmp_path: Path) -> None:
    directory = project(tmp_path / "work")
    (directory / ".paddock.yaml").write_text("read_only: true\n")
    write = ["write_file", '{"path": "b.txt", "content": "b"}']
    refused = run([*OWN, "call", *write], directory)
    assert refused.returncode == 3 and b"--policy FILE" in refused.stderr and not (directory / "b.txt").exists()
    (tmp_path / "policy.json").write_text('{"read_only": true}')
    process = run([*OWN, "call", "--policy", str(tmp_path / "policy.json"), *write], directory)
    assert json.loads(process.stdout)["error"]["code"] == "read-only"


def test_the_component_is_written_out(tmp_path: Path) -> None:
    assert run([*OWN, "component", "-o", "paddock.wasm"], tmp_path).returncode == 0
    assert (tmp_path / "paddock.wasm").read_bytes() == paddock_files.component()
