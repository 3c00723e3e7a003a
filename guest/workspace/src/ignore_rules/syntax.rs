//! The syntax of ignore rules: from gitignore's to that of globset.

use std::rc::Rc;

use paddock_text::glob_class::split_class;
use paddock_text::name_folding;

use super::rule_set::{RuleSet, RuleSetBuilder};

/// Treatment of invalid rules and of letter case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// An invalid rule matches nothing, as in git.
    Lenient,
    /// An invalid rule is an error, and only negated rules are case-sensitive.
    Strict,
}

/// Compiles the text of a rule file. The error is the cause, as a part of a sentence.
pub(super) fn compile(text: &str, syntax: Syntax) -> Result<Rc<RuleSet>, String> {
    let mut rules = RuleSetBuilder::new();
    for (number, line) in text.strip_prefix('\u{feff}').unwrap_or(text).split('\n').enumerate() {
        let Some(rule) = translate(line.strip_suffix('\r').unwrap_or(line)) else { continue };
        let fold = syntax == Syntax::Strict && !rule.starts_with('!');
        let mut added = rules.add(&rule, fold);
        if fold && !rule.is_ascii() {
            // The option above folds ASCII only.
            added = added.and_then(|()| rules.add(&folded_rule(&rule), fold));
        }
        if added.is_err() && syntax == Syntax::Strict {
            return Err(format!("line {} is not a valid rule", number + 1));
        }
    }
    rules.build().map(Rc::new).map_err(|_| "its rules are too complex".to_owned())
}

/// Returns a rule whose letters are folded as those of names are.
fn folded_rule(rule: &str) -> String {
    let mut folded = String::with_capacity(rule.len());
    for c in rule.chars() {
        // In a rule, `:` and a dot are ASCII characters that `fold` would remove.
        if c.is_ascii() { folded.push(c) } else { folded.push_str(&name_folding::fold(c.encode_utf8(&mut [0; 4]))) }
    }
    folded
}

/// Translates a line from git's syntax to that of globset: braces are literal, `[[:alpha:]]` is a class, and only
/// unescaped trailing spaces are removed. Returns `None` if the line contains no rule.
///
/// As in git, `?` and a class match one byte; in globs of tool arguments they match a character.
fn translate(line: &str) -> Option<String> {
    let line = trim_spaces(line);
    if line.is_empty() || line.starts_with('#') || matches!(line, "/" | "!" | "!/") {
        return None;
    }
    let mut out = String::with_capacity(line.len() + 2);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(rest.next());
            }
            '{' | '}' => out.extend(['\\', c]),
            '[' => {
                let (class, after) = split_class(rest.as_str());
                out.push('[');
                out.push_str(&posix_classes(&class));
                rest = after.chars();
            }
            _ => out.push(c),
        }
    }
    // The translation of a class can add a `/`, which must not anchor the rule.
    let is_name = !line.trim_end_matches('/').contains('/');
    if is_name && out.trim_end_matches('/').contains('/') {
        out.insert_str(usize::from(out.starts_with('!')), "**/");
    }
    Some(out)
}

/// Returns the line without trailing spaces that no backslash escapes.
fn trim_spaces(line: &str) -> &str {
    let trimmed = line.trim_end_matches(' ');
    let escaped = trimmed.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
    let keep = trimmed.len() + usize::from(escaped && trimmed.len() < line.len());
    line.get(..keep).unwrap_or(line)
}

fn posix_classes(class: &str) -> String {
    const CLASSES: &[(&str, &str)] = &[
        ("[:alnum:]", "0-9A-Za-z"),
        ("[:alpha:]", "A-Za-z"),
        ("[:blank:]", " \t"),
        ("[:digit:]", "0-9"),
        ("[:lower:]", "a-z"),
        ("[:punct:]", "!-.:-@[-`{-~"),
        ("[:space:]", " \t-\r"),
        ("[:upper:]", "A-Z"),
        ("[:xdigit:]", "0-9A-Fa-f"),
    ];
    if !class.contains("[:") {
        return class.to_owned();
    }
    CLASSES.iter().fold(class.to_owned(), |class, (name, members)| class.replace(name, members))
}
