//! Answers of programs in a common form, so that they can be compared.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// A set of facts, each about a path. A set has no order, because programs walk in different orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer(BTreeSet<(String, String)>);

/// Format of a program's output lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One path per line.
    Names,
    /// One path, NUL and a number per line. Files without a match may be included.
    Counts,
    /// One path, NUL, a line number, `:` for a match or `-` for context, and the text per line. `--` separates groups.
    Lines,
}

impl Answer {
    /// Creates the answer for one text, such as a page of a file, without its last line feed.
    pub fn text(text: &str) -> Self {
        let text = text.strip_suffix('\n').unwrap_or(text);
        Self(BTreeSet::from([(String::new(), text.to_owned())]))
    }

    /// Creates the answer for a list of paths.
    pub fn names(paths: impl IntoIterator<Item = String>) -> Self {
        Self(paths.into_iter().map(|path| (path, String::new())).collect())
    }

    /// Parses the output of a program.
    pub fn printed(form: Form, outputs: &[Vec<u8>]) -> Result<Self> {
        let mut facts = BTreeSet::new();
        for line in outputs.iter().flat_map(|output| output.split(|&byte| byte == b'\n')) {
            let line = String::from_utf8_lossy(line);
            if !line.is_empty() && (form != Form::Lines || line != "--") {
                facts.extend(fact(form, &line).with_context(|| format!("cannot understand the line `{line}`"))?);
            }
        }
        Ok(Self(facts))
    }

    /// Creates the answer for results of Paddock's `grep` and `glob`.
    pub fn paddock(results: &[Value]) -> Self {
        let mut facts = BTreeSet::new();
        let each = |name: &'static str| {
            results.iter().flat_map(move |result| result.get(name).and_then(Value::as_array).into_iter().flatten())
        };
        for path in each("paths") {
            facts.insert((string(Some(path)), String::new()));
        }
        for file in each("files") {
            let count = file.get("count").and_then(Value::as_u64).map_or_else(String::new, |count| count.to_string());
            facts.insert((string(file.get("path")), count));
        }
        for hit in each("matches") {
            let path = string(hit.get("path"));
            facts.insert((path.clone(), numbered_line(hit, ':')));
            for around in ["before", "after"] {
                let lines = hit.get(around).and_then(Value::as_array).into_iter().flatten();
                facts.extend(lines.map(|line| (path.clone(), numbered_line(line, '-'))));
            }
        }
        Self(facts)
    }

    /// Removes the facts about these paths.
    pub fn without(mut self, paths: &HashSet<String>) -> Self {
        self.0.retain(|(path, _)| !paths.contains(path));
        self
    }

    /// Creates the answer for paths below `top`: relative paths of files only.
    pub fn files_below(paths: impl IntoIterator<Item = String>, top: &Path) -> Self {
        let relative = paths.into_iter().filter_map(|path| {
            let below = Path::new(&path).strip_prefix(top).map_or_else(|_| path.clone().into(), Path::to_owned);
            top.join(&below).is_file().then(|| below.to_string_lossy().into_owned())
        });
        Self::names(relative)
    }

    /// Returns the number of facts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Describes the first fact that only one of the two answers has.
    pub fn first_difference(&self, name: &str, other: &Self, other_name: &str) -> Option<String> {
        let ((path, text), has, has_not) = match self.0.symmetric_difference(&other.0).next() {
            Some(fact) if self.0.contains(fact) => (fact, name, other_name),
            Some(fact) => (fact, other_name, name),
            None => return None,
        };
        let text = crate::process::clipped(text);
        Some(format!("{has} has `{path}` `{text}`, {has_not} has not ({} and {} facts)", self.len(), other.len()))
    }
}

fn fact(form: Form, line: &str) -> Option<Option<(String, String)>> {
    if form == Form::Names {
        return Some(Some((relative(line), String::new())));
    }
    let (path, rest) = line.split_once('\0')?;
    if form == Form::Counts {
        return Some((rest != "0").then(|| (relative(path), rest.to_owned())));
    }
    // Some programs print the CR of a CRLF line ending and others do not, so it is not compared.
    Some(Some((relative(path), rest.strip_suffix('\r').unwrap_or(rest).to_owned())))
}

fn relative(path: &str) -> String {
    path.strip_prefix("./").unwrap_or(path).trim_end_matches('/').to_owned()
}

fn numbered_line(line: &Value, separator: char) -> String {
    format!("{}{separator}{}", line.get("line").and_then(Value::as_u64).unwrap_or_default(), string(line.get("text")))
}

fn string(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn printed(form: Form, text: &str) -> Answer {
        Answer::printed(form, &[text.as_bytes().to_vec()]).unwrap()
    }

    #[test]
    fn names_are_relative_and_have_no_order() {
        assert_eq!(printed(Form::Names, "./b\na/\n"), printed(Form::Names, "a\nb"));
    }

    #[test]
    fn counts_of_zero_are_no_fact() {
        let paddock = Answer::paddock(&[json!({"files": [{"path": "a", "count": 2}]})]);
        assert_eq!(printed(Form::Counts, "./a\x002\nb\x000\n"), paddock);
    }

    #[test]
    fn lines_and_their_context_are_the_same_in_both_forms() {
        let matches = json!([{"path": "a", "line": 2, "text": "x", "before": [{"line": 1, "text": "w"}], "after": []}]);
        let paddock = Answer::paddock(&[json!({"matches": matches})]);
        assert_eq!(printed(Form::Lines, "a\x001-w\r\na\x002:x\n--\n"), paddock);
    }

    #[test]
    fn a_difference_names_the_program_and_the_fact() {
        let (one, two) = (printed(Form::Names, "a\nb"), printed(Form::Names, "a"));
        assert_eq!(one.first_difference("rg", &one, "fd"), None);
        assert_eq!(one.first_difference("rg", &two, "fd").unwrap(), "rg has `b` ``, fd has not (2 and 1 facts)");
        assert_eq!(two.first_difference("fd", &one, "rg"), one.first_difference("rg", &two, "fd").map(swapped));
        assert_eq!(one.without(&HashSet::from(["b".to_owned()])), two);
    }

    fn swapped(text: String) -> String {
        text.replace("(2 and 1 facts)", "(1 and 2 facts)")
    }

    #[test]
    fn a_line_in_another_form_is_an_error() {
        assert!(Answer::printed(Form::Counts, &[b"no separator".to_vec()]).is_err());
    }
}
