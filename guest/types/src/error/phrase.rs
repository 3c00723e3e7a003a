//! Texts that name arguments and tools by role. Each dialect renders them with its own names.

use std::borrow::Cow;

use serde::Deserialize;

/// Makes a [`Phrase`] of words, numbers and [`Term`]s, one after the other.
#[macro_export]
macro_rules! phrase {
    ($($piece:expr),+ $(,)?) => { $crate::error::Phrase::of(&mut [$($crate::error::Phrase::from($piece)),+]) };
}

/// Lists the terms, each with its name in the typed interface, in snake case.
macro_rules! terms {
    ($($term:ident = $name:literal),+ $(,)?) => {
        /// Role of an argument or a tool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each says what it is the name of")]
        pub enum Term { $($term),+ }

        impl Term {
            /// All terms.
            pub const ALL: &[Self] = &[$(Self::$term),+];

            /// Returns the name in the typed interface, in snake case.
            pub fn name(self) -> &'static str {
                match self { $(Self::$term => $name),+ }
            }
        }
    };
}

terms! {
    AnchorLine = "anchor_line", Append = "append", Backup = "backup", Checksum = "checksum",
    CreateOnly = "create_only", Cursor = "cursor", Depth = "depth", Destination = "destination", Edits = "edits",
    Encoding = "encoding", Exclude = "exclude", ExcludePaths = "exclude_paths", Files = "files", Fixed = "fixed", Glob = "glob",
    IncludeHidden = "include_hidden", IncludeIgnored = "include_ignored", InsertLine = "insert_line",
    Last = "last", Limit = "limit", MaxSize = "max_size_mb", Mode = "mode", Multiline = "multiline", NewText = "new_text", Offset = "offset",
    OldText = "old_text", Overwrite = "overwrite", Parents = "parents", Patch = "patch", Path = "path", Pattern = "pattern",
    Plan = "plan", Recursive = "recursive", ReplaceAll = "replace_all", Since = "since", Sort = "sort", Sources = "sources", Tail = "tail",
    BytesTool = "read` with `mode: \"base64\"", CopyTool = "copy", DeleteTool = "delete", DescribeTool = "stat", DiffTool = "apply_patch",
    EnvelopeTool = "apply_patch", FindTool = "glob", ListTool = "list",
    MakeDirectoryTool = "make_directory", MoveTool = "move_entry", OutputTool = "write_stdin",
    PartTool = "read` with `offset` and `limit", RewriteTool = "write` with `encoding: \"utf-8\"", ReadTool = "read", SearchTool = "grep",
    UnpackTool = "unpack", WriteTool = "write",
}

impl Term {
    /// Returns whether the term is a tool.
    pub fn is_tool(self) -> bool {
        matches!(
            self,
            Self::BytesTool
                | Self::CopyTool
                | Self::DeleteTool
                | Self::DescribeTool
                | Self::DiffTool
                | Self::EnvelopeTool
                | Self::FindTool
                | Self::ListTool
                | Self::MakeDirectoryTool
                | Self::MoveTool
                | Self::OutputTool
                | Self::PartTool
                | Self::ReadTool
                | Self::RewriteTool
                | Self::SearchTool
                | Self::UnpackTool
                | Self::WriteTool
        )
    }
}

/// The names that one caller has for terms.
pub trait Vocabulary {
    /// Returns the name of a term; `None` if this caller has no such argument or tool.
    fn name(&self, term: Term) -> Option<&str>;

    /// Adds a name to a text, in the letter case of the caller.
    fn write(&self, name: &str, text: &mut String) {
        text.push_str(name);
    }
}

/// Letter case in which a host has the names of the typed interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum NameCase {
    /// As in the WIT.
    #[default]
    #[serde(rename = "kebab-case")]
    Kebab,
    /// As in Rust and Python.
    #[serde(rename = "snake_case")]
    Snake,
    /// As in JavaScript.
    #[serde(rename = "camelCase")]
    Camel,
}

/// The names of the typed interface. No typed function returns the output of a command.
pub struct TypedNames(pub NameCase);

impl Vocabulary for TypedNames {
    fn name(&self, term: Term) -> Option<&str> {
        match term {
            Term::OutputTool => None,
            // `move` is a keyword of Rust, but not of JavaScript.
            Term::MoveTool if self.0 == NameCase::Camel => Some("move"),
            _ => Some(term.name()),
        }
    }

    fn write(&self, name: &str, text: &mut String) {
        for (index, part) in name.split('_').enumerate() {
            match self.0 {
                _ if index == 0 => {}
                NameCase::Kebab => text.push('-'),
                NameCase::Snake => text.push('_'),
                NameCase::Camel => {
                    let (first, rest) = part.split_at(part.len().min(1));
                    text.push_str(&first.to_ascii_uppercase());
                    text.push_str(rest);
                    continue;
                }
            }
            text.push_str(part);
        }
    }
}

/// A text in which arguments and tools are [`Term`]s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phrase(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Words(Cow<'static, str>),
    Term(Term),
    When(Term, String),
}

/// Words for callers who have an argument or tool.
pub struct When(pub Term, pub String);

