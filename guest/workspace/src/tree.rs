//! Surveys, traversals and copies of whole trees. Links are not followed, and the traversals are iterative, so that a
//! deep tree cannot overflow the stack.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result};
use paddock_vfs::copy_remove::copy_file;
use paddock_vfs::open_location::{OpenLocation, temporary_name};
use paddock_vfs::{Dir, Fault, Filesystem, FsResult};

use crate::Workspace;
use crate::ignore_rules::AgentIgnore;
use crate::protected_paths::protected;
use crate::resolved_path::ResolvedPath;

/// Permission bits with which the owner of a directory can list, change and enter it.
pub const OWNER: u32 = 0o700;

/// Numbers of entries in a tree, by type and restriction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Files and links.
    pub files: u64,
    /// Directories, the top one included.
    pub directories: u64,
    /// Size of the files, in bytes.
    pub bytes: u64,
    /// Entries that `.agentignore` or the policy keeps from every tool.
    pub denied: u64,
    /// FIFOs, sockets and devices.
    pub special: u64,
    /// Names that are not UTF-8.
    pub unnamed: u64,
    /// Protected names.
    pub protected: u64,
    /// Number of links that would lead out of the root at the depth of the tree's destination.
    pub escaping_links: u64,
}

/// Counts the entries below the directory at `resolved`. Fails at the first unreadable part, and if there are more
/// than `max` entries. `depth` is the current or future depth of the tree below its root.
pub fn survey(
    workspace: &Workspace<'_>,
    resolved: &ResolvedPath,
    operation: &str,
    max: u64,
    depth: usize,
) -> Result<Survey> {
    let fs = workspace.fs;
    let to_error = |fault: Fault| fault.at(operation, &resolved.requested_path);
    let mut survey = Survey { directories: 1, ..Survey::default() };
    // Directories are opened one by one: a wide tree could exceed the limit of open files.
    let mut ahead = vec![(None, resolved.name.clone(), resolved.agent_ignore.clone(), depth)];
    while let Some((above, name, mut agent_ignore, depth)) = ahead.pop() {
        let dir = match &above {
            None => resolved.open_dir(workspace, operation)?,
            Some(above) => fs.open_dir(above, &name).map_err(to_error)?,
        };
        agent_ignore.enter(&name, &dir, fs)?;
        let listing = fs.list(&dir).map_err(to_error)?;
        if listing.unreadable > 0 {
            return Err(Fault::Access.at(operation, &resolved.requested_path));
        }
        survey.unnamed += listing.unnamed;
        for entry in listing.entries {
            survey.protected += u64::from(protected(&entry.name).is_some());
            if agent_ignore.denies(&entry.name, entry.kind) {
                survey.denied += 1;
                continue;
            }
            match entry.kind {
                Kind::Directory => {
                    ahead.push((Some(dir.clone()), entry.name, agent_ignore.clone(), depth + 1));
                    survey.directories += 1;
                }
                Kind::File => {
                    survey.files += 1;
                    survey.bytes += fs.stat(&dir, &entry.name).map_err(to_error)?.size;
                }
                Kind::Link => {
                    survey.files += 1;
                    survey.escaping_links += u64::from(leads_out(fs, &dir, &entry.name, depth));
                }
                Kind::Other => survey.special += 1,
            }
            if survey.files + survey.directories + survey.special > max {
                return Err(too_many(resolved, operation, max));
            }
        }
    }
    Ok(survey)
}

impl Survey {
    /// Refuses the operation on a tree that contains entries that are blocked for every tool.
    pub fn refuse_denied(&self, resolved: &ResolvedPath, operation: &str) -> Result<()> {
        let (denied, entries) = (self.denied, if self.denied == 1 { "entry" } else { "entries" });
        let cause = || format!("it contains {denied} {entries} that `.agentignore` or the policy hides");
        refuse(self.denied > 0, Code::Denied, resolved, operation, cause)
    }

    /// Refuses the operation on a tree that contains protected entries, unless the policy allows their change.
    pub fn refuse_protected(&self, workspace: &Workspace<'_>, resolved: &ResolvedPath, operation: &str) -> Result<()> {
        let (protected, entries) = (self.protected, if self.protected == 1 { "entry" } else { "entries" });
        let cause = || format!("it contains {protected} protected {entries}, such as `.git`");
        refuse(self.protected > 0 && !workspace.policy.allow_protected, Code::ReadOnly, resolved, operation, cause)
    }

    /// Refuses the operation on a tree that contains names that are not UTF-8.
    pub fn refuse_unnamed(&self, resolved: &ResolvedPath, operation: &str) -> Result<()> {
        let cause = || format!("it holds {} names that are not UTF-8", self.unnamed);
        refuse(self.unnamed > 0, Code::Denied, resolved, operation, cause)
    }
}

fn refuse(
    load: bool,
    code: Code,
    resolved: &ResolvedPath,
    operation: &str,
    cause: impl FnOnce() -> String,
) -> Result<()> {
    if !load {
        return Ok(());
    }
    let hint = format!("{operation} its other entries one by one");
    Err(Error::at(code, operation, &resolved.requested_path, cause()).hint(hint))
}

