//! Claude's text editor tool, type `text_editor_20250728`, and memory tool, type `memory_20250818`.

use serde_json::{Value, json};

use super::support::Fixture;

const EDITOR: &str = "str_replace_based_edit_tool";

fn fixture() -> Fixture {
    Fixture::with("anthropic", &[("a.txt", "one\ntwo\nthree\n"), ("src/b.py", "\tif x:\n\t\ty\n"), (".hidden", "")])
}

fn edit(fixture: &Fixture, arguments: Value) -> String {
    fixture.ok(EDITOR, arguments)["output"].as_str().unwrap().to_owned()
}

fn error(fixture: &Fixture, arguments: Value) -> String {
    fixture.fails(EDITOR, arguments)["error"].as_str().unwrap().to_owned()
}

#[test]
fn view() {
    let fixture = fixture();
    let view = edit(&fixture, json!({"command": "view", "path": "a.txt"}));
    assert_eq!(view, "Here's the result of running `cat -n` on a.txt:\n     1\tone\n     2\ttwo\n     3\tthree\n");
    let part = edit(&fixture, json!({"command": "view", "path": "a.txt", "view_range": [2, -1]}));
    assert_eq!(part, "Here's the result of running `cat -n` on a.txt:\n     2\ttwo\n     3\tthree\n");
    let root = fixture.root();
    let root = root.to_str().unwrap();
    let listed = edit(&fixture, json!({"command": "view", "path": root}));
    assert_eq!(
        listed,
        format!(
            "Here's the files and directories up to 2 levels deep in {root}, excluding hidden items:\n{root}\n{root}/a.txt\n{root}/src/\n{root}/src/b.py\n"
        )
    );
    let range = error(&fixture, json!({"command": "view", "path": "src", "view_range": [1, 2]}));
    assert_eq!(range, "The `view_range` parameter is not allowed when `path` points to a directory.");
    let gone = error(&fixture, json!({"command": "view", "path": "nope"}));
    assert_eq!(gone, "The path nope does not exist. Please provide a valid path.");
    fixture.put("src/parse.rs", "fn parse() {}\n");
    let near = error(&fixture, json!({"command": "view", "path": "src/parser.rs"}));
    let text = "The path src/parser.rs does not exist. Please provide a valid path. (did you mean `src/parse.rs`?)";
    assert_eq!(near, text);
    for (range, why) in [
        (json!([0, 1]), "Its first element `0`"),
        (json!([9, 10]), "Its first element `9`"),
        (json!([3, 2]), "larger or equal than its first `3`"),
        (json!([1, -5]), "larger or equal than its first `1`"),
        (json!([1, 4]), "smaller than the number of lines in the file: `3`"),
    ] {
        let wrong = error(&fixture, json!({"command": "view", "path": "a.txt", "view_range": range}));
        assert!(wrong.starts_with("Invalid `view_range`: ") && wrong.contains(why), "{wrong}");
    }
}

#[test]
fn create() {
    let fixture = fixture();
    let message = edit(&fixture, json!({"command": "create", "path": "x/n.txt", "file_text": "n\n"}));
    assert_eq!((message.as_str(), fixture.get("x/n.txt").as_str()), ("File created successfully at: x/n.txt", "n\n"));
    let taken = error(&fixture, json!({"command": "create", "path": "a.txt", "file_text": ""}));
    assert_eq!(taken, "File already exists at: a.txt. Cannot overwrite files using command `create`.");
    let missing = error(&fixture, json!({"command": "create", "path": "b.txt"}));
    assert_eq!(missing, "Parameter `file_text` is required for command: create");
}

