"""The checks of the files at the end."""

from collections import Counter

from client import etag
from work import END, LOGS, PAIR, REGISTER, VERSIONED, versioned


def check(workspace):
    """Returns what is wrong in the files of a workspace."""
    wrong = []
    for path in LOGS:
        lines = lines_of(workspace, path, wrong)
        wrong += entries(path, lines, workspace.entries[path])
        wrong += etags(path, lines, workspace)
    pair = [lines_of(workspace, path, wrong) for path in PAIR]
    if pair[0] != pair[1]:
        wrong.append(f"{PAIR}: patches are in one file and not in the other, or in another order")
    wrong += entries(PAIR[0], pair[0], workspace.pairs)
    wrong += register(workspace)
    for path in VERSIONED:
        if (workspace.directory / path).read_text() != versioned(workspace.version):
            wrong.append(f"{path}: its version is not {workspace.version}")
    owned = {path: content for path, content in workspace.owned.items() if content is not None}
    for path, content in owned.items():
        file = workspace.directory / path
        if not file.is_file() or file.read_text() != content:
            wrong.append(f"{path}: lost, or another content")
    found = {str(file.relative_to(workspace.directory)) for file in workspace.directory.rglob("*") if file.is_file()}
    if found != {*LOGS, *PAIR, *VERSIONED, REGISTER, *owned}:
        wrong.append(f"other files: {sorted(found ^ {*LOGS, *PAIR, *VERSIONED, REGISTER, *owned})}")
    repeated = [backup for backup, count in Counter(workspace.backups).items() if count > 1]
    if repeated:
        wrong.append(f"two changes have the same backup: {repeated}")
    return [f"{workspace.name}/{text}" for text in wrong]


def lines_of(workspace, path, wrong):
    text = (workspace.directory / path).read_text()
    if not text.endswith(END):
        wrong.append(f"{path}: it is not whole")
    return text.removesuffix(END).splitlines()


def entries(path, lines, known):
    """Compares the lines of a file with the entries that were reported as made or not."""
    made = {entry for entry, state in known.items() if state == "made"}
    counts = Counter(lines)
    lost, unreported = made - counts.keys(), counts.keys() - made
    wrong = [f"{path}: {len(lost)} reported changes are lost, such as {min(lost)}"] if lost else []
    if unreported:
        example = min(unreported)
        wrong.append(f"{path}: {len(unreported)} changes were made, such as {example}, which is {known.get(example)}")
    repeated = [entry for entry, count in counts.items() if count > 1]
    return wrong + ([f"{path}: made twice: {repeated}"] if repeated else [])


def etags(path, lines, workspace):
    """Compares reported etags with those of all contents that the file has had: each line was added at the end."""
    contents = ["".join(f"{line}\n" for line in lines[:count]) + END for count in range(len(lines) + 1)]
    at = {etag(content): count for count, content in enumerate(contents)}
    position = {line: count for count, line in enumerate(lines)}
    wrong = []
    for of, entry, expected, after in workspace.etags:
        if of != path or entry not in position:
            continue
        if at.get(after) != position[entry] + 1:
            wrong.append(f"{path}: the change {entry} reported the etag of another content")
        if expected and at.get(expected) != position[entry]:
            wrong.append(f"{path}: the change {entry} was made, and its etag was not the current one")
    for of, expected, current in workspace.conflicts:
        # The expected content was once current, and the reported one came later.
        if of == path and not at.get(expected, -1) < at.get(current, -1):
            wrong.append(f"{path}: a conflict of {expected}, which is {at.get(expected)}, with {current}, {at.get(current)}")
    return wrong


def register(workspace):
    """Follows the contents of the register from the first one; each names the one before."""
    known = workspace.entries[REGISTER]
    wrong, after, made = [], etag("first\n"), set()
    while True:
        following = [entry for entry, (state, before, _) in known.items() if before == after and state != "absent"]
        reported = [entry for entry in following if known[entry][0] == "made"]
        if len(reported) > 1:
            return [f"{REGISTER}: two changes replaced the same content: {reported}"]
        # A change without an answer was made if another change, or the file, continues from it.
        text = (workspace.directory / REGISTER).read_text()
        continues = [
            entry for entry in following
            if known[entry][2] == etag(text) or any(known[entry][2] == before for _, before, _ in known.values())
        ]
        following = reported or continues
        if not following:
            break
        made.add(following[0])
        after = known[following[0]][2]
    if etag(text) != after:
        wrong.append(f"{REGISTER}: its content is not that of the last change")
    lost = {entry for entry, (state, _, _) in known.items() if state == "made"} - made
    return wrong + ([f"{REGISTER}: {len(lost)} reported changes are lost, such as {min(lost)}"] if lost else [])
