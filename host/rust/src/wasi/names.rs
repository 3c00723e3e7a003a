//! Functions that take the name of an entry in a directory. Each accepts one name and follows no link, and none
//! moves, removes or replaces a guarded entry.

use std::path::Path;

use cap_primitives::fs::read_link_contents;
use wasmtime::StoreContextMut;
use wasmtime::component::LinkerInstance;
use wasmtime_wasi::filesystem::{Dir, WasiFilesystemView};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, ErrorCode, HostDescriptor, MetadataHashValue, NewTimestamp, PathFlags,
};

use super::{Fd, FilesView, RenameAt, answer, at_once, directory, is_name, name_rules, sharing};
use crate::host_path;

type Store<'s, T> = StoreContextMut<'s, T>;

/// Replaces functions that `wasmtime-wasi` has added to the linker.
pub(super) fn add_to_linker<T: FilesView>(types: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    macro_rules! functions {
        ($($name:literal: $function:ident),*) => {
            $(types.func_wrap(concat!("[method]descriptor.", $name), |store: Store<'_, T>, arguments| {
                Ok((answer($function(store, arguments))?,))
            })?;)*
        };
    }
    functions!(
        "create-directory-at": create_directory_at,
        "link-at": link_at,
        "metadata-hash-at": metadata_hash_at,
        "readlink-at": readlink_at,
        "remove-directory-at": remove_directory_at,
        "rename-at": rename_at,
        "set-times-at": set_times_at,
        "stat-at": stat_at,
        "symlink-at": symlink_at,
        "unlink-file-at": unlink_file_at
    );
    Ok(())
}

fn create_directory_at(mut store: Store<'_, impl FilesView>, (dir, name): (Fd, String)) -> FsResult<()> {
    let holder = entry(&mut store, &dir, &name)?;
    let state = store.data_mut();
    state.files().access_control.check_name(&holder, &name)?;
    at_once(state.filesystem().create_directory_at(dir, name))
}

fn link_at(mut store: Store<'_, impl FilesView>, arguments: (Fd, PathFlags, String, Fd, String)) -> FsResult<()> {
    let (dir, follow, name, new_dir, new_name) = arguments;
    check_follow(follow)?;
    // A hard link would let the guest change a file that it may not open.
    let from = check_movable(&mut store, &dir, &name)?;
    let holder = check_new(&mut store, &new_dir, &new_name)?;
    #[cfg(target_os = "linux")]
    if super::mode::is_temporary(&new_name) {
        at_once(store.data_mut().filesystem().link_at(dir, follow, name, new_dir, new_name.clone()))?;
        store.data_mut().files().own_links.add(&holder, &new_name);
        return Ok(());
    }
    let mut view = store.data_mut().filesystem();
    let linked = at_once(view.link_at(dir, follow, name.clone(), new_dir, new_name.clone()));
    sharing::explain(linked, &[(&from, &name), (&holder, &new_name)])
}

fn metadata_hash_at(
    mut store: Store<'_, impl FilesView>,
    (dir, follow, name): (Fd, PathFlags, String),
) -> FsResult<MetadataHashValue> {
    check_follow(follow)?;
    entry(&mut store, &dir, &name)?;
    at_once(store.data_mut().filesystem().metadata_hash_at(dir, follow, name))
}

/// Reads a symbolic link. The stock function refuses every absolute target; this one refuses those that would reveal
/// a path outside of the roots. Only the guest follows the link.
fn readlink_at(mut store: Store<'_, impl FilesView>, (dir, name): (Fd, String)) -> FsResult<String> {
    let dir = entry(&mut store, &dir, &name)?;
    let target = read_link_contents(&dir.dir, Path::new(&name)).map_err(ErrorCode::from)?;
    let guest_target = host_path::for_guest(&target).ok_or(ErrorCode::IllegalByteSequence)?;
    check_target(&mut store, &target)?;
    Ok(guest_target)
}

fn remove_directory_at(mut store: Store<'_, impl FilesView>, (dir, name): (Fd, String)) -> FsResult<()> {
    let holder = check_movable(&mut store, &dir, &name)?;
    let removed = at_once(store.data_mut().filesystem().remove_directory_at(dir, name.clone()));
    sharing::explain(removed, &[(&holder, &name)])
}

fn rename_at(mut store: Store<'_, impl FilesView>, (dir, from, to_dir, to): RenameAt) -> FsResult<()> {
    let holder = check_movable(&mut store, &dir, &from)?;
    let to_holder = check_movable(&mut store, &to_dir, &to)?;
    #[cfg(target_os = "linux")]
    if super::mode::is_temporary(&from) {
        carry(&mut store, (&dir, &from), (&to_dir, &to))?;
    }
    let mut view = store.data_mut().filesystem();
    #[cfg(target_os = "linux")]
    if let Some(mode) = super::mode::requested(&to) {
        return Ok(super::mode::set(directory(view.table.get(&dir)?)?, &from, mode?)?);
    }
    let renamed = at_once(view.rename_at(dir, from.clone(), to_dir, to.clone()));
    sharing::explain(renamed, &[(&holder, &from), (&to_holder, &to)])
}

