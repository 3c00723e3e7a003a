//! Open directories of an overlay. Each directory has a single node, so that all handles see its changes.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::rc::{Rc, Weak};

use crate::{Dir, Fault, FsResult};

/// A directory of an overlay.
pub struct Node {
    /// Index of its root.
    pub root: usize,
    /// Parent directory, and the name in it; `None` for a root and for a removed directory.
    way: RefCell<Option<(Rc<Node>, String)>>,
    /// Directory of the base, if it is visible.
    base: RefCell<Option<Dir>>,
    upper: RefCell<Option<Dir>>,
    /// Marks on the base's names.
    whiteouts: RefCell<Option<Whiteouts>>,
    below: RefCell<BTreeMap<String, Weak<Node>>>,
    is_removed: Cell<bool>,
    /// Names with upper entries or whiteouts according to the last listing, and the number of changes at that time.
    listed: RefCell<Option<(u64, Rc<HashSet<String>>)>>,
}

/// Directories with the whiteouts of one directory.
#[derive(Clone)]
pub struct Whiteouts {
    /// The directory that contains the other two.
    pub(super) dir: Dir,
    /// Whiteouts of its names, if there are any.
    pub(super) at: Option<Dir>,
    /// Whiteouts of its subdirectories, if there are any.
    pub(super) within: Option<Dir>,
}

impl Node {
    pub fn root(root: usize, base: Dir, upper: Option<Dir>, whiteouts: Option<Whiteouts>) -> Rc<Self> {
        Rc::new(Self::new(root, None, Some(base), upper, whiteouts))
    }

    fn new(
        root: usize,
        way: Option<(Rc<Self>, String)>,
        base: Option<Dir>,
        upper: Option<Dir>,
        whiteouts: Option<Whiteouts>,
    ) -> Self {
        Self {
            root,
            way: RefCell::new(way),
            base: RefCell::new(base),
            upper: RefCell::new(upper),
            whiteouts: RefCell::new(whiteouts),
            below: RefCell::default(),
            is_removed: Cell::default(),
            listed: RefCell::default(),
        }
    }

    /// Stores the names with upper entries or whiteouts that a listing found. They are valid until the next change.
    pub fn set_listed(&self, changes: u64, names: HashSet<String>) {
        self.listed.replace(Some((changes, Rc::new(names))));
    }

    /// Returns whether a name is known to be only in the base.
    pub fn is_base_only(&self, changes: u64, name: &str) -> bool {
        self.listed.borrow().as_ref().is_some_and(|(then, names)| *then == changes && !names.contains(name))
    }

    /// Creates the node of the directory `name`, which was not open.
    pub fn open(
        self: &Rc<Self>,
        name: &str,
        base: Option<Dir>,
        upper: Option<Dir>,
        whiteouts: Option<Whiteouts>,
    ) -> Rc<Self> {
        let node = Rc::new(Self::new(self.root, Some((self.clone(), name.to_owned())), base, upper, whiteouts));
        self.below.borrow_mut().insert(name.to_owned(), Rc::downgrade(&node));
        node
    }

    /// Returns the node of the directory `name` if it is open.
    pub fn opened(&self, name: &str) -> Option<Rc<Self>> {
        self.below.borrow().get(name)?.upgrade()
    }

    pub fn way(&self) -> Option<(Rc<Self>, String)> {
        self.way.borrow().clone()
    }

    /// Returns the names from the root to this directory.
    pub fn path(&self) -> Vec<String> {
        let mut path = Vec::new();
        let mut next = self.way();
        while let Some((above, name)) = next {
            path.push(name);
            next = above.way();
        }
        path.reverse();
        path
    }

    pub fn base(&self) -> Option<Dir> {
        self.base.borrow().clone()
    }

    pub fn upper(&self) -> Option<Dir> {
        self.upper.borrow().clone()
    }

    pub fn set_upper(&self, upper: Dir) {
        self.upper.replace(Some(upper));
    }

    pub fn whiteouts(&self) -> Option<Whiteouts> {
        self.whiteouts.borrow().clone()
    }

    pub fn set_whiteouts(&self, whiteouts: Whiteouts) {
        self.whiteouts.replace(Some(whiteouts));
    }

    /// Returns the directory of the highest layer.
    pub fn highest(&self) -> FsResult<Dir> {
        self.upper().or_else(|| self.base()).ok_or(Fault::NotFound)
    }

    pub fn is_removed(&self) -> bool {
        self.is_removed.get()
    }

    /// Returns whether this directory is `name` in `above`, or below it.
    pub fn is_within(self: &Rc<Self>, above: &Rc<Self>, name: &str) -> bool {
        let mut next = self.way();
        while let Some((holder, own)) = next {
            if Rc::ptr_eq(&holder, above) && own == name {
                return true;
            }
            next = holder.way();
        }
        false
    }

    /// Records that a whiteout hides the base's directory `name` as a whole.
    pub fn hide_base(&self, name: &str) {
        let mut ahead: Vec<_> = self.opened(name).into_iter().collect();
        while let Some(node) = ahead.pop() {
            node.base.replace(None);
            node.whiteouts.replace(None);
            ahead.extend(node.below.borrow().values().filter_map(Weak::upgrade));
        }
    }

    /// Records the removal of `name`. Open handles then see an empty directory in which nothing can be created.
    pub fn forget(&self, name: &str) {
        let mut ahead: Vec<_> = self.opened(name).into_iter().collect();
        self.below.borrow_mut().remove(name);
        while let Some(node) = ahead.pop() {
            node.base.replace(None);
            node.whiteouts.replace(None);
            node.upper.replace(None);
            node.is_removed.set(true);
            ahead.extend(node.below.borrow().values().filter_map(Weak::upgrade));
        }
    }

    /// Records that `name` was moved to `to` in `into`.
    pub fn moved(&self, name: &str, into: &Rc<Self>, to: &str) {
        into.forget(to);
        let moved = self.opened(name);
        self.below.borrow_mut().remove(name);
        if let Some(node) = moved {
            node.way.replace(Some((into.clone(), to.to_owned())));
            into.below.borrow_mut().insert(to.to_owned(), Rc::downgrade(&node));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let Some((above, name)) = self.way.take() else { return };
        // Another directory may have been opened under this name since.
        if let Ok(mut below) = above.below.try_borrow_mut()
            && below.get(&name).is_some_and(|node| node.strong_count() == 0)
        {
            below.remove(&name);
        }
    }
}
