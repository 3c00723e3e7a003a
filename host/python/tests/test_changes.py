"""Changes in a host that cannot carry modes over a rename: files keep their modes, and a killed process leaves no
damage.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paddock_files import Replacement, Workspace


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o640, 0o664])
def test_a_changed_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    root = tmp_path / "work"
    root.mkdir()
    script = root / "run.sh"
    script.write_bytes(b"\xef\xbb\xbf#!/bin/sh\r\necho one\r\n")
    script.chmod(mode)
    try:
        os.setxattr(script, "user.paddock", b"kept")
        attributes = {"user.paddock": b"kept"}
    except OSError:
        attributes = {}
    workspace = Workspace(root, state_dir=tmp_path / "state")
    workspace.edit("run.sh", [Replacement("one", "1")])
    assert script.read_bytes() == b"\xef\xbb\xbf#!/bin/sh\r\necho 1\r\n"
    workspace.apply_patch("*** Begin Patch\n*** Update File: run.sh\n@@\n-echo 1\n+echo 2\n*** End Patch\n")
    workspace.write("run.sh", "#!/bin/sh\n")
    workspace.restore("run.sh")
    assert script.read_bytes() == b"\xef\xbb\xbf#!/bin/sh\r\necho 2\r\n"
    assert script.stat().st_mode & 0o7777 == mode
    assert {name: os.getxattr(script, name) for name in os.listxattr(script)} == attributes


WRITER = """
import sys, paddock_files
workspace = paddock_files.Workspace(sys.argv[1], state_dir=sys.argv[2])
text = {False: "a" * 400_000 + "\\n", True: "b" * 400_000 + "\\n"}
print(flush=True)
turn = False
while True:
    turn = not turn
    for name in ("one.txt", "two.txt"):
        assert workspace.call("write_file", {"path": name, "content": text[turn]}).ok
"""


def test_a_killed_process_leaves_old_or_new(tmp_path: Path) -> None:
    root, state = tmp_path / "work", tmp_path / "state"
    root.mkdir()
    whole = {(letter * 400_000 + "\n").encode() for letter in "ab"}
    for name in ("one.txt", "two.txt"):
        (root / name).write_bytes(max(whole))
        (root / name).chmod(0o755)
    torn = 0
    for _ in range(15):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(root), str(state)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(random.uniform(0.01, 0.2))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        torn += any((root / name).read_bytes() not in whole for name in ("one.txt", "two.txt"))
        # The next call, even one that only reads, finishes or undoes the interrupted change.
        assert Workspace(root, state_dir=state).call("stat", {"path": "."}).ok
        for name in ("one.txt", "two.txt"):
            assert (root / name).read_bytes() in whole and (root / name).stat().st_mode & 0o7777 == 0o755
        assert sorted(path.name for path in root.iterdir()) == ["one.txt", "two.txt"]
    print(f"{torn} of 15 were torn until the next call")
