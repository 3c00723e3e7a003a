"""A hostile workspace: no path leads outside, and no call hangs."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from cases import read_tree

from paddock_files import Workspace

CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("write_file", {"path": "{}", "content": "x"}),
    ("write_file", {"path": "{}", "content": "x", "append": True}),
    ("edit_file", {"path": "{}", "edits": [{"old_text": "SECRET", "new_text": "x"}]}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: {}\n@@\n-SECRET\n+x\n*** End Patch\n"}),
    ("copy", {"source": "inside.txt", "destination": "{}", "overwrite": True}),
    ("move", {"source": "inside.txt", "destination": "{}", "overwrite": True}),
    ("make_dir", {"path": "{}/sub"}),
    ("delete", {"path": "{}/secret.txt"}),
]
READS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "{}"}),
    ("grep", {"pattern": "SECRET", "path": "{}"}),
    ("list_dir", {"path": "{}"}),
    ("tree", {"path": "{}"}),
]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    outside, root = tmp_path / "outside", tmp_path / "ws"
    for directory in (outside, tmp_path / "ws-evil", root, root / "dir"):
        directory.mkdir()
        (directory / "secret.txt").write_text("SECRET\n" if "ws" != directory.parent.name else "fine\n")
    (root / "secret.txt").unlink()
    (root / "inside.txt").write_text("inside\n")
    links = {
        "file": outside / "secret.txt",
        "directory": outside,
        "relative": "../outside/secret.txt",
        "up": "..",
        "chain": "up",
        "slash": "../outside/",
        "dangling": outside / "new.txt",
        "root": "/",
        "proc": "/proc/self/root",
        "sibling": "../ws-evil/secret.txt",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return tmp_path


WAYS = [
    "file", "relative", "dangling", "sibling", "directory/secret.txt", "directory/new.txt", "up/outside/secret.txt",
    "chain/outside/secret.txt", "slash/secret.txt", "root/etc/passwd", "proc/etc/passwd", "../outside/secret.txt",
    "dir/../../outside/secret.txt", "/etc/passwd", "//etc/passwd", "{top}/outside/secret.txt",
    "{top}/ws-evil/secret.txt",
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_nothing_leads_out(top: Path, way: str) -> None:
    way = way.replace("{top}", str(top))
    before = outside(top)
    workspace = Workspace(top / "ws", state_dir=top / "state")
    for tool, arguments in [*READS, *CHANGES]:
        filled = {
            name: value.replace("{}", way) if isinstance(value, str) else value for name, value in arguments.items()
        }
        outcome = workspace.call(tool, filled)
        assert "SECRET" not in outcome.text.replace("-SECRET", "") and "root:" not in outcome.text, (tool, way, outcome)
        if tool != "move" and tool != "copy":
            assert not outcome.ok, (tool, way, outcome)
    assert outside(top) == before


def test_walks_follow_no_link(top: Path) -> None:
    workspace = Workspace(top / "ws", state_dir=False)
    result = workspace.grep("SECRET|root:|inside", include_hidden=True, include_ignored=True)
    assert [match.path for match in result.matches] == ["inside.txt"] and result.skipped.links == 10
    assert "secret" not in workspace.tree(depth=9).tree.replace('"secret.txt","kind":"file","size":5', "")


def test_special_files_are_refused_at_once(top: Path) -> None:
    root = top / "ws"
    os.mkfifo(root / "fifo")
    held = socket.socket(socket.AF_UNIX)
    held.bind(str(root / "socket"))
    (root / os.fsdecode(b"bad\xff.txt")).write_text("needle\n")
    workspace = Workspace(root, state_dir=False)
    started = time.monotonic()
    for name in ("fifo", "socket"):
        for tool, arguments in [READS[0], CHANGES[0], CHANGES[1], CHANGES[2]]:
            outcome = workspace.call(tool, {**arguments, "path": name})
            assert outcome.error is not None and outcome.error.code == "not-a-file", (tool, outcome)
    result = workspace.grep("inside")
    assert (result.skipped.special, result.skipped.unnamed, len(result.matches)) == (2, 1, 1)
    assert time.monotonic() - started < 2
    held.close()


def outside(top: Path) -> dict[bytes, Any]:
    return {path: node for path, node in read_tree(top).items() if not path.startswith((b"ws/", b"state"))}
