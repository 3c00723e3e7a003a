//! lincona: "Epic 4: Tooling Core & Filesystem Boundaries".

use serde_json::json;

use super::support::Fixture;

fn fixture() -> Fixture {
    let fixture =
        Fixture::with("lincona", &[("a.txt", "one\ntwo\nthree\n"), ("src/deep/b.py", "def f():\n    return 1\n")]);
    fixture.put("run.sh", "#!/bin/sh\n");
    fixture.link("link", "a.txt");
    fixture
}

// 5: "`list_dir`, `read_file`, `grep_files`, `apply_patch_json`, `apply_patch_freeform`, `shell`, `exec_command`, `write_stdin`"
#[test]
fn the_tools() {
    let names: Vec<_> = paddock::tools("lincona").unwrap().into_iter().map(|tool| tool.name).collect();
    let files = ["list_dir", "read_file", "grep_files", "apply_patch_json", "apply_patch_freeform"];
    assert_eq!(names[..5], files);
    assert_eq!(names[5..], ["shell", "exec_command", "write_stdin"]);
}

// 15: "Path handling: normalize, reject symlink escapes by resolving final path and ensuring it remains under root; disallow
//     `..` escapes."
// 16: "raising `FsViolationError`"
#[test]
fn nothing_outside_the_root() {
    let fixture = fixture();
    for path in fixture.ways_out() {
        let envelope = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-secret\n+x\n*** End Patch");
        let unified = format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-secret\n\\ No newline at end of file\n+x\n");
        for (tool, arguments) in [
            ("list_dir", json!({"path": path})),
            ("read_file", json!({"path": path})),
            ("grep_files", json!({"pattern": "s", "path": path})),
            ("apply_patch_freeform", json!({"patch": envelope})),
            ("apply_patch_json", json!({"patch": unified})),
        ] {
            assert_eq!(fixture.fails(tool, arguments)["error"], "FsViolationError", "{tool} {path}");
        }
    }
    fixture.hidden_file_is_untouched();
}

// 18: "`list_dir(path=".", depth=2, offset=0, limit=200)`: breadth-first listing up to depth, sorted, one entry per line with
//     type markers (/, *, @)."
#[test]
fn list_dir() {
    let fixture = fixture();
    let list = |arguments| fixture.ok("list_dir", arguments);
    let whole = list(json!({}));
    assert_eq!(whole["message"], "a.txt\nlink@\nrun.sh*\nsrc/\nsrc/deep/");
    assert_eq!((&whole["status"], &whole["truncated"]), (&json!("success"), &json!(false)));
    assert_eq!(list(json!({"depth": 3}))["message"], "a.txt\nlink@\nrun.sh*\nsrc/\nsrc/deep/\nsrc/deep/b.py");
    let page = list(json!({"offset": 1, "limit": 2}));
    assert_eq!((&page["message"], &page["truncated"]), (&json!("link@\nrun.sh*\n[truncated]"), &json!(true)));
    assert_eq!(list(json!({"offset": 3}))["message"], "src/\nsrc/deep/");
    for number in 0..250 {
        fixture.put(&format!("many/{number:03}"), "");
    }
    let many = list(json!({"path": "many"}));
    assert_eq!(many["message"].as_str().unwrap().lines().count(), 201);
    assert!(many["message"].as_str().unwrap().ends_with("many/199\n[truncated]"));
}

