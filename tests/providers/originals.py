"""Dialects against the programs whose interface they have, with generated calls.

Usage: originals.py WEAKINCENTIVES PADDOCK... (in an environment with requirements.txt; WEAKINCENTIVES is a directory
with the unpacked package, PADDOCK... a command that answers a call per line)

ORIGINALS_CASES is how many cases each program gets, ORIGINALS_SEED where they start.
"""

import collections.abc
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import types
import typing
from base64 import b64decode
from pathlib import Path

from agents import apply_diff
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

CASES = int(os.environ.get("ORIGINALS_CASES", 100))
SEED = int(os.environ.get("ORIGINALS_SEED", 1))


class Paddock:
    """The tools of one workspace."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self, dialect, tool, **arguments):
        line = json.dumps({"dialect": dialect, "tool": tool, "arguments": arguments})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        outcome = json.loads(self.process.stdout.readline())
        # A failed call has the dialect's error in place of a result.
        outcome.setdefault("result", outcome.get("error"))
        outcome.setdefault("text", str(outcome["result"]))
        return outcome

    def put(self, path, text):
        assert self.call("paddock", "write_file", path=path, content=text)["ok"]

    def tree(self):
        """Returns the content of every file by its path."""
        paths = self.call("paddock", "glob", pattern="**", include_hidden=True, include_ignored=True, limit=10_000)
        read = lambda path: self.call("paddock", "read_file", path=path, mode="base64")["result"]["content"]
        return {path: b64decode(read(path)) for path in paths["result"]["paths"]}

    def clear(self):
        for entry in self.call("paddock", "list_dir", path=".", include_hidden=True, include_ignored=True)["result"]["entries"]:
            assert self.call("paddock", "delete", path=entry["path"], recursive=True)["ok"]


def tree_of(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def text_of(rng, words, lines=6, crlf=0):
    """Returns a small text of a few different lines, so that lines repeat. Some texts have CRLF line endings or no
    final newline.
    """
    ending = "\r\n" if rng.random() < crlf else "\n"
    text = ending.join(rng.choice(words) for _ in range(rng.randrange(lines)))
    return text + ending if text and rng.random() < 0.7 else text


# OpenAI: agents.apply_diff


DIFF_LINES = ["a", "b", "  a", "b  ", "", "\tc", "def f():", "    return 1"]


def diff_of(rng, text):
    """Returns a diff of the text with random mistakes, which often applies."""
    lines, out, at = text.replace("\r\n", "\n").split("\n"), [], 0
    for _ in range(rng.randrange(1, 4)):
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            anchor = rng.choice(lines[at:] or [""]) if rng.random() < 0.8 else rng.choice(DIFF_LINES)
            out.append(rng.choice(["@@", "@@ " + anchor, "@@ " + anchor, "@@ " + anchor.strip()]))
        at = min(len(lines), at + rng.randrange(3))
        for _ in range(rng.randrange(4)):
            line = lines[at] if at < len(lines) and rng.random() < 0.9 else rng.choice(DIFF_LINES)
            line = line.strip() if rng.random() < 0.1 else line
            kind = rng.choice([" ", " ", "-", "+"])
            out.append(kind + (rng.choice(DIFF_LINES) if kind == "+" else line) if line or rng.random() < 0.8 else "")
            at += kind != "+"
        if rng.random() < 0.15:
            out.append("*** End of File")
            break
    ending = "\r\n" if rng.random() < 0.1 else "\n"
    return ending.join(out) + rng.choice(["", ending])


def check_openai(paddock, rng):
    text, mode = text_of(rng, DIFF_LINES, crlf=0.15), rng.choice(["default"] * 5 + ["create"])
    diff = diff_of(rng, text)
    if mode == "create":
        text, lines = "", [rng.choice(DIFF_LINES) for _ in range(rng.randrange(4))]
        diff = rng.choice(["\n", "\r\n"]).join(("+" if rng.random() < 0.95 else "") + line for line in lines)
        diff += rng.choice(["", "\n", "\r\n+x\n+y"])
    try:
        expected = apply_diff(text, diff, mode=mode)
    except ValueError as error:
        expected = error
    paddock.clear()
    if mode == "default":
        paddock.put("f", text)
    kind = "update_file" if mode == "default" else "create_file"
    outcome = paddock.call("openai", "apply_patch", operation={"type": kind, "path": "f", "diff": diff})
    after = paddock.tree().get("f")
    case = f"{mode} of {text!r} by {diff!r}: {expected!r}, but {outcome['text']!r} and {after!r}"
    if isinstance(expected, ValueError):
        assert not outcome["ok"], case
        return "refused"
    if not outcome["ok"] and is_deliberate(outcome["text"]):
        return "refused here alone"
    assert outcome["ok"], case
    # The original treats the text after the final newline as a line; Paddock keeps the final newline of the file.
    if text.endswith("\n") and not expected.endswith("\n"):
        lines = lambda text: [line for line in text.split() if line]
        assert lines(after) == lines(expected.encode()), case
        return "applied, with a final newline here alone"
    assert after == expected.encode(), case
    return "applied"


def is_deliberate(text):
    """Returns whether a diff is refused because a part of it changes nothing, or because its parts overlap."""
    return any(cause in text for cause in ["has no chunk", "the chunk has no lines", "have to be in the order"])


# Anthropic: the memory tool on a local directory


PATHS = ["a.md", "b.txt", "d/a.md", "d/e/c", ".hidden", "d", "a.md/x", "", "d/../b.txt", " a.md", "b.txt "]
# Paths that no file can have. In the original, they fail with errors of Python.
INVALID = {"n" * 300: "longer than 255 bytes", "a\0b": "NUL byte"}
# Causes that would be wrong for invalid paths.
WRONG = ["already exists", "directory itself", "is not a file", "does not exist", "must start with", "would escape"]
WORDS = ["one", "two", "one two", "", "  three"]


def memory_call(rng):
    path = lambda: rng.choice(["/memories"] + ["/memories/" + path for path in PATHS])
    if rng.random() < 0.05:
        path = lambda: rng.choice(["/memories/" + path for path in INVALID])
    if rng.random() < 0.05:
        path = lambda: rng.choice(["", "/other", "memories/a.md", "/memories/../x", "/memories/d/../../memories/a.md"])
    command = rng.choice(["view"] * 3 + ["create"] * 4 + ["str_replace"] * 3 + ["insert"] * 3 + ["delete", "rename"])
    match command:
        case "view":
            ranges = [None, None, [1, -1], [2, 3], [3, 2], [0, 1], [2, 99], [9, 9], [2, -1]]
            view_range = rng.choice(ranges)
            return {"command": command, "path": path()} | ({"view_range": view_range} if view_range else {})
        case "create":
            return {"command": command, "path": path(), "file_text": text_of(rng, WORDS)}
        case "str_replace":
            old, new = rng.choice(["one", "two", "one two", "o", "one\n", "two\none"]), text_of(rng, WORDS, 3)
            # In Paddock, the snippet is around the first line that differs.
            new = new and "!" + new
            return {"command": command, "path": path(), "old_str": old, "new_str": new}
        case "insert":
            line = rng.choice([0, 0, 1, 1, 2, 3, 9, -1])
            return {"command": command, "path": path(), "insert_line": line, "insert_text": text_of(rng, WORDS, 3)}
        case "delete":
            return {"command": command, "path": path()}
        case _:
            return {"command": command, "old_path": path(), "new_path": path()}


def without_directory_sizes(text):
    """Removes the sizes of directories: the original reports the size of the inode, Paddock the size of all files in
    it.
    """
    if not text.startswith("Here're the files"):
        return text
    head, top, *entries = text.split("\n")
    sizeless = lambda line: line.split("\t")[-1] if line.endswith("/") else line
    return "\n".join([head, top.split("\t")[-1].rstrip("/"), *map(sizeless, entries)]).replace("//", "/")


def check_memory(paddock, rng):
    with tempfile.TemporaryDirectory() as directory:
        original = BetaLocalFilesystemMemoryTool(directory)
        paddock.clear()
        log = []
        for _ in range(rng.randrange(4, 20)):
            arguments = memory_call(rng)
            directories = lambda: {path for path in Path(directory).rglob("*") if path.is_dir()}
            before = directories()
            try:
                expected = original.call(arguments)
            except (ToolError, OSError, ValueError) as error:
                expected = error
                # In the original, a call that fails may have created directories.
                for new_directory in sorted(directories() - before, reverse=True):
                    new_directory.rmdir()
            outcome = paddock.call("anthropic", "memory", **arguments)
            log.append(f"{arguments} -> {expected!r}, but {outcome['text']!r}")
            case = "\n".join(log)
            if isinstance(expected, str):
                assert outcome["ok"], case
                texts = [without_directory_sizes(text) for text in (expected, outcome["result"]["output"])]
                if arguments.get("view_range", [1])[0] > 1:
                    # For the empty line after a final newline, only Paddock returns an empty text.
                    texts = [re.sub(r":\n *\d+\t$", ":\n", text) for text in texts]
                assert texts[0] == texts[1], case
            else:
                assert not outcome["ok"], case
                error = outcome["result"]["error"].removeprefix("Error: ")
                # A rename can be refused for either path first.
                if arguments["command"] == "rename":
                    pass
                elif isinstance(expected, ToolError):
                    assert error.startswith(str(expected)), case
                else:
                    causes = [cause for path, cause in INVALID.items() if path in arguments["path"]]
                    assert all(cause in error for cause in causes), case
                    assert not any(wrong in error for wrong in WRONG), case
            files, expected_files = paddock.tree(), tree_of(Path(directory))
            for path, content in expected_files.items():
                # In the original, an insertion removes one of several newlines at the end.
                if arguments["command"] == "insert" and files.get(path) == content + b"\n":
                    paddock.put(path, content.decode())
                    files[path] = content
            assert files == expected_files, f"{case}\n{expected_files}\n{files}"
    return "same"


# weakincentives: HostFilesystem


def host_filesystem(package):
    """Returns the class `HostFilesystem`. The package requires Python 3.12, but this part of it needs only two names,
    which are defined here.
    """
    collections.abc.Buffer = getattr(collections.abc, "Buffer", object)
    typing.override = getattr(typing, "override", lambda function: function)
    stub = types.ModuleType("weakincentives")
    stub.__path__ = [str(Path(package) / "weakincentives")]
    sys.modules["weakincentives"] = stub
    from weakincentives.filesystem import HostFilesystem

    return HostFilesystem


NAMES = ["a.txt", "b.py", "src/a.py", "src/deep/c.py", "src", "src/deep", ".gitignore", "build/x.py", "missing/x"]
NAMES += [" a.txt", "a.txt ", "only ", "src/ b.py", "\tt"]
NAMES += ["a.txt/x", "./a.txt", "./b.py", "src//a.py", "../out", "n" * 81, "/".join("d" * 17), "."]
PATTERNS = ["*.py", "*", "src/*", "*/*.py", "?.py", "[ab]*", "[!a]*.py", "a.txt", "*deep*", "c.py"]
PATTERNS += [" a.txt", "* ", "*[*", "[!]a]*", "only*"]


def weakincentives_call(rng):
    path = lambda: rng.choice(NAMES)
    match rng.choice(["write"] * 5 + ["read"] * 3 + ["list", "glob", "glob", "grep", "grep", "delete", "mkdir", "is"]):
        case "write":
            content = rng.choice(["build/\n*.tmp\n", text_of(rng, WORDS), text_of(rng, WORDS)])
            # In Paddock, a search may also be of a single file, so the names of searched directories are not used for
            # files.
            target = rng.choice([name for name in NAMES if name not in ("src", "src/deep")])
            return "write_file", {"path": target, "content": content, "create_only": rng.random() < 0.3}
        case "read":
            arguments = {"path": path(), "offset": rng.choice([0, 0, 1, 2, 9])}
            limits = [{}, {"limit": 1}, {"limit": 3}, {"limit": -1}, {"limit": 0}, {"limit": 3_000}]
            return "read_file", arguments | rng.choice(limits)
        case "list":
            return "ls", {"path": path()}
        case "glob":
            return "glob", {"pattern": rng.choice(PATTERNS), "path": rng.choice([".", "src", "missing"])}
        case "grep":
            arguments = {"pattern": rng.choice(["one", "^", "t.*o", "x*", "["]), "path": rng.choice([".", "src", "none"])}
            glob = rng.choice([None, *PATTERNS])
            return "grep", arguments | ({"glob_filter": glob} if glob else {}) | rng.choice([{}, {"max_matches": 2}])
        case "delete":
            return "rm", {"path": path(), "recursive": rng.random() < 0.5}
        case "mkdir":
            return "mkdir", {"path": path(), "parents": rng.random() < 0.5}
        case _:
            return rng.choice(["exists", "is_file", "is_dir"]), {"path": path()}


def ask_host_filesystem(fs, tool, arguments):
    """Returns the result in the form that the specification defines."""
    path, entry = arguments.get("path"), lambda path: {"path": path, "kind": "file", "size_bytes": fs.stat(path).size_bytes}
    match tool:
        case "write_file":
            created = not fs.exists(path)
            result = fs.write(path, arguments["content"], mode="create" if arguments["create_only"] else "overwrite")
            return {"path": result.path, "bytes_written": result.bytes_written, "created": created}
        case "read_file":
            result = fs.read(path, offset=arguments["offset"], limit=arguments.get("limit"))
            members = ("path", "content", "total_lines", "offset", "limit")
            return {name: getattr(result, name) for name in members}
        case "ls":
            of = lambda info: entry(info.path) if info.is_file else {"path": info.path, "kind": "directory", "size_bytes": None}
            return [of(info) for info in fs.list(path)]
        case "glob":
            return [entry(info.path) for info in fs.glob(arguments["pattern"], path=path)]
        case "grep":
            info = fs.grep(arguments["pattern"], path=path, glob=arguments.get("glob_filter"), max_matches=arguments.get("max_matches"))
            # The default is 100 in the specification, and 1,000 in this version.
            info = info if "max_matches" in arguments else info[:100]
            members = ("path", "line_number", "line_content", "match_start", "match_end")
            return [{name: getattr(match, name) for name in members} for match in info]
        case "rm":
            return fs.delete(path, recursive=arguments["recursive"])
        case "mkdir":
            return fs.mkdir(path, parents=arguments["parents"], exist_ok=arguments["parents"])
        case "exists":
            return fs.exists(path)
        case _:
            if not fs.exists(path):
                return False
            stat = fs.stat(path)
            return stat.is_file if tool == "is_file" else stat.is_directory


def check_weakincentives(paddock, rng, host):
    with tempfile.TemporaryDirectory() as directory:
        fs = host(_root=directory)
        paddock.clear()
        log = []
        for _ in range(rng.randrange(4, 25)):
            tool, arguments = weakincentives_call(rng)
            try:
                expected = ask_host_filesystem(fs, tool, arguments)
            except (OSError, ValueError) as error:
                expected = error
            outcome = paddock.call("weakincentives", tool, **arguments)
            log.append(f"{tool} {arguments} -> {expected!r}, but {outcome['result']!r}")
            case = "\n".join(log)
            if isinstance(expected, Exception):
                assert not outcome["ok"], case
                assert outcome["result"]["error"] in names_of(expected), case
            else:
                assert outcome["ok"], case
                if tool != "rm":
                    assert value_of(outcome) == expected, case
            files, expected_files = paddock.tree(), tree_of(Path(directory))
            assert files == expected_files, f"{case}\n{expected_files}\n{files}"
    return "same"


def check_many(paddock, host):
    """Checks directories with more entries, and files with more and longer lines, than a page has."""
    with tempfile.TemporaryDirectory() as directory:
        fs = host(_root=directory)
        paddock.clear()
        texts = {f"many/{number:04}": "one\n" for number in range(1_200)}
        texts["lines"] = "".join(f"{number}\n" for number in range(4_500))
        texts["long"] = "x" * 60_000 + "\nend\n"
        texts["wide"] = ("y" * 99 + "\n") * 2_500
        for path, text in texts.items():
            fs.write(path, text)
            paddock.put(path, text)
        calls = [("ls", {"path": "many"}), ("glob", {"pattern": "*", "path": "."}), ("glob", {"pattern": "many/*", "path": "."})]
        calls += [("grep", {"pattern": "one", "path": "."}), ("grep", {"pattern": "one", "path": ".", "max_matches": 1_100})]
        windows = [{"offset": offset, "limit": limit} for offset in (0, 1_999, 4_499, 4_500) for limit in (0, 1, 3_000, -1)]
        windows += [{"offset": 0}, {"offset": 2_000}]
        calls += [("read_file", {"path": path, **window}) for path in ("lines", "long", "wide") for window in windows]
        for tool, arguments in calls:
            outcome = paddock.call("weakincentives", tool, **arguments)
            assert value_of(outcome) == ask_host_filesystem(fs, tool, arguments), f"{tool} {arguments}"
    print(f"pass weakincentives, many entries: {len(calls)} same")


def names_of(error):
    """Returns the exceptions that the specification allows for an error. The specification calls an escape a
    SecurityError.
    """
    if "escapes root" in str(error):
        return ["SecurityError"]
    if "Cannot delete root" in str(error):
        return ["ValueError"]
    if isinstance(error, FileExistsError):
        return ["FileExistsError", "IsADirectoryError"]
    if isinstance(error, FileNotFoundError):
        return ["FileNotFoundError", "NotADirectoryError"]
    return [type(error).__name__]


def value_of(outcome):
    value = outcome["result"]["value"]
    if isinstance(value, dict):
        # In the original, the path of a result has no white space at its ends, although the name of the file has.
        value = value.get("matches", value if "path" not in value else value | {"path": value["path"].strip()})
    for entry in value if isinstance(value, list) else []:
        entry.pop("content_hash", None)
    return value


def run(name, check):
    counts = {}
    for case in range(CASES):
        result = check(random.Random(f"{name} {SEED + case}"))
        counts[result] = counts.get(result, 0) + 1
    print(f"pass {name}: " + ", ".join(f"{count} {result}" for result, count in sorted(counts.items())))


if __name__ == "__main__":
    package, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        for name in ("root", "state"):
            (Path(directory) / name).mkdir()
        paddock = Paddock([part.format(root=f"{directory}/root", state=f"{directory}/state") for part in command])
        host = host_filesystem(package)
        run("openai", lambda rng: check_openai(paddock, rng))
        run("anthropic memory", lambda rng: check_memory(paddock, rng))
        run("weakincentives", lambda rng: check_weakincentives(paddock, rng, host))
        check_many(paddock, host)
