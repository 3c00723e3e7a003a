//! Advice in results and errors works when a caller follows it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paddock_guest::engine;
use paddock_types::entry::Time;
use paddock_types::outcome::Outcome;
use paddock_types::policy::Policy;
use paddock_types::request;
use paddock_types::request::Request;
use paddock_types::response::Response;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Filesystem, Open};
use serde_json::{Value, json};

struct Fixture {
    fs: MemoryFs,
    policy: Policy,
}

impl Fixture {
    fn new(files: &[(&str, &str)], policy: &Value) -> Self {
        let fs = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 7, nanoseconds: 0 }, 1);
        for (path, content) in files {
            let mut dir = fs.preopens().remove(0).dir;
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
            for name in above.split('/').filter(|name| !name.is_empty()) {
                let _ = fs.make_dir(&dir, name);
                dir = fs.open_dir(&dir, name).unwrap();
            }
            let file = fs.open_file(&dir, name, Open::CreateNew).unwrap();
            fs.write(&file, 0, content.as_bytes()).unwrap();
        }
        Self { fs, policy: Policy::parse(&policy.to_string(), "paddock").unwrap() }
    }

    fn call(&self, dialect: &str, tool: &str, arguments: Value) -> Outcome {
        engine::call(&self.fs, &self.policy, dialect, tool, &arguments.to_string())
    }

    fn text(&self, dialect: &str, tool: &str, arguments: Value) -> String {
        self.call(dialect, tool, arguments).text
    }

    #[track_caller]
    fn says(&self, dialect: &str, tool: &str, arguments: Value, part: &str) {
        let text = self.text(dialect, tool, arguments);
        assert!(text.contains(part), "{part}: {text}");
    }
}

fn files(files: &[(&str, &str)]) -> Fixture {
    Fixture::new(files, &json!({}))
}

#[test]
fn a_long_line_is_read_in_parts() {
    let line = format!("{}end", "x".repeat(60_000));
    let fixture = files(&[("a.txt", &line)]);
    fixture.says("paddock", "read_file", json!({"path": "a.txt"}), "long lines were cut; mode=raw shows more of them");
    let raw = fixture.text("paddock", "read_file", json!({"path": "a.txt", "mode": "raw"}));
    let (_, rest) = raw.split_once("[line 1 continues at byte ").unwrap();
    assert!(rest.contains("[mode=base64 with that byte as offset shows the rest of the line"), "{rest}");
    let offset: usize = rest.split(']').next().unwrap().parse().unwrap();
    assert_eq!(offset, 50 * 1024 + 1);
    let bytes = json!({"path": "a.txt", "mode": "base64", "offset": line.len() - 2});
    fixture.says("paddock", "read_file", bytes, "ZW5k");
}

#[test]
fn a_file_over_the_limit() {
    let line = format!("{}\n", "x".repeat(40));
    let fixture = Fixture::new(
        &[("long", &line.repeat(3)), ("line", &"x".repeat(120))],
        &json!({"limits": {"max_file_bytes": 100}}),
    );
    fixture.says("mcp-filesystem", "read_text_file", json!({"path": "long"}), "; `head` or `tail` reads fewer lines");
    fixture.says("mcp-filesystem", "read_text_file", json!({"path": "long", "head": 2}), "xxx");
    let many = json!({"paths": ["long"]});
    fixture.says(
        "mcp-filesystem",
        "read_multiple_files",
        many,
        "`read_text_file` with `head` or `tail` reads a part of it",
    );
    for head in [json!({"path": "line", "head": 1}), json!({"path": "line", "tail": 1}), json!({"path": "line"})] {
        let text = fixture.text("mcp-filesystem", "read_text_file", head);
        assert!(text.ends_with("of text, the maximum of one call"), "{text}");
    }
    let edit = json!({"path": "long", "edits": [{"oldText": "a", "newText": "b"}]});
    fixture.says(
        "mcp-filesystem",
        "edit_file",
        edit,
        "`read_text_file` with `head` or `tail` works on files of any size",
    );
    let read = json!({"file_path": "long", "max_size_mb": 50});
    fixture.says("dotnet-prompt", "read_file", read, "the policy's `limits.max_file_bytes` allows no more");
    let replace = json!({"command": "str_replace", "path": "long", "old_str": "a", "new_str": "b"});
    fixture.says("anthropic", "str_replace_based_edit_tool", replace, "with `view_range` works on files of any size");
    let patch = json!({"operation": {"type": "update_file", "path": "long", "diff": "@@\n-a\n+b"}});
    fixture.says("openai", "apply_patch", patch, "`limits.max_file_bytes`");
    let large = Fixture::new(&[("large", &"x".repeat(3 << 20))], &json!({}));
    let read = json!({"file_path": "large", "max_size_mb": 2});
    large.says("dotnet-prompt", "read_file", read, "; `max_size_mb` allows larger files");
}

