"""Benchmarks of calls in Python, compared with plain Python (`pathlib`, `open`, `re`) and with wasmtime without this
package.

Usage: python benches/python.py [FILES] (in an environment with `paddock-files`)
"""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import paddock_files
from paddock_files import Replacement, Workspace
from wasmtime import Config, Engine, Store, WasiConfig
from wasmtime.component import Component, Linker

ROUNDS = 15


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve() / "work"
        make(root, files)
        starts(root)
        one_processor(root)
        with Workspace(root, state_dir=root.with_name("state")) as workspace:
            reads(workspace, root)
            operations(workspace, root)


def make(root: Path, files: int) -> None:
    """Creates files of about 4 KB, a hundred per directory. Every tenth file contains the searched word."""
    for number in range(files):
        path = root / f"{number // 100:03}" / f"{number:05}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"line {line} of file {number}, with some more words in it" for line in range(80)]
        lines[40] += " needle" if number % 10 == 0 else ""
        path.write_text("\n".join(lines) + "\n")
    (root / "4k.txt").write_bytes(b"0123456789abcdef0123456789abcde\n" * 128)


def starts(root: Path) -> None:
    """Measures starts of processes with a warm cache. Wall time and processor time are both printed, because on a busy
    machine a start waits.
    """
    opens = "import paddock_files; paddock_files.Workspace('.').call('read_file', {'path': '4k.txt'})"
    run(opens, root)
    for program in ("pass", "import wasmtime, wasmtime.component", "import paddock_files", opens):
        took = [started(program, root) for _ in range(ROUNDS)]
        passed, busy = (statistics.median(each) * 1e3 for each in zip(*took))
        print(f"{program[:36]:36} {passed:10.3f} ms   {'processor time':28} {busy:10.3f} ms")


def started(program: str, root: Path) -> tuple[float, float]:
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run(program, root)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, busy


def one_processor(root: Path) -> None:
    """Measures reads in a process that is bound to one processor. The difference to an unbound process is the machine's
    time to wake threads on other processors.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    stay = f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\n"
    program = """
import paddock_files, statistics, time
workspace, took = paddock_files.Workspace("."), []
for _ in range(1000):
    started = time.perf_counter()
    workspace.call("read_file", {"path": "4k.txt"})
    took.append(time.perf_counter() - started)
print(statistics.median(took))
"""
    took = [[float(run(before + program, root)) for before in (stay, "")] for _ in range(ROUNDS)]
    pinned, free = map(statistics.median, zip(*took))
    print(f"{'read 4 KB, on one processor':36} {pinned * 1e3:10.3f} ms   {'on any':28} {free * 1e3:10.3f} ms")


def run(program: str, directory: Path) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout


def reads(workspace: Workspace, root: Path) -> None:
    stock, path = plain_runtime(root), root / "4k.txt"

    def call() -> object:
        return workspace.call("read_file", {"path": "4k.txt"})

    def plain() -> object:
        return path.read_text()

    compare("read 4 KB, call", call, "read_text", plain, 100)
    compare("read 4 KB, typed", lambda: workspace.read("4k.txt"), "read_text", plain, 100)
    compare("read 4 KB, call", call, "wasmtime alone", lambda: stock("read_file", path="4k.txt"), 20)


def plain_runtime(root: Path) -> Callable[..., object]:
    """Returns a function that makes calls by wasmtime's own package, without limits on time or memory."""
    engine = Engine(Config())
    component, linker = Component(engine, paddock_files.component()), Linker(engine)
    linker.add_wasip2()
    tools = component.get_export_index("paddock:files/tools@0.1.0")
    index = component.get_export_index("call", tools)
    assert index is not None

    def call(tool: str, **arguments: object) -> object:
        store, wasi = Store(engine), WasiConfig()
        wasi.preopen_dir(str(root), "/workspace")
        store.set_wasi(wasi)
        function = linker.instantiate(store, component).get_func(store, index)
        assert function is not None
        return function(store, "paddock", tool, json.dumps(arguments))

    return call


def operations(workspace: Workspace, root: Path) -> None:
    turn = [0]

    def edit() -> None:
        turn[0] += 1
        old, new = ("0123", "0124") if turn[0] % 2 else ("0124", "0123")
        workspace.edit("4k.txt", [Replacement(old, new, replace_all=True)])

    def plain_edit() -> None:
        path = root / "4k.txt"
        path.write_text(path.read_text().replace("0123", "0123"))

    def plain_list() -> list[tuple[str, int]]:
        return [(path.name, path.stat().st_size) for path in sorted((root / "000").iterdir())]

    def glob() -> object:
        return workspace.glob("*99.txt", limit=1000)

    def grep() -> object:
        return workspace.grep("needle$", output="count", limit=10_000)

    def plain_grep() -> list[tuple[Path, int]]:
        pattern = re.compile("needle$", re.MULTILINE)
        return [
            (path, len(lines)) for path in sorted(root.rglob("*.txt")) if (lines := pattern.findall(path.read_text()))
        ]

    compare("edit 4 KB, durable, with a backup", edit, "read_text, replace, write_text", plain_edit, 10)
    compare("list a directory of 100", lambda: workspace.list("000"), "iterdir, stat", plain_list, 20)
    compare("glob, all files", glob, "rglob", lambda: sorted(root.rglob("*99.txt")), 1)
    compare("grep, all files", grep, "rglob, read_text, re", plain_grep, 1)


def compare(name: str, work: Callable[[], object], plain_name: str, plain: Callable[[], object], times: int) -> None:
    """Measures the two in turns and prints their ratio, because the speed of a machine varies during a run."""
    work(), plain()
    took = [(timed(work, times), timed(plain, times)) for _ in range(ROUNDS)]
    ours, others = (statistics.median(each) * 1e3 for each in zip(*took))
    ratio = statistics.median(one / other for one, other in took)
    print(f"{name:36} {ours:10.3f} ms   {plain_name:28} {others:10.3f} ms   {ratio:8.2f}")


def timed(work: Callable[[], object], times: int) -> float:
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times


if __name__ == "__main__":
    main()
