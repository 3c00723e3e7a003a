//! `dispatch-tool-files`: the plan of the gem.

use std::collections::BTreeMap;

use serde_json::json;

use super::support::Fixture;

const TEXT: &[(&str, &str)] = &[("a.txt", "one\ntwo\nthree\n"), ("src/b.rb", "def two\nend\n"), (".hidden", "two\n")];

fn fixture() -> Fixture {
    Fixture::with("dispatch", TEXT)
}

// 24: "All operations are sandboxed to the agent's worktree — no file access outside the worktree is permitted."
// 71: "Expand symlinks, resolve `..`, and verify the resulting absolute path starts with `worktree_path`. Raises
//     `Dispatch::Tool::Files::SandboxError` if the path escapes."
// 76: "Must handle symlink attacks (symlink pointing outside worktree)."
// 77: "Must handle `../` traversal."
// 78: "Must handle absolute paths (reject or re-root them)."
// 91, 98, 112, 119, 126: "path outside sandbox"
// 145: "SandboxError — path escapes the worktree."
#[test]
fn nothing_outside_the_worktree() {
    let fixture = fixture();
    for path in fixture.ways_out() {
        let edits = json!([{"old_text": "secret", "new_text": "x"}]);
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "edits": edits})),
            ("create_file", json!({"path": path, "content": "x"})),
            ("list_files", json!({"path": path})),
            ("search_files", json!({"query": "s", "path": path})),
        ] {
            // The link itself exists, which `create_file` reports first.
            let error = fixture.fails(tool, arguments)["error"].clone();
            let is_taken = tool == "create_file" && path == "out" && error == "FileExistsError";
            assert!(error == "SandboxError" || is_taken, "{tool} {path}: {error}");
        }
    }
    fixture.hidden_file_is_untouched();
}

// 78: "Must handle absolute paths (reject or re-root them)."
#[test]
fn an_absolute_path_inside_is_the_path_inside() {
    let fixture = fixture();
    let path = fixture.root().join("a.txt");
    assert_eq!(fixture.ok("read_file", json!({"path": path}))["output"], "0: one\n1: two\n2: three");
}

// 88: "`path` (required, String), `start_line` (optional, Integer, 0-based), `end_line` (optional, Integer, 0-based, -1 for EOF)."
// 89: "If line range specified, return only those lines. Prefix each line with its line number."
// 90: "File contents as a string with line numbers."
#[test]
fn read_file() {
    let fixture = fixture();
    let read = |arguments| fixture.ok("read_file", arguments)["output"].clone();
    assert_eq!(read(json!({"path": "a.txt"})), "0: one\n1: two\n2: three");
    assert_eq!(read(json!({"path": "a.txt", "start_line": 1})), "1: two\n2: three");
    assert_eq!(read(json!({"path": "a.txt", "start_line": 1, "end_line": 1})), "1: two");
    assert_eq!(read(json!({"path": "a.txt", "start_line": 0, "end_line": -1})), "0: one\n1: two\n2: three");
    assert_eq!(read(json!({"path": "a.txt", "end_line": 99})), "0: one\n1: two\n2: three");
    fixture.put("empty", "");
    assert_eq!(read(json!({"path": "empty"})), "");
    assert!(fixture.fails("read_file", json!({}))["message"].as_str().unwrap().contains("`path` is missing"));
    assert_eq!(read(json!({"path": "a.txt", "start_line": 3})), "[no lines: the file has 3 lines]");
    let error = fixture.fails("read_file", json!({"path": "a.txt", "start_line": 2, "end_line": 1}));
    assert!(error["message"].as_str().unwrap().contains("1 is before `start_line`, 2"), "{error}");
}

// 91: "Failure: File not found, path outside sandbox, binary file detection."
// 169: "`read_file` should detect and refuse to read binary files (check for null bytes in first N bytes)."
#[test]
fn read_file_refuses_binary_files() {
    let fixture = fixture();
    let error = fixture.fails("read_file", json!({"path": "nope"}));
    assert_eq!((&error["success"], &error["error"]), (&json!(false), &json!("FileNotFoundError")));
    fixture.put("b.bin", b"MZ\0\x01\x02".as_slice());
    let error = fixture.fails("read_file", json!({"path": "b.bin"}));
    assert_eq!(error["error"], "Error");
    assert!(error["message"].as_str().unwrap().contains("it is binary"), "{error}");
}

