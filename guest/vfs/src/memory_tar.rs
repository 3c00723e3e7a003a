//! The memory backend's tree as a tar archive, in path order.

use std::io::Read;

use paddock_types::entry::{Kind, Time};
use paddock_types::error::{Code, Error, Result, printable};

use crate::memory::MemoryFs;
use crate::{Dir, Fault, Filesystem, FsResult, Open, READ_SIZE, Stat};

/// Maximum length of a member's path, and of one name in it, in bytes, as for every path.
const MAX_PATH_BYTES: usize = 4_096;
const MAX_NAME_BYTES: usize = 255;

/// Replaces the tree by the content of the archive. If the archive cannot be read, the tree is unchanged.
pub fn load(memory: &MemoryFs, archive: &[u8]) -> Result<()> {
    replace(memory, &memory.empty_like(), archive, "")
}

/// Creates the directory `path` with the content of the archive. After an error, the tree is unchanged.
pub fn add(memory: &MemoryFs, archive: &[u8], path: &str) -> Result<()> {
    replace(memory, &memory.clone_tree(), archive, path)
}

fn replace(memory: &MemoryFs, fresh: &MemoryFs, archive: &[u8], path: &str) -> Result<()> {
    unpack(fresh, archive, path)?;
    memory.replace_tree(fresh).map_err(|fault| fault.at("load", "the archive"))
}

/// Returns the tree as an archive.
pub fn snapshot(memory: &MemoryFs) -> Result<Vec<u8>> {
    let pack = || {
        let mut archive = tar::Builder::new(Vec::new());
        let mut ahead = vec![(String::new(), top(memory)?)];
        while let Some((path, dir)) = ahead.pop() {
            let mut inner = Vec::new();
            for entry in memory.list(&dir)?.entries {
                let path = if path.is_empty() { entry.name.clone() } else { format!("{path}/{}", entry.name) };
                pack_entry(memory, &mut archive, &dir, &entry.name, &path)
                    .map_err(|cause| Fault::Io(cause.to_string()))?;
                if entry.kind == Kind::Directory {
                    inner.push((path, memory.open_dir(&dir, &entry.name)?));
                }
            }
            ahead.extend(inner.into_iter().rev());
        }
        archive.into_inner().map_err(|cause| Fault::Io(cause.to_string()))
    };
    pack().map_err(|fault: Fault| fault.at("snapshot", "the memory tree"))
}

fn pack_entry(
    memory: &MemoryFs,
    archive: &mut tar::Builder<Vec<u8>>,
    dir: &Dir,
    name: &str,
    path: &str,
) -> std::io::Result<()> {
    let other = |fault: Fault| std::io::Error::other(format!("{fault:?}"));
    let stat = memory.stat(dir, name).map_err(other)?;
    let mut header = tar::Header::new_gnu();
    header.set_mtime(stat.modified.map_or(0, |modified| modified.seconds));
    header.set_size(0);
    header.set_mode(memory.mode(dir, name).unwrap_or(0o644));
    match stat.kind {
        Kind::Directory => {
            header.set_entry_type(tar::EntryType::Directory);
            archive.append_data(&mut header, path, std::io::empty())
        }
        Kind::Link => {
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_mode(0o777);
            archive.append_link(&mut header, path, memory.read_link(dir, name).map_err(other)?)
        }
        Kind::File | Kind::Other => {
            let bytes = bytes(memory, dir, name, &stat).map_err(other)?;
            header.set_size(bytes.len() as u64);
            archive.append_data(&mut header, path, bytes.as_slice())
        }
    }
}

fn bytes(memory: &MemoryFs, dir: &Dir, name: &str, stat: &Stat) -> FsResult<Vec<u8>> {
    let file = memory.open_file(dir, name, Open::Read)?;
    let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0));
    while memory.read(&file, bytes.len() as u64, READ_SIZE, &mut bytes)? > 0 {}
    Ok(bytes)
}

fn unpack(memory: &MemoryFs, archive: &[u8], top: &str) -> Result<()> {
    let bad = |cause: String| Error::new(Code::InvalidArgument, format!("cannot load the archive: {cause}"));
    let mut archive = tar::Archive::new(archive);
    let mut directories = Vec::new();
    make_dirs(memory, top).map_err(|fault| fault.at("load", top))?;
    for entry in archive.entries().map_err(|cause| bad(cause.to_string()))? {
        let mut entry = entry.map_err(|cause| bad(cause.to_string()))?;
        let path = String::from_utf8(entry.path_bytes().into_owned())
            .map_err(|_| bad("a member's name is not UTF-8".to_owned()))?;
        let unpacked = unpack_entry(memory, &mut entry, (top, &path), &mut directories);
        unpacked.map_err(|fault| match fault {
            Fault::NoSpace => no_space(memory),
            fault => bad(format!("member `{}`: {}", printable(&path), fault.at("make", &path).message())),
        })?;
    }
    // Each creation of an entry changes the time of its directory.
    let timed = directories.into_iter().try_for_each(|(above, name, time)| memory.set_modified(&above, &name, time));
    timed.map_err(|fault| bad(format!("{fault:?}")))
}