// 19: "`read_file(path, offset=0, limit=400, mode="slice"|"indentation")`: slice by lines, optional indentation prefix for
//     readability; trims lines over 400 chars with `… [truncated line]`."
#[test]
fn read_file() {
    let fixture = fixture();
    let read = |arguments| fixture.ok("read_file", arguments);
    assert_eq!(read(json!({"path": "a.txt"}))["message"], "one\ntwo\nthree");
    let page = read(json!({"path": "a.txt", "offset": 1, "limit": 1}));
    assert_eq!((&page["message"], &page["truncated"]), (&json!("two\n[truncated]"), &json!(true)));
    let block = read(json!({"path": "src/deep/b.py", "mode": "indentation"}));
    assert_eq!(block["message"], "  0| def f():\n  4|     return 1");
    fixture.put("long.txt", format!("{}\n{}\n", "ä".repeat(400), "ä".repeat(401)));
    let long = read(json!({"path": "long.txt"}));
    let expected = format!("{}\n{}… [truncated line]", "ä".repeat(400), "ä".repeat(400));
    assert_eq!((long["message"].as_str().unwrap(), &long["truncated"]), (expected.as_str(), &json!(true)));
    fixture.put("many.txt", "x\n".repeat(401));
    let many = read(json!({"path": "many.txt"}));
    assert_eq!(many["message"].as_str().unwrap().lines().count(), 401);
    assert!(many["message"].as_str().unwrap().ends_with("x\n[truncated]"));
    assert_eq!(fixture.fails("read_file", json!({"path": "nope"}))["error"], "ToolValidationError");
}

// 20: "`grep_files(pattern, path=".", include=None, limit=200)`: recursive regex search … with optional include globs; returns
//     file:line:match lines; stop after limit matches."
#[test]
fn grep_files() {
    let fixture = fixture();
    let grep = |arguments| fixture.ok("grep_files", arguments);
    assert_eq!(
        grep(json!({"pattern": "t\\w+"}))["message"],
        "a.txt:2:two\na.txt:3:three\nsrc/deep/b.py:2:    return 1"
    );
    assert_eq!(grep(json!({"pattern": "return", "include": "*.{py,md}"}))["message"], "src/deep/b.py:2:    return 1");
    for include in [json!(["*.py", "*.md"]), json!("*.py, *.md"), json!("[\"*.py\"]")] {
        let result = grep(json!({"pattern": "return", "include": include}));
        assert_eq!(result["message"], "src/deep/b.py:2:    return 1", "{include}");
    }
    assert_eq!(grep(json!({"pattern": "t", "include": " [] "}))["message"], grep(json!({"pattern": "t"}))["message"]);
    let one = grep(json!({"pattern": "t", "limit": 1}));
    assert_eq!((&one["message"], &one["truncated"]), (&json!("a.txt:2:two\n[truncated]"), &json!(true)));
    assert_eq!(grep(json!({"pattern": "nowhere"}))["message"], "No matches found.");
    assert_eq!(fixture.fails("grep_files", json!({"pattern": "("}))["error"], "ToolValidationError");
}

// 6: "Cap tool outputs … adding a clear `[truncated]` marker when limits are hit."
// 27: "cap to 8KB or 200 lines (whichever first)"
#[test]
fn a_result_has_at_most_8_kb() {
    let fixture = fixture();
    fixture.put("wide.txt", format!("{}\n", "w".repeat(300)).repeat(100));
    let result = fixture.ok("grep_files", json!({"pattern": "w+", "include": "wide.txt"}));
    let message = result["message"].as_str().unwrap();
    assert!(message.len() <= 8 * 1024 + 20 && message.len() > 7 * 1024, "{}", message.len());
    assert!(message.ends_with("\n[truncated]") && result["truncated"] == true);
}

// 21: "`apply_patch_json(patch:str)`: validate unified diff, ensure all target files within root, apply atomically (write to
//     temp then move); reject if fuzz/offset required; report per-file stats."
// 33: "for mutating tools a summary of changes (files touched, bytes written)"
#[test]
fn apply_patch_json() {
    let fixture = fixture();
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+n\n";
    let applied = fixture.ok("apply_patch_json", json!({"patch": patch}));
    assert_eq!((&applied["files_touched"], &applied["bytes_written"]), (&json!(2), &json!(18)));
    let first = json!({"path": "a.txt", "action": "update", "lines_added": 2, "lines_removed": 1, "bytes_written": 16});
    assert_eq!(applied["changes"][0], first);
    assert_eq!(fixture.get("a.txt"), "one\n2\n2.5\nthree\n");
    // The hunk would apply only at an offset.
    let off = "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-three\n+3\n";
    assert_eq!(fixture.fails("apply_patch_json", json!({"patch": off}))["error"], "PatchApplyError");
    // The second of two files does not fit, so nothing is changed.
    let half = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/n.txt\n+++ b/n.txt\n@@ -1 +1 @@\n-m\n+k\n";
    assert_eq!(fixture.fails("apply_patch_json", json!({"patch": half}))["error"], "PatchApplyError");
    assert_eq!(fixture.get("a.txt"), "one\n2\n2.5\nthree\n");
    assert_eq!(fixture.fails("apply_patch_json", json!({"patch": "hello"}))["error"], "PatchParseError");
    let envelope = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch";
    assert_eq!(fixture.fails("apply_patch_json", json!({"patch": envelope}))["error"], "PatchParseError");
}

