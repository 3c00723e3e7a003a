//! The functions of `wasi:filesystem` that take a path. This module resolves the path and applies the rules to the
//! result; then `wasmtime-wasi` performs the operation on a single name in the resolved directory.

use wasmtime::StoreContextMut;
use wasmtime::component::LinkerInstance;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, HostDescriptor, MetadataHashValue, NewTimestamp,
    OpenFlags, PathFlags,
};

use super::names::{self, View};
use super::resolved_path::ResolvedEntry;
use super::state::State;
use crate::bindings::exports::paddock::files::commands::Access;
use crate::wasi::{Fd, OpenAt, RenameAt, answer, at_once};

type Store<'s> = StoreContextMut<'s, State>;

/// Replaces functions of `wasmtime-wasi` in the linker by these.
pub(super) fn add_to_linker(types: &mut LinkerInstance<'_, State>) -> wasmtime::Result<()> {
    macro_rules! functions {
        ($($name:literal: $function:ident),*) => {
            $(types.func_wrap(concat!("[method]descriptor.", $name), |store: Store<'_>, arguments| {
                Ok((answer($function(store, arguments))?,))
            })?;)*
        };
    }
    functions!(
        "open-at": open_at,
        "stat-at": stat_at,
        "metadata-hash-at": metadata_hash_at,
        "readlink-at": readlink_at,
        "set-times-at": set_times_at,
        "create-directory-at": create_directory_at,
        "symlink-at": symlink_at,
        "link-at": link_at,
        "rename-at": rename_at,
        "unlink-file-at": unlink_file_at,
        "remove-directory-at": remove_directory_at
    );
    Ok(())
}

fn open_at(mut store: Store<'_>, (dir, follow, path, how, flags): OpenAt) -> FsResult<Fd> {
    let state = store.data_mut();
    let entry = state.find(&dir, &path, follow)?;
    let changes = how.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE) || flags.contains(DescriptorFlags::WRITE);
    let (mut view, rights) = state.parts();
    match changes {
        true => {
            rights.check_change(&mut view, &entry, false)?;
            if !how.contains(OpenFlags::EXCLUSIVE) {
                rights.unshare(&mut view, &entry, !how.contains(OpenFlags::TRUNCATE))?;
            }
        }
        false => rights.check_read(&entry)?,
    }
    let opened = open(&mut view, &entry, how, flags)?;
    state.opened(entry.resolved, opened)
}

/// Opens an existing entry without creating it, and creates a missing one exclusively: an entry that another process
/// adds in between can neither block the thread nor be truncated unchecked.
fn open(view: &mut View<'_>, entry: &ResolvedEntry, how: OpenFlags, flags: DescriptorFlags) -> FsResult<Descriptor> {
    let (dir, name) = (&entry.dir, &entry.name);
    let making = OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    if how.contains(OpenFlags::DIRECTORY) && how.intersects(making | OpenFlags::TRUNCATE) {
        return Err(ErrorCode::Invalid.into());
    }
    match entry.kind {
        None if how.contains(OpenFlags::CREATE) => names::open(view, dir, name, (making, flags)),
        None => Err(ErrorCode::NoEntry.into()),
        Some(_) if how.contains(making) => Err(ErrorCode::Exist.into()),
        Some(DescriptorType::SymbolicLink) => Err(ErrorCode::Loop.into()),
        Some(DescriptorType::Directory) if how.contains(OpenFlags::CREATE) => Err(ErrorCode::IsDirectory.into()),
        Some(DescriptorType::RegularFile) if how.contains(OpenFlags::TRUNCATE) => {
            let opened = names::open(view, dir, name, (OpenFlags::empty(), flags | DescriptorFlags::WRITE))?;
            if let Descriptor::File(file) = &opened {
                file.file.set_len(0)?;
            }
            Ok(opened)
        }
        Some(DescriptorType::RegularFile | DescriptorType::Directory) => {
            names::open(view, dir, name, (how & OpenFlags::DIRECTORY, flags))
        }
        Some(_) => Err(ErrorCode::NoSuchDevice.into()),
    }
}

fn stat_at(mut store: Store<'_>, (dir, follow, path): (Fd, PathFlags, String)) -> FsResult<DescriptorStat> {
    let state = store.data_mut();
    let entry = state.find(&dir, &path, follow)?;
    state.rights.check_read(&entry)?;
    names::stat(&mut state.view(), &entry.dir, &entry.name)
}

fn metadata_hash_at(mut store: Store<'_>, (dir, follow, path): (Fd, PathFlags, String)) -> FsResult<MetadataHashValue> {
    let state = store.data_mut();
    let entry = state.find(&dir, &path, follow)?;
    state.rights.check_read(&entry)?;
    at(&mut state.view(), entry, |view, dir, name| at_once(view.metadata_hash_at(dir, PathFlags::empty(), name)))
}

fn readlink_at(mut store: Store<'_>, (dir, path): (Fd, String)) -> FsResult<String> {
    let state = store.data_mut();
    let entry = state.find(&dir, &path, PathFlags::empty())?;
    state.rights.check_read(&entry)?;
    // The function of `wasmtime-wasi` hides absolute targets, which describe the machine.
    at(&mut state.view(), entry, |view, dir, name| at_once(view.readlink_at(dir, name)))
}

fn set_times_at(
    mut store: Store<'_>,
    (dir, follow, path, access, modification): (Fd, PathFlags, String, NewTimestamp, NewTimestamp),
) -> FsResult<()> {
    let state = store.data_mut();
    let entry = state.find(&dir, &path, follow)?;
    state.rights.check(&entry.resolved, Access::Change, entry.is_directory())?;
    let (mut view, rights) = state.parts();
    rights.unshare(&mut view, &entry, true)?;
    at(&mut state.view(), entry, |view, dir, name| {
        at_once(view.set_times_at(dir, PathFlags::empty(), name, access, modification))
    })
}

fn create_directory_at(mut store: Store<'_>, (dir, path): (Fd, String)) -> FsResult<()> {
    let (mut view, entry) = to_change(store.data_mut(), &dir, &path, true)?;
    at(&mut view, entry, |view, dir, name| at_once(view.create_directory_at(dir, name)))
}

fn symlink_at(mut store: Store<'_>, (dir, target, path): (Fd, String, String)) -> FsResult<()> {
    let state = store.data_mut();
    let entry = to_change(state, &dir, &path, false)?.1;
    if could_leave_root(&entry.resolved.path, &target) {
        return Err(state.rights.leads_out(&entry.resolved));
    }
    at(&mut state.view(), entry, |view, dir, name| at_once(view.symlink_at(dir, target, name)))
}

/// Returns whether a link at this place could lead out of its root when another program follows it. A target may have
/// `..` only at its start, because later names could themselves be links.
fn could_leave_root(resolved: &str, target: &str) -> bool {
    let mut names = target.split('/').filter(|name| !matches!(*name, "" | "."));
    let up = names.by_ref().take_while(|name| *name == "..").count();
    target.starts_with('/') || up > resolved.matches('/').count() || names.any(|name| name == "..")
}

fn link_at(
    mut store: Store<'_>,
    (dir, follow, path, new_dir, new_path): (Fd, PathFlags, String, Fd, String),
) -> FsResult<()> {
    let state = store.data_mut();
    // The file could be changed through its new name too.
    let old = to_change(state, &dir, &path, false)?.1;
    let (mut view, new) = to_change(state, &new_dir, &new_path, false)?;
    at_both(&mut view, old, new, |view, (dir, name), (new_dir, new_name)| {
        at_once(view.link_at(dir, follow, name, new_dir, new_name))
    })
}

fn rename_at(mut store: Store<'_>, (dir, path, new_dir, new_path): RenameAt) -> FsResult<()> {
    let state = store.data_mut();
    let old = state.find(&dir, &path, PathFlags::empty())?;
    let new = state.find(&new_dir, &new_path, PathFlags::empty())?;
    if old.name == "." || new.name == "." {
        return Err(ErrorCode::Busy.into());
    }
    let (mut view, rights) = state.parts();
    rights.check_change(&mut view, &old, false)?;
    rights.check_change(&mut view, &new, old.is_directory())?;
    if old.is_directory() {
        let top = names::open_dir(&mut view, &old.dir, &old.name)?;
        let ends = (&old.resolved, &new.resolved);
        names::walk(&mut view, &top, "", &mut |view, entry| rights.check_move(view, entry, ends))?;
    }
    at_both(&mut view, old, new, |view, (dir, name), (new_dir, new_name)| {
        at_once(view.rename_at(dir, name, new_dir, new_name))
    })
}

fn unlink_file_at(mut store: Store<'_>, (dir, path): (Fd, String)) -> FsResult<()> {
    let (mut view, entry) = to_change(store.data_mut(), &dir, &path, false)?;
    at(&mut view, entry, |view, dir, name| at_once(view.unlink_file_at(dir, name)))
}

fn remove_directory_at(mut store: Store<'_>, (dir, path): (Fd, String)) -> FsResult<()> {
    let (mut view, entry) = to_change(store.data_mut(), &dir, &path, false)?;
    at(&mut view, entry, |view, dir, name| at_once(view.remove_directory_at(dir, name)))
}

/// Resolves a path without following a final link, and checks that the entry may be changed.
fn to_change<'s>(
    state: &'s mut State,
    dir: &Fd,
    path: &str,
    becomes_directory: bool,
) -> FsResult<(View<'s>, ResolvedEntry)> {
    let entry = state.find(dir, path, PathFlags::empty())?;
    let (mut view, rights) = state.parts();
    rights.check_change(&mut view, &entry, becomes_directory)?;
    Ok((view, entry))
}

/// Calls a function on a resolved entry.
fn at<T>(
    view: &mut View<'_>,
    entry: ResolvedEntry,
    act: impl FnOnce(&mut View<'_>, Fd, String) -> FsResult<T>,
) -> FsResult<T> {
    names::in_dir(view, &entry.dir, |view, dir| act(view, dir, entry.name))
}

/// Calls a function on two resolved entries.
fn at_both<T>(
    view: &mut View<'_>,
    one: ResolvedEntry,
    other: ResolvedEntry,
    act: impl FnOnce(&mut View<'_>, (Fd, String), (Fd, String)) -> FsResult<T>,
) -> FsResult<T> {
    at(view, one, |view, dir, name| at(view, other, |view, other, its| act(view, (dir, name), (other, its))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_could_lead_out_is_known() {
        for (resolved, target, expected) in [
            ("link", "a", false),
            ("link", "./a/b", false),
            ("link", "..", true),
            ("link", "../a", true),
            ("link", "/a", true),
            ("a/link", "../b", false),
            ("a/link", "./../b/c", false),
            ("a/link", "../../b", true),
            // `d` can be a link to a directory that is not as deep.
            ("a/b/link", "d/../../../x", true),
            ("a/b/link", "../../x", false),
        ] {
            assert_eq!(could_leave_root(resolved, target), expected, "{resolved} -> {target}");
        }
    }
}
