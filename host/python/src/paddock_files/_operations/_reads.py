"""The operations that read files, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._typed import Typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import FileRange, HistoryResult, ReadManyResult, ReadMode, ReadResult, StatResult


class Reads(Typed):
    """The operations that read files."""

    def read(
        self,
        path: str,
        *,
        offset: int = 1,
        limit: int | None = None,
        tail: int | None = None,
        mode: ReadMode = "lines",
        anchor_line: int | None = None,
        max_levels: int = 0,
        include_siblings: bool = False,
        include_header: bool = True,
        encoding: str | None = None,
        if_none_match: str | None = None,
    ) -> ReadResult:
        """Reads text from a file.

        Fails with `not-found`, `not-a-file`, `binary-file`, and with `invalid-argument` for an `offset` past the end or
        an unknown encoding.

        Args:
            path: The file.
            offset: First line to return, 1-based; with `base64` the first byte, 1-based. Default: 1.
            limit: Maximum number of lines, default 2,000; with `base64` maximum number of bytes, default 38,400.
            tail: Number of lines to return from the end of the file; not together with `offset`.
            mode: Form of the content. Default: lines.
            anchor_line: With `indentation` and `function`, the line whose block or function is returned. Default:
                `offset`.
            max_levels: With `indentation`, the number of enclosing levels to include; 0 includes all. Default: 0.
            include_siblings: With `indentation`, include blocks at the same level. Default: false.
            include_header: With `indentation` and `function`, include the comment lines above. Default: true.
            encoding: WHATWG label of the encoding. Default: detected.
            if_none_match: Etag of the content that the caller has, or its first 12 digits. If the file still has this
                etag, the result says `unchanged` and has no content. With `lines`, if a backup contains the caller's
                version and a diff is shorter than the page, the result has `diff` in place of content.
        """
        values = (
            path,
            offset,
            limit,
            tail,
            mode,
            anchor_line,
            max_levels,
            include_siblings,
            include_header,
            encoding,
            if_none_match,
        )
        result: ReadResult = self._typed(
            "files", "read", ("read-args", values), "read-result", changing=False
        )
        return result

    def read_many(self, files: Sequence[FileRange] = (), *, glob: str | None = None) -> ReadManyResult:
        """Reads several files.

        Fails with `invalid-argument` if the arguments contain both `files` and `glob`, or neither. If a file cannot be
        read, its entry contains the failure.

        Args:
            files: Files and ranges.
            glob: Glob of the files to read, in place of `files`. Ignore rules apply.
        """
        values = (files, glob,)
        result: ReadManyResult = self._typed(
            "files", "read-many", ("read-many-args", values), "read-many-result", changing=False
        )
        return result

    def history(self, limit: int = 100) -> HistoryResult:
        """Lists the backups, the newest first.

        Args:
            limit: Maximum number of entries.
        """
        values = (limit,)
        result: HistoryResult = self._typed(
            "files", "history", ("history-args", values), "history-result", changing=False
        )
        return result

    def stat(self, path: str, *, checksum: bool = False, brief: bool = False) -> StatResult:
        """Describes the entry at a path.

        Fails with `not-found`.

        Args:
            path: The path. For a symbolic link, the link itself is described, with its target.
            checksum: Compute the SHA-256 of the whole file. Default: false.
            brief: Return only fields that need no read of the content: no lines, encoding, media type, etag and
                SHA-256. The error of a missing path names no similar paths. Default: false.
        """
        values = (path, checksum, brief,)
        result: StatResult = self._typed(
            "files", "stat", ("stat-args", values), "stat-result", changing=False
        )
        return result
