"""The scripts `paddock` and `paddock-files`: the native program if the wheel contains one, otherwise the Python host.

This module is outside of the package, since importing the package takes longer than a call of the native program.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "paddock_files" / "bin" / ("paddock.exe" if os.name == "nt" else "paddock")

HOST_FAILED = 3
"""Exit status, as of the command line of the package."""


def main() -> int:
    if PROGRAM.exists():
        try:
            return run()
        except OSError as cause:
            print(f"paddock: cannot run the native program, so the tools run in Python: {cause}", file=sys.stderr)
    try:
        from paddock_files.__main__ import main as run_in_python
    except ImportError as cause:
        print(f"paddock: the tools cannot run in Python: {cause}", file=sys.stderr)
        return HOST_FAILED
    return run_in_python()


def run() -> int:
    """Replaces this process by the native program; on Windows, which cannot do that, waits for its end."""
    arguments = [str(PROGRAM), *sys.argv[1:]]
    if os.name != "nt":
        os.execv(PROGRAM, arguments)
    return subprocess.run(arguments).returncode


if __name__ == "__main__":
    sys.exit(main())
