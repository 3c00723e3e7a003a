//! Operations, one file each: [`operation::Operation`] is their contract. An operation takes the workspace and its arguments with all defaults filled in, and
//! returns data, which the dialect renders.

pub mod advice;
pub mod approval;
pub mod overlay;

pub mod apply_patch;
pub mod audit;
pub mod changes;
pub mod command;
pub mod copy;
pub mod delete;
mod details;
pub mod edit;
#[cfg(test)]
mod fixture;
pub mod glob;
pub mod grep;
pub mod history;
pub mod index;
pub mod list;
pub mod make_dir;
mod open;
pub mod operation;
pub mod pack;
pub mod parallel;
pub mod partitions;
mod plan_draft;
pub mod read;
pub mod read_many;
mod recorder;
pub mod rename;
pub mod replace;
pub mod restore;
pub mod stat;
pub mod tree;
pub mod unpack;
pub mod view;
pub mod write;

use paddock_types::error::Result;
use paddock_types::request::Request;
use paddock_types::response::Response;
use paddock_workspace::Workspace;

pub use crate::open::open;

/// Executes a request. The caller has obtained the approval that the policy requires; see [`approval::check`].
pub fn run(workspace: &Workspace<'_>, request: &Request) -> Result<Response> {
    operation::of(request).run(workspace)
}

/// Returns the number of bytes of text at which a listing ends.
fn text_bytes(workspace: &Workspace<'_>, is_unlimited: bool) -> usize {
    if is_unlimited { usize::MAX } else { workspace.policy.limits.max_result_bytes }
}
