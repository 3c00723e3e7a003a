//! Ignore rules in gitignore syntax: which entries a walk leaves out
//! ([`Rules`]), and which entries are blocked for every tool ([`AgentIgnore`]).
//!
//! Rule files belong to the workspace and are not trusted: they are read
//! through the handle of their directory, never through a link, up to a size
//! limit, and matched by an automaton and a bounded number of comparisons, in time linear in the path length.
//!
//! The crate `ignore` takes paths of the standard library, which cost a walk more than the comparison of a rule.
//! `gix-ignore` needs no translation of the syntax, but skips a line with an error silently, and tries one pattern
//! after the other. A wrong line of `.agentignore` has to deny its directory.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use encoding_rs::{Encoding, UTF_8};
use paddock_text::name_folding;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result};
use paddock_vfs::bytes::read_up_to;
use paddock_vfs::{Dir, DirEntry, Fault, Filesystem, FsResult, Open};

use crate::access_rules::{AccessRules, Denial, folded_path};
use crate::ignore_rules::compiled::CompiledRules;
use crate::ignore_rules::rule_set::{RuleSet, Verdict};
use crate::ignore_rules::syntax::{Syntax, compile};

mod compiled;
mod rule_set;
mod syntax;

/// Name of the file whose rules block paths for every tool.
pub const AGENT_IGNORE_FILE: &str = ".agentignore";

/// Maximum size of one rule file in bytes; the largest in common use have a tenth of that.
const MAX_RULE_BYTES: usize = 128 * 1024;
/// Maximum total size in bytes of all files of one name that apply to a path. Compiled rules can take sixty times that.
const MAX_STACK_BYTES: usize = 2 * MAX_RULE_BYTES;

/// Rules that block paths for every tool: the `.agentignore` rules from a root
/// down to a directory, and the access rules of the policy. The last matching
/// rule in the deepest file with a matching rule decides.
///
/// Only negated rules are case-sensitive, and spellings that some file system
/// folds to a denied name are denied too: which paths are blocked must not
/// depend on the file system that holds the workspace. Unicode normalization
/// is not folded: its tables would make the component larger by a tenth of a
/// megabyte. [`Self::has_rules`] is for the caller that looks up a name.
#[derive(Clone, Default)]
pub struct AgentIgnore {
    rules: Stack,
    access_rules: Option<Rc<AccessRules>>,
    /// Length in bytes of the part of `rules.path` from the top of the outermost root to the top of this root.
    above_root: usize,
    /// Prefix of the root's paths in results, with a trailing `/`; empty if the paths have no prefix.
    label: String,
    /// Hash of the rules of the last directory entered.
    hash: u64,
}

impl AgentIgnore {
    /// Returns the rules of a root before any directory was entered. Paths in results begin with `label`.
    pub fn new(label: &str, access_rules: Option<Rc<AccessRules>>) -> Self {
        Self { access_rules, ..Self::default() }.labelled(label)
    }

    /// Returns these rules for a root that is the last directory entered. `access_rules` match paths from its top.
    #[must_use]
    pub fn at_root(self, label: &str, access_rules: Option<Rc<AccessRules>>) -> Self {
        Self { above_root: self.rules.path.len(), access_rules, ..self }.labelled(label)
    }

    fn labelled(self, label: &str) -> Self {
        let label = if label.is_empty() { String::new() } else { format!("{}/", label.trim_end_matches('/')) };
        Self { label, ..self }
    }

    /// Adds the directory `name`, which does not exist and therefore has no rules.
    pub fn enter_missing(&mut self, name: &str) {
        self.hash = 0;
        self.rules.push(name, None, 0);
    }

    /// Adds the rules of the directory `name`, whose handle is `dir`. Fails if the rules cannot be read or parsed:
    /// then the whole directory is denied.
    pub fn enter(&mut self, name: &str, dir: &Dir, fs: &dyn Filesystem) -> Result<()> {
        let (rules, size) = self.load(name, dir, fs)?;
        self.rules.push(name, rules, size);
        Ok(())
    }

    /// Adds the rules of a directory as [`Self::enter`] does, and reads no file if `entries` contain no rule file.
    pub fn enter_listed(&mut self, name: &str, dir: &Dir, fs: &dyn Filesystem, entries: &[DirEntry]) -> Result<()> {
        if entries.iter().any(|entry| entry.name.eq_ignore_ascii_case(AGENT_IGNORE_FILE)) {
            return self.enter(name, dir, fs);
        }
        self.enter_missing(name);
        Ok(())
    }

    /// Returns a hash of the path and the rules of the last directory entered, also if its rules were an error; 0 if it has
    /// no rules.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Drops the rules of the last directory entered.
    pub fn leave(&mut self) {
        self.rules.pop();
    }

