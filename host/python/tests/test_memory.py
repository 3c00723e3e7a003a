"""Workspaces in memory."""

from __future__ import annotations

import io
import tarfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from paddock_files import MemoryWorkspace, ToolError


def archive(**files: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return held.getvalue()


def names(snapshot: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(snapshot)) as tar:
        return tar.getnames()


def test_a_tree_is_loaded_changed_and_taken_out() -> None:
    with MemoryWorkspace() as workspace:
        assert names(workspace.snapshot()) == []
        workspace.load(archive(a="one\n"))
        assert workspace.call("read_file", {"path": "a"}).text.startswith("1|one\n")
        workspace.write("dir/b", "two\n")
        assert names(workspace.snapshot()) == ["a", "dir", "dir/b"]
    with pytest.raises(ToolError, match="the workspace was closed"):
        workspace.snapshot()


def test_checkpoints() -> None:
    with MemoryWorkspace() as workspace:
        workspace.write("a", "one\n")
        workspace.checkpoint("first")
        workspace.write("a", "two\n")
        workspace.checkpoint("second")
        workspace.rollback("first")
        assert (workspace.read("a").content, workspace.checkpoints()) == ("one", ["first", "second"])
        with pytest.raises(ToolError) as raised:
            workspace.rollback("third")
        assert raised.value.code == "not-found"
        with pytest.raises(ToolError) as raised:
            workspace.checkpoint("first")
        assert raised.value.code == "already-exists"


def test_a_bad_archive_leaves_the_tree() -> None:
    with MemoryWorkspace() as workspace:
        workspace.write("a", "one\n")
        for bad in (b"no archive" * 100, archive(**{"../b": "x"})):
            with pytest.raises(ToolError) as raised:
                workspace.load(bad)
            assert raised.value.code == "invalid-argument"
        assert workspace.read("a").content == "one"


def test_threads_take_turns() -> None:
    with MemoryWorkspace() as workspace:
        workspace.write("a", "x")

        def add(_: int) -> bool:
            return workspace.call("edit_file", {"path": "a", "edits": [{"old_text": "x", "new_text": "x+"}]}).ok

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(add, range(40)))
        assert workspace.read("a").content == "x" + "+" * 40


def test_a_terminated_call_loses_the_tree() -> None:
    policy = {"limits": {"max_memory_bytes": 6 << 20, "max_file_bytes": 1 << 30, "max_tree_bytes": 1 << 30}}
    with MemoryWorkspace(policy=policy) as workspace:
        outcome = workspace.call("write_file", {"path": "a", "content": "x" * (4 << 20)})
        assert outcome.error is not None and outcome.error.code == "limit-exceeded"
        outcome = workspace.call("tree")
        assert outcome.error is not None and outcome.error.code == "backend-gone"
