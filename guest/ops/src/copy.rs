//! Copies a file, symbolic link or directory.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::path::below;
use paddock_types::response::{Change, ChangeKind, Response};
use paddock_types::{phrase, request, response};
use paddock_vfs::open_location::{OpenLocation, private_name, temporary_name};
use paddock_vfs::{Dir, Fault, FsResult, copy_remove};
use paddock_workspace::change::backup;
use paddock_workspace::change::backup::{Action, Draft, Entry};
use paddock_workspace::change::commit::commit;
use paddock_workspace::change::directories::{directories_to_make, make_missing};
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::change::journal::Journal;
use paddock_workspace::change::stored_location::StoredLocation;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;
use paddock_workspace::tree::Survey;
use paddock_workspace::{Workspace, tree};

use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::recorder::Recorder;

const OPERATION: &str = "copy";

impl Operation for request::Transfer {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.source.clone(), self.destination.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Copy)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Copy(transfer) = response else { return };
        recorder.add_transfer(transfer);
    }
}

impl ChangingOperation for request::Transfer {
    fn can_delete(&self) -> bool {
        self.overwrite
    }

    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        plan(draft, self, OPERATION)
    }
}

/// Adds a copy or move to a plan. Returns whether it replaces a file, whose content is shown then.
pub fn plan(draft: &mut PlanDraft<'_>, args: &request::Transfer, operation: &str) -> Result<bool> {
    let workspace = draft.workspace;
    let (source, target) = ends(workspace, args, operation)?;
    draft.add(operation, &args.source)?;
    draft.add(if target.stat.is_some() { "replace" } else { "to" }, &args.destination)?;
    if target.stat.is_some() {
        let (old, new) = (target.content(workspace, operation)?, source.content(workspace, operation)?);
        draft.change(&target.path, Some(&old), &new)?;
    }
    Ok(target.stat.is_some())
}

/// Copies a file, symbolic link or directory.
pub fn run(workspace: &Workspace<'_>, args: &request::Transfer) -> Result<response::Transfer> {
    let (source, target) = ends(workspace, args, OPERATION)?;
    let stat = source.existing(workspace, OPERATION)?;
    if stat.kind == Kind::Other {
        return Err(source.not_a_file(OPERATION, stat.kind));
    }
    let survey = match stat.kind {
        Kind::Directory => survey(workspace, &source, &target)?,
        _ => Survey { files: 1, bytes: stat.size, ..Survey::default() },
    };
    check_size(workspace, &source, survey.bytes)?;
    let mut notes = left_out(&survey);
    match target.stat {
        Some(_) => notes.extend(overwrite(workspace, &source, &target)?),
        None => {
            put(workspace, &source, &target, stat.kind)?;
            let size = (stat.kind == Kind::File).then_some(stat.size);
            workspace.changed(Change { kind: ChangeKind::Created, path: target.path.clone(), to: None, size });
        }
    }
    let (files, bytes) = (survey.files - survey.escaping_links, survey.bytes);
    Ok(response::Transfer {
        source: source.path,
        destination: target.path,
        files,
        bytes,
        backup: workspace.backup(),
        notes,
    })
}

/// Refuses a copy that would exhaust time or disk space before it starts: a sparse file can claim terabytes.
fn check_size(workspace: &Workspace<'_>, source: &ResolvedPath, bytes: u64) -> Result<()> {
    let max = workspace.policy.limits.max_copy_bytes;
    if bytes <= max {
        return Ok(());
    }
    let cause = format!("its files have {bytes} bytes, more than the {max} of `limits.max_copy_bytes`");
    Err(Error::at(Code::LimitExceeded, OPERATION, &source.requested_path, cause)
        .hint("copy parts of it; the person who runs this can set a higher limit"))
}

/// Replaces the content of an existing file, which keeps its mode, as with `cp`.
fn overwrite(workspace: &Workspace<'_>, source: &ResolvedPath, target: &ResolvedPath) -> Result<Vec<String>> {
    let (old, new) = (Some(target.content(workspace, OPERATION)?), Some(source.content(workspace, OPERATION)?));
    commit(workspace, OPERATION, vec![FileChange { resolved: target.clone(), old, new, to: None }])
}

