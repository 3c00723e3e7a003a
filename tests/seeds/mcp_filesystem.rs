//! The tools of the reference file system server of the Model Context Protocol, and the differences that make Paddock
//! safer. `tests/mcp_client/differential.js` compares the two servers.

use serde_json::json;

use super::support::Fixture;

fn fixture() -> Fixture {
    Fixture::with(
        "mcp-filesystem",
        &[("a.txt", "one\ntwo\nthree\n"), ("src/b.rs", "fn b() {\n    c();\n}\n"), (".env", "x\n")],
    )
}

#[test]
fn fourteen_tools() {
    let names: Vec<_> = paddock::tools("mcp-filesystem").unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(
        names,
        [
            "read_file",
            "read_text_file",
            "read_media_file",
            "read_multiple_files",
            "write_file",
            "edit_file",
            "create_directory",
            "list_directory",
            "list_directory_with_sizes",
            "directory_tree",
            "move_file",
            "search_files",
            "get_file_info",
            "list_allowed_directories",
        ]
    );
}

#[test]
fn reading() {
    let fixture = fixture();
    let read = |arguments| fixture.ok("read_text_file", arguments)["content"].clone();
    assert_eq!(read(json!({"path": "a.txt"})), "one\ntwo\nthree\n");
    assert_eq!(read(json!({"path": fixture.root().join("a.txt")})), "one\ntwo\nthree\n");
    assert_eq!(read(json!({"path": "a.txt", "head": 2})), "one\ntwo");
    assert_eq!(read(json!({"path": "a.txt", "tail": 1})), "three\n");
    assert_eq!(read(json!({"path": "a.txt", "head": 0})), "one\ntwo\nthree\n");
    let both = fixture.fails("read_text_file", json!({"path": "a.txt", "head": 1, "tail": 1}));
    assert_eq!(both["content"], "Cannot specify both head and tail parameters simultaneously");
    let long = format!("{}\n", "x".repeat(5_000)).repeat(100);
    fixture.put("long.txt", &long);
    assert_eq!(read(json!({"path": "long.txt"})), long, "no limit of a page");
    let many = fixture.ok("read_multiple_files", json!({"paths": ["src/b.rs", "nope"]}))["content"].clone();
    let many = many.as_str().unwrap();
    assert!(many.starts_with("src/b.rs:\nfn b() {\n    c();\n}\n\n\n---\nnope: Error - "), "{many}");
    assert!(many.contains("`search_files` and `list_directory` show"), "{many}");
}

#[test]
fn media() {
    let fixture = fixture();
    fixture.put("p.png", b"\x89PNG\0");
    let content = fixture.ok("read_media_file", json!({"path": "p.png"}))["content"].clone();
    assert_eq!(content, json!([{"type": "image", "data": "iVBORwA=", "mimeType": "image/png"}]));
    let other = fixture.ok("read_media_file", json!({"path": "a.txt"}))["content"][0].clone();
    let uri = format!("file://{}", fixture.root().join("a.txt").display());
    assert_eq!(other["type"], "resource");
    assert_eq!(
        other["resource"],
        json!({"uri": uri, "mimeType": "application/octet-stream", "blob": "b25lCnR3bwp0aHJlZQo="})
    );
}

