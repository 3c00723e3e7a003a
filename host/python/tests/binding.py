"""Bind mounts for tests, if this system and user can create them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import TracebackType

import pytest


class Binding:
    """Creates the directory `point` and mounts `source` there until the end of the block."""

    def __init__(self, source: Path, point: Path) -> None:
        self._point = point
        point.mkdir(exist_ok=True)
        try:
            process = subprocess.run(["mount", "--bind", source, point], capture_output=True, text=True)
            failure = process.stderr.strip() if process.returncode != 0 else None
        except OSError as cause:
            failure = str(cause)
        if failure is not None:
            pytest.skip(f"no bind mount can be made here: {failure}")

    def __enter__(self) -> Path:
        return self._point

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["umount", "--lazy", self._point], check=True)
