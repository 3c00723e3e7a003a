//! Requests to list a directory and to find paths by a glob.

use serde::Serialize;

/// Details of listed entries that the directory does not contain. Each costs a `stat` or a read of the entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Number of files, from the first on, whose etag is returned.
    pub etags: usize,
    /// Whether to return the kinds of the targets of links.
    pub link_targets: bool,
    /// The first bytes of each file of a size in this range.
    pub heads: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum ListSort {
    #[default]
    Name,
    Size,
    Modified,
    /// Upper levels first; of one level, by path.
    Breadth,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct List {
    pub path: String,
    pub depth: u32,
    pub pattern: Option<String>,
    pub include_hidden: bool,
    pub include_ignored: bool,
    pub sort: ListSort,
    #[serde(skip)]
    pub limit: u32,
    #[serde(skip)]
    pub cursor: Option<String>,
    /// Number of entries to leave out before the first one, for a caller who counts entries.
    #[serde(skip)]
    pub skip: u64,
    #[serde(skip)]
    pub details: Details,
    /// Whether the text may have more bytes than other results, for a caller who cannot continue it.
    #[serde(skip)]
    pub unlimited: bool,
}

impl List {
    /// Returns a listing of the directory `path`, not recursive, with defaults for all other fields.
    pub fn of(path: String) -> Self {
        Self {
            path,
            depth: 1,
            pattern: None,
            include_hidden: false,
            include_ignored: false,
            sort: ListSort::Name,
            limit: 200,
            cursor: None,
            skip: 0,
            details: Details::default(),
            unlimited: false,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum PathSort {
    #[default]
    Path,
    Modified,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Glob {
    pub pattern: String,
    pub path: String,
    /// Globs of excluded entries, directories with their content.
    pub exclude: Vec<String>,
    /// Directories are found too.
    pub directories: bool,
    /// Whether symbolic links are found too, if their target is in the workspace.
    #[serde(skip)]
    pub links: bool,
    pub include_hidden: bool,
    pub include_ignored: bool,
    pub sort: PathSort,
    #[serde(skip)]
    pub limit: u32,
    #[serde(skip)]
    pub cursor: Option<String>,
    /// The answer describes each path.
    #[serde(skip)]
    pub details: Option<Details>,
    /// Whether the text may have more bytes than other results, for a caller who cannot continue it.
    #[serde(skip)]
    pub unlimited: bool,
}

impl Glob {
    /// Returns a search for paths that match `pattern` in the whole workspace, with defaults for all other fields.
    pub fn of(pattern: String) -> Self {
        Self {
            pattern,
            path: ".".to_owned(),
            exclude: Vec::new(),
            directories: false,
            links: false,
            include_hidden: false,
            include_ignored: false,
            sort: PathSort::Path,
            limit: 100,
            cursor: None,
            details: None,
            unlimited: false,
        }
    }
}
