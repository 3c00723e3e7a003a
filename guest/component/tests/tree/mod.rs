//! Content of the first root of a file system, for comparisons.

use std::collections::BTreeMap;

use paddock_types::entry::Kind;
use paddock_vfs::{Filesystem, Open};

/// Every path with its kind and content; the content of a link is its target.
pub type Tree = BTreeMap<String, (Kind, Vec<u8>)>;

/// Returns everything below the first root, without following links.
pub fn tree_of(fs: &dyn Filesystem) -> Tree {
    let (mut tree, mut ahead) = (Tree::new(), vec![(String::new(), fs.preopens().remove(0).dir)]);
    while let Some((above, dir)) = ahead.pop() {
        for entry in fs.list(&dir).unwrap().entries {
            let path = format!("{above}{}", entry.name);
            let mut bytes = Vec::new();
            match entry.kind {
                Kind::Directory => ahead.push((format!("{path}/"), fs.open_dir(&dir, &entry.name).unwrap())),
                Kind::Link => bytes = fs.read_link(&dir, &entry.name).unwrap().into_bytes(),
                _ => {
                    let file = fs.open_file(&dir, &entry.name, Open::Read).unwrap();
                    while fs.read(&file, bytes.len() as u64, 1 << 16, &mut bytes).unwrap() > 0 {}
                }
            }
            tree.insert(path, (entry.kind, bytes));
        }
    }
    tree
}
