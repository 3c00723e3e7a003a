//! The component's own types, as `wit/` documents them, with the defaults that WIT cannot say.

pub use crate::bindings::exports::paddock::files::files::*;
pub use crate::bindings::exports::paddock::files::search::*;
pub use crate::bindings::exports::paddock::files::tools::{Annotations, Tool};
pub use crate::bindings::exports::paddock::files::types::{
    Change, ChangeKind, EntryKind, Error as ToolError, ErrorCode, Skipped,
};
