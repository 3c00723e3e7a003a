"""The scripts `paddock` and `paddock-files` run the native program of the wheel, or the Python host in a wheel without
one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import paddock_files
import paddock_files_launcher


def launched(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(home / "paddock_files_launcher.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, input="from stdin")


def install(home: Path, mode: int) -> None:
    """Copies the launcher and the package beside a native program that is a shell script."""
    shutil.copy(paddock_files_launcher.__file__, home)
    shutil.copytree(Path(paddock_files.__file__).parent, home / "paddock_files")
    program = home / "paddock_files/bin/paddock"
    program.parent.mkdir(exist_ok=True)
    program.write_text('#!/bin/sh\necho "$@"\ncat\nexit 7\n')
    os.chmod(program, mode)


def test_the_native_program_has_the_arguments_and_the_streams(tmp_path: Path) -> None:
    install(tmp_path, 0o755)
    process = launched(tmp_path, "call", "a b")
    assert (process.stdout, process.stderr, process.returncode) == ("call a b\nfrom stdin", "", 7)


def test_without_a_native_program_that_runs_the_tools_run_in_python(tmp_path: Path) -> None:
    install(tmp_path, 0o644)
    process = launched(tmp_path, "tools")
    assert "cannot run the native program, so the tools run in Python: " in process.stderr
    assert process.stdout.startswith("[") and process.returncode == 0
    (tmp_path / "paddock_files/bin/paddock").unlink()
    process = launched(tmp_path, "mcp", ".")
    assert "this wheel is without the native program" in process.stderr and process.returncode == 3


WITHOUT_FCNTL = "import runpy, sys; sys.modules['fcntl'] = None; sys.argv = sys.argv[1:]; "
"""The start of a program that runs as on Windows, where Python has no `fcntl`."""


def test_without_fcntl_the_native_program_runs_and_the_package_says_why_it_does_not(tmp_path: Path) -> None:
    install(tmp_path, 0o755)
    run_launcher = WITHOUT_FCNTL + "runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", run_launcher, str(tmp_path / "paddock_files_launcher.py"), "call", "a b"]
    native = subprocess.run(command, capture_output=True, text=True, input="from stdin")
    assert (native.stdout, native.stderr, native.returncode) == ("call a b\nfrom stdin", "", 7)
    (tmp_path / "paddock_files/bin/paddock").unlink()
    fallback = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (fallback.stdout, fallback.returncode) == ("", 3)
    assert fallback.stderr.startswith("paddock: the tools cannot run in Python: paddock_files cannot be imported")
    assert "Traceback" not in fallback.stderr
    command = [sys.executable, "-c", WITHOUT_FCNTL + "import paddock_files"]
    imported = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert imported.stderr.splitlines()[-1].startswith("ImportError: paddock_files cannot be imported on this system")
    assert "the native program" in imported.stderr and "During handling" not in imported.stderr


def imports_of_the_workspace(workspace: Path, command: list[str]) -> bool:
    """Runs a command in a workspace with a module `json.py`. Returns whether Python imported this module."""
    (workspace / "json.py").write_text("import pathlib\npathlib.Path(__file__).with_name('imported').touch()\n")
    subprocess.run([*command, "call", "tree"], capture_output=True, cwd=workspace)
    return (workspace / "imported").exists()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`python -P` needs Python 3.11")
def test_modules_of_the_workspace_are_not_imported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(paddock_files_launcher.__file__, home)
    shutil.copytree(Path(paddock_files.__file__).parent, home / "paddock_files")
    commands = {
        "script": [sys.executable, str(home / "paddock_files_launcher.py")],
        "safe path": [sys.executable, "-P", "-m", "paddock_files"],
        "control": [sys.executable, "-m", "paddock_files"],
    }
    imported = {}
    for name, command in commands.items():
        workspace = tmp_path / name
        workspace.mkdir()
        imported[name] = imports_of_the_workspace(workspace, command)
    assert imported == {"script": False, "safe path": False, "control": True}
