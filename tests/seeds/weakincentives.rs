//! weakincentives: "VirtualFilesystem Tool Operations Specification".

use serde_json::json;

use super::support::Fixture;

fn fixture() -> Fixture {
    Fixture::with("weakincentives", &[("a.txt", "one\ntwö x two\nthree\n"), ("src/b.py", "x = 1\n")])
}

// 14: "In-memory | … | 7 tools (ls, read_file, write_file, edit_file, glob, grep, rm)"
#[test]
fn seven_tools_and_the_rest_of_the_protocol() {
    let names: Vec<_> = paddock::tools("weakincentives").unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names[..7], ["ls", "read_file", "write_file", "edit_file", "glob", "grep", "rm"]);
    assert_eq!(names[7..], ["mkdir", "exists", "is_file", "is_dir"]);
}

// 65: "class FileEntry: Unified file metadata across backends."
// 68: `kind: Literal["file", "directory"]`
// 69: `size_bytes: int | None       # None for directories`
// 70: `content_hash: str | None     # Optional content fingerprint`
// 120: `def list_dir(self, path: str) -> tuple[FileEntry, ...]`
#[test]
fn ls() {
    let fixture = fixture();
    let value = fixture.ok("ls", json!({}))["value"].clone();
    assert_eq!(value[0]["path"], "a.txt");
    assert_eq!((&value[0]["kind"], &value[0]["size_bytes"]), (&json!("file"), &json!(21)));
    assert_eq!(value[0]["content_hash"].as_str().unwrap().len(), 16);
    assert_eq!(value[1], json!({"path": "src", "kind": "directory", "size_bytes": null, "content_hash": null}));
    fixture.put("a.txt", "other");
    assert_ne!(fixture.ok("ls", json!({}))["value"][0]["content_hash"], value[0]["content_hash"]);
    assert_eq!(fixture.ok("ls", json!({"path": "src"}))["value"][0]["path"], "src/b.py");
    assert_eq!(fixture.fails("ls", json!({"path": "a.txt"}))["error"], "NotADirectoryError");
}

// 73: "class FileContent: path, content, total_lines, offset, limit"
// 124: "def read_file(self, path, *, offset: int = 0, limit: int | None = None) -> FileContent"
#[test]
fn read_file() {
    let fixture = fixture();
    let read = |arguments| fixture.ok("read_file", arguments)["value"].clone();
    assert_eq!(
        read(json!({"path": "a.txt"})),
        json!({"path": "a.txt", "content": "one\ntwö x two\nthree", "total_lines": 3, "offset": 0, "limit": 3})
    );
    let page = read(json!({"path": "a.txt", "offset": 1, "limit": 1}));
    assert_eq!((&page["content"], &page["offset"], &page["limit"]), (&json!("twö x two"), &json!(1), &json!(1)));
    assert_eq!(fixture.fails("read_file", json!({"path": "nope"}))["error"], "FileNotFoundError");
    assert_eq!(fixture.fails("read_file", json!({"path": "src"}))["error"], "IsADirectoryError");
}

// 134: "def exists(self, path: str) -> bool"
// 138: "def is_file(self, path: str) -> bool"
// 142: "def is_dir(self, path: str) -> bool"
#[test]
fn exists_is_file_is_dir() {
    let fixture = fixture();
    fixture.link("to-file", "a.txt");
    fixture.link("to-dir", "src");
    fixture.link("to-nothing", "nope");
    let is = |tool: &str, path: &str| fixture.ok(tool, json!({"path": path}))["value"].as_bool().unwrap();
    let all = |path: &str| (is("exists", path), is("is_file", path), is("is_dir", path));
    assert_eq!(all("a.txt"), (true, true, false));
    assert_eq!(all("src"), (true, false, true));
    assert_eq!(all("."), (true, false, true));
    assert_eq!(all("nope"), (false, false, false));
    assert_eq!(all("a.txt/nope"), (false, false, false));
    assert_eq!(all("to-file"), (true, true, false));
    assert_eq!(all("to-dir"), (true, false, true));
    assert_eq!(all("to-nothing"), (false, false, false));
    assert_eq!(all("../secret.txt"), (false, false, false));
    assert_eq!(all(""), (true, false, true));
}

