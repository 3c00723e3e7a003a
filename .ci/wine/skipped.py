"""Prints the Rust tests that `.ci/platforms windows` does not run, with their number and the reason.

The reason for a module is a comment before its `#[cfg(unix)]`. A module without a reason is an error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
NOT_WINDOWS = r"#\[cfg\((?:unix|target_os = \"linux\")\)\]\n"
MODULE = re.compile(rf"(?:^// (.*)\n)?{NOT_WINDOWS}mod (\w+);", re.MULTILINE)
TEST = re.compile(rf"{NOT_WINDOWS} *#\[test\]\n *fn (\w+)")


def tests(*files: Path) -> int:
    return sum(len(re.findall(r"^ *#\[test\]$", file.read_text("utf-8"), re.MULTILINE)) for file in files)


def below(module: Path) -> list[Path]:
    """The file of a module, and those of the modules in it."""
    directory = module.parent if module.name == "mod.rs" else module.with_suffix("")
    return sorted({module, *directory.rglob("*.rs")})


def skipped(root: Path) -> Iterator[tuple[str, str]]:
    """Yields what is not compiled for Windows in a file and in the modules of it that are, each with the reason."""
    text = root.read_text("utf-8")
    reasons = {name: reason for reason, name in MODULE.findall(text)}
    for name in re.findall(r"^mod (\w+);", text, re.MULTILINE):
        directory = root.parent if root.name == "main.rs" else root.with_suffix("")
        module = next(path for path in [directory / f"{name}.rs", directory / name / "mod.rs"] if path.exists())
        if name in reasons:
            yield f"{tests(*below(module))} tests of {module.relative_to(TOP)}", reasons[name]
        else:
            yield from skipped(module)
    for name in TEST.findall(text):
        yield f"{root.relative_to(TOP)}: {name}", "it is marked with `#[cfg]`"


def main() -> None:
    lines = list(skipped(TOP / "tests/main.rs"))
    unbuilt = "this stage builds the programs `cases` and `integration`"
    for directory in ["tests/alone", "host/rust/src", "host/rust/cli"]:
        lines.append((f"{tests(*sorted((TOP / directory).rglob('*.rs')))} tests of {directory}", unbuilt))
    for what, reason in lines:
        print(f"skipped {what}: {reason}")
    if unexplained := [what for what, reason in lines if not reason]:
        sys.exit(f"no comment before `#[cfg]` has the reason: {', '.join(unexplained)}")


if __name__ == "__main__":
    main()
