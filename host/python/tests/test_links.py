"""Settings that name a directory: a link in a root does not decide which directory is opened, and no path is resolved
twice.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from binding import Binding

from paddock_files import Mount, OpenError, PaddockError, Workspace
from paddock_files._resolve import MAX_LINKS, resolve

Opening = Callable[[Path, Path, pytest.MonkeyPatch], Workspace]


def as_mount(root: Path, path: Path, patch: pytest.MonkeyPatch) -> Workspace:
    return Workspace(root, mounts=[Mount(path)])


def as_allowed(root: Path, path: Path, patch: pytest.MonkeyPatch) -> Workspace:
    return Workspace(root, policy={"allowed_directories": [str(path)]})


def as_allowed_for_reads(root: Path, path: Path, patch: pytest.MonkeyPatch) -> Workspace:
    return Workspace(root, policy={"allowed_directories": [{"path": str(path), "access": "read-only"}]})


def as_workspace(root: Path, path: Path, patch: pytest.MonkeyPatch) -> Workspace:
    return Workspace(path, mounts=[Mount(root)])


def as_state(root: Path, path: Path, patch: pytest.MonkeyPatch) -> Workspace:
    return Workspace(root, state_dir=path)


def as_state_by_environment(root: Path, path: Path, patch: pytest.MonkeyPatch) -> Workspace:
    patch.setenv("PADDOCK_STATE_DIR", str(path))
    return Workspace(root)


def as_state_by_current_directory(root: Path, path: Path, patch: pytest.MonkeyPatch) -> Workspace:
    patch.chdir(root)
    return Workspace(root, state_dir=os.path.relpath(path, root))


SETTINGS = [
    as_mount,
    as_allowed,
    as_allowed_for_reads,
    as_workspace,
    as_state,
    as_state_by_environment,
    as_state_by_current_directory,
]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for directory in ("root/sub", "outside/dir", "other"):
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / "root/out").symlink_to("../outside")
    (tmp_path / "root/chain").symlink_to("sub/../out")
    (tmp_path / "root/sub/absolute").symlink_to(tmp_path / "outside/dir")
    (tmp_path / "root/in").symlink_to("sub")
    (tmp_path / "root/round").symlink_to("../other/back")
    (tmp_path / "other/back").symlink_to("../root/sub")
    (tmp_path / "other/link").symlink_to("../outside")
    return tmp_path


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("path", ["out", "out/dir", "chain/dir", "sub/absolute", "in/absolute", "sub/../out/dir"])
def test_a_link_in_a_root_opens_nothing_outside(
    top: Path, path: str, setting: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = top / "outside" / ("" if path == "out" else "dir")
    with pytest.raises(
        OpenError, match=f"a symbolic link in the root `{top}/root` leads out of it; .* `{end}"
    ) as raised:
        setting(top / "root", top / "root" / path, monkeypatch)
    assert ("state directory" in str(raised.value)) == setting.__name__.startswith("as_state")
    assert setting(top / "root", end, monkeypatch).call("tree").ok, "the directory itself can be named"


@pytest.mark.parametrize("setting", [as_mount, as_allowed, as_state])
@pytest.mark.parametrize("path", ["root/in", "root/round", "other/link"])
def test_other_links_are_followed(top: Path, path: str, setting: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    with setting(top / "root", top / path, monkeypatch) as workspace:
        assert workspace.call("write_file", {"path": "a", "content": "x"}).ok
    if setting is as_state:
        assert ((top / path).resolve() / "lock").exists()


@pytest.mark.parametrize("setting", SETTINGS)
def test_it_makes_no_difference_by_which_path_a_root_is_named(
    top: Path, setting: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Binding(top / "root", top / "bound") as bound:
        for root, path in ((bound, top / "root/out/dir"), (top / "root", bound / "out/dir")):
            with pytest.raises(OpenError, match="leads out of it; if that is meant, name"):
                setting(root, path, monkeypatch)
    # A part of the root is mounted elsewhere, and its path does not contain the root.
    with Binding(top / "root/sub", top / "bound") as bound, pytest.raises(OpenError, match="leads out of it"):
        setting(top / "root", bound / "absolute", monkeypatch)


def test_a_root_is_the_resolved_directory_whatever_takes_its_path(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exchanges a directory at each moment of the resolution: the root is the resolved directory, not the one that took
    its name.
    """
    (top / "root/sub/file.txt").write_text("inside\n")
    shutil.copytree(top / "root/sub", top / "outside/sub", symlinks=True)
    (top / "outside/sub/file.txt").write_text("SECRET\n")
    opens, really = [0], os.open

    def exchange(path: Any, *arguments: Any, **options: Any) -> int:
        descriptor = really(path, *arguments, **options)
        if path == "sub" and options.get("dir_fd") is not None:
            opens[0] += 1
            if opens[0] == 1:
                (top / "root").rename(top / "moved")
                (top / "root").symlink_to(top / "outside")
        return descriptor

    monkeypatch.setattr(os, "open", exchange)
    workspace = Workspace(top / "root/sub", state_dir=False)
    monkeypatch.undo()
    assert opens[0] == 1, "the root was opened once"
    outcome = workspace.call("read_file", {"path": "file.txt"})
    assert outcome.text.startswith("1|inside\n") if os.path.isdir("/proc/self/fd") else outcome.error is not None


