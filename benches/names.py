#!/usr/bin/env python3
"""A glob of 100,000 names beside fd and beside the same glob without the search index, in turns.

`benches/names.py PADDOCK TREE [--threads N] [--runs N]` writes empty files to TREE, unless it exists: 1,000 directories of
100 files, a `.gitignore` with six rules, and a Git repository. Prints the median times and their ratios. All names take ten
calls, because a page has at most 10,000 of them, and the time ends when the last byte of the last answer is read. Needs
`git` and `fd` (Debian's `fdfind`), on Linux.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from index import LIMITS, WITHOUT, medians

FILES = 100_000
RULES = "/target\n*.log\nnode_modules/\n*.tmp\nbuild/out\n.cache\n"


class Process:
    """A process that makes one call for each line."""

    def __init__(self, paddock, tree, state, threads, *more):
        command = [paddock, "batch", "--root", tree, "--state-dir", state, "--threads", str(threads), *LIMITS, *more]
        # With a small buffer, the reader takes a processor from the workers.
        self.process = subprocess.Popen(command, bufsize=1 << 20, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.cursors = self.pages()

    def answer(self, pattern, cursor=None):
        arguments = {"pattern": pattern, "limit": 10_000} | ({"cursor": cursor} if cursor else {})
        self.process.stdin.write(json.dumps({"tool": "glob", "arguments": arguments}).encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def pages(self):
        """Returns the cursor of each page. The tree does not change, and a client needs no time to parse an answer here."""
        cursors, count = [None], 0
        while True:
            result = json.loads(self.answer("**", cursors[-1]))["result"]
            count += len(result["paths"])
            if result.get("next_cursor") is None:
                assert count == FILES, count
                return cursors
            cursors.append(result["next_cursor"])

    def all_names(self):
        for cursor in self.cursors:
            self.answer("**", cursor)

    def no_name(self):
        self.answer("**/*_none.rs")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def generate(tree):
    for number in range(FILES):
        directory = tree / f"directory{number // 4_000:02}" / f"below{number // 100:04}"
        if number % 100 == 0:
            directory.mkdir(parents=True)
        (directory / f"file_{number % 100:03}.rs").touch()
    (tree / ".gitignore").write_text(RULES)
    subprocess.run(["git", "init", "-q", tree], check=True)
    time.sleep(3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paddock")
    parser.add_argument("tree", type=Path)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=int, default=21)
    arguments = parser.parse_args()
    paddock, tree, threads = os.path.abspath(arguments.paddock), arguments.tree.resolve(), arguments.threads
    if not tree.exists():
        generate(tree)
    program = shutil.which("fd") or shutil.which("fdfind")
    with tempfile.TemporaryDirectory() as state:
        index = [paddock, "index", "--root", tree, "--state-dir", state, "--set", "index.min_age_seconds=2"]
        subprocess.run(index, check=True, capture_output=True)
        with_index = Process(paddock, tree, state, threads)
        without = Process(paddock, tree, state + "/none", threads, *WITHOUT)

        def fd():
            subprocess.run([program, "-j", str(threads), "-t", "f", ".", tree], check=True, stdout=subprocess.DEVNULL)

        works = {
            "fd": fd, "all names": with_index.all_names, "all names, without the index": without.all_names,
            "no name matches": with_index.no_name, "no name matches, without the index": without.no_name,
        }
        times = medians(arguments.runs, *works.values())
        for name, own in zip(works, times):
            print(f"{name}: {own:.0f} ms, ratio {own / times[0]:.2f}")
        for process in (with_index, without):
            process.close()


if __name__ == "__main__":
    main()
