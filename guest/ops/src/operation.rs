//! The interface of an operation: execution, the plan that approval shows, and the record of the audit log. Each
//! operation implements it in its own file.

use paddock_types::error::Result;
use paddock_types::request::Request;
use paddock_types::response::Response;
use paddock_workspace::Workspace;

use crate::plan_draft::PlanDraft;
use crate::recorder::Recorder;

/// An operation with its arguments.
pub trait Operation {
    /// Returns the name of the operation in the audit log.
    fn name(&self) -> &'static str;

    /// Returns the paths that the request names, as the caller gave them.
    fn requested_paths(&self) -> Vec<String>;

    /// Returns what approval asks of an operation that changes files or runs a program; `None` for one that only reads.
    fn as_change(&self) -> Option<&dyn ChangingOperation>;

    /// Executes the operation. The caller has obtained the approval that the policy requires.
    fn run(&self, workspace: &Workspace<'_>) -> Result<Response>;

    /// Records the paths of an answer to this request, and the number of bytes and lines that were read, written or
    /// found. The recorder has the changes already.
    fn record(&self, response: &Response, recorder: &mut Recorder<'_>);
}

/// An operation that can change files, or run a program.
pub trait ChangingOperation {
    /// Returns whether a call can delete something, or replace a file as a whole by another file.
    fn can_delete(&self) -> bool;

    /// Adds the effects of the request to a plan that a person approves. Returns whether it deletes something, or replaces a
    /// file as a whole by another file.
    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool>;
}

/// Returns the operation of a request.
pub fn of(request: &Request) -> &dyn Operation {
    match request {
        Request::Read(args) => args,
        Request::ReadMany(args) => args,
        Request::View(args) => args.as_ref(),
        Request::Write(args) => args,
        Request::Edit(args) => args,
        Request::ApplyPatch(args) => args,
        Request::MakeDir(args) => args,
        Request::Copy(args) => args,
        Request::Move(args) => args,
        Request::Delete(args) => args,
        Request::Restore(args) => args,
        Request::History(args) => args,
        Request::Pack(args) => args,
        Request::Unpack(args) => args,
        Request::Stat(args) => args,
        Request::List(args) => args,
        Request::Tree(args) => args,
        Request::Glob(args) => args,
        Request::Grep(args) => args,
        Request::Replace(args) => args,
        Request::Changes(args) => args,
        Request::Command(command) => command,
    }
}
