"""The component, with the same bytes on every machine."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .common import run

COMPONENT_TARGET = "wasm32-wasip2"


def build_component(directory: Path, target_directory: Path, home: Path) -> Path:
    """Builds the component as `host/rust/build.rs` does, and returns the file."""
    environment = {name: value for name, value in os.environ.items() if "RUSTFLAGS" not in name}
    environment |= {"CARGO_HOME": str(home), "CARGO_TARGET_DIR": str(target_directory)}
    build = ["cargo", "build", "--quiet", "--locked", "--package", "paddock-guest", "--lib", "--profile", "component"]
    flags = without_source_directories(COMPONENT_TARGET, home)
    run(*build, "--target", COMPONENT_TARGET, *flags, cwd=directory, env=environment)
    return target_directory / COMPONENT_TARGET / "component/paddock_guest.wasm"


def without_source_directories(target: str, home: Path, *others: Path) -> list[str]:
    """Returns the arguments of cargo that the function of this name in `host/rust/build.rs` returns, for further
    directories too.
    """
    directories = [*sorted((home / "registry/src").iterdir()), *others]
    flags = [f"--remap-path-prefix={directory}=" for directory in directories]
    return ["--config", f"target.{target}.rustflags={json.dumps(flags)}"]
