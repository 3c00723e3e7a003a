//! Changes that a command made. The state of each path before the command is compared with its current state; the
//! differences are returned as changes and saved as a backup. No root is modified.

use paddock_types::path::is_entry_name;
use std::collections::BTreeMap;

use paddock_types::digest::etag_of;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::response::{Change, ChangeKind};
use paddock_vfs::Fault;
use paddock_vfs::content::FileContent;
use paddock_vfs::open_location::OpenLocation;
use paddock_workspace::change::backup;
use paddock_workspace::change::backup::{Action, Draft, Entry};
use paddock_workspace::change::stored_location::StoredLocation;
use paddock_workspace::{Root, Workspace};

use crate::command::access::{AccessChecker, locate};

/// Maximum number of paths that a note names.
const MAX_NAMED: usize = 10;

/// State of a path before a command changed it: the `before` of `wit/commands.wit`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Rendered path without symbolic links.
    pub path: String,
    /// Kind of the entry, or `None` if the path did not exist.
    pub kind: Option<Kind>,
    /// Target of the symbolic link.
    pub target: Option<String>,
    /// Path of the saved file content in the state directory.
    pub staged_file: Option<String>,
    /// Permission bits, if known.
    pub mode: Option<u32>,
}

/// Changes of a command: the `recorded` of `wit/commands.wit`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Changes, sorted by path.
    pub changes: Vec<Change>,
    /// Identifier of the backup that undoes the changes.
    pub backup: Option<String>,
    /// Notes about content that could not be saved.
    pub notes: Vec<String>,
}

/// Compares the earlier state of these paths with their current state and saves a backup.
///
/// # Errors
///
/// `Code::OutsideWorkspace` for a path that is not below a root, and I/O errors. A backup that cannot be written is
/// only a note.
pub fn record_changes(workspace: &Workspace<'_>, operation: &str, before: &[Before]) -> Result<Recorded> {
    let verdicts = AccessChecker::new(workspace);
    let mut report = Report::new(workspace);
    let mut known = BTreeMap::new();
    for was in before {
        known.entry(Named::new(workspace, was)?.path()).or_insert(was);
    }
    // Each comparison holds a directory open, and a command can change more paths than a process has handles; hence one
    // at a time.
    for was in known.values() {
        match PathStates::new(workspace, &verdicts, was)? {
            // A command is subject to the same access rules, so it cannot have changed this path.
            None => report.withheld += 1,
            Some(states) => report.compare(&states)?,
        }
    }
    report.finish(operation)
}

/// A path relative to a root.
#[derive(Clone, Copy)]
struct Named<'w> {
    index: usize,
    root: &'w Root,
    below: &'w str,
}

impl<'w> Named<'w> {
    fn new(workspace: &'w Workspace<'_>, was: &'w Before) -> Result<Self> {
        let outside = |cause| Error::at(Code::OutsideWorkspace, "record", &was.path, cause);
        let (index, below) = locate(workspace, &was.path).map_err(outside)?;
        let root = workspace.roots.get(index).filter(|_| !below.is_empty());
        Ok(Self { index, root: root.ok_or_else(|| outside("it is a root itself"))?, below })
    }

    /// Returns the rendered path.
    fn path(&self) -> String {
        self.root.rendered_path(self.below)
    }
}

/// The earlier and current state of a path.
struct PathStates<'b> {
    /// Rendered path.
    path: String,
    was: &'b Before,
    /// Current location, or `None` if the parent directory no longer exists.
    location: Option<OpenLocation>,
    /// Current kind and size.
    now: Option<(Kind, u64)>,
}

