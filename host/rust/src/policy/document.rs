//! Parses a policy's text, with the line of every name and value. The text is untrusted: constructs that could take
//! much memory or time are errors.

use std::path::Path;

use super::node::{Content, Fault, Member, Node};
use super::{json, toml, yaml};

/// Maximum size of a policy's text in bytes, about 100 times that of the longest useful policy.
pub(super) const MAX_BYTES: usize = 256 * 1024;

/// Format of a policy's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Yaml,
    Toml,
    Json,
}

impl Format {
    /// Returns the format for a file's name. The default is YAML, which includes most JSON.
    pub(super) fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => Self::Json,
            Some("toml") => Self::Toml,
            _ => Self::Yaml,
        }
    }

    /// Returns JSON if the text is JSON, or else YAML.
    pub(super) fn guess(text: &str) -> Self {
        if json::is_json(text) { Self::Json } else { Self::Yaml }
    }

    /// Parses the text of a policy into the members of its table. An empty text has none.
    pub(super) fn parse(self, text: &str) -> Result<Vec<Member>, Fault> {
        self.parse_up_to(text, MAX_BYTES)
    }

    /// Parses a text with at most this number of bytes.
    pub(super) fn parse_up_to(self, text: &str, max_bytes: usize) -> Result<Vec<Member>, Fault> {
        if text.len() > max_bytes {
            return Err(Fault::new(1, too_large(max_bytes)));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let node = match self {
            Self::Yaml => yaml::parse(text),
            Self::Toml => toml::parse(text),
            Self::Json => json::parse(text),
        }?;
        match node {
            None => Ok(Vec::new()),
            Some(Node { content: Content::Table(members), .. }) => Ok(members),
            Some(Node { line, .. }) => Err(Fault::new(line, "a policy is a table of settings")),
        }
    }
}

/// Returns the error for a text that is too large to be parsed.
pub(super) fn too_large(max_bytes: usize) -> String {
    format!("it is larger than {} KiB", max_bytes / 1024)
}

