"""Paths, commands and checks that all stages use."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = REPOSITORY / "target/release-files"
TOOLS = REPOSITORY / "target/release-tools"
# Cargo writes the component here. The host embeds it without the names of its functions.
BUILT_COMPONENT = REPOSITORY / "target/release-component.wasm"
LICENCES = "THIRD-PARTY-LICENSES.txt"
# What `rustc -vV` prints on the machine that built the component, without its host.
COMPILER = "RUSTC.txt"
SUMS = "SHA256SUMS"
# Packages whose dependencies are in what is published: the binary with its supervisor, and the component.
BINARY = "paddock-files"
SHIPPED = {BINARY: "host/rust", "paddock-guest": "guest/component"}


class Failed(Exception):
    """The reason why there is no release."""


@dataclass
class Release:
    version: str
    dry_run: bool
    targets: list[str]
    registry: str | None
    not_checked: list[str] = field(default_factory=list)

    @property
    def component(self) -> Path:
        """The component as a binary has it."""
        return FILES / f"paddock-files-{self.version}.wasm"

    @property
    def wit(self) -> Path:
        return FILES / f"paddock-files-wit-{self.version}.wasm"

    def cannot_check(self, what: str, reason: str) -> None:
        """Records a check that cannot be made here, which only a dry run may do without."""
        reason = f"{what}: {' '.join(reason.split())}"
        if not self.dry_run:
            raise Failed(reason)
        if reason not in self.not_checked:
            print(f"NOT CHECKED: {reason}")
            self.not_checked.append(reason)


def existing(path: Path, stage: str) -> Path:
    if not path.exists():
        raise Failed(f"{path} does not exist: the stage `{stage}` writes it")
    return path


def compiler() -> str:
    return re.sub(r"^host: .*\n", "", output("rustc", "-vV"), flags=re.MULTILINE)


def check_compiler() -> None:
    """Every job has the compiler of the component, though each has the stable one of its own machine."""
    expected = existing(FILES / COMPILER, "component").read_text("utf-8")
    if compiler() != expected:
        raise Failed(
            f"the component was built by\n{expected}\nand this machine has\n{compiler()}\n"
            "install that release by `rustup toolchain install RELEASE`, and set `RUSTUP_TOOLCHAIN` to it"
        )


def text(name: str) -> str:
    return (REPOSITORY / name).read_text("utf-8")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cargo_home() -> Path:
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


@functools.cache
def committed() -> int:
    """Returns the time of the commit, which files of a release have as theirs."""
    return int(output("git", "log", "-1", "--format=%ct"))


def copy_tracked_files(target: Path) -> None:
    for name in output("git", "ls-files", "-z").split("\0"):
        if name and (REPOSITORY / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, target / name, follow_symlinks=False)


def install(program: str, package: str) -> None:
    """Installs a package of Debian or Ubuntu that has a program, if the program is not there."""
    if shutil.which(program) is None:
        root = [] if os.geteuid() == 0 else ["sudo"]
        run(*root, "apt-get", "update", "-qq")
        run(*root, "apt-get", "install", "-y", "-qq", package)


def run(*command: str | Path, **options: Any) -> None:
    print("$", *command, flush=True)
    output(*command, **{"capture_output": False} | options)


def output(*command: str | Path, **options: Any) -> str:
    process = attempt(*command, **options)
    if process.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: status {process.returncode}\n{process.stderr or ''}".rstrip())
    return (process.stdout or "").strip()


def succeeds(*command: str | Path, **options: Any) -> bool:
    return attempt(*command, **options).returncode == 0


def attempt(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command, and leaves it to the caller what a failure means."""
    words = [str(word) for word in command]
    # Python 3.11 does not complete a path to a program of Windows.
    program = shutil.which(words[0]) or shutil.which(f"{words[0]}.exe")
    if program is None:
        raise Failed(f"there is no `{words[0]}` on this machine")
    return subprocess.run(
        [program, *words[1:]], **{"cwd": REPOSITORY, "encoding": "utf-8", "capture_output": True} | options
    )
