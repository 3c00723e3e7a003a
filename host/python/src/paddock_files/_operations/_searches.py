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
            depth: Number of levels to descend; 1 lists the entries of the directory itself. Default: 1.
            pattern: Glob of the entries to list, relative to `path`; a glob without `/` is matched against names.
            include_hidden: Include names that start with a dot. Default: false.
            include_ignored: Include entries that ignore rules exclude. Default: false.
            sort: Order of the entries. Default: by name.
            limit: Maximum number of entries. Default: 200.
            cursor: The `next_cursor` of the previous result.
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
        """Lists a directory as a tree.

        Fails as `list` does.

        Args:
            path: The directory. Default: `.`.
            depth: Number of levels to descend. Default: 3.
            limit: Maximum number of entries. Default: 500.
            include_hidden: Include names that start with a dot. Default: false.
            include_ignored: Include entries that ignore rules exclude. Default: false.
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
            pattern: The glob: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any number of directories. A glob without `/`
                matches names at any depth.
            path: The directory to search; the pattern is relative to it. Default: `.`.
            exclude: Globs of entries to leave out, directories with their whole content, relative to `path`; a glob
                without `/` matches names at any depth. Default: none.
            directories: Find directories too. Default: false.
            include_hidden: Include names that start with a dot. Default: false.
            include_ignored: Include entries that ignore rules exclude. Default: false.
            sort: Order of the paths. Default: by path.
            limit: Maximum number of paths. Default: 100.
            cursor: The `next_cursor` of the previous result.
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
        word: bool = False,
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
        `not-a-file` if `path` is a FIFO, socket or device.

        Args:
            pattern: A regular expression of linear time (no look-around, no back-references), or plain text with
                `fixed`.
            path: The directory or file to search. Default: `.`.
            glob: Glob of the files to search, relative to `path`; a glob without `/` is matched against names.
            fixed: Take the pattern as plain text. Default: false.
            letter_case: Comparison of letter case. Default: sensitive.
            multiline: Allow matches across lines. Default: false.
            word: Match whole words: no letter, digit or `_` of Unicode directly before or after the match. Default:
                false.
            before: Number of context lines before a match. Default: 0.
            after: Number of context lines after a match. Default: 0.
            output: Form of the result. Default: content.
            limit: Maximum number of matches, or of files. Default: 100.
            max_per_file: Maximum number of matches in one file.
            include_hidden: Include names that start with a dot. Default: false.
            include_ignored: Include entries that ignore rules exclude. Default: false.
            cursor: The `next_cursor` of the previous result.
        """
        values = (
            pattern,
            path,
            glob,
            fixed,
            letter_case,
            multiline,
            word,
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
        """Lists the files below a directory that any process has changed since a token, and returns a new token.

        The state directory, outside the workspace, stores the state of the directory under the token: the last 32
        states, 128 MiB together. Size and times are compared first. If they are equal, and older than two seconds when
        the token was made, the file counts as unchanged; otherwise the contents are compared. For a file over the
        whole-file limit, and for files that the first call had no time to read, size and times alone decide. A file
        that only new rules hide is not reported as deleted.

        Fails as `list` does; with `io` if the host has no state directory, as for a workspace in which nothing may be
        changed; with `invalid-argument` if `since` is no token or belongs to a call with other arguments; with
        `not-found` if the state of the token is no longer stored; and with `limit-exceeded` if there are more entries
        than one call can examine.

        Args:
            since: The `token` of an earlier result. Without one, only a token is returned.
            path: The directory to compare. Default: `.`.
            include_hidden: Include names that start with a dot. Default: false.
            include_ignored: Include entries that ignore rules exclude. Default: false.
            limit: Maximum number of paths, of all kinds of change together. Default: 200.
        """
        values = (since, path, include_hidden, include_ignored, limit,)
        result: ChangesResult = self._typed(
            "search", "changes", ("changes-args", values), "changes-result", changing=True
        )
        return result
