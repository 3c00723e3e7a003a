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
"""Class of a failure. A failure is a value: no function traps to report it.

`not-found`: Nothing exists at the path. Similar to `ENOENT`.

`already-exists`: Something exists at the path, and the call may not replace it. Similar to `EEXIST`.

`not-a-file`: The call needs a regular file, and the path names a directory, FIFO, socket or device.

`not-a-directory`: The call needs a directory, and the path, or a part of it, names something else. Similar to
`ENOTDIR`.

`directory-not-empty`: The directory has entries, and the call was not recursive. Similar to `ENOTEMPTY`.

`outside-workspace`: The path, or a link on it, leads out of every root.

`invalid-path`: The path cannot name anything: empty, a NUL byte, a backslash, too long, or a link loop.

`invalid-argument`: An argument is missing, unknown, of the wrong type, out of range, or contradicts another argument.

`unknown-tool`: The dialect has no tool of that name.

`unknown-dialect`: No dialect has that name.

`binary-file`: The file is not text, and the call reads or changes text.

`encoding-loss`: The text cannot be written in the file's encoding without loss.

`no-match`: The text to replace does not occur in the file.

`ambiguous-match`: The text to replace occurs more than once.

`patch-invalid`: The patch does not parse.

`patch-rejected`: The patch parses and does not apply.

`changed-since-read`: The file no longer has the etag that the caller passed.

`read-only`: The root, the path or the whole workspace may not be changed.

`denied`: A rule forbids the path to every tool.

`approval-required`: A person has to approve the call first.

`too-large`: The file is over the whole-file limit.

`limit-exceeded`: A limit on time, memory, entries or depth ended the call.

`no-space`: The file system has no space left. Similar to `ENOSPC`, `EDQUOT`.

`permission-denied`: The file system refused access. Similar to `EACCES`, `EPERM`.

`cancelled`: The caller cancelled the call.

`backend-gone`: The file system of the workspace no longer exists.

`io`: Any other failure that the file system reported. Similar to `EIO`.
"""

EntryKind = Literal[
    "file",
    "directory",
    "link",
    "other",
]
"""Kind of the entry at a path.

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
"""How a search compares letter case.

`sensitive`: Letter case must match. The default.

`insensitive`: Letter case is ignored.

`smart`: Letter case must match if the pattern contains an upper-case letter, and is ignored otherwise.
"""

ChangeKind = Literal[
    "created",
    "modified",
    "deleted",
    "moved",
]
"""Kind of a change to one path.

`created`: The path did not exist before.

`modified`: The path's content was replaced.

`deleted`: The path no longer exists.

`moved`: The path was renamed to `to`.
"""

ReadMode = Literal[
    "lines",
    "indentation",
    "function",
    "raw",
    "base64",
]
"""Form in which `read` returns a file.

`lines`: Lines without their endings; long lines are cut. The default.

`indentation`: The block around `anchor_line`, found by indentation.

`function`: The innermost named function around `anchor_line`, with the comments and attributes above it, found by
indentation and by the words at the start of lines. Fails with `invalid-argument` if there is none.

`raw`: The text of the lines unchanged, endings included; long lines are not cut.

`base64`: Bytes in Base64; `offset` and `limit` then count bytes.
"""

PatchAction = Literal[
    "add",
    "update",
    "move",
    "delete",
]
"""Action of a patch on a file.

`add`: Creates the file.

`update`: Changes the file in place.

`move`: Moves the file, and may change it.

`delete`: Deletes the file.
"""

ListSort = Literal[
    "name",
    "size",
    "modified",
]
"""Order of a listing.

`name`: By path, the default.

`size`: By size, largest first.

`modified`: By time of modification, newest first.
"""

PathSort = Literal[
    "path",
    "modified",
]
"""Order of paths.

`path`: By path, the default.

`modified`: By time of modification, newest first.
"""

GrepOutput = Literal[
    "content",
    "files",
    "count",
]
"""Form of the result of `grep`.

`content`: Each matching line, the default.

`files`: Files that contain a match.

`count`: Number of matching lines in each file.
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