/// Gives a guest's temporary file the mode, owner and attributes of the file that it replaces.
#[cfg(target_os = "linux")]
fn carry(store: &mut Store<'_, impl FilesView>, (dir, from): (&Fd, &str), (to_dir, to): (&Fd, &str)) -> FsResult<()> {
    if super::mode::requested(to).is_some() {
        return Ok(());
    }
    let state = store.data_mut();
    let view = state.filesystem();
    let (dir, to_dir) = (directory(view.table.get(dir)?)?.clone(), directory(view.table.get(to_dir)?)?.clone());
    Ok(super::mode::carry(&state.files().own_links, (&dir, from), (&to_dir, to))?)
}

fn set_times_at(
    mut store: Store<'_, impl FilesView>,
    arguments: (Fd, PathFlags, String, NewTimestamp, NewTimestamp),
) -> FsResult<()> {
    let (dir, follow, name, access, modification) = arguments;
    check_follow(follow)?;
    check_movable(&mut store, &dir, &name)?;
    at_once(store.data_mut().filesystem().set_times_at(dir, follow, name, access, modification))
}

fn stat_at(
    mut store: Store<'_, impl FilesView>,
    (dir, follow, name): (Fd, PathFlags, String),
) -> FsResult<DescriptorStat> {
    check_follow(follow)?;
    entry(&mut store, &dir, &name)?;
    at_once(store.data_mut().filesystem().stat_at(dir, follow, name))
}

/// Creates a symbolic link. The target may be absolute where [`readlink_at`] returns it, so that a link that was
/// deleted or copied keeps its target.
fn symlink_at(mut store: Store<'_, impl FilesView>, (dir, target, name): (Fd, String, String)) -> FsResult<()> {
    check_new(&mut store, &dir, &name)?;
    #[cfg(target_os = "linux")]
    if target.starts_with('/') {
        check_target(&mut store, Path::new(&target))?;
        let dir = directory(store.data_mut().filesystem().table.get(&dir)?)?;
        if super::is_read_only(dir) {
            return Err(ErrorCode::NotPermitted.into());
        }
        return Ok(rustix::fs::symlinkat(&target, &dir.dir, &name).map_err(super::code)?);
    }
    at_once(store.data_mut().filesystem().symlink_at(dir, target, name))
}

fn unlink_file_at(mut store: Store<'_, impl FilesView>, (dir, name): (Fd, String)) -> FsResult<()> {
    let holder = check_movable(&mut store, &dir, &name)?;
    let removed = at_once(store.data_mut().filesystem().unlink_file_at(dir, name.clone()));
    sharing::explain(removed, &[(&holder, &name)])
}

/// Returns the directory of an entry. Fails if `name` is not one name, or not the entry's own.
fn entry(store: &mut Store<'_, impl FilesView>, dir: &Fd, name: &str) -> FsResult<Dir> {
    if !is_name(name) {
        return Err(ErrorCode::NotPermitted.into());
    }
    name_rules::check(name)?;
    Ok(directory(store.data_mut().filesystem().table.get(dir)?)?.clone())
}

/// Fails if the target of a link is absolute and the guest may not know it.
fn check_target(store: &mut Store<'_, impl FilesView>, target: &Path) -> FsResult<()> {
    let is_allowed = store.data_mut().files().link_targets.allow(target);
    if is_allowed { Ok(()) } else { Err(ErrorCode::NotPermitted.into()) }
}

fn check_follow(follow: PathFlags) -> FsResult<()> {
    if follow.contains(PathFlags::SYMLINK_FOLLOW) { Err(ErrorCode::NotPermitted.into()) } else { Ok(()) }
}

/// Returns the directory of an entry. Fails if `name` is not one name, or if its entry must not be moved.
fn check_movable(store: &mut Store<'_, impl FilesView>, dir: &Fd, name: &str) -> FsResult<Dir> {
    let dir = entry(store, dir, name)?;
    store.data_mut().files().access_control.check_movable(&dir, name)?;
    Ok(dir)
}

/// Returns the directory of an entry. Fails if `name` is not one name, or is reserved for Paddock's own files.
fn check_new(store: &mut Store<'_, impl FilesView>, dir: &Fd, name: &str) -> FsResult<Dir> {
    let dir = entry(store, dir, name)?;
    store.data_mut().files().access_control.check_new(&dir, name)?;
    Ok(dir)
}
