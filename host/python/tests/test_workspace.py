"""The library: opening, refusals, limits, and use of a workspace by several threads and processes."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import paddock_files
from paddock_files import Mount, Replacement, ToolError, Workspace, _cache

if TYPE_CHECKING:
    from collections.abc import Callable

@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    return root


def test_a_call_and_the_same_with_types(root: Path) -> None:
    with Workspace(root) as workspace:
        outcome = workspace.call("read_file", {"path": "a.txt"})
        assert (outcome.ok, outcome.result["total_lines"]) == (True, 2)
        assert outcome.text.startswith("1|one\n2|two\n")
        read = workspace.read("a.txt", offset=2)
        assert (read.content, read.start_line, read.etag) == ("two", 2, outcome.result["etag"])
        edited = workspace.edit("a.txt", [Replacement("two", "2")], if_match=read.etag)
        assert (edited.edits_applied, (root / "a.txt").read_text()) == (1, "one\n2\n")
        assert [entry.path for entry in workspace.list().entries] == ["a.txt"]
        assert workspace.grep("^on").matches[0].line == 1
        entries = workspace.read_many([paddock_files.FileRange("a.txt"), paddock_files.FileRange("none")]).entries
        assert entries[0].outcome.content == "one\n2"
        assert isinstance(entries[1].outcome, ToolError) and entries[1].outcome.code == "not-found"
        workspace.restore("a.txt")
        assert (root / "a.txt").read_text() == "one\ntwo\n"
        assert [entry.operation for entry in workspace.history().entries] == ["restore", "edit"]


def test_errors_have_hints(root: Path) -> None:
    workspace = Workspace(root)
    outcome = workspace.call("read_file", {"path": "b.txt"})
    assert outcome.error == ToolError(
        "not-found", "cannot read `b.txt`: no such file or directory", "b.txt", "did you mean `a.txt`?"
    )
    with pytest.raises(ToolError, match="did you mean `a.txt`") as raised:
        workspace.read("b.txt")
    assert raised.value == outcome.error
    unknown = workspace.call("reed_file", {})
    assert unknown.error is not None and unknown.error.code == "unknown-tool" and "read_file" in str(unknown.error)
    dialect = workspace.call("read_file", {}, dialect="none")
    assert dialect.error is not None and dialect.error.code == "unknown-dialect"


def test_errors_of_typed_operations_name_methods_of_this_host(root: Path) -> None:
    (root / "b.bin").write_bytes(b"\0\1\2")
    workspace = Workspace(root)
    failures: list[tuple[Callable[[], object], str]] = [
        (lambda: workspace.read("b.bin"), '`read` with `mode: "base64"` gives its bytes'),
        (lambda: workspace.write("x/", ""), "leave the `/` at the end out, or use `make_directory`"),
        (lambda: workspace.read("."), "`list` shows a directory"),
    ]
    for call, hint in failures:
        with pytest.raises(ToolError) as raised:
            call()
        assert raised.value.hint == hint


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda workspace: workspace.read("a.txt", offset=-1), "`offset` is -1, which is not a whole number from 0 to"),
        (lambda workspace: workspace.read("a.txt", mode="line"), "`mode` is 'line', which is not one of `base64`"),
        (lambda workspace: workspace.read(7), "`path` is 7, which is not a text"),
        (lambda workspace: workspace.read("\ud800"), "`path` is not Unicode text"),
        (lambda workspace: workspace.list(depth=2**32), f"`depth` is {2**32}"),
        (lambda workspace: workspace.edit("a.txt", "one"), "`edits` is 'one', which is not a list"),
        (
            lambda workspace: workspace.edit("a.txt", [("one", "1")]),
            "`edits` is ('one', '1'), which is not a `Replacement`",
        ),
        (lambda workspace: workspace.write("a.txt", "1", append=1), "`append` is 1, which is not True or False"),
    ],
)
def test_values_outside_of_their_types_are_refused_before_the_call(root: Path, call: Any, message: str) -> None:
    with pytest.raises(ToolError) as raised:
        call(Workspace(root))
    assert raised.value.code == "invalid-argument" and raised.value.message.startswith(message)


def test_arguments_that_are_no_json_are_values(root: Path) -> None:
    workspace = Workspace(root)
    for arguments in ("{", "[]", "\ud800", {"path": b"a"}, {"path": {1, 2}}, {"path": "\ud800"}):
        outcome = workspace.call("read_file", arguments)
        assert outcome.error is not None and outcome.error.code == "invalid-argument", arguments
        assert outcome.to_json().startswith('{"ok":false,"error":{"code":"invalid-argument"')


def test_a_failed_open_has_a_reason(root: Path, tmp_path: Path) -> None:
    for bad in (tmp_path / "none", root / "a.txt"):
        with pytest.raises(paddock_files.OpenError, match=f"cannot open the root `{bad}`"):
            Workspace(bad)
    for guest in ("/a/b", "a", "/..", "/", "/paddock-state"):
        with pytest.raises(paddock_files.OpenError, match="cannot mount"):
            Workspace(root, mounts=[Mount(tmp_path, guest)])
    with pytest.raises(paddock_files.OpenError, match="two roots have that guest path"):
        Workspace(root, mounts=[Mount(tmp_path, "/x"), Mount(root, "/x")])
    (root / "link").symlink_to(tmp_path)
    with pytest.raises(paddock_files.OpenError, match="leads out of it; if that is meant, name"):
        Workspace(root, mounts=[Mount(root / "link")])


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"read_onyl": True}, "unknown field `read_onyl`"),
        ({"limits": {"max_lines": "many"}}, "limits.max_lines"),
        ({"limits": {"max_time_ms": 0}}, "must be at least 1"),
        ({"limits": {"max_result_bytes": 2**32}}, "must be at most 4294967295"),
        ({"blocked_extensions": ["exe"]}, "`exe` is not an extension"),
        ({"blocked_extensions": [".MD"], "allowed_extensions": [".md"]}, "is in `allowed_extensions` too"),
        ({"blocked_directories": ["../x"]}, "names nothing below the top"),
        ({"allowed_directories": [{"path": "/tmp", "access": "all"}]}, "an entry is a path"),
        ({"approval": "always"}, "unknown variant `always`"),
        ({"host": {"carries_modes": True}}, "unknown field `host`"),
        ({"backend": "memory"}, "unknown field `backend`"),
        ({"enable_audit_logging": True}, "this host keeps no audit"),
        ("[]", "it is a table of settings"),
        ("{", "cannot read the policy"),
    ],
)
def test_a_wrong_policy_is_refused(root: Path, policy: Any, message: str) -> None:
    with pytest.raises(paddock_files.PolicyError, match=message):
        Workspace(root, policy=policy)


def test_a_missing_component_says_how_to_get_one(root: Path, tmp_path: Path) -> None:
    package = Path(paddock_files.__file__).parent
    bare = shutil.copytree(package, tmp_path / "bare/paddock_files", ignore=shutil.ignore_patterns("*.wasm"))
    output = run(OPENED, root, PYTHONPATH=str(bare.parent))
    assert output.startswith("ComponentError cannot read the component") and "pip install ./host/python" in output
    (root / "text.wasm").write_text("no component")
    (root / "empty.wasm").write_bytes(b"\0asm\x0d\0\x01\0")
    for name, cause in (
        ("none", "cannot read the component"),
        ("text", "cannot load"),
        ("empty", "of another version"),
    ):
        output = run(OPENED, root, PADDOCK_COMPONENT=str(root / f"{name}.wasm"))
        assert output.startswith("ComponentError") and cause in output, output
        assert f"{name}.wasm`; without it the one in the wheel is taken" in output


OPENED = """
import paddock_files
try:
    paddock_files.Workspace(".")