#[test]
fn a_glob_that_matches_elsewhere() {
    let fixture = files(&[("src/x/lib.rs", "fn f\n"), ("src/x/y/z.md", "z\n")]);
    for (pattern, part) in [
        ("x/*.rs", "matches nothing there, and `**/x/*.rs` does"),
        ("src/x/*.md", "matches nothing there, and `src/x/**/*.md` does"),
    ] {
        fixture.says("paddock", "glob", json!({"pattern": pattern}), part);
        fixture.says("paddock", "grep", json!({"pattern": "z|f", "glob": pattern}), part);
    }
    for pattern in ["gone/*.rs", "x/*.py", "src/gone/lib.rs"] {
        let text = fixture.text("paddock", "glob", json!({"pattern": pattern}));
        assert_eq!(text, "[no files match]\n", "{pattern}");
    }
    let search = |path: &str| json!({"path": path, "pattern": "src/x/*.rs"});
    let part = "matches nothing there, and `./x/*.rs` does";
    fixture.says("mcp-filesystem", "search_files", search("src"), part);
    let hits = fixture.text("mcp-filesystem", "search_files", json!({"path": "src", "pattern": "x/*.rs"}));
    assert!(hits.ends_with("src/x/lib.rs"), "{hits}");
    fixture.says("dispatch", "list_files", json!({"pattern": "x/*.rs"}), "`**/x/*.rs`");
    fixture.says("weakincentives", "glob", json!({"pattern": "*.rs,*.md"}), "`{*.rs,*.md}` matches each of these");
    fixture.says("weakincentives", "glob", json!({"pattern": "!*.md"}), "excludes nothing");
    fixture.says("weakincentives", "grep", json!({"pattern": "f", "glob_filter": "*.rs,*.md"}), "`{*.rs,*.md}`");
    let directory = "`src` is a directory; `src/**` matches";
    fixture.says("weakincentives", "glob", json!({"pattern": "src"}), directory);
    fixture.says("weakincentives", "grep", json!({"pattern": "f", "glob_filter": "src/"}), "lib.rs");
    fixture.says("weakincentives", "grep", json!({"pattern": "f", "glob_filter": "src"}), directory);
    let both = fixture.text("weakincentives", "glob", json!({"pattern": "{*.rs,*.md}"}));
    assert!(both.contains("lib.rs") && both.contains("z.md"), "{both}");
}

#[test]
fn a_pattern_without_a_match() {
    let fixture = files(&[("a.txt", "one\ntwo\nthree\n")]);
    fixture.says("dispatch", "search_files", json!({"query": "two|zzz"}), "`|` has no special meaning");
    fixture.says(
        "lincona",
        "grep_files",
        json!({"pattern": "two\\|three"}),
        "No matches found.\n[`\\|` in the pattern",
    );
    fixture.says("lincona", "grep_files", json!({"pattern": "ONE"}), "would match but for letter case");
    fixture.says("lincona", "grep_files", json!({"pattern": "one", "include": ["x/*.txt"]}), "No matches found.");
    let none = fixture.text("lincona", "grep_files", json!({"pattern": "zzz"}));
    assert_eq!(none, "No matches found.");
}

#[test]
fn a_pattern_over_lines_that_end_with_crlf() {
    let fixture = files(&[("a.txt", "one\r\ntwo\r\nthree\r\n")]);
    let note =
        "line 1 of `a.txt` would match but for its CRLF line endings, which `\\r?\\n` in a regular expression matches";
    let search = json!({"pattern": "one\\ntwo", "multiline": true});
    fixture.says("paddock", "grep", search, note);
    fixture.says("paddock", "grep", json!({"pattern": "e\ntwo", "fixed": true, "multiline": true}), note);
    let replace = json!({"pattern": "one\\n", "replacement": "", "multiline": true});
    fixture.says("paddock", "replace", replace, note);
    fixture.says("paddock", "grep", json!({"pattern": "one\\r?\\ntwo", "multiline": true}), "1:one");
    let other = fixture.text("paddock", "grep", json!({"pattern": "one\\nthree", "multiline": true}));
    assert!(!other.contains("CRLF"), "{other}");
}

#[test]
fn a_part_of_a_line_has_an_ellipsis_at_its_start() {
    let fixture = files(&[("a.txt", &format!("{}needle", "x ".repeat(4_000)))]);
    let text = fixture.text("dispatch", "search_files", json!({"query": "needle"}));
    assert!(text.starts_with("a.txt:0:…x"), "{text}");
    let chorus = fixture.call("chorus", "file.search", json!({"pattern": "needle"}));
    let result: Value = serde_json::from_str(&chorus.result).unwrap();
    assert!(result["matches"][0]["content"].as_str().unwrap().starts_with('…'), "{result}");
}

