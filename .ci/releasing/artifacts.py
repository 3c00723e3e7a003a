"""The component and the WIT package as artifacts in an OCI registry."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .common import Failed, Release, install, output, run
from .tools import cargo_tool, python_host

LOAD = "import sys; from wasmtime import Engine, component; component.Component.from_file(Engine(), sys.argv[1])"


@contextmanager
def local_registry() -> Iterator[str]:
    """Runs an empty registry on this machine, and yields its host and port."""
    install("docker-registry", "docker-registry")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as directory:
        config, log = Path(directory) / "config.yml", Path(directory) / "log"
        storage = {"filesystem": {"rootdirectory": f"{directory}/storage"}}
        config.write_text(json.dumps({"version": "0.1", "storage": storage, "http": {"addr": address}}), "utf-8")
        with log.open("wb") as into:
            server = subprocess.Popen(["docker-registry", "serve", config], stdout=into, stderr=into)
        try:
            await_answer(f"http://{address}/v2/", server, log)
            yield address
        finally:
            server.terminate()
            server.wait()


def await_answer(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(100):
        try:
            return urllib.request.urlopen(url, timeout=1).close()
        except urllib.error.URLError:
            if server.poll() is not None:
                break
            time.sleep(0.1)
    raise Failed(f"the registry does not answer:\n{log.read_text('utf-8')}")


def push_and_pull(release: Release, registry: str, is_local: bool) -> None:
    """Pushes both artifacts, compares what is pulled with them, and gets the WIT by its name. A dry run also loads the
    component: a job that may write to a registry runs no other program than `wkg`.
    """
    options = ["--insecure", registry] if is_local else []
    annotations = {
        "description": "File tools for AI agents, confined to the directories that the host preopens",
        "licenses": "Apache-2.0 OR MIT",
        "revision": output("git", "rev-parse", "HEAD"),
        "version": release.version,
    }
    options_of_push = [f"--annotation=org.opencontainers.image.{name}={value}" for name, value in annotations.items()]
    # The WIT has the place in which tools look for the package `paddock:files`.
    for name, file in {"file-tools": release.component, "files": release.wit}.items():
        reference = f"{registry}/paddock/{name}:{release.version}"
        run(cargo_tool("wkg"), "oci", "push", *options, *options_of_push, reference, file)
        with tempfile.TemporaryDirectory() as directory:
            pulled = Path(directory) / "pulled.wasm"
            run(cargo_tool("wkg"), "oci", "pull", *options, "--output", pulled, reference)
            if pulled.read_bytes() != file.read_bytes():
                raise Failed(f"{reference} has other bytes than {file.name}")
            if is_local and file == release.component:
                run(python_host(), "-c", LOAD, pulled)
    get_wit(release, registry, is_local)


def get_wit(release: Release, registry: str, is_local: bool) -> None:
    """Gets the WIT package by its name, as a program that depends on it does."""
    host, _, namespace = registry.partition("/")
    location = f'{{ registry = "{host}", namespacePrefix = "{namespace}{"/" if namespace else ""}" }}'
    with tempfile.TemporaryDirectory() as directory:
        config, wit = Path(directory) / "config.toml", Path(directory) / "files.wit"
        settings = [f"namespace_registries.paddock.metadata.oci = {location}"]
        settings += ['namespace_registries.paddock.registry = "paddock"', 'registry.paddock.default = "oci"']
        settings += [f'registry.paddock.oci.protocol = "{"http" if is_local else "https"}"']
        config.write_text("\n".join(settings), "utf-8")
        name = f"paddock:files@{release.version}"
        arguments = ["--config", config, "--cache", directory, "--format", "wit", "--output", wit]
        run(cargo_tool("wkg"), "get", *arguments, name)
        if f"package {name};" not in wit.read_text("utf-8"):
            raise Failed(f"`wkg get {name}` returns another package")
