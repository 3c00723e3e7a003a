"""Tests of the release: what stops it, and which files it contains. Usage: `python3 -m unittest discover -s
tests/release`.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import json
import os
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

from releasing import advisories, artifacts, binaries, common, component, packages, tools  # noqa: E402
from releasing.common import Failed, Release  # noqa: E402


def of(dry_run: bool = True, version: str = "0.1.0") -> Release:
    return Release(version, dry_run, ["x86_64-unknown-linux-gnu"], None)


def ended(stdout: str = "", stderr: str = "", status: int = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], status, stdout, stderr)


class Stops(unittest.TestCase):
    def test_a_manifest_of_another_version(self) -> None:
        with self.assertRaisesRegex(Failed, r"Cargo.toml has the version 9.9.9, unlike .*host/node/package.json \(0"):
            release.versions(of(version="9.9.9"))

    VERSION = release.tomllib.loads(release.text("Cargo.toml"))["workspace"]["package"]["version"]
    RELEASED = {"CHANGELOG.md": f"# Changelog\n\n## {VERSION}\n"}

    def checked(
        self, dry_run: bool, texts: dict[str, str] = RELEASED, **answers: subprocess.CompletedProcess[str]
    ) -> list[str]:
        """Checks the versions of a commit that is released, but for these texts and answers of git."""
        answers = {"tag": ended(f"v{self.VERSION}"), "merge-base": ended(), "status": ended()} | answers
        this = of(dry_run, self.VERSION)
        with (
            mock.patch.object(release, "attempt", side_effect=lambda _, command, *rest: answers[command]),
            mock.patch.object(release, "output", side_effect=lambda _, command, *rest: answers[command].stdout),
            mock.patch.object(release, "text", side_effect=lambda name: texts.get(name) or common.text(name)),
        ):
            release.versions(this)
        return this.not_checked

    def test_a_commit_that_is_not_released_as_it_is(self) -> None:
        self.assertEqual(self.checked(dry_run=False), [])
        for reason, wrong in {
            "the changelog: its first heading is Unreleased": {"texts": {"CHANGELOG.md": "## Unreleased"}},
            f"the tag: the commit has v0.0.1, and not v{self.VERSION}": {"tag": ended("v0.0.1")},
            "the branch: the commit is not on `origin/main`": {"merge-base": ended(status=1)},
            "the commit: the working tree has changes: M README.md": {"status": ended(" M README.md")},
        }.items():
            self.assertEqual([reason in it for it in self.checked(dry_run=True, **wrong)], [True], reason)
            with self.assertRaisesRegex(Failed, reason):
                self.checked(dry_run=False, **wrong)

    def test_a_dependency_or_a_lock_file_of_another_version(self) -> None:
        for name, pattern in {
            "Cargo.toml": r'"guest/policy", version = "=(.*?)"',
            "host/node/package-lock.json": r'"version": "(.*?)"',
        }.items():
            text = common.text(name)
            start, end = re.search(pattern, text).span(1)
            with self.assertRaisesRegex(Failed, rf"unlike .* {name} \(9.9.9\)|unlike {name} \(9.9.9\)"):
                self.checked(True, self.RELEASED | {name: f"{text[:start]}9.9.9{text[end:]}"})

    def test_a_compiler_unlike_that_of_the_component(self) -> None:
        with tempfile.TemporaryDirectory() as directory, mock.patch.object(common, "FILES", Path(directory)):
            (Path(directory) / common.COMPILER).write_text(common.compiler())
            self.assertNotIn("host:", common.compiler())
            common.check_compiler()
            (Path(directory) / common.COMPILER).write_text("release: 1.0.0")
            with self.assertRaisesRegex(Failed, "the component was built by\nrelease: 1.0.0"):
                common.check_compiler()

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
        with self.assertRaisesRegex(Failed, "--registry"):
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


class Publication(unittest.TestCase):
    """Every registry gets the files of a whole release, as they were packed and tried, and nothing else."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.files = Path(directory.name)
        for module in [release, common, packages, binaries]:
            self.enter(module, FILES=self.files)
        self.enter(release, versions=mock.DEFAULT)
        names = packages.npm_files(of()) + packages.python_files(of()) + packages.crate_files(of())
        for name in names:
            (self.files / name).write_text(name)
        release.sums(of())

    def enter(self, module: object, **replaced: object) -> None:
        patch = mock.patch.multiple(module, **replaced)
        patch.start()
        self.addCleanup(patch.stop)

    def test_each_stage_checks_versions_and_sums_and_sends_an_exact_list(self) -> None:
        (self.files / "paddock-files-other-0.1.0.tgz").write_text("from an earlier run")
        stages = {"npm": packages.npm_files, "pypi": packages.python_files, "crates": packages.crate_files}
        for stage, listed in stages.items():
            sent = []
            self.enter(release, check_compiler=mock.DEFAULT)
            for name in ["publish_npm", "publish_python", "publish_crates"]:
                self.enter(release, **{name: lambda _, files: sent.extend(file.name for file in files)})
            getattr(release, stage)(of(dry_run=False))
            self.assertEqual(sent, listed(of()), stage)
            path = self.files / sent[0]
            path.write_text("changed")
            with self.assertRaisesRegex(Failed, f"{path.name} does not have the sum"):
                getattr(release, stage)(of())
            path.unlink()
            with self.assertRaisesRegex(Failed, f"the publication of {path.name}: there is no such file"):
                getattr(release, stage)(of(dry_run=False))
            partial = of()
            getattr(release, stage)(partial)
            self.assertEqual(len(partial.not_checked), 1)
        self.assertEqual(release.versions.call_count, 12)

    def test_platforms_without_an_archive_stop_a_release_and_are_listed_by_a_dry_run(self) -> None:
        for target in packages.PLATFORMS:
            partial = Release("0.1.0", True, [target], None)
            with self.assertRaisesRegex(Failed, "the stage `binaries` writes it"), packages.released_programs(partial):
                pass
        partial = of()
        with packages.released_programs(partial) as programs:
            self.assertEqual(programs, {})
        self.assertEqual(len(partial.not_checked), len(packages.PLATFORMS))

    def test_a_binary_with_another_component(self) -> None:
        this = of()
        this.component.write_bytes(b"component")
        binaries.embedded_sum(this, "one").write_text(common.sha256(this.component))
        binaries.check_embedded(this, "one")
        binaries.embedded_sum(this, "two").write_text("0" * 64)
        with self.assertRaisesRegex(Failed, "the binary for two has another component"):
            binaries.check_embedded(this, "two")
        with self.assertRaisesRegex(Failed, "the component in the binary for three"):
            binaries.check_embedded(of(dry_run=False), "three")

    def test_npm_packages_name_the_repository_of_the_workflow(self) -> None:
        tarball = self.files / "package.tgz"
        manifest = {"name": "paddock-files", "version": "0.1.0"}
        for url, expected in {"": "names the repository None", "other": "names the repository other"}.items():
            content = json.dumps(manifest | ({"repository": {"url": url}} if url else {})).encode()
            with tarfile.open(tarball, "w:gz") as packed:
                entry = tarfile.TarInfo("package/package.json")
                entry.size = len(content)
                packed.addfile(entry, io.BytesIO(content))
            with mock.patch.dict(os.environ, GITHUB_REPOSITORY="o/r"), self.assertRaisesRegex(Failed, expected):
                packages.publish_npm(of(), [tarball])
        with mock.patch.dict(os.environ), self.assertRaisesRegex(Failed, "`GITHUB_REPOSITORY` is not set"):
            os.environ.pop("GITHUB_REPOSITORY", None)
            packages.publish_npm(of(dry_run=False), [])

    def test_crates_that_cargo_packs_differently(self) -> None:
        crate = self.files / "paddock-files-0.1.0.crate"

        def pack(_: Release, into: Path) -> None:
            (into / crate.name).write_text("other")

        self.enter(packages, pack_crates=pack)
        with self.assertRaisesRegex(Failed, "cargo packs other bytes"):
            packages.publish_crates(of(), [crate])

    def test_only_a_dry_run_loads_what_a_registry_returns(self) -> None:
        loads = []
        this = Release("0.1.0", False, [], None)
        for path in [this.component, this.wit]:
            (self.files / path.name).write_text("same")

        def run(*command: object, **_: object) -> None:
            loads.extend(["loaded"] if artifacts.LOAD in command else [])
            if "pull" in command:
                Path(command[command.index("--output") + 1]).write_text("same")

        self.enter(artifacts, run=run, output=lambda *_: "", get_wit=mock.DEFAULT)
        self.enter(artifacts, cargo_tool=lambda name: name, python_host=lambda: "python")
        artifacts.push_and_pull(this, "host", is_local=False)
        self.assertEqual(loads, [])
        artifacts.push_and_pull(this, "host", is_local=True)
        self.assertEqual(loads, ["loaded"])


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
            "x86_64-pc-windows-gnu": "paddock.exe",
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


