//! What a walk shows, and where it begins.

use globset::GlobSet;
use paddock_search::hidden::Hidden;
use serde::{Deserialize, Serialize};

/// What a walk shows.
#[derive(Clone, Default)]
pub struct Options {
    /// Entries whose name starts with a dot.
    pub hidden: Hidden,
    /// Show what ignore rules exclude, and `.git`.
    pub include_ignored: bool,
    /// Levels to descend; none is as deep as it goes.
    pub max_depth: Option<u32>,
    /// What is left out, by paths below the top; directories with all that is in them.
    pub exclude: GlobSet,
    /// Names of the only entries to look at on the first levels.
    pub prefix: Vec<String>,
    /// Where to begin; none is at the top.
    pub start: Option<Start>,
    /// The path, relative to the top, before which to end; none is at the end.
    pub until: Option<String>,
}

/// A place in the order of a walk. Nothing has to exist there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// A path relative to the top of the walk.
    pub path: String,
    /// Whether what is there comes first; else only what follows it.
    pub inclusive: bool,
}
