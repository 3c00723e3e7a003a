//! Trees as maps from paths to entries, read from and written to directories and tar archives.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::setup::Start;
use super::system;
use anyhow::{Context, Result, bail};

/// Entries by path, including directories.
pub type Tree = BTreeMap<Vec<u8>, Node>;

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    File(Vec<u8>),
    /// A file of this many zero bytes, too large for memory.
    Sparse(u64),
    Directory,
    Link(String),
    Fifo,
}

/// Size in bytes from which a file counts as sparse and is not read.
const HELD: u64 = 64 << 20;

/// Reads the tree below a directory.
pub fn read(top: &Path) -> Result<Tree> {
    let mut tree = Tree::new();
    read_below(top, &[], &mut tree)?;
    Ok(tree)
}

fn read_below(dir: &Path, prefix: &[u8], tree: &mut Tree) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let entry = entry?;
        let mut path = prefix.to_vec();
        path.extend_from_slice(&system::bytes(&entry.file_name()));
        let node = read_node(&entry.path())?;
        let is_dir = node == Node::Directory;
        tree.insert(path.clone(), node);
        if is_dir {
            path.push(b'/');
            read_below(&entry.path(), &path, tree)?;
        }
    }
    Ok(())
}

fn read_node(path: &Path) -> Result<Node> {
    let metadata = fs::symlink_metadata(path)?;
    let kind = metadata.file_type();
    Ok(match kind {
        _ if kind.is_dir() => Node::Directory,
        _ if kind.is_symlink() => Node::Link(fs::read_link(path)?.to_string_lossy().into_owned()),
        _ if system::is_fifo(kind) => Node::Fifo,
        _ if metadata.len() > HELD => Node::Sparse(metadata.len()),
        _ => Node::File(fs::read(path)?),
    })
}

/// Permission bits of files by path.
pub type Modes = BTreeMap<Vec<u8>, u32>;

/// Returns the modes of the regular files below a directory; `None` if the system has none.
pub fn modes(top: &Path, tree: &Tree) -> Result<Option<Modes>> {
    let files = tree.iter().filter(|(_, node)| matches!(node, Node::File(_)));
    let mode = |path: &Vec<u8>| Ok(system::mode(&top.join(name(path)))?.map(|mode| (path.clone(), mode)));
    files.map(|(path, _)| mode(path)).collect()
}

/// Writes the initial tree of a case to the empty directory `top`.
pub fn write(start: &Start, top: &Path) -> Result<()> {
    // Paths are sorted, so a directory comes before its entries.
    for (path, node) in &start.tree {
        let path_text = String::from_utf8_lossy(path).into_owned();
        write_node(&top.join(name(path)), node).with_context(|| path_text)?;
    }
    for (second, first) in &start.hard_links {
        fs::remove_file(top.join(name(second)))?;
        fs::hard_link(top.join(name(first)), top.join(name(second)))?;
    }
    for (path, mode) in &start.modes {
        system::set_mode(&top.join(name(path)), *mode)?;
    }
    for (path, time) in &start.modified {
        set_modified(&top.join(name(path)), *time)?;
    }
    Ok(())
}

fn set_modified(path: &Path, time: SystemTime) -> Result<()> {
    Ok(system::open_for_times(path)?.set_modified(time)?)
}

fn write_node(path: &Path, node: &Node) -> Result<()> {
    match node {
        Node::File(bytes) => {
            fs::write(path, bytes)?;
            system::set_mode(path, 0o644)?;
        }
        Node::Sparse(size) => fs::File::create_new(path)?.set_len(*size)?,
        Node::Directory => fs::create_dir(path)?,
        Node::Link(target) => system::symlink(target, path)?,
        Node::Fifo => system::fifo(path)?,
    }
    Ok(())
}

/// Returns the initial tree of a case as an archive for the memory backend.
pub fn pack(start: &Start) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, node) in &start.tree {
        let mut header = tar::Header::new_gnu();
        let modified = start.modified.get(path).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        header.set_mtime(modified.map_or(super::backend::NOW, |time| time.as_secs()));
        header.set_mode(0o644);
        header.set_size(0);
        match node {
            Node::File(bytes) => {
                header.set_size(bytes.len() as u64);
                archive.append_data(&mut header, name(path), bytes.as_slice())?;
            }
            Node::Directory => {
                header.set_entry_type(tar::EntryType::Directory);
                archive.append_data(&mut header, name(path), std::io::empty())?;
            }
            Node::Link(target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                archive.append_link(&mut header, name(path), target)?;
            }
            Node::Sparse(_) | Node::Fifo => bail!("the memory backend cannot hold it: say `only` and `reason`"),
        }
    }
    Ok(archive.into_inner()?)
}

/// Returns the tree of a snapshot.
pub fn unpack(archive: &[u8]) -> Result<Tree> {
    let mut tree = Tree::new();
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        let mut path = entry.path_bytes().into_owned();
        if path.last() == Some(&b'/') {
            path.pop();
        }
        let node = match entry.header().entry_type() {
            tar::EntryType::Directory => Node::Directory,
            tar::EntryType::Symlink => {
                let target = entry.link_name_bytes().context("a link without a target")?.into_owned();
                Node::Link(String::from_utf8(target)?)
            }
            _ => {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                Node::File(bytes)
            }
        };
        tree.insert(path, node);
    }
    Ok(tree)
}

/// Converts a path of a tree to the form of the system.
pub fn name(path: &[u8]) -> OsString {
    system::name(path)
}