impl<'b> PathStates<'b> {
    /// Inspects the current state of a path; `None` if access rules deny it to every tool.
    fn new(workspace: &Workspace<'_>, verdicts: &AccessChecker<'_>, was: &'b Before) -> Result<Option<Self>> {
        let named = Named::new(workspace, was)?;
        let Named { index, root, below } = named;
        let mut above: Vec<_> = below.split('/').map(str::to_owned).collect();
        let name = above.pop().unwrap_or_default();
        let stored_location = StoredLocation { root: root.label.clone(), above, name };
        let to_error = |fault: Fault| fault.at("record", &was.path);
        let location = match stored_location.open(workspace) {
            Ok(location) => Some(location),
            // Another kind of entry has replaced the path or a directory above it.
            Err(Fault::NotFound | Fault::Link | Fault::NotDirectory) => None,
            Err(fault) => return Err(to_error(fault)),
        };
        let stat = location.as_ref().map(|location| workspace.fs.stat(&location.dir, &location.name));
        let now = match stat {
            None | Some(Err(Fault::NotFound)) => None,
            Some(Ok(stat)) => Some((stat.kind, stat.size)),
            Some(Err(fault)) => return Err(to_error(fault)),
        };
        let mut kinds = [was.kind, now.map(|(kind, _)| kind)].into_iter().flatten();
        let is_hidden_from_tools = kinds.any(|kind| verdicts.denies(index, below, kind));
        Ok((!is_hidden_from_tools).then(|| Self { path: named.path(), was, location, now }))
    }

    /// Returns whether the current permission bits differ from the earlier ones.
    fn has_other_mode(&self, workspace: &Workspace<'_>) -> bool {
        let now = self.location.as_ref().and_then(|location| location.mode(workspace.fs));
        now.zip(self.was.mode).is_some_and(|(now, was)| now != was)
    }

    /// Returns the SHA-256 of the current file, or `None` if the time of the call is up.
    fn digest(&self, workspace: &Workspace<'_>) -> Option<String> {
        let location = self.location.as_ref().filter(|_| !workspace.out_of_time())?;
        location.digest(workspace.fs).ok()?
    }
}

/// The changes collected so far.
struct Report<'w> {
    workspace: &'w Workspace<'w>,
    changes: Vec<Change>,
    /// Entries that were replaced or deleted, with their old content.
    replaced: Vec<(Entry, Option<FileContent>)>,
    /// Entries that were created.
    created: Vec<Entry>,
    /// Paths whose old content is in no backup.
    lost: Vec<String>,
    /// Number of paths that access rules deny to every tool.
    withheld: u64,
}

impl<'w> Report<'w> {
    fn new(workspace: &'w Workspace<'w>) -> Self {
        let (changes, replaced, created) = (Vec::new(), Vec::new(), Vec::new());
        Self { workspace, changes, replaced, created, lost: Vec::new(), withheld: 0 }
    }

