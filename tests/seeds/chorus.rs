//! Chorus: "Implement File Tool Runtime".

use serde_json::json;

use super::support::Fixture;

fn fixture() -> Fixture {
    Fixture::with("chorus", &[("a.txt", "one\ntwo\nthree\n"), ("src/b.ts", "let Two = 2;\n")])
}

// 9: "Implement six file tools: `read`, `write`, `patch`, `delete`, `list`, `search`"
#[test]
fn six_tools() {
    let names: Vec<_> = paddock::tools("chorus").unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["file.read", "file.write", "file.patch", "file.delete", "file.list", "file.search"]);
}

// 10: "All operations scoped to a designated workspace directory"
// 11: "Path traversal attacks prevented (no `..` escaping workspace)"
// 29: "All paths validated to be within workspace before any operation"
// 37: "Unit tests for path traversal prevention"
#[test]
fn nothing_outside_the_workspace() {
    let fixture = fixture();
    for path in fixture.ways_out() {
        for (tool, arguments) in [
            ("file.read", json!({"path": path})),
            ("file.write", json!({"path": path, "content": "x"})),
            ("file.patch", json!({"path": path, "patches": [{"find": "secret", "replace": "x"}]})),
            ("file.list", json!({"path": path})),
            ("file.search", json!({"pattern": "s", "path": path})),
        ] {
            assert_eq!(fixture.fails(tool, arguments)["error"]["code"], "outside-workspace", "{tool} {path}");
        }
        // The link itself is deleted, never its target.
        if path != "out" {
            assert_eq!(
                fixture.fails("file.delete", json!({"path": path}))["error"]["code"],
                "outside-workspace",
                "{path}"
            );
        }
    }
    fixture.ok("file.delete", json!({"path": "out"}));
    fixture.hidden_file_is_untouched();
}

// 19: "`file.read` | `{path, offset?, limit?}` | `{content, total_lines, truncated}`"
// 30: "`file.read` returns line-numbered content, supports pagination"
#[test]
fn file_read() {
    let fixture = fixture();
    let whole = fixture.ok("file.read", json!({"path": "a.txt"}));
    assert_eq!(whole, json!({"content": "1|one\n2|two\n3|three", "total_lines": 3, "truncated": false}));
    let page = fixture.ok("file.read", json!({"path": "a.txt", "offset": 1, "limit": 1}));
    assert_eq!(page, json!({"content": "2|two", "total_lines": 3, "truncated": true}));
    let past = fixture.ok("file.read", json!({"path": "a.txt", "offset": 3}));
    assert_eq!(past, json!({"content": "", "total_lines": 3, "truncated": false}));
    assert_eq!(fixture.fails("file.read", json!({"path": "nope"}))["error"]["code"], "not-found");
}

// 20: "`file.write` | `{path, content}` | `{success, bytes_written}`"
// 31: "`file.write` creates parent directories if needed"
#[test]
fn file_write() {
    let fixture = fixture();
    let written = fixture.ok("file.write", json!({"path": "x/y/z.txt", "content": "ä\n"}));
    assert_eq!(written, json!({"success": true, "bytes_written": 3}));
    assert_eq!(fixture.get("x/y/z.txt"), "ä\n");
    fixture.ok("file.write", json!({"path": "a.txt", "content": ""}));
    assert_eq!(fixture.get("a.txt"), "");
    assert_eq!(fixture.fails("file.write", json!({"path": "src", "content": ""}))["error"]["code"], "not-a-file");
}

// 21: "`file.patch` | `{path, patches: [{find, replace}]}` | `{success, patches_applied}`"
// 32: "`file.patch` fails with clear error if find string is not unique or not found"
#[test]
fn file_patch() {
    let fixture = fixture();
    let patches = json!([{"find": "one", "replace": "1"}, {"find": "two", "replace": "2"}]);
    let patched = fixture.ok("file.patch", json!({"path": "a.txt", "patches": patches}));
    assert_eq!(patched, json!({"success": true, "patches_applied": 2}));
    assert_eq!(fixture.get("a.txt"), "1\n2\nthree\n");
    let error = fixture.fails("file.patch", json!({"path": "a.txt", "patches": [{"find": "e", "replace": "E"}]}));
    assert_eq!(error["error"]["code"], "ambiguous-match");
    assert!(error["error"]["message"].as_str().unwrap().contains("`find` occurs 2 times, at lines 3, 3"), "{error}");
    let error = fixture.fails("file.patch", json!({"path": "a.txt", "patches": [{"find": "thre\n", "replace": ""}]}));
    assert_eq!(error["error"]["code"], "no-match");
    assert!(error["error"]["message"].as_str().unwrap().contains("`find` is not there"), "{error}");
    assert_eq!(fixture.get("a.txt"), "1\n2\nthree\n");
}