// 82: "class WriteResult: path, bytes_written, created (True if file was created, False if modified)"
// 148: "def write_file(self, path, content, *, create_only: bool = False) -> WriteResult"
// 160: "create_only: If True, fail if file exists."
#[test]
fn write_file() {
    let fixture = fixture();
    let write = |arguments| fixture.ok("write_file", arguments)["value"].clone();
    let result = write(json!({"path": "new/c.txt", "content": "ä"}));
    assert_eq!(result, json!({"path": "new/c.txt", "bytes_written": 2, "created": true}));
    let again = write(json!({"path": "new/c.txt", "content": "c"}));
    assert_eq!(again, json!({"path": "new/c.txt", "bytes_written": 1, "created": false}));
    let error = fixture.fails("write_file", json!({"path": "new/c.txt", "content": "", "create_only": true}));
    assert_eq!((&error["error"], &error["value"]), (&json!("FileExistsError"), &json!(null)));
    assert_eq!(fixture.get("new/c.txt"), "c");
}

// 164: "def delete(self, path: str, *, recursive: bool = False) -> int: Delete file or directory. Returns count of deleted entries."
#[test]
fn rm_returns_the_count() {
    let fixture = fixture();
    assert_eq!(fixture.ok("rm", json!({"path": "a.txt"}))["value"], 1);
    let error = fixture.fails("rm", json!({"path": "src", "recursive": false}));
    assert!(error["message"].as_str().unwrap().contains("`recursive`"), "{error}");
    assert_eq!(error["error"], "IsADirectoryError");
    // "rm: Remove files or directories recursively."
    assert_eq!(fixture.ok("rm", json!({"path": "src"}))["value"], 2);
    assert_eq!(fixture.fails("rm", json!({"path": "src"}))["error"], "FileNotFoundError");
}

// 168: "def mkdir(self, path: str, *, parents: bool = False) -> None: Create directory."
#[test]
fn mkdir_with_parents() {
    let fixture = fixture();
    fixture.ok("mkdir", json!({"path": "d"}));
    assert_eq!(fixture.fails("mkdir", json!({"path": "d"}))["error"], "FileExistsError");
    let error = fixture.fails("mkdir", json!({"path": "x/y"}));
    assert!(error["message"].as_str().unwrap().contains("`parents`"), "{error}");
    fixture.ok("mkdir", json!({"path": "x/y", "parents": true}));
    fixture.ok("mkdir", json!({"path": "x/y", "parents": true}));
    fixture.ok("mkdir", json!({"path": "."}));
    assert_eq!(fixture.fails("mkdir", json!({"path": "a.txt", "parents": true}))["error"], "FileExistsError");
    assert!(fixture.root().join("x/y").is_dir());
}