#[test]
fn several_locations_that_differ_only_in_white_space() {
    let fixture = files(&[("a.txt", "  a();\nb\n    a();\n")]);
    let edit = json!({"path": "a.txt", "edits": [{"oldText": "\ta();", "newText": "c();"}]});
    let text = fixture.text("mcp-filesystem", "edit_file", edit);
    assert!(text.contains("without white space around lines it occurs 2 times, at lines 1, 3"), "{text}");
    assert!(text.ends_with("include more of the lines around the intended match"), "{text}");
}

#[test]
fn lines_of_a_diff_are_those_of_the_caller() {
    let fixture = files(&[("f", "a\nb\n")]);
    let patch = |diff: &str| fixture.text("openai", "apply_patch", json!({"operation": {"path": "f", "diff": diff}}));
    assert!(patch("junk").contains("line 1: `junk` does not start with"), "{}", patch("junk"));
    assert!(patch("@@\n-x\n+y").contains("(patch line 1)"), "{}", patch("@@\n-x\n+y"));
    assert!(patch("@@\n a\n+b\njunk").contains("line 4: `junk`"), "{}", patch("@@\n a\n+b\njunk"));
    assert!(!patch("").contains("line 0"), "{}", patch(""));
}

#[test]
fn a_replacement_by_the_same_text() {
    let fixture = files(&[("a.txt", "b b\n"), ("c.txt", "b\n")]);
    let replace = json!({"pattern": "b", "replacement": "b"});
    fixture.says("paddock", "replace", replace, "[matches that the replacement leaves as they are: 3]");
}

#[test]
fn appended_text_with_other_line_endings() {
    let fixture = files(&[("crlf", "a\r\n"), ("lf", "a\n")]);
    let append = |path: &str, content: &str| {
        fixture.text("paddock", "write_file", json!({"path": path, "content": content, "append": true}))
    };
    let text = append("crlf", "b\n");
    let note = "[the lines of the appended text end in another way than those of the file]";
    assert!(text.starts_with("appended to crlf (2 bytes)\n") && text.contains(note), "{text}");
    for (path, content) in [("lf", "b\n"), ("lf", "c"), ("new", "b\r\n")] {
        let text = append(path, content);
        assert!(!text.contains("in another way"), "{text}");
    }
}

#[test]
fn an_undone_move_names_both_paths() {
    let fixture = files(&[]);
    fixture.call("paddock", "write_file", json!({"path": "a.txt", "content": "a"}));
    fixture.call("paddock", "move", json!({"source": "a.txt", "destination": "n/m/c.txt"}));
    let history = engine::run(&fixture.fs, &fixture.policy, &Request::History(request::History { limit: 9 })).0;
    let Ok(Response::History(history)) = history else { panic!("{history:?}") };
    let paths: Vec<_> = history.entries.iter().map(|entry| entry.paths.join(" ")).collect();
    assert_eq!(paths, ["a.txt n/m/c.txt n n/m", "a.txt"]);
    let text = fixture.text("paddock", "restore", json!({"last": 2}));
    assert!(text.contains("a.txt, n/m/c.txt"), "{text}");
}

#[test]
fn names_of_arguments_and_tools() {
    let fixture = files(&[("a.txt", "a\n"), (".git/config", "\n"), ("d/.git/config", "\n")]);
    let takes_none = fixture.text("mcp-filesystem", "list_allowed_directories", json!({"x": 1}));
    assert!(takes_none.ends_with("unknown argument `x`; it takes no arguments"), "{takes_none}");
    let pack = json!({"source_paths": [], "destination_path": "a.zip"});
    fixture.says("dotnet-prompt", "compress_files", pack, "argument `source_paths`: nothing is named");
    fixture.says("dotnet-prompt", "restore_file", json!({}), "neither it nor `backup_path` is given");
    let glob = json!({"query": "x", "pattern": "["});
    fixture.says("dispatch", "search_files", glob, "argument `pattern`");
    fixture.says("paddock", "read_files", json!({"glob": "["}), "argument `glob`");
    let pack = json!({"source_paths": ["d"], "destination_path": "a.zip"});
    let text = fixture.text("dotnet-prompt", "compress_files", pack);
    assert!(text.contains("the archive cannot be unpacked here"), "{text}");
    let unpack = json!({"archive_path": "a.zip", "destination_path": "out"});
    assert!(fixture.call("dotnet-prompt", "extract_archive", unpack).error.is_some());
    let unknown = fixture.text("paddock:nope", "nope", json!({}));
    assert!(unknown.contains("has no tool `nope`; ") && !unknown.contains("openai"), "{unknown}");
    // A name without a dialect may be a dialect or a tool.
    let bare = fixture.text("paddock:grep,openay", "grep", json!({}));
    assert!(bare.contains("did you mean `openai`?"), "{bare}");
    for (dialect, tool) in [("paddock", "read_file"), ("codex", "read_file")] {
        let arguments = json!({"path": "a.txt", "startLine": 1, "end_line": 1});
        assert!(fixture.call(dialect, tool, arguments).error.is_none());
    }
}

