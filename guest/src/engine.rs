//! One call, from names and JSON to an outcome: decode, policy, run, encode.
//! Every failure is a value in the outcome.

use crate::approval;
use crate::dialect::call::Call;
use crate::error::Result;
use crate::fs::{Filesystem, journal};
use crate::ops;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::request::{Access, Request};
use crate::response::Response;
use crate::touched::Touched;
use crate::transaction;
use crate::workspace::Workspace;

/// Calls the tool `name` of a dialect with `arguments`, a JSON object.
pub fn call(fs: &dyn Filesystem, policy: &Policy, dialect: &str, name: &str, arguments: &str) -> Outcome {
    let call = match Call::decode(dialect, name, arguments) {
        Ok(call) => call,
        Err(outcome) => return *outcome,
    };
    made(fs, policy, &call)
}

/// Makes a call that was decoded.
pub fn made(fs: &dyn Filesystem, policy: &Policy, call: &Call) -> Outcome {
    match open(fs, policy, call.request.access()) {
        Ok(workspace) => call.outcome(Some(&workspace), perform(&workspace, &call.request)),
        Err(error) => {
            let touched = Touched::asked(fs, policy, &call.request, Some(error.code));
            Outcome { touched, ..call.outcome(None, Err(error)) }
        }
    }
}

/// Does what a request asks, and says what that touched.
pub fn run(fs: &dyn Filesystem, policy: &Policy, request: &Request) -> (Result<Response>, Option<Touched>) {
    match open(fs, policy, request.access()) {
        Ok(workspace) => {
            let answer = perform(&workspace, request);
            let touched = Touched::of(&workspace, request, &answer);
            (answer, touched)
        }
        Err(error) => {
            let touched = Touched::asked(fs, policy, request, Some(error.code));
            (Err(error), touched)
        }
    }
}

/// Does what a request asks, where nobody has to be asked about it or somebody was.
fn perform(workspace: &Workspace<'_>, request: &Request) -> Result<Response> {
    approval::check(workspace, request)?;
    ops::run(workspace, request)
}

/// The workspace for a call, recovered from what a crash left.
pub fn open<'a>(fs: &'a dyn Filesystem, policy: &'a Policy, access: Access) -> Result<Workspace<'a>> {
    let workspace = Workspace::open(fs, policy)?;
    let changes = access == Access::Change;
    if changes {
        workspace.check_any_change()?;
    }
    // Where recovery is not possible, as in a read-only workspace, reading still is.
    let recovered = journal::recover(&workspace).and_then(|()| transaction::recover(&workspace));
    recovered.or_else(|error| if changes { Err(error) } else { Ok(()) })?;
    Ok(workspace)
}

impl Response {
    /// Whether a limit cut it short.
    pub fn truncated(&self) -> bool {
        match self {
            Self::Read(read) => read.truncated,
            Self::ReadMany(many) => many.truncated,
            Self::List(list) => list.truncated,
            Self::Tree(tree) => tree.truncated,
            Self::History(history) => history.truncated,
            Self::Glob(glob) => glob.truncated,
            Self::Grep(grep) => grep.truncated,
            Self::Replace(replace) => replace.truncated,
            Self::Changes(changes) => changes.truncated,
            Self::Ran(ran) => ran.is_cut(),
            Self::Write(_) | Self::Edit(_) | Self::ApplyPatch(_) | Self::MakeDir(_) => false,
            Self::Copy(_) | Self::Move(_) | Self::Delete(_) | Self::Restore(_) | Self::Stat(_) => false,
            Self::Pack(_) | Self::Unpack(_) | Self::Sessions(_) => false,
        }
    }
}
