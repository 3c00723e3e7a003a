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
