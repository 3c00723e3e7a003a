"""Tests of the release: what stops it, and which files it contains. Usage: `python3 -m unittest discover -s
tests/release`.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / ".ci"))
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("release", str(REPOSITORY / ".ci/release"))
release = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
loader.exec_module(release)

from releasing import advisories, binaries, component  # noqa: E402
from releasing.common import Failed, Release  # noqa: E402


def of(dry_run: bool = True, version: str = "0.1.0") -> Release:
    return Release(version, dry_run, ["x86_64-unknown-linux-gnu"], None)


def ended(stdout: str = "", stderr: str = "", status: int = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], status, stdout, stderr)


class Stops(unittest.TestCase):
    def test_a_manifest_of_another_version(self) -> None:
        with self.assertRaisesRegex(Failed, r"Cargo.toml has the version 9.9.9, unlike .*host/node/package.json \(0"):
            release.versions(of(version="9.9.9"))

    def test_a_commit_without_the_tag(self) -> None:
        with mock.patch.object(release, "output", side_effect=Failed("no tag")), self.assertRaises(Failed):
            release.versions(of(dry_run=False))

    def test_changes_that_are_not_committed(self) -> None:
        version = release.tomllib.loads(release.text("Cargo.toml"))["workspace"]["package"]["version"]
        answers = {"describe": f"v{version}", "status": " M README.md"}
        with (
            mock.patch.object(release, "output", side_effect=lambda _, command, *rest: answers[command]),
            mock.patch.object(release, "text", side_effect=lambda name: self.released(name, version)),
            self.assertRaisesRegex(Failed, "README.md"),
        ):
            release.versions(of(dry_run=False, version=version))

    @staticmethod
    def released(name: str, version: str) -> str:
        return f"# Changelog\n\n## {version}\n" if name == "CHANGELOG.md" else (REPOSITORY / name).read_text()

    def test_builds_of_the_component_that_differ(self) -> None:
        def differing(directory: Path, target_directory: Path, home: Path) -> Path:
            file = Path(tempfile.mkdtemp()) / "built.wasm"
            file.write_text(f"{directory}")
            return file

        with (
            mock.patch.object(release, "run"),
            mock.patch.object(release, "copy_tracked_files"),
            mock.patch.object(release, "build_component", differing),
            self.assertRaisesRegex(Failed, "two builds of the component differ"),
        ):
            release.component(of())

    def test_a_stage_whose_input_another_stage_has_not_written(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            with mock.patch.object(release, "BUILT_COMPONENT", Path(directory) / "none"):
                with self.assertRaisesRegex(Failed, "the stage `component` writes it"):
                    release.binaries(of())

    def test_a_tool_that_is_not_there(self) -> None:
        with self.assertRaisesRegex(Failed, "there is no `no-such-tool`"):
            release.run("no-such-tool")

    def test_no_registry_outside_a_dry_run(self) -> None:
        with mock.patch.object(release, "existing"), self.assertRaisesRegex(Failed, "--registry"):
            release.oci(of(dry_run=False))


class Advisories(unittest.TestCase):
    """A known vulnerability always stops a release. A database that cannot be reached stops it too, except in a dry
    run.
    """

    def outcome(self, check: str, answer: subprocess.CompletedProcess[str], dry_run: bool) -> list[str]:
        this = of(dry_run)
        with (
            mock.patch.object(advisories, "attempt", return_value=answer),
            mock.patch.object(advisories, "run"),
            mock.patch.object(advisories, "python_tool"),
        ):
            getattr(advisories, check)(this)
        return this.not_checked

    UNREACHED = {
        "audit_crates": ended(stderr="failed to fetch advisory database URL", status=1),
        "audit_node": ended('{"message": "405 Method Not Allowed"}', status=1),
        "audit_python": ended('{"dependencies": [{"name": "wasmtime", "skip_reason": "not found"}]}'),
    }
    VULNERABLE = {
        "audit_crates": ended(stderr="error[vulnerability]: use after free", status=1),
        "audit_node": ended('{"vulnerabilities": {"fflate": {"severity": "high"}}}', status=1),
        "audit_python": ended('{"dependencies": [{"name": "wasmtime", "vulns": [{"id": "A-1"}]}]}', status=1),
    }
    CLEAN = {
        "audit_crates": ended(),
        "audit_node": ended('{"vulnerabilities": {}}'),
        "audit_python": ended('{"dependencies": [{"name": "wasmtime", "vulns": []}]}'),
    }

    def test_a_clean_release_passes(self) -> None:
        for check, answer in self.CLEAN.items():
            self.assertEqual(self.outcome(check, answer, dry_run=False), [])

    def test_a_vulnerability_stops_a_dry_run_too(self) -> None:
        for check, answer in self.VULNERABLE.items():
            with self.assertRaises(Failed):
                self.outcome(check, answer, dry_run=True)

    def test_an_unreachable_database_is_reported_by_a_dry_run_and_stops_a_release(self) -> None:
        answers = self.UNREACHED | {
            check: ended(stderr="no network", status=1) for check in ["audit_node", "audit_python"]
        }
        for check, answer in [*self.UNREACHED.items(), *answers.items()]:
            self.assertEqual(len(self.outcome(check, answer, dry_run=True)), 1, check)
            with self.assertRaises(Failed):
                self.outcome(check, answer, dry_run=False)


class Archives(unittest.TestCase):
    def packed(self, target: str) -> tuple[bytes, dict[str, int]]:
        with tempfile.TemporaryDirectory() as directory:
            files = Path(directory)
            (files / "licences").write_text("text")
            binary = files / binaries.program(target)
            binary.write_bytes(b"binary")
            with mock.patch.object(binaries, "FILES", files), mock.patch.object(binaries, "LICENCES", "licences"):
                archive = binaries.pack_binary(of(), target, binary)
            if archive.suffix == ".zip":
                with zipfile.ZipFile(archive) as packed:
                    names = {entry.filename: entry.external_attr >> 16 for entry in packed.infolist()}
            else:
                with tarfile.open(archive) as packed:
                    names = {entry.name: entry.mode for entry in packed.getmembers()}
            return archive.read_bytes(), names

    def test_an_archive_has_the_same_bytes_each_time(self) -> None:
        for target, program in {
            "x86_64-unknown-linux-musl": "paddock",
            "x86_64-pc-windows-msvc": "paddock.exe",
        }.items():
            first, names = self.packed(target)
            self.assertEqual(first, self.packed(target)[0])
            top = f"paddock-0.1.0-{target}"
            self.assertEqual(
                set(names), {f"{top}/{name}" for name in [program, "licences", "LICENSE", "README.md", "CHANGELOG.md"]}
            )
            if program == "paddock":
                self.assertEqual(names[f"{top}/paddock"], 0o755)

    def test_flags_name_each_registry_of_the_cargo_home(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            for name in ["one", "two"]:
                (Path(directory) / "registry/src" / name).mkdir(parents=True)
            sources = f"{directory}/registry/src"
            flags = f'["--remap-path-prefix={sources}/one=", "--remap-path-prefix={sources}/two="]'
            expected = ["--config", f"target.wasm32-wasip2.rustflags={flags}"]
            self.assertEqual(component.without_source_directories("wasm32-wasip2", Path(directory)), expected)


class Binaries(unittest.TestCase):
    def inspected(self, content: bytes, packages: str, symbols: str) -> None:
        answers = {"rust-audit-info": f'{{"packages": [{packages}]}}', "nm": symbols}
        with tempfile.TemporaryDirectory() as directory:
            binary = Path(directory) / "paddock"
            binary.write_bytes(b"\x7fELF" + content)
            with (
                mock.patch.object(binaries, "cargo_tool", side_effect=lambda name: name),
                mock.patch.object(binaries, "output", side_effect=lambda tool, *rest: answers[tool]),
            ):
                binaries.inspect_binary(binary)

    def test_a_binary_is_stripped_and_small_lists_its_dependencies_and_names_no_directory(self) -> None:
        wasmtime = '{"name": "wasmtime"}'
        self.inspected(b"", wasmtime, "")
        for content, packages, symbols, reason in [
            (b"", '{"name": "serde"}', "", "the list of its dependencies"),
            (b"", wasmtime, "0000 T main", "not stripped"),
            (bytes(binaries.MAX_BYTES), wasmtime, "", "and may have 20,000,000"),
            (str(REPOSITORY).encode(), wasmtime, "", "names the directory"),
            (str(binaries.cargo_home() / "registry").encode(), wasmtime, "", "names the directory"),
        ]:
            with self.assertRaisesRegex(Failed, reason):
                self.inspected(content, packages, symbols)


class Workflow(unittest.TestCase):
    def test_the_workflow_runs_every_stage_and_no_other(self) -> None:
        workflow = (REPOSITORY / ".github/workflows/release.yml").read_text()
        runs = re.findall(r"\.ci/release (.*)", workflow)
        stages = {word for line in runs for word in re.findall(r"(?<=\s)[a-z]+(?=\s|$)", f" {line}")}
        self.assertEqual(stages, {stage.__name__ for stage in release.STAGES})


if __name__ == "__main__":
    unittest.main()
