"""Every case of `tests/cases` in this host, on a directory and in memory: results and trees are the same, byte for
byte.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import IN_MEMORY, Case, Names, Tree, cleared, pack, read_modes, read_tree, unpack, write_tree

import paddock_files
from paddock_files._calls import Calls
from paddock_files.outcome import plain_change

ALL = list(Case.all())
# Cases in which the Rust host, whose own code sets modes, leaves other modes of files than this host. WASI has no modes
# and wasmtime sets none, so a copy has the mode of a new file. Results and contents are the same.
OTHER_MODES = {"copy/012_binary_and_modes": {"run.sh": "0755"}}


def test_there_are_cases() -> None:
    assert len(ALL) >= 250


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_directory(case: Case, tmp_path: Path) -> None:
    skip(case, "directory")
    names = Names(str(tmp_path / "ws"), str(tmp_path / "outside"))
    for neighbour in ("outside", "ws-evil", "ws "):
        (tmp_path / neighbour).mkdir()
        (tmp_path / neighbour / "secret.txt").write_text("SECRET\n")
    (tmp_path / "ws").mkdir()
    write_tree(case.absolute_start(names), tmp_path / "ws")
    before = outside(tmp_path)
    with paddock_files.Workspace(names.root, policy=case.policy, state_dir=tmp_path / "state") as workspace:
        results = case.results(names, through(workspace))
    assert outside(tmp_path) == before, "something outside the workspace was changed"
    tree = read_tree(tmp_path / "ws")
    compare(case, results, cleared(tree, names), read_modes(tmp_path / "ws", tree))


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_memory(case: Case) -> None:
    skip(case, "component_memory")
    with paddock_files.MemoryWorkspace(policy=case.policy) as workspace:
        workspace.load(pack(case.absolute_start(IN_MEMORY)))
        results = case.results(IN_MEMORY, through(workspace))
        tree = unpack(workspace.snapshot())
    compare(case, results, cleared(tree, IN_MEMORY) if case.absolute else tree, None)


def skip(case: Case, backend: str) -> None:
    reason = case.not_on(backend)
    if reason is not None:
        pytest.skip(reason)


def through(workspace: Calls) -> Callable[[str, str, str], dict[str, Any]]:
    def call(dialect: str, tool: str, arguments: str) -> dict[str, Any]:
        outcome = workspace.call(tool, arguments, dialect=dialect)
        return {
            "ok": outcome.ok,
            "result" if outcome.ok else "error": outcome.result,
            "text": outcome.text,
            "changes": [plain_change(change) for change in outcome.changes],
            "truncated": outcome.truncated,
        }

    return call


def outside(top: Path) -> Tree:
    return {path: node for path, node in read_tree(top).items() if not path.startswith((b"ws/", b"state"))}


def compare(case: Case, results: str, tree: Tree, modes: dict[bytes, int] | None) -> None:
    assert results == case.expected_results()
    expected = case.expected_tree(modes is not None)
    if modes is not None and case.name in OTHER_MODES:
        assert expected["modes"] != OTHER_MODES[case.name]
        expected["modes"] = OTHER_MODES[case.name]
    assert case.recorded(tree, modes) == expected