fn too_many(resolved: &ResolvedPath, operation: &str, max: u64) -> Error {
    let cause = format!("it holds more than {max} entries, the maximum for one call");
    Error::at(Code::LimitExceeded, operation, &resolved.requested_path, cause)
        .hint("do it in parts, one directory below it at a time")
}

/// Returns whether the target of the link leads out of the root from a directory at depth `depth` below it. An
/// absolute target counts as leading out, because not every host reports and creates it.
fn leads_out(fs: &dyn Filesystem, dir: &Dir, name: &str, depth: usize) -> bool {
    let target = match fs.read_link(dir, name) {
        Ok(target) => target,
        Err(fault) => return fault == Fault::Outside,
    };
    let step = |depth: usize, name: &str| match name {
        "" | "." => Some(depth),
        ".." => depth.checked_sub(1),
        _ => Some(depth + 1),
    };
    target.starts_with('/') || target.split('/').try_fold(depth, step).is_none()
}

/// Calls `each` for every entry at and below `location`, a directory before its content; `path` is the path of
/// `location`.
pub fn each(
    fs: &dyn Filesystem,
    path: &str,
    location: OpenLocation,
    kind: Kind,
    mut each: impl FnMut(&str, &OpenLocation, Kind) -> Result<()>,
    to_error: impl Fn(Fault) -> Error,
) -> Result<()> {
    let mut ahead = vec![(path.to_owned(), location, kind)];
    while let Some((path, location, kind)) = ahead.pop() {
        each(&path, &location, kind)?;
        if kind == Kind::Directory {
            let dir = fs.open_dir(&location.dir, &location.name).map_err(&to_error)?;
            let listing = fs.list(&dir).map_err(&to_error)?;
            ahead.extend(listing.entries.into_iter().map(|entry| {
                (format!("{path}/{}", entry.name), OpenLocation { dir: dir.clone(), name: entry.name }, entry.kind)
            }));
        }
    }
    Ok(())
}

/// Copies the directory `from`, whose rules are `agent_ignore`, to the new directory `to`, which is at depth `depth`
/// below its root. Denied entries, links that would lead out of the root, and special files are left out.
pub fn copy(
    workspace: &Workspace<'_>,
    from: &OpenLocation,
    agent_ignore: &AgentIgnore,
    to: &OpenLocation,
    depth: usize,
) -> FsResult<()> {
    let fs = workspace.fs;
    let (mut modes, mut count) = (Vec::new(), 0);
    copy_dir(fs, from, to, &mut modes)?;
    // Directories are opened one by one, as in a survey. The caller has entered the rules of the top directory.
    let mut ahead = vec![(from.clone(), to.clone(), agent_ignore.clone(), depth)];
    let mut is_top = true;
    while let Some((source, target, mut agent_ignore, depth)) = ahead.pop() {
        let (from, to) = (fs.open_dir(&source.dir, &source.name)?, fs.open_dir(&target.dir, &target.name)?);
        if !std::mem::take(&mut is_top) {
            agent_ignore.enter(&source.name, &from, fs).map_err(|error| Fault::Io(error.message()))?;
        }
        for entry in fs.list(&from)?.entries {
            if agent_ignore.denies(&entry.name, entry.kind) {
                continue;
            }
            count += 1;
            if count > workspace.policy.limits.max_files {
                return Err(Fault::Io("entries were added to it while it was copied".to_owned()));
            }
            let source = OpenLocation { dir: from.clone(), name: entry.name.clone() };
            let target = OpenLocation { dir: to.clone(), name: entry.name.clone() };
            match entry.kind {
                Kind::Directory => {
                    copy_dir(fs, &source, &target, &mut modes)?;
                    ahead.push((source, target, agent_ignore.clone(), depth + 1));
                }
                Kind::File => {
                    let carries = workspace.policy.host.carries_modes;
                    copy_file(fs, carries, &source, &target, &target.sibling(&temporary_name(fs)))?;
                }
                Kind::Link if leads_out(fs, &from, &entry.name, depth) => {}
                Kind::Link => fs.symlink(&to, &entry.name, &fs.read_link(&from, &entry.name)?)?,
                Kind::Other => {}
            }
        }
        fs.sync_dir(&to)?;
    }
    // Inner directories come first: the final bits of an outer directory can make them inaccessible.
    modes.iter().rev().try_for_each(|(location, mode)| fs.set_mode(&location.dir, &location.name, *mode))
}

/// Creates the directory `to` with the permission bits of `from` plus those of [`OWNER`]; adds the final bits to
/// `modes` if they lack any of these.
fn copy_dir(
    fs: &dyn Filesystem,
    from: &OpenLocation,
    to: &OpenLocation,
    modes: &mut Vec<(OpenLocation, u32)>,
) -> FsResult<()> {
    fs.make_dir(&to.dir, &to.name)?;
    if let Some(mode) = from.mode(fs) {
        fs.set_mode(&to.dir, &to.name, mode | OWNER)?;
        modes.extend(Some((to.clone(), mode)).filter(|_| mode & OWNER != OWNER));
    }
    Ok(())
}
