//! What rules say of the paths of a program, and what it changes by their leave.

use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, ErrorCode};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::changes::{ChangeTarget, Changes};
use super::names::{Below, View};
use super::resolved_path::{Found, ResolvedPath};
use crate::bindings::exports::paddock::files::commands::Access;
use crate::budget::CallBudget;
use crate::command::authorizer::Authorizer;
use crate::policy::HardLinks;

pub(super) struct Rights {
    /// The paths of the roots on the host.
    pub(super) roots: Vec<String>,
    pub(super) authorizer: Authorizer,
    pub(super) changes: Changes,
    /// When it has to end: a walk asks for each of many paths.
    pub(super) budget: CallBudget,
    /// What a change does to a file that has other hard links.
    pub(super) hard_links: HardLinks,
    /// Bytes of each file that it writes.
    pub(super) max_file_bytes: u64,
}

impl Rights {
    /// Whether what is there may be looked at.
    pub(super) fn check_read(&mut self, found: &Found) -> FsResult<()> {
        self.check(&found.resolved, Access::Read, found.is_directory()).map(drop)
    }

    /// Whether what is there may be changed; notes what it is. What it becomes can be a directory too.
    pub(super) fn check_change(&mut self, view: &mut View<'_>, found: &Found, becomes_directory: bool) -> FsResult<()> {
        let change_target = ChangeTarget { dir: &found.dir, name: &found.name, kind: found.kind };
        self.change(view, &found.resolved, &change_target, found.is_directory() || becomes_directory)
    }

    /// The same of what is below a directory that is to be moved.
    pub(super) fn check_move(
        &mut self,
        view: &mut View<'_>,
        entry: &Below<'_>,
        (from, to): (&ResolvedPath, &ResolvedPath),
    ) -> FsResult<()> {
        let is_directory = entry.kind == DescriptorType::Directory;
        let change_target = |kind| ChangeTarget { dir: entry.dir, name: entry.name, kind };
        let at = |top: &ResolvedPath| ResolvedPath { root: top.root, path: format!("{}{}", top.path, entry.path) };
        self.change(view, &at(from), &change_target(Some(entry.kind)), is_directory)?;
        self.change(view, &at(to), &change_target(None), is_directory)
    }

    fn change(
        &mut self,
        view: &mut View<'_>,
        resolved: &ResolvedPath,
        change_target: &ChangeTarget<'_>,
        is_directory: bool,
    ) -> FsResult<()> {
        let is_ignored = self.check(resolved, Access::Change, is_directory)?;
        view.access_control.check_movable(change_target.dir, change_target.name)?;
        // The root itself stays.
        if !resolved.path.is_empty() {
            let shown = self.authorizer.shown(resolved.root, &resolved.path).map_err(|_| ErrorCode::Access)?;
            self.changes.note(view, change_target, &shown, is_ignored);
        }
        Ok(())
    }

    /// Whether rules let the program do that there; whether ignore rules hide it.
    pub(super) fn check(&mut self, resolved: &ResolvedPath, access: Access, is_directory: bool) -> FsResult<bool> {
        if let Some(stop) = self.budget.stop() {
            return Err(FsError::trap(stop));
        }
        let at = (resolved.root, resolved.path.as_str());
        let verdict = self.authorizer.allows(at, access, is_directory, self.budget.deadline);
        match verdict.refused {
            None => Ok(verdict.ignored),
            Some(cause) => {
                self.changes.refuse(self.on_host(resolved), cause);
                Err(ErrorCode::Access.into())
            }
        }
    }

    /// Whether a listing shows it.
    pub(super) fn shows(&mut self, resolved: &ResolvedPath, kind: DescriptorType) -> bool {
        let (at, is_directory) = ((resolved.root, resolved.path.as_str()), kind == DescriptorType::Directory);
        self.authorizer.allows(at, Access::Read, is_directory, self.budget.deadline).refused.is_none()
    }

    /// Notes that a path leads out of its root from there; what the program is told.
    pub(super) fn leads_out(&mut self, from: &ResolvedPath) -> FsError {
        let path = self.on_host(from);
        self.changes.refuse(path, "a path or link leads out of the root from there".to_owned());
        ErrorCode::Access.into()
    }

    pub(super) fn on_host(&self, resolved: &ResolvedPath) -> String {
        let root = self.roots.get(resolved.root).map_or("", String::as_str);
        match resolved.path.as_str() {
            "" => root.to_owned(),
            path => format!("{}/{path}", root.trim_end_matches('/')),
        }
    }
}
