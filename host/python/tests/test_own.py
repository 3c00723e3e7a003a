"""Tools cannot reach Paddock's own files in any root, by whatever path the root is named."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from binding import Binding
from wasmtime import Config, Engine
from wasmtime.component import Component

from paddock_files import Mount, OpenError, Workspace, _cache

OWN = [".cache/paddock", ".config/paddock", ".local/state/paddock"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Creates a home directory with its usual content, and a workspace."""
    yield from home_fixture(tmp_path / "home", monkeypatch)


def home_fixture(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("PADDOCK_CACHE_DIR", "PADDOCK_STATE_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(_cache, "_held", None)
    (home / "work/sub").mkdir(parents=True)
    (home / "work/file.txt").write_text("inside\n")
    yield home


def check_hidden(workspace: Workspace, top: str) -> None:
    """Checks that every tool is refused access to Paddock's own files below a home directory at `top`."""
    for own in OWN:
        path = f"{top}/{own}" if top else own
        for tool, arguments in (
            ("read_file", {"path": f"{path}/a"}),
            ("write_file", {"path": f"{path}/planted", "content": "x"}),
            ("list_dir", {"path": path}),
            ("move", {"source": path, "destination": "moved"}),
            ("move", {"source": os.path.dirname(path), "destination": "moved"}),
            ("delete", {"path": path, "recursive": True}),
            ("copy", {"source": path, "destination": "copied", "recursive": True}),
        ):
            outcome = workspace.call(tool, arguments)
            assert outcome.error is not None and outcome.error.code in ("denied", "not-found"), (tool, path, outcome)
            assert tool in ("move", "delete") or outcome.error.code == "denied", (tool, path, outcome)
    listing = workspace.call("glob", {"pattern": "**/*", "include_hidden": True, "include_ignored": True})
    assert listing.ok and ".cwasm" not in listing.text and "policy.json" not in listing.text, listing.text


def planted(home: Path) -> None:
    """Creates a file in each directory that tools cannot access."""
    for own in OWN:
        (home / own).mkdir(parents=True, exist_ok=True, mode=0o700)
        (home / own / "a").write_text("own\n")
    (home / ".config/paddock/policy.json").write_text("{}")


@pytest.mark.parametrize("exists", [True, False])
def test_a_home_directory_as_root_keeps_it(home: Path, exists: bool) -> None:
    if exists:
        planted(home)
    with Workspace(home) as workspace:
        check_hidden(workspace, "")
        assert workspace.call("write_file", {"path": "work/file.txt", "content": "x"}).ok


@pytest.mark.parametrize("exists", [True, False])
def test_a_bind_mount_of_a_home_directory_keeps_it(home: Path, exists: bool) -> None:
    if exists:
        planted(home)
    with Binding(home, home.parent / "bound") as bound:
        with Workspace(bound) as workspace:
            check_hidden(workspace, "")
        with Workspace(home.parent / "home/work", mounts=[Mount(bound)]) as workspace:
            check_hidden(workspace, "/bound")
        # The home directory is inside the root through a mount, so the path of the root does not show it.
        with Binding(home.parent / "home", home / "work/sub"), Workspace(home / "work") as workspace:
            check_hidden(workspace, "sub")
        # The mount is of a part of the home directory, whose path below the root differs from that of the whole.
        planted(home)
        with Binding(home / ".config", home / "work/sub"), Workspace(home / "work") as workspace:
            assert code(workspace, "sub/paddock/policy.json") == "denied"
        with Binding(home / ".local/state/paddock", home / "work/a b"), Workspace(home / "work") as workspace:
            assert code(workspace, "a b/a") == "denied"
        (home / ".local/state/paddock/other").mkdir()
        (home / ".local/state/paddock/other/a").write_text("own\n")
        with Binding(home / ".local/state/paddock/other", home / "work/sub"), Workspace(home / "work") as workspace:
            assert code(workspace, "sub/a") == "denied"
        assert Workspace(home / "work").read("file.txt").content == "inside"


def test_a_chosen_state_directory_in_a_bind_mount_of_a_root_is_kept(home: Path) -> None:
    with Binding(home, home.parent / "bound") as bound:
        workspace = Workspace(bound / "work", state_dir=home / "work/state")
        assert workspace.call("write_file", {"path": "file.txt", "content": "x"}).ok
        assert (home / "work/state/lock").exists()
        assert code(workspace, "state/lock") == "denied"


@pytest.mark.parametrize("own", [*OWN, ".cache/paddock/sub", ".local/state/paddock/0123456789abcdef"])
def test_private_directories_cannot_be_roots(home: Path, own: str) -> None:
    planted(home)
    (home / own).mkdir(exist_ok=True)
    for opening in (
        lambda: Workspace(home / own),
        lambda: Workspace(home / "work", mounts=[Mount(home / own, read_only=True)]),
        lambda: Workspace(home / "work", policy={"allowed_directories": [str(home / own)]}),
    ):
        with pytest.raises(OpenError, match="belongs to the program that runs the tools; set (PADDOCK|XDG)"):
            opening()
    with pytest.raises(OpenError, match="it is in the state directory, which .*; name another by `state_dir`"):
        Workspace(home / "work/sub", state_dir=home / "work")
    with Binding(home / ".cache", home.parent / "bound") as bound, pytest.raises(OpenError, match="the cache dir"):
        Workspace(bound / "paddock")


def test_kernel_file_systems_cannot_be_roots_and_are_closed(home: Path) -> None:
    if not os.path.isdir("/proc/self"):
        pytest.skip("there is no /proc")
    with pytest.raises(OpenError, match="belongs to the program"):
        Workspace("/proc/self")
    with Binding(Path("/proc"), home / "work/sub"):
        assert code(Workspace(home / "work"), "sub/self/environ") == "denied"
        # A directory that is mounted over a kernel file system is an ordinary directory.
        with Binding(home / "work", home / "work/sub"):
            assert Workspace(home / "work").call("read_file", {"path": "sub/file.txt"}).ok


def test_a_home_directory_that_is_not_utf_8_is_refused_as_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = next(home_fixture(tmp_path / os.fsdecode(b"h\xff"), monkeypatch))
    planted(home)
    # The root contains the cache at a path that cannot be passed to the guest.
    for options in ({}, {"read_only": True}):
        with pytest.raises(OpenError, match="not UTF-8, so no tool could be kept from it; (set|name)"):
            Workspace(tmp_path, **options)
    # A root without the cache opens, although its state directory is in that home directory.
    (tmp_path / "work").mkdir()
    workspace = Workspace(tmp_path / "work")
    assert workspace.call("write_file", {"path": "a", "content": "x"}).ok and workspace.read("a").content == "x"
    assert len(list((home / ".local/state/paddock").glob("*/lock"))) == 1
    # A root that contains the cache at a valid path opens, and the cache is closed to tools.
    with Binding(home, tmp_path / "bound") as bound, Workspace(bound) as workspace:
        check_hidden(workspace, "")


def test_a_link_to_it_that_is_not_utf_8_is_refused_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = home / os.fsdecode(b"link\xff")
    link.symlink_to(home.parent / "elsewhere")
    (home.parent / "elsewhere").mkdir()
    monkeypatch.setenv("PADDOCK_CACHE_DIR", str(link / "cache"))
    with pytest.raises(OpenError, match="it holds a link to the cache directory"):
        Workspace(home)


def test_rights_do_not_depend_on_the_path(home: Path) -> None:
    write = {"path": "sub/file.txt", "content": "x"}
    (home / "work/sub/out").mkdir()
    (home / "work/sub/out/file.txt").write_text("out\n")
    with Binding(home / "work/sub", home.parent / "bound") as bound:
        for mount in (Mount(bound, read_only=True), Mount(home / "work/sub", read_only=True)):
            workspace = Workspace(home / "work", mounts=[mount], state_dir=False)
            error = workspace.call("write_file", write).error
            assert error is not None and error.code == "read-only", mount
        same = Workspace(home / "work/sub", mounts=[Mount(bound, read_only=True)], state_dir=False)
        error = same.call("write_file", {"path": "file.txt", "content": "x"}).error
        assert error is not None and error.code == "read-only"
        policy = {"allowed_directories": [{"path": str(bound), "access": "read-only"}]}
        same = Workspace(home / "work/sub", policy=policy, state_dir=False)
        assert same.call("read_file", {"path": str(bound / "out/file.txt")}).ok, "the policy's path is known too"
        error = same.call("write_file", {"path": "file.txt", "content": "x"}).error
        assert error is not None and error.code == "read-only"
        # The blocked paths start at the top of the inner root, or are absolute and do not start with the root's own
        # path.
        for blocked in ("./out", str(bound / "out"), str(home / "work/sub/out")):
            workspace = Workspace(home / "work", mounts=[Mount(bound)], policy={"blocked_directories": [blocked]})
            assert code(workspace, "sub/out/file.txt") == "denied", blocked
            assert code(workspace, "/bound/out/file.txt") == "denied", blocked
        workspace = Workspace(bound, policy={"blocked_directories": [str(home / "work")]})
        assert code(workspace, "out/file.txt") == "denied", "a root in a blocked directory"


@pytest.mark.parametrize("links", ["/proc/self/fd", "/none"])
def test_the_checked_file_is_the_loaded_file(home: Path, links: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cache, "MAGIC_LINKS", links)
    engine, cache = Engine(Config()), _cache.opened(home / "cache")
    assert cache is not None
    # The empty component has only the eight bytes of the header.
    compiled = Component(engine, b"\0asm\x0d\0\x01\0").serialize()
    _cache.keep(cache, "a.cwasm", compiled)
    file = home / "cache/a.cwasm"
    assert [path.name for path in (home / "cache").iterdir()] == ["a.cwasm"]
    assert isinstance(_cache.load(engine, cache, "a.cwasm"), Component)
    is_safe = _cache.is_safe

    def swapped(*arguments: object) -> bool:
        checked = is_safe(*arguments)  # type: ignore[arg-type]
        file.unlink()
        file.write_bytes(b"something else")
        return checked

    monkeypatch.setattr(_cache, "is_safe", swapped)
    assert isinstance(_cache.load(engine, cache, "a.cwasm"), Component)
    monkeypatch.setattr(_cache, "is_safe", is_safe)
    assert _cache.load(engine, cache, "a.cwasm") is None
    _cache.keep(cache, "a.cwasm", compiled)
    os.link(file, home / "work/other-name")
    assert _cache.load(engine, cache, "a.cwasm") is None, "it can be changed by its other name"
    (home / "work/other-name").rename(file.with_name("link-target"))
    file.unlink()
    file.symlink_to("link-target")
    assert _cache.load(engine, cache, "a.cwasm") is None and _cache.load(engine, cache, "link-target") is not None
    file.unlink()
    os.mkfifo(file)
    assert _cache.load(engine, cache, "a.cwasm") is None, "and it does not wait"


def test_the_cache_is_opened_once_and_is_no_link(home: Path) -> None:
    Workspace(home / "work").call("tree")
    first = _cache.directory()
    assert first is not None and (home / ".cache/paddock").stat().st_mode & 0o777 == 0o700
    (home / ".cache").rename(home / "moved")
    (home / ".cache").symlink_to(home / "work")
    assert _cache.directory() is first and _cache.held_path() == str(home / "moved/paddock")
    # Tools cannot reach the cache at its present path, nor the path at which a new process would look for it.
    (home / "work/paddock").mkdir()
    workspace = Workspace(home)
    assert code(workspace, "moved/paddock") == "denied" and code(workspace, "work/paddock") == "denied"
    assert _cache.opened(home / ".cache/paddock") is not None
    (home / "link").symlink_to(home / "moved/paddock")
    assert _cache.opened(home / "link") is None
    shutil.rmtree(home / "moved")
    assert Workspace(home / "work").read("file.txt").content == "inside"


def code(workspace: Workspace, path: str) -> str:
    error = workspace.call("read_file", {"path": path}).error
    return "" if error is None else error.code