#[test]
fn listing() {
    let fixture = fixture();
    assert_eq!(fixture.ok("list_directory", json!({"path": "."}))["content"], "[FILE] .env\n[FILE] a.txt\n[DIR] src");
    let sizes = fixture.ok("list_directory_with_sizes", json!({"path": ".", "sortBy": "size"}))["content"].clone();
    let name = |prefix: &str, name: &str, size: &str| format!("{prefix} {name:<30} {size}\n");
    let rows = [name("[FILE]", "a.txt", "      14 B"), name("[FILE]", ".env", "       2 B"), name("[DIR]", "src", "")];
    assert_eq!(sizes, format!("{}\nTotal: 2 files, 1 directories\nCombined size: 16 B", rows.concat()));
    let tree = fixture.ok("directory_tree", json!({"path": ".", "excludePatterns": ["*.txt"]}))["content"].clone();
    let tree: serde_json::Value = serde_json::from_str(tree.as_str().unwrap()).unwrap();
    let b = json!({"name": "b.rs", "type": "file"});
    assert_eq!(tree, json!([{"name": ".env", "type": "file"}, {"name": "src", "type": "directory", "children": [b]}]));
    let root = fixture.root();
    let search =
        |pattern: &str| fixture.ok("search_files", json!({"path": ".", "pattern": pattern}))["content"].clone();
    assert_eq!(search("*.rs"), "No matches found");
    assert_eq!(search("**/*.rs"), root.join("src/b.rs").to_str().unwrap());
    assert_eq!(search("s*"), root.join("src").to_str().unwrap());
    let allowed = fixture.ok("list_allowed_directories", json!({}))["content"].clone();
    assert_eq!(allowed, format!("Allowed directories:\n{}", root.display()));
    let info = fixture.ok("get_file_info", json!({"path": "a.txt"}))["content"].clone();
    let info = info.as_str().unwrap();
    assert!(info.starts_with("size: 14\ncreated: unknown\nmodified: "), "{info}");
    assert!(info.contains("GMT+0000 (Coordinated Universal Time)\nisDirectory: false\nisFile: true\n"), "{info}");
}

#[test]
fn changing() {
    let fixture = fixture();
    let written = fixture.ok("write_file", json!({"path": "n.txt", "content": "n"}))["content"].clone();
    assert_eq!(written, "Successfully wrote to n.txt");
    assert_eq!(fixture.ok("create_directory", json!({"path": "x/y"}))["content"], "Successfully created directory x/y");
    assert_eq!(fixture.ok("create_directory", json!({"path": "x/y"}))["content"], "Successfully created directory x/y");
    let moved = fixture.ok("move_file", json!({"source": "n.txt", "destination": "x/m.txt"}))["content"].clone();
    assert_eq!(moved, "Successfully moved n.txt to x/m.txt");
    assert!(fixture.get("x/m.txt") == "n" && !fixture.has("n.txt"));
    let edits = json!([{"oldText": "two", "newText": "2"}]);
    let diff = fixture.ok("edit_file", json!({"path": "a.txt", "edits": edits, "dryRun": true}))["content"].clone();
    let path = fixture.root().join("a.txt");
    let path = path.display();
    let rule = "=".repeat(67);
    assert_eq!(
        diff,
        format!(
            "```diff\nIndex: {path}\n{rule}\n--- {path}\toriginal\n+++ {path}\tmodified\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n```\n\n"
        )
    );
    assert_eq!(fixture.get("a.txt"), "one\ntwo\nthree\n");
    fixture.ok("edit_file", json!({"path": "a.txt", "edits": edits}));
    assert_eq!(fixture.get("a.txt"), "one\n2\nthree\n");
    let inexact_edit = json!([{"oldText": "fn b() {\n  c();\n}", "newText": "fn b() {\n  d();\n}"}]);
    fixture.ok("edit_file", json!({"path": "src/b.rs", "edits": inexact_edit}));
    assert_eq!(fixture.get("src/b.rs"), "fn b() {\nd();\n}\n");
}

