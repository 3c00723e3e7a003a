//! OpenAI's `apply_patch` tool: one operation per call, with a headerless V4A diff.

use serde_json::{Value, json};

use super::support::Fixture;

fn operation(kind: &str, path: &str, diff: &str) -> Value {
    json!({"operation": {"type": kind, "path": path, "diff": diff}})
}

#[test]
fn create_update_delete() {
    let fixture = Fixture::with("openai", &[("a.txt", "one\ntwo\nthree\n")]);
    let created = fixture.ok("apply_patch", operation("create_file", "n.txt", "+x\n+y"));
    assert_eq!(created, json!({"status": "completed", "output": "Created n.txt"}));
    assert_eq!(fixture.get("n.txt"), "x\ny", "no newline that the diff does not have");
    let updated = fixture.ok("apply_patch", operation("update_file", "a.txt", "@@\n one\n-two\n+2\n three"));
    assert_eq!(updated["output"], "Updated a.txt");
    assert_eq!(fixture.get("a.txt"), "one\n2\nthree\n");
    fixture.ok("apply_patch", json!({"operation": {"type": "delete_file", "path": "n.txt"}}));
    assert!(!fixture.has("n.txt"));
}

#[test]
fn matching_is_as_lenient_as_the_tool_s() {
    let fixture = Fixture::with("openai", &[("a.txt", "f\n  a\ng\n  a\n"), ("crlf.txt", "a\r\nb")]);
    // An anchor that is not in the file is ignored; an anchor in the file moves the search to its line.
    fixture.ok("apply_patch", operation("update_file", "a.txt", "@@ nowhere\n-f\n+F"));
    let result = fixture.ok("apply_patch", operation("update_file", "a.txt", "@@ g\n-a\n+b"));
    assert_eq!(result["output"], "Updated a.txt (matched without white space around lines)");
    assert_eq!(fixture.get("a.txt"), "F\n  a\ng\nb\n");
    fixture.ok("apply_patch", operation("update_file", "crlf.txt", "@@\n-a\n+A\n b"));
    assert_eq!(fixture.get("crlf.txt"), "A\r\nb", "line endings and the missing final newline stay");
    // Lines without context are inserted at the end of the previous chunk, or at the start of the file.
    fixture.ok("apply_patch", operation("update_file", "crlf.txt", "@@\n+x\n*** End Patch\n"));
    assert_eq!(fixture.get("crlf.txt"), "x\r\nA\r\nb");
    for (name, text, diff) in [("empty", "", "@@\r\n+a\n+b"), ("line", "a", "@@\n a\r\n+b\r\n*** End of File")] {
        fixture.put(name, text);
        fixture.ok("apply_patch", operation("update_file", name, diff));
    }
    assert_eq!((fixture.get("empty").as_str(), fixture.get("line").as_str()), ("a\r\nb\r\n", "a\r\nb"));
    fixture.ok("apply_patch", operation("create_file", "made", "+a\r\n+b\n+"));
    assert_eq!(fixture.get("made"), "a\r\nb\r\n");
    // If a chunk has several anchors, each of them must be in the file.
    fixture.put("c.py", "class A\n  f\n");
    let missing = fixture.fails("apply_patch", operation("update_file", "c.py", "@@ class A\n@@   g\n-  f\n+  h"));
    assert!(missing["output"].as_str().unwrap().contains("`  g` is not there"), "{missing}");
    fixture.put("q.txt", "“q”\n");
    let quotes = fixture.fails("apply_patch", operation("update_file", "q.txt", "@@\n-\"q\"\n+x"));
    assert_eq!(quotes["status"], "failed");
}

#[test]
fn failures() {
    let fixture = Fixture::with("openai", &[("a.txt", "one\n")]);
    for (wrong, says) in [
        (operation("create_file", "n.txt", "+x\ny"), "Invalid Add File Line: y"),
        (operation("create_file", "a.txt", "+x"), "the path already exists"),
        (operation("update_file", "a.txt", "@@\n-two\n+2"), "its old lines are not there"),
        (operation("update_file", "nope", "@@\n-two\n+2"), "no such file"),
        (operation("update_file", "a.txt", "*** Delete File: a.txt"), "it has a header line"),
        (operation("update_file", "a.txt\n*** Delete File: a.txt", "@@\n-one\n+1"), "cannot contain a line feed"),
        (json!({"operation": {"type": "update_file", "path": "a.txt"}}), "`operation.diff`: it is missing"),
        (operation("rename_file", "a.txt", ""), "one of create_file, update_file, delete_file"),
    ] {
        let failed = fixture.fails("apply_patch", wrong);
        assert_eq!(failed["status"], "failed");
        assert!(failed["output"].as_str().unwrap().contains(says), "{failed}");
    }
    assert_eq!(fixture.get("a.txt"), "one\n");
}

#[test]
fn nothing_outside() {
    let fixture = Fixture::new("openai");
    for path in fixture.ways_out() {
        fixture.fails("apply_patch", operation("update_file", &path, "@@\n-secret\n+x"));
        fixture.fails("apply_patch", operation("create_file", &path, "+x"));
        if path != "out" {
            fixture.fails("apply_patch", operation("delete_file", &path, ""));
        }
    }
    fixture.hidden_file_is_untouched();
}
