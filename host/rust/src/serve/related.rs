//! Workspaces of the configuration whose directories are the same, or contain one another.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::directory::{Directory, Identity};

/// Names of workspaces by directories.
#[derive(Default)]
pub(super) struct Related {
    /// The workspaces of a directory.
    of: HashMap<Identity, Vec<Arc<str>>>,
    /// The workspaces in a directory.
    below: HashMap<Identity, Vec<Arc<str>>>,
}

impl Related {
    pub(super) fn add(&mut self, name: &str, directory: &Directory) {
        let name: Arc<str> = name.into();
        self.of.entry(directory.identity()).or_default().push(name.clone());
        for above in directory.ancestors() {
            self.below.entry(*above).or_default().push(name.clone());
        }
    }

    /// Returns the names of the workspaces other than `own` whose directories contain this one or are in it.
    pub(super) fn to(&self, own: &str, directory: &Directory) -> BTreeSet<&str> {
        let own_and_above = directory.ancestors().iter().copied().chain([directory.identity()]);
        let related = own_and_above.filter_map(|identity| self.of.get(&identity));
        let names = related.chain(self.below.get(&directory.identity())).flatten().map(|name| &**name);
        names.filter(|name| *name != own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_contain_one_another_are_related() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("a/b/c")).unwrap();
        std::fs::create_dir_all(home.path().join("a/d")).unwrap();
        let open = |path: &str| Directory::open(&home.path().join(path)).unwrap();
        let mut related = Related::default();
        for (name, path) in [("b", "a/b"), ("twin", "a/b"), ("c", "a/b/c"), ("d", "a/d")] {
            related.add(name, &open(path));
        }
        for (own, path, names) in [
            ("b", "a/b", &["c", "twin"][..]),
            ("c", "a/b/c", &["b", "twin"]),
            ("d", "a/d", &[]),
            ("template", "a", &["b", "c", "d", "twin"]),
            ("template", "a/b", &["b", "c", "twin"]),
        ] {
            assert!(related.to(own, &open(path)).into_iter().eq(names.iter().copied()), "{own}, {path}");
        }
    }
}