#[test]
fn str_replace() {
    let fixture = fixture();
    let message = edit(&fixture, json!({"command": "str_replace", "path": "a.txt", "old_str": "two", "new_str": "2"}));
    assert!(message.starts_with("The file a.txt has been edited. Here's the result of running `cat -n` on a snippet of a.txt:\n     1\tone\n     2\t2\n     3\tthree\nReview the changes"), "{message}");
    // Without a new text, the old text is deleted.
    edit(&fixture, json!({"command": "str_replace", "path": "a.txt", "old_str": "2\n"}));
    assert_eq!(fixture.get("a.txt"), "one\nthree\n");
    // The tool that the model was trained with expanded tabs; Paddock keeps them.
    edit(&fixture, json!({"command": "str_replace", "path": "src/b.py", "old_str": "y", "new_str": "z"}));
    assert_eq!(fixture.get("src/b.py"), "\tif x:\n\t\tz\n");
    let none = error(&fixture, json!({"command": "str_replace", "path": "a.txt", "old_str": "four", "new_str": ""}));
    assert!(
        none.starts_with("No replacement was performed, old_str `four` did not appear verbatim in a.txt."),
        "{none}"
    );
    let many = error(&fixture, json!({"command": "str_replace", "path": "a.txt", "old_str": "e", "new_str": ""}));
    assert_eq!(
        many,
        "No replacement was performed. Multiple occurrences of old_str `e` in lines 1, 2, 2. Please ensure it is unique"
    );
    let directory = error(&fixture, json!({"command": "str_replace", "path": "src", "old_str": "e", "new_str": ""}));
    assert_eq!(directory, "The path src is a directory and only the `view` command can be used on directories");
}

#[test]
fn insert() {
    let fixture = fixture();
    let insert =
        |line: u64, text: &str| json!({"command": "insert", "path": "a.txt", "insert_line": line, "insert_text": text});
    edit(&fixture, insert(0, "zero"));
    edit(&fixture, insert(2, "one and a half\n"));
    edit(&fixture, insert(5, "four"));
    assert_eq!(fixture.get("a.txt"), "zero\none\none and a half\ntwo\nthree\nfour\n");
    let older = json!({"command": "insert", "path": "src/b.py", "insert_line": 2, "new_str": "end"});
    edit(&fixture, older);
    assert_eq!(fixture.get("src/b.py"), "\tif x:\n\t\ty\nend\n");
    fixture.put("open.txt", "a\r\nb");
    edit(&fixture, json!({"command": "insert", "path": "open.txt", "insert_line": 2, "insert_text": "c"}));
    assert_eq!(fixture.get("open.txt"), "a\r\nb\r\nc");
    let past = error(&fixture, insert(99, "x"));
    assert_eq!(past, "Invalid `insert_line` parameter: 99. It should be within the range of lines of the file: [0, 6]");
    let below = error(&fixture, json!({"command": "insert", "path": "a.txt", "insert_line": -1, "insert_text": "x"}));
    assert_eq!(
        below,
        "Invalid `insert_line` parameter: -1. It should be within the range of lines of the file: [0, 6]"
    );
    let missing = error(&fixture, json!({"command": "insert", "path": "a.txt", "insert_line": 1}));
    assert_eq!(missing, "Parameter `insert_text` is required for command: insert");
    let missing = error(&fixture, json!({"command": "insert", "path": "a.txt", "insert_text": "x"}));
    assert_eq!(missing, "Parameter `insert_line` is required for command: insert");
}

