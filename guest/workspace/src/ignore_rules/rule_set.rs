//! The compiled rules of one file.

use std::cell::OnceCell;

use globset::{Candidate, Error, Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// Maximum number of rules of a file that are compared one by one. Most files have fewer, and a comparison takes less than
/// the preparation of a glob.
const MAX_PLAIN: usize = 32;

/// Verdict of rules on a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A rule matched.
    Out,
    /// A negated rule matched.
    In,
}

/// The rules of a file, of which the last one that matches decides.
pub struct RuleSet {
    rules: Vec<Rule>,
    globs: GlobSet,
}

struct Rule {
    pattern: Pattern,
    verdict: Verdict,
    only_directories: bool,
}

enum Pattern {
    /// This path.
    Path(String),
    /// Paths at any depth with this name.
    Name(String),
    /// Paths at any depth whose names end like this.
    Suffix(String),
    /// The glob with this index.
    Glob(usize),
}

impl RuleSet {
    /// Returns the verdict on a path relative to the directory of the file, unless no rule matches.
    pub fn verdict(&self, path: &str, is_dir: bool) -> Option<Verdict> {
        let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
        let matching_globs = OnceCell::new();
        let is_match = |pattern: &Pattern| match pattern {
            Pattern::Path(own) => own == path,
            Pattern::Name(own) => own == name,
            Pattern::Suffix(suffix) => name.ends_with(suffix),
            Pattern::Glob(index) => matching_globs.get_or_init(|| self.matching_globs(path)).contains(index),
        };
        let rules = self.rules.iter().rev().filter(|rule| is_dir || !rule.only_directories);
        rules.filter(|rule| is_match(&rule.pattern)).map(|rule| rule.verdict).next()
    }

    fn matching_globs(&self, path: &str) -> Vec<usize> {
        let mut matching = Vec::new();
        self.globs.matches_candidate_into(&Candidate::from_bytes(path), &mut matching);
        matching
    }
}

impl Pattern {
    /// Returns the pattern of a glob that does not depend on the case, if it can be compared without the glob.
    fn plain(glob: &str) -> Option<Self> {
        let is_plain = |text: &str| !text.is_empty() && !text.contains(['*', '?', '[', ']', '{', '}', '\\']);
        let is_plain_name = |text: &str| is_plain(text) && !text.contains('/');
        let own = |text: &str| text.to_owned();
        let Some(at_any_depth) = glob.strip_prefix("**/") else { return is_plain(glob).then(|| Self::Path(own(glob))) };
        match at_any_depth.strip_prefix('*') {
            Some(suffix) => is_plain_name(suffix).then(|| Self::Suffix(own(suffix))),
            None => is_plain_name(at_any_depth).then(|| Self::Name(own(at_any_depth))),
        }
    }
}

/// Rules that are being compiled.
pub struct RuleSetBuilder {
    rules: Vec<Rule>,
    globs: GlobSetBuilder,
    /// Number of globs.
    len: usize,
}

impl RuleSetBuilder {
    /// Creates a builder without rules.
    pub fn new() -> Self {
        Self { rules: Vec::new(), globs: GlobSetBuilder::new(), len: 0 }
    }

    /// Adds a rule in the syntax of gitignore, but with the classes and without the braces of globset.
    ///
    /// # Errors
    ///
    /// The rule is not valid. It is not added.
    pub fn add(&mut self, rule: &str, ignores_case: bool) -> Result<(), Error> {
        let (verdict, rule) = match rule.strip_prefix('!') {
            Some(rule) => (Verdict::In, rule),
            None => (Verdict::Out, rule),
        };
        let (only_directories, pattern) = match rule.strip_suffix('/') {
            // A backslash before the last `/` has no effect.
            Some(rule) => (true, rule.strip_suffix('\\').unwrap_or(rule)),
            None => (false, rule),
        };
        let pattern = self.pattern(&glob_of(pattern), ignores_case)?;
        self.rules.push(Rule { pattern, verdict, only_directories });
        Ok(())
    }

    fn pattern(&mut self, glob: &str, ignores_case: bool) -> Result<Pattern, Error> {
        let is_plain = !ignores_case && self.rules.len() < MAX_PLAIN;
        if let Some(plain) = is_plain.then(|| Pattern::plain(glob)).flatten() {
            return Ok(plain);
        }
        self.globs.add(parse(glob, ignores_case)?);
        self.len += 1;
        Ok(Pattern::Glob(self.len - 1))
    }

    /// Compiles the rules.
    ///
    /// # Errors
    ///
    /// They are too complex.
    pub fn build(self) -> Result<RuleSet, Error> {
        Ok(RuleSet { rules: self.rules, globs: self.globs.build()? })
    }
}

/// Returns the glob for the pattern of a rule, which matches whole paths.
fn glob_of(pattern: &str) -> String {
    // Without a `/` before its end, a pattern matches names at any depth.
    let mut glob = match pattern.strip_prefix('/') {
        Some(anchored) => anchored.to_owned(),
        None if pattern.contains('/') || pattern == "**" => pattern.to_owned(),
        None => format!("**/{pattern}"),
    };
    // The content of a directory, and not the directory.
    if glob.ends_with("/**") {
        glob.push_str("/*");
    }
    glob
}

fn parse(glob: &str, ignores_case: bool) -> Result<Glob, Error> {
    GlobBuilder::new(glob).literal_separator(true).case_insensitive(ignores_case).backslash_escape(true).build()
}
