//! Requests about many files: their content, and a tree of them.

use serde::Serialize;

use crate::request::PathSort;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum LetterCase {
    #[default]
    Sensitive,
    Insensitive,
    Smart,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum GrepOutput {
    #[default]
    Content,
    Files,
    Count,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grep {
    pub pattern: String,
    pub path: String,
    pub glob: Option<String>,
    pub fixed: bool,
    pub letter_case: LetterCase,
    pub multiline: bool,
    pub word: bool,
    pub before: u32,
    pub after: u32,
    pub output: GrepOutput,
    #[serde(skip)]
    pub limit: u32,
    pub max_per_file: Option<u32>,
    pub include_hidden: bool,
    pub include_ignored: bool,
    #[serde(skip)]
    pub cursor: Option<String>,
    /// The order of the files of one answer.
    #[serde(skip)]
    pub sort: PathSort,
    /// Whether a list of files may have more bytes than other results, for a caller who cannot continue it.
    #[serde(skip)]
    pub unlimited: bool,
    /// Whether lines are returned whole, for a program that reads them. Such a search is not parallel.
    #[serde(skip)]
    pub whole_lines: bool,
}

impl Grep {
    /// Returns a search for `pattern` in the whole workspace, with defaults for all other fields.
    pub fn of(pattern: String) -> Self {
        Self {
            pattern,
            path: ".".to_owned(),
            glob: None,
            fixed: false,
            letter_case: LetterCase::Sensitive,
            multiline: false,
            word: false,
            before: 0,
            after: 0,
            output: GrepOutput::Content,
            limit: 100,
            max_per_file: None,
            include_hidden: false,
            include_ignored: false,
            cursor: None,
            sort: PathSort::Path,
            unlimited: false,
            whole_lines: false,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Replace {
    pub pattern: String,
    pub replacement: String,
    pub path: String,
    pub glob: Option<String>,
    pub fixed: bool,
    pub letter_case: LetterCase,
    pub multiline: bool,
    pub word: bool,
    pub include_hidden: bool,
    pub include_ignored: bool,
    pub exclude_paths: Vec<String>,
    pub plan: Option<String>,
    pub cursor: Option<String>,
}

impl Replace {
    /// Returns a replacement of `pattern` in the whole workspace, with defaults for all other fields.
    pub fn of(pattern: String, replacement: String) -> Self {
        Self {
            pattern,
            replacement,
            path: ".".to_owned(),
            glob: None,
            fixed: false,
            letter_case: LetterCase::Sensitive,
            multiline: false,
            word: false,
            include_hidden: false,
            include_ignored: false,
            exclude_paths: Vec::new(),
            plan: None,
            cursor: None,
        }
    }

    /// Returns the search for the text to replace.
    pub fn search(&self) -> Grep {
        Grep {
            path: self.path.clone(),
            glob: self.glob.clone(),
            fixed: self.fixed,
            letter_case: self.letter_case,
            multiline: self.multiline,
            word: self.word,
            include_hidden: self.include_hidden,
            include_ignored: self.include_ignored,
            ..Grep::of(self.pattern.clone())
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    #[serde(skip)]
    pub since: Option<String>,
    pub path: String,
    pub include_hidden: bool,
    pub include_ignored: bool,
    #[serde(skip)]
    pub limit: u32,
}

impl Changes {
    /// Returns a request for the whole workspace, with defaults for all other fields.
    pub fn of(since: Option<String>) -> Self {
        Self { since, path: ".".to_owned(), include_hidden: false, include_ignored: false, limit: 200 }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub path: String,
    pub depth: u32,
    pub limit: u32,
    /// Globs of excluded entries, directories with their content.
    pub exclude: Vec<String>,
    pub include_hidden: bool,
    pub include_ignored: bool,
    /// Whether the text may have more bytes than other results, for a caller who needs the whole tree.
    pub unlimited: bool,
}

impl Tree {
    /// Returns a request for the tree below the directory `path`, with defaults for all other fields.
    pub fn of(path: String) -> Self {
        let (include_hidden, include_ignored) = (false, false);
        Self { path, depth: 3, limit: 500, exclude: Vec::new(), include_hidden, include_ignored, unlimited: false }
    }
}
