"""The component in a runtime with nothing of ours: stock wasmtime, a directory and no policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wasmtime import Config, Engine, Store, WasiConfig
from wasmtime.component import Component, Linker

import paddock


def test_a_directory_is_all_that_it_needs(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "run.sh").write_text("#!/bin/sh\necho one\n")
    (root / "run.sh").chmod(0o755)
    (root / "out").symlink_to("..")
    (tmp_path / "secret.txt").write_text("SECRET\n")
    engine = Engine(Config())
    component, linker = Component(engine, paddock.component()), Linker(engine)
    linker.add_wasip2()

    def call(tool: str, **arguments: Any) -> Any:
        store, wasi = Store(engine), WasiConfig()
        wasi.preopen_dir(str(root), "/workspace")
        store.set_wasi(wasi)
        instance = linker.instantiate(store, component)
        tools = component.get_export_index("paddock:files/tools@0.1.0")
        index = component.get_export_index("call", tools)
        assert index is not None
        function = instance.get_func(store, index)
        assert function is not None
        return function(store, "paddock", tool, json.dumps(arguments))

    assert call("read_file", path="run.sh").text == "1|#!/bin/sh\n2|echo one\n"
    assert call("edit_file", path="run.sh", edits=[{"old_text": "one", "new_text": "two"}]).ok
    assert (root / "run.sh").read_text() == "#!/bin/sh\necho two\n"
    assert (root / "run.sh").stat().st_mode & 0o7777 == 0o755
    for path in ("out/secret.txt", "../secret.txt", str(tmp_path / "secret.txt")):
        assert call("read_file", path=path).error.code == "outside-workspace"
    assert (tmp_path / "secret.txt").read_text() == "SECRET\n"