#[test]
fn memory() {
    let fixture = fixture();
    let memory = |arguments| fixture.ok("memory", arguments)["output"].as_str().unwrap().to_owned();
    let fails = |arguments| fixture.fails("memory", arguments)["error"].as_str().unwrap().to_owned();
    let head = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:";
    assert_eq!(memory(json!({"command": "view", "path": "/memories"})), format!("{head}\n0B\t/memories"));
    let create = json!({"command": "create", "path": "/memories/notes/a.md", "file_text": "one\ntwo\n"});
    assert_eq!(memory(create.clone()), "File created successfully at: /memories/notes/a.md");
    assert_eq!(fails(create), "Error: File /memories/notes/a.md already exists");
    assert_eq!(fixture.get("memories/notes/a.md"), "one\ntwo\n");
    let listed = memory(json!({"command": "view", "path": "/memories"}));
    assert_eq!(listed, format!("{head}\n8B\t/memories\n8B\t/memories/notes/\n8B\t/memories/notes/a.md"));
    let view = memory(json!({"command": "view", "path": "/memories/notes/a.md"}));
    assert_eq!(
        view,
        "Here's the content of /memories/notes/a.md with line numbers:\n     1\tone\n     2\ttwo\n     3\t"
    );
    let path = "/memories/notes/a.md";
    let edited = memory(json!({"command": "str_replace", "path": path, "old_str": "two", "new_str": "2"}));
    assert_eq!(
        edited,
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone\n     2\t2\n     3\t"
    );
    let inserted = memory(json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "top\n"}));
    assert_eq!(inserted, "The file /memories/notes/a.md has been edited.");
    memory(json!({"command": "str_replace", "path": path, "old_str": "2\n", "new_str": "one\n"}));
    let many = fails(json!({"command": "str_replace", "path": path, "old_str": "one", "new_str": "1"}));
    assert_eq!(
        many,
        "No replacement was performed. Multiple occurrences of old_str `one` in lines: 2, 3. Please ensure it is unique"
    );
    let rename = json!({"command": "rename", "old_path": path, "new_path": "/memories/b.md"});
    assert_eq!(memory(rename.clone()), "Successfully renamed /memories/notes/a.md to /memories/b.md");
    assert_eq!(fails(rename), "Error: The path /memories/notes/a.md does not exist. Please provide a valid path.");
    assert_eq!(memory(json!({"command": "delete", "path": "/memories/notes"})), "Successfully deleted /memories/notes");
    for path in ["/memories/../a.txt", "/memories/../../a.txt", "/memories/x/../../a.txt"] {
        let error = fails(json!({"command": "view", "path": path}));
        assert_eq!(error, format!("Path {path} would escape /memories directory"));
    }
    for path in ["/a.txt", "a.txt", "../secret.txt", "/memoriesx/a", ""] {
        let error = fails(json!({"command": "view", "path": path}));
        assert_eq!(error, format!("Path must start with /memories, got: {path}"));
    }
    fixture.link("memories/out", "../../secret.txt");
    let out = fails(json!({"command": "view", "path": "/memories/out"}));
    assert_eq!(out, "Path /memories/out would escape /memories directory");
    // The SDK refuses a link that leads out of the memory directory, even to another file of the workspace.
    fixture.put("notes/other.txt", "other\n");
    fixture.link("memories/other.txt", "../notes/other.txt");
    fixture.link("memories/dir", "../notes");
    for (command, path) in [("view", "/memories/other.txt"), ("view", "/memories/dir"), ("create", "/memories/dir/x")] {
        let out = fails(json!({"command": command, "path": path, "file_text": "x"}));
        assert_eq!(out, format!("Path {path} would escape /memories directory"));
    }
    let edit = json!({"command": "insert", "path": "/memories/other.txt", "insert_line": 0, "insert_text": "x"});
    assert_eq!(fails(edit), "Path /memories/other.txt would escape /memories directory");
    let rename = |to: &str| json!({"command": "rename", "old_path": "/memories/b.md", "new_path": to});
    assert_eq!(fails(rename("/memories/dir/b.md")), "Path /memories/dir/b.md would escape /memories directory");
    assert!(!fixture.has("notes/x") && fixture.get("notes/other.txt") == "other\n");
    // A link to another file of the memory directory is followed, and the editor tool reads links as before.
    fixture.link("memories/same.md", "b.md");
    memory(json!({"command": "view", "path": "/memories/same.md"}));
    fixture.ok("str_replace_based_edit_tool", json!({"command": "view", "path": "memories/other.txt"}));
    let itself = fails(json!({"command": "delete", "path": "/memories"}));
    assert_eq!(itself, "Cannot delete the /memories directory itself");
    let itself = fails(json!({"command": "rename", "old_path": "/memories/", "new_path": "/memories/x"}));
    assert_eq!(itself, "Cannot rename the /memories directory itself");
    assert!(fixture.has("memories/b.md"));
}

