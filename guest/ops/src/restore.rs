//! Undoes what a call changed, from the backup that it left: all of it, or what
//! it did at one path. The undoing is a change like any other, with a backup of its own.

use std::collections::BTreeMap;

use paddock_types::digest::etag_of;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::response::{Change, ChangeKind};
use paddock_types::{phrase, request, response};
use paddock_vfs::Fault;
use paddock_vfs::content::Content;
use paddock_workspace::Workspace;
use paddock_workspace::change::backup::{Action, Entry, Saved};
use paddock_workspace::change::commit::{Changes, commit_all, make_missing};
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::change::{backup, links};
use paddock_workspace::resolve::Last;
use paddock_workspace::resolved_path::Place;

mod kept;

const VERB: &str = "restore";
/// Records that one call leaves at most: a move, and what comes back with it.
const MAX_RECORDS: usize = 8;

/// Undoes a call, or what it did at a path.
pub fn run(workspace: &Workspace<'_>, args: &request::Restore) -> Result<response::Restore> {
    let chosen = choose(workspace, args)?;
    let entries = chosen.entries();
    if !args.overwrite {
        kept::check(workspace, &entries)?;
    }
    let mut undo = Undo { overwrite: args.overwrite, ..Undo::new(workspace) };
    entries.iter().try_for_each(|(saved, entry)| undo.entry(saved, entry))?;
    undo.carry_out()?;
    let restored = entries.iter().map(|(_, entry)| entry.path.clone()).collect();
    Ok(response::Restore { undone: chosen.id, restored, backup: workspace.backup(), notes: undo.notes })
}

/// The backup that a call would undo, and the paths that it would change.
pub fn affected(workspace: &Workspace<'_>, args: &request::Restore) -> Result<(String, Vec<String>)> {
    let chosen = choose(workspace, args)?;
    let paths = chosen.entries().into_iter().flat_map(|(_, entry)| std::iter::once(&entry.path).chain(&entry.to));
    let paths = paths.cloned().collect();
    Ok((chosen.id, paths))
}

/// What is to be undone.
struct Chosen<'w> {
    id: String,
    records: Vec<Saved<'w>>,
    /// Of the records, what concerns this path alone.
    path: Option<String>,
}

impl<'w> Chosen<'w> {
    /// What was done last comes first.
    fn entries(&self) -> Vec<(&Saved<'w>, &Entry)> {
        let is_meant = |entry: &Entry| self.path.as_ref().is_none_or(|path| concerns(entry, path));
        let entries =
            self.records.iter().flat_map(|saved| saved.record.entries.iter().rev().map(move |entry| (saved, entry)));
        entries.filter(|(_, entry)| is_meant(entry)).collect()
    }
}

fn choose<'w>(workspace: &'w Workspace<'w>, args: &request::Restore) -> Result<Chosen<'w>> {
    let path = args.path.as_ref().map(|path| workspace.resolve_with(path, VERB, Last::Keep)).transpose()?;
    let path = path.map(|place| place.path);
    let (id, first) = match (&args.backup, &path) {
        (Some(id), _) => (id.clone(), Saved::open(workspace, id)?),
        (None, Some(path)) => newest(workspace, path)?,
        (None, None) => {
            return Err(Error::argument(Term::Path, phrase!["neither it nor ", Term::Backup, " is given"])
                .hint(phrase![Term::Path, " undoes the last change there, ", Term::Backup, " that of a call"]));
        }
    };
    // A call may have left several records; what it did last is undone first.
    let mut records = vec![first];
    while let Some(before) = records.last().and_then(|saved| saved.record.before.clone())
        && records.len() < MAX_RECORDS
    {
        records.push(Saved::open(workspace, &before)?);
    }
    let chosen = Chosen { id, records, path };
    if chosen.entries().is_empty() {
        let id = chosen.id;
        return Err(Error::new(Code::NotFound, format!("the backup `{id}` holds no change of that path")).hint(
            phrase![
                "leave ",
                Term::Path,
                " out to undo the whole call, or ",
                Term::Backup,
                " for the last change of the path"
            ],
        ));
    }
    Ok(chosen)
}