// 96: "Write/overwrite the entire file with the given content. Creates parent directories if needed."
// 97: "Confirmation message with path and byte count."
// 98: "permission errors"
#[test]
fn write_file() {
    let fixture = fixture();
    let written = fixture.ok("write_file", json!({"path": "new/dir/c.txt", "content": "ä\n"}));
    assert_eq!(written, json!({"success": true, "output": "Created new/dir/c.txt (3 bytes)"}));
    let written = fixture.ok("write_file", json!({"path": "a.txt", "content": "x"}));
    assert_eq!(written["output"], "Wrote a.txt (1 bytes)");
    assert_eq!((fixture.get("new/dir/c.txt"), fixture.get("a.txt")), ("ä\n".to_owned(), "x".to_owned()));
    let error = fixture.fails("write_file", json!({"path": ".git/config", "content": "x"}));
    assert_eq!(error["error"], "Error");
    assert!(!fixture.has(".git"));
}

// 102: "`edits` (required, Array of `{ old_text: String, new_text: String }`)."
// 103: "For each edit, find `old_text` in the file and replace with `new_text`. Edits are applied sequentially. If `old_text`
//      is not found, the edit fails."
// 104: "Confirmation with number of edits applied."
// 105: "File not found, `old_text` not found, ambiguous match (multiple occurrences — require more context)."
#[test]
fn edit_file() {
    let fixture = fixture();
    let edit = |path: &str, edits: &[(&str, &str)]| {
        let edits: Vec<_> = edits.iter().map(|(old, new)| json!({"old_text": old, "new_text": new})).collect();
        fixture.call("edit_file", json!({"path": path, "edits": edits}))
    };
    assert_eq!(edit("a.txt", &[("two", "2")]).value()["output"], "Applied 1 edit to a.txt");
    let two = edit("a.txt", &[("2", "zwei"), ("zwei\nthree", "drei")]);
    assert_eq!(two.value()["output"], "Applied 2 edits to a.txt");
    assert_eq!(fixture.get("a.txt"), "one\ndrei\n");
    assert_eq!(edit("nope", &[("a", "b")]).value()["error"], "FileNotFoundError");
    // The gem's own tests look for these words.
    assert!(edit("nope", &[("a", "b")]).text.contains("file not found: "));
    assert!(edit("a.txt", &[("four", "4")]).text.contains("not found: "));
    assert!(edit("a.txt", &[("e", "E")]).text.contains("ambiguous: "));
    let missing = edit("a.txt", &[("one", "1"), ("four", "4")]);
    assert!(missing.text.contains("edit 2: `old_text` is not there"), "{}", missing.text);
    let twice = edit("a.txt", &[("e", "E")]);
    assert!(twice.text.contains("at lines 1, 2"), "{}", twice.text);
    assert!(twice.text.contains("include more of the lines around the intended match"), "{}", twice.text);
    assert!(!twice.text.contains("replace_all"), "{}", twice.text);
    assert_eq!(fixture.get("a.txt"), "one\ndrei\n", "a failed edit changes nothing");
}

// 110: "Create a new file. Fails if the file already exists (use `write_file` to overwrite). Creates parent directories."
// 111: "Confirmation message."
// 147: "FileExistsError — file already exists (for create_file)."
#[test]
fn create_file() {
    let fixture = fixture();
    let created_file = fixture.ok("create_file", json!({"path": "x/y.txt", "content": "y\n"}));
    assert_eq!(created_file["output"], "Created x/y.txt (2 bytes)");
    let error = fixture.fails("create_file", json!({"path": "a.txt", "content": "y\n"}));
    assert_eq!(error["error"], "FileExistsError");
    assert!(error["message"].as_str().unwrap().contains("`write_file` overwrites it"), "{error}");
    assert_eq!(fixture.get("a.txt"), "one\ntwo\nthree\n");
}

