"""What calls cost in Python, beside plain Python: `pathlib`, `open` and `re`.

Usage: python benches/python.py [FILES] (in an environment with `paddock`)
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROUNDS = 7


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve() / "work"
        make(root, files)
        starts(root)
        import paddock

        with paddock.Workspace(root, state_dir=root.with_name("state")) as workspace:
            operations(workspace, root)


def make(root: Path, files: int) -> None:
    """Files of some 4 KB, a hundred in a directory; in every tenth the word that is searched for."""
    for number in range(files):
        path = root / f"{number // 100:03}" / f"{number:05}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"line {line} of file {number}, with some more words in it" for line in range(80)]
        lines[40] += " needle" if number % 10 == 0 else ""
        path.write_text("\n".join(lines) + "\n")
    (root / "4k.txt").write_bytes(b"0123456789abcdef0123456789abcde\n" * 128)


def starts(root: Path) -> None:
    """New processes, from the second on with a warm cache."""
    empty = "pass"
    imports = "import paddock"
    opens = "import paddock; paddock.Workspace('.').call('read_file', {'path': '4k.txt'})"
    for name, program in (("python, nothing", empty), ("import paddock", imports), ("import, open, read 4 KB", opens)):
        show(name, lambda: subprocess.run([sys.executable, "-c", program], cwd=root, check=True), 1)


def operations(workspace: object, root: Path) -> None:
    from paddock import Replacement, Workspace

    assert isinstance(workspace, Workspace)
    turn = [0]

    def edit() -> None:
        turn[0] += 1
        old, new = ("0123", "0124") if turn[0] % 2 else ("0124", "0123")
        workspace.edit("4k.txt", [Replacement(old, new, replace_all=True)])

    def plain_edit() -> None:
        path = root / "4k.txt"
        path.write_text(path.read_text().replace("0123", "0123"))

    def plain_grep() -> list[tuple[Path, int]]:
        pattern = re.compile("needle$", re.MULTILINE)
        return [
            (path, len(found)) for path in sorted(root.rglob("*.txt")) if (found := pattern.findall(path.read_text()))
        ]

    show("read 4 KB, call", lambda: workspace.call("read_file", {"path": "4k.txt"}), 200)
    show("read 4 KB, typed", lambda: workspace.read("4k.txt"), 200)
    show("  open().read()", lambda: open(root / "4k.txt").read(), 200)
    show("edit 4 KB, durable, with a backup", edit, 20)
    show("  read_text, replace, write_text", plain_edit, 20)
    show("list a directory of 100", lambda: workspace.list("000"), 50)
    show("  iterdir, stat", lambda: [(path.name, path.stat().st_size) for path in sorted((root / "000").iterdir())], 50)
    show("glob, all files", lambda: workspace.glob("*99.txt", limit=1000), 1)
    show("  rglob", lambda: sorted(root.rglob("*99.txt")), 1)
    show("grep, all files", lambda: workspace.grep("needle$", output="count", limit=10_000), 1)
    show("  rglob, read_text, re", plain_grep, 1)


def show(name: str, work: Callable[[], object], times: int) -> None:
    took = []
    work()
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for _ in range(times):
            work()
        took.append((time.perf_counter() - started) / times)
    print(f"{name:36} {statistics.median(took) * 1e3:10.3f} ms")


if __name__ == "__main__":
    main()