    /// Returns whether there is no `.agentignore` rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns whether anything can be blocked by its name.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty() || self.access_rules.is_some()
    }

    /// Returns whether `name`, an entry of the last directory entered, is blocked for every tool.
    pub fn denies(&self, name: &str, kind: Kind) -> bool {
        self.denial(name, kind).is_some()
    }

    /// Returns the reason why `name`, an entry of the last directory entered, is blocked for every tool, if it is.
    pub fn denial(&self, name: &str, kind: Kind) -> Option<Denial> {
        let above = self.rules.path.get(self.above_root..).unwrap_or_default();
        let access_rules = self.access_rules.as_ref().and_then(|access_rules| access_rules.bars(above, name, kind));
        access_rules
            .or_else(|| self.is_hidden_from_agent(name, kind == Kind::Directory).then_some(Denial::AgentIgnored))
    }

    fn is_hidden_from_agent(&self, name: &str, is_dir: bool) -> bool {
        if self.rules.is_empty() {
            return false;
        }
        let other_spelling = match self.rules.verdict(name, is_dir) {
            Some(Verdict::Out) => return true,
            Some(Verdict::In) => self.rules.verdict(&name_folding::visible(name), is_dir),
            None => self.rules.folded_verdict(name, is_dir),
        };
        other_spelling == Some(Verdict::Out)
    }

    fn load(&mut self, name: &str, dir: &Dir, fs: &dyn Filesystem) -> Result<(Option<Rc<RuleSet>>, usize)> {
        let text = read_rules(dir, AGENT_IGNORE_FILE, fs, self.rules.remaining_bytes());
        self.hash = if text == Ok(None) { 0 } else { hash(&self.rules.below(name), text.as_ref().ok()) };
        let refuse = |cause: String| {
            let path = self.rules.below(name);
            let below = path.get(self.above_root..).unwrap_or_default();
            let file = format!("{}{below}{}{AGENT_IGNORE_FILE}", self.label, if name.is_empty() { "" } else { "/" });
            Error::at(Code::Denied, "apply the rules in", &file, cause)
                .hint("tools can use nothing in that directory until a person has repaired the file")
        };
        let text = match text {
            Ok(None) => return Ok((None, 0)),
            Ok(Some(text)) => text,
            Err(Fault::NotRegular) => return Err(refuse("it is not a regular file".to_owned())),
            Err(Fault::TooLarge) => return Err(refuse("it is too large".to_owned())),
            Err(_) => return Err(refuse("it cannot be read".to_owned())),
        };
        compile(&text, Syntax::Strict).map(|rules| (Some(rules), text.len())).map_err(refuse)
    }
}

fn hash(path: &str, text: Option<&Option<String>>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, text).hash(&mut hasher);
    hasher.finish()
}

/// Rules by which walks leave entries out, from a root down to a directory: `.gitignore`,
/// `.ignore`, and `.git/info/exclude` of the root, as in git and ripgrep.
///
/// A matching `.ignore` rule at any level wins over every `.gitignore`, and
/// `.gitignore` wins over `.git/info/exclude`; among files of one name the
/// deepest wins, and in a file the last rule. Global excludes are not read,
/// because they are outside the workspace. The rules apply in nested
/// repositories too.
#[derive(Clone, Default)]
pub struct Rules {
    ignore: Stack,
    git: Stack,
    exclude: Stack,
    compiled: CompiledRules,
}

impl Rules {
    /// Adds the rules of the directory `name`, whose handle is `dir`; `entries` are its entries, if they are known.
    /// Returns the number of unusable rule files: links, unreadable and too large files exclude nothing.
    pub fn enter(&mut self, name: &str, dir: &Dir, fs: &dyn Filesystem, entries: Option<&[DirEntry]>) -> u64 {
        let is_there = |file: &str| entries.is_none_or(|entries| entries.iter().any(|entry| entry.name == file));
        let read = |file: &str, max_bytes| if is_there(file) { read_rules(dir, file, fs, max_bytes) } else { Ok(None) };
        let ignore = read(".ignore", self.ignore.remaining_bytes());
        let git = read(".gitignore", self.git.remaining_bytes());
        let exclude = if name.is_empty() { exclude_file(dir, fs) } else { Ok(None) };
        let mut unusable = 0;
        for (stack, text) in [(&mut self.ignore, ignore), (&mut self.git, git), (&mut self.exclude, exclude)] {
            let (rules, size) = match text {
                Ok(None) => (None, 0),
                Ok(Some(text)) => (self.compiled.of(&text), text.len()),
                Err(_) => (None, 1),
            };
            unusable += u64::from(rules.is_none() && size > 0);
            stack.push(name, rules, size);
        }
        unusable
    }

