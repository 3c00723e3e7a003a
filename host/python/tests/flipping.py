"""A process that exchanges names while calls run."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

FLIP = """
import ctypes, sys, time
libc = ctypes.CDLL(None)
pause, *names = sys.argv[1:]
names = [name.encode() for name in names]
print(flush=True)
while True:
    for one, other in zip(names[::2], names[1::2]):
        assert libc.renameat2(-100, one, -100, other, 2) == 0
    time.sleep(float(pause))
"""


class Flipping:
    """A process that repeatedly exchanges each of these pairs of names."""

    def __init__(self, *names: Path, pause_s: float = 0.0) -> None:
        if not hasattr(ctypes.CDLL(None), "renameat2"):
            pytest.skip("this system has no way to exchange two names")
        arguments = [str(pause_s), *map(str, names)]
        self._process = subprocess.Popen([sys.executable, "-c", FLIP, *arguments], stdout=subprocess.PIPE)

    def __enter__(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def __exit__(self, *_: object) -> None:
        ended = self._process.poll()
        self._process.kill()
        self._process.communicate()
        assert ended is None, "nothing was exchanged any more"
