"""The enumerations of the tools, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from typing import Literal, get_args

ErrorCode = Literal[
    "not-found",
    "already-exists",
    "not-a-file",
    "not-a-directory",
    "directory-not-empty",
    "outside-workspace",
    "invalid-path",
    "invalid-argument",
    "unknown-tool",
    "unknown-dialect",
    "binary-file",
    "encoding-loss",
    "no-match",
    "ambiguous-match",
    "patch-invalid",
    "patch-rejected",
    "changed-since-read",
    "read-only",
    "denied",
    "approval-required",
    "too-large",
    "limit-exceeded",
    "no-space",
    "permission-denied",
    "cancelled",
    "backend-gone",
    "io",
]
"""Why a call failed. A failure is a value: nothing here traps.

`not-found`: Nothing exists at the path. Similar to `ENOENT`.

`already-exists`: Something exists at the path, and the call may not replace it. Similar to `EEXIST`.

`not-a-file`: The call needs a regular file, and the path names a directory, FIFO, socket or device.

`not-a-directory`: The call needs a directory, and the path, or a part of it, names something else. Similar to
`ENOTDIR`.

`directory-not-empty`: The directory has entries, and the call was not recursive. Similar to `ENOTEMPTY`.

`outside-workspace`: The path, or a link on it, leads out of every root.

`invalid-path`: The path cannot name anything: empty, a NUL byte, a backslash, too long, or a link loop.

`invalid-argument`: An argument is missing, unknown, of the wrong type, out of range, or at odds with another.

`unknown-tool`: The dialect has no tool of that name.

`unknown-dialect`: There is no dialect of that name.

`binary-file`: The file is not text, and the call reads or changes text.

`encoding-loss`: The text cannot be written in the file's encoding without loss.

`no-match`: The text to replace does not occur in the file.

`ambiguous-match`: The text to replace occurs more than once.

`patch-invalid`: The patch does not parse.

`patch-rejected`: The patch parses and does not apply.

`changed-since-read`: The file no longer has the etag that the caller gave.

`read-only`: The root, the path or the whole workspace may not be changed.

`denied`: A rule forbids the path to every tool.

`approval-required`: A person has to approve the call first.

`too-large`: The file is over the whole-file limit.

`limit-exceeded`: A limit on time, memory, entries or depth ended the call.

`no-space`: The file system has no room left. Similar to `ENOSPC`, `EDQUOT`.

`permission-denied`: The file system refused access. Similar to `EACCES`, `EPERM`.

`cancelled`: The caller cancelled the call.

`backend-gone`: The file system behind the workspace has gone away.

`io`: Anything else that the file system reported. Similar to `EIO`.
"""

EntryKind = Literal[
    "file",
    "directory",
    "link",
    "other",
]
"""What a path names.

`file`: A regular file.

`directory`: A directory.

`link`: A symbolic link.

`other`: A FIFO, socket or device.
"""

LetterCase = Literal[
    "sensitive",
    "insensitive",
    "smart",
]
"""How letter case is compared.

`sensitive`: As written, the default.

`insensitive`: Not at all.

`smart`: As written where the pattern has an upper-case letter, else not at all.
"""

ChangeKind = Literal[
    "created",
    "modified",
    "deleted",
    "moved",
]
"""What a call did to one path.

`created`: The path did not exist before.

`modified`: The path's content was replaced.

`deleted`: The path no longer exists.

`moved`: The path was renamed to `to`.
"""

ReadMode = Literal[
    "lines",
    "indentation",
    "raw",
    "base64",
]
"""How `read` shows a file.

`lines`: Lines without their endings, long ones cut, the default.

`indentation`: The block around `anchor_line`, by indentation.

`raw`: The text of the lines as it is, endings included, long lines whole.

`base64`: Bytes in Base64; `offset` and `limit` then count bytes.
"""

PatchAction = Literal[
    "add",
    "update",
    "move",
    "delete",
]
"""What a patch does to a file.

`add`: Makes it.

`update`: Changes it in place.

`move`: Moves it, and may change it.

`delete`: Removes it.
"""

ListSort = Literal[
    "name",
    "size",
    "modified",
]
"""How a listing is ordered.

`name`: By path, the default.

`size`: By size, largest first.

`modified`: By time of modification, newest first.
"""

PathSort = Literal[
    "path",
    "modified",
]
"""How paths are ordered.

`path`: By path, the default.

`modified`: By time of modification, newest first.
"""

GrepOutput = Literal[
    "content",
    "files",
    "count",
]
"""What `grep` returns.

`content`: Each matching line, the default.

`files`: The files that have a match.

`count`: How many lines match in each file.
"""

ENUMS: dict[str, frozenset[str]] = {
    "error-code": frozenset(get_args(ErrorCode)),
    "entry-kind": frozenset(get_args(EntryKind)),
    "letter-case": frozenset(get_args(LetterCase)),
    "change-kind": frozenset(get_args(ChangeKind)),
    "read-mode": frozenset(get_args(ReadMode)),
    "patch-action": frozenset(get_args(PatchAction)),
    "list-sort": frozenset(get_args(ListSort)),
    "path-sort": frozenset(get_args(PathSort)),
    "grep-output": frozenset(get_args(GrepOutput)),
}
"""The cases of each enumeration, by its WIT name."""
