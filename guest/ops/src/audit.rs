//! The paths that a call read or changed, for the host's audit log: without content, and without paths hidden by
//! `.agentignore`.

use paddock_types::accessed_paths::{AccessedPaths, WriteMode, Written};
use paddock_types::error::{Code, Result};
use paddock_types::policy::Policy;
use paddock_types::request::Request;
use paddock_types::response;
use paddock_types::response::{Change, PatchAction, ReadOutcome, Response};
use paddock_vfs::Filesystem;
use paddock_workspace::Workspace;

/// Returns the paths that a call with this answer accessed; `None` if the host keeps no audit log.
pub fn accessed_paths(
    workspace: &Workspace<'_>,
    request: &Request,
    answer: &Result<Response>,
) -> Option<AccessedPaths> {
    if !workspace.policy.host.records {
        return None;
    }
    let operation = match (request, answer) {
        (Request::View(_), Ok(Response::List(_))) => "list",
        _ => operation_of(request),
    };
    let mut accessed = AccessedPaths { operation, changes: workspace.changes(), ..AccessedPaths::default() };
    accessed.written = accessed.changes.iter().filter_map(Written::from_change).collect();
    match answer {
        Ok(response) => {
            add_written(&mut accessed, request, response);
            measure(&mut accessed, response);
            accessed.truncated = response.truncated();
            add_response(&mut accessed, response, request, workspace);
        }
        Err(error) => add_requested(&mut accessed, paths_of(request), error.code, workspace),
    }
    Some(accessed)
}

/// Returns the paths that a command or the commit of an overlay changed; `None` if the host keeps no audit log.
pub fn changed_paths(policy: &Policy, operation: &'static str, changes: &[Change]) -> Option<AccessedPaths> {
    let written: Vec<_> = changes.iter().filter_map(Written::from_change).collect();
    policy.host.records.then(|| AccessedPaths {
        operation,
        paths: changes.iter().map(|change| change.path.clone()).collect(),
        bytes: written.iter().map(|file| file.bytes).sum(),
        changes: changes.to_vec(),
        written,
        ..AccessedPaths::default()
    })
}

/// Returns the paths that a request names, for a call that was refused or ended without an answer.
pub fn requested_paths(
    fs: &dyn Filesystem,
    policy: &Policy,
    request: &Request,
    refused: Option<Code>,
) -> Option<AccessedPaths> {
    if !policy.host.records {
        return None;
    }
    let mut accessed = AccessedPaths { operation: operation_of(request), ..AccessedPaths::default() };
    match Workspace::open(fs, policy) {
        Ok(workspace) => add_requested(&mut accessed, paths_of(request), refused.unwrap_or(Code::Io), &workspace),
        // Without the rules of `.agentignore`, any path may be hidden.
        Err(_) => accessed.redacted = paths_of(request).len() as u64,
    }
    Some(accessed)
}

/// Adds the paths that a failed call requested. Each path is resolved, so their number is limited by `max_files`.
fn add_requested(accessed: &mut AccessedPaths, paths: Vec<String>, code: Code, workspace: &Workspace<'_>) {
    let max = workspace.policy.limits.max_files;
    for path in paths {
        if code == Code::Denied || accessed.paths.len() as u64 >= max || workspace.is_hidden_from_agent(&path) {
            accessed.redacted += 1;
        } else {
            accessed.paths.push(path);
        }
    }
}

