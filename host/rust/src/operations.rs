//! The operations with typed arguments and results, as `wit/files.wit` and `wit/search.wit` define them.

use wasmtime::Store;

use crate::call::Call;
use crate::guest::Guest;
use crate::store::State;
use crate::types::*;
use crate::watch::Named;
use crate::workspace::Workspace;

mod asynchronous;

/// Defines a method of the workspace that calls a function of the component. `$tool` is the tool of the `paddock`
/// dialect that performs the same operation.
macro_rules! operation {
    ($(#[$doc:meta])* $name:ident($arguments:ty) -> $result:ty, $tool:literal, $changing:expr, $interface:ident.$function:ident) => {
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// The error of the operation, whose codes are in `wit/files.wit` and `wit/search.wit`.
        pub fn $name(&self, arguments: &$arguments) -> Result<$result, ToolError> {
            self.typed($tool, $changing, async |guest, store| {
                guest.$interface(&mut *store)?.$function(store, arguments).await
            })
        }
    };
}

const READS: bool = false;
const CHANGES: bool = true;

/// Operations with typed arguments. Each call blocks the thread until it is done, as [`Workspace::call`] does.
impl Workspace {
    operation! {
        /// Reads a file, or a part of it.
        read(ReadArgs) -> ReadResult, "read_file", READS, files.call_read
    }
    operation! {
        /// Reads several files. If one cannot be read, its entry has the error, and the others are read.
        read_many(ReadManyArgs) -> ReadManyResult, "read_files", READS, files.call_read_many
    }
    operation! {
        /// Creates or replaces a file, or appends to it.
        write(WriteArgs) -> WriteResult, "write_file", CHANGES, files.call_write
    }
    operation! {
        /// Replaces text in a file.
        edit(EditArgs) -> EditResult, "edit_file", CHANGES, files.call_edit
    }
    operation! {
        /// Applies a patch to any number of files: all changes or none.
        apply_patch(ApplyPatchArgs) -> ApplyPatchResult, "apply_patch", CHANGES, files.call_apply_patch
    }
    operation! {
        /// Plans a replacement in many files. If the arguments have the plan, makes all its changes or none.
        replace(ReplaceArgs) -> ReplaceResult, "replace", CHANGES, files.call_replace
    }
    operation! {
        /// Creates a directory.
        make_directory(MakeDirectoryArgs) -> MakeDirectoryResult, "make_dir", CHANGES, files.call_make_directory
    }
    operation! {
        /// Copies a file, or with `recursive` a directory.
        copy(TransferArgs) -> TransferResult, "copy", CHANGES, files.call_copy
    }
    operation! {
        /// Moves a file or directory.
        move_entry(TransferArgs) -> TransferResult, "move", CHANGES, files.call_move_entry
    }
    operation! {
        /// Deletes a file, a link or an empty directory, or with `recursive` a directory with its contents.
        delete(DeleteArgs) -> DeleteResult, "delete", CHANGES, files.call_delete
    }
    operation! {
        /// Undoes the changes of a call, from its backup.
        restore(RestoreArgs) -> RestoreResult, "restore", CHANGES, files.call_restore
    }
    operation! {
        /// Packs files and directories into a zip archive.
        pack(PackArgs) -> PackResult, "pack", CHANGES, files.call_pack
    }
    operation! {
        /// Unpacks a zip archive into a directory: all files or none.
        unpack(UnpackArgs) -> UnpackResult, "unpack", CHANGES, files.call_unpack
    }
    operation! {
        /// Describes the entry at a path.
        stat(StatArgs) -> StatResult, "stat", READS, files.call_stat
    }
    operation! {
        /// Lists a directory.
        list(ListArgs) -> ListResult, "list_dir", READS, search.call_list
    }
    operation! {
        /// Renders a directory as a tree.
        tree(TreeArgs) -> TreeResult, "tree", READS, search.call_tree
    }
    operation! {
        /// Returns the changes since a token, with a new token. Writes only to the state directory.
        changes(ChangesArgs) -> ChangesResult, "changes", CHANGES, search.call_changes
    }

    /// Lists the backups of earlier changes, the newest first.
    ///
    /// # Errors
    ///
    /// The error of the operation, whose codes are in `wit/files.wit`.
    pub fn history(&self, arguments: &HistoryArgs) -> Result<HistoryResult, ToolError> {
        self.typed("history", READS, async |guest, store| {
            guest.files(&mut *store)?.call_history(store, *arguments).await
        })
    }

    /// Finds paths that match a glob.
    ///
    /// # Errors
    ///
    /// The error of the operation, whose codes are in `wit/search.wit`.
    pub fn glob(&self, arguments: &GlobArgs) -> Result<GlobResult, ToolError> {
        self.watched(&named("glob", READS), |watch| {
            self.guests().run_shared(
                &Call { watch, ..Call::unwatched(READS) },
                async |guest, store| guest.partitions(&mut *store)?.call_begin_glob(store, arguments).await,
                async |guest, store| guest.partitions(&mut *store)?.call_finish_glob(store).await,
            )?
        })
    }

    /// Finds text in files.
    ///
    /// # Errors
    ///
    /// The error of the operation, whose codes are in `wit/search.wit`.
    pub fn grep(&self, arguments: &GrepArgs) -> Result<GrepResult, ToolError> {
        self.watched(&named("grep", READS), |watch| {
            self.guests().run_shared(
                &Call { watch, ..Call::unwatched(READS) },
                async |guest, store| guest.partitions(&mut *store)?.call_begin_grep(store, arguments).await,
                async |guest, store| guest.partitions(&mut *store)?.call_finish_grep(store).await,
            )?
        })
    }

    fn typed<R>(
        &self,
        tool: &'static str,
        changing: bool,
        body: impl AsyncFn(&Guest, &mut Store<State>) -> wasmtime::Result<Result<R, ToolError>>,
    ) -> Result<R, ToolError> {
        self.watched(&named(tool, changing), |watch| {
            let call = Call { watch, ..Call::unwatched(changing) };
            let (answer, _plan) = self.run_with_approval(&call, body, |answer| answer.as_ref().err())?;
            answer
        })
    }
}

/// Operations of the server that are no calls, and so have no event and no record.
#[cfg(all(target_os = "linux", feature = "serve"))]
impl Workspace {
    /// Waits for a running change, and completes or undoes one that was cut off. Returns false if the workspace is read-only,
    /// so that it stays as it is. This has the time limit of the workspace, not that of the call which waits for it: a
    /// recovery that each call begins and none has the time to complete would never end.
    pub(crate) fn recover(&self) -> Result<bool, ToolError> {
        if self.guests().roots.state.is_none() {
            return Ok(false);
        }
        // A call that reads would not report that the recovery failed. This one finds the directory, and changes nothing.
        let made = self.guests().run(&Call::unwatched(CHANGES), async |guest, store| {
            guest.files(&mut *store)?.call_make_directory(&mut *store, &MakeDirectoryArgs::new(".")).await
        })?;
        match made {
            // The policy has approval for each change, which is needed after the recovery.
            Err(error) if error.code != ErrorCode::ApprovalRequired => Err(error),
            _ => Ok(true),
        }
    }

    /// Returns those of the paths that no tool may show.
    pub(crate) fn hidden(&self, paths: &[String]) -> Result<Vec<String>, ToolError> {
        use ErrorCode::{InvalidPath, NotADirectory, NotFound, OutsideWorkspace};
        self.guests().run(&Call::unwatched(READS), async |guest, store| {
            let mut hidden = Vec::new();
            for path in paths {
                let args = StatArgs { brief: true, ..StatArgs::new(path) };
                let described = guest.files(&mut *store)?.call_stat(&mut *store, &args).await?;
                // The answers about a path that is in no directory of the workspace. Any other failure may be a rule.
                let is_known = |code| matches!(code, NotFound | NotADirectory | OutsideWorkspace | InvalidPath);
                let is_hidden = described.is_err_and(|error| !is_known(error.code));
                hidden.extend(is_hidden.then(|| path.clone()));
            }
            Ok(hidden)
        })
    }
}

pub(crate) fn named(tool: &'static str, changing: bool) -> Named<'static> {
    Named { id: None, dialect: "paddock", tool, changing, listener: None }
}
