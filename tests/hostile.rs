//! A tree with all entries that make file tools fail: each tool answers quickly, uses little memory, and reports the
//! entries that it left out.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use paddock::types::ErrorCode;
use paddock::{Limits, Outcome, Policy, Workspace};
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};
use tempfile::TempDir;

mod roots;

/// Limit of guest memory with which all calls must work, in bytes.
const MEMORY: u64 = 64 << 20;
/// Maximum time of a call.
const QUICK: Duration = Duration::from_secs(2);
/// User id without access to other users' directories, which root has.
const NOBODY: u32 = 65_534;
const HUGE: u64 = 3 << 30;

struct Tree {
    directory: TempDir,
    workspace: Workspace,
}

impl Tree {
    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        let directory = TempDir::new().unwrap();
        let limits = Limits { max_memory_bytes: MEMORY, ..limits };
        let policy = Policy { limits, ..Policy::default() };
        let workspace = Workspace::builder().root(directory.path()).no_state_dir().policy(policy).build().unwrap();
        // The compilation of the component is not measured.
        assert!(workspace.call("stat", r#"{"path": "."}"#).ok);
        Self { directory, workspace }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn call_slowly(&self, tool: &str, arguments: &Value) -> Outcome {
        self.workspace.call(tool, &arguments.to_string())
    }

    fn call(&self, tool: &str, arguments: &Value) -> Outcome {
        let started = Instant::now();
        let outcome = self.call_slowly(tool, arguments);
        let took = started.elapsed();
        println!(
            "{took:>12.1?} {tool} {arguments} {}",
            outcome.value().to_string().chars().take(420).collect::<String>()
        );
        assert!(took < QUICK, "{tool} {arguments} took {took:?}");
        outcome
    }

    /// Makes a call that must succeed, and returns its result.
    fn result(&self, tool: &str, arguments: &Value) -> Value {
        let outcome = self.call(tool, arguments);
        assert!(outcome.ok, "{tool} {arguments}: {:?}", outcome.error);
        outcome.value()
    }

    /// Fails unless the call fails with this code.
    fn refused(&self, tool: &str, arguments: &Value, code: ErrorCode) {
        let outcome = self.call(tool, arguments);
        assert_eq!(outcome.error.as_ref().map(|error| error.code), Some(code), "{tool} {arguments}: {outcome:?}");
    }
}

/// Creates the hostile tree. The listener keeps its socket open.
fn hostile() -> (Tree, UnixListener) {
    let tree = Tree::new();
    let at = |name: &str| tree.path().join(name);
    fs::write(at("a.txt"), "needle one\nplain\n").unwrap();
    fs::write(at("empty.txt"), "").unwrap();
    mkfifoat(CWD, at("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    let socket = UnixListener::bind(at("socket")).unwrap();
    symlink("loop_b", at("loop_a")).unwrap();
    symlink("loop_a", at("loop_b")).unwrap();
    symlink("/", at("root")).unwrap();
    fs::write(tree.path().join(OsStr::from_bytes(b"name\xff.txt")), "needle\n").unwrap();
    fs::create_dir(at("locked")).unwrap();
    fs::write(at("locked/inside.txt"), "needle\n").unwrap();
    fs::set_permissions(at("locked"), Permissions::from_mode(0o000)).unwrap();
    File::create(at("sparse.bin")).unwrap().set_len(HUGE).unwrap();
    let mut line = vec![b'x'; 50 << 20];
    line.splice(..6, *b"needle");
    fs::write(at("line.txt"), line).unwrap();
    let utf16: Vec<u8> = "\u{feff}needle ä\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(at("utf16.txt"), utf16).unwrap();
    fs::write(at("latin1.txt"), b"needle M\xfcller \xe4\xf6\xfc\n").unwrap();
    (tree, socket)
}

/// Restores access to the locked directory, so that it can be removed.
impl Drop for Tree {
    fn drop(&mut self) {
        let locked = self.path().join("locked");
        if locked.exists() {
            let _ = fs::set_permissions(locked, Permissions::from_mode(0o700));
        }
    }
}

/// Runs a test of this module again as an unprivileged user, because permissions do not restrict root. Returns false if
/// this user is not root.
fn again_as_nobody(test: &str) -> bool {
    let probe = TempDir::new().unwrap();
    if fs::metadata(probe.path()).unwrap().uid() != 0 {
        return false;
    }
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", &format!("hostile::{test}"), "--nocapture"]).uid(NOBODY).gid(NOBODY).current_dir("/");
    let output = command.output().unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the test has another name");
    true
}

/// Returns the counts of left-out entries that are not zero.
fn skipped(result: &Value) -> BTreeMap<&str, u64> {
    let counts = result["skipped"].as_object().unwrap().iter();
    counts.map(|(reason, count)| (reason.as_str(), count.as_u64().unwrap())).filter(|(_, count)| *count > 0).collect()
}

const EVERYWHERE: [(&str, u64); 2] = [("unnamed", 1), ("unreadable", 1)];

#[test]
fn walks_report_entries_left_out() {
    if again_as_nobody("walks_report_entries_left_out") {
        return;
    }
    let (tree, _socket) = hostile();
    for sort in ["name", "size", "modified"] {
        let listed = tree.result("list_dir", &json!({"depth": 9, "sort": sort}));
        assert_eq!(skipped(&listed), BTreeMap::from(EVERYWHERE));
        let kinds = |kind: &str| {
            let entries = listed["entries"].as_array().unwrap().iter();
            entries.filter(|entry| entry["kind"] == kind).count()
        };
        assert_eq!(["file", "directory", "link", "other"].map(kinds), [6, 1, 3, 2]);
    }
    let drawn = tree.result("tree", &json!({}));
    assert_eq!(skipped(&drawn), BTreeMap::from(EVERYWHERE));
    assert_eq!(drawn["tree"]["children"].as_array().unwrap().len(), 12);
    for sort in ["path", "modified"] {
        let named = tree.result("glob", &json!({"pattern": "*", "sort": sort}));
        assert_eq!(named["paths"].as_array().unwrap().len(), 6);
        assert_eq!(
            skipped(&named),
            BTreeMap::from(EVERYWHERE).into_iter().chain([("links", 3), ("special", 2)]).collect()
        );
    }
}

#[test]
fn searches_report_entries_left_out() {
    if again_as_nobody("searches_report_entries_left_out") {
        return;
    }
    let (tree, _socket) = hostile();
    let beyond = |more: &[(&'static str, u64)]| -> BTreeMap<&str, u64> {
        let walk = EVERYWHERE.into_iter().chain([("links", 3), ("special", 2), ("binary", 1)]);
        walk.chain(more.iter().copied()).collect()
    };
    for output in ["content", "files", "count"] {
        let result = tree.result("grep", &json!({"pattern": "needle", "output": output}));
        let key = if output == "content" { "matches" } else { "files" };
        let paths: Vec<_> = result[key].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["a.txt", "latin1.txt", "line.txt", "utf16.txt"], "{output}");
        assert_eq!(skipped(&result), beyond(&[("long_lines", 1)]), "{output}");
        assert_eq!(result["files_searched"], 5);
    }
    let result = tree.result("grep", &json!({"pattern": "needle", "multiline": true}));
    assert_eq!(skipped(&result), beyond(&[("too_large", 1)]));
    let result = tree.result("grep", &json!({"pattern": "Müller"}));
    assert_eq!(result["matches"][0]["text"], "needle Müller äöü");
    let result = tree.result("grep", &json!({"pattern": "needle ä$"}));
    assert_eq!(result["matches"][0]["path"], "utf16.txt");
}

/// Returns a call of every tool that takes a single path, with the acceptable error code.
fn refusals(path: &str, file: ErrorCode, directory: ErrorCode) -> Vec<(&'static str, Value, ErrorCode)> {
    let patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-needle\n+pin\n*** End Patch\n");
    let edits = json!([{"old_text": "needle", "new_text": "pin"}]);
    vec![
        ("read_file", json!({"path": path}), file),
        ("read_file", json!({"path": path, "tail": 1}), file),
        ("read_file", json!({"path": path, "mode": "raw"}), file),
        ("read_file", json!({"path": path, "mode": "base64"}), file),
        ("grep", json!({"path": path, "pattern": "needle"}), file),
        ("edit_file", json!({"path": path, "edits": edits}), file),
        ("apply_patch", json!({"patch": patch}), file),
        ("write_file", json!({"path": path, "content": ""}), file),
        ("list_dir", json!({"path": path}), directory),
        ("tree", json!({"path": path}), directory),
        ("glob", json!({"path": path, "pattern": "*"}), directory),
    ]
}

#[test]
fn special_files_are_refused_at_once() {
    if again_as_nobody("special_files_are_refused_at_once") {
        return;
    }
    let (tree, _socket) = hostile();
    let whole = |code| (code, code);
    let refused = [
        ("fifo", (ErrorCode::NotAFile, ErrorCode::NotADirectory)),
        ("socket", (ErrorCode::NotAFile, ErrorCode::NotADirectory)),
        ("loop_a", whole(ErrorCode::InvalidPath)),
        ("loop_b/x", whole(ErrorCode::InvalidPath)),
        ("root", whole(ErrorCode::OutsideWorkspace)),
        ("root/etc/passwd", whole(ErrorCode::OutsideWorkspace)),
        ("locked/inside.txt", whole(ErrorCode::PermissionDenied)),
    ];
    for (path, (file, directory)) in refused {
        for (tool, arguments, code) in refusals(path, file, directory) {
            tree.refused(tool, &arguments, code);
        }
        let named = tree.result("read_files", &json!({"paths": [path, "a.txt"]}));
        assert_eq!(named["entries"][0]["error"]["code"], file.name(), "{path}");
        assert_eq!(named["entries"][1]["result"]["content"], "needle one\nplain");
    }
    for (path, kind) in
        [("fifo", "other"), ("socket", "other"), ("loop_a", "link"), ("root", "link"), ("locked", "directory")]
    {
        assert_eq!(tree.result("stat", &json!({"path": path}))["kind"], kind);
    }
    for tool in ["list_dir", "tree"] {
        tree.refused(tool, &json!({"path": "locked"}), ErrorCode::PermissionDenied);
    }
    tree.refused("copy", &json!({"source": "fifo", "destination": "copy"}), ErrorCode::NotAFile);
    tree.refused(
        "copy",
        &json!({"source": "locked", "destination": "copy", "recursive": true}),
        ErrorCode::PermissionDenied,
    );
    tree.result("delete", &json!({"path": "root"}));
    tree.result("delete", &json!({"path": "loop_a"}));
    tree.result("delete", &json!({"path": "fifo"}));
    assert!(Path::new("/etc/passwd").exists() && !tree.path().join("fifo").exists());
}

#[test]
fn files_of_every_kind_are_read_and_described() {
    let (tree, _socket) = hostile();
    assert_eq!(tree.result("read_file", &json!({"path": "empty.txt"}))["content"], "");
    assert_eq!(tree.result("read_file", &json!({"path": "utf16.txt"}))["content"], "needle ä");
    assert_eq!(tree.result("read_file", &json!({"path": "latin1.txt"}))["content"], "needle Müller äöü");
    let long = tree.result("read_file", &json!({"path": "line.txt"}));
    assert_eq!((&long["truncated"], &long["etag"]), (&json!(true), &Value::Null));
    assert!(long["content"].as_str().unwrap().starts_with("needlexxx"));
    let edits = json!([{"old_text": "needle", "new_text": "pin"}]);
    tree.refused("edit_file", &json!({"path": "line.txt", "edits": edits}), ErrorCode::TooLarge);
    tree.refused("read_file", &json!({"path": "sparse.bin"}), ErrorCode::BinaryFile);
    let bytes = tree.result("read_file", &json!({"path": "sparse.bin", "mode": "base64", "offset": HUGE, "limit": 9}));
    assert_eq!((&bytes["content"], &bytes["next_offset"]), (&json!("AA=="), &Value::Null));
    for (path, size, encoding) in [
        ("empty.txt", 0, json!("UTF-8")),
        ("utf16.txt", 22, json!("UTF-16LE")),
        ("latin1.txt", 18, json!("windows-1252")),
        ("line.txt", 50 << 20, json!("UTF-8")),
        ("sparse.bin", HUGE, Value::Null),
    ] {
        let described = tree.result("stat", &json!({"path": path}));
        assert_eq!((&described["size"], &described["encoding"]), (&json!(size), &encoding), "{path}");
    }
    tree.result("edit_file", &json!({"path": "latin1.txt", "edits": edits}));
    assert_eq!(fs::read(tree.path().join("latin1.txt")).unwrap(), b"pin M\xfcller \xe4\xf6\xfc\n");
}

/// Creates a file of 3 GB with lines at its start and end and a hole between them.
fn huge(tree: &Tree) {
    let mut file = File::create(tree.path().join("huge.txt")).unwrap();
    for number in 1..=10_000 {
        writeln!(file, "line {number}").unwrap();
    }
    file.seek(SeekFrom::Start(HUGE)).unwrap();
    file.write_all(b"\nlast but one\nthe needle\n").unwrap();
}

#[test]
fn three_gigabytes_need_little_memory() {
    let tree = Tree::new();
    huge(&tree);
    let page = tree.result("read_file", &json!({"path": "huge.txt", "offset": 9_000, "limit": 2}));
    assert_eq!(page["content"], "line 9000\nline 9001");
    assert_eq!(
        (&page["total_lines"], &page["etag"], &page["next_offset"]),
        (&Value::Null, &Value::Null, &json!(9_002))
    );
    let bytes = tree.result("read_file", &json!({"path": "huge.txt", "mode": "base64", "offset": HUGE, "limit": 5}));
    assert_eq!(bytes["content"], "AApsYXM=");
    assert_eq!(tree.result("stat", &json!({"path": "huge.txt"}))["size"], HUGE + 25);
    let whole = tree.result("grep", &json!({"pattern": "needle", "multiline": true}));
    assert_eq!(skipped(&whole), BTreeMap::from([("too_large", 1)]));
    let edits = json!([{"old_text": "line 5\n", "new_text": ""}]);
    tree.refused("edit_file", &json!({"path": "huge.txt", "edits": edits}), ErrorCode::TooLarge);
    let patch = "*** Begin Patch\n*** Update File: huge.txt\n@@\n-line 5\n+line five\n*** End Patch\n";
    tree.refused("apply_patch", &json!({"patch": patch}), ErrorCode::TooLarge);
}

#[test]
fn three_gigabytes_are_searched_to_the_end() {
    // One call reads them all, which takes longer beside other tests than a call may take by default.
    let tree = Tree::with(Limits { max_time_ms: 300_000, ..Limits::default() });
    huge(&tree);
    // The line numbers of the last lines require a read of every byte.
    let outcome = tree.call_slowly("read_file", &json!({"path": "huge.txt", "tail": 2}));
    assert!(outcome.ok, "{outcome:?}");
    let page = outcome.value();
    assert_eq!((&page["content"], &page["start_line"]), (&json!("last but one\nthe needle"), &json!(10_002)));
    let mut arguments = json!({"pattern": "the n[e]+dle"});
    let (mut result, mut searched) = (Vec::new(), 0);
    for _ in 0..20 {
        let outcome = tree.call_slowly("grep", &arguments);
        assert!(outcome.ok, "{outcome:?}");
        let page = outcome.value();
        result.extend(page["matches"].as_array().unwrap().iter().map(|hit| hit["text"].clone()));
        searched += page["bytes_searched"].as_u64().unwrap();
        // A slow machine needs several calls; each continues where the previous one stopped.
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        arguments["cursor"] = json!(cursor);
    }
    assert_eq!(result, ["the needle"]);
    assert!(searched >= HUGE);
}

#[test]
fn pages_of_200_megabytes_are_read_in_little_memory() {
    let tree = Tree::new();
    let mut file = std::io::BufWriter::new(File::create(tree.path().join("log.txt")).unwrap());
    let lines = 4_000_000;
    for number in 1..=lines {
        writeln!(file, "{number:08} the quick brown fox jumps over the lazy.").unwrap();
    }
    file.into_inner().unwrap().sync_all().unwrap();
    assert_eq!(fs::metadata(tree.path().join("log.txt")).unwrap().len(), 50 * lines);
    for offset in [1, 2_000_000, lines] {
        let page = tree.result("read_file", &json!({"path": "log.txt", "offset": offset, "limit": 1}));
        assert_eq!(page["content"], format!("{offset:08} the quick brown fox jumps over the lazy."));
    }
    let result = tree.result("grep", &json!({"pattern": "^03999999", "after": 1}));
    assert_eq!(result["matches"][0]["line"], 3_999_999);
    assert_eq!(result["matches"][0]["after"][0]["line"], lines);
    assert_eq!(result["bytes_searched"], 50 * lines);
}

#[test]
fn an_edit_changes_what_was_requested_and_nothing_else() {
    let tree = Tree::new();
    let script = tree.path().join("run.sh");
    fs::write(&script, "\u{feff}#!/bin/sh\r\necho one\r\necho two \r\n\techo \r three\r\nexit 0").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o751)).unwrap();
    let edits = json!([{"old_text": "echo one\necho two", "new_text": "echo 1\necho 1.5\necho 2"}]);
    tree.result("edit_file", &json!({"path": "run.sh", "edits": edits}));
    let expected = "\u{feff}#!/bin/sh\r\necho 1\r\necho 1.5\r\necho 2 \r\n\techo \r three\r\nexit 0";
    assert_eq!(fs::read(&script).unwrap(), expected.as_bytes());
    assert_eq!(fs::metadata(&script).unwrap().mode() & 0o7777, 0o751);
}

/// Returns the content, inode and times of each file, by which a change would be detected.
fn state(tree: &Tree) -> BTreeMap<String, (Vec<u8>, u64, i64, i64)> {
    let entries = fs::read_dir(tree.path()).unwrap().map(|entry| entry.unwrap());
    let files = entries.map(|entry| {
        let metadata = entry.metadata().unwrap();
        let bytes = if metadata.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
        let name = entry.file_name().into_string().unwrap();
        (name, (bytes, metadata.ino(), metadata.mtime(), metadata.mtime_nsec()))
    });
    files.collect()
}

#[test]
fn a_patch_of_which_one_file_fails_changes_none() {
    let tree = Tree::new();
    for number in 1..=10 {
        let text = if number == 9 { "one\ntwo\nthr3e\nfour\n" } else { "one\ntwo\nthree\nfour\n" };
        fs::write(tree.path().join(format!("f{number:02}.txt")), text).unwrap();
    }
    let before = state(&tree);
    let codex: String = (1..=10)
        .map(|number| format!("*** Update File: f{number:02}.txt\n@@\n-one\n+1\n@@\n two\n-three\n+3\n"))
        .collect();
    let unified: String = (1..=10)
        .map(|number| {
            format!("--- a/f{number:02}.txt\n+++ b/f{number:02}.txt\n@@ -1 +1 @@\n-one\n+1\n@@ -2,2 +2,2 @@\n two\n-three\n+3\n")
        })
        .collect();
    for patch in [format!("*** Begin Patch\n{codex}*** End Patch\n"), unified] {
        let outcome = tree.call("apply_patch", &json!({"patch": patch}));
        let error = outcome.error.clone().unwrap();
        assert_eq!(error.code, ErrorCode::PatchRejected, "{error:?}");
        assert_eq!(error.path.as_deref(), Some("f09.txt"));
        let reported = format!("{} {}", error.message, error.hint.unwrap_or_default());
        for part in ["`f09.txt`", "hunk 2", "line 2"] {
            assert!(reported.contains(part), "no {part} in: {reported}");
        }
        assert_eq!(outcome.changes.len(), 0);
        assert_eq!(state(&tree), before);
    }
}