/// Adds the paths of an answer. None of them is hidden by `.agentignore`, since such a call fails.
fn add_response(accessed: &mut AccessedPaths, response: &Response, request: &Request, workspace: &Workspace<'_>) {
    match response {
        Response::Read(read) => accessed.paths.push(read.path.clone()),
        Response::ReadMany(many) => many.entries.iter().for_each(|entry| match &entry.outcome {
            ReadOutcome::Result(read) => accessed.paths.push(read.path.clone()),
            ReadOutcome::Error(error) => add_requested(accessed, vec![entry.path.clone()], error.code, workspace),
        }),
        Response::Write(write) => accessed.paths.push(write.path.clone()),
        Response::Edit(edit) => accessed.paths.push(edit.path.clone()),
        Response::ApplyPatch(patch) => {
            let names = patch.files.iter().flat_map(|file| file.moved_from.iter().chain([&file.path]));
            accessed.paths.extend(names.cloned());
        }
        Response::MakeDir(made) => accessed.paths.push(made.path.clone()),
        Response::Copy(transfer) | Response::Move(transfer) => {
            accessed.paths.extend([transfer.source.clone(), transfer.destination.clone()]);
        }
        Response::Delete(delete) => accessed.paths.push(delete.path.clone()),
        Response::Restore(restore) => accessed.paths.extend(restore.restored.iter().cloned()),
        Response::Stat(stat) => accessed.paths.push(stat.path.clone()),
        Response::List(list) => accessed.paths.push(list.path.clone()),
        Response::Tree(tree) => accessed.paths.push(tree.path.clone()),
        Response::Pack(_) | Response::Unpack(_) => accessed.paths.extend(paths_of(request)),
        Response::Replace(replace) if replace.applied => {
            accessed.paths.extend(accessed.changes.iter().map(|change| change.path.clone()));
        }
        Response::Ran(_) => accessed.paths.extend(accessed.changes.iter().map(|change| change.path.clone())),
        Response::Sessions(_)
        | Response::History(_)
        | Response::Glob(_)
        | Response::Grep(_)
        | Response::Replace(_)
        | Response::Changes(_) => {
            accessed.paths.extend(paths_of(request));
        }
    }
}

/// Sets the number of bytes and lines that were read, written or found.
fn measure(accessed: &mut AccessedPaths, response: &Response) {
    let written = accessed.written.iter().map(|file| file.bytes).sum();
    (accessed.bytes, accessed.lines) = match response {
        Response::Read(read) => extent(read),
        Response::List(list) => (list.entries.iter().map(|entry| entry.details.read).sum(), None),
        Response::Glob(glob) => (glob.entries.iter().map(|entry| entry.details.read).sum(), None),
        Response::ReadMany(many) => {
            let read = many.entries.iter().filter_map(|entry| match &entry.outcome {
                ReadOutcome::Result(read) => Some(extent(read)),
                ReadOutcome::Error(_) => None,
            });
            let (bytes, lines) = read.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1.unwrap_or(0)));
            (bytes, Some(lines))
        }
        Response::Write(write) => (write.bytes_written, None),
        Response::Edit(edit) => {
            (written, Some(edit.lines.iter().map(|at| (at.end + 1).saturating_sub(at.start)).sum()))
        }
        Response::ApplyPatch(patch) => {
            (written, Some(patch.files.iter().map(|file| file.lines_added + file.lines_removed).sum()))
        }
        Response::Copy(transfer) | Response::Move(transfer) => (transfer.bytes, None),
        Response::Pack(pack) => (pack.size, None),
        Response::Unpack(unpack) => (unpack.bytes, None),
        Response::Restore(_) | Response::Replace(_) | Response::Ran(_) => (written, None),
        Response::Sessions(_) => (0, None),
        Response::Grep(grep) => (grep.bytes_searched, Some(grep.matches.len() as u64)),
        Response::MakeDir(_) | Response::Delete(_) | Response::History(_) | Response::Stat(_) => (0, None),
        Response::Tree(_) | Response::Changes(_) => (0, None),
    };
}

/// Corrects the list of written files if the changes do not show how a file was written.
fn add_written(accessed: &mut AccessedPaths, request: &Request, response: &Response) {
    if let (Request::Write(asked), Response::Write(write)) = (request, response)
        && asked.append
    {
        for file in accessed.written.iter_mut().filter(|file| file.mode == WriteMode::Overwrite) {
            (file.mode, file.bytes) = (WriteMode::Append, write.bytes_written);
        }
    }
    if let (Request::ApplyPatch(asked), Response::ApplyPatch(patch)) = (request, response)
        && !asked.dry_run
    {
        // A moved file counts as written only if the patch changes its content too.
        let is_changed = |file: &&response::PatchedFile| file.lines_added + file.lines_removed > 0;
        let moved = patch.files.iter().filter(|file| file.action == PatchAction::Move).filter(is_changed);
        accessed.written.extend(moved.map(|file| Written {
            path: file.path.clone(),
            bytes: file.size,
            mode: WriteMode::Create,
        }));
    }
}