/// Resolves source and destination and checks the conditions that copy and move share.
///
/// # Errors
///
/// Fails if the source does not exist or is the workspace itself, if the destination exists and may not be overwritten,
/// if it lies inside the source, or if a rule forbids the change.
pub fn ends(
    workspace: &Workspace<'_>,
    args: &request::Transfer,
    operation: &str,
) -> Result<(ResolvedPath, ResolvedPath)> {
    let source = workspace.resolve_with(&args.source, operation, FollowSymlinks::No)?;
    let stat = source.existing(workspace, operation)?;
    let target = workspace.resolve_with(&args.destination, operation, FollowSymlinks::No)?;
    if source.is_root() {
        return Err(Error::at(Code::InvalidPath, operation, &args.source, "it is the workspace itself"));
    }
    workspace.check_change(&target, operation)?;
    if stat.kind != Kind::Directory {
        workspace.check_new_file(&target, operation)?;
    }
    if stat.kind != Kind::File {
        workspace.check_new_tree(&target, operation)?;
    }
    if is_inside(workspace, &source, &target, stat.kind == Kind::Directory, operation)? {
        let cause = format!("`{}` is the source itself, or inside it", printable(&target.path));
        return Err(Error::at(Code::InvalidArgument, operation, &args.source, cause).hint("name another destination"));
    }
    if stat.kind == Kind::Directory && !args.recursive {
        return Err(Error::at(Code::NotAFile, operation, &args.source, "it is a directory")
            .hint(phrase![Term::Recursive, " takes a directory with all it holds"])
            .or_hint("name the files one by one"));
    }
    match target.stat {
        None => {}
        Some(there) if there.kind == Kind::Directory => {
            let name = format!("{}/{}", target.path.trim_end_matches('/'), source.name);
            return Err(Fault::Exists
                .at(operation, &args.destination)
                .hint(format!("to put it in that directory, name `{}`", printable(&name))));
        }
        Some(_) if !args.overwrite => {
            return Err(Fault::Exists
                .at(operation, &args.destination)
                .hint(phrase![Term::Overwrite, " replaces a file that is there"])
                .or_hint("choose another name"));
        }
        Some(there) if there.kind == Kind::File && stat.kind == Kind::File => {}
        Some(_) => {
            return Err(Fault::Exists
                .at(operation, &args.destination)
                .hint("only a file replaces a file: choose another name"));
        }
    }
    if stat.kind == Kind::Link {
        check_link(workspace, &source, &target, operation)?;
    }
    Ok((source, target))
}

/// Returns whether the target is the source or lies inside it, across overlapping roots and case-folded spellings.
fn is_inside(
    workspace: &Workspace<'_>,
    source: &ResolvedPath,
    target: &ResolvedPath,
    is_dir: bool,
    operation: &str,
) -> Result<bool> {
    let ((root, from), (other, to)) = (workspace.from_outermost(source), workspace.from_outermost(target));
    let rest = below(&to, &from).filter(|_| root == other);
    if rest.is_some_and(|rest| rest.is_empty() || is_dir) {
        return Ok(true);
    }
    if !is_dir {
        return Ok(false);
    }
    let dir = source.open_dir(workspace, operation)?;
    let is_same = |(_, passed): &(String, Dir)| workspace.fs.is_same_dir(passed, &dir);
    target
        .ancestors
        .iter()
        .map(is_same)
        .find(|same| *same != Ok(false))
        .unwrap_or(Ok(false))
        .map_err(|fault| fault.at(operation, &source.requested_path))
}

/// Refuses a symbolic link whose target would lead outside the workspace from its new location.
fn check_link(workspace: &Workspace<'_>, source: &ResolvedPath, target: &ResolvedPath, operation: &str) -> Result<()> {
    let leads_out = || {
        Error::at(
            Code::OutsideWorkspace,
            operation,
            &source.requested_path,
            "the symbolic link would lead outside the workspace",
        )
        .hint("copy its target instead")
    };
    let link_target = match workspace.fs.read_link(&source.dir, &source.name) {
        Err(Fault::Outside) => return Err(leads_out()),
        other => other.map_err(|fault| fault.at(operation, &source.requested_path))?,
    };
    let above = target.path.rsplit_once('/').map_or(".", |(above, _)| above);
    let path = if link_target.starts_with('/') { link_target } else { format!("{above}/{link_target}") };
    match workspace.resolve(&path, operation) {
        Err(error) if error.code == Code::Denied => {
            let cause = "its target is closed to all tools";
            Err(Error::at(Code::Denied, operation, &source.requested_path, cause).hint("leave it where it is"))
        }
        Err(error) if matches!(error.code, Code::OutsideWorkspace | Code::InvalidPath) => Err(leads_out()),
        // A dangling target that stays inside is allowed.
        _ => Ok(()),
    }
}