except Exception as error:
    print(type(error).__name__, error)
"""


def test_rights(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("b\n")
    write = {"path": "a.txt", "content": "x"}
    assert code(Workspace(root, read_only=True), "write_file", write) == "read-only"
    assert code(Workspace(Mount(root, read_only=True)), "write_file", write) == "read-only"
    workspace = Workspace(root, mounts=[Mount(other, read_only=True)])
    assert workspace.call("read_file", {"path": "/other/b.txt"}).text.startswith("1|b\n")
    assert workspace.call("read_file", {"path": str(other / "b.txt")}).text.startswith("1|b\n")
    assert code(workspace, "write_file", {"path": "/other/b.txt", "content": "x"}) == "read-only"
    policy = {"allowed_directories": [{"path": str(other), "access": "read-only"}]}
    workspace = Workspace(root, policy=policy)
    assert workspace.call("read_file", {"path": "/other/b.txt"}).text.startswith("1|b\n")
    assert code(workspace, "write_file", {"path": "/other/b.txt", "content": "x"}) == "read-only"
    assert code(Workspace(root), "read_file", {"path": str(other / "b.txt")}) == "outside-workspace"
    everything = Workspace(root, policy={"mode": "unrestricted"})
    assert everything.call("read_file", {"path": str(other / "b.txt")}).text.startswith("1|b\n")
    assert code(everything, "read_file", {"path": "/proc/self/environ"}) == "denied"
    assert code(everything, "list_dir", {"path": os.environ["PADDOCK_CACHE_DIR"]}) == "denied"


def test_limits_end_a_call(root: Path) -> None:
    (root / "large.txt").write_text("a line of text\n" * 2_000_000)
    workspace = Workspace(root, policy={"limits": {"max_memory_bytes": 4 << 20, "max_file_bytes": 100 << 20}})
    outcome = workspace.call("edit_file", {"path": "large.txt", "edits": [{"old_text": "no", "new_text": "yes"}]})
    assert outcome.error is not None and outcome.error.code == "limit-exceeded", outcome
    assert "memory" in outcome.error.message
    assert workspace.call("read_file", {"path": "a.txt"}).ok
    workspace = Workspace(root, policy={"limits": {"max_file_bytes": 100 << 20}})
    started = time.monotonic()
    search = {"pattern": "[a-z]+ [a-z]+ [a-z]+ [a-z]+$", "path": "large.txt", "output": "count"}
    outcome = workspace.call("grep", search, timeout=0.02)
    assert outcome.error is not None and outcome.error.code == "limit-exceeded", outcome
    assert "used up its time" in outcome.error.message and time.monotonic() - started < 2
    assert (root / "large.txt").stat().st_size == 30_000_000
    assert workspace.call("stat", {"path": "a.txt"}).ok


def test_threads_share_a_workspace(root: Path) -> None:
    workspace = Workspace(root)

    def work(number: int) -> None:
        for round in range(10):
            path = f"{number}.txt"
            assert workspace.call("write_file", {"path": path, "content": f"{round}\n"}).ok
            assert workspace.read(path).content == str(round)
            assert workspace.call("edit_file", {"path": "a.txt", "edits": [{"old_text": "two", "new_text": "two+"}]}).ok

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    # The changes of all threads are in the file.
    assert (root / "a.txt").read_text() == "one\ntwo" + "+" * 80 + "\n"


def test_calls_leave_other_threads_alone(root: Path) -> None:
    for number in range(2_000):
        (root / f"{number}.txt").write_text("some text\n" * 50)
    workspace, turns, finished = Workspace(root), 0, threading.Event()

    def search() -> None:
        for _ in range(3):
            assert workspace.call("grep", {"pattern": "none of it"}).ok
        finished.set()

    searching = threading.Thread(target=search)
    searching.start()
    while not finished.is_set():
        time.sleep(0.001)
        turns += 1
    searching.join()
    assert turns > 20


def test_processes_wait_for_each_other(root: Path) -> None:
    program = (
        "import paddock_files\n"
        "workspace = paddock_files.Workspace('.')\n"
        "edit = {'path': 'a.txt', 'edits': [{'old_text': 'two', 'new_text': 'two+'}]}\n"
        "assert all(workspace.call('edit_file', edit).ok for _ in range(20))\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", program], cwd=root) for _ in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    assert (root / "a.txt").read_text() == "one\ntwo" + "+" * 60 + "\n"


def test_a_process_that_was_forked_says_so(root: Path) -> None:
    workspace = Workspace(root)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        outcome = workspace.call("read_file", {"path": "a.txt"})
        os.write(writing, str(outcome.error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert "this process was forked" in os.read(reading, 4096).decode()
    assert workspace.call("read_file", {"path": "a.txt"}).ok


def test_a_closed_workspace_says_so(root: Path) -> None:
    with Workspace(root) as workspace:
        assert workspace.call("tree").ok
    assert code(workspace, "tree", {}) == "backend-gone"
    with pytest.raises(ToolError, match="the workspace was closed"):
        workspace.tree()


def test_a_root_that_is_gone_says_so(root: Path) -> None:
    workspace = Workspace(root)
    shutil.rmtree(root)
    assert code(workspace, "tree", {}) == "backend-gone"


def test_the_state_is_the_users_and_private(root: Path) -> None:
    Workspace(root).write("b.txt", "b")
    above = Path(os.environ["PADDOCK_STATE_DIR"])
    [state] = above.iterdir()
    assert above.stat().st_mode & 0o777 == 0o700 and state.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in root.iterdir()) == ["a.txt", "b.txt"]
    Workspace(root, state_dir=False).write("b.txt", "c")
    assert (root / ".paddock").is_dir()


def test_the_compiled_component_is_private_and_a_writable_cache_is_not_loaded(tmp_path: Path) -> None:
    program = "import paddock_files; paddock_files.Workspace('.')"
    cache = tmp_path / "above" / "cache"
    run(program, tmp_path, PADDOCK_CACHE_DIR=str(cache))
    [entry] = cache.iterdir()
    assert cache.stat().st_mode & 0o777 == 0o700 and entry.stat().st_mode & 0o777 == 0o600
    first = entry.stat().st_mtime_ns
    run(program, tmp_path, PADDOCK_CACHE_DIR=str(cache))
    assert entry.stat().st_mtime_ns == first, "it was compiled again"
    # A truncated file does not load, and a file that another user could have written is not loaded at all.
    entry.write_bytes(entry.read_bytes()[:1000])
    entry.chmod(0o666)
    run(program, tmp_path, PADDOCK_CACHE_DIR=str(cache))
    assert entry.stat().st_mode & 0o777 == 0o600 and entry.stat().st_size > 1_000_000
    cache.chmod(0o777)
    assert _cache.is_safe(entry.stat(), stat.S_ISREG) and not _cache.is_safe(cache.stat(), stat.S_ISDIR)
    assert _cache.opened(cache) is None
    for mode in (0o622, 0o602):
        entry.chmod(mode)
        assert not _cache.is_safe(entry.stat(), stat.S_ISREG)


def code(workspace: Workspace, tool: str, arguments: dict[str, Any]) -> str:
    error = workspace.call(tool, arguments).error
    return "" if error is None else error.code


def run(program: str, directory: Path, **environment: str) -> str:
    process = subprocess.run(
        [sys.executable, "-c", program],
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout
