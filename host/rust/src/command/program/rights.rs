//! Checks of a program's paths against the rules, and the record of its changes.

use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, ErrorCode};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::changes::{ChangeTarget, Changes};
use super::names::{Below, View};
use super::resolved_path::{ResolvedEntry, ResolvedPath};
use crate::bindings::exports::paddock::files::commands::Access;
use crate::budget::CallBudget;
use crate::command::authorizer::Authorizer;
use crate::policy::HardLinks;

pub(super) struct Rights {
    /// Paths of the roots on the host.
    pub(super) roots: Vec<String>,
    pub(super) authorizer: Authorizer,
    /// Whether the authorizer allows changes of Git's data. They are only for Git: a program could put an entry of any
    /// kind into `.git`.
    pub(super) git_data: bool,
    pub(super) changes: Changes,
    /// Time limit of the program, which applies to the checks of a walk too.
    pub(super) budget: CallBudget,
    /// Treatment of changed files with further hard links.
    pub(super) hard_links: HardLinks,
    /// Maximum size of a file that the program writes, in bytes.
    pub(super) max_file_bytes: u64,
}

impl Rights {
    /// Checks that an entry may be read.
    pub(super) fn check_read(&mut self, entry: &ResolvedEntry) -> FsResult<()> {
        self.check(&entry.resolved, Access::Read, entry.is_directory()).map(drop)
    }

    /// Checks that an entry may be changed, and records its state. The entry may become a directory.
    pub(super) fn check_change(
        &mut self,
        view: &mut View<'_>,
        entry: &ResolvedEntry,
        becomes_directory: bool,
    ) -> FsResult<()> {
        let change_target = ChangeTarget { dir: &entry.dir, name: &entry.name, kind: entry.kind };
        self.change(view, &entry.resolved, &change_target, entry.is_directory() || becomes_directory)
    }

    /// Checks and records all entries below a directory that is moved.
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
        // The root itself is never changed.
        if !resolved.path.is_empty() {
            let path = self.authorizer.rendered_path(resolved.root, &resolved.path).map_err(|_| ErrorCode::Access)?;
            self.changes.note(view, change_target, &path, is_ignored);
        }
        Ok(())
    }

    /// Checks an access against the rules. Returns whether ignore rules hide the path.
    pub(super) fn check(&mut self, resolved: &ResolvedPath, access: Access, is_directory: bool) -> FsResult<bool> {
        if let Some(interruption) = self.budget.interruption() {
            return Err(FsError::trap(interruption));
        }
        let at = (resolved.root, resolved.path.as_str());
        let mut verdict = self.authorizer.allows(at, access, is_directory, self.budget.deadline);
        if self.git_data && access == Access::Change && resolved.path.split('/').any(|name| name == ".git") {
            verdict.refused.get_or_insert_with(|| "`.git` is protected from WASI programs".to_owned());
        }
        match verdict.refused {
            None => Ok(verdict.ignored),
            Some(cause) => {
                self.changes.refuse(self.on_host(resolved), cause);
                Err(ErrorCode::Access.into())
            }
        }
    }

    /// Returns whether a listing shows an entry.
    pub(super) fn shows(&mut self, resolved: &ResolvedPath, kind: DescriptorType) -> bool {
        let (at, is_directory) = ((resolved.root, resolved.path.as_str()), kind == DescriptorType::Directory);
        self.authorizer.allows(at, Access::Read, is_directory, self.budget.deadline).refused.is_none()
    }

    /// Records that a path leads out of its root, and returns the error for the program.
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