fn survey(workspace: &Workspace<'_>, source: &ResolvedPath, target: &ResolvedPath) -> Result<Survey> {
    let survey = tree::survey(workspace, source, OPERATION, workspace.policy.limits.max_files, target.depth())?;
    survey.refuse_protected(workspace, source, OPERATION)?;
    Ok(survey)
}

/// Writes the copy to a temporary sibling of the target, then renames it atomically.
fn put(workspace: &Workspace<'_>, source: &ResolvedPath, target: &ResolvedPath, kind: Kind) -> Result<()> {
    let fs = workspace.fs;
    keep(workspace, source, target, kind)?;
    let (temporary, model) = (private_name(fs), temporary_name(fs));
    let stored_location = StoredLocation::of(workspace, target);
    let journal = Journal {
        directories: directories_to_make(workspace, target),
        debris: vec![stored_location.sibling(&temporary), stored_location.sibling(&model)],
        ..Journal::default()
    };
    journal.write(workspace).inspect_err(|_| backup::forget(workspace))?;
    let mut created_dirs = Vec::new();
    let mut carry_out = || {
        let dir = make_missing(fs, target, &mut created_dirs)?;
        let location = OpenLocation { dir, name: target.name.clone() };
        let copy = location.sibling(&temporary);
        let from = source.location();
        let put = match kind {
            Kind::Directory => {
                copy_tree(workspace, source, target, &copy).and_then(|()| put_dir(workspace, &copy, &location))
            }
            Kind::Link => fs.symlink(&location.dir, &location.name, &fs.read_link(&from.dir, &from.name)?),
            Kind::File | Kind::Other => {
                copy_remove::copy_file(fs, workspace.policy.host.carries_modes, &from, &copy, &location.sibling(&model))
                    .and_then(|_| copy.move_to_free(fs, &location))
            }
        };
        put.inspect_err(|_| drop(copy_remove::remove(fs, &copy)))?;
        fs.sync_dir(&location.dir).inspect_err(|_| drop(copy_remove::remove(fs, &location)))
    };
    let result: FsResult<()> = carry_out();
    if result.is_err() {
        backup::forget(workspace);
        for location in created_dirs.iter().rev() {
            drop(fs.remove_dir(&location.dir, &location.name));
        }
    }
    // A journal that cannot be removed has no pending steps.
    drop(journal.clear(workspace));
    result.map_err(|fault| fault.at(OPERATION, &target.requested_path))
}

/// Writes the backup of the created entries.
fn keep(workspace: &Workspace<'_>, source: &ResolvedPath, target: &ResolvedPath, kind: Kind) -> Result<()> {
    let Some(mut draft) = Draft::begin(workspace, OPERATION)? else { return Ok(()) };
    draft.add_created_dirs(&directories_to_make(workspace, target))?;
    let top = source.location();
    let add = |path: &str, _: &OpenLocation, kind: Kind| draft.add(Entry::of(Action::Created, path, kind), None);
    tree::each(workspace.fs, &target.path, top, kind, add, |fault| fault.at(OPERATION, &source.requested_path))?;
    draft.finish()
}

fn copy_tree(
    workspace: &Workspace<'_>,
    source: &ResolvedPath,
    target: &ResolvedPath,
    copy: &OpenLocation,
) -> FsResult<()> {
    let from = workspace.fs.open_dir(&source.dir, &source.name)?;
    let mut agent_ignore = source.agent_ignore.clone();
    agent_ignore.enter(&source.name, &from, workspace.fs).map_err(|error| Fault::Io(error.message()))?;
    tree::copy(workspace, &source.location(), &agent_ignore, copy, target.depth())
}

/// Renames the directory. The kernel's rename could replace only an empty directory created in the meantime.
fn put_dir(workspace: &Workspace<'_>, copy: &OpenLocation, location: &OpenLocation) -> FsResult<()> {
    match workspace.fs.stat(&location.dir, &location.name) {
        Err(Fault::NotFound) => copy.rename(workspace.fs, location),
        Ok(_) => Err(Fault::Exists),
        Err(fault) => Err(fault),
    }
}

fn left_out(survey: &Survey) -> Vec<String> {
    let reasons = [
        (survey.denied, "excluded by `.agentignore` or the policy"),
        (survey.escaping_links, "symbolic links that would lead outside the workspace"),
        (survey.special, "FIFOs, sockets or devices"),
        (survey.unnamed, "with names that are not UTF-8"),
    ];
    let reported = reasons.iter().filter(|(count, _)| *count > 0);
    reported.map(|(count, reason)| format!("left out: {count} {reason}")).collect()
}