// 22: "`file.delete` | `{path}` | `{success}`"
// 33: "`file.delete` refuses to delete directories (separate tool later if needed)"
#[test]
fn file_delete() {
    let fixture = fixture();
    assert_eq!(fixture.ok("file.delete", json!({"path": "a.txt"})), json!({"success": true}));
    assert!(!fixture.has("a.txt"));
    std::fs::create_dir(fixture.root().join("empty")).unwrap();
    for path in ["src", "empty"] {
        assert_eq!(fixture.fails("file.delete", json!({"path": path}))["error"]["code"], "not-a-file");
        assert!(fixture.has(path));
    }
    assert_eq!(fixture.fails("file.delete", json!({"path": "a.txt"}))["error"]["code"], "not-found");
}

/// White space is part of a name.
#[test]
fn names_with_spaces() {
    let fixture = Fixture::with("chorus", &[("a.txt", "one\n"), (" a.txt", "two\n"), ("only ", "three\n")]);
    assert_eq!(fixture.ok("file.read", json!({"path": " a.txt"}))["content"], "1|two");
    fixture.ok("file.write", json!({"path": "a.txt\n", "content": "four\n"}));
    fixture.ok("file.delete", json!({"path": " a.txt"}));
    assert_eq!((fixture.get("a.txt").as_str(), fixture.get("a.txt\n").as_str()), ("one\n", "four\n"));
    let error = fixture.fails("file.read", json!({"path": "only"}))["error"].clone();
    assert_eq!(error["suggestion"], "did you mean `only `?");
    assert_eq!(fixture.ok("file.read", json!({"path": "only "}))["content"], "1|three");
}

// 23: "`file.list` | `{path?, pattern?}` | `{files: [{path, size, modified}]}`"
// 34: "`file.list` supports glob patterns via library or shell-out to `find`"
#[test]
fn file_list() {
    let fixture = fixture();
    let files = fixture.ok("file.list", json!({}))["files"].clone();
    assert_eq!((&files[0]["path"], &files[0]["size"]), (&json!("a.txt"), &json!(14)));
    assert!(files[0]["modified"].as_str().unwrap().ends_with('Z'));
    assert_eq!((&files[1]["path"], &files[1]["is_directory"]), (&json!("src"), &json!(true)));
    assert_eq!(fixture.ok("file.list", json!({"pattern": "*.ts"}))["files"][0]["path"], "src/b.ts");
    for path in ["", "  "] {
        for tool in ["file.list", "file.read", "file.delete"] {
            let error = fixture.fails(tool, json!({"path": path}));
            assert_eq!(error["error"]["code"], "invalid-path", "{error}");
        }
    }
    assert_eq!(fixture.ok("file.list", json!({"pattern": "**/*.ts"}))["files"].as_array().unwrap().len(), 1);
    assert_eq!(fixture.ok("file.list", json!({"path": "src"}))["files"][0]["path"], "src/b.ts");
    assert_eq!(fixture.fails("file.list", json!({"path": "nope"}))["error"]["code"], "not-found");
}

// 24: "`file.search` | `{pattern, path?, glob?, case_sensitive?, context_lines?, max_results?}` | `{matches: [{path, line,
//     content}], truncated}`"
// 35: "`file.search` uses ripgrep for performance, handles missing `rg` gracefully" (it needs no `rg` at all)
#[test]
fn file_search() {
    let fixture = fixture();
    let result = fixture.ok("file.search", json!({"pattern": "two"}));
    assert_eq!(result, json!({"matches": [{"path": "a.txt", "line": 2, "content": "two"}], "truncated": false}));
    let result = fixture.ok("file.search", json!({"pattern": "TWO", "case_sensitive": false, "glob": "*.ts"}));
    assert_eq!(result["matches"][0]["content"], "let Two = 2;");
    let result = fixture.ok("file.search", json!({"pattern": "two", "context_lines": 1}));
    assert_eq!(result["matches"][0]["content"], "one\ntwo\nthree");
    let result = fixture.ok("file.search", json!({"pattern": "o", "max_results": 1}));
    assert_eq!((result["matches"].as_array().unwrap().len(), &result["truncated"]), (1, &json!(true)));
    assert_eq!(fixture.fails("file.search", json!({"pattern": "("}))["error"]["code"], "invalid-argument");
}

// 12: "JSON input/output for all tools"
// 13: "Clear error messages for agent feedback"
// 36: "All tools return structured JSON errors, not exceptions"
#[test]
fn failures_are_structured() {
    let fixture = fixture();
    let error = fixture.fails("file.read", json!({"path": "a.txt", "lines": 3}));
    assert_eq!(error["success"], false);
    assert_eq!(error["error"]["code"], "invalid-argument");
    assert!(error["error"]["suggestion"].as_str().unwrap().contains("path, offset, limit"), "{error}");
    assert_eq!(fixture.fails("file.rename", json!({}))["error"]["code"], "unknown-tool");
}

// 28: "Workspace root is configurable at runtime"
#[test]
fn each_workspace_has_its_own_root() {
    let (one, other) = (fixture(), Fixture::new("chorus"));
    other.ok("file.write", json!({"path": "a.txt", "content": "other\n"}));
    assert_eq!(one.ok("file.read", json!({"path": "a.txt"}))["content"], "1|one\n2|two\n3|three");
    assert_eq!(other.ok("file.read", json!({"path": "a.txt"}))["content"], "1|other");
}
