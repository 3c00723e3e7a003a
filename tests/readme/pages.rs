//! The pages of the README and the guide, and their parts.

use std::fs;

use super::repository;

/// The directory of the guide's pages, from the top of the repository.
pub(super) const GUIDE: &str = "host/guide/src";

/// A page of Markdown.
pub(super) struct Page {
    /// Path from the top of the repository.
    pub path: String,
    pub text: String,
}

/// A fenced block of code.
pub(super) struct Block<'page> {
    /// The words after the opening fence, such as `rust,no_run`.
    pub language: &'page str,
    pub text: String,
}

impl Page {
    fn read(path: &str) -> Self {
        Self { path: path.to_owned(), text: fs::read_to_string(repository().join(path)).expect(path) }
    }

    /// Returns the fenced blocks, in order.
    pub(super) fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks = Vec::new();
        let mut open: Option<Block<'_>> = None;
        for line in self.text.lines() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(language), None) => open = Some(Block { language, text: String::new() }),
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => block.text += &format!("{line}\n"),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a fence is not closed", self.path);
        blocks
    }

    /// Returns the blocks in `language`.
    pub(super) fn blocks_in(&self, language: &str) -> Vec<String> {
        self.blocks().into_iter().filter(|block| block.language == language).map(|block| block.text).collect()
    }

    /// Returns the text without fenced blocks.
    pub(super) fn prose(&self) -> String {
        let mut fenced = false;
        let mut prose = String::new();
        for line in self.text.lines() {
            let is_fence = line.starts_with("```");
            if !is_fence && !fenced {
                prose += &format!("{line}\n");
            }
            fenced ^= is_fence;
        }
        prose
    }

    /// Returns the code spans of the prose.
    pub(super) fn code_spans(&self) -> Vec<String> {
        let odd = |line: &str| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        self.prose().lines().flat_map(odd).collect()
    }

    /// Returns the headings without `#`.
    pub(super) fn headings(&self) -> Vec<String> {
        let heading = |line: &str| line.starts_with('#').then(|| line.trim_start_matches('#').trim().to_owned());
        self.prose().lines().filter_map(heading).collect()
    }
}

pub(super) fn readme() -> Page {
    Page::read("README.md")
}

/// Returns a page of the guide by its name without `.md`.
pub(super) fn guide(name: &str) -> Page {
    Page::read(&format!("{GUIDE}/{name}.md"))
}

/// Returns the names of the guide's pages without `.md`, except the summary.
pub(super) fn names() -> Vec<String> {
    let files = fs::read_dir(repository().join(GUIDE)).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> =
        files.filter_map(|name| name.to_str().unwrap().strip_suffix(".md").map(str::to_owned)).collect();
    names.retain(|name| name != "SUMMARY");
    names.sort();
    names
}

/// Returns the names of the decision records, as pages of the guide.
pub(super) fn decisions() -> Vec<String> {
    let files = fs::read_dir(repository().join(GUIDE).join("decisions")).unwrap();
    let names = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| Some(format!("decisions/{}", name.strip_suffix(".md")?))).collect()
}

pub(super) fn contributing() -> Page {
    Page::read("CONTRIBUTING.md")
}

/// Returns the README and all pages of the guide.
pub(super) fn all() -> Vec<Page> {
    let pages = names().into_iter().chain(decisions());
    std::iter::once(readme()).chain(pages.map(|name| guide(&name))).collect()
}
