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

from .binaries import check_embedded, program
from .common import FILES, LICENCES, REPOSITORY, TOOLS, Failed, Release, committed, existing, run, succeeds
from .tools import python_tool

# In the order of their dependencies.
CRATES = ["paddock-files-policy", "paddock-files-protocol", "paddock-files-snapshots", "paddock-files-supervisor", "paddock-files"]

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
    # The tests run under Wine on this target. Its programs need no library of Visual C++.
    "x86_64-pc-windows-gnu": Platform("win32-x64", "win_amd64"),
}


@contextmanager
def released_programs(release: Release) -> Iterator[dict[Platform, Path]]:
    """Unpacks the archives. A release has one for each platform, and a dry run those of its targets."""
    with tempfile.TemporaryDirectory() as directory:
        programs = {}
        for target, platform in PLATFORMS.items():
            name = f"paddock-{release.version}-{target}"
            archive = FILES / f"{name}.{'zip' if 'windows' in target else 'tar.gz'}"
            if not archive.exists() and target not in release.targets:
                release.cannot_check(f"the packages for {target}", f"there is no {archive.name}")
                continue
            shutil.unpack_archive(existing(archive, "binaries"), directory)
            check_embedded(release, target)
            programs[platform] = Path(directory) / name / program(target)
        yield programs


def crate_files(release: Release) -> list[str]:
    return [f"{crate}-{release.version}.crate" for crate in CRATES]


def npm_files(release: Release) -> list[str]:
    """The packages of platforms come first, since the other one names them."""
    return [f"paddock-files-{name}{release.version}.tgz" for name in [*(f"{it.npm}-" for it in PLATFORMS.values()), ""]]


def python_files(release: Release) -> list[str]:
    wheels = [f"py3-none-{tag}.whl" for tag in [*(it.wheel for it in PLATFORMS.values()), "any"]]
    return [f"paddock_files-{release.version}{end}" for end in [*(f"-{wheel}" for wheel in wheels), ".tar.gz"]]


def inputs(release: Release) -> dict[str, str]:
    """Returns the environment of whatever packs."""
    files = {
        "PADDOCK_COMPONENT": str(release.component),
        "PADDOCK_LICENCES": str(existing(FILES / LICENCES, "licences")),
    }
    return os.environ | files | {"SOURCE_DATE_EPOCH": str(committed())}


def pack_crates(release: Release, into: Path) -> None:
    run(REPOSITORY / "host/rust/pack", release.component, env=inputs(release))
    package = ["cargo", "package", "--quiet", "--locked", "--no-verify", "--allow-dirty", *selected(CRATES)]
    run(*package, "--target-dir", TOOLS / "crates")
    for name in crate_files(release):
        shutil.copy2(TOOLS / "crates/package" / name, into)


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


def publish_npm(release: Release, files: list[Path]) -> None:
    """Publishes the npm packages. What an earlier attempt has published stays as it is, as in the other registries."""
    # npm takes a package from a workflow only if its manifest names the repository of the workflow.
    name = os.environ.get("GITHUB_REPOSITORY")
    if not name:
        release.cannot_check("the repository that npm packages name", "`GITHUB_REPOSITORY` is not set")
    for tarball in files:
        with tarfile.open(tarball) as packed:
            manifest = json.load(packed.extractfile("package/package.json") or io.BytesIO())
        url = manifest.get("repository", {}).get("url")
        if name and url != f"git+https://github.com/{name}.git":
            raise Failed(f"{tarball.name} names the repository {url}, and the workflow's is {name}")
        if not succeeds("npm", "view", f"{manifest['name']}@{manifest['version']}", "version"):
            options = ["--access", "public", *(["--dry-run"] if release.dry_run else [])]
            run("npx", "--yes", NPM, "publish", *options, tarball)


def publish_python(release: Release, files: list[Path]) -> None:
    options = ["--dry-run", "--trusted-publishing", "never"] if release.dry_run else ["--trusted-publishing", "always"]
    run(python_tool("uv"), "publish", "--check-url", "https://pypi.org/simple/", *options, *files)


def publish_crates(release: Release, files: list[Path]) -> None:
    """Publishes the crates. Cargo packs them again, so that the bytes are compared first."""
    with tempfile.TemporaryDirectory() as elsewhere:
        pack_crates(release, Path(elsewhere))
        for path in files:
            if (Path(elsewhere) / path.name).read_bytes() != path.read_bytes():
                raise Failed(f"cargo packs other bytes than those of {path.name}, which were tried")
        is_there = {
            crate: succeeds("cargo", "info", "-q", f"{crate}@{release.version}", cwd=elsewhere) for crate in CRATES
        }
    if crates := [crate for crate in CRATES if not is_there[crate]]:
        publish = ["cargo", "publish", "--locked", "--no-verify", "--allow-dirty", *selected(crates)]
        run(*publish, *(["--dry-run"] if release.dry_run else []))
