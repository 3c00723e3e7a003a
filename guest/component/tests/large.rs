//! Directories with more entries than a listing returns, and files with more lines than a page, in every dialect that
//! counts them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use paddock_guest::engine;
use paddock_types::entry::Time;
use paddock_types::outcome::Outcome;
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Filesystem, Open};
use serde_json::{Value, json};

/// A workspace with the directories `d` of 1,500 files and `m` of 10,050 files.
struct Fixture {
    fs: MemoryFs,
    dialect: &'static str,
    policy: Policy,
}

impl Fixture {
    fn new(dialect: &'static str) -> Self {
        let fs = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 7, nanoseconds: 0 }, 1);
        let fixture = Self { fs, dialect, policy: Policy::parse("{}", dialect).unwrap() };
        fixture.fill("d", 1_500, b"");
        fixture.fill("m", 10_050, b"");
        fixture
    }

    /// Makes a directory with so many files.
    fn fill(&self, directory: &str, count: usize, content: &[u8]) {
        let top = self.fs.preopens().remove(0).dir;
        self.fs.make_dir(&top, directory).unwrap();
        let inner = self.fs.open_dir(&top, directory).unwrap();
        for number in 0..count {
            let file = self.fs.open_file(&inner, &format!("{number:05}"), Open::CreateNew).unwrap();
            self.fs.write(&file, 0, content).unwrap();
        }
    }

    fn put(&self, name: &str, text: &str) {
        let top = self.fs.preopens().remove(0).dir;
        let file = self.fs.open_file(&top, name, Open::CreateNew).unwrap();
        self.fs.write(&file, 0, text.as_bytes()).unwrap();
    }

    fn call(&self, tool: &str, arguments: &Value) -> Outcome {
        engine::call(&self.fs, &self.policy, self.dialect, tool, &arguments.to_string())
    }

    fn ok(&self, tool: &str, arguments: &Value) -> (Value, String) {
        let outcome = self.call(tool, arguments);
        assert!(outcome.error.is_none(), "{}", outcome.text);
        (serde_json::from_str(&outcome.result).unwrap(), outcome.text)
    }

    #[track_caller]
    fn fails(&self, tool: &str, arguments: &Value, text: &str) {
        let outcome = self.call(tool, arguments);
        assert!(outcome.error.is_some() && outcome.text.contains(text), "{:.300}", outcome.text);
    }
}

fn length(value: &Value) -> usize {
    value.as_array().unwrap().len()
}

/// Returns the end of a text.
fn end(text: &str) -> &str {
    text.trim_end().rsplit('\n').next().unwrap()
}

#[test]
fn weakincentives_lists_everything_or_fails() {
    let fixture = Fixture::new("weakincentives");
    let (all, text) = fixture.ok("ls", &json!({"path": "d"}));
    assert_eq!((length(&all["value"]), text.lines().count()), (1_500, 1_002));
    assert_eq!(end(&text), "[there are 500 more entries: glob with a narrower pattern shows others]");
    let (all, text) = fixture.ok("glob", &json!({"pattern": "d/*"}));
    assert_eq!((length(&all["value"]["matches"]), end(&text).contains("500 more")), (1_500, true));
    let cause = "cannot list `m`: it has more entries than one call lists, 10000; `glob` with a narrower pattern";
    fixture.fails("ls", &json!({"path": "m"}), cause);
    fixture.fails("glob", &json!({"pattern": "*", "path": "m"}), cause);
}

#[test]
fn weakincentives_reads_every_requested_line() {
    let fixture = Fixture::new("weakincentives");
    let lines: String = (0..4_000).fold(String::new(), |mut lines, number| {
        let _ = writeln!(lines, "{number:030}");
        lines
    });
    fixture.put("f", &lines);
    fixture.put("long", &format!("{}\nend\n", "x".repeat(60_000)));
    let read = |arguments: Value| fixture.ok("read_file", &arguments);
    for (arguments, first, count) in [
        (json!({"path": "f"}), 0, 2_000),
        (json!({"path": "f", "limit": 3_000}), 0, 3_000),
        (json!({"path": "f", "offset": 500, "limit": 3_000}), 500, 3_000),
        (json!({"path": "f", "limit": -1}), 0, 4_000),
    ] {
        let (result, text) = read(arguments.clone());
        let value = &result["value"];
        let expected: Vec<_> = lines.lines().skip(first).take(count).collect();
        assert_eq!(value["content"], expected.join("\n"), "{arguments}");
        assert_eq!((&value["limit"], &value["offset"]), (&json!(count), &json!(first)), "{arguments}");
        // The message ends within 50 KiB of text, and names the next line.
        let line_count = text.lines().count() - 1;
        let next = format!("[there are more lines: offset={} continues]", first + line_count);
        assert!(end(&text) == next && line_count * 31 <= 50 * 1024, "{arguments}: {line_count} {}", end(&text));
        let last = format!("{}|{:030}", first + line_count, first + line_count - 1);
        assert_eq!(text.lines().nth(line_count - 1), Some(last.as_str()), "{arguments}");
    }
    let (result, text) = read(json!({"path": "long"}));
    assert_eq!(result["value"]["content"], format!("{}\nend", "x".repeat(60_000)));
    assert!(text.len() < 3_000 && text.ends_with("… [truncated line]\n2|end"), "{text}");
    let (empty, text) = read(json!({"path": "f", "limit": 0, "offset": 7}));
    let window = json!({"path": "f", "content": "", "total_lines": 4_000, "offset": 7, "limit": 0});
    assert_eq!((&empty["value"], text.as_str()), (&window, "[no lines: the file has 4000 lines]"));
}

