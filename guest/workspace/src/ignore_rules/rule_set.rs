//! The compiled rules of one file.

use globset::{Candidate, Error, Glob, GlobBuilder, GlobSet, GlobSetBuilder};

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
    globs: GlobSet,
    /// The rules, in the order of their globs.
    rules: Vec<Rule>,
}

#[derive(Clone, Copy)]
struct Rule {
    verdict: Verdict,
    only_directories: bool,
}

impl RuleSet {
    /// Returns the verdict on a path relative to the directory of the file, unless no rule matches.
    pub fn verdict(&self, path: &str, is_dir: bool) -> Option<Verdict> {
        let mut matching = Vec::new();
        self.globs.matches_candidate_into(&Candidate::from_bytes(path), &mut matching);
        let rules = matching.iter().rev().filter_map(|index| self.rules.get(*index));
        rules.filter(|rule| is_dir || !rule.only_directories).map(|rule| rule.verdict).next()
    }
}

/// Rules that are being compiled.
pub struct RuleSetBuilder {
    globs: GlobSetBuilder,
    rules: Vec<Rule>,
}

impl RuleSetBuilder {
    /// Creates a builder without rules.
    pub fn new() -> Self {
        Self { globs: GlobSetBuilder::new(), rules: Vec::new() }
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
        self.globs.add(glob(pattern, ignores_case)?);
        self.rules.push(Rule { verdict, only_directories });
        Ok(())
    }

    /// Compiles the rules.
    ///
    /// # Errors
    ///
    /// They are too complex.
    pub fn build(self) -> Result<RuleSet, Error> {
        Ok(RuleSet { globs: self.globs.build()?, rules: self.rules })
    }
}

/// Returns the glob for the pattern of a rule, which matches whole paths.
fn glob(pattern: &str, ignores_case: bool) -> Result<Glob, Error> {
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
    GlobBuilder::new(&glob).literal_separator(true).case_insensitive(ignores_case).backslash_escape(true).build()
}
