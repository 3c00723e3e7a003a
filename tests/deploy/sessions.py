"""Sessions with containers, as they run in Kubernetes and behind the proxy of the compose file."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import yaml

from common import DEPLOY, Failed, document, expect, output, tool
from compose import COMPOSE, proxy_configuration
from containers import USER, Container, filter_of_engines, required, running, with_token
from kubernetes import rendered, scaled_metric

POD = "Host: paddock-0.paddock-pods.paddock.svc:8710"
SERVER = "http://127.0.0.1:8710"
# With `fsGroup`, volumes belong to root and to the group.
OF_GROUP = {
    "/srv/workspaces": (0, USER, 0o2775), "/var/lib/paddock": (0, USER, 0o2775), "/var/cache/paddock": (0, USER, 0o2777),
}
# Edits of each pod.
EDITS = 40
# Connections of one client that the proxy permits, and more than that.
PERMITTED, ATTEMPTED = 64, 70


def pod_works(paddock: Path | None) -> str:
    """Runs the pod of the base: what kubelet does with claims, with an `emptyDir` and with a ConfigMap is done by hand."""
    paddock = required(paddock)
    found = rendered("base")
    configuration, token = with_token(paddock, found.only("ConfigMap")["data"]["serve.yaml"])
    with running(paddock, configuration, found.pod["containers"][0]["args"], OF_GROUP, is_directory=True) as container:
        workspace(container)
        probes(container)
        changes(container, SERVER, token, "-H", POD)
        own_directories(container)
        counters(container)
        confined(container)
        elapsed = ends(container, found.configuration["limits"]["shutdown_ms"] / 1000)
    filtered = "with the filter of system calls" if filter_of_engines() else "without a filter of system calls"
    return f"{filtered}; ended in {elapsed:.1f} s"


def replicas_work(paddock: Path | None) -> str:
    """Runs two pods over the same volumes, which edit one file, and kills one of them. Each edit that was reported is in the
    file, and the other pod goes on."""
    paddock = required(paddock)
    found = rendered("base")
    configuration, token = with_token(paddock, found.only("ConfigMap")["data"]["serve.yaml"])
    pod = partial(running, paddock, configuration, found.pod["containers"][0]["args"], OF_GROUP, True)
    with pod() as first:
        workspace(first)
        shared = {mount: first.volumes[mount] for mount in ["/srv/workspaces", "/var/lib/paddock"]}
        file = shared["/srv/workspaces"] / "team-a/a.txt"
        file.write_text("end\n")
        os.chown(file, USER, USER)
        with pod(shared) as second, ThreadPoolExecutor() as threads:
            lines = [threads.submit(edits, each, name, token) for each, name in [(first, "first"), (second, "second")]]
            deadline = time.monotonic() + 60
            while file.read_text().count("second") < EDITS // 2:
                expect(time.monotonic() < deadline, "the second pod makes no edits")
                time.sleep(0.01)
            second.end("KILL")
            first_lines, second_lines = (each.result() for each in lines)
        written = file.read_text().splitlines()
        expect(len(first_lines) == EDITS and len(second_lines) < EDITS, f"{len(first_lines)}, {len(second_lines)} edits")
        lost = {*first_lines, *second_lines} - set(written)
        expect(not lost and len(written) == len(set(written)), f"lost {lost}, written {written}")
        # The last call of the killed pod may have been made without an answer.
        expect(len(written) - 1 - len(first_lines) - len(second_lines) in (0, 1), f"written {written}")
    return f"{len(first_lines)} and {len(second_lines)} edits, none lost"


def edits(container: Container, name: str, token: str) -> list[str]:
    """Inserts lines into one file, and returns those that the pod reported, until it does not answer."""
    reported = []
    for index in range(EDITS):
        line = f"{name}-{index}"
        arguments = {"path": "a.txt", "edits": [{"old_text": "end", "new_text": f"{line}\nend"}]}
        body = {"tool": "edit_file", "arguments": arguments}
        try:
            options = ["-H", POD, "-H", f"Authorization: Bearer {token}"]
            status, text = container.request(f"{SERVER}/w/team-a/call", *options, body=body)
        except Failed:
            break
        if status != 200 or not json.loads(text)["ok"]:
            # They show whether another process has replaced a file or changed its rights.
            files = output("ls", "-lanRi", container.volumes["/var/lib/paddock"])
            raise Failed(f"{line}: {status} {text}\n{files}")
        reported.append(line)
    return reported


def workspace(container: Container) -> None:
    directory = container.volumes["/srv/workspaces"] / "team-a"
    directory.mkdir()
    os.chown(directory, USER, USER)


def probes(container: Container) -> None:
    for path in ["/healthz", "/readyz"]:
        # Kubelet names the address of the pod.
        expect(container.request(SERVER + path, "-H", "Host: 10.1.2.3:8710") == (200, "ok\n"), f"{path} is not answered")


def changes(container: Container, server: str, token: str, *options: str) -> None:
    """Writes, edits, reads and restores a file."""
    def call(tool_name: str, **arguments: object) -> dict[str, object]:
        body = {"tool": tool_name, "arguments": arguments}
        authorization = ["-H", f"Authorization: Bearer {token}"]
        status, text = container.request(f"{server}/w/team-a/call", *authorization, *options, body=body)
        expect(status == 200 and json.loads(text)["ok"], f"{tool_name}: {status} {text}")
        return json.loads(text)["result"]

    call("write_file", path="notes/a.md", content="one\n")
    call("edit_file", path="notes/a.md", edits=[{"old_text": "one", "new_text": "two"}])
    file = container.volumes["/srv/workspaces"] / "team-a/notes/a.md"
    expect(file.read_text() == "two\n" and file.stat().st_uid == USER, "the change is not in the volume")
    content = call("read_file", path="notes/a.md")["content"]
    expect(content == "two", f"the file is read as {content!r}")
    call("restore", path="notes/a.md")
    expect(file.read_text() == "one\n", "the change is not undone")
    refused = container.request(f"{server}/w/team-a/call", *options, body={"tool": "stat", "arguments": {"path": "."}})
    expect(refused[0] == 401, f"a call without a token: {refused}")


def own_directories(container: Container) -> None:
    # The name of the state directory ends with the time at which the directory of the workspace was created.
    for path in ["state/team-a+*", "audit/team-a.jsonl", "own/locks"]:
        expect(any(container.volumes["/var/lib/paddock"].glob(path)), f"there is no {path}")
    compiled = list((container.volumes["/var/cache/paddock"] / "code").glob("*.cwasm"))
    expect(len(compiled) == 1, f"the cache has {compiled}")


def counters(container: Container) -> None:
    status, text = container.request(f"{SERVER}/metrics", "-H", POD)
    expect(status == 200, f"the counters: {status} {text}")
    names = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if not line.startswith("#")}
    expect(scaled_metric() in names, f"the server has no counter {scaled_metric()}: {sorted(names)}")
    # The reason for the names of pods in `hosts`.
    status, _ = container.request(f"{SERVER}/metrics", "-H", "Host: 10.1.2.3:8710")
    expect(status == 403, f"the counters at the address of a pod have the status {status}")


def confined(container: Container) -> None:
    status = container.status()
    expect(status["Uid"].split() == [str(USER)] * 4, f"users {status['Uid']}")
    expect(all(int(status[name], 16) == 0 for name in ["CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"]), "it has capabilities")
    expect(status["NoNewPrivs"] == "1", "it may gain privileges")
    expect(not filter_of_engines() or status["Seccomp"] == "2", "it has no filter of system calls")
    mounts = Path(f"/proc/{container.pid}/mountinfo").read_text().splitlines()
    root = next(line.split()[5] for line in mounts if line.split()[4] == "/")
    expect("ro" in root.split(","), f"the root file system is mounted {root}")


def ends(container: Container, limit: float) -> float:
    started = time.monotonic()
    status = container.end()
    elapsed = time.monotonic() - started
    expect(status == 0 and elapsed < limit, f"it ended with the status {status} after {elapsed:.1f} s")
    return elapsed


# The compose file.


def compose_works(paddock: Path | None) -> str:
    """Runs the server and the proxy of the compose file, in one network instead of two."""
    paddock = required(paddock)
    tool("haproxy")
    service = document(COMPOSE)["services"]["paddock"]
    configuration, token = with_token(paddock, (DEPLOY / "compose/serve.yaml").read_text())
    name = yaml.safe_load(configuration)["hosts"][0]
    own = (USER, USER, 0o755)
    volumes = {mount["target"]: own for mount in service["volumes"]}
    with running(paddock, configuration, service["command"], volumes, is_directory=False) as container:
        workspace(container)
        with proxy(container, name) as (server, options):
            changes(container, server, token, *options)
            expect(container.request(f"{server}/openapi.json", *options)[0] == 200, "the description is not public")
            for path in ["/metrics", "/healthz", "/readyz", "/"]:
                expect(container.request(server + path, *options)[0] == 404, f"the proxy shows {path}")
            connections(container)
        ends(container, yaml.safe_load(configuration)["limits"]["shutdown_ms"] / 1000)
    return "a session through TLS; the counters are hidden; connections of one client are limited"


@contextlib.contextmanager
def proxy(container: Container, name: str) -> Iterator[tuple[str, list[str]]]:
    """Runs the proxy in the network of the server. Returns its URL, and the options of curl to reach it."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        file = proxy_configuration(home, name)
        options = ["--cacert", str(home / "tls.crt"), "--resolve", f"{name}:8443:127.0.0.1"]
        with (home / "log").open("wb") as log:
            started = subprocess.Popen(container.inside(tool("haproxy"), "-db", "-f", file), stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 30
            while not answers(container, f"https://{name}:8443/openapi.json", options):
                expect(started.poll() is None and time.monotonic() < deadline, (home / "log").read_text())
                time.sleep(0.1)
            yield f"https://{name}:8443", options
        finally:
            started.terminate()
            started.wait(30)


def answers(container: Container, url: str, options: list[str]) -> bool:
    try:
        return container.request(url, *options)[0] == 200
    except Failed:
        return False


def connections(container: Container) -> None:
    """Opens more connections than the proxy permits one client. It closes the others at once."""
    program = f"""
import select, socket, time
opened = [socket.create_connection(("127.0.0.1", 8443)) for _ in range({ATTEMPTED})]
closed = lambda: len(select.select(opened, [], [], 0)[0])
deadline = time.monotonic() + 5
while closed() < {ATTEMPTED - PERMITTED} and time.monotonic() < deadline:
    time.sleep(0.1)
# The proxy must close no others after these.
time.sleep(1)
print(closed())
"""
    closed = int(output(*container.inside("/usr/bin/env", "python3", "-c", program)))
    expect(closed == ATTEMPTED - PERMITTED, f"the proxy closed {closed} of {ATTEMPTED} connections")
