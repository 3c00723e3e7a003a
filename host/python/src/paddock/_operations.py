"""The operations with types, made from `wit/` by `generate.py`: change them there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .types import (
        ApplyPatchResult,
        ChangesResult,
        DeleteResult,
        EditResult,
        FileRange,
        GlobResult,
        GrepOutput,
        GrepResult,
        HistoryResult,
        LetterCase,
        ListResult,
        ListSort,
        MakeDirectoryResult,
        PackResult,
        PathSort,
        ReadManyResult,
        ReadMode,
        ReadResult,
        ReplaceResult,
        Replacement,
        RestoreResult,
        StatResult,
        TransferResult,
        TreeResult,
        UnpackResult,
        WriteResult,
    )


class Operations:
    """A method for each operation of `wit/files.wit` and `wit/search.wit`.

    Each raises `ToolError` where the tool fails, for the reasons that it names, and blocks its thread until the end.
    """

    def _typed(
        self, interface: str, function: str, arguments: tuple[str, tuple[object, ...]], result: str, *, changing: bool
    ) -> Any:
        raise NotImplementedError

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

    def write(
        self,
        path: str,
        content: str,
        *,
        create_only: bool = False,
        append: bool = False,
        encoding: str | None = None,
        if_match: str | None = None,
    ) -> WriteResult:
        """Writes a file whole, or appends to it.

        Fails with `already-exists`, `not-a-file`, `not-a-directory`, `encoding-loss`, `changed-since-read` and
        `too-large`.

        Args:
            path: The file. Missing parent directories are made.
            content: The whole text; line endings are written as given.
            create_only: Fail where something exists at the path. Default: false.
            append: Put the text after what is there. Default: false.
            encoding: The encoding's WHATWG label. Default: that of the file that is there, with its byte order mark;
                else UTF-8.
            if_match: Fail with `changed-since-read` unless the file has this etag.
        """
        values = (path, content, create_only, append, encoding, if_match,)
        result: WriteResult = self._typed(
            "files", "write", ("write-args", values), "write-result", changing=True
        )
        return result

    def edit(
        self,
        path: str,
        edits: Sequence[Replacement],
        *,
        if_match: str | None = None,
        dry_run: bool = False,
    ) -> EditResult:
        """Replaces text in a file.

        Fails with `not-found`, `no-match` with the nearest places, `ambiguous-match` with every line number,
        `binary-file`, `encoding-loss`, `changed-since-read` and `too-large`.

        Args:
            path: The file.
            edits: Replacements, each applied to the result of the one before.
            if_match: Fail with `changed-since-read` unless the file has this etag.
            dry_run: Report what would change, and change nothing. Default: false.
        """
        values = (path, edits, if_match, dry_run,)
        result: EditResult = self._typed(
            "files", "edit", ("edit-args", values), "edit-result", changing=True
        )
        return result

    def apply_patch(self, patch: str, *, dry_run: bool = False) -> ApplyPatchResult:
        """Applies a patch of any number of files, all of it or nothing.

        Fails with `patch-invalid` with the line of the patch, and with `patch-rejected` with the file, the hunk and the
        nearest place where it would fit.

        Args:
            patch: A Codex envelope (its first line is `*** Begin Patch`) or a unified diff.
            dry_run: Report what would change, and change nothing. Default: false.
        """
        values = (patch, dry_run,)
        result: ApplyPatchResult = self._typed(
            "files", "apply-patch", ("apply-patch-args", values), "apply-patch-result", changing=True
        )
        return result

    def replace(
        self,
        pattern: str,
        replacement: str,
        *,
        path: str = ".",
        glob: str | None = None,
        fixed: bool = False,
        letter_case: LetterCase = "sensitive",
        multiline: bool = False,
        include_hidden: bool = False,
        include_ignored: bool = False,
        plan: str | None = None,
    ) -> ReplaceResult:
        """Replaces what a pattern matches in many files: all of it or nothing.

        Without `plan` nothing is changed, and the result tells what would be, with a plan. With it everything is found
        again, and done where that gives the same plan. Matches are found as by `search.grep`, do not overlap, and an
        empty one counts unless it follows another at once or stands after the last line ending. Every other byte stays:
        encoding, byte order mark, line endings. A file whose matches become what they are does not change. Binary files
        and those over the whole-file limit are left out and counted; where `path` names such a file, or one that may
        not be changed, that is a failure.

        Fails with `changed-since-read` where `plan` was made for other contents, naming the files, and nothing is
        changed then; with `invalid-argument` for a pattern that does not parse, a replacement that names a group which
        the pattern does not have, or a `plan` for other arguments; with `not-found`, `not-a-file` and `binary-file` for
        `path`; with `too-large` where a file would be over the whole-file limit; and with `limit-exceeded` for more
        files than one call may change, more than 64 MiB before and after, or more than 100,000 matches in one file.

        Args:
            pattern: What to find, as in `search.grep`: a regular expression in linear time, or plain text.
            replacement: What each match becomes: `$1` and `${1}` are a group by its number, `$name` and `${name}` one
                by its name, `$0` is the whole match, `$$` a dollar sign. With `fixed` it is taken as it is. LF becomes
                the file's own line ending.
            path: A directory or one file. Default: `.`.
            glob: Only files that match this glob.
            fixed: The pattern and the replacement are plain text. Default: false.
            letter_case: How letter case is compared. Default: sensitive.
            multiline: The pattern can match across lines. Default: false.
            include_hidden: Look into names that start with a dot. Default: false.
            include_ignored: Look into what ignore rules exclude. Default: false.
            plan: The `plan` of an earlier result, to do what it says. Without one, nothing is changed.
        """
        values = (
            pattern,
            replacement,
            path,
            glob,
            fixed,
            letter_case,
            multiline,
            include_hidden,
            include_ignored,
            plan,
        )
        result: ReplaceResult = self._typed(
            "files", "replace", ("replace-args", values), "replace-result", changing=True
        )
        return result

    def make_directory(self, path: str, *, parents: bool = True) -> MakeDirectoryResult:
        """Makes a directory.

        Fails with `already-exists` and `not-found`.

        Args:
            path: The directory.
            parents: Make missing parents, and succeed where the directory exists. Default: true.
        """
        values = (path, parents,)
        result: MakeDirectoryResult = self._typed(
            "files", "make-directory", ("make-directory-args", values), "make-directory-result", changing=True
        )
        return result

    def copy(
        self,
        source: str,
        destination: str,
        *,
        overwrite: bool = False,
        recursive: bool = False,
    ) -> TransferResult:
        """Copies a file, or a directory where `recursive` says so.

        Fails with `not-found`, `already-exists` and `not-a-file` for a directory without `recursive`.

        Args:
            source: What to copy or move. A symbolic link itself is copied or moved, not what it names.
            destination: Where to: the new path itself. Missing parent directories are made.
            overwrite: Replace a file at the destination. Default: false.
            recursive: Allow a directory with all it holds. Default: false for copy, true for move.
        """
        values = (source, destination, overwrite, recursive,)
        result: TransferResult = self._typed(
            "files", "copy", ("transfer-args", values), "transfer-result", changing=True
        )
        return result

    def move_entry(
        self,
        source: str,
        destination: str,
        *,
        overwrite: bool = False,
        recursive: bool = True,
    ) -> TransferResult:
        """Moves a file or directory.

        Fails as `copy` does.

        Args:
            source: What to copy or move. A symbolic link itself is copied or moved, not what it names.
            destination: Where to: the new path itself. Missing parent directories are made.
            overwrite: Replace a file at the destination. Default: false.
            recursive: Allow a directory with all it holds. Default: false for copy, true for move.
        """
        values = (source, destination, overwrite, recursive,)
        result: TransferResult = self._typed(
            "files", "move-entry", ("transfer-args", values), "transfer-result", changing=True
        )
        return result

    def delete(self, path: str, *, recursive: bool = False) -> DeleteResult:
        """Deletes a file, or a directory where `recursive` says so.

        Fails with `not-found` and `directory-not-empty`.

        Args:
            path: What to delete. A symbolic link itself is deleted, not what it names.
            recursive: Delete a directory with all it holds. Default: false.
        """
        values = (path, recursive,)
        result: DeleteResult = self._typed(
            "files", "delete", ("delete-args", values), "delete-result", changing=True
        )
        return result

    def restore(self, path: str | None = None, *, backup: str | None = None, overwrite: bool = False) -> RestoreResult:
        """Undoes what a call changed, whole or at one path, from its backup. The undoing is a change too, with a backup
        of its own.

        Fails with `not-found` where no backup holds such a change, and with `changed-since-read` where what is there is
        not what the change left, unless `overwrite` says otherwise.

        Args:
            path: Undo only what was done there, or below it. Without `backup`, by the newest backup that holds a change
                there.
            backup: The backup to undo, as the result of a change named it.
            overwrite: Undo it even where what is there was changed since.
        """
        values = (path, backup, overwrite,)
        result: RestoreResult = self._typed(
            "files", "restore", ("restore-args", values), "restore-result", changing=True
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

    def pack(self, sources: Sequence[str], destination: str, *, overwrite: bool = False) -> PackResult:
        """Packs files and directories into a zip archive.

        Entries have the paths of the workspace for names, in their byte order, and times in UTC: packing the same files
        again makes the same bytes. No symbolic link is followed or packed, and the archive does not pack itself. A file
        and the archive have at most the whole-file limit of bytes each, all files together 64 MiB, and there are no
        more entries than files in a bulk operation.

        Fails with `not-found`, `already-exists`, `not-a-file`, `too-large` and `invalid-argument`.

        Args:
            sources: Files and directories, these with all below them but what `.agentignore` keeps back. At least one.
            destination: The archive: the new path itself. Missing parent directories are made.
            overwrite: Replace a file at the destination. Default: false.
        """
        values = (sources, destination, overwrite,)
        result: PackResult = self._typed(
            "files", "pack", ("pack-args", values), "pack-result", changing=True
        )
        return result

    def unpack(self, source: str, destination: str, *, overwrite: bool = False) -> UnpackResult:
        """Unpacks a zip archive into a directory, all of it or nothing.

        The limits are those of `pack`, and hold for what is inflated, whatever the archive says. Each entry leads where
        its name would lead in any other change, and the same rules hold for it. Modes and times are not set.

        Fails with `not-found`, `not-a-file`, `not-a-directory`, `too-large`; with `already-exists` for a file that is
        there, without `overwrite`; with `outside-workspace` and `invalid-path` for an entry whose name leads out or
        does not mean the same everywhere; and with `invalid-argument` for what is no zip archive or a damaged one, and
        for an entry that is encrypted, a symbolic link, compressed by an unknown method, longer than it says, there
        twice, or that shares its bytes with another one.

        Args:
            source: The archive.
            destination: The directory to unpack into. It is made, with its parents, where it is missing.
            overwrite: Replace files that are there. Default: false.
        """
        values = (source, destination, overwrite,)
        result: UnpackResult = self._typed(
            "files", "unpack", ("unpack-args", values), "unpack-result", changing=True
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