class Tools(unittest.TestCase):
    def test_pip_installs_nothing_whose_hash_is_not_written_down(self) -> None:
        installs = []
        with (
            mock.patch.object(tools, "run", side_effect=lambda *command, **_: installs.append(command)),
            mock.patch.object(tools, "python_tool", side_effect=lambda name: name),
        ):
            tools.python_tools.__wrapped__()
            tools.python_host.__wrapped__()
        installs = [command for command in installs if "install" in command]
        self.assertEqual(len(installs), 3)
        for command in installs:
            self.assertTrue({"--require-hashes", "--no-index"} & set(command), command)

    def test_a_tool_that_is_there_is_not_built(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            tool = Path(directory) / f"wkg-{tools.CARGO_TOOLS['wkg'][0]}/bin/wkg"
            tool.parent.mkdir(parents=True)
            tool.touch()
            with mock.patch.object(tools, "TOOLS", Path(directory)), mock.patch.object(tools, "run") as run:
                self.assertEqual(tools.cargo_tool.__wrapped__("wkg"), tool)
            run.assert_not_called()


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
    WORKFLOW = common.text(".github/workflows/release.yml")

    def test_the_workflow_builds_the_released_targets_which_are_checked_before(self) -> None:
        built = re.findall(r"\{ target: (\S+),", self.WORKFLOW)
        self.assertEqual(sorted(built), sorted(packages.PLATFORMS))
        checks = common.text(".ci/platforms") + common.text(".ci/platforms-unix")
        for target in packages.PLATFORMS:
            self.assertRegex(checks, rf"\b{target}\b")

    def test_a_job_that_may_publish_has_one_permission_and_builds_nothing(self) -> None:
        text = self.WORKFLOW.split("\njobs:\n")[1]
        jobs = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n|  #.*\n)*)", text, re.MULTILINE))
        allowed = {"npm": "id-token", "pypi": "id-token", "crates": "id-token", "oci": "packages", "page": "contents"}
        for name, job in jobs.items():
            if name != "attest":
                writes = re.findall(r"([a-z-]+): write", job)
                self.assertEqual(writes, [allowed[name]] if name in allowed else [], name)
            if writes and name in {"npm", "pypi", "crates", "oci"}:
                self.assertIn("environment: release", job)
                self.assertEqual(re.findall(r"\.ci/release.* (\w+)\n", job), [name])
        self.assertLess(list(jobs).index("npm"), list(jobs).index("crates"))

    def test_the_workflow_runs_every_stage_and_no_other(self) -> None:
        runs = re.findall(r"\.ci/release (.*)", self.WORKFLOW)
        stages = {word for line in runs for word in re.findall(r"(?<=\s)[a-z]+(?=\s|$)", f" {line}")}
        self.assertEqual(stages, {stage.__name__ for stage in release.STAGES})


class Platforms(unittest.TestCase):
    def ends(self, commands: str) -> int:
        """Runs commands with the functions of `.ci/platforms-unix`, where the built binary answers everything asked."""
        answers = r'"content":"one\ntwo" "line":2 "ok":true "content":"one\n2" "code":"outside-workspace" "serverInfo"'
        answers += ' {"added":1,"unsettled":0}'
        with tempfile.TemporaryDirectory() as directory:
            binary = Path(directory) / "target/x86_64-unknown-linux-musl/dist/paddock"
            binary.parent.mkdir(parents=True)
            binary.write_text(f"#!/bin/sh\nprintf '%s\\n' '{answers}' '\"code\":\"denied\"' \"$MESSAGE\"\n")
            binary.chmod(0o755)
            script = f"set -euo pipefail; . {REPOSITORY}/.ci/platforms-unix; binary={binary}; {commands}"
            return subprocess.run(["bash", "-c", script], cwd=directory, capture_output=True).returncode

    def test_a_library_list_that_cannot_be_read_is_no_empty_one(self) -> None:
        musl = "prepare_unix() { :; }; cargo() { :; }; smoke() { :; }; musl"
        self.assertEqual(self.ends(f"readelf() {{ :; }}; export MESSAGE=; {musl}"), 0)
        self.assertNotEqual(self.ends(f"readelf() {{ echo NEEDED; }}; export MESSAGE=; {musl}"), 0)
        self.assertNotEqual(self.ends(f"readelf() {{ return 127; }}; export MESSAGE=; {musl}"), 0)

    def test_a_command_that_is_refused_for_another_reason_is_not_refused_for_lack_of_its_supervisor(self) -> None:
        lack = '"text":"cannot start the command: no such file"'
        self.assertEqual(self.ends(f"export MESSAGE='{lack}'; RUNNER=env smoke $binary"), 0)
        self.assertNotEqual(self.ends("export MESSAGE='commands are not enabled'; RUNNER=env smoke $binary"), 0)


class Windows(unittest.TestCase):
    def test_a_program_is_found_with_its_extension(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory) / "tool.exe"
            program.write_text("#!/bin/sh\necho found\n")
            program.chmod(0o755)
            self.assertEqual(common.output(Path(directory) / "tool"), "found")

    def test_every_module_of_tests_that_windows_lacks_has_a_reason(self) -> None:
        script = [sys.executable, REPOSITORY / ".ci/wine/skipped.py"]
        printed = subprocess.run(script, capture_output=True, encoding="utf-8")
        self.assertEqual((printed.returncode, printed.stderr), (0, ""))
        for line in [" tests of tests/approval.rs: Some", "mcp.rs: a_signal_ends_the_server_at_once", "tests of tests/alone:"]:
            self.assertIn(line, printed.stdout)


if __name__ == "__main__":
    unittest.main()
