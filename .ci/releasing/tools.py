"""Tools in pinned versions, installed on demand."""

from __future__ import annotations

import functools
import os
import sys
import tomllib
from pathlib import Path

from .common import TOOLS, run, text

# Tools that cargo builds, each with its version and further arguments.
CARGO_TOOLS = {
    "cargo-about": ["0.9.3", "--features", "cli"],
    "cargo-auditable": ["0.7.7"],
    "cargo-cyclonedx": ["0.5.9"],
    "rust-audit-info": ["0.5.4"],
    "wkg": ["0.16.1"],
}
QUIET = ["--quiet", "--disable-pip-version-check"]
CYCLONEDX_NPM = "@cyclonedx/cyclonedx-npm@6.0.1"


@functools.cache
def cargo_tool(name: str) -> Path:
    """Returns a tool that cargo builds, if it is not there: fast to build rather than fast."""
    version, *arguments = CARGO_TOOLS[name]
    root = TOOLS / f"{name}-{version}"
    tool = root / "bin" / name
    if tool.exists():
        return tool
    profile = {"LTO": "off", "OPT_LEVEL": "1", "CODEGEN_UNITS": "16"}
    environment = os.environ | {f"CARGO_PROFILE_RELEASE_{name}": value for name, value in profile.items()}
    environment["CARGO_TARGET_DIR"] = str(TOOLS / "build")
    install = ["cargo", "install", "--quiet", "--locked", "--root", root, "--version", version, name]
    run(*install, *arguments, env=environment)
    return tool


def python_tool(name: str) -> Path:
    return python_tools() / name


@functools.cache
def python_tools() -> Path:
    """Returns the directory of the tools that are Python packages, which pip compares with their hashes."""
    run(sys.executable, "-m", "venv", TOOLS / "python")
    programs = TOOLS / "python/bin"
    run(programs / "pip", "install", *QUIET, "--require-hashes", "-r", ".ci/release-tools.txt")
    return programs


@functools.cache
def python_host() -> Path:
    """Returns a Python that has the dependencies of the Python package and nothing else."""
    run(sys.executable, "-m", "venv", "--clear", "--without-pip", TOOLS / "python-host")
    python = TOOLS / "python-host/bin/python"
    pip = [python_tool("pip"), "--python", python, "install", *QUIET]
    run(*pip, "--require-hashes", "-r", ".ci/release-python-host.txt")
    # The pinned versions are those that the package asks for.
    run(*pip, "--no-index", *python_dependencies())
    return python


def python_dependencies() -> list[str]:
    return tomllib.loads(text("host/python/pyproject.toml"))["project"]["dependencies"]
