//! The content of a directory, for comparison.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Entries by path: the bytes of a file, the target of a link, `None` for a directory.
pub type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// Returns all entries below a directory, without following links.
pub fn tree_of(top: &Path) -> Tree {
    let (mut tree, mut ahead) = (Tree::new(), vec![top.to_owned()]);
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(top).unwrap().to_owned();
            let content = if path.is_symlink() {
                Some(fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
            } else if path.is_dir() {
                ahead.push(path);
                None
            } else {
                Some(fs::read(&path).unwrap())
            };
            tree.insert(name, content);
        }
    }
    tree
}
