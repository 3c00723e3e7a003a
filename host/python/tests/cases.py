"""The cases of `tests/cases`, in the format of `tests/README.md`: initial trees, calls and expected results."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import stat
import string
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "../../../tests/cases"
NOW = 1_750_000_000
"""Seconds since 1970 that files in memory have where a case says nothing."""
HELD = 64 << 20
"""Bytes of a file beyond which it is taken for a sparse one."""
MAX_PLAIN = 16 * 1024
"""Bytes beyond which a file is not kept whole in `expected/`."""

Node = tuple[Any, ...]
"""`("file", bytes)`, `("sparse", size)`, `("directory",)`, `("link", target)` or `("fifo",)`."""
Tree = dict[bytes, Node]


@dataclass
class Names:
    """Values of `{root}` and `{outside}`."""

    root: str
    outside: str

    def fill(self, text: str) -> str:
        return text.replace("{root}", self.root).replace("{outside}", self.outside)

    def clear(self, text: str) -> str:
        return text.replace(self.root, "{root}").replace(self.outside, "{outside}")


IN_MEMORY = Names("/workspace", "/paddock-outside")


@dataclass
class Start:
    """The initial tree of a case."""

    tree: Tree = field(default_factory=dict)
    hard_links: list[tuple[bytes, bytes]] = field(default_factory=list)
    modes: dict[bytes, int] = field(default_factory=dict)
    modified_ns: dict[bytes, int] = field(default_factory=dict)

    def take(self, step: dict[str, Any]) -> None:
        match step:
            case {"path": path, "text": text}:
                self.put(path.encode(), ("file", text.encode()))
            case {"path": path, "bytes_base64": text}:
                self.put(path.encode(), ("file", base64.b64decode(text)))
            case {"path": path, "repeat": {"text": text, "times": times}}:
                self.put(path.encode(), ("file", text.encode() * times))
            case {"path": path, "sparse": size}:
                self.put(path.encode(), ("sparse", size))
            case {"path_base64": path, "text": text}:
                self.put(base64.b64decode(path), ("file", text.encode()))
            case {"symlink": path, "target": target}:
                self.put(path.encode(), ("link", target))
            case {"dir": path}:
                self.put(path.encode(), ("directory",))
            case {"fifo": path}:
                self.put(path.encode(), ("fifo",))
            case {"hard_link": path, "to": first}:
                self.put(path.encode(), self.tree[first.encode()])
                self.hard_links.append((path.encode(), first.encode()))
            case {"path": path, "mode": mode}:
                self.modes[path.encode()] = int(mode, 8)
            case {"path": path, "mtime": time}:
                self.modified_ns[path.encode()] = nanoseconds(time)
            case _:
                raise ValueError(f"setup: {step}")

    def put(self, path: bytes, node: Node) -> None:
        for index, byte in enumerate(path):
            if byte == ord("/"):
                self.tree.setdefault(path[:index], ("directory",))
        assert path not in self.tree, f"{path!r}: something is there already"
        self.tree[path] = node


def nanoseconds(time: str) -> int:
    whole, _, part = time.removesuffix("Z").partition(".")
    seconds = datetime.fromisoformat(whole).replace(tzinfo=timezone.utc).timestamp()
    return int(seconds) * 10**9 + int((part or "0").ljust(9, "0"))


@dataclass
class Case:
    """One case, read from its folder."""

    name: str
    folder: Path
    specification: dict[str, Any]
    start: Start
    absolute: bool
    """Whether `{root}` or `{outside}` stands somewhere in `call.json`."""

    @classmethod
    def read(cls, folder: Path) -> Case:
        text = (folder / "call.json").read_text()
        specification = json.loads(text)
        start = Start(tree=read_tree(folder / "input"))
        for step in specification.get("setup", []):
            start.take(step)
        absolute = "{root}" in text or "{outside}" in text
        return cls(f"{folder.parent.name}/{folder.name}", folder, specification, start, absolute)

    @classmethod
    def all(cls) -> Iterator[Case]:
        for folder in sorted(CASES.glob("*/*/")):
            yield cls.read(folder)

    @property
    def policy(self) -> dict[str, Any]:
        policy: dict[str, Any] = self.specification.get("policy", {})
        return policy

    def not_on(self, backend: str) -> str | None:
        """Returns the reason why this case cannot run on a backend, if any."""
        only = self.specification.get("only", [])
        if only and backend not in only:
            return str(self.specification["reason"])
        differs: str | None = self.specification.get("not_in_python")
        return differs if backend == "directory" else None

    def calls(self) -> list[dict[str, Any]]:
        return self.specification["calls"] if "calls" in self.specification else [self.specification]

    def absolute_start(self, names: Names) -> Start:
        """Returns the initial tree with the backend's paths in link targets."""
        start = self.start
        tree = {path: ("link", names.fill(node[1])) if node[0] == "link" else node for path, node in start.tree.items()}
        return Start(tree, start.hard_links, start.modes, start.modified_ns)

    def results(self, names: Names, call: Callable[[str, str, str], dict[str, Any]]) -> str:
        """Makes the calls one after the other, and returns their outcomes in the form of `result.json`."""
        outcomes: list[dict[str, Any]] = []
        noted = []
        for each in self.calls():
            raw = each.get("raw")
            arguments = compact(filled(each.get("arguments"), names, outcomes)) if raw is None else raw
            outcome = call(each.get("dialect", "paddock"), each["tool"], arguments)
            noted.append(normal(outcome, "", names if self.absolute else None))
            outcomes.append(outcome)
        return json.dumps(noted, ensure_ascii=False, indent=2) + "\n"

    def expected_results(self) -> str:
        return (self.folder / "result.json").read_bytes().decode()

    def expected_tree(self, with_modes: bool) -> dict[str, Any]:
        files, rest = self.folder / "expected", self.folder / "expected.json"
        if not files.exists() and not rest.exists():
            return self.recorded(self.start.tree, self.start.modes if with_modes else None)
        rest_of_tree = json.loads(rest.read_text()) if rest.exists() else {}
        plain = {escaped(path): node[1] for path, node in read_tree(files).items() if node[0] == "file"}
        return {
            "plain": plain,
            "entries": rest_of_tree.get("entries", {}),
            "modes": rest_of_tree.get("modes", {}) if with_modes else {},
        }

    def recorded(self, tree: Tree, modes: dict[bytes, int] | None) -> dict[str, Any]:
        """Returns a tree in the form of a case's folder."""
        plain: dict[str, bytes] = {}
        entries: dict[str, str] = {}
        for path, node in tree.items():
            if node[0] == "file" and is_plain(path) and len(node[1]) <= MAX_PLAIN:
                plain[escaped(path)] = node[1]
            elif node[0] != "directory" or not any(other.startswith(path + b"/") for other in tree):
                entries[escaped(path)] = described(node, self.start.tree.get(path))
        rendered_modes = {
            escaped(path): f"{mode:04o}"
            for path, mode in (modes or {}).items()
            if path in self.start.modes or mode & 0o111
        }
        return {"plain": plain, "entries": entries, "modes": rendered_modes}


