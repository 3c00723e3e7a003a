"""Directories are opened once: if another entry takes a name on their path, calls still reach the opened directory."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paddock_files import Mount, OpenError, Workspace, _directory
from paddock_files._directory import Directory

IS_LINUX = sys.platform == "linux"
needs_linux = pytest.mark.skipif(not IS_LINUX, reason="another system than Linux has no /proc/self/fd")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Creates a workspace at `work/a/b`, its state directory at `states/c/d`, and files that neither may reach at
    `outside`.
    """
    for directory in ("work/a/b", "states/c", "outside/b/sub", "outside/d"):
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / "work/a/b/file.txt").write_text("inside\n")
    for path in ("outside/b/file.txt", "outside/d/lock", "outside/file.txt"):
        (tmp_path / path).write_text("SECRET\n")
    return tmp_path


def opened(top: Path, **options: Any) -> Workspace:
    return Workspace(top / "work/a/b", state_dir=top / "states/c/d", **options)


def tree(path: Path) -> dict[str, Any]:
    """Returns all entries with their times, so that an entry that was added and removed again is noticed too."""
    entries = {}
    for each in [path, *path.rglob("*")]:
        status = each.lstat()
        content = each.read_bytes() if each.is_file() else None
        entries[str(each)] = (status.st_mode, status.st_mtime_ns, status.st_ctime_ns, content)
    return entries


def move(path: Path, top: Path) -> Path:
    """Moves a directory away, and returns its new path."""
    return path.rename(path.with_name(f"{path.name}-moved"))


def replace_by_directory(path: Path, top: Path) -> Path:
    """Replaces a directory by another one, whose entries below `outside` have the same names."""
    moved = move(path, top)
    below = {"work": "a/b", "a": "b", "b": ".", "states": "c/d", "c": "d", "d": "."}[path.name]
    shutil.copytree(top / "outside" / ("d" if path.name in ("states", "c", "d") else "b"), path / below)
    return moved


def replace_by_link(path: Path, top: Path) -> Path:
    moved = move(path, top)
    path.symlink_to(top / "outside" / (path.name if path.name in ("b", "d") else "."))
    return moved


def replace_by_directory_of_links(path: Path, top: Path) -> Path:
    """Makes an attack: moves the directory above a root, and puts a directory with a link in its place."""
    moved = move(path, top)
    path.mkdir()
    for name in ("a", "b", "c", "d"):
        (path / name).symlink_to(top / "outside" / (name if name in ("b", "d") else "."))
    return moved


MANOEUVRES = [move, replace_by_directory, replace_by_link, replace_by_directory_of_links]
Manoeuvre = Callable[[Path, Path], Path]


@needs_linux
@pytest.mark.parametrize("manoeuvre", MANOEUVRES)
@pytest.mark.parametrize("directory", ["work/a/b", "work/a", "work"])
def test_a_root_is_the_same_directory_wherever_it_is_moved(top: Path, directory: str, manoeuvre: Manoeuvre) -> None:
    workspace, before = opened(top), tree(top / "outside")
    moved = manoeuvre(top / directory, top)
    in_place = tree(top / directory) if (top / directory).exists() else {}
    root = moved / "work/a/b".removeprefix(directory).removeprefix("/")
    assert workspace.call("read_file", {"path": "file.txt"}).text.startswith("1|inside\n")
    assert workspace.call("write_file", {"path": "file.txt", "content": "changed\n"}).ok
    assert workspace.call("write_file", {"path": "new.txt", "content": "new\n"}).ok
    assert workspace.call("delete", {"path": "sub"}).error is not None
    assert {path.name: path.read_text() for path in root.iterdir()} == {"file.txt": "changed\n", "new.txt": "new\n"}
    assert tree(top / "outside") == before
    assert (tree(top / directory) if (top / directory).exists() else {}) == in_place


@pytest.mark.parametrize("in_place", ["nothing", "directory", "link"])
@pytest.mark.parametrize("directory", ["work/a/b", "work/a", "work"])
def test_a_root_that_was_deleted_is_gone(top: Path, directory: str, in_place: str) -> None:
    workspace, before = opened(top), tree(top / "outside")
    shutil.rmtree(top / directory)
    if in_place != "nothing":
        (top / "work/a").mkdir(parents=True, exist_ok=True)
    if in_place == "directory":
        shutil.copytree(top / "outside/b", top / "work/a/b")
    elif in_place == "link":
        (top / "work/a/b").symlink_to(top / "outside/b")
    for tool, arguments in CALLS:
        error = workspace.call(tool, arguments).error
        assert error is not None and error.code == "backend-gone" and "`/workspace`" in error.message, error
        assert error.hint == "the person who runs this has to open the workspace again"
    assert tree(top / "outside") == before
    if in_place != "nothing":
        assert opened(top).call("tree").ok == (in_place in ("directory", "link"))


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "file.txt"}),
    ("write_file", {"path": "file.txt", "content": "changed\n"}),
    ("tree", {}),
]


@needs_linux
@pytest.mark.parametrize("manoeuvre", MANOEUVRES)
@pytest.mark.parametrize("directory", ["states/c/d", "states/c", "states"])
def test_the_state_directory_is_the_same_wherever_it_is_moved(top: Path, directory: str, manoeuvre: Manoeuvre) -> None:
    workspace, before = opened(top), tree(top / "outside")
    assert workspace.call("write_file", {"path": "file.txt", "content": "one\n"}).ok
    moved = manoeuvre(top / directory, top)
    in_place = tree(top / directory) if (top / directory).exists() else {}
    assert workspace.call("write_file", {"path": "file.txt", "content": "two\n"}).ok
    assert workspace.call("restore", {"path": "file.txt"}).ok and workspace.read("file.txt").content == "one"
    state = moved / "states/c/d".removeprefix(directory).removeprefix("/")
    assert {"lock"} < {path.name for path in state.iterdir()} and len(workspace.history().entries) == 3
    assert tree(top / "outside") == before
    assert (tree(top / directory) if (top / directory).exists() else {}) == in_place


@pytest.mark.parametrize("in_place", ["nothing", "directory", "link"])
@pytest.mark.parametrize("directory", ["states/c/d", "states/c", "states"])
def test_a_state_directory_that_was_deleted_is_gone(top: Path, directory: str, in_place: str) -> None:
    workspace, before = opened(top), tree(top / "outside")
    assert workspace.call("write_file", {"path": "file.txt", "content": "one\n"}).ok
    shutil.rmtree(top / directory)
    if in_place != "nothing":
        (top / "states/c").mkdir(parents=True, exist_ok=True)
    if in_place == "directory":
        shutil.copytree(top / "outside/d", top / "states/c/d")
    elif in_place == "link":
        (top / "states/c/d").symlink_to(top / "outside/d")
    for tool, arguments in CALLS:
        error = workspace.call(tool, arguments).error
        assert error is not None and error.code == "backend-gone" and "the state directory" in error.message, error
        assert error.hint == "the person who runs this has to open the workspace again"
    assert (top / "work/a/b/file.txt").read_text() == "one\n" and tree(top / "outside") == before
    assert [path.name for path in (top / "work/a/b").iterdir()] == ["file.txt"]


@pytest.mark.parametrize("missing", ["d", "c/d"])
@pytest.mark.parametrize("planted", ["link", "dangling link", "file"])
def test_a_link_at_the_path_of_the_state_directory_is_not_followed(
    top: Path, missing: str, planted: str
) -> None:
    if missing == "c/d":
        (top / "states/c").rmdir()
    workspace, before = opened(top), tree(top / "outside")
    location = top / "states" / ("c" if missing == "c/d" else "c/d")
    if planted == "file":
        location.write_text("")
    else:
        location.symlink_to(top / "outside" if planted == "link" else top / "outside/none")
    error = workspace.call("write_file", {"path": "file.txt", "content": "x"}).error
    assert error is not None and error.code == "backend-gone" and "something else has its name" in error.message
    assert tree(top / "outside") == before
    assert {path.name: path.read_text() for path in (top / "work/a/b").iterdir()} == {"file.txt": "inside\n"}
    location.unlink()
    assert workspace.call("write_file", {"path": "file.txt", "content": "x"}).ok and (top / "states/c/d/lock").exists()
    assert (top / "states/c/d").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("manoeuvre", MANOEUVRES)
def test_a_missing_state_directory_is_made_below_the_directory_that_was_there(top: Path, manoeuvre: Manoeuvre) -> None:
    (top / "states/c").rmdir()
    workspace, before = opened(top), tree(top / "outside")
    moved = manoeuvre(top / "states", top)
    in_place = tree(top / "states") if (top / "states").exists() else {}
    outcome = workspace.call("write_file", {"path": "file.txt", "content": "x"})
    if IS_LINUX:
        assert outcome.ok and (moved / "c/d/lock").exists()
    assert tree(top / "outside") == before
    assert (tree(top / "states") if (top / "states").exists() else {}) == in_place
    shutil.rmtree(moved)
    error = workspace.call("read_file", {"path": "file.txt"}).error
    assert error is not None and error.code == "backend-gone"


