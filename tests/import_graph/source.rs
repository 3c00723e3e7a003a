//! The imports of one source file.

/// A path that a file names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The inline modules of the file around it.
    pub(crate) inside: Vec<String>,
    pub(crate) path: Vec<String>,
    /// Name in the file, if the `use` declaration renames it.
    alias: Option<String>,
    /// Whether the import is in an inline module that is compiled only for tests.
    pub(crate) is_of_tests: bool,
}

impl Import {
    /// Returns the name by which other items and modules refer to it.
    pub(crate) fn name(&self) -> Option<&String> {
        self.alias.as_ref()
    }
}

/// The modules and imports of a file.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// All paths that can name a module of the same crate.
    pub(crate) imports: Vec<Import>,
    /// Child modules with files of their own that only tests are compiled with.
    pub(crate) test_modules: Vec<String>,
}

impl Source {
    pub(crate) fn read(text: &str) -> Self {
        let tokens = tokens(text);
        let mut reader = Reader { tokens: &tokens, at: 0, inside: Vec::new(), module_source: Self::default() };
        reader.file();
        reader.module_source
    }
}

struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    /// Each open brace; of an inline module with its name, and whether it is of tests.
    inside: Vec<Option<(String, bool)>>,
    module_source: Source,
}

impl Reader<'_> {
    fn token(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    fn file(&mut self) {
        // Whether the next item is compiled only for tests.
        let mut is_of_tests = false;
        while self.at < self.tokens.len() {
            match self.token(0) {
                "#" => {
                    is_of_tests |= self.attribute();
                    continue;
                }
                "pub" => {
                    self.at += if self.token(1) == "(" { 4 } else { 1 };
                    continue;
                }
                "mod" if self.token(2) == "{" => {
                    self.inside.push(Some((self.token(1).to_owned(), is_of_tests)));
                    self.at += 3;
                }
                "mod" if is_of_tests => {
                    self.module_source.test_modules.push(self.token(1).to_owned());
                    self.at += 2;
                }
                "{" => {
                    self.inside.push(None);
                    self.at += 1;
                }
                "}" => {
                    self.inside.pop();
                    self.at += 1;
                }
                "use" => {
                    self.at += 1;
                    self.tree(Vec::new());
                }
                "crate" | "super" | "self" if self.token(1) == "::" => {
                    let path = self.path();
                    self.add(path, None);
                }
                _ => self.at += 1,
            }
            is_of_tests = false;
        }
    }

    /// Reads `#[…]`; whether it is `cfg(test)` or a condition that `test` is part of.
    fn attribute(&mut self) -> bool {
        let start = self.at;
        while !matches!(self.token(0), "]" | "") {
            self.at += 1;
        }
        self.at += 1;
        let attribute = &self.tokens[start..self.at.min(self.tokens.len())];
        attribute.iter().any(|token| token == "cfg")
            && attribute.iter().any(|token| token == "test")
            && !attribute.iter().any(|token| token == "not")
    }

    /// Reads `a::b::c`.
    fn path(&mut self) -> Vec<String> {
        let mut path = vec![self.token(0).to_owned()];
        self.at += 1;
        while self.token(0) == "::" && is_name(self.token(1)) {
            path.push(self.token(1).to_owned());
            self.at += 2;
        }
        path
    }

    /// Reads a tree of a `use` declaration whose first segments are `before`.
    fn tree(&mut self, before: Vec<String>) {
        let mut path = before;
        loop {
            match self.token(0) {
                "{" => {
                    self.at += 1;
                    while !matches!(self.token(0), "}" | "") {
                        self.tree(path.clone());
                        if self.token(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    self.at += 1;
                    return self.add(path, None);
                }
                "::" => self.at += 1,
                name if is_name(name) => {
                    let is_of_the_tree = name == "self" && !path.is_empty();
                    if !is_of_the_tree {
                        path.push(name.to_owned());
                    }
                    self.at += 1;
                    if self.token(0) != "::" {
                        let mut alias = path.last().cloned();
                        if self.token(0) == "as" {
                            alias = Some(self.token(1).to_owned());
                            self.at += 2;
                        }
                        return self.add(path, alias);
                    }
                }
                _ => return self.at += 1,
            }
        }
    }

    fn add(&mut self, path: Vec<String>, alias: Option<String>) {
        let inside: Vec<String> = self.inside.iter().flatten().map(|(name, _)| name.clone()).collect();
        let is_of_tests = self.inside.iter().flatten().any(|(_, is_of_tests)| *is_of_tests);
        self.module_source.imports.push(Import { inside, path, alias, is_of_tests });
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Names and punctuation, without comments and literals.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => string(rest),
            'r' | 'b' if raw(rest).is_some() => raw(rest).unwrap_or(1),
            '\'' => character(rest),
            _ if rest.starts_with("::") => {
                tokens.push("::".to_owned());
                2
            }
            c if c.is_alphanumeric() || c == '_' => {
                let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                tokens.push(rest[..length].to_owned());
                length
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push(c.to_string());
                }
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    tokens
}

/// Returns the length of the string literal at the start.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of the raw or byte string literal at the start.
fn raw(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or(text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let start = text.len() - body.len();
    Some(body.find(&end).map_or(text.len(), |at| start + at + end.len()))
}

/// Returns the length of the character literal at the start, or of the quote of a lifetime.
fn character(text: &str) -> usize {
    let mut rest = text.char_indices().skip(1);
    match (rest.next(), rest.next()) {
        (Some((_, '\\')), Some(_)) => rest.find(|(_, c)| *c == '\'').map_or(text.len(), |(at, _)| at + 1),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[test]
fn every_form_of_an_import_is_read() {
    let source = r##"
        // use crate::comment;
        use crate::{a::{self, B as C}, d};
        pub use super::e::*;
        #[cfg(all(test, unix))]
        mod inner { use super::f; const G: char = '"'; fn h<'a>() -> &'a str { "crate::string" } }
        const R: &str = r#"crate::raw " "#;
        fn i() { crate::j::k(); }
        #[cfg(test)]
        pub(crate) mod l;
        mod m;
    "##;
    let Source { imports, test_modules } = Source::read(source);
    let rendered =
        |i: &Import| format!("{} {} {:?} {}", i.inside.join("::"), i.path.join("::"), i.alias, i.is_of_tests);
    let expected = [
        " crate::a Some(\"a\") false",
        " crate::a::B Some(\"C\") false",
        " crate::d Some(\"d\") false",
        " super::e None false",
        "inner super::f Some(\"f\") true",
        " crate::j::k None false",
    ];
    assert_eq!(imports.iter().map(rendered).collect::<Vec<_>>(), expected);
    assert_eq!(test_modules, ["l"]);
}