def filled(value: Any, names: Names, outcomes: list[dict[str, Any]]) -> Any:
    """Replaces placeholders and references to earlier results in the arguments."""
    if isinstance(value, str):
        match = re.match(r"\$(\d+)\.(.+)", value, re.DOTALL)
        return names.fill(value) if match is None else value_at(outcomes[int(match[1])]["result"], match[2])
    if isinstance(value, list):
        return [filled(each, names, outcomes) for each in value]
    if isinstance(value, dict):
        return {name: filled(each, names, outcomes) for name, each in value.items()}
    return value


def value_at(value: Any, way: str) -> Any:
    for name in way.split("."):
        value = value[int(name)] if isinstance(value, list) else value[name]
    assert value is not None, way
    return value


def normal(value: Any, key: str, names: Names | None) -> Any:
    """Returns a value without the times of this run, and with `{root}` and `{outside}` in place of absolute paths."""
    if isinstance(value, list):
        return [normal(each, "undone" if key == "also_undone" else "", names) for each in value]
    if isinstance(value, dict):
        return {name: normal(each, name, names) for name, each in value.items()}
    if not isinstance(value, str):
        return value
    if key in ("accessed", "changed"):
        return "<time>"
    if key in ("backup", "undone"):
        return "<backup>"
    if key == "token":
        return "<token>"
    value = re.sub(
        r"(\d{4})-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", lambda at: at[0] if at[1] < "2025" else "<time>", value
    )
    value = re.sub(r"since=\d{13}-[0-9a-f]{16}", "since=<token>", value)
    # The short ids of backups contain times of this run.
    short = r"(^|[( ])1[7-9]\d{11}(?:-[0-9a-f]+)*(?= <time>|\]|; |\)| undoes)"
    value = re.sub(short, r"\1<backup>", value, flags=re.MULTILINE)
    return value if names is None else names.clear(value)


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def described(node: Node, before: Node | None) -> str:
    match node:
        case ("directory",):
            return "empty directory"
        case ("link", target):
            return f"link to {target}"
        case ("fifo",):
            return "FIFO"
        case _ if before == node:
            return "as before"
        case ("sparse", size):
            return f"{size} bytes"
    held: bytes = node[1]
    try:
        if len(held) <= MAX_PLAIN:
            return f"text: {held.decode()}"
    except UnicodeDecodeError:
        pass
    return f"{len(held)} bytes, sha256 {hashlib.sha256(held).hexdigest()}"


