//! Workspaces that stay open between requests. Their number is bounded, also for each name, because the holder of a token
//! can restrict it in any number of ways, of which each is a workspace of its own.

use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of open workspaces of one name.
const MAX_OF_NAME: usize = 16;

/// Open workspaces by their names and what else tells them apart.
pub(super) struct Opened<T> {
    entries: HashMap<Key, Entry<T>>,
    max: usize,
    /// Number of uses so far.
    uses: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Name of the workspace.
    pub(super) name: String,
    /// Text that differs between workspaces of one name.
    pub(super) rest: String,
}

struct Entry<T> {
    workspace: Arc<T>,
    last_use: u64,
}

impl<T> Opened<T> {
    pub(super) fn new(max: usize) -> Self {
        Self { entries: HashMap::new(), max, uses: 0 }
    }

    /// Returns the number of open workspaces.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns an open workspace.
    pub(super) fn get(&mut self, key: &Key) -> Option<Arc<T>> {
        self.uses += 1;
        let entry = self.entries.get_mut(key)?;
        entry.last_use = self.uses;
        Some(entry.workspace.clone())
    }

    /// Adds a workspace, and returns it, or the one that another thread has added before. Closes the least recently used
    /// one if there are too many. Returns `None` if all of them are in use.
    pub(super) fn insert(&mut self, key: Key, workspace: Arc<T>) -> Option<Arc<T>> {
        if let Some(known) = self.get(&key) {
            return Some(known);
        }
        let of_name = self.entries.keys().filter(|other| other.name == key.name).count();
        if of_name >= MAX_OF_NAME {
            self.close(|other| other.name == key.name)?;
        } else if self.entries.len() >= self.max {
            self.close(|_| true)?;
        }
        self.entries.insert(key, Entry { workspace: workspace.clone(), last_use: self.uses });
        Some(workspace)
    }

    /// Closes the least recently used workspace of those that no request uses. Returns `None` if there is none.
    fn close(&mut self, is_candidate: impl Fn(&Key) -> bool) -> Option<()> {
        let is_unused =
            |(key, entry): &(&Key, &Entry<T>)| is_candidate(key) && Arc::strong_count(&entry.workspace) == 1;
        let (oldest, _) = self.entries.iter().filter(is_unused).min_by_key(|(_, entry)| entry.last_use)?;
        let oldest = oldest.clone();
        self.entries.remove(&oldest);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: usize, rest: usize) -> Key {
        Key { name: name.to_string(), rest: rest.to_string() }
    }

    #[test]
    fn the_least_recently_used_workspace_is_closed() {
        let mut opened = Opened::new(3);
        for name in 0..3 {
            assert!(opened.insert(key(name, 0), Arc::new(name)).is_some());
        }
        assert_eq!(opened.get(&key(0, 0)).as_deref(), Some(&0));
        assert!(opened.insert(key(3, 0), Arc::new(3)).is_some());
        assert!(opened.get(&key(1, 0)).is_none() && opened.get(&key(0, 0)).is_some());
        assert_eq!(opened.insert(key(3, 0), Arc::new(4)).as_deref(), Some(&3), "another thread was first");
    }

    #[test]
    fn workspaces_in_use_stay_open() {
        let mut opened = Opened::new(2);
        let used: Vec<_> = (0..2).filter_map(|name| opened.insert(key(name, 0), Arc::new(name))).collect();
        assert!(opened.insert(key(2, 0), Arc::new(2)).is_none());
        drop(used);
        assert!(opened.insert(key(2, 0), Arc::new(2)).is_some());
    }

    #[test]
    fn one_workspace_does_not_close_the_others() {
        let mut opened = Opened::new(2 * MAX_OF_NAME);
        assert!((1..=MAX_OF_NAME).all(|name| opened.insert(key(name, 0), Arc::new(name)).is_some()));
        assert!((0..1000).all(|rest| opened.insert(key(0, rest), Arc::new(rest)).is_some()));
        assert!((1..=MAX_OF_NAME).all(|name| opened.get(&key(name, 0)).is_some()));
        assert_eq!(opened.entries.len(), 2 * MAX_OF_NAME);
    }
}
