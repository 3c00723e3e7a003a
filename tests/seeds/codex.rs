//! Codex's `apply_patch`, `list_dir`, `read_file` and `grep_files`.

use serde_json::{Value, json};

use super::support::Fixture;

fn fixture() -> Fixture {
    Fixture::with("codex", &[("a.txt", "one\ntwo\nthree\n"), ("src/b.py", "def f():\n    x = 1\n    return x\n")])
}

fn patch(body: &str) -> Value {
    json!({"input": format!("*** Begin Patch\n{body}\n*** End Patch")})
}

fn output(fixture: &Fixture, tool: &str, arguments: Value) -> String {
    fixture.ok(tool, arguments)["output"].as_str().unwrap().to_owned()
}

fn error(fixture: &Fixture, tool: &str, arguments: Value) -> String {
    fixture.fails(tool, arguments)["error"]["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_patch_lists_its_changes() {
    let fixture = fixture();
    let body = "*** Update File: a.txt\n@@\n-two\n+2\n*** Add File: n.txt\n+n\n*** Delete File: src/b.py";
    let output_text = output(&fixture, "apply_patch", patch(body));
    assert_eq!(output_text, "Success. Updated the following files:\nA n.txt\nM a.txt\nD src/b.py");
    assert!(fixture.get("a.txt") == "one\n2\nthree\n" && fixture.get("n.txt") == "n\n" && !fixture.has("src/b.py"));
}

#[test]
fn a_lenient_match_is_reported() {
    let fixture = fixture();
    let output_text =
        output(&fixture, "apply_patch", patch("*** Update File: src/b.py\n@@ def f():\n-x = 1\n+    x = 2"));
    assert!(output_text.ends_with("[src/b.py matched without white space around lines]"), "{output_text}");
    assert_eq!(fixture.get("src/b.py"), "def f():\n    x = 2\n    return x\n");
    fixture.put("q.txt", "say “hi” – now\n");
    let folded = output(&fixture, "apply_patch", patch("*** Update File: q.txt\n@@\n-say \"hi\" - now\n+bye"));
    assert!(folded.ends_with("[q.txt matched with Unicode punctuation as ASCII]"), "{folded}");
}

// The crate's fixtures, by their names. Here each patch is applied completely or not at all, whereas Codex keeps the
// changes before a failure.
#[test]
fn fixtures() {
    let apply = |files: &[(&str, &str)], body: &str| {
        let fixture = Fixture::with("codex", files);
        let outcome = fixture.call("apply_patch", patch(body));
        (fixture, outcome)
    };
    let (fixture, outcome) = apply(&[("a", "a\nb\nc\nd\n")], "*** Update File: a\n@@\n-a\n+A\n@@\n-d\n+D");
    assert!(outcome.ok && fixture.get("a") == "A\nb\nc\nD\n", "multiple_chunks: {}", outcome.text);
    let (fixture, outcome) = apply(&[("a", "a\n")], "*** Update File: a\n*** Move to: new/dir/b\n@@\n-a\n+b");
    assert!(
        outcome.ok && fixture.get("new/dir/b") == "b\n" && !fixture.has("a"),
        "move_to_new_directory: {}",
        outcome.text
    );
    let (fixture, outcome) = apply(&[("a", "a\n"), ("b", "old\n")], "*** Update File: a\n*** Move to: b\n@@\n-a\n+new");
    assert!(
        outcome.ok && fixture.get("b") == "new\n" && !fixture.has("a"),
        "move_overwrites_existing_destination: {}",
        outcome.text
    );
    let (fixture, outcome) = apply(&[("a", "old\n")], "*** Add File: a\n+new");
    assert!(outcome.ok && fixture.get("a") == "new\n", "add_overwrites_existing_file: {}", outcome.text);
    let (fixture, outcome) = apply(&[("d/x", "x\n")], "*** Delete File: d");
    assert!(!outcome.ok && fixture.has("d/x"), "delete_directory_fails: {}", outcome.text);
    let (fixture, outcome) = apply(&[("a", "a")], "*** Update File: a\n@@\n-a\n+b");
    assert!(outcome.ok && fixture.get("a") == "b\n", "update_file_appends_trailing_newline: {}", outcome.text);
    let (fixture, outcome) = apply(&[("a", "a\n")], "*** Add File: n\n+n\n*** Update File: a\n@@\n-x\n+y");
    assert!(!outcome.ok && !fixture.has("n"), "failure_after_partial_success_leaves_changes: {}", outcome.text);
    let (fixture, outcome) = apply(&[("a", "a\n")], "*** Update File: a\n@@\n+b\n+c");
    assert!(outcome.ok && fixture.get("a") == "a\nb\nc\n", "pure_addition_update_chunk: {}", outcome.text);
    let (fixture, outcome) = apply(&[("a", "a\n")], "  *** Update File: a  \n@@\n-a\n+b");
    assert!(outcome.ok && fixture.get("a") == "b\n", "whitespace_padded_hunk_header: {}", outcome.text);
    let (fixture, outcome) = apply(&[("a", "a\nb\na\n")], "*** Update File: a\n@@\n-a\n+A\n*** End of File");
    assert!(outcome.ok && fixture.get("a") == "a\nb\nA\n", "end_of_file_marker: {}", outcome.text);
    let (fixture, outcome) = apply(&[("a", "a\nb\n")], "*** Update File: a\n@@\n a\n-b");
    assert!(outcome.ok && fixture.get("a") == "a\n", "update_file_deletion_only: {}", outcome.text);
}

/// Codex moves a file whose chunk has only context lines, tries a chunk without its blank last line, and matches a
/// chunk that is marked as the end of the file only at the end.
#[test]
fn chunks_that_codex_takes() {
    let apply = |file: &str, body: &str| {
        let fixture = Fixture::with("codex", &[("f", file)]);
        let outcome = fixture.call("apply_patch", patch(body));
        (outcome.ok, fixture.has("f").then(|| fixture.get("f")), fixture.has("g").then(|| fixture.get("g")))
    };
    let content = |text: &str| Some(text.to_owned());
    let moved = apply("a\nb\n", "*** Update File: f\n*** Move to: g\n@@\n a\n b");
    assert_eq!(moved, (true, None, content("a\nb\n")));
    let lost = apply("a\nb\n", "*** Update File: f\n*** Move to: g\n@@\n a\n c");
    assert_eq!(lost, (false, content("a\nb\n"), None));
    for (body, expected) in
        [("@@\n-b\n+B\n ", "a\nB\n"), ("@@\n a\n-b\n-\n+B\n+", "a\nB\n"), ("@@\n b\n \n+c", "a\nb\n\nc\n")]
    {
        let outcome = apply("a\nb\n", &format!("*** Update File: f\n{body}\n*** End of File"));
        assert_eq!(outcome, (true, content(expected), None), "{body:?}");
    }
    let bound = apply("a\nb\na\nc\n", "*** Update File: f\n@@\n-a\n+A\n*** End of File");
    assert_eq!(bound, (false, content("a\nb\na\nc\n"), None));
}

/// Codex gives an updated file a final newline. Lines that follow a last line without an ending must not be joined to it.
#[test]
fn lines_after_a_last_line_without_an_ending() {
    for (file, body, expected) in [
        ("a\nb", "@@\n b\n+c", "a\nb\nc\n"),
        ("a\nb", "@@\n+c", "a\nb\nc\n"),
        ("a\r\nb", "@@\n b\n+c\n+d", "a\r\nb\r\nc\r\nd\r\n"),
        ("b", "@@\n b\n+c\n*** End of File", "b\nc\n"),
        ("a\nb", "@@\n-b\n+B\n+c", "a\nB\nc\n"),
    ] {
        let fixture = Fixture::with("codex", &[("f", file)]);
        output(&fixture, "apply_patch", patch(&format!("*** Update File: f\n{body}")));
        assert_eq!(fixture.get("f"), expected, "{file:?} {body:?}");
    }
}

/// Each section is listed, with the path as the patch spells it: the added ones, then the changed ones, then the deleted
/// ones. Codex calls every added file `A`, a moved file `M` with its new path, and repeats a file of two sections.
#[test]
fn every_section_has_its_letter() {
    let fixture = fixture();
    let root = fixture.root();
    let body = format!(
        "*** Delete File: ./src/b.py\n*** Add File: a.txt\n+one\n*** Update File: a.txt\n@@\n-one\n+1\n\
         *** Update File: {}/a.txt\n*** Move to: n/c.txt\n@@\n 1\n*** Add File: t\n*** Delete File: t",
        root.display()
    );
    let output_text = output(&fixture, "apply_patch", patch(&body));
    assert_eq!(
        output_text,
        "Success. Updated the following files:\nA a.txt\nA t\nM a.txt\nM n/c.txt\nD ./src/b.py\nD t"
    );
    assert!(fixture.get("n/c.txt") == "1\n" && !fixture.has("a.txt") && !fixture.has("t"));
}

/// A move to the file's own path deletes the file in Codex. Here it is an update.
#[test]
fn a_file_moved_to_itself_stays() {
    let fixture = fixture();
    output(&fixture, "apply_patch", patch("*** Update File: a.txt\n*** Move to: ./a.txt\n@@\n-two\n+2"));
    assert_eq!(fixture.get("a.txt"), "one\n2\nthree\n");
}

/// Codex reads the patch line by line: blank lines belong to chunks, a chunk has one `@@` line, and each header has one
/// blank after its colon.
#[test]
fn envelopes_that_codex_refuses() {
    for body in [
        "\n*** Delete File: a.txt",
        "*** Delete File: a.txt\n\n*** Add File: n\n+n",
        "*** Add File: n\n+n\n\n*** Add File: m\n+m",
        "*** Add File:n\n+n",
        "*** Update File:  a.txt\n@@\n-one",
        "*** Update File: a.txt\n*** Move to: n",
        "*** Update File: a.txt\n*** Move to: n\n*** Move to: m\n@@\n-one",
        "*** Update File: a.txt\n@@ one\n@@ two\n-three",
        "*** Update File: a.txt\n@@ gone\n@@ one\n-two",
        "*** Update File: a.txt\n@@x\n-one",
        "*** Update File: a.txt\n@@\n-one\n\n\n@@\n-two",
        "*** Update File: a.txt\n@@\n-three\n*** End of File\n-one",
        "*** Update File: a.txt\n@@\n*** End of File",
    ] {
        let fixture = fixture();
        fixture.fails("apply_patch", patch(body));
        assert!(fixture.get("a.txt") == "one\ntwo\nthree\n" && !fixture.has("n") && !fixture.has("m"), "{body}");
    }
}

#[test]
fn chunks_without_changes_and_blank_lines() {
    for (body, expected) in [
        ("@@\n one", "one\ntwo\nthree\n"),
        (" one\n-two", "one\nthree\n"),
        ("\n@@\n-two", "one\nthree\n"),
        ("@@\n-one\n\n@@\n-three", "two\n"),
        ("@@ \t\n-one", "two\nthree\n"),
        ("@@ one\n-three\n*** End of File \n\n@@\n+four", "one\ntwo\nfour\n"),
        ("@@\n \n+zero", "\nzero\none\ntwo\nthree\n"),
    ] {
        let fixture = fixture();
        output(&fixture, "apply_patch", patch(&format!("*** Update File: a.txt\n{body}")));
        assert_eq!(fixture.get("a.txt"), expected, "{body:?}");
    }
}

/// Codex gives added lines the ending of the first line of the file, and keeps the other lines as they are.
#[test]
fn line_endings() {
    for (file, body, expected) in [
        (
            "one\r\ntwo\r\nthree\r\n",
            "@@\n-one\n+uno\n@@\n two\n+\n+between\n three",
            "uno\r\ntwo\r\n\r\nbetween\r\nthree\r\n",
        ),
        ("same\r\nsame\n", "@@\n-same\n same", "same\n"),
        ("one\r\ntwo\nthree\r\nfour\n", "@@\n one\n two\n-three\n+THREE\n four", "one\r\ntwo\nTHREE\r\nfour\n"),
        ("one\ntwo\r\n", "@@\n two\n+three", "one\ntwo\r\nthree\n"),
        ("a\nb\n", "@@\n-a\n-b\n+b\n+b\n+a", "b\nb\na\n"),
    ] {
        let fixture = Fixture::with("codex", &[("f", file)]);
        output(&fixture, "apply_patch", patch(&format!("*** Update File: f\n{body}")));
        assert_eq!(fixture.get("f"), expected, "{file:?} {body:?}");
    }
}

/// The error reports all hunks and sections that do not apply.
#[test]
fn every_failure_is_reported() {
    let fixture = fixture();
    let failed = error(
        &fixture,
        "apply_patch",
        patch(
            "*** Update File: a.txt\n@@\n-One\n@@\n-two\n@@ Three\n+x\n*** Update File: none\n@@\n-a\n\
             *** Update File: src/b.py\n@@\n-    x = 2\n*** Update File: a.txt\n@@\n-gone",
        ),
    );
    let expected = "Failed to find expected lines in a.txt:\nOne\nFailed to find context 'Three' in a.txt\n\
                    Failed to read file to update none\nFailed to find expected lines in src/b.py:\n    x = 2\n(";
    assert!(failed.starts_with(expected), "{failed}");
    assert_eq!(fixture.get("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn failures_in_codex_s_words() {
    let fixture = fixture();
    let fails = |body: &str| error(&fixture, "apply_patch", patch(body));
    let begin = error(&fixture, "apply_patch", json!({"input": "--- a\n+++ b"}));
    assert_eq!(begin, "invalid patch: The first line of the patch must be '*** Begin Patch'");
    let end = error(&fixture, "apply_patch", json!({"input": "*** Begin Patch\n*** Delete File: a.txt"}));
    assert_eq!(end, "invalid patch: The last line of the patch must be '*** End Patch'");
    assert_eq!(
        error(&fixture, "apply_patch", json!({"input": "*** Begin Patch\n*** End Patch"})),
        "No files were modified."
    );
    assert!(
        fails("*** Foo: a")
            .starts_with("invalid hunk at line 2, '*** Foo: a' is not a valid hunk header. Valid hunk headers: ")
    );
    assert!(fails("*** Update File: a.txt").contains("Update file hunk for path 'a.txt' is empty"));
    assert!(fails("*** Update File: a.txt\n@@").contains("Update hunk does not contain any lines"));
    assert!(fails("*** Update File: a.txt\n@@\n-one\ntwo").contains("Unexpected line found in update hunk: 'two'."));
    assert!(fails("*** Update File: a.txt\n@@ nope\n-one\n+1").starts_with("Failed to find context 'nope' in a.txt"));
    assert!(
        fails("*** Update File: a.txt\n@@\n-one\n-four\n+1")
            .starts_with("Failed to find expected lines in a.txt:\none\nfour")
    );
    assert!(fails("*** Update File: nope\n@@\n-one\n+1").starts_with("Failed to read file to update nope"));
    assert_eq!(fixture.get("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn list_dir() {
    let fixture = fixture();
    let root = fixture.root();
    let root = root.to_str().unwrap();
    fixture.link("link", "a.txt");
    let list = |more: Value| {
        let mut arguments = json!({"dir_path": root});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fixture.call("list_dir", arguments)
    };
    assert_eq!(list(json!({})).text, format!("Absolute path: {root}\na.txt\nlink@\nsrc/\n  b.py"));
    assert_eq!(list(json!({"depth": 1})).text, format!("Absolute path: {root}\na.txt\nlink@\nsrc/"));
    let page = list(json!({"offset": 2, "limit": 1}));
    assert_eq!(page.text, format!("Absolute path: {root}\nlink@\nMore than 1 entries found"));
    assert_eq!(list(json!({"offset": 0})).text, "offset must be a 1-indexed entry number");
    assert_eq!(list(json!({"limit": 0})).text, "limit must be greater than zero");
    assert_eq!(list(json!({"depth": 0})).text, "depth must be greater than zero");
    assert_eq!(list(json!({"offset": 9})).text, "offset exceeds directory entry count");
    assert_eq!(list(json!({"offset": u64::MAX})).text, "offset exceeds directory entry count");
    assert_eq!(list(json!({"offset": 3, "limit": u64::MAX})).text, format!("Absolute path: {root}\nsrc/\n  b.py"));
    // Relative and absolute paths are accepted; the result has absolute ones.
    let relative = fixture.call("list_dir", json!({"dir_path": "src"}));
    assert_eq!(relative.text, format!("Absolute path: {root}/src\nb.py"));
    std::fs::create_dir(fixture.root().join("src/empty")).unwrap();
    let empty = fixture.call("list_dir", json!({"dir_path": "src/empty", "offset": 2}));
    assert_eq!(empty.text, format!("Absolute path: {root}/src/empty"));
    for path in ["none", "a.txt"] {
        let failed = error(&fixture, "list_dir", json!({"dir_path": path}));
        assert!(failed.starts_with("failed to read directory: "), "{failed}");
    }
}

#[test]
fn read_file() {
    let fixture = fixture();
    let path = |name: &str| fixture.root().join(name).to_str().unwrap().to_owned();
    let read = |arguments| output(&fixture, "read_file", arguments);
    assert_eq!(read(json!({"file_path": path("a.txt"), "offset": 2, "limit": 1})), "L2: two");
    fixture.put("long.txt", "x".repeat(600));
    assert!(read(json!({"file_path": path("long.txt")})).starts_with(&format!("L1: {}", "x".repeat(500))));
    fixture.put("m.py", "a = 1\n\ndef f():\n    if x:\n        y\n    return\n\nb = 2\n");
    let block = json!({"anchor_line": 5, "max_levels": 1});
    let output_text = read(json!({"file_path": path("m.py"), "mode": "indentation", "indentation": block}));
    assert_eq!(output_text, "L4:     if x:\nL5:         y\nL6:     return");
    let fails = |arguments| error(&fixture, "read_file", arguments);
    assert_eq!(fails(json!({"file_path": path("a.txt"), "offset": 0})), "offset must be a 1-indexed line number");
    assert_eq!(read(json!({"file_path": "a.txt", "limit": 1})), "L1: one");
    // If a limit of the host ends a read before the requested number of lines, the text says so and names the argument
    // that continues.
    fixture.put("many.txt", (1..=2_045).map(|line| format!("{line:040}\n")).collect::<String>());
    let cut = read(json!({"file_path": "many.txt", "limit": 2_000}));
    let last: u64 = cut.lines().rev().nth(1).unwrap().split(&['L', ':'][..]).nth(1).unwrap().parse().unwrap();
    assert!(
        last < 2_000 && cut.ends_with(&format!("[lines 1-{last} of 2045; offset={} continues]", last + 1)),
        "{cut:.80}"
    );
    let rest = read(json!({"file_path": "many.txt", "offset": last + 1, "limit": 2_000}));
    assert!(rest.ends_with("2045") && !rest.contains('['), "{rest:.80}");
    assert_eq!(fails(json!({"file_path": path("a.txt"), "offset": 9})), "offset exceeds file length");
    fixture.put("empty", "");
    assert_eq!(fails(json!({"file_path": path("empty")})), "offset exceeds file length");
    assert_eq!(fails(json!({"file_path": path("empty"), "mode": "indentation"})), "anchor_line exceeds file length");
    assert!(fails(json!({"file_path": path("none")})).starts_with("failed to read file: "));
    fixture.put("crlf", "one\r\ntwo\r\n");
    assert_eq!(read(json!({"file_path": path("crlf")})), "L1: one\nL2: two");
    let past = json!({"file_path": path("a.txt"), "mode": "indentation", "indentation": {"anchor_line": 9}});
    assert_eq!(fails(past), "anchor_line exceeds file length");
}

/// Blocks around a line, with the results of the original's own tests: indentation levels have 4 columns.
#[test]
fn blocks_by_indentation() {
    const NESTED: &str = "mod root {\n    fn outer() {\n        if cond {\n            inner();\n        }\n    }\n}\n";
    const SIBLINGS: &str =
        "fn wrapper() {\n    if first {\n        do_first();\n    }\n    if second {\n        do_second();\n    }\n}\n";
    const COMMENT: &str = "class A:\n    x = 1\n\n    # about f\n    def f(self):\n        return 1\n\n    # about g\n    def g(self):\n        return 2\n";
    let cases = [
        (NESTED, json!({"anchor_line": 4, "max_levels": 1}), 3..=5),
        (NESTED, json!({"anchor_line": 4, "max_levels": 2}), 2..=6),
        (NESTED, json!({"anchor_line": 4, "max_levels": 3}), 1..=7),
        (NESTED, json!({"anchor_line": 4}), 1..=7),
        (NESTED, json!({"anchor_line": 4, "max_lines": 1}), 4..=4),
        (NESTED, json!({"anchor_line": 4, "max_lines": 3}), 3..=5),
        (SIBLINGS, json!({"anchor_line": 3, "max_levels": 1}), 2..=4),
        (SIBLINGS, json!({"anchor_line": 3, "max_levels": 1, "include_siblings": true}), 2..=7),
        (COMMENT, json!({"anchor_line": 6, "max_levels": 1}), 4..=8),
        (COMMENT, json!({"anchor_line": 6, "max_levels": 1, "include_header": false}), 5..=8),
    ];
    for (text, block, expected) in cases {
        let fixture = Fixture::with("codex", &[("f", text)]);
        let output_text = output(
            &fixture,
            "read_file",
            json!({"file_path": "f", "mode": "indentation", "indentation": block.clone()}),
        );
        let lines = text.lines().enumerate().filter(|(index, _)| expected.contains(&(index + 1)));
        let lines: Vec<_> = lines.map(|(index, line)| format!("L{}: {line}", index + 1)).collect();
        let output_text: Vec<_> = output_text.lines().filter(|line| !line.starts_with('[')).collect();
        assert_eq!(output_text, lines, "{text} {block}");
    }
}

#[test]
fn grep_files_by_time() {
    let fixture = fixture();
    let file = std::fs::File::options().write(true).open(fixture.root().join("a.txt")).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(60)).unwrap();
    let grep = |arguments| output(&fixture, "grep_files", arguments);
    let path = |name: &str| fixture.root().join(name).to_str().unwrap().to_owned();
    assert_eq!(grep(json!({"pattern": "e"})), format!("{}\n{}", path("a.txt"), path("src/b.py")));
    let cut = grep(json!({"pattern": "e", "limit": 1}));
    assert!(cut.starts_with(&format!("{}\n[there are more files that match: ", path("a.txt"))), "{cut}");
    assert_eq!(grep(json!({"pattern": "e", "include": "*.py"})), path("src/b.py"));
    // Other tools accept the paths of the result.
    let paths = grep(json!({"pattern": "def f"}));
    assert!(output(&fixture, "read_file", json!({"file_path": paths})).starts_with("L1: def f"));
    assert_eq!(grep(json!({"pattern": "nowhere"})), "No matches found.");
    assert_eq!(grep(json!({"pattern": " def f ", "include": " *.py "})), path("src/b.py"));
    let failed = error(&fixture, "grep_files", json!({"pattern": "e", "path": "none"}));
    assert!(failed.starts_with("unable to access `none`: "), "{failed}");
    assert_eq!(error(&fixture, "grep_files", json!({"pattern": " "})), "pattern must not be empty");
    assert_eq!(error(&fixture, "grep_files", json!({"pattern": "e", "limit": 0})), "limit must be greater than zero");
}

#[test]
fn nothing_outside() {
    let fixture = fixture();
    for path in fixture.ways_out() {
        fixture.fails("apply_patch", patch(&format!("*** Update File: {path}\n@@\n-secret\n+x")));
        fixture.fails("apply_patch", patch(&format!("*** Update File: a.txt\n*** Move to: {path}\n@@\n-one\n+x")));
        fixture.fails("list_dir", json!({"dir_path": path}));
        fixture.fails("read_file", json!({"file_path": path}));
        fixture.fails("grep_files", json!({"pattern": "s", "path": path}));
    }
    fixture.hidden_file_is_untouched();
}
