//! Texts of results for the model.

use paddock_dialects::{paddock, text};
use paddock_types::response::{Pack, Replace, ReplacedLine, Response, Skipped, Unpack};

fn rendered(response: &Response) -> String {
    text::render(response, &paddock::DIALECT.names(None))
}

#[test]
fn archives_are_summarised() {
    let pack = Pack { path: "new/a.zip".to_owned(), entries: 7, files: 5, bytes: 11, size: 900, ..Pack::default() };
    assert_eq!(rendered(&Response::Pack(pack)), "packed 5 files, 11 bytes into new/a.zip (900 bytes)");
    let notes = vec!["1 new files can be executed".to_owned()];
    let unpack = Unpack { destination: "out".to_owned(), files: 4, bytes: 13, notes, ..Unpack::default() };
    assert!(rendered(&Response::Unpack(unpack)).starts_with("unpacked 4 files, 13 bytes into out\n"));
}

/// A line of a plan is rendered once, and changes are marked by whole words.
#[test]
fn a_planned_line_shows_the_words_that_change() {
    let line = |old: &str, new: &str| {
        let (old, new) = (old.to_owned(), new.to_owned());
        ReplacedLine { path: "a".to_owned(), line: 3, old, new, replacements: 1 }.to_string()
    };
    for (old, new, expected) in [
        (
            "    let a = parse_amount(x, 1);",
            "    let a = read_amount(x, 1);",
            "3: let a = «parse_amount → read_amount»(x, 1);",
        ),
        ("a.old() + b.old()", "a.new() + b.new()", "3: a.«old() + b.old → new() + b.new»()"),
        ("gone", "", "3: «gone → »"),
        ("a b", "a b c", "3: a «b → b c»"),
        ("x x", "x", "3: «x x → x»"),
        ("\told", "    old", "3: «\\told →     old»"),
        ("  é1 ü", "  é2 ü", "3: «é1 → é2» ü"),
        ("a\nb", "a b", "3: «a\\nb → a b»"),
        ("aa", "aaa", "3: «aa → aaa»"),
        ("…cut old…", "…cut new…", "3: …cut «old… → new…»"),
    ] {
        assert_eq!(line(old, new), expected);
    }
}

/// The plan reports the left-out entries, and the result of applying it does not repeat them.
#[test]
fn a_plan_tells_which_entries_are_left_out() {
    let planned = Replace {
        total_files: 1,
        total_replacements: 1,
        plan: Some("0-a".to_owned()),
        skipped: Skipped { binary: 2, ..Skipped::default() },
        ..Replace::default()
    };
    let text = rendered(&Response::Replace(planned.clone()));
    assert!(text.contains("[left out: 2 binary]\n") && text.ends_with("with plan=0-a does it]"), "{text}");
    let applied = Replace { plan: None, applied: true, ..planned };
    assert_eq!(rendered(&Response::Replace(applied)), "replaced 1 match in 1 file\n");
}
