//! What rules say of the paths of a program, and what it changes by their leave.

use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, ErrorCode};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::changes::{Changes, Spot};
use super::names::{Below, View};
use super::place::{Found, Place};
use crate::bindings::exports::paddock::files::commands::Access;
use crate::budget::Control;
use crate::command::judge::Judge;
use crate::policy::HardLinks;

pub(super) struct Rights {
    /// The paths of the roots on the host.
    pub(super) roots: Vec<String>,
    pub(super) judge: Judge,
    pub(super) changes: Changes,
    /// When it has to end: a walk asks for each of many paths.
    pub(super) control: Control,
    /// What a change does to a file that has other hard links.
    pub(super) hard_links: HardLinks,
    /// Bytes of each file that it writes.
    pub(super) max_file_bytes: u64,
}

impl Rights {
    /// Whether what is there may be looked at.
    pub(super) fn check_read(&mut self, found: &Found) -> FsResult<()> {
        self.check(&found.place, Access::Read, found.is_directory()).map(drop)
    }

    /// Whether what is there may be changed; notes what it is. What it becomes can be a directory too.
    pub(super) fn check_change(&mut self, view: &mut View<'_>, found: &Found, becomes_directory: bool) -> FsResult<()> {
        let spot = Spot { dir: &found.dir, name: &found.name, kind: found.kind };
        self.change(view, &found.place, &spot, found.is_directory() || becomes_directory)
    }

    /// The same of what is below a directory that is to be moved.
    pub(super) fn check_move(
        &mut self,
        view: &mut View<'_>,
        entry: &Below<'_>,
        (from, to): (&Place, &Place),
    ) -> FsResult<()> {
        let is_directory = entry.kind == DescriptorType::Directory;
        let spot = |kind| Spot { dir: entry.dir, name: entry.name, kind };
        let at = |top: &Place| Place { root: top.root, path: format!("{}{}", top.path, entry.path) };
        self.change(view, &at(from), &spot(Some(entry.kind)), is_directory)?;
        self.change(view, &at(to), &spot(None), is_directory)
    }

    fn change(&mut self, view: &mut View<'_>, place: &Place, spot: &Spot<'_>, is_directory: bool) -> FsResult<()> {
        let is_ignored = self.check(place, Access::Change, is_directory)?;
        view.access_control.check_movable(spot.dir, spot.name)?;
        // The root itself stays.
        if !place.path.is_empty() {
            let shown = self.judge.shown(place.root, &place.path).map_err(|_| ErrorCode::Access)?;
            self.changes.note(view, spot, &shown, is_ignored);
        }
        Ok(())
    }

    /// Whether rules let the program do that there; whether ignore rules hide it.
    pub(super) fn check(&mut self, place: &Place, access: Access, is_directory: bool) -> FsResult<bool> {
        if let Some(stop) = self.control.stop() {
            return Err(FsError::trap(stop));
        }
        let at = (place.root, place.path.as_str());
        let verdict = self.judge.allows(at, access, is_directory, self.control.deadline);
        match verdict.refused {
            None => Ok(verdict.ignored),
            Some(cause) => {
                self.changes.refuse(self.on_host(place), cause);
                Err(ErrorCode::Access.into())
            }
        }
    }

    /// Whether a listing shows it.
    pub(super) fn shows(&mut self, place: &Place, kind: DescriptorType) -> bool {
        let (at, is_directory) = ((place.root, place.path.as_str()), kind == DescriptorType::Directory);
        self.judge.allows(at, Access::Read, is_directory, self.control.deadline).refused.is_none()
    }

    /// Notes that a path leads out of its root from there; what the program is told.
    pub(super) fn leads_out(&mut self, from: &Place) -> FsError {
        let path = self.on_host(from);
        self.changes.refuse(path, "a path or link leads out of the root from there".to_owned());
        ErrorCode::Access.into()
    }

    pub(super) fn on_host(&self, place: &Place) -> String {
        let root = self.roots.get(place.root).map_or("", String::as_str);
        match place.path.as_str() {
            "" => root.to_owned(),
            path => format!("{}/{path}", root.trim_end_matches('/')),
        }
    }
}
