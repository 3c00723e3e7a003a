"""The changes that clients make. Each kind has a rule by which the files at the end show lost, repeated and torn changes."""

import random
import threading

from client import Failed, Lost, Refused, etag
from servers import ALL, PART

END = "the end\n"
LOGS = ["part/log-0.txt", "part/log-1.txt", "log-2.txt"]
# The files of a patch of two files, in two directories, and those of the patches by one writer.
PAIR = ["part/left.txt", "part/in/right.txt"]
VERSIONED = ["part/a.txt", "part/in/b.txt", "part/in/c.txt", "part/d.txt"]
REGISTER = "part/register.txt"
DIRECTORIES = ["part/in", "own"]


def versioned(version):
    """Returns the content of a version, large enough that a write can be interrupted."""
    return f"version {version} {'x' * (20_000 + version % 7)}\n"


class Workspace:
    """A workspace, and what is known about each change of it."""

    def __init__(self, directory, with_part):
        self.name, self.directory = directory.name, directory
        # Whether clients also use the token for the directory `part`.
        self.with_part = with_part
        for name in DIRECTORIES:
            (directory / name).mkdir(parents=True)
        contents = dict.fromkeys([*LOGS, *PAIR], END) | dict.fromkeys(VERSIONED, versioned(0)) | {REGISTER: "first\n"}
        for path, content in contents.items():
            (directory / path).write_text(content)
        # Entries by path, each with its state: `made`, `absent`, or `unknown` for a register.
        self.entries = {path: {} for path in [*LOGS, REGISTER]}
        self.pairs = {}
        # Etags of made changes of logs: path, entry, expected etag or `None`, etag afterwards.
        self.etags = []
        # Conflicts: path, expected etag, reported etag.
        self.conflicts = []
        self.version, self.version_lock = 0, threading.Lock()
        # Files that one client owns, and their contents.
        self.owned = {}
        # Number of changes that were found after a lost answer, and of those that were not.
        self.found, self.missing = 0, 0
        self.backups = []

    def settle(self, is_made):
        """Counts a change whose answer was lost."""
        if is_made:
            self.found += 1
        else:
            self.missing += 1
        return "made" if is_made else "absent"


def view(workspace, path):
    """Returns a token that may change a path, and the path for its holder."""
    inner = path.removeprefix("part/")
    return (PART, inner) if workspace.with_part and inner != path and random.random() < 0.5 else (ALL, path)


def append(client, workspace):
    """Adds a line to a file that all clients edit."""
    path, entry = random.choice(LOGS), client.new_id()
    token, name = view(workspace, path)
    expected = None
    if random.random() < 0.5:
        text = client.read(token, workspace.name, name)
        assert text.endswith(END), f"{path} is not whole"
        expected = etag(text)
        # Some clients use an etag that was current a while ago.
        if random.random() < 0.3:
            append(client, workspace)
    arguments = {"path": name, "edits": [{"old_text": END, "new_text": f"{entry}\n{END}"}]}
    if expected:
        arguments["if_match"] = expected
    try:
        result = client.change(token, workspace.name, "edit_file", **arguments)
        state = "made"
        workspace.etags.append((path, entry, expected, result["etag"]))
        workspace.backups.append(result["backup"])
    except Failed as failed:
        assert failed.code == "changed-since-read" and expected, f"{path}: {failed.code}: {failed}"
        client.counts["conflicts"] += 1
        workspace.conflicts.append((path, expected, failed.current_etag()))
        state = "absent"
    except Refused:
        state = "absent"
    except Lost:
        state = workspace.settle(entry in client.read(token, workspace.name, name).splitlines())
    workspace.entries[path][entry] = state


def write(client, workspace):
    """Replaces a file whose content names the content before."""
    token, name = view(workspace, REGISTER)
    entry, before = client.new_id(), client.read(token, workspace.name, name)
    content = f"{entry}\n{etag(before)}\n{'y' * random.randrange(10_000)}\n"
    state = ("made", etag(before), etag(content))
    try:
        result = client.change(token, workspace.name, "write_file", path=name, content=content, if_match=etag(before))
        assert result["etag"] == etag(content), REGISTER
    except Failed as failed:
        assert failed.code == "changed-since-read", f"{REGISTER}: {failed.code}: {failed}"
        client.counts["conflicts"] += 1
        assert failed.current_etag() != etag(before), "a conflict with the current etag"
        state = ("absent", *state[1:])
    except Refused:
        state = ("absent", *state[1:])
    except Lost:
        # Another client may have replaced the content since, so that its absence shows nothing.
        is_there = client.read(token, workspace.name, name) == content
        state = (workspace.settle(True) if is_there else "unknown", *state[1:])
    workspace.entries[REGISTER][entry] = state