    /// Adds the directory `name`, which does not exist and therefore has no rules.
    pub fn enter_missing(&mut self, name: &str) {
        for stack in [&mut self.ignore, &mut self.git, &mut self.exclude] {
            stack.push(name, None, 0);
        }
    }

    /// Drops the rules of the last directory entered.
    pub fn leave(&mut self) {
        for stack in [&mut self.ignore, &mut self.git, &mut self.exclude] {
            stack.pop();
        }
    }

    /// Returns whether the rules exclude `name`, an entry of the last directory entered.
    pub fn excludes(&self, name: &str, is_dir: bool) -> bool {
        let verdict = [&self.ignore, &self.git, &self.exclude].iter().find_map(|stack| stack.verdict(name, is_dir));
        verdict == Some(Verdict::Out)
    }
}

/// The rule files of one name, with one layer per directory from a root down.
#[derive(Clone, Default)]
struct Stack {
    /// The last directory entered, relative to the root, each name followed by `/`.
    path: String,
    layers: Vec<Layer>,
    /// Number of layers that have rules.
    filled: usize,
}

#[derive(Clone)]
struct Layer {
    /// Offset in `Stack::path` of the paths to which the rules apply.
    start: usize,
    rules: Option<Rc<RuleSet>>,
    /// Size of the rule file in bytes.
    size: usize,
}

impl Stack {
    fn push(&mut self, name: &str, rules: Option<Rc<RuleSet>>, size: usize) {
        if !name.is_empty() {
            self.path.push_str(name);
            self.path.push('/');
        }
        self.filled += usize::from(rules.is_some());
        self.layers.push(Layer { start: self.path.len(), rules, size });
    }

    fn pop(&mut self) {
        if let Some(layer) = self.layers.pop() {
            self.filled -= usize::from(layer.rules.is_some());
        }
        self.path.truncate(self.layers.last().map_or(0, |layer| layer.start));
    }

    /// Returns the maximum size in bytes of the next rule file.
    fn remaining_bytes(&self) -> usize {
        let taken = self.layers.iter().map(|layer| layer.size).sum();
        MAX_STACK_BYTES.saturating_sub(taken).min(MAX_RULE_BYTES)
    }

    fn is_empty(&self) -> bool {
        self.filled == 0
    }

    fn below(&self, name: &str) -> String {
        [self.path.as_str(), name].concat()
    }

    fn verdict(&self, name: &str, is_dir: bool) -> Option<Verdict> {
        if self.is_empty() {
            return None;
        }
        self.find_verdict(|rules, above| rules.verdict(above, name, is_dir))
    }

    /// Returns the verdict on the path with folded names, which match the folded form of rules.
    fn folded_verdict(&self, name: &str, is_dir: bool) -> Option<Verdict> {
        let name = folded_path(name);
        self.find_verdict(|rules, above| {
            let names = above.split_terminator('/').map(folded_path);
            rules.verdict(&names.fold(String::new(), |path, name| path + &name + "/"), &name, is_dir)
        })
    }

    /// Returns the verdict of the deepest rules that have one on an entry of the last directory entered. The function gets
    /// the path of the directory to which the rules apply.
    fn find_verdict(&self, of: impl Fn(&RuleSet, &str) -> Option<Verdict>) -> Option<Verdict> {
        self.layers.iter().rev().find_map(|layer| of(layer.rules.as_ref()?, self.path.get(layer.start..)?))
    }
}

/// Reads `.git/info/exclude` of a root, if it exists.
fn exclude_file(root: &Dir, fs: &dyn Filesystem) -> FsResult<Option<String>> {
    let info = fs.open_dir(root, ".git").and_then(|git| fs.open_dir(&git, "info"));
    info.map_or(Ok(None), |info| read_rules(&info, "exclude", fs, MAX_RULE_BYTES))
}

/// Reads the text of a rule file, if it exists.
fn read_rules(dir: &Dir, name: &str, fs: &dyn Filesystem, max_bytes: usize) -> FsResult<Option<String>> {
    match fs.stat(dir, name) {
        Err(Fault::NotFound) => return Ok(None),
        Err(fault) => return Err(fault),
        Ok(stat) if stat.kind != Kind::File => return Err(Fault::NotRegular),
        Ok(_) => {}
    }
    let file = fs.open_file(dir, name, Open::Read)?;
    let bytes = read_up_to(fs, &file, max_bytes as u64)?;
    // Some shells write UTF-16, which must not make rules ineffective. The UTF-8 byte order mark is removed too.
    let (encoding, bom_len) = Encoding::for_bom(&bytes).unwrap_or((UTF_8, 0));
    let (text, _) = encoding.decode_without_bom_handling(bytes.get(bom_len..).unwrap_or_default());
    Ok(Some(text.into_owned()))
}
