"""The configurations of the server, as the program itself takes them."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import yaml

from common import DEPLOY, Document, Failed, Skipped, expect
from kubernetes import rendered

PATIENCE = 120


def base_is_taken(paddock: Path | None) -> str:
    return is_taken(paddock, rendered("base").configuration)


def example_is_taken(paddock: Path | None) -> str:
    return is_taken(paddock, rendered("example").configuration)


def compose_is_taken(paddock: Path | None) -> str:
    return is_taken(paddock, yaml.safe_load((DEPLOY / "compose/serve.yaml").read_text()))


def is_taken(paddock: Path | None, configuration: Document) -> str:
    if not paddock:
        raise Skipped("--paddock names no binary with the feature `serve`")
    starts(paddock, configuration)
    wrong = yaml.safe_load(yaml.safe_dump(configuration))
    wrong["templates"][0]["policy"]["limits"]["max_memory_byte"] = 1
    try:
        starts(paddock, wrong)
    except Failed as refused:
        expect("max_memory_byte" in str(refused), f"the program refuses a wrong setting for another reason: {refused}")
        return "and a wrong setting is refused"
    raise Failed("the program takes a setting that does not exist")


def starts(paddock: Path, configuration: Document) -> None:
    """Starts the server with its directories below a temporary one, at another port, and ends it."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        text = yaml.safe_dump(configuration | {"listen": "127.0.0.1:0"})
        for top in ["/srv/", "/var/lib/"]:
            text = text.replace(top, f"{home}{top}")
        (home / "srv/workspaces").mkdir(parents=True)
        file = home / "serve.yaml"
        file.write_text(text)
        variables = {"XDG_CONFIG_HOME": str(home / "none"), "PADDOCK_STATE_DIR": str(home / "own")}
        with (home / "log").open("w+") as log:
            server = subprocess.Popen([paddock, "serve", "--config", file], stderr=log, env=os.environ | variables)
            try:
                until_it_serves(server, home / "log")
                server.send_signal(signal.SIGTERM)
                expect(server.wait(30) == 0, f"the server ended with the status {server.returncode}")
            finally:
                server.kill()
                server.wait()


def until_it_serves(server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while "serving http://" not in log.read_text():
        if server.poll() is not None:
            raise Failed(f"the server ended with the status {server.returncode}: {log.read_text()}")
        expect(time.monotonic() < deadline, f"the server does not start in {PATIENCE} s: {log.read_text()}")
        time.sleep(0.05)
