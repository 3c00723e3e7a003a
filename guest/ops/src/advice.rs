//! Notes about a pattern or glob that found nothing: characters that other tools read differently, and a looser pattern
//! for a second search.

use std::fmt::Write;

use paddock_types::path::below;
use paddock_types::request::{Grep, LetterCase};

/// Characters that are easily confused, as character classes of a regular expression.
const ALIKE: &[(&str, &str)] = &[
    (" \u{a0}", r"[\t\p{Zs}]"),
    ("'\u{2018}\u{2019}\u{2bc}", "['\u{2018}\u{2019}\u{2bc}]"),
    ("\"\u{201c}\u{201d}\u{201e}", "[\"\u{201c}\u{201d}\u{201e}]"),
    ("-\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2212}", r"[\-\u{2010}-\u{2014}\u{2212}]"),
];
/// A line feed, and the expression that also matches CRLF.
const LINE_END: (&str, &str) = ("\n", r"(?:\r?\n)");
/// Parts of a pattern that suggest a regular expression.
const REGULAR: &[&str] = &["|", ".*", ".+", "\\b", "\\w", "\\d", "\\s", "\\.", "\\(", "(?"];

/// Returns notes about a pattern without a match.
pub fn of_pattern(args: &Grep) -> Vec<String> {
    let regular = || REGULAR.iter().find(|part| args.pattern.contains(**part));
    if args.fixed {
        let note = |part| format!("the pattern was searched as plain text, in which `{part}` has no special meaning");
        return regular().map(note).into_iter().collect();
    }
    let is_basic = has_escaped(&args.pattern, '|');
    is_basic
        .then(|| "`\\|` in the pattern is a literal bar; `|` alone separates alternatives".to_owned())
        .into_iter()
        .collect()
}

/// Returns notes about a glob without a match.
pub fn of_glob(glob: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let outside_braces = |brace_depth: &mut u32, it: char| {
        *brace_depth = match it {
            '{' => *brace_depth + 1,
            '}' => brace_depth.saturating_sub(1),
            _ => *brace_depth,
        };
        Some(it == ',' && *brace_depth == 0)
    };
    if glob.chars().scan(0, outside_braces).any(|is_outside| is_outside) {
        let braced: Vec<_> = glob.split(',').map(str::trim).collect();
        notes.push(format!("a comma in a glob is literal text; `{{{}}}` matches each of these", braced.join(",")));
    }
    if glob.starts_with('/') {
        let relative = relative(glob);
        notes.push(format!(
            "a glob is relative to the searched directory, so that `{glob}` was searched as `{relative}`"
        ));
    }
    notes
}

fn relative(glob: &str) -> &str {
    glob.trim_start_matches("./").trim_start_matches('/')
}

/// Returns globs that may be meant by a glob with directories that matches nothing below the directory `path`.
pub fn wider(glob: &str, path: &str) -> Vec<String> {
    let relative = relative(glob);
    let parts = relative.rsplit_once('/').filter(|(_, name)| !name.is_empty() && !glob.starts_with('/'));
    let Some((above, name)) = parts else { return Vec::new() };
    let mut globs = Vec::new();
    if let Some(rest) = below(relative, path).filter(|rest| !rest.is_empty()) {
        // A bare name would match at every depth.
        globs.push(format!("./{rest}"));
    }
    if !glob.contains(['{', '}']) && !above.contains("**") {
        globs.push(format!("{above}/**/{name}"));
    }
    if !relative.starts_with("**") {
        globs.push(format!("**/{relative}"));
    }
    globs
}

/// Returns a pattern that ignores letter case and the kind of spaces, quotes and dashes. Returns `None` if that would
/// make no difference.
pub fn loosened(args: &Grep) -> Option<Grep> {
    let pattern = rewritten(args, ALIKE);
    let has_case = args.letter_case != LetterCase::Insensitive && args.pattern.chars().any(char::is_alphabetic);
    (has_case
        || pattern.contains("[\\t")
        || pattern.contains("['")
        || pattern.contains("[\"")
        || pattern.contains("[\\-"))
    .then(|| Grep { pattern, fixed: false, letter_case: LetterCase::Insensitive, ..args.clone() })
}

/// Returns a pattern whose line feeds also match CRLF. Returns `None` if the pattern cannot match a line feed.
pub fn with_crlf(args: &Grep) -> Option<Grep> {
    let pattern = rewritten(args, &[LINE_END]);
    (args.multiline && pattern.contains(LINE_END.1)).then(|| Grep { pattern, fixed: false, ..args.clone() })
}

