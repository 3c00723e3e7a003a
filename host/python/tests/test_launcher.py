"""The scripts `paddock` and `paddock-files` run the native program of the wheel, or the Python host in a wheel without
one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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
