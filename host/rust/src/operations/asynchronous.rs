//! The operations for async code: each runs on a thread that may be blocked.

use crate::types::*;
use crate::workspace::Workspace;

/// Defines async methods, each with the blocking method that it calls.
macro_rules! operations {
    ($($name:ident calls $blocking:ident($arguments:ty) -> $result:ty;)*) => {
        /// Operations with typed arguments, for async code. They must be called in a tokio runtime. A call continues to
        /// its end if its future is dropped.
        impl Workspace {
            $(
                #[doc = concat!("Calls [`Workspace::", stringify!($blocking), "`] on a thread that may be blocked.")]
                ///
                /// # Errors
                ///
                /// The error of the operation, or `io` if its thread ended early.
                pub async fn $name(&self, arguments: $arguments) -> Result<$result, ToolError> {
                    self.unblocked(move |workspace| workspace.$blocking(&arguments)).await
                }
            )*
        }
    };
}

operations! {
    read_async calls read(ReadArgs) -> ReadResult;
    read_many_async calls read_many(ReadManyArgs) -> ReadManyResult;
    write_async calls write(WriteArgs) -> WriteResult;
    edit_async calls edit(EditArgs) -> EditResult;
    apply_patch_async calls apply_patch(ApplyPatchArgs) -> ApplyPatchResult;
    replace_async calls replace(ReplaceArgs) -> ReplaceResult;
    make_directory_async calls make_directory(MakeDirectoryArgs) -> MakeDirectoryResult;
    copy_async calls copy(TransferArgs) -> TransferResult;
    move_entry_async calls move_entry(TransferArgs) -> TransferResult;
    delete_async calls delete(DeleteArgs) -> DeleteResult;
    restore_async calls restore(RestoreArgs) -> RestoreResult;
    pack_async calls pack(PackArgs) -> PackResult;
    unpack_async calls unpack(UnpackArgs) -> UnpackResult;
    stat_async calls stat(StatArgs) -> StatResult;
    list_async calls list(ListArgs) -> ListResult;
    tree_async calls tree(TreeArgs) -> TreeResult;
    changes_async calls changes(ChangesArgs) -> ChangesResult;
    history_async calls history(HistoryArgs) -> HistoryResult;
    glob_async calls glob(GlobArgs) -> GlobResult;
    grep_async calls grep(GrepArgs) -> GrepResult;
}

impl Workspace {
    async fn unblocked<R: Send + 'static>(
        &self,
        operation: impl FnOnce(&Self) -> Result<R, ToolError> + Send + 'static,
    ) -> Result<R, ToolError> {
        let workspace = self.clone();
        let result = tokio::task::spawn_blocking(move || operation(&workspace)).await;
        result.unwrap_or_else(|cause| Err(ToolError::new(ErrorCode::Io, format!("the call was lost: {cause}"))))
    }
}
