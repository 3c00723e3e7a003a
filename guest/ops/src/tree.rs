//! Returns a directory as a tree.

use paddock_search::glob;
use paddock_search::hidden::Hidden;
use paddock_search::page::{MAX_PAGE, PageBudget};
use paddock_types::entry::Kind;
use paddock_types::error::{Error, Result, Term};
use paddock_types::response::{Response, TreeNode};
use paddock_types::{path_order, request, response};
use paddock_workspace::walk::{Options, Walk};
use paddock_workspace::{Workspace, walk};

use crate::operation::{ChangingOperation, Operation};
use crate::recorder::Recorder;

const OPERATION: &str = "list";
/// Bytes of a line besides the name and the indentation: type, size and line feed.
const LINE_BYTES: usize = 16;

impl Operation for request::Tree {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        None
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Tree)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Tree(tree) = response else { return };
        recorder.add(&tree.path);
    }
}

/// Returns a directory as a tree. If the limit does not suffice, upper levels take precedence, so that a large
/// directory does not hide its siblings.
pub fn run(workspace: &Workspace<'_>, args: &request::Tree) -> Result<response::Tree> {
    for (name, value) in [("depth", args.depth), ("limit", args.limit)] {
        if value == 0 {
            return Err(Error::argument(name, "it has to be at least 1"));
        }
    }
    let (resolved, dir) = workspace.directory_to_search(&args.path, OPERATION)?;
    let options = Options {
        hidden: Hidden::from_flag(args.include_hidden),
        include_ignored: args.include_ignored,
        max_depth: Some(args.depth),
        exclude: glob::exclusion(&args.exclude, || Term::Exclude.into(), &workspace.root_names())?,
        ..Options::default()
    };
    let mut walk = Walk::new(workspace, &resolved, &dir, options, OPERATION)?;
    let budget = PageBudget::new(args.limit, crate::text_bytes(workspace, args.unlimited), LINE_BYTES);
    let mut levels = TreeLevels::new(budget);
    while let Some(entry) = walk.next_entry() {
        if levels.is_within_budget(entry.depth) {
            let size = (entry.kind == Kind::File).then(|| workspace.fs.stat(entry.dir, entry.name));
            levels.push(&entry, size.and_then(|stat| Some(stat.ok()?.size)));
            walk.max_depth = walk.max_depth.min(levels.cut());
        }
    }
    levels.is_over |= walk.stopped;
    levels.cut_text();
    let budget = &levels.budget;
    let is_largest = walk.stopped || budget.entries >= MAX_PAGE || budget.used >= budget.bytes;
    let truncated = levels.is_over;
    let complete = if truncated { levels.complete() } else { args.depth };
    let entries = levels.finish();
    let count = |kind| entries.iter().filter(|entry| entry.kind == kind).count() as u64;
    let (files, directories) = (count(Kind::File), count(Kind::Directory));
    let name = resolved.path.rsplit('/').next().unwrap_or(".").to_owned();
    let tree = nest(name, entries, complete);
    Ok(response::Tree { path: resolved.path, tree, files, directories, skipped: walk.skipped, truncated, is_largest })
}

/// An entry of the tree. It holds no directory open, since a tree can have more directories than a host has handles.
struct Leaf {
    name: String,
    /// Path relative to the top of the tree.
    path: String,
    depth: u32,
    kind: Kind,
    size: Option<u64>,
}

/// The first entries of each level.
struct TreeLevels {
    budget: PageBudget,
    /// Entries by level, starting with depth 1.
    levels: Vec<Vec<Leaf>>,
    /// Whether entries were dropped.
    is_over: bool,
}

impl TreeLevels {
    fn new(budget: PageBudget) -> Self {
        Self { budget, levels: Vec::new(), is_over: false }
    }

    /// Returns whether an entry of this depth can be among the first `limit`. One extra entry per level is kept to
    /// detect truncation.
    fn is_within_budget(&mut self, depth: u32) -> bool {
        let depth = usize::try_from(depth).unwrap_or(usize::MAX);
        let is_within_budget =
            self.levels.get(depth.saturating_sub(1)).is_none_or(|leaves| leaves.len() <= self.budget.entries);
        self.is_over |= !is_within_budget;
        is_within_budget
    }

    fn push(&mut self, entry: &walk::Entry<'_>, size: Option<u64>) {
        let depth = usize::try_from(entry.depth).unwrap_or(usize::MAX);
        // The parent of the entry came first, so at most one level is new.
        if self.levels.len() < depth {
            self.levels.push(Vec::new());
        }
        if let Some(leaves) = self.levels.get_mut(depth.saturating_sub(1)) {
            let (name, path) = (entry.name.to_owned(), entry.below.to_owned());
            leaves.push(Leaf { name, path, depth: entry.depth, kind: entry.kind, size });
        }
    }

    /// Drops the levels for which the levels above leave no room. Returns the depth of the last level kept, or
    /// `u32::MAX` if all fit.
    fn cut(&mut self) -> u32 {
        let mut sum = 0;
        let full = self.levels.iter().position(|leaves| {
            sum += leaves.len();
            sum > self.budget.entries
        });
        let Some(full) = full else { return u32::MAX };
        self.is_over = true;
        self.levels.truncate(full + 1);
        u32::try_from(full + 1).unwrap_or(u32::MAX)
    }

    /// Drops the entries for whose lines the text has no room, the deepest first.
    fn cut_text(&mut self) {
        let mut is_full = false;
        for index in 0..self.levels.len() {
            let Some(leaves) = self.levels.get_mut(index) else { return };
            let budget = &mut self.budget;
            leaves.retain(|leaf| {
                is_full |= budget.is_full();
                if !is_full {
                    // Each level indents a line by two spaces.
                    budget.take(&leaf.name);
                    budget.used += 2 * index;
                }
                !is_full
            });
            if is_full {
                self.is_over = true;
                self.levels.truncate(index + 1);
                return;
            }
        }
    }

    /// Returns the number of levels of which every entry is present.
    fn complete(&self) -> u32 {
        u32::try_from(self.levels.len()).unwrap_or(u32::MAX).saturating_sub(1)
    }

    /// Returns the entries that fit, in the order of the walk.
    fn finish(self) -> Vec<Leaf> {
        let mut leaves: Vec<Leaf> = self.levels.into_iter().flatten().collect();
        leaves.sort_unstable_by(|a, b| path_order::compare(&a.path, &b.path));
        leaves
    }
}

/// Nests entries that come in the order of a walk. A directory above the level `complete` that has no entries is known
/// to be empty.
fn nest(name: String, entries: Vec<Leaf>, complete: u32) -> TreeNode {
    let mut open = vec![TreeNode { name, kind: Kind::Directory, size: None, children: Some(Vec::new()) }];
    for entry in entries {
        close(&mut open, usize::try_from(entry.depth).unwrap_or(usize::MAX));
        let children = (entry.kind == Kind::Directory && entry.depth < complete).then(Vec::new);
        open.push(TreeNode { name: entry.name, kind: entry.kind, size: entry.size, children });
    }
    close(&mut open, 1);
    open.pop().unwrap_or(TreeNode { name: String::new(), kind: Kind::Directory, size: None, children: None })
}

/// Closes the nodes deeper than the first `depth` open ones.
fn close(open: &mut Vec<TreeNode>, depth: usize) {
    while open.len() > depth {
        let (Some(child), Some(parent)) = (open.pop(), open.last_mut()) else { return };
        parent.children.get_or_insert_default().push(child);
    }
}
