"""The operations that list directories and search them, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._typed import Typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import (
        ChangesResult,
        GlobResult,
        GrepOutput,
        GrepResult,
        LetterCase,
        ListResult,
        ListSort,
        PathSort,
        TreeResult,
    )


class Searches(Typed):
    """The operations that list directories and search them."""

    def list(
        self,
        path: str = ".",
        *,
        depth: int = 1,
        pattern: str | None = None,
        include_hidden: bool = False,
        include_ignored: bool = False,
        sort: ListSort = "name",
        limit: int = 200,
        cursor: str | None = None,
    ) -> ListResult:
        """Lists a directory.

        Fails with `not-found`, and with `not-a-directory` for a file.

        Args:
            path: The directory. Default: `.`.
            depth: How many levels to descend; 1 shows the directory's own entries. Default: 1.
            pattern: Only entries whose path below `path` matches this glob; one without `/` is matched against names.
            include_hidden: Show names that start with a dot. Default: false.
            include_ignored: Show what ignore rules exclude. Default: false.
            sort: The order. Default: by name.
            limit: Most entries to return. Default: 200.
            cursor: Continue after a previous result.
        """
        values = (path, depth, pattern, include_hidden, include_ignored, sort, limit, cursor,)
        result: ListResult = self._typed(
            "search", "list", ("list-args", values), "list-result", changing=False
        )
        return result

    def tree(
        self,
        path: str = ".",
        *,
        depth: int = 3,
        limit: int = 500,
        include_hidden: bool = False,
        include_ignored: bool = False,
    ) -> TreeResult:
        """Shows a directory as a tree.

        Fails as `list` does.

        Args:
            path: The directory. Default: `.`.
            depth: How many levels to descend. Default: 3.
            limit: Most entries to return. Default: 500.
            include_hidden: Show names that start with a dot. Default: false.
            include_ignored: Show what ignore rules exclude. Default: false.
        """
        values = (path, depth, limit, include_hidden, include_ignored,)
        result: TreeResult = self._typed(
            "search", "tree", ("tree-args", values), "tree-result", changing=False
        )
        return result

    def glob(
        self,
        pattern: str,
        *,
        path: str = ".",
        exclude: Sequence[str] = (),
        directories: bool = False,
        include_hidden: bool = False,
        include_ignored: bool = False,
        sort: PathSort = "path",
        limit: int = 100,
        cursor: str | None = None,
    ) -> GlobResult:
        """Finds files by a glob.

        Fails as `list` does, and with `invalid-argument` for a glob that does not parse.

        Args:
            pattern: The glob: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any number of directories. One without `/`
                matches names at any depth.
            path: The directory to search, to which the pattern is relative. Default: `.`.
            exclude: Globs of what is left out, directories with all that is in them, relative to `path`; one without
                `/` matches names at any depth. Default: none.
            directories: Find directories too. Default: false.
            include_hidden: Match names that start with a dot. Default: false.
            include_ignored: Match what ignore rules exclude. Default: false.
            sort: The order. Default: by path.
            limit: Most paths to return. Default: 100.
            cursor: Continue after a previous result.
        """
        values = (pattern, path, exclude, directories, include_hidden, include_ignored, sort, limit, cursor,)
        result: GlobResult = self._typed(
            "search", "glob", ("glob-args", values), "glob-result", changing=False
        )
        return result

    def grep(
        self,
        pattern: str,
        *,
        path: str = ".",
        glob: str | None = None,
        fixed: bool = False,
        letter_case: LetterCase = "sensitive",
        multiline: bool = False,
        before: int = 0,
        after: int = 0,
        output: GrepOutput = "content",
        limit: int = 100,
        max_per_file: int | None = None,
        include_hidden: bool = False,
        include_ignored: bool = False,
        cursor: str | None = None,
    ) -> GrepResult:
        """Finds text in files.

        Fails with `not-found`, with `invalid-argument` for a pattern that does not parse or is too large, and with
        `not-a-file` where `path` is a FIFO, socket or device.

        Args:
            pattern: A regular expression of linear time (no look-around, no back-references), or plain text with
                `fixed`.
            path: The directory or file to search. Default: `.`.
            glob: Only files that match this glob, relative to `path`; one without `/` is matched against names.
            fixed: The pattern is plain text. Default: false.
            letter_case: How letter case is compared. Default: sensitive.
            multiline: The pattern can match across lines. Default: false.
            before: Lines to show before a match. Default: 0.
            after: Lines to show after a match. Default: 0.
            output: What to return. Default: content.
            limit: Most matches, or files, to return. Default: 100.
            max_per_file: Most matches from one file.
            include_hidden: Search names that start with a dot. Default: false.
            include_ignored: Search what ignore rules exclude. Default: false.
            cursor: Continue after a previous result.
        """
        values = (
            pattern,
            path,
            glob,
            fixed,
            letter_case,
            multiline,
            before,
            after,
            output,
            limit,
            max_per_file,
            include_hidden,
            include_ignored,
            cursor,
        )
        result: GrepResult = self._typed(
            "search", "grep", ("grep-args", values), "grep-result", changing=False
        )
        return result

    def changes(
        self,
        since: str | None = None,
        *,
        path: str = ".",
        include_hidden: bool = False,
        include_ignored: bool = False,
        limit: int = 200,
    ) -> ChangesResult:
        """What changed below a directory since a token, whoever changed it, with a new token.

        What is there is kept in the state directory, outside the workspace, under the token: the last 32 looks, 128 MiB
        together. Size and times are compared first; where they are the same, and older than two seconds when the token
        was given, so is the content, and else the content decides. Of a file over the whole-file limit, and of what a
        first look had no time for, size and times decide. A file that only rules keep from this look is not deleted.

        Fails as `list` does; with `io` where the host keeps no state directory, as for a workspace in which nothing may
        be changed; with `invalid-argument` where `since` is no token or belongs to a call with other arguments; with
        `not-found` where it is not kept any more; and with `limit-exceeded` where there is more than one call can look
        at.

        Args:
            since: The `token` of an earlier result. Without one, only a token is returned.
            path: The directory to look at. Default: `.`.
            include_hidden: Look at names that start with a dot. Default: false.
            include_ignored: Look at what ignore rules exclude. Default: false.
            limit: Most paths to return, of all kinds of change together. Default: 200.
        """
        values = (since, path, include_hidden, include_ignored, limit,)
        result: ChangesResult = self._typed(
            "search", "changes", ("changes-args", values), "changes-result", changing=True
        )
        return result
