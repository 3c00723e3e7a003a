//! Selection of the entries that a walk returns, and its start.

use paddock_search::globs::Globs;
use paddock_search::hidden::Hidden;
use serde::{Deserialize, Serialize};

/// Selection of the entries that a walk returns.
#[derive(Clone, Default)]
pub struct Options {
    /// Entries whose name starts with a dot.
    pub hidden: Hidden,
    /// Whether to include entries that ignore rules exclude, and `.git`.
    pub include_ignored: bool,
    /// Levels to descend; `None` is all.
    pub max_depth: Option<u32>,
    /// Entries to leave out, by paths below the top; a directory is left out with its content.
    pub exclude: Globs,
    /// Names of the only entries to visit, one per level, on the first levels.
    pub prefix: Vec<String>,
    /// Whether the caller uses only names and types, so that not every directory has to be opened.
    pub names_only: bool,
    /// Start of the walk; `None` is the top.
    pub start: Option<Start>,
    /// Path, relative to the top, before which the walk ends; `None` is the end.
    pub until: Option<String>,
}

impl Options {
    /// Returns the number of names in [`Self::until`].
    pub(super) fn end_depth(&self) -> usize {
        self.until.as_ref().map_or(0, |until| until.split('/').count())
    }
}

/// A position in the order of a walk. An entry need not exist there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// A path relative to the top of the walk.
    pub path: String,
    /// Whether the walk includes the entry at the position itself.
    pub inclusive: bool,
}