def patch(client, workspace):
    """Adds the same line to two files in one patch."""
    entry = client.new_id()
    token = view(workspace, PAIR[0])[0]
    names = [path if token == ALL else path.removeprefix("part/") for path in PAIR]
    hunks = "".join(f"*** Update File: {name}\n@@\n+{entry}\n {END}" for name in names)
    try:
        result = client.change(token, workspace.name, "apply_patch", patch=f"*** Begin Patch\n{hunks}*** End Patch\n")
        workspace.backups.append(result["backup"])
        state = "made"
    except Refused:
        state = "absent"
    except Lost:
        # Each client only adds, so that an entry that is there stays.
        there = [entry in client.read(token, workspace.name, name).splitlines() for name in names]
        assert there[0] == there[1], f"the patch {entry} was made in part: {there}"
        state = workspace.settle(there[0])
    workspace.pairs[entry] = state


def version(client, workspace):
    """Replaces four large files by their next version, by one writer at a time."""
    if not workspace.version_lock.acquire(blocking=False):
        return
    with_part = workspace.with_part and random.random() < 0.5
    token = PART if with_part else ALL
    names = [path.removeprefix("part/") if with_part else path for path in VERSIONED]
    try:
        old, new = versioned(workspace.version), versioned(workspace.version + 1)
        hunks = "".join(f"*** Update File: {name}\n@@\n-{old}+{new}" for name in names)
        try:
            client.change(token, workspace.name, "apply_patch", patch=f"*** Begin Patch\n{hunks}*** End Patch\n")
            is_made = True
        except Refused:
            is_made = False
        except Lost:
            # The other token reads, so that each way to a workspace shows what another one has begun.
            if workspace.with_part:
                token = ALL if with_part else PART
                names = VERSIONED if with_part else [path.removeprefix("part/") for path in VERSIONED]
            contents = {client.read(token, workspace.name, name) for name in names}
            assert contents in ({old}, {new}), f"four files of {len(contents)} versions"
            is_made = workspace.settle(contents == {new}) == "made"
        workspace.version += is_made
    finally:
        workspace.version_lock.release()


def until_made(client, workspace, wanted, tool, **arguments):
    """Makes a change of files of this client until it is made. `wanted` are the contents afterwards, by path. Returns the
    result, or `None` if its answer was lost."""
    while True:
        try:
            return client.change(ALL, workspace.name, tool, **arguments)
        except Refused:
            pass
        except Lost:
            now = {path: client.read(ALL, workspace.name, path) for path in wanted}
            is_made = now == wanted
            assert is_made or now == {path: workspace.owned.get(path) for path in wanted}, f"{tool} {arguments}: {now}"
            workspace.settle(is_made)
            if is_made:
                return None
        client.counts["retries"] += 1


def change(client, workspace, wanted, tool, **arguments):
    result = until_made(client, workspace, wanted, tool, **arguments)
    workspace.owned.update(wanted)
    return result


def move(client, workspace):
    """Creates a file and moves it between directories, twice."""
    name = client.new_id()
    paths = [f"own/{name}.txt", f"part/in/{name}.moved", f"own/{name}.back"]
    change(client, workspace, {paths[0]: name}, "write_file", path=paths[0], content=name, create_only=True)
    for source, destination in zip(paths, paths[1:]):
        change(client, workspace, {source: None, destination: name}, "move", source=source, destination=destination)
    change(client, workspace, {paths[2]: None}, "delete", path=paths[2])


def restore(client, workspace):
    """Writes, deletes and restores a file; each restore has to bring the content before back."""
    path = f"own/{client.name}.txt"
    first, second = f"{client.new_id()}\n", f"{client.new_id()}\n" * 500
    change(client, workspace, {path: first}, "write_file", path=path, content=first)
    for wanted, tool, arguments in [({path: second}, "write_file", {"content": second}), ({path: None}, "delete", {})]:
        result = change(client, workspace, wanted, tool, path=path, **arguments)
        # Without an answer, the client knows no backup, and undoes the last change of the path.
        backup = {"backup": result["backup"]} if result else {"path": path}
        change(client, workspace, {path: first}, "restore", **backup)
        assert client.read(ALL, workspace.name, path) == first, f"{tool} of {path} was not undone"


# Kinds of changes with their weights.
KINDS = {append: 45, patch: 20, write: 15, version: 6, move: 4, restore: 4}
