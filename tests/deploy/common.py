"""Parts that the checks share."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "host/deploy"
# The hash in the configurations that no token has.
NO_HASH = "0" * 64

Document = dict[str, Any]


class Failed(Exception):
    """A check failed."""


class Skipped(Exception):
    """A check could not be made, for this reason."""


def expect(condition: object, message: str) -> None:
    if not condition:
        raise Failed(message)


def tool(name: str) -> str:
    """Returns the path of a program of the virtual environment or of the system."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    found = shutil.which(name, path=path)
    if not found:
        raise Skipped(f"there is no `{name}`")
    return found


def output(*command: str | Path, **options: Any) -> str:
    """Runs a program and returns what it prints. Its failure is a failure of the check."""
    ended = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if ended.returncode:
        raise Failed(f"`{Path(str(command[0])).name}` ended with the status {ended.returncode}: {ended.stderr}{ended.stdout}")
    return ended.stdout


def refuses(*command: str | Path, **options: Any) -> None:
    """Fails if the program accepts its input: the control of a check."""
    try:
        output(*command, **options)
    except Failed:
        return
    raise Failed(f"`{Path(str(command[0])).name}` accepts a file with an error, so that the check has no value")


def documents(text: str) -> list[Document]:
    return [document for document in yaml.safe_load_all(text) if document]


def document(path: Path) -> Document:
    return yaml.safe_load(path.read_text())


def seconds_after_shutdown() -> float:
    """Returns the seconds that the server may need after `shutdown_ms`, as in its source."""
    files = ["host/rust/src/serve/http/connection.rs", "host/rust/cli/serve.rs"]
    found = [re.search(r"const GRACE: Duration = Duration::from_secs\((\d+)\)", (ROOT / file).read_text()) for file in files]
    return sum(float(match[1]) for match in found if match) if all(found) else float("inf")


def memory_of(configuration: Document, processors: int) -> int:
    """Returns the bytes that calls and bodies may take: each parallel search takes further instances, at most one for each
    processor at the same time, and so do four subscriptions and the search index."""
    calls = configuration["limits"]["max_calls"]
    instance = max(template["policy"]["limits"]["max_memory_bytes"] for template in configuration["templates"])
    return (calls + processors + 5) * instance + calls * (configuration["limits"].get("max_body_bytes", 16 << 20))


def image_configuration() -> dict[str, str]:
    """Returns the variables that the Containerfile sets."""
    lines = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    found = re.search(r"^ENV (.*)$", lines, re.MULTILINE)
    return dict(pair.split("=", 1) for pair in found[1].split()) if found else {}


def is_below(path: str, directory: str) -> bool:
    return Path(directory) in Path(path).parents