/// Creates an entry. The time of a directory is added to `directories` and set when all entries exist.
fn unpack_entry(
    memory: &MemoryFs,
    entry: &mut tar::Entry<'_, &[u8]>,
    (top, path): (&str, &str),
    directories: &mut Vec<(Dir, String, Time)>,
) -> FsResult<()> {
    let io = |cause: std::io::Error| Fault::Io(cause.to_string());
    if path.starts_with('/') || path.len() > MAX_PATH_BYTES {
        return Err(Fault::Outside);
    }
    let path = path.trim_start_matches("./").trim_end_matches('/');
    if path.is_empty() || path == "." {
        return Ok(());
    }
    let path = &format!("{top}/{path}");
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let dir = make_dirs(memory, above)?;
    check_name(name)?;
    let mode = entry.header().mode().map_err(io)?;
    let time = Time { seconds: entry.header().mtime().map_err(io)?, nanoseconds: 0 };
    match entry.header().entry_type() {
        tar::EntryType::Directory => match memory.make_dir(&dir, name) {
            Ok(()) | Err(Fault::Exists) if memory.open_dir(&dir, name).is_ok() => {
                memory.set_mode(&dir, name, mode)?;
                directories.push((dir, name.to_owned(), time));
                return Ok(());
            }
            other => return other,
        },
        tar::EntryType::Symlink => {
            let target = entry.link_name_bytes().ok_or(Fault::Name)?.into_owned();
            memory.symlink(&dir, name, &String::from_utf8(target).map_err(|_| Fault::Name)?)?;
        }
        tar::EntryType::Regular => {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(io)?;
            memory.write(&memory.open_file(&dir, name, Open::CreateNew)?, 0, &bytes)?;
        }
        _ => return Err(Fault::Unsupported),
    }
    memory.set_mode(&dir, name, mode)?;
    memory.set_modified(&dir, name, time)
}

/// Returns the error for a change that would exceed the limit of the tree.
pub fn no_space(memory: &MemoryFs) -> Error {
    let max = memory.limit();
    Error::new(
        Code::NoSpace,
        format!("the workspace in memory would hold more than {max} bytes, its checkpoints included"),
    )
    .hint("delete what is not needed, or ask the person who runs this for a higher `limits.max_tree_bytes`")
}

fn make_dirs(memory: &MemoryFs, path: &str) -> FsResult<Dir> {
    path.split('/').filter(|name| !name.is_empty()).try_fold(top(memory)?, |dir, name| {
        check_name(name)?;
        match memory.make_dir(&dir, name) {
            Ok(()) | Err(Fault::Exists) => memory.open_dir(&dir, name),
            Err(fault) => Err(fault),
        }
    })
}

/// Refuses a member that would be outside the workspace or has a name that no path can have.
fn check_name(name: &str) -> FsResult<()> {
    match name {
        "" | "." | ".." => Err(Fault::Outside),
        name if name.contains(['\\', '\0']) || name.len() > MAX_NAME_BYTES => Err(Fault::Name),
        _ => Ok(()),
    }
}

fn top(memory: &MemoryFs) -> FsResult<Dir> {
    memory.preopens().into_iter().next().map(|preopen| preopen.dir).ok_or(Fault::Gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> MemoryFs {
        MemoryFs::new(&["/workspace"], || Time { seconds: 7, nanoseconds: 0 }, 1)
    }

    #[test]
    fn a_snapshot_loads_as_the_same_tree() {
        let (one, two) = (memory(), memory());
        let dir = make_dirs(&one, "a/b").unwrap();
        one.write(&one.open_file(&dir, "text", Open::CreateNew).unwrap(), 0, b"hello").unwrap();
        one.symlink(&dir, "link", "text").unwrap();
        make_dirs(&one, "empty").unwrap();
        let archive = snapshot(&one).unwrap();
        load(&two, &archive).unwrap();
        assert_eq!(snapshot(&two).unwrap(), archive);
        let dir = make_dirs(&two, "a/b").unwrap();
        assert_eq!(two.read_link(&dir, "link").unwrap(), "text");
        assert_eq!(two.stat(&dir, "text").unwrap().size, 5);
    }

    #[test]
    fn a_directory_keeps_its_time() {
        let (one, two) = (memory(), MemoryFs::new(&["/workspace"], || Time { seconds: 9, nanoseconds: 0 }, 1));
        make_dirs(&one, "a/b").unwrap();
        one.set_modified(&top(&one).unwrap(), "a", Time { seconds: 3, nanoseconds: 0 }).unwrap();
        load(&two, &snapshot(&one).unwrap()).unwrap();
        let seconds = |dir: &Dir, name: &str| two.stat(dir, name).unwrap().modified.unwrap().seconds;
        assert_eq!(seconds(&top(&two).unwrap(), "a"), 3);
        assert_eq!(seconds(&make_dirs(&two, "a").unwrap(), "b"), 7);
    }

    #[test]
    fn a_member_outside_is_refused_and_changes_nothing() {
        let tree = memory();
        make_dirs(&tree, "kept").unwrap();
        let before = snapshot(&tree).unwrap();
        let mut archive = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        header.as_gnu_mut().unwrap().name[..4].copy_from_slice(b"../x");
        header.set_cksum();
        archive.append(&header, &b"y"[..]).unwrap();
        let error = load(&tree, &archive.into_inner().unwrap()).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert_eq!(snapshot(&tree).unwrap(), before);
    }

    #[test]
    fn invalid_archives_are_refused() {
        assert_eq!(load(&memory(), &[1; 600]).unwrap_err().code, Code::InvalidArgument);
    }
}