@pytest.mark.parametrize("manoeuvre", MANOEUVRES)
@pytest.mark.parametrize("directory", ["work/a/b", "work/a", "work", "states/c/d", "states"])
def test_without_paths_of_descriptors_a_directory_that_was_moved_is_gone(
    top: Path, directory: str, manoeuvre: Manoeuvre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_directory, "MAGIC_LINKS", "/none")
    workspace, before = opened(top), tree(top / "outside")
    for tool, arguments in CALLS:
        assert workspace.call(tool, arguments).ok
    moved = manoeuvre(top / directory, top)
    for tool, arguments in CALLS:
        error = workspace.call(tool, arguments).error
        assert error is not None and error.code == "backend-gone" and "not at its path any more" in error.message
    assert tree(top / "outside") == before
    if (top / directory).is_symlink():
        (top / directory).unlink()
    shutil.rmtree(top / directory, ignore_errors=True)
    moved.rename(top / directory)
    assert all(workspace.call(tool, arguments).ok for tool, arguments in CALLS), "it is back"


@needs_linux
def test_a_further_root_is_held_too(top: Path) -> None:
    (top / "more/x").mkdir(parents=True)
    (top / "more/x/file.txt").write_text("more\n")
    policy = {"allowed_directories": [str(top / "more/x")]}
    for options in ({"mounts": [Mount(top / "more/x")]}, {"policy": policy}):
        workspace = opened(top, **options)
        (top / "more").rename(top / "elsewhere")
        (top / "more").mkdir()
        (top / "more/x").symlink_to(top / "outside")
        assert workspace.call("read_file", {"path": "/x/file.txt"}).text.startswith("1|more\n")
        (top / "more/x").unlink()
        (top / "more").rmdir()
        (top / "elsewhere").rename(top / "more")


@needs_linux
def test_descriptors_are_closed_with_the_workspace_and_not_inherited(top: Path) -> None:
    opened(top).call("write_file", {"path": "file.txt", "content": "x"})
    before = descriptors()
    with opened(top) as workspace:
        assert workspace.call("write_file", {"path": "file.txt", "content": "x"}).ok
        assert len(descriptors() - before) == 2, "the root and the state directory"
        listing = subprocess.run(["ls", "-l", "/proc/self/fd"], close_fds=False, capture_output=True, text=True).stdout
        assert "work/a/b" not in listing and "states" not in listing
        assert not any(os.get_inheritable(descriptor) for descriptor in descriptors() - before)
    assert descriptors() == before
    gc.disable()
    try:
        workspace = opened(top)
        del workspace
        assert descriptors() == before, "a workspace that is not closed is closed with its last reference"
        for wrong in ({"mounts": [Mount(top / "none")]}, {"policy": {"unknown": 1}}, {"mounts": [Mount(top, "a/b")]}):
            with pytest.raises(OpenError) as raised:
                opened(top, **wrong)
            del raised
            assert descriptors() == before, wrong
    finally:
        gc.enable()


def descriptors() -> set[int]:
    open_descriptors = {int(name) for name in os.listdir("/proc/self/fd")}
    # The descriptor of the listing itself is closed again.
    return {descriptor for descriptor in open_descriptors if os.path.exists(f"/proc/self/fd/{descriptor}")}


def test_a_call_has_its_directories_to_its_end(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = opened(top)
    find = Directory.path_to_open

    def close_first(directory: Directory, known_path: str) -> str:
        workspace.close()
        # A file that is opened now would get the number of a closed descriptor.
        held_open.extend(os.open(top / "outside", os.O_RDONLY) for _ in range(8))
        return find(directory, known_path)

    held_open: list[int] = []
    monkeypatch.setattr(Directory, "path_to_open", close_first)
    assert workspace.call("read_file", {"path": "file.txt"}).text.startswith("1|inside\n")
    for descriptor in held_open:
        os.close(descriptor)


def test_too_many_open_files_are_no_missing_directory(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*arguments: Any, **options: Any) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "open", none_left)
    with pytest.raises(OpenError, match="Too many open files"):
        opened(top)