// `tests/mcp_client/differential.js` compares these with the reference server itself.
#[test]
fn as_the_reference_reads_its_arguments() {
    let fixture = fixture();
    fixture.put("src/a.txt", "x\n");
    fixture.put("crlf.txt", "one\r\ntwo\r\n");
    std::os::unix::fs::symlink("a.txt", fixture.root().join("to_file")).unwrap();
    let root = fixture.root().to_str().unwrap().to_owned();
    let text = |tool: &str, arguments| fixture.ok(tool, arguments)["content"].as_str().unwrap().replace(&root, "");
    // An excluded glob is relative to `path`; in a tree, one without `*` matches at any depth.
    let search =
        |exclude: &str| text("search_files", json!({"path": ".", "pattern": "**/*.txt", "excludePatterns": [exclude]}));
    assert_eq!(search("*.txt"), "/src/a.txt");
    assert_eq!(search("a.txt"), "/crlf.txt\n/src/a.txt");
    assert_eq!(search("**/a.txt"), "/crlf.txt");
    let tree = |exclude: &str| text("directory_tree", json!({"path": ".", "excludePatterns": [exclude]}));
    assert!(
        tree("*.txt").contains("a.txt") && !tree("a.txt").contains("\"a.txt\"") && !tree("?.txt").contains("\"a.txt\"")
    );
    // A link is found, and described as its target.
    assert_eq!(text("search_files", json!({"path": ".", "pattern": "to*"})), "/to_file");
    assert!(text("get_file_info", json!({"path": "to_file"})).starts_with("size: 14\n"));
    assert_eq!(text("read_text_file", json!({"path": "crlf.txt", "head": 1})), "one\r");
    let edits = json!([{"oldText": "one\r\ntwo", "newText": "1\r\n2"}]);
    assert!(text("edit_file", json!({"path": "crlf.txt", "edits": edits})).contains("-one\n-two\n+1\n+2\n"));
    assert_eq!(fixture.get("crlf.txt"), "1\r\n2\r\n");
    fixture.put("line.txt", "one\n");
    let edits = json!([{"oldText": "one", "newText": "1"}]);
    assert!(text("edit_file", json!({"path": "line.txt", "edits": edits})).contains("@@ -1,1 +1,1 @@"));
    // A syntax that globs do not have is refused under the argument's own name.
    let refused = fixture.fails("search_files", json!({"path": ".", "pattern": "*", "excludePatterns": ["@(a|b)"]}));
    assert!(refused["content"].as_str().unwrap().contains("`excludePatterns`: a glob has no groups"), "{refused}");
    for path in ["C:/a.txt", "~/a.txt", "~"] {
        let refused = fixture.fails("write_file", json!({"path": path, "content": "x"}));
        assert!(refused["content"].as_str().unwrap().starts_with("Access denied - "), "{refused}");
    }
    // A file that is too large is refused, not cut.
    fixture.put("large.png", vec![0_u8; 10 * 1024 * 1024 + 1]);
    let large = fixture.fails("read_media_file", json!({"path": "large.png"}));
    assert!(large["content"].as_str().unwrap().contains("one call returns at most 10485760"), "{large}");
}

// The reference is unsafe: it edits the first of several matches, converts CRLF to LF, and replaces existing files on a
// move.
#[test]
fn safer_than_the_reference() {
    let fixture = fixture();
    let edits = |old: &str, new: &str| json!([{"oldText": old, "newText": new}]);
    let twice = fixture.fails("edit_file", json!({"path": "a.txt", "edits": edits("e", "E")}))["content"].clone();
    assert!(twice.as_str().unwrap().contains("`oldText` occurs 3 times, at lines 1, 3, 3"), "{twice}");
    fixture.put("crlf.txt", "one\r\ntwo\r\n");
    fixture.ok("edit_file", json!({"path": "crlf.txt", "edits": edits("two", "2")}));
    assert_eq!(fixture.get("crlf.txt"), "one\r\n2\r\n");
    let taken = fixture.fails("move_file", json!({"source": "a.txt", "destination": "crlf.txt"}))["content"].clone();
    assert!(taken.as_str().unwrap().contains("the path already exists"), "{taken}");
    let gone = fixture.fails("edit_file", json!({"path": "a.txt", "edits": edits("four", "4")}))["content"].clone();
    assert!(gone.as_str().unwrap().starts_with("Could not find exact match for edit:\n"), "{gone}");
}

#[test]
fn nothing_outside_the_allowed_directories() {
    let fixture = fixture();
    for path in fixture.ways_out() {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("read_media_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "edits": [{"oldText": "s", "newText": "x"}]})),
            ("list_directory", json!({"path": path})),
            ("directory_tree", json!({"path": path})),
            ("search_files", json!({"path": path, "pattern": "**"})),
            ("move_file", json!({"source": "a.txt", "destination": path})),
        ] {
            let text = fixture.fails(tool, arguments)["content"].clone();
            let is_denied = text.as_str().unwrap().starts_with("Access denied - path outside allowed directories: ");
            // The destination exists if a link has that name.
            let is_taken = tool == "move_file" && path == "out";
            assert!(is_denied || is_taken, "{tool} {path}: {text}");
        }
    }
    fixture.hidden_file_is_untouched();
}
