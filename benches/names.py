#!/usr/bin/env python3
"""A glob of 100,000 names beside fd and beside the same glob without the search index, in turns.

`benches/names.py PADDOCK TREE [--threads N] [--runs N]` writes empty files to TREE, unless it exists: 1,000 directories of
100 files, a `.gitignore` with six rules, and a Git repository. Prints the median times and their ratios. All names take ten
calls, because a page has at most 10,000 of them, and the time ends when the last byte of the last answer is read. Needs
`git` and `fd` (Debian's `fdfind`), on Linux.
"""

import json
import shutil
import subprocess
import tempfile
import time

from index import WITHOUT, Kept, medians, parser_of

FILES = 100_000
RULES = "/target\n*.log\nnode_modules/\n*.tmp\nbuild/out\n.cache\n"


class Names(Kept):
    """A process that answers globs."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.cursors = self.pages()

    def glob(self, pattern, cursor=None):
        return self.answer("glob", {"pattern": pattern, "limit": 10_000} | ({"cursor": cursor} if cursor else {}))

    def pages(self):
        """Returns the cursor of each page, which stays the same because the tree does not change."""
        cursors, count = [None], 0
        while True:
            result = json.loads(self.glob("**", cursors[-1]))["result"]
            count += len(result["paths"])
            if result.get("next_cursor") is None:
                assert count == FILES, count
                return cursors
            cursors.append(result["next_cursor"])

    def all_names(self):
        for cursor in self.cursors:
            self.glob("**", cursor)

    def no_name(self):
        self.glob("**/*_none.rs")


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
    arguments = parser_of(__doc__, runs=21).parse_args()
    paddock, tree, threads = arguments.paddock, arguments.tree, arguments.threads
    if not tree.exists():
        generate(tree)
    program = shutil.which("fd") or shutil.which("fdfind")
    with tempfile.TemporaryDirectory() as state:
        index = [paddock, "index", "--root", tree, "--state-dir", state, "--set", "index.min_age_seconds=2"]
        subprocess.run(index, check=True, capture_output=True)
        with_index = Names(paddock, tree, state, threads)
        without = Names(paddock, tree, state + "/none", threads, *WITHOUT)

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