/// Returns the pattern as a regular expression in which the members of each set are replaced by its expression.
fn rewritten(args: &Grep, alike: &[(&str, &str)]) -> String {
    let mut pattern = String::new();
    let (mut is_escaped, mut is_in_class) = (false, false);
    for mut it in args.pattern.chars() {
        if is_escaped && it == 'n' && !args.fixed {
            pattern.pop();
            (it, is_escaped) = ('\n', false);
        }
        match alike.iter().find(|(members, _)| members.contains(it)) {
            Some((_, class)) if args.fixed || !(is_escaped || is_in_class) => pattern.push_str(class),
            _ if args.fixed && it.is_ascii_punctuation() => {
                let _ = write!(pattern, "\\x{{{:x}}}", u32::from(it));
            }
            _ => pattern.push(it),
        }
        is_in_class = !is_escaped && (is_in_class || it == '[') && it != ']';
        is_escaped = it == '\\' && !is_escaped;
    }
    pattern
}

/// Returns whether a text has a character behind a backslash.
fn has_escaped(text: &str, character: char) -> bool {
    let mut is_escaped = false;
    text.chars().any(|it| {
        let is_match = is_escaped && it == character;
        is_escaped = it == '\\' && !is_escaped;
        is_match
    })
}

/// Returns the notes about a replacement with references in the form `\1`, which is literal text.
pub fn of_replacement(replacement: &str) -> Option<String> {
    let group = ('0'..='9').find(|digit| has_escaped(replacement, *digit))?;
    Some(format!("`\\{group}` in the replacement is literal text; `${group}` is the text of a group"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(pattern: &str, fixed: bool) -> Grep {
        Grep { fixed, ..Grep::of(pattern.to_owned()) }
    }

    #[test]
    fn patterns() {
        assert_eq!(of_pattern(&pattern("a|b", false)), Vec::<String>::new());
        assert_eq!(of_pattern(&pattern(r"a\\|b", false)), Vec::<String>::new());
        assert!(of_pattern(&pattern(r"a\|b", false))[0].starts_with("`\\|` in the pattern is a literal bar"));
        assert!(of_pattern(&pattern("a.*b", true))[0].contains("`.*` has no special meaning"));
        assert_eq!(of_pattern(&pattern("a.b(c)", true)), Vec::<String>::new());
    }

    #[test]
    fn globs() {
        for good in ["*.rs", "**/*.rs", "src/**/*.rs", "{a,b}.rs", "src"] {
            assert_eq!(of_glob(good), Vec::<String>::new(), "{good}");
        }
        for (glob, instead) in [
            ("*.rs,*.toml", "`{*.rs,*.toml}`"),
            ("*.rs, *.toml", "`{*.rs,*.toml}`"),
            ("/src/**", "searched as `src/**`"),
        ] {
            let notes = of_glob(glob);
            assert!(notes.len() == 1 && notes[0].contains(instead), "{glob}: {notes:?}");
        }
    }

    #[test]
    fn wider_globs() {
        assert_eq!(wider("src/*.rs", "."), ["src/**/*.rs", "**/src/*.rs"]);
        assert_eq!(wider("./src/*.rs", "src"), ["./*.rs", "src/**/*.rs", "**/src/*.rs"]);
        assert_eq!(wider("a/b/{c,d/e}", "a"), ["./b/{c,d/e}", "**/a/b/{c,d/e}"]);
        assert_eq!(wider("src/**/*.rs", "."), ["**/src/**/*.rs"]);
        for glob in ["*.rs", "./*.rs", "**/*.rs", "/src/*.rs", "a/b/"] {
            assert_eq!(wider(glob, "."), Vec::<String>::new(), "{glob}");
        }
    }

    #[test]
    fn looser_patterns() {
        let loosened_pattern = |text: &str, fixed: bool| loosened(&pattern(text, fixed)).map(|it| it.pattern);
        assert_eq!(loosened_pattern("a b", false).as_deref(), Some(r"a[\t\p{Zs}]b"));
        assert_eq!(loosened_pattern("a.'", true).as_deref(), Some("a\\x{2e}['\u{2018}\u{2019}\u{2bc}]"));
        assert_eq!(loosened_pattern(r"[a ]\ x", false).as_deref(), Some(r"[a ]\ x"));
        assert_eq!(loosened_pattern(r"\d+", false), Some(r"\d+".to_owned()));
        assert_eq!(loosened_pattern("12", true), None);
    }

    #[test]
    fn line_feeds_that_match_crlf() {
        let with_crlf =
            |text: &str, fixed: bool| with_crlf(&Grep { multiline: true, ..pattern(text, fixed) }).map(|it| it.pattern);
        assert_eq!(with_crlf("a\\nb", false).as_deref(), Some("a(?:\\r?\\n)b"));
        assert_eq!(with_crlf("a\n+", false).as_deref(), Some("a(?:\\r?\\n)+"));
        assert_eq!(with_crlf("a.\nb\\n", true).as_deref(), Some("a\\x{2e}(?:\\r?\\n)b\\x{5c}n"));
        assert_eq!(with_crlf("[^\\n]\\\\n", false), None);
        assert_eq!(super::with_crlf(&pattern("a\\nb", false)), None);
    }

    #[test]
    fn replacements() {
        assert_eq!(of_replacement("$1 \\\\1"), None);
        assert_eq!(
            of_replacement(r"x\2").as_deref(),
            Some(r"`\2` in the replacement is literal text; `$2` is the text of a group")
        );
    }
}
