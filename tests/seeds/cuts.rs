//! Every result that a dialect shortens says so in the text for the model.

use serde_json::{Value, json};

use super::support::Fixture;

/// Words that mark a text as incomplete.
const WORDS: &[&str] = &[
    "there are more",
    "continues",
    "[truncated",
    "more: cursor=",
    "there is more",
    "more entries",
    "More than",
    "only the first",
];

fn long_file() -> String {
    (1..=2_500).map(|line| format!("line {line:050}\n")).collect()
}

/// Creates a tree with a file longer than a page, and a directory with more entries than any listing shows.
fn fixture(dialect: &'static str) -> Fixture {
    let fixture = Fixture::with(dialect, &[("long.txt", &long_file()), ("memories/long.txt", &long_file())]);
    for top in ["many", "memories/many"] {
        std::fs::create_dir(fixture.root().join(top)).unwrap();
        (0..10_050).for_each(|index| fixture.put(&format!("{top}/{index}.txt"), "line\n"));
    }
    fixture
}

#[test]
fn a_cut_text_says_so() {
    let calls: &[(&'static str, &[(&str, Value)])] = &[
        (
            "paddock",
            &[
                ("read_file", json!({"path": "long.txt"})),
                ("list_dir", json!({"path": "many"})),
                ("tree", json!({"path": "many"})),
                ("glob", json!({"pattern": "**"})),
                ("grep", json!({"pattern": "line"})),
            ],
        ),
        (
            "codex",
            &[
                ("read_file", json!({"file_path": "long.txt", "limit": 2_400})),
                ("read_file", json!({"file_path": "long.txt"})),
                ("list_dir", json!({"dir_path": "many"})),
                ("grep_files", json!({"pattern": "line"})),
            ],
        ),
        (
            "anthropic",
            &[
                ("str_replace_based_edit_tool", json!({"command": "view", "path": "long.txt"})),
                ("str_replace_based_edit_tool", json!({"command": "view", "path": "many"})),
                ("memory", json!({"command": "view", "path": "/memories/long.txt"})),
                ("memory", json!({"command": "view", "path": "/memories/many"})),
            ],
        ),
        (
            "mcp-filesystem",
            &[
                ("list_directory", json!({"path": "many"})),
                ("list_directory_with_sizes", json!({"path": "many"})),
                ("search_files", json!({"path": ".", "pattern": "**"})),
            ],
        ),
        (
            "weakincentives",
            &[
                ("read_file", json!({"path": "long.txt", "limit": 2_400})),
                // 1,161 files: `ls` of the directory and `glob` of all files fail, because their results cannot contain
                // a notice.
                ("glob", json!({"pattern": "many/1*"})),
                ("grep", json!({"pattern": "line"})),
            ],
        ),
        (
            "dispatch",
            &[
                ("read_file", json!({"path": "long.txt"})),
                ("list_files", json!({"path": "many"})),
                ("search_files", json!({"query": "line"})),
            ],
        ),
        (
            "chorus",
            &[
                ("file.read", json!({"path": "long.txt"})),
                ("file.list", json!({"path": "many"})),
                ("file.search", json!({"pattern": "line"})),
            ],
        ),
        (
            "dotnet-prompt",
            &[
                ("read_file", json!({"file_path": "long.txt", "max_lines": 10})),
                ("list_directory", json!({"directory_path": "many"})),
            ],
        ),
        (
            "lincona",
            &[
                ("read_file", json!({"path": "long.txt"})),
                ("list_dir", json!({"path": "many"})),
                ("grep_files", json!({"pattern": "line"})),
            ],
        ),
    ];
    for (dialect, calls) in calls {
        let fixture = fixture(dialect);
        for (tool, arguments) in *calls {
            let outcome = fixture.call(tool, arguments.clone());
            assert!(outcome.ok && outcome.truncated, "{dialect} {tool} {arguments}: {:.300}", outcome.text);
            let end = &outcome.text[outcome.text.floor_char_boundary(outcome.text.len().saturating_sub(300))..];
            let has_cursor = *dialect == "paddock";
            assert!(has_cursor || !outcome.text.contains("cursor="), "{dialect} {tool} has no cursor: …{end}");
            assert!(WORDS.iter().any(|words| end.contains(words)), "{dialect} {tool} {arguments}: …{end}");
        }
    }
}

/// The originals return an empty page for an offset at the end of a file or past it. The text says why it is empty.
#[test]
fn a_page_past_the_end_is_empty() {
    for (dialect, tool, path, offset) in [
        ("weakincentives", "read_file", "path", "offset"),
        ("dispatch", "read_file", "path", "start_line"),
        ("chorus", "file.read", "path", "offset"),
        ("dotnet-prompt", "read_file", "file_path", "skip_lines"),
    ] {
        let fixture = Fixture::with(dialect, &[("a.txt", "one\ntwo\n")]);
        for skipped in [2, 3, 1_000_000] {
            let outcome = fixture.call(tool, json!({path: "a.txt", offset: skipped}));
            assert!(outcome.ok && !outcome.truncated, "{dialect} {skipped}: {}", outcome.text);
            assert_eq!(outcome.text, "[no lines: the file has 2 lines]", "{dialect} {skipped}");
        }
    }
}

/// A tree as JSON has no place for a notice.
#[test]
fn a_json_tree_is_complete_or_fails() {
    let fixture = fixture("mcp-filesystem");
    let refused = fixture.fails("directory_tree", json!({"path": "."}))["content"].to_string();
    assert!(refused.contains("more than 10000 entries") && refused.contains("excludePatterns"), "{refused}");
    fixture.ok("directory_tree", json!({"path": ".", "excludePatterns": ["many", "memories"]}));
}

/// A file that the reference server reads completely is read completely, or refused with a hint to read parts.
#[test]
fn a_large_file_is_read_in_parts_that_are_whole() {
    let fixture = Fixture::new("mcp-filesystem");
    let line = format!("{}\n", "x".repeat(4_095));
    fixture.put("large.txt", line.repeat(3_000));
    let refused = fixture.fails("read_text_file", json!({"path": "large.txt"}))["content"].to_string();
    assert!(refused.contains("`head` or `tail` reads fewer lines"), "{refused}");
    let refused = fixture.fails("read_text_file", json!({"path": "large.txt", "tail": 2_900}))["content"].to_string();
    assert!(refused.contains("`head` or `tail` reads fewer lines"), "{refused}");
    for part in ["head", "tail"] {
        let read = fixture.ok("read_text_file", json!({"path": "large.txt", part: 2_100}));
        assert_eq!(read["content"].as_str().unwrap().lines().count(), 2_100, "{part}");
        assert!(read["content"].as_str().unwrap().lines().all(|text| text.len() == 4_095), "{part}");
    }
    let many = fixture.ok("read_multiple_files", json!({"paths": ["large.txt"]}))["content"].to_string();
    assert!(many.starts_with("\"large.txt: Error - "), "{many:.200}");
}

/// A program that reads, changes and writes `content` keeps every byte of it.
#[test]
fn values_for_programs_hold_whole_lines_and_their_window() {
    let fixture = Fixture::new("weakincentives");
    fixture.put("long.txt", format!("{}\nend\n", "y".repeat(5_000)));
    let outcome = fixture.call("read_file", json!({"path": "long.txt"}));
    let value: Value = serde_json::from_str(outcome.result.get()).unwrap();
    assert_eq!(value["value"]["content"], format!("{}\nend", "y".repeat(5_000)));
    assert!(outcome.text.contains(&format!("{}… [truncated line]", "y".repeat(2_000))), "{:.100}", outcome.text);
    fixture.put("longest.txt", format!("first\n{}\n", "y".repeat(100_000)));
    let all = fixture.ok("read_file", json!({"path": "longest.txt"}))["value"].clone();
    assert_eq!((&all["content"], &all["limit"]), (&json!(format!("first\n{}", "y".repeat(100_000))), &json!(2)));
    fixture.put("many.txt", "line\n".repeat(2_500));
    let value = fixture.ok("read_file", json!({"path": "many.txt", "limit": 3_000}))["value"].clone();
    assert_eq!(value["content"].as_str().unwrap().lines().count(), 2_500);
    assert_eq!((&value["limit"], &value["total_lines"]), (&json!(2_500), &json!(2_500)));
    let line = format!("{}needle{}", "ä".repeat(90_000), "z".repeat(90_000));
    fixture.put("wide.txt", format!("{line}\nneedle\n"));
    let outcome = fixture.call("grep", json!({"pattern": "needle", "glob_filter": "wide.txt"}));
    let value: Value = serde_json::from_str(outcome.result.get()).unwrap();
    let hit = &value["value"]["matches"][0];
    assert_eq!((&hit["line_content"], &hit["match_start"]), (&json!(line), &json!(90_000)));
    assert!(outcome.text.len() < 3_000 && outcome.text.contains("äneedlez"), "{:.100}", outcome.text);
    assert!(outcome.text.contains("1:…ä") && outcome.text.contains("z… [truncated line]"), "{:.100}", outcome.text);
}