// 89: "class GlobResult: pattern, matches: tuple[FileEntry, ...]"
// 174: "def glob(self, pattern: str, *, path: str | None = None) -> GlobResult"
#[test]
fn glob() {
    let fixture = fixture();
    let result = fixture.ok("glob", json!({"pattern": "**/*.py"}))["value"].clone();
    assert_eq!((&result["pattern"], &result["matches"][0]["path"]), (&json!("**/*.py"), &json!("src/b.py")));
    assert_eq!(result["matches"][0]["size_bytes"], 6);
    fixture.put(".gitignore", "build/\n");
    fixture.put("build/c.py", "x = 2\n");
    let paths = |arguments| {
        let result = fixture.ok("glob", arguments)["value"]["matches"].clone();
        result.as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // As in `fnmatch`, `*` matches `/` too; only files are found, ignored and hidden ones among them.
    assert_eq!(paths(json!({"pattern": "*"})), [".gitignore", "a.txt", "build/c.py", "src/b.py"]);
    assert_eq!(paths(json!({"pattern": "s*.py"})), ["src/b.py"]);
    assert_eq!(paths(json!({"pattern": "b.py"})), Vec::<String>::new());
    assert_eq!(paths(json!({"pattern": "*", "path": "nowhere"})), Vec::<String>::new());
    let result = fixture.ok("grep", json!({"pattern": "x", "glob_filter": "*.py"}))["value"]["matches"].clone();
    assert_eq!((result.as_array().unwrap().len(), &result[0]["path"]), (2, &json!("build/c.py")));
    assert_eq!(fixture.ok("grep", json!({"pattern": "x", "path": "nowhere"}))["value"]["matches"], json!([]));
}

// The tools of the original: paths may start with a slash, and `write_file` refuses an existing file.
#[test]
fn paths_of_the_tool_layer() {
    let fixture = fixture();
    let read = |path: &str| fixture.ok("read_file", json!({"file_path": path}))["value"]["content"].clone();
    fixture.ok("write_file", json!({"file_path": "/docs/readme.md", "content": "hi"}));
    assert_eq!(fixture.get("docs/readme.md"), "hi");
    assert_eq!(read("/docs/readme.md"), "hi");
    assert_eq!(fixture.ok("ls", json!({"path": "/"}))["value"], fixture.ok("ls", json!({}))["value"]);
    assert_eq!(fixture.ok("ls", json!({"path": ""}))["value"], fixture.ok("ls", json!({}))["value"]);
    // A path that begins like one of the host, such as `/usr`, is refused unless the workspace has that entry.
    assert_eq!(fixture.fails("write_file", json!({"path": "/usr/x", "content": ""}))["error"], "SecurityError");
    fixture.put("usr/x", "own");
    assert_eq!(read("/usr/x"), "own");
    let exists = json!({"file_path": "a.txt", "content": "new"});
    assert_eq!(fixture.fails("write_file", exists)["error"], "FileExistsError");
    fixture.ok("write_file", json!({"file_path": "a.txt", "content": "new", "create_only": false}));
    fixture.ok("write_file", json!({"path": "a.txt", "content": "newer"}));
    assert_eq!(fixture.get("a.txt"), "newer");
}

/// White space is part of a name, as in the original's `HostFilesystem`.
#[test]
fn names_with_spaces() {
    let fixture = Fixture::with("weakincentives", &[("a.txt", "one\n"), (" a.txt", "two\n"), ("only ", "three\n")]);
    let read = |path: &str| fixture.ok("read_file", json!({"path": path}))["value"]["content"].clone();
    assert_eq!((read("a.txt"), read(" a.txt"), read("only ")), (json!("one"), json!("two"), json!("three")));
    fixture.ok("write_file", json!({"path": "a.txt\n", "content": "four\n"}));
    fixture.ok("edit_file", json!({"path": " a.txt", "old_string": "two", "new_string": "2"}));
    assert_eq!((fixture.get("a.txt").as_str(), fixture.get(" a.txt").as_str()), ("one\n", "2\n"));
    let matches_of = |pattern: &str| fixture.ok("glob", json!({"pattern": pattern}))["value"]["matches"].clone();
    assert_eq!(
        (&matches_of(" a.txt")[0]["path"], &matches_of("only ")[0]["path"]),
        (&json!(" a.txt"), &json!("only "))
    );
    fixture.ok("rm", json!({"path": " a.txt"}));
    assert!(fixture.has("a.txt") && !fixture.has(" a.txt"));
    let error = fixture.fails("read_file", json!({"path": "only"}));
    assert!(error["message"].as_str().unwrap().ends_with("did you mean `only `?"), "{error}");
    assert_eq!(fixture.ok("exists", json!({"path": " "}))["value"], false);
}

/// As in the original, a listing shows an entry as a directory or a file according to the link's target, and a search
/// finds links to files.
#[test]
fn links_are_listed() {
    let fixture = fixture();
    for (name, target) in [("l-file", "a.txt"), ("l-dir", "src"), ("l-none", "nope"), ("l-out", "../secret.txt")] {
        fixture.link(name, target);
    }
    let entries = |value: serde_json::Value| {
        let of = |entry: &serde_json::Value| (entry["path"].clone(), entry["kind"].clone());
        value.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let file = |path: &str| (json!(path), json!("file"));
    let directory = |path: &str| (json!(path), json!("directory"));
    let listed = entries(fixture.ok("ls", json!({}))["value"].clone());
    let links = [directory("l-dir"), file("l-file"), file("l-none"), file("l-out")];
    assert_eq!(listed, [&[file("a.txt")], links.as_slice(), &[directory("src")]].concat());
    let matches = fixture.ok("glob", json!({"pattern": "*"}))["value"]["matches"].clone();
    assert_eq!(matches[1]["size_bytes"], 21);
    assert_eq!(entries(matches), [file("a.txt"), file("l-file"), file("src/b.py")]);
}

// The contract suite: "Path depth exceeds limit of 16 segments", "Path segment exceeds limit of 80 characters", "Cannot write
// to root directory", "file contains binary content".
#[test]
fn value_errors() {
    let fixture = fixture();
    let deep = vec!["d"; 17].join("/");
    for path in ["", "  ", ".", "/", &deep, &"a".repeat(81), "a\0b"] {
        let error = fixture.fails("write_file", json!({"path": path, "content": "x"}));
        assert_eq!(error["error"], "ValueError", "{path}: {error}");
    }
    assert_eq!(fixture.fails("mkdir", json!({"path": deep, "parents": true}))["error"], "ValueError");
    fixture.ok("write_file", json!({"path": "d/".repeat(15) + &"a".repeat(80), "content": "x"}));
    fixture.put("b.bin", b"MZ\0\x01".as_slice());
    fixture.put("odd.bin", b"\xff\xfe\0\x01\x80".as_slice());
    for path in ["b.bin", "odd.bin"] {
        assert_eq!(fixture.fails("read_file", json!({"path": path}))["error"], "ValueError");
    }
    assert_eq!(fixture.fails("read_file", json!({"path": "a.txt", "limit": -2}))["error"], "ValueError");
    // "READ_ENTIRE_FILE should read entire file without truncation"
    fixture.put("long.txt", "line\n".repeat(2_500));
    let all = fixture.ok("read_file", json!({"path": "long.txt", "limit": -1}))["value"].clone();
    assert_eq!((&all["limit"], &all["total_lines"]), (&json!(2_500), &json!(2_500)));
    let past = fixture.ok("read_file", json!({"path": "a.txt", "offset": 9}))["value"].clone();
    assert_eq!((&past["offset"], &past["limit"], &past["content"]), (&json!(3), &json!(0), &json!("")));
}

// 95: "class GrepResult: pattern, matches"
// 101: "class GrepMatch: path, line_number, line_content, match_start, match_end"
// 178: "def grep(self, pattern, *, path=None, glob_filter=None, max_matches: int = 100) -> GrepResult"
#[test]
fn grep_counts_characters() {
    let fixture = fixture();
    let matches = fixture.ok("grep", json!({"pattern": "two"}))["value"]["matches"].clone();
    let line = "twö x two";
    assert_eq!(
        matches,
        json!([{"path": "a.txt", "line_number": 2, "line_content": line, "match_start": 6, "match_end": 9}])
    );
    let by_file = fixture.ok("grep", json!({"pattern": "x", "glob_filter": "*.py"}))["value"]["matches"].clone();
    assert_eq!(by_file[0]["path"], "src/b.py");
    fixture.put("many.txt", "y\n".repeat(200));
    assert_eq!(fixture.ok("grep", json!({"pattern": "y"}))["value"]["matches"].as_array().unwrap().len(), 100);
    assert_eq!(
        fixture.ok("grep", json!({"pattern": "y", "max_matches": 3}))["value"]["matches"].as_array().unwrap().len(),
        3
    );
    assert_eq!(fixture.fails("grep", json!({"pattern": "["}))["error"], "ValueError");
}

// 523: "Keep `edit_file` as a tool-layer operation"
#[test]
fn edit_file() {
    let fixture = fixture();
    let edited = fixture.ok("edit_file", json!({"path": "a.txt", "old_string": "one", "new_string": "1"}));
    assert_eq!(edited["value"], json!({"path": "a.txt", "replacements": 1}));
    let error = fixture.fails("edit_file", json!({"path": "a.txt", "old_string": "e", "new_string": "E"}));
    assert!(error["message"].as_str().unwrap().contains("`old_string` occurs 2 times"), "{error}");
    assert!(error["message"].as_str().unwrap().contains("or set `replace_all`"), "{error}");
    let all = json!({"path": "a.txt", "old_string": "e", "new_string": "E", "replace_all": true});
    assert_eq!(fixture.ok("edit_file", all)["value"]["replacements"], 2);
    assert_eq!(fixture.get("a.txt"), "1\ntwö x two\nthrEE\n");
}

// 412: "raise SecurityError(f"Path escapes root: {path}")"
#[test]
fn nothing_outside_the_root() {
    let fixture = fixture();
    for path in fixture.ways_out() {
        for (tool, arguments) in [
            ("ls", json!({"path": path})),
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "old_string": "s", "new_string": "x"})),
            ("glob", json!({"pattern": "*", "path": path})),
            ("grep", json!({"pattern": "s", "path": path})),
            ("mkdir", json!({"path": path, "parents": true})),
        ] {
            let error = fixture.fails(tool, arguments)["error"].clone();
            // A link occupies its name, whatever its target is.
            let is_there = path == "out" && tool == "mkdir" && error == "FileExistsError";
            assert!(error == "SecurityError" || is_there, "{tool} {path}: {error}");
        }
    }
    fixture.hidden_file_is_untouched();
}

// 508 to 511: `fs.write_file("a/b.txt", "")`, `entries = fs.list_dir("a")`, `assert entries[0].path == "a/b.txt"`
#[test]
fn the_specification_s_own_tests() {
    let fixture = Fixture::new("weakincentives");
    fixture.ok("write_file", json!({"path": "test.txt", "content": "hello"}));
    assert_eq!(fixture.ok("read_file", json!({"path": "test.txt"}))["value"]["content"], "hello");
    fixture.ok("write_file", json!({"path": "a/b.txt", "content": ""}));
    let entries = fixture.ok("ls", json!({"path": "a"}))["value"].clone();
    assert_eq!((entries.as_array().unwrap().len(), &entries[0]["path"]), (1, &json!("a/b.txt")));
}
