//! Operations, one file each. An operation takes the workspace and its arguments with all defaults filled in, and
//! returns data, which the dialect renders.

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
pub mod list;
pub mod make_dir;
mod open;
pub mod pack;
pub mod partitions;
pub mod read;
pub mod read_many;
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
    Ok(match request {
        Request::Read(args) => Response::Read(read::run(workspace, args)?),
        Request::ReadMany(args) => Response::ReadMany(read_many::run(workspace, args)?),
        Request::View(args) => view::run(workspace, args)?,
        Request::Write(args) => Response::Write(write::run(workspace, args)?),
        Request::Edit(args) => Response::Edit(edit::run(workspace, args)?),
        Request::ApplyPatch(args) => Response::ApplyPatch(apply_patch::run(workspace, args)?),
        Request::MakeDir(args) => Response::MakeDir(make_dir::run(workspace, args)?),
        Request::Copy(args) => Response::Copy(copy::run(workspace, args)?),
        Request::Move(args) => Response::Move(rename::run(workspace, args)?),
        Request::Delete(args) => Response::Delete(delete::run(workspace, args)?),
        Request::Restore(args) => Response::Restore(restore::run(workspace, args)?),
        Request::History(args) => Response::History(history::run(workspace, args)?),
        Request::Pack(args) => Response::Pack(pack::run(workspace, args)?),
        Request::Unpack(args) => Response::Unpack(unpack::run(workspace, args)?),
        Request::Stat(args) => Response::Stat(stat::run(workspace, args)?),
        Request::List(args) => Response::List(list::run(workspace, args)?),
        Request::Tree(args) => Response::Tree(tree::run(workspace, args)?),
        Request::Glob(args) => Response::Glob(glob::run(workspace, args)?),
        Request::Grep(args) => Response::Grep(grep::run(workspace, args)?),
        Request::Replace(args) => Response::Replace(replace::run(workspace, args)?),
        Request::Changes(args) => Response::Changes(changes::run(workspace, args)?),
        Request::Command(_) => return Err(command::not_here(workspace.policy)),
    })
}