def test_paths_are_resolved_as_the_system_resolves_them(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (top / "file").write_text("")
    (top / "loop").symlink_to("loop")
    for number in range(MAX_LINKS + 1):
        (top / f"l{number}").symlink_to(f"l{number - 1}" if number else "root")
    monkeypatch.chdir(top / "root/sub")
    paths = ["/", "//", "/..", ".", "..", "../out/./dir//", "absolute/..", "../../l1", "../../l39", "/proc/self/cwd",
             str(top / "root"), "../../other/back/../in", ""]  # fmt: skip
    for path in paths:
        resolved = resolve(path)
        assert resolved.failure is None, path
        assert resolved.location.path == os.path.realpath(path, strict=bool(path)), path
        assert os.fstat(resolved.location.directory.descriptor).st_ino == os.stat(path or ".").st_ino, path
    failures = [("../../file", errno.ENOTDIR), ("../../file/x", errno.ENOTDIR), ("none", errno.ENOENT),
                ("none/..", errno.ENOENT), ("../../file/..", errno.ENOTDIR), ("../../loop", errno.ELOOP),
                ("../../l40", errno.ELOOP), ("x" * 300, errno.ENAMETOOLONG)]  # fmt: skip
    for path, code in failures:
        resolved = resolve(path)
        assert resolved.failure is not None and resolved.failure.errno == code, (path, resolved.failure)
    assert resolve("none/a/../b").location.path == str(top / "root/sub/none/b")
    assert len(resolve(top / "l39").links) == MAX_LINKS


@pytest.mark.parametrize("bad", ["a\0b", "\ud800"])
def test_invalid_paths_are_refused(top: Path, bad: str) -> None:
    for opening in (
        lambda: Workspace(bad),
        lambda: Workspace(top / "root", mounts=[Mount(bad)]),
        lambda: Workspace(top / "root", policy={"allowed_directories": [f"/{bad}"]}),
        lambda: Workspace(top / "root", policy={"blocked_directories": [f"/{bad}"]}),
        lambda: Workspace(top / "root", state_dir=bad),
    ):
        with pytest.raises(PaddockError):
            opening()


def test_a_current_directory_that_is_not_at_its_path_is_refused(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(top / "root")
    monkeypatch.setattr(os, "getcwd", lambda: str(top / "outside"))
    with pytest.raises(OpenError, match="leads elsewhere than its path"):
        Workspace(".")
    with pytest.raises(OpenError, match="leads elsewhere than its path"):
        Workspace(top / "root", state_dir="state")
    monkeypatch.undo()
    monkeypatch.chdir(top / "root/sub")
    shutil.rmtree(top / "root")
    with pytest.raises(OpenError, match="No such file"):
        Workspace(".")


def test_a_procfs_link_leads_to_its_target_or_is_refused(top: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("there is no /proc/self/fd")
    descriptor = os.open(top / "root", os.O_RDONLY)
    path = f"/proc/self/fd/{descriptor}"
    assert Workspace(path).call("tree").ok
    (top / "root").rename(top / "moved")
    assert Workspace(path)._roots[0].host == str(top / "moved")
    shutil.rmtree(top / "moved")
    # The text of the link is `…/moved (deleted)`.
    (top / "moved (deleted)").mkdir()
    for opening in (lambda: Workspace(path), lambda: Workspace(top / "outside", state_dir=path)):
        with pytest.raises(OpenError, match="leads elsewhere than its path"):
            opening()
    os.close(descriptor)


def test_a_root_is_reached_by_the_name_that_the_caller_gave(tmp_path: Path) -> None:
    for name in ("real", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    with Workspace(link) as workspace:
        def read(path: Path) -> str:
            return workspace.call("read_file", {"path": str(path)}).text

        assert "real" in read(link / "a.txt")
        assert "real" in read(tmp_path / "real" / "a.txt")
        assert "it is in no root" in read(tmp_path / "other" / "a.txt")
        link.unlink()
        link.symlink_to(tmp_path / "other")
        assert "real" in read(link / "a.txt")