    fn compare(&mut self, states: &PathStates<'_>) -> Result<()> {
        let old_content =
            states.was.staged_file.as_deref().map(|path| content(self.workspace, path)).transpose()?.flatten();
        let now = states.now.map(|(kind, _)| kind);
        match (states.was.kind, now) {
            (Some(Kind::File), Some(Kind::File)) => self.file(states, old_content),
            (Some(Kind::Link), Some(Kind::Link)) => self.link(states),
            (was, now) if was == now => {}
            (was, now) => {
                if let Some(kind) = was {
                    self.gone(states, kind, old_content);
                    self.tell(ChangeKind::Deleted, states);
                }
                if let Some(kind) = now {
                    self.came(states, kind);
                    self.tell(ChangeKind::Created, states);
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, states: &PathStates<'_>, old_content: Option<FileContent>) {
        let digest = states.digest(self.workspace);
        let is_same = old_content.as_ref().is_some_and(|old_content| digest.as_deref() == Some(old_content.sha256()));
        if is_same && !states.has_other_mode(self.workspace) {
            return;
        }
        self.tell(ChangeKind::Modified, states);
        if old_content.is_none() {
            return self.lost.push(states.path.clone());
        }
        let after = digest.as_deref().map(etag_of);
        let mode = states.was.mode;
        self.replaced.push((Entry { after, mode, ..Entry::file(Action::Modified, &states.path, None) }, old_content));
    }

    fn link(&mut self, states: &PathStates<'_>) {
        let read = |location: &OpenLocation| self.workspace.fs.read_link(&location.dir, &location.name).ok();
        let target = states.location.as_ref().and_then(read);
        if target.is_some() && target == states.was.target {
            return;
        }
        self.tell(ChangeKind::Modified, states);
        self.gone(states, Kind::Link, None);
        self.came(states, Kind::Link);
    }

    fn gone(&mut self, states: &PathStates<'_>, kind: Kind, old_content: Option<FileContent>) {
        // An absolute target may lead out of the root, so such a link is not restored.
        let target = states.was.target.clone().filter(|target| kind == Kind::Link && !target.starts_with('/'));
        let is_lost = match kind {
            Kind::File => old_content.is_none(),
            Kind::Link => target.is_none(),
            Kind::Directory => false,
            Kind::Other => true,
        };
        match is_lost {
            true => self.lost.push(states.path.clone()),
            false => {
                let mode = states.was.mode.filter(|_| matches!(kind, Kind::File | Kind::Directory));
                self.replaced
                    .push((Entry { target, mode, ..Entry::of(Action::Deleted, &states.path, kind) }, old_content));
            }
        }
    }

    fn came(&mut self, states: &PathStates<'_>, kind: Kind) {
        let digest = Some(kind).filter(|kind| *kind == Kind::File).and_then(|_| states.digest(self.workspace));
        let after = digest.as_deref().map(etag_of);
        self.created.push(Entry { after, ..Entry::of(Action::Created, &states.path, kind) });
    }

    fn tell(&mut self, kind: ChangeKind, states: &PathStates<'_>) {
        let size = states.now.filter(|(is, _)| *is == Kind::File && kind != ChangeKind::Deleted).map(|(_, size)| size);
        self.changes.push(Change { kind, path: states.path.clone(), to: None, size });
    }

    fn finish(self, operation: &str) -> Result<Recorded> {
        let mut notes = Vec::new();
        if !self.lost.is_empty() {
            notes.push(not_stored(&self.lost));
        }
        if self.withheld > 0 {
            notes.push(format!("{} path(s) that rules keep from every tool are left out", self.withheld));
        }
        let bytes = self.replaced.iter().filter_map(|(_, content)| content.as_ref()).map(FileContent::size).sum();
        let is_nothing = self.replaced.is_empty() && self.created.is_empty();
        match backup::too_large(self.workspace, bytes) {
            Some(note) => notes.push(note),
            None if is_nothing => {}
            // The command has already run, so a failed backup becomes a note and the changes are still returned.
            None => notes.extend(
                keep(self.workspace, operation, self.replaced, self.created)
                    .err()
                    .map(|error| format!("no backup: {error}")),
            ),
        }
        Ok(Recorded { changes: self.changes, backup: self.workspace.backup(), notes })
    }
}

/// Writes the backup. Undo runs in reverse order, so created entries come last and are removed first.
fn keep(
    workspace: &Workspace<'_>,
    operation: &str,
    replaced: Vec<(Entry, Option<FileContent>)>,
    created: Vec<Entry>,
) -> Result<()> {
    let Some(mut draft) = Draft::begin(workspace, operation)? else { return Ok(()) };
    replaced.into_iter().try_for_each(|(entry, content)| draft.add(entry, content.as_ref()))?;
    created.into_iter().try_for_each(|entry| draft.add(entry, None))?;
    draft.finish()
}

/// Returns the content stored at a path in the state directory, or `None` if the file does not exist.
fn content(workspace: &Workspace<'_>, path: &str) -> Result<Option<FileContent>> {
    let invalid = |cause: &str| Error::at(Code::InvalidPath, "keep", path, cause);
    let (above, name) = path.rsplit_once('/').map_or((None, path), |(above, name)| (Some(above), name));
    if !path.split('/').all(is_entry_name) {
        return Err(invalid("it leads out of the state directory"));
    }
    let Some(state) = &workspace.state else { return Err(invalid("there is no state directory")) };
    let mut names = above.into_iter().flat_map(|above| above.split('/'));
    let stored = names
        .try_fold(state.clone(), |dir, name| workspace.fs.open_dir(&dir, name))
        .and_then(|dir| FileContent::stored(workspace.fs, OpenLocation { dir, name: name.to_owned() }, 0, u64::MAX));
    match stored {
        Ok(content) => Ok(Some(content)),
        Err(Fault::NotFound) => Ok(None),
        Err(Fault::Link | Fault::NotDirectory | Fault::NotRegular | Fault::IsDirectory) => {
            Err(invalid("it is not a regular file in the state directory"))
        }
        Err(fault) => Err(fault.at("keep", path)),
    }
}

fn not_stored(paths: &[String]) -> String {
    let named: Vec<_> = paths.iter().take(MAX_NAMED).map(|path| format!("`{}`", printable(path))).collect();
    let rest = paths.len().saturating_sub(MAX_NAMED);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("the earlier content of {}{more} is in no backup", named.join(", "))
}
