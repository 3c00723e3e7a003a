//! The compiled rules of one file.

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
    /// Rules that are compared one by one.
    plain: Vec<(Pattern, Rule)>,
    globs: GlobSet,
    /// The rules of the globs, in their order.
    of_globs: Vec<Rule>,
}

#[derive(Clone, Copy)]
struct Rule {
    /// Number of the rule in the file.
    number: usize,
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
}

impl RuleSet {
    /// Returns the verdict on the entry `name` of the directory `above`, unless no rule matches. `above` is relative to the
    /// directory of the file, and empty or with a `/` at its end.
    pub fn verdict(&self, above: &str, name: &str, is_dir: bool) -> Option<Verdict> {
        let applies = |rule: &Rule| is_dir || !rule.only_directories;
        let mut plain = self.plain.iter().rev().filter(|(_, rule)| applies(rule));
        let plain = plain.find(|(pattern, _)| pattern.matches(above, name)).map(|(_, rule)| *rule);
        let has_later = |rule: Rule| self.of_globs.last().is_some_and(|last| last.number > rule.number);
        if self.of_globs.is_empty() || plain.is_some_and(|rule| !has_later(rule)) {
            return plain.map(|rule| rule.verdict);
        }
        let mut matching = Vec::new();
        let path = [above, name].concat();
        self.globs.matches_candidate_into(&Candidate::from_bytes(&path), &mut matching);
        let mut globs = matching.iter().rev().filter_map(|index| self.of_globs.get(*index));
        let glob = globs.find(|rule| applies(rule)).copied();
        plain.into_iter().chain(glob).max_by_key(|rule| rule.number).map(|rule| rule.verdict)
    }
}

impl Pattern {
    /// Returns whether the entry `name` of the directory `above` matches.
    fn matches(&self, above: &str, name: &str) -> bool {
        match self {
            Self::Path(own) => own.strip_prefix(above) == Some(name),
            Self::Name(own) => own == name,
            Self::Suffix(suffix) => name.ends_with(suffix),
        }
    }

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
    plain: Vec<(Pattern, Rule)>,
    globs: GlobSetBuilder,
    of_globs: Vec<Rule>,
}

impl RuleSetBuilder {
    /// Creates a builder without rules.
    pub fn new() -> Self {
        Self { plain: Vec::new(), globs: GlobSetBuilder::new(), of_globs: Vec::new() }
    }

    /// Adds a rule in the syntax of gitignore, but with the classes and without the braces of globset.
    ///
    /// # Errors
    ///
    /// The rule is not valid. It is not added.
    pub fn add(&mut self, rule: &str, ignores_case: bool) -> Result<(), Error> {
        let (verdict, text) = match rule.strip_prefix('!') {
            Some(text) => (Verdict::In, text),
            None => (Verdict::Out, rule),
        };
        let (only_directories, text) = match text.strip_suffix('/') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let rule = Rule { number: self.plain.len() + self.of_globs.len(), verdict, only_directories };
        let glob = glob_of(text);
        let is_plain = !ignores_case && self.plain.len() < MAX_PLAIN;
        match is_plain.then(|| Pattern::plain(&glob)).flatten() {
            Some(pattern) => self.plain.push((pattern, rule)),
            None => {
                self.globs.add(parse(&glob, ignores_case)?);
                self.of_globs.push(rule);
            }
        }
        Ok(())
    }

    /// Compiles the rules.
    ///
    /// # Errors
    ///
    /// They are too complex.
    pub fn build(self) -> Result<RuleSet, Error> {
        Ok(RuleSet { plain: self.plain, globs: self.globs.build()?, of_globs: self.of_globs })
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
