"""The compose file, its proxy, and the Containerfile, without starting anything of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

from common import (
    DEPLOY, Document, document, expect, image_configuration, is_below, memory_of, output, refuses, seconds_after_shutdown, tool,
)
from kubernetes import certificate

COMPOSE = DEPLOY / "compose/compose.yaml"
UNITS = {"m": 1 << 20, "g": 1 << 30}


def containerfile_has_no_findings() -> str:
    hadolint = tool("hadolint")
    output(hadolint, "--failure-threshold", "style", DEPLOY / "Containerfile")
    with tempfile.TemporaryDirectory() as home:
        wrong = Path(home) / "Containerfile"
        # A base image without a version.
        wrong.write_text((DEPLOY / "Containerfile").read_text().replace("FROM scratch", "FROM debian"))
        refuses(hadolint, "--failure-threshold", "style", wrong)
    return output(hadolint, "--version").strip()


def compose_has_valid_schema() -> str:
    check = [tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec"]
    output(*check, COMPOSE)
    with tempfile.TemporaryDirectory() as home:
        wrong = Path(home) / "compose.yaml"
        compose = document(COMPOSE)
        compose["services"]["paddock"]["read_onyl"] = True
        wrong.write_text(yaml.safe_dump(compose))
        refuses(*check, wrong)
    return output(check[0], "--version").strip()


def compose_agrees() -> str:
    """Checks that the compose file names what exists, and that figures fit the configuration of the server."""
    compose, configuration = document(COMPOSE), document(DEPLOY / "compose/serve.yaml")
    server, proxy = compose["services"]["paddock"], compose["services"]["proxy"]
    for service in [server, proxy]:
        is_strict = service["read_only"] and service["cap_drop"] == ["ALL"]
        expect(is_strict, "a service has capabilities, or a root file system that it can write to")
        expect("no-new-privileges:true" in service["security_opt"], "a service may gain privileges")
        for each in service["configs"]:
            expect((COMPOSE.parent / compose["configs"][each["source"]]["file"]).is_file(), f"there is no file for {each}")
        expect(set(service["networks"]) <= set(compose["networks"]), "a service is in a network that is not defined")
    expect(server["networks"] == ["inner"] and compose["networks"]["inner"]["internal"] is True, "the server has a way out")
    expect("ports" not in server, "the server can be reached without the proxy")
    expect(f"USER {server['user']}\n" in (DEPLOY / "Containerfile").read_text(), "the image has another user")
    grace = float(server["stop_grace_period"].removesuffix("s"))
    needed = configuration["limits"]["shutdown_ms"] / 1000 + seconds_after_shutdown()
    expect(grace > needed, f"stop_grace_period is {grace} s, a shutdown takes up to {needed} s")
    needed = memory_of(configuration, server["cpus"]) + (256 << 20)
    memory = int(server["mem_limit"][:-1]) * UNITS[server["mem_limit"][-1]]
    expect(memory >= needed, f"the limit of memory is {memory}, the calls may take {needed} bytes")
    volumes(compose, configuration)
    maximum = next(int(line.split()[1]) for line in proxy_lines() if line.split()[:1] == ["maxconn"])
    expect(maximum < configuration["limits"]["max_connections"], "the proxy opens more connections than the server takes")
    return "files, networks, volumes, user, time of a shutdown, memory, connections"


def volumes(compose: Document, configuration: Document) -> None:
    mounts = {mount["target"]: mount for mount in compose["services"]["paddock"]["volumes"]}
    for mount in mounts.values():
        expect(mount["type"] == "bind" or mount["source"] in compose["volumes"], f"there is no volume for {mount}")
    variables = image_configuration()
    lasting = [configuration["state_dir"], configuration["audit_dir"], variables["PADDOCK_STATE_DIR"]]
    lasting += [template["root"] for template in configuration["templates"]]
    for path in [*lasting, variables["PADDOCK_CACHE_DIR"]]:
        expect(any(is_below(path, mount) for mount in mounts), f"`{path}` is on no volume")


def proxy_lines() -> list[str]:
    return (DEPLOY / "compose/haproxy.cfg").read_text().splitlines()


def proxy_configuration(home: Path, name: str) -> Path:
    """Writes the configuration of the proxy for a server at 127.0.0.1, with a certificate of its own."""
    certificate(home, name)
    combined = home / "tls.pem"
    combined.write_text((home / "tls.crt").read_text() + (home / "tls.key").read_text())
    text = "\n".join(proxy_lines()) + "\n"
    for old, new in [("/run/secrets/tls.pem", str(combined)), ("paddock:8710", "127.0.0.1:8710")]:
        expect(text.count(old) == 1, f"`{old}` is in the configuration of the proxy {text.count(old)} times")
        text = text.replace(old, new)
    file = home / "haproxy.cfg"
    file.write_text(text)
    return file


def proxy_configuration_is_valid() -> str:
    haproxy = tool("haproxy")
    with tempfile.TemporaryDirectory() as home:
        file = proxy_configuration(Path(home), "files.example.com")
        output(haproxy, "-c", "-f", file)
        file.write_text(file.read_text().replace("option httpchk", "option httpchek"))
        refuses(haproxy, "-c", "-f", file)
    return output(haproxy, "-v").splitlines()[0]
