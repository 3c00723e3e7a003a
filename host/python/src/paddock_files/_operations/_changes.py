"""The operations that change files, generated from `wit/` by `generate.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._typed import Typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import (
        ApplyPatchResult,
        DeleteResult,
        EditResult,
        LetterCase,
        MakeDirectoryResult,
        PackResult,
        ReplaceResult,
        Replacement,
        RestoreResult,
        TransferResult,
        UnpackResult,
        WriteResult,
    )


class Changes(Typed):
    """The operations that change files."""

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
        """Writes a whole file, or appends to it.

        Fails with `already-exists`, `not-a-file`, `not-a-directory`, `encoding-loss`, `changed-since-read` and
        `too-large`.

        Args:
            path: The file. Missing parent directories are created.
            content: The whole text; line endings are written unchanged.
            create_only: Fail if something exists at the path. Default: false.
            append: Add the text at the end of the file. A last line without a line ending gets one first, and `notes`
                says so; text that starts with a line ending is added unchanged. Default: false.
            encoding: WHATWG label of the encoding. Default: that of the existing file, with its byte order mark; UTF-8
                for a new file.
            if_match: Fail with `changed-since-read` unless the file has this etag. Its first 12 digits are enough.
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
        """Replaces text in a file. An error names the mistakes of all edits.

        Fails with `not-found`, `no-match` with the nearest places, `ambiguous-match` with every line number,
        `binary-file`, `encoding-loss`, `changed-since-read` and `too-large`.

        Args:
            path: The file.
            edits: Replacements, each applied to the result of the one before.
            if_match: Fail with `changed-since-read` unless the file has this etag. Its first 12 digits are enough.
            dry_run: Report the change without making it. Default: false.
        """
        values = (path, edits, if_match, dry_run,)
        result: EditResult = self._typed(
            "files", "edit", ("edit-args", values), "edit-result", changing=True
        )
        return result

    def apply_patch(self, patch: str, *, dry_run: bool = False) -> ApplyPatchResult:
        """Applies a patch to any number of files, as a whole or not at all.

        Fails with `patch-invalid`, naming the line of the patch, and with `patch-rejected`, naming the file, the hunk
        and the nearest place where the hunk would fit.

        Args:
            patch: A Codex envelope (its first line is `*** Begin Patch`) or a unified diff.
            dry_run: Report the change without making it. Default: false.
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
        word: bool = False,
        include_hidden: bool = False,
        include_ignored: bool = False,
        exclude_paths: Sequence[str] = (),
        plan: str | None = None,
        cursor: str | None = None,
    ) -> ReplaceResult:
        """Replaces all matches of a pattern in many files, as a whole or not at all.

        Without `plan` nothing is changed, and the result describes the change and contains a plan. With `plan` the
        search is made again, and the change is made if it gives the same plan. Matches are found as by `search.grep`
        and do not overlap. An empty match counts, unless it directly follows another match or is after the last line
        ending. Encoding, byte order mark, line endings and every other byte outside of the matches are kept. A file
        whose matches are equal to their replacements does not change. Binary files and files over the whole-file limit
        are left out and counted; if `path` names such a file, or a file that must not be changed, the call fails.

        Fails with `changed-since-read`, naming the files, if `plan` was made for other contents; nothing is changed
        then. Fails with `invalid-argument` for a pattern that does not parse, a replacement that names a group which
        the pattern does not have, a `plan` or `cursor` for other arguments, or a path in `exclude_paths` without a
        match; with `not-found`, `not-a-file` and `binary-file` for `path`; with `too-large` if a file would be over the
        whole-file limit; and with `limit-exceeded` for more files than one call may change, more than 64 MiB before and
        after, or more than 100,000 matches in one file.

        Args:
            pattern: Pattern to find, as in `search.grep`: a regular expression in linear time, or plain text.
            replacement: Replacement of each match. `$1` and `${1}` stand for a group by its number, `$name` and
                `${name}` for a group by its name, `$0` for the whole match, `$$` for a dollar sign. With `fixed` it is
                plain text. LF becomes the line ending of the file.
            path: Directory or file to change. Default: `.`.
            glob: Glob of the files to change; all files if there is none.
            fixed: Take the pattern and the replacement as plain text. Default: false.
            letter_case: Comparison of letter case. Default: sensitive.
            multiline: Allow matches across lines. Default: false.
            word: Match whole words: no letter, digit or `_` of Unicode directly before or after the match. Default:
                false.
            include_hidden: Include names that start with a dot. Default: false.
            include_ignored: Include entries that ignore rules exclude. Default: false.
            exclude_paths: Files to leave out, and directories with all files below them. Each must be or contain a file
                with a match. A plan made without this argument can be carried out without some of its files; otherwise
                this argument has to be the same with the plan. Default: none.
            plan: The `plan` of an earlier result, which this call is to carry out. Without it, nothing is changed.
            cursor: The `next_cursor` of the previous result; without effect together with `plan`.
        """
        values = (
            pattern,
            replacement,
            path,
            glob,
            fixed,
            letter_case,
            multiline,
            word,
            include_hidden,
            include_ignored,
            exclude_paths,
            plan,
            cursor,
        )
        result: ReplaceResult = self._typed(
            "files", "replace", ("replace-args", values), "replace-result", changing=True
        )
        return result

    def make_directory(self, path: str, *, parents: bool = True) -> MakeDirectoryResult:
        """Creates a directory.

        Fails with `already-exists` and `not-found`.

        Args:
            path: The directory.
            parents: Create missing parents, and succeed if the directory exists. Default: true.
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
        """Copies a file, or with `recursive` a directory.

        Fails with `not-found`, `already-exists`, and with `not-a-file` for a directory without `recursive`.

        Args:
            source: File or directory to copy or move. A symbolic link itself is copied or moved, not its target.
            destination: The new path itself, not its directory. Missing parent directories are created.
            overwrite: Replace a file at the destination. Default: false.
            recursive: Allow a directory with its whole content. Default: false for copy, true for move.
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
            source: File or directory to copy or move. A symbolic link itself is copied or moved, not its target.
            destination: The new path itself, not its directory. Missing parent directories are created.
            overwrite: Replace a file at the destination. Default: false.
            recursive: Allow a directory with its whole content. Default: false for copy, true for move.
        """
        values = (source, destination, overwrite, recursive,)
        result: TransferResult = self._typed(
            "files", "move-entry", ("transfer-args", values), "transfer-result", changing=True
        )
        return result

    def delete(self, path: str, *, recursive: bool = False) -> DeleteResult:
        """Deletes a file, or with `recursive` a directory.

        Fails with `not-found` and `directory-not-empty`.

        Args:
            path: Path to delete. A symbolic link itself is deleted, not its target.
            recursive: Delete a directory with its whole content. Default: false.
        """
        values = (path, recursive,)
        result: DeleteResult = self._typed(
            "files", "delete", ("delete-args", values), "delete-result", changing=True
        )
        return result

    def restore(
        self,
        path: str | None = None,
        *,
        backup: str | None = None,
        last: int | None = None,
        overwrite: bool = False,
    ) -> RestoreResult:
        """Undoes the changes of a call from its backup, all of them or those at one path, or the last calls together.
        The undo is a change too, with a backup of its own.

        Fails with `not-found` if no backup contains such a change, and with `changed-since-read` if a path has changed
        since, unless `overwrite` is set. Fails with `invalid-argument` if fewer calls than `last` can be undone, or if
        one of them can only be undone by itself, such as the move of a directory. In each of these cases nothing is
        changed.

        Args:
            path: Undo only changes at this path or below it. Without `backup`, the newest backup that contains such a
                change is used.
            backup: The backup to undo, from the result of a change. Its time is enough, as texts have it, with the
                number within the millisecond unless that is 0.
            last: Number of the last calls to undo together, from 1 to 100: all of them, or none. Calls without a backup
                do not count, and neither do calls of other workspaces with the same state directory.
            overwrite: Undo the change even if the path has changed since.
        """
        values = (path, backup, last, overwrite,)
        result: RestoreResult = self._typed(
            "files", "restore", ("restore-args", values), "restore-result", changing=True
        )
        return result

    def pack(self, sources: Sequence[str], destination: str, *, overwrite: bool = False) -> PackResult:
        """Packs files and directories into a zip archive.

        Entries are named by their paths in the workspace, in byte order of the names, with times in UTC: packing the
        same files again gives the same bytes. No symbolic link is followed or packed, and the archive does not contain
        itself. Each file and the archive have at most as many bytes as the whole-file limit, all files together at most
        64 MiB, and the archive has at most as many entries as a bulk operation has files.

        Fails with `not-found`, `already-exists`, `not-a-file`, `too-large` and `invalid-argument`.

        Args:
            sources: Files, and directories with everything below them except entries that `.agentignore` hides. At
                least one.
            destination: Path of the new archive itself. Missing parent directories are created.
            overwrite: Replace a file at the destination. Default: false.
        """
        values = (sources, destination, overwrite,)
        result: PackResult = self._typed(
            "files", "pack", ("pack-args", values), "pack-result", changing=True
        )
        return result

    def unpack(self, source: str, destination: str, *, overwrite: bool = False) -> UnpackResult:
        """Unpacks a zip archive into a directory, as a whole or not at all.

        The limits are those of `pack`. They apply to the inflated data, whatever sizes the archive states. The name of
        each entry is resolved as the path of any other change, and the same rules apply to it. Modes and times are not
        set.

        Fails with `not-found`, `not-a-file`, `not-a-directory` and `too-large`; with `already-exists` for an existing
        file, without `overwrite`; with `outside-workspace` and `invalid-path` for an entry whose name leaves the
        workspace or is ambiguous between systems; and with `invalid-argument` for a file that is not a zip archive or
        is damaged, and for an entry that is encrypted, is a symbolic link, is compressed by an unknown method, is
        longer than it states, occurs twice, or shares its bytes with another entry.

        Args:
            source: The archive.
            destination: The directory to unpack into. It is created, with its parents, if it does not exist.
            overwrite: Replace existing files. Default: false.
        """
        values = (source, destination, overwrite,)
        result: UnpackResult = self._typed(
            "files", "unpack", ("unpack-args", values), "unpack-result", changing=True
        )
        return result