// 22: "`apply_patch_freeform`: parse Codex envelope `*** Begin Patch ... *** End Patch`, extract diff, delegate to JSON patch
//     applier."
#[test]
fn apply_patch_freeform() {
    let fixture = fixture();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Delete File: run.sh\n*** End Patch";
    let applied = fixture.ok("apply_patch_freeform", json!({"patch": patch}));
    assert_eq!(applied["message"], "M a.txt +1 -1\nD run.sh +0 -1");
    assert!(fixture.get("a.txt") == "one\n2\nthree\n" && !fixture.has("run.sh"));
    // Line numbers are those of the diff in the envelope.
    fixture.put("twice.txt", "x\ny\nx\n");
    let numbered = |header: &str| {
        let patch = format!("*** Begin Patch\n*** Update File: twice.txt\n@@ {header} @@\n-x\n+z\n*** End Patch");
        json!({"patch": patch})
    };
    assert_eq!(fixture.fails("apply_patch_freeform", numbered("-2,1 +2,1"))["error"], "PatchApplyError");
    fixture.ok("apply_patch_freeform", numbered("-3,1 +3,1"));
    assert_eq!(fixture.get("twice.txt"), "x\ny\nz\n");
    let unified = "*** Begin Patch\n--- a/twice.txt\n+++ b/twice.txt\n@@ -1,1 +1,1 @@\n-x\n+w\n*** End Patch";
    fixture.ok("apply_patch_freeform", json!({"patch": unified}));
    assert_eq!(fixture.get("twice.txt"), "w\ny\nz\n");
    // White space is compared exactly, because the specification asks for a strict applier.
    let inexact_patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-2  \n+two\n*** End Patch";
    assert_eq!(fixture.fails("apply_patch_freeform", json!({"patch": inexact_patch}))["error"], "PatchApplyError");
    assert_eq!(fixture.fails("apply_patch_freeform", json!({"patch": "--- a\n+++ b\n"}))["error"], "PatchParseError");
}

// 23 to 25: `shell`, `exec_command` and `write_stdin`, which the host must enable.
#[test]
fn commands_are_not_enabled() {
    let fixture = fixture();
    for (tool, arguments) in [
        ("shell", json!({"command": "touch x"})),
        ("exec_command", json!({"cmd": "touch x"})),
        ("write_stdin", json!({"session_id": 1, "chars": "x"})),
    ] {
        let error = fixture.fails(tool, arguments);
        assert_eq!(error["error"], "CommandFailedError");
        assert!(error["message"].as_str().unwrap().contains("commands are not enabled"), "{error}");
    }
    assert!(!fixture.has("x"));
}

// 32: "Typed errors: … `ToolValidationError`."
#[test]
fn arguments_are_checked() {
    let fixture = fixture();
    for (tool, arguments) in [
        ("read_file", json!({})),
        ("read_file", json!({"path": "a.txt", "mode": "block"})),
        ("list_dir", json!({"depth": 0})),
        ("grep_files", json!({"pattern": 1})),
        ("list_dir", json!({"dirs": "."})),
    ] {
        let error = fixture.fails(tool, arguments);
        assert_eq!((&error["status"], &error["error"]), (&json!("error"), &json!("ToolValidationError")));
    }
}