def is_plain(path: bytes) -> bool:
    """Returns whether git can store a file of this name on every system and does not interpret it."""
    usual = (string.ascii_letters + string.digits + "._-+ ").encode()

    def is_taken(lower: bytes) -> bool:
        stem = lower.split(b".")[0]
        device = stem in (b"con", b"prn", b"aux", b"nul") or (len(stem) == 4 and stem.startswith((b"com", b"lpt")))
        return lower.startswith((b".git", b"git~")) or lower == b"node_modules" or device

    names = path.split(b"/")
    return all(
        set(name) <= set(usual) and not is_taken(name.lower()) and not name.endswith((b" ", b".")) for name in names
    )


def escaped(path: bytes) -> str:
    """Returns a path in the form of `expected.json`."""
    try:
        return path.decode()
    except UnicodeDecodeError:
        return "".join(chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in path)


def read_tree(top: Path) -> Tree:
    """Returns the tree below a directory, empty if the directory does not exist."""
    return dict(below(os.fsencode(top), b"")) if top.exists() else {}


def below(directory: bytes, prefix: bytes) -> Iterator[tuple[bytes, Node]]:
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        status = entry.stat(follow_symlinks=False)
        path = prefix + entry.name
        if stat.S_ISDIR(status.st_mode):
            yield path, ("directory",)
            yield from below(entry.path, path + b"/")
        elif stat.S_ISLNK(status.st_mode):
            yield path, ("link", os.readlink(entry.path).decode(errors="replace"))
        elif stat.S_ISFIFO(status.st_mode):
            yield path, ("fifo",)
        elif status.st_size > HELD:
            yield path, ("sparse", status.st_size)
        else:
            with open(entry.path, "rb") as file:
                yield path, ("file", file.read())


def read_modes(top: Path, tree: Tree) -> dict[bytes, int]:
    files = [path for path, node in tree.items() if node[0] == "file"]
    return {path: stat.S_IMODE(os.lstat(os.path.join(os.fsencode(top), path)).st_mode) for path in files}


def write_tree(start: Start, top: Path) -> None:
    """Writes the initial tree of a case to the empty directory `top`."""

    def at(path: bytes) -> bytes:
        return os.path.join(os.fsencode(top), path)

    for path, node in sorted(start.tree.items()):
        match node:
            case ("file", held):
                with open(at(path), "wb") as file:
                    file.write(held)
                os.chmod(at(path), 0o644)
            case ("sparse", size):
                with open(at(path), "wb") as file:
                    file.truncate(size)
            case ("directory",):
                os.mkdir(at(path))
            case ("link", target):
                os.symlink(target, at(path))
            case ("fifo",):
                os.mkfifo(at(path))
    for second, first in start.hard_links:
        os.unlink(at(second))
        os.link(at(first), at(second))
    for path, mode in start.modes.items():
        os.chmod(at(path), mode)
    for path, time in start.modified_ns.items():
        os.utime(at(path), ns=(time, time))


def pack(start: Start) -> bytes:
    """Returns the initial tree of a case as an archive for a workspace in memory."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, node in sorted(start.tree.items()):
            member = tarfile.TarInfo(path.decode())
            member.mtime = start.modified_ns.get(path, NOW * 10**9) // 10**9
            member.mode = 0o644
            held = b""
            match node:
                case ("file", content):
                    held = content
                    member.size = len(held)
                case ("directory",):
                    member.type = tarfile.DIRTYPE
                case ("link", target):
                    member.type, member.linkname = tarfile.SYMTYPE, target
                case _:
                    raise ValueError(f"memory does not hold {node}")
            tar.addfile(member, io.BytesIO(held))
    return archive.getvalue()


def unpack(archive: bytes) -> Tree:
    tree: Tree = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            path = member.name.rstrip("/").encode()
            if member.isdir():
                tree[path] = ("directory",)
            elif member.issym():
                tree[path] = ("link", member.linkname)
            else:
                content = tar.extractfile(member)
                assert content is not None
                tree[path] = ("file", content.read())
    return tree


def cleared(tree: Tree, names: Names) -> Tree:
    """Returns a tree whose link targets have `{root}` and `{outside}` in place of absolute paths."""
    return {path: ("link", names.clear(node[1])) if node[0] == "link" else node for path, node in tree.items()}