// 116: "`path` (optional, String, defaults to `.`), `pattern` (optional, String, glob pattern), `recursive` (optional, Boolean,
//      default `true`)."
// 117: "List files in the directory. Apply glob pattern if provided. Returns paths relative to the worktree root."
// 118: "Newline-separated list of file paths."
// 119: "Directory not found"
#[test]
fn list_files() {
    let fixture = fixture();
    std::fs::remove_file(fixture.root().join(".hidden")).unwrap();
    let list = |arguments| fixture.ok("list_files", arguments)["output"].clone();
    assert_eq!(list(json!({})), "a.txt\nsrc/b.rb");
    assert_eq!(list(json!({"path": ""})), "a.txt\nsrc/b.rb");
    assert_eq!(list(json!({"recursive": false})), "a.txt");
    assert_eq!(list(json!({"pattern": "*.rb"})), "src/b.rb");
    assert_eq!(list(json!({"path": "src"})), "src/b.rb");
    assert_eq!(list(json!({"pattern": "*.rb", "recursive": false})), "");
    assert_eq!(fixture.fails("list_files", json!({"path": "nope"}))["error"], "FileNotFoundError");
}

// 123: "`query` (required, String), `path` (optional, String, defaults to `.`), `pattern` (optional, String, file glob to
//      filter), `is_regex` (optional, Boolean, default `false`)."
// 124: "Returns matching lines with file paths and line numbers. Limit results to a reasonable maximum (e.g. 100 matches)."
// 125: "Formatted search results."
// 126: "Invalid regex"
#[test]
fn search_files() {
    let fixture = fixture();
    std::fs::remove_file(fixture.root().join(".hidden")).unwrap();
    let search = |arguments| fixture.ok("search_files", arguments)["output"].clone();
    assert_eq!(search(json!({"query": "two"})), "a.txt:1:two\nsrc/b.rb:0:def two");
    assert_eq!(search(json!({"query": "t.o"})), "[no match in 2 files]");
    assert_eq!(search(json!({"query": "t.o", "is_regex": true, "path": "src"})), "src/b.rb:0:def two");
    assert_eq!(search(json!({"query": "two", "pattern": "*.txt"})), "a.txt:1:two");
    assert!(fixture.fails("search_files", json!({"query": "(", "is_regex": true}))["message"].is_string());
    fixture.put("many.txt", "many\n".repeat(150));
    let outcome = fixture.call("search_files", json!({"query": "many"}));
    let output = outcome.value()["output"].as_str().unwrap().to_owned();
    assert_eq!(output.lines().filter(|line| line.starts_with("many.txt:")).count(), 100);
    assert!(outcome.truncated && output.ends_with("narrow `path`, `pattern` or `query`]"), "{output}");
}

// 132: "A convenience method that registers all file tools into a `Dispatch::Tools::Registry`."
// 137: "Now registry contains: read_file, write_file, edit_file, create_file, list_files, search_files"
#[test]
fn register() {
    let fixture = fixture();
    let mut registry = Vec::new();
    paddock::register(fixture.workspace(), "dispatch", &mut registry).unwrap();
    let names: Vec<_> = registry.iter().map(|tool| tool.tool.name.as_str()).collect();
    assert_eq!(names, ["read_file", "write_file", "edit_file", "create_file", "list_files", "search_files"]);
    let mut by_name: BTreeMap<String, paddock::RegisteredTool> = BTreeMap::new();
    paddock::register(fixture.workspace(), "dispatch", &mut by_name).unwrap();
    assert_eq!(by_name["read_file"].call(r#"{"path": "a.txt", "end_line": 0}"#).text, "0: one");
    assert!(paddock::register(fixture.workspace(), "gem", &mut registry).is_err());
}

// 167: "Tools return `Dispatch::Tools::Result` (success or failure) — they never raise exceptions to the caller."
#[test]
fn failures_are_values() {
    let fixture = fixture();
    for (tool, arguments) in
        [("read_file", "no json"), ("read_file", "[]"), ("rm", "{}"), ("read_file", r#"{"paht": "a"}"#)]
    {
        let outcome = fixture.workspace().call_with(tool, arguments, &paddock::CallOptions::dialect("dispatch"));
        assert_eq!(outcome.value()["success"], false, "{}", outcome.text);
        assert!(outcome.value()["message"].is_string());
    }
}
