"""The build hook: which component the package gets. The hook is called as hatchling calls it."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import pytest

HOOK = Path(__file__).parent.parent / "hatch_build.py"
COMPONENT = "src/paddock_files/paddock.wasm"


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns the module of the hook. Its base class is hatchling's, which is not installed with the tests."""
    for name in ("PADDOCK_COMPONENT", "PADDOCK_NATIVE", "PADDOCK_PLATFORM", "PADDOCK_LICENCES"):
        monkeypatch.delenv(name, raising=False)
    name = "hatchling.builders.hooks.plugin.interface"
    for end in range(1, name.count(".") + 2):
        package = ".".join(name.split(".")[:end])
        monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
    sys.modules[name].BuildHookInterface = object  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("hatch_build", HOOK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(hook: Any, root: Path, target: str = "wheel") -> tuple[dict[str, Any], list[Path]]:
    """Runs the hook in the project at `root`. Returns the build data, and the repositories that cargo would build."""
    built: list[Path] = []

    class Hook(hook.ComponentHook):  # type: ignore[misc]
        def build(self, repository: Path, target: Path) -> None:
            built.append(repository.resolve())
            target.write_bytes(b"built")

    component_hook = Hook()
    component_hook.root, component_hook.target_name = str(root), target
    build_data: dict[str, Any] = {"force_include": {}}
    component_hook.initialize("standard", build_data)
    return build_data, built


def project(root: Path, *, is_source_distribution: bool, component: bytes | None) -> Path:
    """Writes a project two directories below something that looks like the repository."""
    target = root / COMPONENT
    target.parent.mkdir(parents=True)
    if is_source_distribution:
        (root / "PKG-INFO").write_text("Metadata-Version: 2.4\n")
    if component is not None:
        target.write_bytes(component)
    manifest = root / "../../host/rust/Cargo.toml"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text("")
    return root


def test_a_source_distribution_runs_no_build_of_the_directories_above_it(hook: Any, tmp_path: Path) -> None:
    root = project(tmp_path / "pip-install-x/paddock", is_source_distribution=True, component=b"packed")
    assert run(hook, root)[1] == []
    assert (root / COMPONENT).read_bytes() == b"packed"
    (root / COMPONENT).unlink()
    with pytest.raises(FileNotFoundError, match="no component"):
        run(hook, root)


def test_a_clone_builds_the_component(hook: Any, tmp_path: Path) -> None:
    root = project(tmp_path / "host/python", is_source_distribution=False, component=b"of an earlier build")
    assert run(hook, root)[1] == [tmp_path.resolve()]
    assert (root / COMPONENT).read_bytes() == b"built"


def test_a_relative_path_starts_where_the_build_was_started(
    hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path / "a/b", is_source_distribution=True, component=b"packed")
    started = tmp_path / "started"
    started.mkdir()
    for name in ("component.wasm", "program", "licences.txt"):
        (started / name).write_bytes(name.encode())
    # As build tools do.
    monkeypatch.chdir(root)
    monkeypatch.setenv("PWD", str(started))
    monkeypatch.setenv("PADDOCK_COMPONENT", "component.wasm")
    monkeypatch.setenv("PADDOCK_NATIVE", "./program")
    monkeypatch.setenv("PADDOCK_PLATFORM", "manylinux_2_17_x86_64")
    monkeypatch.setenv("PADDOCK_LICENCES", "../started/licences.txt")
    build_data, _ = run(hook, root)
    assert (root / COMPONENT).read_bytes() == b"component.wasm"
    files = {Path(source).read_bytes(): target for source, target in build_data["force_include"].items()}
    assert files == {b"program": "paddock_files/bin/paddock", b"licences.txt": "paddock_files/licences.txt"}
    monkeypatch.setenv("PADDOCK_COMPONENT", "none.wasm")
    with pytest.raises(FileNotFoundError, match="PADDOCK_COMPONENT: there is no file .*none.wasm; use an absolute"):
        run(hook, root)
