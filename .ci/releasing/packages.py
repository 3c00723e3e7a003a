"""The packages for the registries of Rust, npm and Python, made of the binaries that are in the archives."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .binaries import program
from .common import FILES, LICENCES, REPOSITORY, TOOLS, Failed, Release, committed, existing, run, succeeds
from .tools import python_tool

# In the order of their dependencies.
CRATES = ["paddock-files-policy", "paddock-files-snapshots", "paddock-files-supervisor", "paddock-files"]

# The first version that publishes by the identity of a workflow is 11.5.1.
NPM = "npm@11.19.1"


class Platform(NamedTuple):
    """The names of a target in npm and in the tag of a wheel."""

    npm: str
    wheel: str


PLATFORMS = {
    "x86_64-unknown-linux-musl": Platform("linux-x64", "manylinux_2_17_x86_64.musllinux_1_1_x86_64"),
    "aarch64-unknown-linux-musl": Platform("linux-arm64", "manylinux_2_17_aarch64.musllinux_1_1_aarch64"),
    "x86_64-apple-darwin": Platform("darwin-x64", "macosx_10_12_x86_64"),
    "aarch64-apple-darwin": Platform("darwin-arm64", "macosx_11_0_arm64"),
    "x86_64-pc-windows-msvc": Platform("win32-x64", "win_amd64"),
}


@contextmanager
def released_programs(release: Release) -> Iterator[dict[Platform, Path]]:
    """Unpacks the archives. A release has one for each platform, and a dry run those of its targets."""
    with tempfile.TemporaryDirectory() as directory:
        programs = {}
        for target, platform in PLATFORMS.items():
            name = f"paddock-{release.version}-{target}"
            for archive in FILES.glob(f"{name}.*"):
                shutil.unpack_archive(archive, directory)
                programs[platform] = Path(directory) / name / program(target)
            if platform not in programs and (not release.dry_run or target in release.targets):
                raise Failed(f"there is no archive for {target}: the stage `binaries` writes it")
        yield programs


def inputs(release: Release) -> dict[str, str]:
    """Returns the environment of whatever packs."""
    files = {
        "PADDOCK_COMPONENT": str(release.component),
        "PADDOCK_LICENCES": str(existing(FILES / LICENCES, "licences")),
    }
    return os.environ | files | {"SOURCE_DATE_EPOCH": str(committed())}


def pack_crates(release: Release) -> None:
    run(REPOSITORY / "host/rust/pack", release.component, env=inputs(release))
    package = ["cargo", "package", "--quiet", "--locked", "--no-verify", "--allow-dirty", *selected(CRATES)]
    run(*package, "--target-dir", TOOLS / "crates")
    for crate in CRATES:
        shutil.copy2(TOOLS / f"crates/package/{crate}-{release.version}.crate", FILES)


def selected(crates: list[str]) -> list[str]:
    return [word for crate in crates for word in ("--package", crate)]


def pack_npm(release: Release, programs: dict[Platform, Path]) -> None:
    directory = REPOSITORY / "host/node"
    run("npm", "ci", "--no-audit", "--no-fund", "--silent", cwd=directory)
    run("npm", "run", "--silent", "build", cwd=directory, env=inputs(release))
    native = [f"{platform.npm}={path}" for platform, path in programs.items()]
    run("node", "scripts/pack.js", FILES, *native, cwd=directory, env=inputs(release))


def pack_wheels(release: Release, programs: dict[Platform, Path]) -> None:
    build = [python_tool("python"), "-m", "build", "--no-isolation", "--outdir", FILES, "host/python"]
    run(*build, "--sdist", "--wheel", env=inputs(release))
    for platform, path in programs.items():
        native = {"PADDOCK_NATIVE": str(path), "PADDOCK_PLATFORM": platform.wheel}
        run(*build, "--wheel", env=inputs(release) | native)


def check_licences() -> None:
    """Checks that what contains the component or a binary contains the licences too."""
    for path in sorted(FILES.iterdir()):
        is_zip = path.suffix in {".whl", ".zip"}
        if path.name.startswith(tuple(CRATES[:-1])) or not (is_zip or path.suffix in {".crate", ".gz", ".tgz"}):
            continue
        with zipfile.ZipFile(path) if is_zip else tarfile.open(path) as packed:
            names = packed.namelist() if isinstance(packed, zipfile.ZipFile) else packed.getnames()
        if not any(name.endswith(f"/{LICENCES}") for name in names):
            raise Failed(f"{path.name} lacks {LICENCES}")


def publish_crates(release: Release) -> None:
    """Publishes the crates. What an earlier attempt has published stays as it is, here and in the other registries."""
    run(REPOSITORY / "host/rust/pack", release.component, env=inputs(release))
    with tempfile.TemporaryDirectory() as elsewhere:
        is_there = {
            crate: succeeds("cargo", "info", "-q", f"{crate}@{release.version}", cwd=elsewhere) for crate in CRATES
        }
    if crates := [crate for crate in CRATES if not is_there[crate]]:
        publish = ["cargo", "publish", "--locked", "--no-verify", "--allow-dirty", *selected(crates)]
        run(*publish, *(["--dry-run"] if release.dry_run else []))


def publish_npm(release: Release) -> None:
    # The packages of platforms come first, since the other one names them.
    for tarball in sorted(FILES.glob("*.tgz"), key=lambda path: path.name == f"paddock-files-{release.version}.tgz"):
        with tarfile.open(tarball) as packed:
            manifest = json.load(packed.extractfile("package/package.json") or io.BytesIO())
        if not succeeds("npm", "view", f"{manifest['name']}@{manifest['version']}", "version"):
            options = ["--access", "public", *(["--dry-run"] if release.dry_run else [])]
            run("npx", "--yes", NPM, "publish", *options, tarball)


def publish_python(release: Release) -> None:
    files = [*sorted(FILES.glob("*.whl")), *sorted(FILES.glob("paddock_files-*.tar.gz"))]
    options = ["--dry-run", "--trusted-publishing", "never"] if release.dry_run else ["--trusted-publishing", "always"]
    run(python_tool("uv"), "publish", "--check-url", "https://pypi.org/simple/", *options, *files)
