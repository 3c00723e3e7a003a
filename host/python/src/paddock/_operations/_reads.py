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
            offset: The first line to return, 1-based; with `base64` the first byte, 1-based. Default: 1.
            limit: Most lines to return, default 2,000; with `base64` most bytes, default 38,400.
            tail: Return the last so many lines instead; not with `offset`.
            mode: How to show it. Default: lines.
            anchor_line: With `indentation`, the line whose block to return. Default: `offset`.
            max_levels: With `indentation`, how many levels to go out; 0 is all. Default: 0.
            include_siblings: With `indentation`, include blocks at the same level. Default: false.
            include_header: With `indentation`, include the comment lines above a block. Default: true.
            encoding: The encoding's WHATWG label. Default: detected.
            if_none_match: An etag of this file that the caller has the content of. Where the file still has it, only
                `unchanged` is told; with `lines`, where a backup holds that content and a diff is shorter than the
                page, only `diff`.
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

        Fails with `invalid-argument` where the arguments do not name files in one way; a file that cannot be read is an
        entry.

        Args:
            files: Files and ranges.
            glob: Instead, every file that the glob matches, ignore rules respected.
        """
        values = (files, glob,)
        result: ReadManyResult = self._typed(
            "files", "read-many", ("read-many-args", values), "read-many-result", changing=False
        )
        return result

    def history(self, limit: int = 100) -> HistoryResult:
        """Lists the backups, the newest first.

        Args:
            limit: Most entries.
        """
        values = (limit,)
        result: HistoryResult = self._typed(
            "files", "history", ("history-args", values), "history-result", changing=False
        )
        return result

    def stat(self, path: str, *, checksum: bool = False, brief: bool = False) -> StatResult:
        """Describes what a path names.

        Fails with `not-found`.

        Args:
            path: The path. A symbolic link itself is described, with what it names.
            checksum: Compute the SHA-256 of the whole file. Default: false.
            brief: Tell only what needs no look at the content: no lines, encoding, media type, etag and SHA-256.
                Default: false.
        """
        values = (path, checksum, brief,)
        result: StatResult = self._typed(
            "files", "stat", ("stat-args", values), "stat-result", changing=False
        )
        return result