/// The newest backup that holds a change of `path`.
fn newest<'w>(workspace: &'w Workspace<'w>, path: &str) -> Result<(String, Saved<'w>)> {
    for (id, _) in backup::ids(workspace)? {
        // One that is damaged hides none of the others.
        let Some(saved) = Saved::find(workspace, &id)?.filter(|saved| saved.record.is_of(workspace)) else { continue };
        if saved.record.entries.iter().any(|entry| concerns(entry, path)) {
            return Ok((id, saved));
        }
    }
    Err(Error::at(Code::NotFound, VERB, path, "no backup holds a change of it")
        .hint("only what these tools changed can be restored, and the oldest backups go"))
}

fn concerns(entry: &Entry, path: &str) -> bool {
    let is_in = |name: &str| {
        path == "." || name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_in(&entry.path) || entry.to.as_deref().is_some_and(is_in)
}

/// What has to be done, in the order of doing it.
struct Undo<'w> {
    workspace: &'w Workspace<'w>,
    overwrite: bool,
    files: Vec<FileChange>,
    directories: Vec<Place>,
    links: Vec<(Place, String)>,
    /// Directories and links that were made.
    emptied: Vec<Place>,
    /// Permission bits of directories that come back, by their paths.
    directory_modes: BTreeMap<String, u32>,
    /// Files that are still there, with the permission bits that they had.
    file_modes: Vec<(Place, u32)>,
    notes: Vec<String>,
}

