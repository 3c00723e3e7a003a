"""Documents about the dependencies: their licences, and CycloneDX."""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from pathlib import Path

from .common import REPOSITORY, Failed, committed, copy_tracked_files, output, run, text
from .tools import CYCLONEDX_NPM, cargo_tool, python_host, python_tool


def licences_of(manifest: str) -> str:
    """Returns the licences of what a package depends on. A licence that `deny.toml` does not allow is a failure."""
    allowed = tomllib.loads(text("deny.toml"))["licenses"]["allow"]
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory) / "about.toml"
        settings = ["ignore-dev-dependencies", "ignore-build-dependencies"]
        config.write_text(
            "".join([f"accepted = {json.dumps(allowed)}\n", *(f"{name} = true\n" for name in settings)]), "utf-8"
        )
        arguments = ["--fail", "--locked", "--all-features", "--config", config]
        arguments += ["--manifest-path", REPOSITORY / manifest / "Cargo.toml", REPOSITORY / ".ci/licences.hbs"]
        return output(cargo_tool("cargo-about"), "generate", *arguments)


def sbom_of_package(package: str, directory: str) -> str:
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(committed())}
    arguments = ["--format", "json", "--spec-version", "1.5", "--all-features", "--target", "all"]
    with tempfile.TemporaryDirectory() as temporary:
        # The tool writes next to each manifest.
        copy = Path(temporary) / "paddock"
        copy_tracked_files(copy)
        manifest = copy / directory / "Cargo.toml"
        run(cargo_tool("cargo-cyclonedx"), "cyclonedx", *arguments, "--manifest-path", manifest, env=environment)
        document = (manifest.parent / f"{package}.cdx.json").read_text("utf-8")
        return document.replace(f"file://{copy}", "file:///paddock")


def sbom_of_node() -> str:
    package = REPOSITORY / "host/node"
    arguments = ["--omit", "dev", "--omit", "peer", "--package-lock-only", "--output-reproducible"]
    document = output("npx", "--yes", CYCLONEDX_NPM, *arguments, cwd=package)
    names = [f"{component.get('group', '')}/{component['name']}".lstrip("/") for component in json.loads(document)["components"]]
    dependencies = json.loads((package / "package.json").read_text("utf-8"))["dependencies"]
    if missing := set(dependencies) - set(names):
        raise Failed(f"the SBOM of host/node lacks {', '.join(sorted(missing))}")
    return document


def sbom_of_python() -> str:
    arguments = ["--pyproject", "host/python/pyproject.toml", "--output-reproducible", "--of", "JSON"]
    return output(python_tool("cyclonedx-py"), "environment", *arguments, python_host())