/// A message that is cut after a blank line contains the blank line.
#[test]
fn a_message_ends_at_a_whole_line() {
    let fixture = Fixture::new("weakincentives");
    fixture.put("f", &format!("{}\n\n", "x".repeat(99)).repeat(1_000));
    let (result, text) = fixture.ok("read_file", &json!({"path": "f"}));
    assert_eq!(result["value"]["limit"], 2_000);
    let line_count = text.lines().count() - 1;
    assert_eq!(end(&text), format!("[there are more lines: offset={line_count} continues]"));
}

#[test]
fn chorus_marks_a_listing_that_is_cut() {
    let fixture = Fixture::new("chorus");
    let (all, text) = fixture.ok("file.list", &json!({"path": "d"}));
    assert_eq!((length(&all["files"]), &all["truncated"]), (1_500, &json!(false)));
    assert!(text.lines().count() == 1_001 && end(&text).starts_with("[there are more: "), "{}", end(&text));
    let (part, _) = fixture.ok("file.list", &json!({"path": "m"}));
    assert_eq!((length(&part["files"]), &part["truncated"]), (10_000, &json!(true)));
}

#[test]
fn entries_after_the_ten_thousandth_are_listed() {
    let fixture = Fixture::new("codex");
    let list = |offset: u64, limit: u64| json!({"dir_path": "m", "offset": offset, "limit": limit});
    let (_, text) = fixture.ok("list_dir", &list(10_001, 3));
    assert_eq!(text.split_once('\n').unwrap().1, "10000\n10001\n10002\nMore than 3 entries found");
    let (_, text) = fixture.ok("list_dir", &list(10_050, 3));
    assert_eq!(text.split_once('\n').unwrap().1, "10049");
    fixture.fails("list_dir", &list(10_051, 3), "offset exceeds directory entry count");
    fixture.fails("list_dir", &list(u64::MAX, u64::MAX), "offset exceeds directory entry count");
    fixture.fill("g", 2_001, b"x\n");
    let (_, text) = fixture.ok("grep_files", &json!({"pattern": "x", "path": "g", "limit": 9_999}));
    // No larger limit shows more.
    assert_eq!(end(&text), "[there are more files that match: a narrower `include` or `path` shows others]");
    let fixture = Fixture::new("lincona");
    let list = |offset: u64, limit: u64| json!({"path": ".", "offset": offset, "limit": limit});
    let (_, text) = fixture.ok("list_dir", &list(11_550, 5));
    assert_eq!(text.trim_end(), "m/10048\nm/10049");
    let (_, text) = fixture.ok("list_dir", &list(0, 3));
    assert!(text.starts_with("d/\nm/\nd/00000\n"), "{text}");
    fixture.fails("list_dir", &list(11_552, 5), "11552 is past the end: there are 11552 entries");
    fixture.fails("list_dir", &list(100_001, 5), "`offset`: it has to be at most 100000");
}

#[test]
fn totals_of_a_part_are_minimums() {
    let fixture = Fixture::new("mcp-filesystem");
    let (_, text) = fixture.ok("list_directory_with_sizes", &json!({"path": "m"}));
    let total = "Total: at least 10000 files, at least 0 directories\nCombined size: at least 0 B\n";
    let rest = "[there are more entries than one call lists: `search_files` with a narrower pattern finds others]";
    assert!(text.ends_with(&format!("{total}{rest}")), "{}", &text[text.len() - 300..]);
    let (_, text) = fixture.ok("list_directory_with_sizes", &json!({"path": "d"}));
    assert!(text.ends_with("Total: 1500 files, 0 directories\nCombined size: 0 B"), "{}", &text[text.len() - 300..]);
}

#[test]
fn a_cut_tree_names_the_call_that_continues() {
    let fixture = Fixture::new("paddock");
    let tree = |path: &str, limit: u64| fixture.ok("tree", &json!({"path": path, "limit": limit})).1;
    assert_eq!(end(&tree("d", 10)), "[there is more: raise `limit`, or name a directory below]");
    // The result ends at the limit of bytes, or at the number of entries that no call exceeds.
    let largest = "[there is more: name a directory below, or list one with `list_dir`]";
    assert_eq!(end(&tree("m", 9_000)), largest);
    assert_eq!(end(&tree("m", 100_000)), largest);
    assert!(!tree("d", 1_500).contains("there is more"));
}

