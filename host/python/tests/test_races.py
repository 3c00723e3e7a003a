"""Another process changes the workspace during calls: nothing outside is read or changed, and no call hangs.

`PADDOCK_RACES` is the number of raced calls. The control, a program that checks a path and then opens it, must fail in
the same race.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
from flipping import Flipping

from paddock_files import Workspace

CALLS = int(os.environ.get("PADDOCK_RACES", "2000"))
TRIES = 20_000
"""Times that a check and an open are raced, until one is redirected."""
FIFO_EVERY = 10
"""Of so many calls one more is raced with a FIFO: where it opens that, it waits until it is freed."""

READS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "dir/secret.txt"}),
    ("read_file", {"path": "file.txt"}),
    ("grep", {"pattern": "SECRET", "path": "dir"}),
    ("list_dir", {"path": "dir"}),
    ("read_file", {"path": "dir/only-outside.txt"}),
    ("stat", {"path": "dir/only-outside.txt"}),
    ("glob", {"pattern": "**/only-*.txt"}),
    ("tree", {"path": "."}),
]
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("write_file", {"path": "dir/new.txt", "content": "x"}),
    ("write_file", {"path": "file.txt", "content": "inside\n"}),
    ("edit_file", {"path": "dir/secret.txt", "edits": [{"old_text": "SECRET", "new_text": "x"}]}),
    ("copy", {"source": "dir/secret.txt", "destination": "copied.txt", "overwrite": True}),
    ("copy", {"source": "inside.txt", "destination": "dir/copied.txt", "overwrite": True}),
    ("move", {"source": "dir/copied.txt", "destination": "dir/moved.txt", "overwrite": True}),
    ("make_dir", {"path": "dir/sub"}),
    ("delete", {"path": "dir/new.txt"}),
    ("delete", {"path": "dir/only-outside.txt"}),
]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    root, outside = tmp_path / "ws", tmp_path / "outside"
    for directory in (outside, root, root / "dir"):
        directory.mkdir()
    for name in ("secret.txt", "only-outside.txt"):
        (outside / name).write_text("SECRET\n")
    for name in ("dir/secret.txt", "file.txt", "inside.txt"):
        (root / name).write_text("inside\n")
    (root / "flip").symlink_to("../outside")
    (root / "flip.txt").symlink_to("../outside/secret.txt")
    return tmp_path


def test_swapped_links_do_not_lead_outside(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = top / "ws"
    before, workspace, ended = outside(top), Workspace(root, state_dir=top / "state"), {True: 0, False: 0}
    # Reads take less time than changes, so more of them fit between two exchanges.
    turns = [call for read, change in zip(cycle(READS), CHANGES * len(READS)) for call in (read, read, read, change)]
    with Flipping(root / "dir", root / "flip", root / "file.txt", root / "flip.txt"):
        for tool, arguments in islice(cycle(turns), CALLS):
            outcome = workspace.call(tool, arguments)
            assert "SECRET" not in outcome.text.replace("`SECRET`", ""), (tool, arguments, outcome)
            assert not outcome.ok or "only-outside" not in outcome.result_json, (tool, arguments, outcome)
            assert outcome.error is None or outcome.error.code != "limit-exceeded", (tool, arguments, outcome)
            ended[outcome.ok] += 1
        redirected = any(checked_and_read(root) == "SECRET\n" for _ in range(TRIES))
    assert outside(top) == before
    assert not [path for path in root.rglob("*.txt") if not path.is_symlink() and "SECRET" in path.read_text()]
    with capsys.disabled():
        print(f"\n{CALLS} calls raced: {ended[True]} answered, {ended[False]} refused, none led outside")
    assert ended[True] and ended[False] and redirected, "the race is too slow to find anything"


def checked_and_read(root: Path) -> str | None:
    """Returns the content that a program reads if it checks where a path leads and then opens it."""
    path = root / "dir/secret.txt"
    try:
        return path.read_text() if path.resolve(strict=True).is_relative_to(root.resolve()) else None
    except OSError:
        return None


def outside(top: Path) -> dict[str, Any]:
    """Returns names, contents and times, so that an entry that was added and removed again is noticed too."""
    return dict(states_below(top / "outside"))


def states_below(path: Path) -> Iterator[tuple[str, Any]]:
    status = path.lstat()
    yield str(path), (status.st_mode, status.st_mtime_ns, status.st_ctime_ns, path.is_dir() or path.read_bytes())
    if path.is_dir():
        for each in path.iterdir():
            yield from states_below(each)


def test_a_fifo_that_is_swapped_in_hangs_no_call(top: Path) -> None:
    os.mkfifo(top / "ws/fifo")
    workspace, counts = Workspace(top / "ws", state_dir=False), {"read": 0, "refused": 0}
    longest = 0.0
    with Flipping(top / "ws/inside.txt", top / "ws/fifo", pause_s=0.002):
        for _ in range(CALLS // FIFO_EVERY):
            started = time.monotonic()
            outcome = workspace.call("read_file", {"path": "inside.txt"})
            longest = max(longest, time.monotonic() - started)
            counts["read" if outcome.ok else "refused"] += 1
            assert outcome.ok or (outcome.error and outcome.error.code in ("not-a-file", "io", "not-found")), outcome
    assert counts["read"] and counts["refused"] and longest < 5, (counts, longest)