/// Returns the number of bytes and lines that were returned to the caller.
fn extent(read: &response::Read) -> (u64, Option<u64>) {
    let shown = if read.end_line == 0 { 0 } else { (read.end_line + 1).saturating_sub(read.start_line) };
    if let Some(diff) = &read.diff {
        return (diff.len() as u64, None);
    }
    if read.encoding == "binary" { (shown, None) } else { (read.content.len() as u64, Some(shown)) }
}

/// Returns the name of the operation in the audit log. Neither this match nor the one below has a wildcard, so that the
/// compiler asks for each new operation.
fn operation_of(request: &Request) -> &'static str {
    match request {
        Request::Read(_) | Request::ReadMany(_) | Request::View(_) => "read",
        Request::Write(_) => "write",
        Request::Edit(_) => "edit",
        Request::ApplyPatch(_) => "patch",
        Request::MakeDir(_) => "make-directory",
        Request::Copy(_) => "copy",
        Request::Move(_) => "move",
        Request::Delete(_) => "delete",
        Request::Pack(_) => "pack",
        Request::Unpack(_) => "unpack",
        Request::Restore(_) => "restore",
        Request::History(_) => "history",
        Request::Stat(_) => "stat",
        Request::List(_) => "list",
        Request::Tree(_) => "tree",
        Request::Glob(_) => "glob",
        Request::Grep(_) => "grep",
        Request::Replace(_) => "replace",
        Request::Changes(_) => "changes",
        Request::Command(_) => "run",
    }
}

/// Returns the paths that a request names, as the caller gave them.
fn paths_of(request: &Request) -> Vec<String> {
    match request {
        Request::Read(args) => vec![args.path.clone()],
        Request::ReadMany(args) => args.files.iter().map(|file| file.path.clone()).collect(),
        Request::View(args) => vec![args.read.path.clone()],
        Request::Write(args) => vec![args.path.clone()],
        Request::Edit(args) => vec![args.path.clone()],
        Request::ApplyPatch(args) => patched(&args.patch),
        Request::MakeDir(args) => vec![args.path.clone()],
        Request::Copy(args) | Request::Move(args) => vec![args.source.clone(), args.destination.clone()],
        Request::Delete(args) => vec![args.path.clone()],
        Request::Pack(args) => args.sources.iter().chain([&args.destination]).cloned().collect(),
        Request::Unpack(args) => vec![args.source.clone(), args.destination.clone()],
        Request::Restore(args) => args.path.iter().cloned().collect(),
        Request::History(_) => Vec::new(),
        Request::Stat(args) => vec![args.path.clone()],
        Request::List(args) => vec![args.path.clone()],
        Request::Tree(args) => vec![args.path.clone()],
        Request::Glob(args) => vec![args.path.clone()],
        Request::Grep(args) => vec![args.path.clone()],
        Request::Replace(args) => vec![args.path.clone()],
        Request::Changes(args) => vec![args.path.clone()],
        Request::Command(command) => command.workdir().cloned().into_iter().collect(),
    }
}

/// Returns the paths that a patch names, or none if the patch does not parse.
fn patched(text: &str) -> Vec<String> {
    let parts = paddock_patch::parse(text).unwrap_or_default();
    let names = parts.into_iter().flat_map(|part| {
        let to = match part.action {
            paddock_patch::Action::Move { to, .. } => Some(to),
            paddock_patch::Action::Add(_) | paddock_patch::Action::Delete(_) | paddock_patch::Action::Update(_) => None,
        };
        [Some(part.path), to]
    });
    names.flatten().collect()
}