#[cfg(test)]
#[cfg(feature = "policy-files")]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::Value;

    use super::*;

    fn fault(format: Format, text: &str) -> (usize, String) {
        let fault = format.parse(text).expect_err(text);
        (fault.line, fault.cause)
    }

    /// Returns each member as its name, its line, the line of its value, and the value.
    fn flat(format: Format, text: &str) -> Vec<(String, usize, usize, Value)> {
        let members = format.parse(text).expect(text);
        members.into_iter().map(|at| (at.name, at.line, at.value.line, at.value.value())).collect()
    }

    #[test]
    fn the_three_say_the_same() {
        let yaml = "# one\na: true\nb:\n  - x\n  - \"1\"\nc:\n  d: 5\n";
        let toml = "# one\na = true\nb = [\n  'x',\n  \"1\",\n]\n[c]\nd = 5\n";
        let json = "{\n\"a\": true,\n\"b\": [\n  \"x\",\n  \"1\"],\n\"c\": {\n  \"d\": 5}\n}";
        let values = |format, text| flat(format, text).into_iter().map(|at| (at.0, at.3)).collect::<Vec<_>>();
        assert_eq!(values(Format::Yaml, yaml), values(Format::Toml, toml));
        assert_eq!(values(Format::Yaml, yaml), values(Format::Json, json));
        let lines = |format, text| flat(format, text).into_iter().map(|at| at.1).collect::<Vec<_>>();
        assert_eq!(lines(Format::Yaml, yaml), [2, 3, 6]);
        assert_eq!(lines(Format::Toml, toml), [2, 3, 7]);
        assert_eq!(lines(Format::Json, json), [2, 3, 6]);
    }

    #[test]
    fn an_item_has_its_line() {
        for (format, text) in [
            (Format::Yaml, "a:\n\n  - x\n  - y\n"),
            (Format::Toml, "a = [\n\n  'x',\n  'y']"),
            (Format::Json, "{\"a\": [\n\n\"x\",\n\"y\"]}"),
        ] {
            let members = format.parse(text).unwrap();
            let Content::List(items) = &members[0].value.content else { panic!("{members:?}") };
            assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [3, 4], "{format:?}");
        }
    }

    #[test]
    fn yaml_scalars_are_those_of_version_1_2() {
        let values = |text: &str| flat(Format::Yaml, text).remove(0).3;
        for (text, value) in [
            ("a: yes", Value::from("yes")),
            ("a: True", Value::from(true)),
            ("a: ~", Value::Null),
            ("a:", Value::Null),
            ("a: 012", Value::from(12)),
            ("a: 0x1F", Value::from(31)),
            ("a: 0o17", Value::from(15)),
            ("a: -3", Value::from(-3)),
            ("a: 1.5e1", Value::from(15.0)),
            ("a: 'true'", Value::from("true")),
            ("a: 18446744073709551615", Value::from(u64::MAX)),
            ("a: 18446744073709551616", Value::from(18446744073709551616.0)),
            ("a: .inf", Value::from(".inf")),
            ("a: |\n  two\n  lines\n", Value::from("two\nlines\n")),
        ] {
            assert_eq!(values(text), value, "{text}");
        }
    }

    #[test]
    fn aliases_and_ambiguous_yaml_are_refused() {
        for (text, line, cause) in [
            ("a: 1\nb: &x [1]\n", 2, "anchors and aliases are not supported: repeat the value"),
            ("a: 1\nb: *x\n", 2, "while parsing node, found unknown anchor"),
            ("a: 1\n\nb: !!str 1\n", 3, "tags are not supported"),
            ("a: 1\nb: !x {}\n", 2, "tags are not supported"),
            ("a: 1\nb: 2\na: 3\n", 3, "`a` is there twice, first in line 1"),
            ("a: 1\n---\nb: 2\n", 2, "a policy is one document"),
            ("- 1\n", 1, "a policy is a table of settings"),
            ("? [a]\n: 1\n", 1, "a name is a plain text"),
        ] {
            assert_eq!(fault(Format::Yaml, text), (line, cause.to_owned()), "{text}");
        }
        assert_eq!(fault(Format::Json, "{\"a\": 1,\n\"a\": 2}"), (2, "`a` is there twice, first in line 1".to_owned()));
        assert_eq!(fault(Format::Json, "{\"a\": 1,\n}"), (2, "key must be a string".to_owned()));
        assert_eq!(fault(Format::Json, "{}\n{}").0, 2);
        assert_eq!(fault(Format::Json, "").0, 1);
        assert_eq!(fault(Format::Toml, "a = 1\na = 2\n"), (2, "duplicate key".to_owned()));
        assert_eq!(fault(Format::Toml, "a = 1\nb = nan\n"), (2, "a number has to be finite".to_owned()));
        assert_eq!(fault(Format::Toml, "a = 1\nb = \n").0, 2);
    }

    #[test]
    fn nothing_is_deep_large_or_slow() {
        let nested = |open: &str, close: &str, depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        for (format, open, close) in
            [(Format::Yaml, "{a: ", "}"), (Format::Json, "{\"a\": ", "}"), (Format::Json, "{\"a\": [", "]}")]
        {
            let layers = open.matches(['{', '[']).count();
            assert!(format.parse(&nested(open, close, 16 / layers)).is_ok(), "{format:?}");
            let deep = fault(format, &nested(open, close, 16 / layers + 1));
            assert_eq!(deep, (1, "more than 16 lists and tables in each other".to_owned()), "{format:?}");
        }
        assert!(Format::Toml.parse(&format!("a = {}", nested("[", "]", 15))).is_ok());
        assert!(fault(Format::Toml, &format!("a = {}", nested("[", "]", 16))).1.starts_with("more than 16"));
        assert_eq!(fault(Format::Yaml, &" ".repeat(MAX_BYTES + 1)).1, "it is larger than 256 KiB");
        for unit in [
            "[", "{", "- ", "? ", "a: ", "a: [", "'", "\"", "|\n", "# x\n", "\t", "&a ", "*a ", "!", "%", "a\n",
            "a:\n ", "[[]", "[a,", "{a,", "a.", "[a]\n", "a = [", "\\", "\"a\":", "\u{feff}", "---\n", "- - a\n",
        ] {
            let text = unit.repeat(MAX_BYTES / unit.len());
            for format in [Format::Yaml, Format::Toml, Format::Json] {
                let started = Instant::now();
                let _ = format.parse(&text);
                assert!(started.elapsed() < Duration::from_secs(3), "{format:?} {unit:?}: {:?}", started.elapsed());
            }
        }
    }
}
