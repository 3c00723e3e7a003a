"""The component in a plain runtime: stock wasmtime, a directory and no policy.

Wasmtime alone is a boundary: names that another process swaps during a call do not lead outside either.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flipping import Flipping
from wasmtime import Config, Engine, Store, WasiConfig
from wasmtime.component import Component, Linker

import paddock_files

RACED = 300
"""Calls that are raced."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root, outside = tmp_path / "work", tmp_path / "outside"
    for directory in (outside, root, root / "dir"):
        directory.mkdir()
    (root / "run.sh").write_text("#!/bin/sh\necho one\n")
    (root / "run.sh").chmod(0o755)
    (root / "dir/file.txt").write_text("inside\n")
    (outside / "file.txt").write_text("SECRET\n")
    (root / "out").symlink_to("../outside")
    return root


def plain(root: Path) -> Callable[..., Any]:
    """Makes a call by stock wasmtime."""
    engine = Engine(Config())
    component, linker = Component(engine, paddock_files.component()), Linker(engine)
    linker.add_wasip2()
    tools = component.get_export_index("paddock:files/tools@0.1.0")
    index = component.get_export_index("call", tools)
    assert index is not None

    def call(tool: str, **arguments: Any) -> Any:
        store, wasi = Store(engine), WasiConfig()
        wasi.preopen_dir(str(root), "/workspace")
        store.set_wasi(wasi)
        function = linker.instantiate(store, component).get_func(store, index)
        assert function is not None
        return function(store, "paddock", tool, json.dumps(arguments))

    return call


def test_a_directory_is_all_that_it_needs(root: Path) -> None:
    call = plain(root)
    assert call("read_file", path="run.sh").text.startswith("1|#!/bin/sh\n2|echo one\n")
    assert call("edit_file", path="run.sh", edits=[{"old_text": "one", "new_text": "two"}]).ok
    assert (root / "run.sh").read_text() == "#!/bin/sh\necho two\n"
    assert (root / "run.sh").stat().st_mode & 0o7777 == 0o755
    outside = root.parent / "outside/file.txt"
    for path in ("out/file.txt", "../outside/file.txt", str(outside)):
        assert call("read_file", path=path).error.code == "outside-workspace"
        assert call("write_file", path=path, content="x").error.code == "outside-workspace"
    assert outside.read_text() == "SECRET\n"


def test_a_directory_that_is_swapped_for_a_link_leads_nowhere(root: Path) -> None:
    call, answered = plain(root), 0
    with Flipping(root / "dir", root / "out"):
        for _ in range(RACED):
            for outcome in (
                call("read_file", path="dir/file.txt"),
                call("write_file", path="dir/new.txt", content="x"),
            ):
                assert "SECRET" not in outcome.text, outcome
                answered += outcome.ok
    assert 0 < answered < 2 * RACED, "the race is too slow to find anything"
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["file.txt"]