impl Phrase {
    /// Concatenates these phrases and leaves them empty.
    #[cold]
    #[inline(never)]
    pub fn of(phrases: &mut [Self]) -> Self {
        Self(phrases.iter_mut().flat_map(|phrase| std::mem::take(&mut phrase.0)).collect())
    }

    /// Renders the text in the names of a caller; `None` if the caller lacks one of the terms.
    pub fn text(&self, names: &dyn Vocabulary) -> Option<String> {
        self.render(names, |_| None)
    }

    /// Renders the text in the names of a caller, with names of the typed interface for terms that the caller lacks.
    pub fn full_text(&self, names: &dyn Vocabulary) -> String {
        self.render(names, |term| Some(term.name())).unwrap_or_default()
    }

    fn render(&self, names: &dyn Vocabulary, other: impl Fn(Term) -> Option<&'static str>) -> Option<String> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Words(words) => text.push_str(words),
                Piece::When(term, words) if names.name(*term).is_some() => text.push_str(words),
                Piece::When(..) => {}
                Piece::Term(term) => {
                    text.push('`');
                    names.write(names.name(*term).or_else(|| other(*term))?, &mut text);
                    text.push('`');
                }
            }
        }
        Some(text)
    }
}

impl From<Term> for Phrase {
    #[inline(never)]
    fn from(term: Term) -> Self {
        Self(vec![Piece::Term(term)])
    }
}

impl From<When> for Phrase {
    fn from(When(term, words): When) -> Self {
        Self(vec![Piece::When(term, words)])
    }
}

impl From<&str> for Phrase {
    #[inline(never)]
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

impl From<String> for Phrase {
    #[inline(never)]
    fn from(words: String) -> Self {
        Self(vec![Piece::Words(words.into())])
    }
}

impl From<u64> for Phrase {
    fn from(number: u64) -> Self {
        number.to_string().into()
    }
}

impl From<usize> for Phrase {
    fn from(number: usize) -> Self {
        number.to_string().into()
    }
}

/// Remarks on what would work instead, each in the first wording whose terms the caller has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint(Vec<Vec<Phrase>>);

impl Hint {
    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a remark.
    pub fn add(&mut self, remark: impl Into<Phrase>) {
        self.0.push(vec![remark.into()]);
    }

    /// Adds another wording of the last remark, for callers who lack a name in those before.
    pub fn or(&mut self, wording: impl Into<Phrase>) {
        match self.0.last_mut() {
            Some(wordings) => wordings.push(wording.into()),
            None => self.add(wording),
        }
    }

    /// Adds the remarks of another hint that this hint does not have.
    pub fn merge(&mut self, other: Self) {
        for wordings in other.0 {
            if !self.0.contains(&wordings) {
                self.0.push(wordings);
            }
        }
    }

    /// Renders the remarks whose terms the caller has; `None` if there are none.
    pub fn text(&self, names: &dyn Vocabulary) -> Option<String> {
        let say = |wordings: &Vec<Phrase>| wordings.iter().find_map(|wording| wording.text(names));
        let remarks: Vec<_> = self.0.iter().filter_map(say).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Only(Term, &'static str);

    impl Vocabulary for Only {
        fn name(&self, term: Term) -> Option<&str> {
            (term == self.0).then_some(self.1)
        }
    }

    #[test]
    fn a_remark_is_made_in_words_that_the_caller_has() {
        let mut hint = Hint::default();
        hint.add(phrase!["set ", Term::Multiline]);
        hint.add(phrase![Term::SearchTool, " finds it"]);
        hint.or("search for it");
        let text = |names: &dyn Vocabulary| hint.text(names).unwrap();
        assert_eq!(text(&TypedNames(NameCase::Kebab)), "set `multiline`; `grep` finds it");
        assert_eq!(text(&Only(Term::Multiline, "across_lines")), "set `across_lines`; search for it");
        assert_eq!(text(&Only(Term::SearchTool, "Find")), "`Find` finds it");
        assert_eq!(Hint::default().text(&TypedNames(NameCase::Kebab)), None);
        let message = phrase!["argument ", Term::Limit, ": ", 3_u64, " is too small"];
        assert_eq!(message.full_text(&Only(Term::Tail, "x")), "argument `limit`: 3 is too small");
    }

    #[test]
    fn typed_names_have_the_letter_case_of_the_host() {
        let text = phrase![Term::MakeDirectoryTool, Term::IncludeHidden, Term::BytesTool, Term::MoveTool];
        for (case, expected) in [
            (NameCase::Kebab, "`make-directory``include-hidden``read` with `mode: \"base64\"``move-entry`"),
            (NameCase::Snake, "`make_directory``include_hidden``read` with `mode: \"base64\"``move_entry`"),
            (NameCase::Camel, "`makeDirectory``includeHidden``read` with `mode: \"base64\"``move`"),
        ] {
            assert_eq!(text.text(&TypedNames(case)).unwrap(), expected);
        }
        let output = phrase![Term::OutputTool, " has more"];
        assert_eq!(output.text(&TypedNames(NameCase::Snake)), None);
    }
}
