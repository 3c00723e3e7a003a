//! The merged tree of an overlay and its base, computed from the files on disk without the overlay's code.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::system;
use super::tree::{self, Modes, Node, Tree};

/// Path, content, inode, mode and time of the last status change of an entry.
type Status = (Vec<u8>, Node, [i64; 4]);

/// Returns the data by which any change would be detected.
pub fn status(base: &Path) -> Result<Vec<Status>> {
    let mut status = Vec::new();
    for (path, node) in tree::read(base)? {
        let metadata = fs::symlink_metadata(base.join(tree::name(&path)))?;
        status.push((path, node, system::status(&metadata)));
    }
    Ok(status)
}

/// Returns the tree and the modes of its regular files.
pub fn merged(base: &Path, overlay: &Path) -> Result<(Tree, Option<Modes>)> {
    let mut merged = tree::read(base)?;
    let mut modes = tree::modes(base, &merged)?;
    let below = |name: &str| overlay.join("layers-0").join(name).join("workspace");
    let whiteouts = if below("gone").is_dir() { tree::read(&below("gone"))? } else { Tree::new() };
    for (path, node) in &whiteouts {
        if matches!(node, Node::File(_)) {
            remove(&mut merged, &marked(path));
        }
    }
    if below("upper").is_dir() {
        let upper = tree::read(&below("upper"))?;
        for (path, node) in &upper {
            if *node != Node::Directory {
                remove(&mut merged, path);
            }
            merged.insert(path.clone(), node.clone());
        }
        let own = tree::modes(&below("upper"), &upper)?;
        modes = modes.zip(own).map(|(modes, own)| modes.into_iter().chain(own).collect());
    }
    if let Some(modes) = &mut modes {
        modes.retain(|path, _| matches!(merged.get(path), Some(Node::File(_))));
    }
    Ok((merged, modes))
}

/// Returns the path that a whiteout hides: every other name of the whiteout's path is `in` or `at`.
fn marked(path: &[u8]) -> Vec<u8> {
    path.split(|byte| *byte == b'/').skip(1).step_by(2).collect::<Vec<_>>().join(&b'/')
}

fn remove(tree: &mut Tree, path: &[u8]) {
    let below = [path, b"/"].concat();
    tree.retain(|known, _| known != path && !known.starts_with(&below));
}
