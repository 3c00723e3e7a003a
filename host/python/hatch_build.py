"""Puts the component into the package: from `PADDOCK_COMPONENT`, built by cargo from the repository around it, or in a
source distribution the component that it contains.

`PADDOCK_NATIVE` names a native program, and `PADDOCK_PLATFORM` the tag of its platform, such as
`manylinux_2_17_x86_64.musllinux_1_1_x86_64`: the wheel then contains the program, for the platform only.
`PADDOCK_LICENCES` names a file with the licences of what the component and the program are made of.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPONENT = "src/paddock_files/paddock.wasm"
TARGET = "wasm32-wasip2"
PROFILE = "component"


class ComponentHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.add_component()
        if licences := requested_path("PADDOCK_LICENCES"):
            package = "paddock_files" if self.target_name == "wheel" else "src/paddock_files"
            build_data["force_include"][str(licences)] = f"{package}/{licences.name}"
        native, platform = requested_path("PADDOCK_NATIVE"), os.environ.get("PADDOCK_PLATFORM")
        if native and self.target_name == "wheel":
            if not platform:
                raise ValueError("PADDOCK_NATIVE needs PADDOCK_PLATFORM, the platform tag of the wheel")
            program = "paddock.exe" if platform.startswith("win") else "paddock"
            build_data["force_include"][str(native)] = f"paddock_files/bin/{program}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"

    def add_component(self) -> None:
        here = Path(self.root)
        target = here / COMPONENT
        repository = here / "../.."
        # A source distribution is unpacked where the directories above it can be another user's, as in `/tmp`.
        is_source_distribution = (here / "PKG-INFO").exists()
        if prebuilt := requested_path("PADDOCK_COMPONENT"):
            shutil.copyfile(prebuilt, target)
        elif not is_source_distribution and (repository / "host/rust/Cargo.toml").exists():
            self.build(repository, target)
        elif not target.exists():
            raise FileNotFoundError(f"no component: set PADDOCK_COMPONENT to one, or put it at {target}")

    def build(self, repository: Path, target: Path) -> None:
        """Builds only the component, in the way of `host/rust/build.rs`, because a build of the whole host takes many
        times as long.
        """
        if shutil.which("cargo") is None:
            raise FileNotFoundError("no component: install Rust from rustup, or set PADDOCK_COMPONENT to a component")
        subprocess.run(["rustup", "target", "add", TARGET], cwd=repository, check=False)
        cargo = ["cargo", "build", "--locked", "--package", "paddock-guest", "--lib", "--target", TARGET]
        # The flags are those of the repository's own configuration.
        env = {name: value for name, value in os.environ.items() if name not in ("RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS")}
        env["CARGO_TARGET_DIR"] = "target/component"
        subprocess.run([*cargo, "--profile", PROFILE], cwd=repository, env=env, check=True)
        shutil.copyfile(repository / "target/component" / TARGET / PROFILE / "paddock_guest.wasm", target)


def requested_path(variable: str) -> Path | None:
    """Returns the path of the file that an environment variable names.

    A relative path starts in the directory in which the build was started. Build tools run this hook in the directory
    of the project, and `python -m build` runs it again in an unpacked source distribution; both leave `PWD` as it was.
    """
    value = os.environ.get(variable)
    if not value:
        return None
    path = Path(os.environ.get("PWD", "."), value).absolute()
    if not path.is_file():
        raise FileNotFoundError(f"{variable}: there is no file {path}; use an absolute path")
    return path