#[test]
fn the_other_patch_tool_is_named_if_it_is_listed() {
    let fixture = files(&[]);
    let patch = json!({"patch": ""});
    fixture.says("lincona", "apply_patch_freeform", patch.clone(), "; `apply_patch_json` takes a unified diff");
    let alone = fixture.text("lincona:apply_patch_freeform", "apply_patch_freeform", patch);
    assert!(alone.ends_with("it has no line `*** Begin Patch`"), "{alone}");
}

/// The directory itself is no entry of its tree.
#[test]
fn a_dot_excludes_nothing() {
    let fixture = files(&[("src/a.txt", "a\n")]);
    for (tool, arguments) in [
        ("directory_tree", json!({"path": ".", "excludePatterns": ["."]})),
        ("search_files", json!({"path": ".", "pattern": "**/*.txt", "excludePatterns": ["."]})),
    ] {
        fixture.says("mcp-filesystem", tool, arguments, "a.txt");
    }
}

#[test]
fn the_memory_tool_names_its_own_paths() {
    let fixture = files(&[("memories/e", "")]);
    let replace = json!({"command": "str_replace", "path": "/memories/e", "old_str": "", "new_str": "x"});
    fixture.says("anthropic", "memory", replace, "`/memories/e`");
    let rename = json!({"command": "rename", "old_path": "/memories/e", "new_path": "/memories/e"});
    let text = fixture.text("anthropic", "memory", rename);
    assert!(text.contains("`/memories/e`") && !text.contains("`memories"), "{text}");
}

#[test]
fn an_error_has_a_bounded_size() {
    let fixture = files(&[("a.txt", "a\n"), ("memories/a", "a\n")]);
    let long = "x".repeat(1 << 20);
    let listed = format!("paddock:{long}");
    let unknown: serde_json::Map<_, _> = (0..3_000).map(|number| (format!("a{number}"), Value::Null)).collect();
    let edits: Vec<_> = (0..3_000).map(|number| json!({"old": number})).collect();
    let edit = |path: &str| json!({"command": "str_replace", "path": path, "old_str": long, "new_str": ""});
    let patch =
        |line: &str| json!({"input": format!("*** Begin Patch\n*** Update File: a.txt\n{line}\n*** End Patch")});
    for (dialect, tool, arguments) in [
        ("anthropic", "str_replace_based_edit_tool", edit("a.txt")),
        ("anthropic", "memory", edit("/memories/a")),
        ("anthropic", "memory", edit(long.as_str())),
        ("paddock", "edit_file", json!({"path": "a.txt", "edits": edits})),
        ("paddock", "read_file", json!({"path": format!("{long}\\")})),
        ("paddock", "read_file", Value::Object(unknown)),
        ("paddock", "read_file", json!({ (long.as_str()): 1 })),
        ("paddock", long.as_str(), json!({})),
        (long.as_str(), "read_file", json!({})),
        (listed.as_str(), "read_file", json!({})),
        ("mcp-filesystem", "write_file", json!({"path": format!("C:/{long}"), "content": ""})),
        ("codex", "apply_patch", patch(&long)),
        ("codex", "apply_patch", patch(&format!("@@ {long}\n-a"))),
        ("codex", "apply_patch", patch(&format!("@@\n-{long}"))),
    ] {
        let outcome = fixture.call(dialect, tool, arguments);
        assert!(outcome.error.is_some(), "{dialect:.20} {tool:.20}");
        let (text, json) = (outcome.text.len(), outcome.result.len());
        assert!(text.max(json) < 25_000, "{dialect:.20} {tool:.20}: {text}, {json}: {:.300}", outcome.text);
    }
    let text = fixture.text("paddock", "read_file", json!({"a": 1, "b": 1, "path": "a.txt"}));
    assert!(text.starts_with("unknown argument `a`; unknown argument `b`; it takes path, "), "{text}");
    let numbered: serde_json::Map<_, _> = (0..13).map(|number| (format!("q{number}"), Value::Null)).collect();
    let text = fixture.text("paddock", "read_file", Value::Object(numbered));
    assert!(text.contains("; and 3 more unknown arguments; argument `path` is missing"), "{text}");
}