impl<'w> Undo<'w> {
    fn new(workspace: &'w Workspace<'w>) -> Self {
        Self {
            workspace,
            overwrite: false,
            files: Vec::new(),
            directories: Vec::new(),
            links: Vec::new(),
            emptied: Vec::new(),
            directory_modes: BTreeMap::new(),
            file_modes: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn entry(&mut self, saved: &Saved<'_>, entry: &Entry) -> Result<()> {
        if entry.action == Action::Moved && self.is_taken(&entry.path) {
            self.carry_out()?;
        }
        let place = self.free_place(entry)?;
        match (entry.action, entry.kind) {
            (Action::Moved, Kind::File) if entry.after.is_some() => self.moved_back(saved, entry, place),
            (Action::Moved, _) => {
                // At once, after what was done later, so that what it had overwritten finds its place free.
                self.carry_out()?;
                let (source, destination) = (entry.to.clone().unwrap_or_default(), entry.path.clone());
                let back = request::Transfer { source, destination, overwrite: false, recursive: true };
                crate::rename::run(self.workspace, &back).map(drop)
            }
            (Action::Created, Kind::Directory) => {
                self.emptied.extend(Some(place).filter(|place| place.stat.is_some()));
                Ok(())
            }
            (Action::Created, _) => self.taken_away(entry, place),
            (Action::Modified, _) | (Action::Deleted, Kind::File) => self.put_back(saved, entry, place),
            (Action::Deleted, Kind::Directory) => {
                let mode = entry.mode.filter(|_| place.stat.is_none());
                self.directory_modes.extend(mode.map(|mode| (place.path.clone(), mode)));
                self.directories.extend(Some(place).filter(|place| place.stat.is_none()));
                Ok(())
            }
            (Action::Deleted, Kind::Link) => {
                match &entry.target {
                    Some(target) => {
                        self.links.extend(Some((place, target.clone())).filter(|(place, _)| place.stat.is_none()));
                    }
                    None => {
                        self.notes.push(format!("where the link `{}` led is not known: it stays away", entry.path));
                    }
                }
                Ok(())
            }
            (Action::Deleted, Kind::Other) => {
                self.notes.push(format!("`{}` was no file, directory or link, and does not come back", entry.path));
                Ok(())
            }
        }
    }

    /// The place of an entry. Where something of another kind is there or above it, what was done later is undone first.
    fn free_place(&mut self, entry: &Entry) -> Result<Place> {
        let place = self.place(entry);
        let is_emptied = |place: &Place| self.emptied.iter().any(|going| going.path == place.path);
        let is_other = |place: &Place| place.stat.is_some_and(|stat| stat.kind != entry.kind);
        let is_in_the_way = match &place {
            Ok(place) => is_emptied(place) || (is_other(place) && self.is_taken(&place.path)),
            Err(error) => matches!(error.code, Code::NotADirectory | Code::ChangedSinceRead),
        };
        let is_waiting = !(self.files.is_empty() && self.links.is_empty() && self.emptied.is_empty());
        if !(is_in_the_way && is_waiting) {
            return place;
        }
        self.carry_out()?;
        self.place(entry)
    }

    /// The place of an entry, whose path had no link in it when it was recorded.
    fn place(&self, entry: &Entry) -> Result<Place> {
        let place = self.workspace.resolve_with(&entry.path, VERB, Last::Keep)?;
        if place.path == entry.path {
            return Ok(place);
        }
        let cause = format!("a link leads from there to `{}` now", printable(&place.path));
        Err(Error::at(Code::ChangedSinceRead, VERB, &entry.path, cause).hint("move the link away, then restore"))
    }

    /// Whether what is at `path` is about to go.
    fn is_taken(&self, path: &str) -> bool {
        self.files.iter().any(|change| change.place.path == path)
    }

    /// The old content, where there is another one now or none.
    fn put_back(&mut self, saved: &Saved<'_>, entry: &Entry, place: Place) -> Result<()> {
        let old = self.current(&place)?;
        let new = saved.content(entry)?;
        if let Some(mode) = entry.mode.filter(|_| old.is_some()) {
            self.file_modes.push((place.clone(), mode));
        }
        match &old {
            Some(old) if *old == new => return Ok(()),
            Some(old) => self.check_unchanged(entry, &place, old)?,
            None => {}
        }
        self.files.push(FileChange { place, old, new: Some(new), to: None });
        Ok(())
    }

    /// What was made goes.
    fn taken_away(&mut self, entry: &Entry, place: Place) -> Result<()> {
        match place.stat.map(|stat| stat.kind) {
            None => return Ok(()),
            // It has no content that somebody could have changed since.
            Some(Kind::Link) => {
                self.emptied.push(place);
                return Ok(());
            }
            Some(Kind::Other) if entry.kind == Kind::Other => {
                self.emptied.push(place);
                return Ok(());
            }
            Some(_) => {}
        }
        let old = self.current(&place)?;
        if let Some(old) = &old {
            self.check_unchanged(entry, &place, old)?;
        }
        self.files.push(FileChange { place, old, new: None, to: None });
        Ok(())
    }

    fn moved_back(&mut self, saved: &Saved<'_>, entry: &Entry, to: Place) -> Result<()> {
        let moved = entry.to.as_deref().unwrap_or_default();
        let place = self.workspace.resolve_with(moved, VERB, Last::Keep)?;
        place.existing(self.workspace, VERB)?;
        let old = self.current(&place)?;
        if let Some(old) = &old {
            self.check_unchanged(entry, &place, old)?;
        }
        let new = if entry.content.is_some() { Some(saved.content(entry)?) } else { old.clone() };
        self.files.push(FileChange { place, old, new, to: Some(to) });
        Ok(())
    }

    fn current(&self, place: &Place) -> Result<Option<Content>> {
        place.stat.map(|_| place.content(self.workspace, VERB)).transpose()
    }

    /// What was changed since by someone else stays, unless the caller says otherwise.
    fn check_unchanged(&self, entry: &Entry, place: &Place, now: &Content) -> Result<()> {
        let is_as_left = match (&entry.after, entry.action) {
            (Some(after), _) => *after == etag_of(&now.sha256()),
            // Where something stood in place of what was deleted, it is someone else's.
            (None, Action::Deleted) => false,
            (None, _) => true,
        };
        if is_as_left || self.overwrite {
            return Ok(());
        }
        Err(Error::at(Code::ChangedSinceRead, VERB, &place.given, "it was changed since")
            .hint(phrase![Term::Overwrite, " restores it all the same; what is there now is kept in a backup"]))
    }

    fn carry_out(&mut self) -> Result<()> {
        let files = std::mem::take(&mut self.files);
        // What a file stands in comes back with it, in the same change; only the rest is made afterwards.
        let holds_a_file = |directory: &Place| {
            let is_in =
                |place: &Place| place.path.strip_prefix(&directory.path).is_some_and(|rest| rest.starts_with('/'));
            files.iter().any(|change| change.new.is_some() && is_in(change.to.as_ref().unwrap_or(&change.place)))
        };
        self.directories.retain(|directory| !holds_a_file(directory));
        let modes = self.directory_modes.clone();
        let changes = Changes { files, others: self.others(), modes, ..Changes::default() };
        self.notes.extend(commit_all(self.workspace, VERB, changes)?);
        for (place, mode) in std::mem::take(&mut self.file_modes) {
            self.give_mode(&place, mode)?;
        }
        // Outer ones first.
        let mut directories = std::mem::take(&mut self.directories);
        directories.sort_by_key(|place| place.path.len());
        for place in &directories {
            self.make(place)?;
        }
        for (place, target) in std::mem::take(&mut self.links) {
            links::link(self.workspace, VERB, &self.again(&place)?, &target)?;
        }
        let mut emptied = std::mem::take(&mut self.emptied);
        emptied.sort_by_key(|place| std::cmp::Reverse(place.path.len()));
        for place in &emptied {
            self.workspace.check_change(place, VERB)?;
            self.workspace.check_movable(place, VERB)?;
            match links::remove(self.workspace, place) {
                // Something else is in it, or it is gone.
                Ok(()) | Err(Fault::NotEmpty | Fault::NotFound) => {}
                Err(fault) => return Err(fault.at(VERB, &place.given)),
            }
        }
        Ok(())
    }

    /// What is done beside the files, for the backup.
    fn others(&self) -> Vec<Entry> {
        let made = self.directories.iter().map(|place| Entry::of(Action::Created, &place.path, Kind::Directory));
        let linked = self.links.iter().map(|(place, _)| Entry::of(Action::Created, &place.path, Kind::Link));
        let gone = self.emptied.iter().map(|place| links::gone(self.workspace, place));
        made.chain(linked).chain(gone).collect()
    }

    fn make(&self, place: &Place) -> Result<()> {
        let place = self.again(place)?;
        if place.stat.is_some() {
            return Ok(());
        }
        self.workspace.check_change(&place, VERB)?;
        let blame = |fault: Fault| fault.at(VERB, &place.given);
        let dir = make_missing(self.workspace.fs, &place, &mut Vec::new()).map_err(blame)?;
        self.workspace.fs.make_dir(&dir, &place.name).map_err(blame)?;
        if let Some(mode) = self.directory_modes.get(&place.path) {
            self.workspace.fs.set_mode(&dir, &place.name, *mode).map_err(blame)?;
        }
        self.changed(ChangeKind::Created, &place);
        Ok(())
    }

    /// Gives a file that was there all the time the permission bits that it had.
    fn give_mode(&self, place: &Place, mode: u32) -> Result<()> {
        let fs = self.workspace.fs;
        if fs.mode(&place.dir, &place.name).is_none_or(|now| now == mode) {
            return Ok(());
        }
        self.workspace.check_change(place, VERB)?;
        match fs.set_mode(&place.dir, &place.name, mode) {
            // Of a file with further names, they are not this tool's to set.
            Err(Fault::Access) => Ok(()),
            other => other.map_err(|fault| fault.at(VERB, &place.given)),
        }
    }

    /// The place as it is after the files came back.
    fn again(&self, place: &Place) -> Result<Place> {
        self.workspace.resolve_with(&place.given, VERB, Last::Keep)
    }

    fn changed(&self, kind: ChangeKind, place: &Place) {
        self.workspace.changed(Change { kind, path: place.path.clone(), to: None, size: None });
    }
}
