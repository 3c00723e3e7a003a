//! Compiled globs.

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use paddock_text::glob_class::split_class;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use crate::matcher;

/// Globs of which a path has to match one.
#[derive(Clone, Default)]
pub struct Globs {
    /// Globs whose matches are the same for bytes and for characters.
    set: GlobSet,
    /// Globs with `?` or a class. In a `GlobSet` they would match one byte of a character.
    by_character: Option<Regex>,
}

impl Globs {
    /// Compiles globs without a backslash. The error is the cause.
    pub fn compile<'g>(globs: impl IntoIterator<Item = &'g str>) -> Result<Self, String> {
        let (mut set, mut by_character) = (GlobSetBuilder::new(), Vec::new());
        for glob in globs {
            let built = GlobBuilder::new(&within_names(glob))
                .literal_separator(true)
                .backslash_escape(false)
                .empty_alternates(true)
                .build()
                .map_err(|error| error.kind().to_string())?;
            if glob.contains(['?', '[']) {
                by_character.push(in_characters(built.regex()));
            } else {
                set.add(built);
            }
        }
        let too_complex = || "the glob is too complex".to_owned();
        let by_character = match by_character.is_empty() {
            true => None,
            false => {
                let config = syntax::Config::new().dot_matches_new_line(true);
                let hir = syntax::parse_with(&by_character.join("|"), &config).map_err(|_| too_complex())?;
                Some(matcher::compile(&hir, true).map_err(|_| too_complex())?)
            }
        };
        Ok(Self { set: set.build().map_err(|_| too_complex())?, by_character })
    }

    /// Returns whether a glob matches the path.
    pub fn is_match(&self, path: &str) -> bool {
        (!self.set.is_empty() && self.set.is_match_candidate(&Candidate::from_bytes(path)))
            || self.by_character.as_ref().is_some_and(|regex| regex.is_match(path))
    }
}

/// Rewrites character classes so that they do not match `/`.
fn within_names(glob: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(glob.len()), glob);
    while let Some((before, inside)) = rest.split_once('[') {
        out.extend([before, "["]);
        rest = inside;
        if let Some(class) = split_class(inside) {
            out.push_str(&class.canonical);
            rest = class.rest;
        }
    }
    out + rest
}

/// Rewrites the regular expression that globset returns, which matches bytes and escapes each byte beyond ASCII, so that
/// it matches characters.
fn in_characters(regex: &str) -> String {
    let mut parts = regex.trim_start_matches("(?-u)").split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for (digits, rest) in parts.filter_map(|part| part.split_at_checked(2)) {
        bytes.extend(u8::from_str_radix(digits, 16));
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_mark_and_a_class_match_one_character() {
        for (glob, matched, others) in [
            ("?.py", &["é.py", "日.py", "😀.py", "a.py"][..], &["éé.py", ".py", "/.py"][..]),
            ("??.py", &["éé.py", "a日.py"], &["é.py", "日.py"]),
            ("[é].py", &["é.py"], &["è.py", "\u{c3}.py", "e.py"]),
            ("[!b].py", &["é.py", "a.py", "日.py"], &["b.py", "/.py"]),
            ("[!é]", &["è", "a"], &["é", "/"]),
            ("[日😀].py", &["日.py", "😀.py"], &["本.py"]),
            ("[à-ü].py", &["é.py"], &["e.py", "ÿ.py"]),
            ("é?", &["éa", "éé"], &["é", "èa"]),
            ("**/?é/*", &["é/éé/é", "aé/x"], &["é/é/é"]),
            ("{é,[a-c]}.py", &["é.py", "b.py"], &["d.py", "è.py"]),
            ("[.-[]x", &[".x", "[x"], &["-é"]),
            ("x?\n*", &["xé\na"], &["x\na"]),
            ("ab[\u{7f}-\u{80}]", &["ab\u{80}"], &["ab\u{81}"]),
        ] {
            let globs = Globs::compile([glob]).unwrap();
            matched.iter().for_each(|path| assert!(globs.is_match(path), "{glob} {path}"));
            others.iter().for_each(|path| assert!(!globs.is_match(path), "{glob} {path}"));
        }
        let both = Globs::compile(["?", "*é", "[à]b"]).unwrap();
        assert!(["é", "aé", "àb"].iter().all(|path| both.is_match(path)) && !both.is_match("ab"));
    }
}
