#!/usr/bin/env python3
"""Searches with the search index beside ripgrep, and beside the same searches without the index, in turns.

`benches/index.py PADDOCK TREE [--threads N] [--runs N]` searches an existing tree. With `--generate FILES`, it first writes
files of 4 KB of words to TREE, which takes about a minute for a million files, and waits until they can be indexed. Prints
the median times, their ratios, the size of the index and the peak memory. Needs `rg`, on Linux.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

WITHOUT = ["--set", "index.enabled=false"]
# Limits that no search reaches: each has to visit all files.
LIMITS = ["--set", "limits.max_result_bytes=100000000", "--set", "limits.max_time_ms=600000"]
# A word that no file has, and one that many files of source code have.
SELECTIVE, UNSELECTIVE = "zebra_quartz_needle", "return"


def arguments_of(pattern):
    return {"pattern": pattern, "output": "count", "limit": 100_000}


class Kept:
    """A process that makes one call for each line."""

    def __init__(self, paddock, tree, state, threads, *more):
        command = [paddock, "batch", "--root", tree, "--state-dir", state, "--threads", str(threads), *LIMITS, *more]
        # With a small buffer, the reader takes a processor from the workers.
        self.process = subprocess.Popen(command, bufsize=1 << 20, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(self, tool, arguments):
        """Returns the answer to a call as it is, because a client needs time to parse a long one."""
        self.process.stdin.write(json.dumps({"tool": tool, "arguments": arguments}).encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def search(self, pattern):
        outcome = json.loads(self.answer("grep", arguments_of(pattern)))
        assert outcome["ok"] and not outcome["result"]["truncated"], outcome

    def peak_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ripgrep(tree, threads, pattern):
    subprocess.run(["rg", "-j", str(threads), "-c", pattern, tree], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def medians(runs, *works):
    """Returns the median time of each of the functions in milliseconds, which are called in turns. The first turn does not count."""
    times = [[] for _ in works]
    for run in range(runs + 1):
        for work, own in zip(works, times):
            start = time.perf_counter()
            work()
            if run > 0:
                own.append((time.perf_counter() - start) * 1000)
    return [statistics.median(own) for own in times]


def generate(tree, files):
    words = [f"word{number}" for number in range(20_000)]
    source = random.Random(1)
    for number in range(files):
        directory = tree / f"{number // 10_000:03}" / f"{number // 100 % 100:02}"
        if number % 100 == 0:
            directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{number % 100:02}.txt").write_text(" ".join(source.choices(words, k=450))[:4096])


def size(directory):
    return sum(entry.stat().st_size for entry in Path(directory).rglob("*") if entry.is_file() and not entry.is_symlink())


def parser_of(description, runs):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paddock", type=os.path.abspath)
    parser.add_argument("tree", type=lambda path: Path(path).resolve())
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=int, default=runs)
    return parser


def main():
    parser = parser_of(__doc__, runs=11)
    parser.add_argument("--generate", type=int, metavar="FILES")
    arguments = parser.parse_args()
    paddock, tree, threads = arguments.paddock, arguments.tree, arguments.threads
    if arguments.generate:
        generate(tree, arguments.generate)
        time.sleep(61)
    with tempfile.TemporaryDirectory() as state, tempfile.TemporaryDirectory() as empty:
        start = time.perf_counter()
        added = subprocess.run([paddock, "index", "--root", tree, "--state-dir", state], check=True, capture_output=True)
        print(f"index: {added.stdout.decode().strip()} in {time.perf_counter() - start:.1f} s")
        print(f"size: {size(Path(state) / 'index') / size(tree):.3f} of the text")
        with_index = Kept(paddock, tree, state, threads)
        without = Kept(paddock, tree, state + "/none", threads, *WITHOUT)

        def call(state, *more):
            command = [paddock, "call", "--root", tree, "--state-dir", state, "--threads", str(threads), *LIMITS, *more]
            search = ["grep", json.dumps(arguments_of(SELECTIVE))]
            subprocess.run([*command, *search], check=True, stdout=subprocess.DEVNULL)

        works = {
            "selective, kept process": (lambda: with_index.search(SELECTIVE), "ripgrep", lambda: ripgrep(tree, threads, SELECTIVE)),
            "selective, a process each": (
                lambda: call(state), "ripgrep", lambda: ripgrep(tree, threads, SELECTIVE),
            ),
            "unselective": (lambda: with_index.search(UNSELECTIVE), "without the index", lambda: without.search(UNSELECTIVE)),
            # A process each, because one that stays would fill the index after its first search.
            "first search": (lambda: call(empty), "without the index", lambda: call(empty, *WITHOUT)),
        }
        for name, (work, beside, other) in works.items():
            own, its = medians(arguments.runs, work, other)
            print(f"{name}: {own:.1f} ms, {beside} {its:.1f} ms, ratio {own / its:.2f}")
        print(f"peak memory: {with_index.peak_mb():.0f} MB, without the index {without.peak_mb():.0f} MB")
        for kept in (with_index, without):
            kept.close()


if __name__ == "__main__":
    main()
