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
    // No path ends with a `/` or with a backslash that escapes nothing, so that these match nothing.
    if line.ends_with("//") || line.strip_suffix('/').is_some_and(ends_with_escape) {
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
                out.push('[');
                // Otherwise it is not a valid rule.
                let Some(class) = split_class(rest.as_str()) else { return Some(out) };
                out.push_str(&class.canonical);
                rest = class.rest.chars();
            }
            _ => out.push(c),
        }
    }
    // The translation of a class can add or remove a `/`, which must not change whether the rule is anchored.
    let is_anchored = |rule: &str| rule.trim_end_matches('/').contains('/');
    let start = usize::from(out.starts_with('!'));
    match (is_anchored(line), is_anchored(&out)) {
        (false, true) => out.insert_str(start, "**/"),
        (true, false) => out.insert(start, '/'),
        _ => {}
    }
    // Three stars or more are two.
    while out.contains("***") {
        out = out.replace("***", "**");
    }
    Some(out)
}

/// Returns the line without trailing spaces that no backslash escapes.
fn trim_spaces(line: &str) -> &str {
    let trimmed = line.trim_end_matches(' ');
    let keep = trimmed.len() + usize::from(ends_with_escape(trimmed) && trimmed.len() < line.len());
    line.get(..keep).unwrap_or(line)
}

/// Returns whether the last backslash of a line escapes what follows.
fn ends_with_escape(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::rule_set::Verdict;
    use super::*;

    fn is_out(text: &str, syntax: Syntax, path: &str) -> bool {
        let (above, name) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
        compile(text, syntax).unwrap().verdict(above, name, false) == Some(Verdict::Out)
    }

    #[test]
    fn no_class_of_a_rule_shows_what_another_rule_denies() {
        for (text, path) in [
            ("ab\n!a[b/]\n", "x/ab"),
            ("b\n!a[%-/-0]b\n", "a/b"),
            ("b\n!a[[:blank:]-0]b\n", "x/a/b"),
            ("a\n!**//\n", "x/a"),
            ("[!-a]x\n", "0x"),
            ("[\\]]x\n", "]x"),
        ] {
            assert!(is_out(text, Syntax::Strict, path), "{text}");
        }
        for text in ["[z-a]\n", "a[b\n", "[[:word:]]\n"] {
            assert!(compile(text, Syntax::Strict).is_err(), "{text}");
        }
    }

    #[test]
    fn the_time_for_a_path_is_linear_in_the_rules() {
        let text = "*.a/\n".repeat(13_000) + &"b\n".repeat(32_000) + "[x].a\n";
        let rules = compile(&text, Syntax::Lenient).unwrap();
        let began = Instant::now();
        for number in 0..20 {
            assert!(rules.verdict("", &format!("{number}.a"), false).is_none());
        }
        assert!(rules.verdict("", "x.a", false) == Some(Verdict::Out));
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }
}