// The tests of the SDK's local memory tool.
#[test]
fn memory_as_in_the_sdk() {
    let fixture = Fixture::new("anthropic");
    let memory = |arguments| fixture.ok("memory", arguments)["output"].as_str().unwrap().to_owned();
    let fails = |arguments| fixture.fails("memory", arguments)["error"].as_str().unwrap().to_owned();
    let path = "/memories/a.txt";
    memory(json!({"command": "create", "path": path, "file_text": "Line 1\nLine 2"}));
    let head = format!("Here's the content of {path} with line numbers:\n");
    let view = |range| memory(json!({"command": "view", "path": path, "view_range": range}));
    assert_eq!(view(json!([1, 99])), format!("{head}     1\tLine 1\n     2\tLine 2"));
    assert_eq!((view(json!([2, -1])), view(json!([2, 1]))), (format!("{head}     2\tLine 2"), head.clone()));
    assert_eq!(view(json!([0, 1])), format!("{head}     1\tLine 1"));
    let insert =
        |line: i64, text: &str| json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text});
    memory(insert(1, "Inserted\n\n"));
    assert_eq!(fixture.get("memories/a.txt"), "Line 1\nInserted\nLine 2\n");
    for line in [10, -1] {
        let range = format!("Invalid `insert_line` parameter: {line}. It should be within the range [0, 3].");
        assert_eq!(fails(insert(line, "x")), range);
    }
    let directory = json!({"command": "str_replace", "path": "/memories", "old_str": "a", "new_str": "b"});
    assert_eq!(fails(directory), "The path /memories is not a file.");
    fixture.put("memories/b.txt", "");
    let exists = json!({"command": "rename", "old_path": path, "new_path": "/memories/b.txt"});
    assert!(fails(exists).contains("The destination /memories/b.txt already exists"));
}

/// The tool's own texts would give a wrong cause for a path that no workspace can have, or that goes through a file.
#[test]
fn the_memory_tool_gives_the_cause() {
    let fixture = Fixture::with("anthropic", &[("memories/n.txt", "one\n"), ("memories/f", "")]);
    let fails = |arguments: Value| fixture.fails("memory", arguments)["error"].as_str().unwrap().to_owned();
    let long = format!("/memories/{}", "x".repeat(300));
    for (path, cause) in [
        ("/memories/a\\b", "a path cannot contain a backslash; separate directories by `/`"),
        ("/memories/a\0b", "a path cannot contain a NUL byte"),
        (&long, "a name in it is longer than 255 bytes"),
    ] {
        for arguments in [
            json!({"command": "view", "path": path}),
            json!({"command": "create", "path": path, "file_text": "x"}),
            json!({"command": "str_replace", "path": path, "old_str": "a", "new_str": "b"}),
            json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"}),
            json!({"command": "delete", "path": path}),
            json!({"command": "rename", "old_path": path, "new_path": "/memories/m.txt"}),
            json!({"command": "rename", "old_path": "/memories/n.txt", "new_path": path}),
        ] {
            let error = fails(arguments.clone());
            assert!(error.ends_with(cause), "{arguments}: {error}");
        }
    }
    for arguments in [
        json!({"command": "rename", "old_path": "/memories/n.txt", "new_path": "/memories/f/x"}),
        json!({"command": "rename", "old_path": "/memories/f/x", "new_path": "/memories/m.txt"}),
        json!({"command": "create", "path": "/memories/f/x", "file_text": "x"}),
    ] {
        let error = fails(arguments.clone());
        assert!(error.ends_with("a part of the path is not a directory"), "{arguments}: {error}");
    }
    let itself = json!({"command": "create", "path": "/memories", "file_text": "x"});
    assert_eq!(fails(itself), "File /memories already exists");
}

#[test]
fn nothing_outside() {
    let fixture = fixture();
    for path in fixture.ways_out() {
        for arguments in [
            json!({"command": "view", "path": path}),
            json!({"command": "create", "path": path, "file_text": "x"}),
            json!({"command": "str_replace", "path": path, "old_str": "s", "new_str": "x"}),
            json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"}),
        ] {
            fixture.fails(EDITOR, arguments);
        }
    }
    fixture.hidden_file_is_untouched();
}
