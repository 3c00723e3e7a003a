//! Compares searches with a naive line-by-line search, and checks the rendered lines.

use paddock_types::error::Code;
use paddock_types::request::{GrepOutput, LetterCase, Request};
use proptest::prelude::*;

use crate::support::{memory, put, run, search, searched, tree};

/// Returns the matching lines as number and text without the line ending.
fn plainly(pattern: &str, text: &str) -> Vec<(u64, String, u64)> {
    let regex = regex::RegexBuilder::new(pattern).multi_line(true).crlf(true).build().unwrap();
    let lines = text.split_inclusive('\n').enumerate();
    lines
        .filter_map(|(index, line)| {
            let line = line.strip_suffix('\n').unwrap_or(line);
            let line = line.strip_suffix('\r').unwrap_or(line);
            Some((index as u64 + 1, line.to_owned(), regex.find(line)?.start() as u64))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_search_equals_a_search_line_by_line(
        text in "([abx \\t]|é|\n|\r\n|\n\n){0,40}",
        pattern in prop::sample::select(vec![
            "a", "^", "$", "^$", "x*", "a|b", "a\\s+b", "[^a]", "[^a]+$", "^[^b]*$", "\\ba", "(?-m)^a", "\\Aa", "b\\z", ".",
            "é", "\\S+\\s", "(a|x)+$", "\\Bb", "a??", "(?s)a.b", "^\\s*$", "[[:space:]]x", "\\W", "(?i)A", "b(?:a|$)",
        ]),
    ) {
        let fs = memory();
        put(&fs, "t", text.as_bytes());
        let mut args = search(pattern);
        args.limit = 10_000;
        let matches = searched(&fs, args);
        let matches: Vec<_> = matches.matches.into_iter().map(|m| (m.line, m.text, m.match_start)).collect();
        prop_assert_eq!(matches, plainly(pattern, &text));
    }

    /// Patterns with a literal prefilter, in texts with many fragments of their literals.
    #[test]
    fn patterns_with_literals_are_found(
        text in "(need|needle|NEEDLE|ſtop|stop|STOP|kelvin|\u{212a}elvin|_in|xx_get|get_|[ a-e_]{1,9}|\n|\r\n){0,60}",
        pattern in prop::sample::select(vec![
            "needle", "needle_in", "needle|stop|xx_get", "need|needle", "(?i)needle", "(?i)stop", "(?i)kelvin",
            "[a-e]+_get_", "xx_get_?[a-e]*", "\\bstop\\b", "^needle", "stop$", "(needle|stop)_in", "ne{2}dle[_ ]in",
            "(?i)(needle|xx_get)[ a-e]", "kelvin|needle.*stop", "_in(?:needle)+", ".*needle", "[^n]eedle", "stop.?", "ſtop",
        ]),
    ) {
        let fs = memory();
        put(&fs, "t", text.as_bytes());
        let mut args = search(pattern);
        args.limit = 10_000;
        let matches: Vec<_> = searched(&fs, args.clone()).matches.into_iter().map(|m| (m.line, m.text, m.match_start)).collect();
        prop_assert_eq!(matches, plainly(pattern, &text));
        args.multiline = true;
        args.output = GrepOutput::Count;
        let counted = searched(&fs, args).files.first().map_or(0, |file| file.count.unwrap_or(0));
        let whole = regex::RegexBuilder::new(pattern).multi_line(true).crlf(true).build().unwrap();
        prop_assert_eq!(counted, whole.find_iter(&text).filter(|matches| matches.start() < text.len()).count() as u64);
    }

    #[test]
    fn shows_each_line_around_a_match_once(text in "[ab]{0,2}(\n[ab]{0,2}){0,20}", before in 0_u32..4, after in 0_u32..4) {
        let fs = memory();
        put(&fs, "t", text.as_bytes());
        let mut args = search("a");
        (args.before, args.after, args.limit) = (before, after, 1_000);
        let lines: Vec<_> = text.lines().collect();
        let hits: Vec<u64> = plainly("a", &text).iter().map(|hit| hit.0).collect();
        let near = |line: u64| hits.iter().any(|hit| line + u64::from(before) >= *hit && line <= hit + u64::from(after));
        let wanted: Vec<u64> = (1..=lines.len() as u64).filter(|line| near(*line)).collect();
        let mut context_lines = Vec::new();
        for hit in searched(&fs, args).matches {
            context_lines.extend(hit.before);
            context_lines.push(paddock_types::response::ContextLine { line: hit.line, text: hit.text });
            context_lines.extend(hit.after);
        }
        prop_assert!(context_lines.iter().all(|line| line.text == lines[line.line as usize - 1]));
        prop_assert_eq!(context_lines.iter().map(|line| line.line).collect::<Vec<_>>(), wanted);
    }
}

#[test]
fn matches_across_windows_are_found() {
    let fs = memory();
    let line = |n: usize| {
        if n.is_multiple_of(5_000) { format!("needle {n}\n") } else { format!("line {n} {}\n", "-".repeat(n % 97)) }
    };
    let text: String = (1..=100_000).map(line).collect();
    assert!(text.len() > 5 << 20);
    put(&fs, "big", text.as_bytes());
    let mut args = search("needle");
    (args.before, args.after, args.limit) = (700, 700, 3);
    let mut policy = paddock_types::policy::Policy::default();
    policy.limits.max_result_bytes = usize::MAX;
    let lines: Vec<_> = text.lines().collect();
    let mut match_lines = Vec::new();
    loop {
        let response = crate::support::run_with(&fs, &policy, Request::Grep(args.clone())).unwrap();
        let paddock_types::response::Response::Grep(page) = response else { panic!() };
        for hit in page.matches {
            for context in hit.before.iter().chain(&hit.after) {
                assert_eq!(context.text, lines[context.line as usize - 1]);
            }
            assert_eq!((hit.before.len(), hit.text.as_str()), (700, lines[hit.line as usize - 1]));
            assert_eq!(hit.after.len(), if hit.line == 100_000 { 0 } else { 700 });
            match_lines.push(hit.line);
        }
        args.cursor = page.next_cursor;
        if args.cursor.is_none() {
            break;
        }
    }
    assert_eq!(match_lines, (1..=20).map(|n| n * 5_000).collect::<Vec<u64>>());
    args.output = GrepOutput::Count;
    args.cursor = None;
    assert_eq!(searched(&fs, args).files[0].count, Some(20));
}

#[test]
fn a_line_that_is_too_long_is_searched_in_parts() {
    let fs = memory();
    let mut text = "first\n".to_owned();
    text.push_str(&"a".repeat(17 << 20));
    text.push_str("needle");
    text.push_str(&"b".repeat(17 << 20));
    text.push_str("needle\nlast needle\n");
    put(&fs, "long", text.as_bytes());
    let result = searched(&fs, search("needle"));
    assert_eq!(result.skipped.long_lines, 1);
    assert_eq!(result.matches.iter().map(|m| m.line).collect::<Vec<_>>(), [2, 3]);
    let hit = &result.matches[0];
    assert_eq!((hit.match_start, hit.match_end), (17 << 20, (17 << 20) + 6));
    let text = hit.text.strip_suffix("… [truncated line]").unwrap();
    assert_eq!(text.chars().count(), 2_000);
    let at = (hit.match_start - hit.text_start) as usize;
    assert_eq!(&hit.text[at..at + 6], "needle");
}

#[test]
fn other_encodings_are_rendered_as_utf8() {
    let fs = memory();
    put(&fs, "latin", b"na\xefve caf\xe9 needle\r\nna\xefve r\xe9sum\xe9\n");
    let utf16: Vec<u8> = "\u{feff}eins\r\nä needle\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    put(&fs, "utf16", &utf16);
    put(&fs, "bom", b"\xef\xbb\xbfneedle\n");
    put(&fs, "nul", b"needle\0\n");
    let result = searched(&fs, search("needle"));
    let rendered: Vec<_> =
        result.matches.iter().map(|m| (m.path.as_str(), m.text.as_str(), m.match_start, m.line)).collect();
    assert_eq!(rendered, [("bom", "needle", 0, 1), ("latin", "naïve café needle", 13, 1), ("utf16", "ä needle", 3, 2)]);
    assert_eq!(result.skipped.binary, 1);
    assert_eq!(searched(&fs, search("^needle")).matches.len(), 1);
    // A letter that arises only from case folding does not occur in the raw bytes.
    for pattern in ["(?i)RÉSUMÉ", "résumé|nothing", "(?i)CAFÉ NEEDLE"] {
        assert_eq!(searched(&fs, search(pattern)).matches.len(), 1, "{pattern}");
    }
}

#[test]
fn unsupported_patterns_are_refused_with_a_hint() {
    let fs = tree(&[("a.txt", "Foo.bar\nfoo+\n")]);
    let refused = [
        ("(?=a)", "look-around"),
        ("(a)\\1", "back-references"),
        ("a\\nb", "multiline"),
        ("[\\r\\n]", "multiline"),
        ("(a", "fixed"),
        ("", "glob"),
        ("\\w{1000}{100}", "repetition"),
    ];
    for (pattern, hint) in refused {
        let error = run(&fs, Request::Grep(search(pattern))).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{pattern}");
        assert!(error.hint_text().as_ref().unwrap().contains(hint), "{pattern}: {error:?}");
    }
    let count = |pattern: &str, fixed, letter_case| {
        let mut args = search(pattern);
        (args.fixed, args.letter_case) = (fixed, letter_case);
        searched(&fs, args).matches.len()
    };
    assert_eq!(count("[^\\n]+foo|o+", false, LetterCase::Sensitive), 2);
    assert_eq!(count("o+", true, LetterCase::Sensitive), 1);
    assert_eq!(count("foo", false, LetterCase::Smart), 2);
    assert_eq!(count("Foo", false, LetterCase::Smart), 1);
    assert_eq!(count("\\S\\pL(?P<Name>o)", false, LetterCase::Smart), 2);
    assert_eq!(count("FOO", true, LetterCase::Insensitive), 2);
    assert_eq!(count("FOO", false, LetterCase::Sensitive), 0);
}

#[test]
fn whole_words() {
    let fs = tree(&[("a.txt", "get\ngetter\nforget\ncafé get\nget_\n")]);
    // The text is in Windows-1252, where the letter after `get` is a byte that is not UTF-8.
    let bytes: Vec<u8> = "caf\u{e9} na\u{ef}ve d\u{e9}j\u{e0} vu get\u{e9}\n".chars().map(|c| c as u8).collect();
    put(&fs, "b.txt", &bytes);
    for pattern in ["get", r"\bget\b"] {
        let mut args = search(pattern);
        args.word = pattern == "get";
        let matches = searched(&fs, args).matches;
        let matches: Vec<_> =
            matches.iter().map(|matches| (matches.path.as_str(), matches.line, matches.match_start)).collect();
        assert_eq!(matches, [("a.txt", 1, 0), ("a.txt", 4, 6)], "{pattern}");
    }
}

#[test]
fn matches_over_several_lines() {
    let fs = tree(&[("a.rs", "fn a(\n    x: u8,\n) {}\n\nfn b() {}\nfn c(\n) {}\n")]);
    let mut args = search("fn \\w+\\(\\s[^)]*\\)");
    args.multiline = true;
    let result = searched(&fs, args.clone());
    let rendered: Vec<_> =
        result.matches.iter().map(|m| (m.line, m.text.as_str(), m.match_start, m.match_end)).collect();
    assert_eq!(rendered, [(1, "fn a(\n    x: u8,\n) {}", 0, 18), (6, "fn c(\n) {}", 0, 7)]);
    args.output = GrepOutput::Count;
    assert_eq!(searched(&fs, args).files[0].count, Some(2));
}

#[test]
fn a_named_file_is_searched_though_rules_exclude_it() {
    let fs = tree(&[(".gitignore", "x\n"), ("x", "a\n"), (".h", "a\n"), ("y", "a\n"), (".agentignore", "y\n")]);
    assert_eq!(searched(&fs, search("a")).matches.len(), 0);
    for path in ["x", ".h"] {
        let mut args = search("a");
        args.path = path.to_owned();
        assert_eq!(searched(&fs, args).matches[0].path, path);
    }
    let mut args = search("a");
    args.path = "y".to_owned();
    assert_eq!(run(&fs, Request::Grep(args)).unwrap_err().code, Code::Denied);
}