#[test]
fn codex_reads_as_many_lines_as_requested() {
    let fixture = Fixture::new("codex");
    fixture.put("f", &"line\n".repeat(5_000));
    let read = |limit: u64| fixture.ok("read_file", &json!({"file_path": "f", "limit": limit})).1;
    assert_eq!(read(3_000).lines().filter(|line| line.starts_with('L')).count(), 3_000);
    assert_eq!(read(5_000).lines().last(), Some("L5000: line"));
    fixture.put("wide", &format!("{}\n", "x".repeat(99)).repeat(5_000));
    let (_, text) = fixture.ok("read_file", &json!({"file_path": "wide", "limit": 3_000}));
    assert!(end(&text).contains("`offset`") || end(&text).contains("offset="), "{}", end(&text));
}

#[test]
fn dispatch_takes_no_line_before_the_first() {
    let fixture = Fixture::new("dispatch");
    fixture.put("f", "a\nb\n");
    let read = |last: i64| json!({"path": "f", "end_line": last});
    assert_eq!(fixture.ok("read_file", &read(-1)).1, "0: a\n1: b");
    fixture.fails("read_file", &read(-2), "argument `end_line`: it has to be at least 0, or -1");
}

/// A call that lists a part ends its text with a line that says so; a call that lists nothing is an error.
#[test]
fn every_listing_that_is_cut_says_so() {
    let view = |path: &str| json!({"command": "view", "path": path});
    let (all, x) = (100_000, json!({"pattern": "x", "path": "g"}));
    for (dialect, calls) in [
        (
            "paddock",
            vec![
                ("list_dir", json!({"path": "m", "limit": all})),
                ("list_dir", json!({"path": "m", "limit": all, "sort": "size"})),
                ("list_dir", json!({"depth": 3, "limit": all})),
                ("tree", json!({"path": "m", "limit": all})),
                ("glob", json!({"pattern": "m/*", "limit": all})),
                ("glob", json!({"pattern": "m/*", "limit": all, "sort": "modified"})),
                ("grep", json!({"pattern": "x", "path": "g", "limit": all})),
                ("grep", json!({"pattern": "x", "path": "g", "limit": all, "output": "files"})),
                ("grep", json!({"pattern": "x", "path": "g", "limit": all, "output": "count"})),
                ("read_files", json!({"glob": "g/*"})),
                ("replace", json!({"pattern": "x", "replacement": "y", "path": "g"})),
            ],
        ),
        (
            "dispatch",
            vec![
                ("list_files", json!({"path": "m"})),
                ("list_files", json!({"recursive": true})),
                ("search_files", json!({"query": "x", "path": "g"})),
            ],
        ),
        ("dotnet-prompt", vec![("list_directory", json!({"directory_path": "m", "recursive": true}))]),
        ("chorus", vec![("file.list", json!({"path": "m"})), ("file.search", x.clone())]),
        (
            "weakincentives",
            vec![("ls", json!({"path": "m"})), ("glob", json!({"pattern": "*", "path": "m"})), ("grep", x.clone())],
        ),
        ("lincona", vec![("list_dir", json!({"path": "m", "limit": 10_000})), ("grep_files", x.clone())]),
        (
            "mcp-filesystem",
            vec![
                ("list_directory", json!({"path": "m"})),
                ("list_directory_with_sizes", json!({"path": "m", "sortBy": "size"})),
                ("directory_tree", json!({"path": "m"})),
                ("search_files", json!({"path": "m", "pattern": "*"})),
            ],
        ),
        ("anthropic", vec![("str_replace_based_edit_tool", view("m")), ("memory", view("/memories"))]),
        (
            "codex",
            vec![
                ("list_dir", json!({"dir_path": "m", "limit": all})),
                ("grep_files", json!({"pattern": "x", "path": "g", "limit": all})),
            ],
        ),
    ] {
        let fixture = Fixture::new(dialect);
        fixture.fill("g", 10_050, b"x\n");
        fixture.fill("memories", 10_050, b"");
        for (tool, arguments) in calls {
            let outcome = fixture.call(tool, &arguments);
            let end = end(&outcome.text);
            let is_explained =
                ["there are more", "there is more", "[more: ", "[truncated]", "[only the first", "ore than 1"];
            let is_explained =
                is_explained.iter().any(|words| end.contains(words)) || end.contains("a limit ended the search");
            assert!(outcome.truncated || outcome.error.is_some(), "{dialect} {tool} {arguments}: {end}");
            assert!(is_explained || end.contains("has more entries"), "{dialect} {tool} {arguments}: {end}");
        }
    }
}
