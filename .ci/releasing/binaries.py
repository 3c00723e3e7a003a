"""The archive of a binary."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

from .common import (
    BINARY,
    FILES,
    LICENCES,
    REPOSITORY,
    Failed,
    Release,
    cargo_home,
    committed,
    install,
    output,
    run,
    sha256,
)
from .component import without_source_directories
from .tools import cargo_tool


# The bound that `CONTRIBUTING.md` names.
MAX_BYTES = 20_000_000


def build_binary(target: str, component: Path) -> Path:
    run("rustup", "target", "add", target)
    if target.endswith("-musl"):
        install("musl-gcc", "musl-tools")
    run("cargo", "fetch", "--quiet", "--locked")
    environment = os.environ | {"PADDOCK_COMPONENT": str(component), "CARGO_PROFILE_DIST_STRIP": "symbols"}
    build = ["auditable", "build", "--locked", "--package", BINARY, "--bin", "paddock", "--profile", "dist"]
    # The sources that the build script of Cranelift generates are below the repository.
    flags = without_source_directories(target, cargo_home(), REPOSITORY)
    run(cargo_tool("cargo-auditable"), *build, "--target", target, *flags, env=environment)
    return REPOSITORY / "target" / target / "dist" / program(target)


def program(target: str) -> str:
    return "paddock.exe" if "windows" in target else "paddock"


def inspect_binary(binary: Path) -> None:
    """Checks that a binary is stripped and not too large, has the list of its dependencies, and names no directory of
    this machine.
    """
    dependencies = json.loads(output(cargo_tool("rust-audit-info"), binary))["packages"]
    if not any(package["name"] == "wasmtime" for package in dependencies):
        raise Failed(f"{binary} does not have the list of its dependencies")
    content = binary.read_bytes()
    for directory in [REPOSITORY, cargo_home() / "registry"]:
        if str(directory).encode() in content:
            raise Failed(f"{binary} names the directory {directory}")
    if content.startswith(b"\x7fELF") and output("nm", "--quiet", binary):
        raise Failed(f"{binary} is not stripped")
    if len(content) > MAX_BYTES:
        raise Failed(f"{binary} has {len(content):,} bytes, and may have {MAX_BYTES:,}")
    print(f"{binary.name}: {len(content):,} bytes, built of {len(dependencies)} packages")


def pack_binary(release: Release, target: str, binary: Path) -> Path:
    """Writes an archive whose bytes depend on nothing but its content and the time of the commit."""
    name = f"paddock-{release.version}-{target}"
    contents = [binary, FILES / LICENCES, *(REPOSITORY / file for file in ["LICENSE", "README.md", "CHANGELOG.md"])]
    if "windows" in target:
        archive = FILES / f"{name}.zip"
        with zipfile.ZipFile(archive, "w") as packed:
            for path in contents:
                entry = zipfile.ZipInfo(f"{name}/{path.name}", time.gmtime(committed())[:6])
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
        return archive
    archive = FILES / f"{name}.tar.gz"
    with archive.open("wb") as file, gzip.GzipFile("", "wb", 9, file, committed()) as compressed:
        with tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as packed:
            for path in contents:
                entry = tarfile.TarInfo(f"{name}/{path.name}")
                entry.size, entry.mtime = path.stat().st_size, committed()
                entry.mode = 0o755 if path == binary else 0o644
                packed.addfile(entry, io.BytesIO(path.read_bytes()))
    return archive


def try_archive(release: Release, target: str, archive: Path) -> None:
    """Unpacks an archive in an empty directory. Its binary makes a call, and writes the component of the release."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.unpack_archive(archive, directory)
        (unpacked,) = Path(directory).iterdir()
        binary = unpacked / program(target)
        binary.chmod(0o755)
        try:
            version = output(binary, "--version")
        except OSError as cause:
            return release.cannot_check(f"the binary for {target}", f"this machine does not run it ({cause})")
        if version != f"paddock {release.version}":
            raise Failed(f"the binary of {archive.name} is {version}")
        answer = json.loads(output(binary, "call", "stat", '{"path": "LICENSE"}', cwd=unpacked))
        if not answer["ok"]:
            raise Failed(f"a call of the binary of {archive.name} failed: {answer}")
        embedded = Path(directory) / "paddock.wasm"
        run(binary, "component", "-o", embedded)
        if release.component.exists() and release.component.read_bytes() != embedded.read_bytes():
            raise Failed(f"the component in {archive.name} is not {release.component.name}")
        shutil.copyfile(embedded, release.component)
        embedded_sum(release, target).write_text(sha256(embedded), "utf-8")


def embedded_sum(release: Release, target: str) -> Path:
    """The file with the SHA-256 sum of the component that a binary has written."""
    return FILES / f"paddock-{release.version}-{target}.component.sha256"


def check_embedded(release: Release, target: str) -> None:
    """Checks that the binary for a target, of whichever machine, has written the component of this release."""
    if not (stated := embedded_sum(release, target)).exists():
        return release.cannot_check(f"the component in the binary for {target}", f"there is no {stated.name}")
    if stated.read_text("utf-8") != sha256(release.component):
        raise Failed(f"the binary for {target} has another component than {release.component.name}")
