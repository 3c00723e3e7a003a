//! The audit file: a chain of records, and each way to damage it.

use super::*;
use paddock::Error;
use paddock::audit::{last, verify};

/// A workspace with an audit file next to it.
struct Audited {
    directory: TempDir,
    state: TempDir,
    workspace: Workspace,
    file: PathBuf,
}

impl Audited {
    fn new() -> Self {
        let (directory, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(directory.path().join("a.txt"), "one\n").unwrap();
        fs::write(directory.path().join(".agentignore"), ".env\n").unwrap();
        let file = state.path().join("new/audit.jsonl");
        let workspace =
            Workspace::builder().root(directory.path()).state_dir(state.path()).audit(&file).build().unwrap();
        Self { directory, state, workspace, file }
    }

    /// Creates a workspace whose audit file has the records of three reads.
    fn read() -> Self {
        let audited = Self::new();
        (0..3).for_each(|_| assert!(audited.workspace.call("read_file", r#"{"path": "a.txt"}"#).ok));
        audited
    }

    fn write(&self, path: &str) -> paddock::Outcome {
        self.workspace.call("write_file", &json!({"path": path, "content": "x"}).to_string())
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(&self.file).unwrap().lines().map(str::to_owned).collect()
    }

    /// Replaces the file by these lines.
    fn put(&self, lines: &[String]) {
        fs::write(&self.file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    fn records(&self) -> Vec<Value> {
        self.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn head(&self) -> PathBuf {
        self.file.with_file_name("audit.jsonl.head")
    }

    /// Returns the line at which the chain breaks.
    fn broken_at(&self) -> Option<u64> {
        verify(&self.file, None).unwrap().problem.map(|problem| problem.line)
    }
}

#[test]
fn a_record_has_the_members_of_the_event() {
    let audited = Audited::new();
    let written = audited.write("n");
    assert!(written.ok, "{}", written.text);
    assert!(!audited.workspace.call("read_file", r#"{"path": ".env"}"#).ok);
    let records = audited.records();
    let members = |name: &str| records.iter().map(|record| record[name].clone()).collect::<Vec<_>>();
    assert_eq!(members("event"), ["start", "end", "end"]);
    assert_eq!(members("sequence"), [1, 2, 3]);
    assert_eq!(members("outcome"), [Value::Null, json!("ok"), json!("denied")]);
    assert_eq!(members("paths"), [Value::Null, json!(["n"]), json!([])]);
    assert_eq!(members("prev")[1..], members("hash")[..2]);
    assert_eq!(records[0]["prev"], "0".repeat(64));
    assert_eq!(records[0]["call"], records[1]["call"]);
    let root = audited.directory.path().canonicalize().unwrap();
    assert!(records.iter().all(|record| record["workspace"] == root.to_str().unwrap()));
    assert!(!fs::read_to_string(&audited.file).unwrap().contains(".env"));
    let report = verify(&audited.file, None).unwrap();
    assert_eq!((report.records, report.problem, report.notes), (3, None, vec![]));
    assert_eq!(report.head, records[2]["hash"].as_str().unwrap());
    let first = records[0]["hash"].as_str().unwrap();
    assert_eq!(verify(&audited.file, Some(first)).unwrap().problem, None);
    assert!(verify(&audited.file, Some(&"1".repeat(64))).unwrap().problem.is_some());
    assert_eq!(last(&audited.file, 2).unwrap(), audited.lines()[1..]);
}

#[test]
#[cfg(unix)]
fn the_files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let audited = Audited::read();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode(&audited.file), mode(&audited.head())], [0o600, 0o600]);
    assert_eq!(mode(audited.file.parent().unwrap()), 0o700);
}

#[test]
fn an_altered_byte_is_found() {
    let audited = Audited::read();
    let good = fs::read(&audited.file).unwrap();
    let ends: Vec<usize> = good.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    for at in (0..good.len()).step_by(7).chain(ends) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&audited.file, &bad).unwrap();
        let line = 1 + good[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!(audited.broken_at(), Some(line), "byte {at}");
    }
    fs::write(&audited.file, &good).unwrap();
    assert_eq!(audited.broken_at(), None);
}

#[test]
fn a_removed_line_is_found() {
    let audited = Audited::read();
    let lines = audited.lines();
    for (removed, broken_line) in [(0, 1), (1, 2), (2, 3)] {
        let mut left = lines.clone();
        left.remove(removed);
        audited.put(&left);
        assert_eq!(audited.broken_at(), Some(broken_line), "{removed}");
    }
    audited.put(&[]);
    assert_eq!(audited.broken_at(), Some(1));
    fs::remove_file(audited.head()).unwrap();
    audited.put(&lines);
    assert_eq!(audited.broken_at(), Some(4), "without a head nobody knows");
}

#[test]
fn lines_that_were_moved_or_put_in_are_found() {
    let audited = Audited::read();
    let lines = audited.lines();
    let mut swapped = lines.clone();
    swapped.swap(1, 2);
    audited.put(&swapped);
    assert_eq!(audited.broken_at(), Some(2));
    for (copied, at, broken_line) in [(0, 1, 2), (1, 1, 3), (2, 3, 4), (0, 3, 4)] {
        let mut more = lines.clone();
        more.insert(at, lines[copied].clone());
        audited.put(&more);
        assert_eq!(audited.broken_at(), Some(broken_line), "{copied} at {at}");
    }
    for (at, line) in [(1, ""), (0, "no record"), (2, "{}")] {
        let mut more = lines.clone();
        more.insert(at, line.to_owned());
        audited.put(&more);
        assert_eq!(audited.broken_at(), Some(at as u64 + 1), "{line:?}");
    }
}

#[test]
fn a_recreated_chain_is_detected_by_a_stored_hash() {
    let (one, two) = (Audited::read(), Audited::read());
    let head = verify(&one.file, None).unwrap().head;
    fs::copy(&two.file, &one.file).unwrap();
    assert_eq!(one.broken_at(), Some(4), "the head is another chain's");
    fs::copy(two.head(), one.head()).unwrap();
    assert_eq!(one.broken_at(), None);
    assert!(verify(&one.file, Some(&head)).unwrap().problem.is_some());
}

#[test]
fn a_torn_line_is_found_and_reported() {
    let audited = Audited::read();
    let good = fs::read(&audited.file).unwrap();
    let record = audited.lines()[0].clone();
    for torn in ["{", &record[..40], &record[..record.len() - 1], "\0\0\0", "{\"seq\n{\"se"] {
        let (before, lines) = (audited.records_of(&good), audited.lines().len() as u64);
        fs::write(&audited.file, [good.as_slice(), torn.as_bytes()].concat()).unwrap();
        assert_eq!(audited.broken_at(), Some(lines + 1), "{torn:?}");
        assert!(audited.workspace.call("stat", r#"{"path": "a.txt"}"#).ok);
        let report = verify(&audited.file, None).unwrap();
        assert_eq!((report.problem, report.records, report.notes.len()), (None, before + 2, 1), "{torn:?}");
        assert!(report.notes[0].starts_with(&format!("line {}:", lines + 1)), "{:?}", report.notes);
        let text = fs::read_to_string(&audited.file).unwrap();
        assert!(text.contains(torn), "what was there stays");
        // The bytes that the record describes cannot be changed either.
        fs::write(&audited.file, text.replacen(torn, &"x".repeat(torn.len()), 1)).unwrap();
        assert!(audited.broken_at().is_some());
        fs::write(&audited.file, &good).unwrap();
        audited.forget_head(&good);
    }
}

impl Audited {
    fn records_of(&self, bytes: &[u8]) -> u64 {
        bytes.iter().filter(|byte| **byte == b'\n').count() as u64
    }

    /// Sets the stored head back to the end of `good`.
    fn forget_head(&self, good: &[u8]) {
        let last: Value = serde_json::from_slice(good.split(|byte| *byte == b'\n').rev().nth(1).unwrap()).unwrap();
        let head = json!({"sequence": last["sequence"], "size": good.len(), "hash": last["hash"]});
        fs::write(self.head(), format!("{head:<159}\n")).unwrap();
        assert_eq!(self.broken_at(), None);
    }
}

#[test]
fn a_head_that_is_behind_catches_up() {
    let audited = Audited::new();
    assert!(audited.workspace.call("stat", r#"{"path": "a.txt"}"#).ok);
    let early = fs::read(audited.head()).unwrap();
    (0..2).for_each(|_| assert!(audited.workspace.call("stat", r#"{"path": "a.txt"}"#).ok));
    for head in [Some(early), None] {
        match head {
            Some(early) => fs::write(audited.head(), early).unwrap(),
            None => fs::remove_file(audited.head()).unwrap(),
        }
        assert!(audited.workspace.call("stat", r#"{"path": "a.txt"}"#).ok);
        let report = verify(&audited.file, None).unwrap();
        assert_eq!((report.problem, report.notes), (None, vec![]));
    }
    assert_eq!(audited.lines().len(), 5);
}

#[test]
fn a_damaged_file_that_no_crash_explains_is_not_continued() {
    let audited = Audited::read();
    let good = audited.lines();
    let longer: Vec<_> = good.iter().chain([&good[0]]).cloned().collect();
    let altered: Vec<_> = good.iter().chain([&"{}".to_owned()]).cloned().collect();
    for lines in [&good[..2], &longer, &altered, &[]] {
        audited.put(lines);
        let refused = audited.write("n");
        assert_eq!(refused.error.as_ref().map(|error| error.code), Some(ErrorCode::Io), "{refused:?}");
        assert!(refused.text.contains("paddock audit verify"), "{}", refused.text);
        assert!(!audited.directory.path().join("n").exists(), "it was refused before it ran");
        assert_eq!(audited.lines(), lines, "nothing was added");
    }
    audited.put(&good);
    let written = audited.write("n");
    assert!(written.ok, "{}", written.text);
}

#[test]
fn without_a_record_there_is_no_call() {
    let audited = Audited::read();
    fs::write(audited.head(), "no head").unwrap();
    assert!(audited.write("n").text.contains("the call was not made"));
    assert!(audited.workspace.write(&WriteArgs::new("n", "x")).is_err());
    assert!(!audited.directory.path().join("n").exists());
    let read = audited.workspace.call("read_file", r#"{"path": "a.txt"}"#);
    assert!(!read.ok && read.text.contains("withheld") && !read.result.get().contains("one"), "{read:?}");
    assert!(audited.workspace.read(&ReadArgs::new("a.txt")).is_err());
}

#[test]
fn a_change_whose_end_has_no_record_is_reported_as_made() {
    let audited = Audited::new();
    assert!(audited.write("first").ok);
    let lock = fs::File::open(audited.state.path().join("lock")).unwrap();
    lock.lock().unwrap();
    let workspace = audited.workspace.clone();
    let call = thread::spawn(move || workspace.call("write_file", r#"{"path": "n", "content": "x"}"#));
    let recorded = || serde_json::from_str::<Value>(&fs::read_to_string(audited.head()).unwrap()).unwrap();
    while recorded()["sequence"] != 3 {
        thread::sleep(Duration::from_millis(5));
    }
    fs::write(audited.head(), "no head").unwrap();
    lock.unlock().unwrap();
    let outcome = call.join().unwrap();
    assert!(!outcome.ok && outcome.text.contains("the change was made"), "{}", outcome.text);
    assert_eq!((outcome.changes.len(), audited.directory.path().join("n").exists()), (1, true));
    assert_eq!(audited.records()[2]["event"], "start", "that it began is on record");
}

#[test]
#[cfg(unix)]
fn a_symbolic_link_is_never_followed() {
    let audited = Audited::read();
    let elsewhere = audited.state.path().join("elsewhere");
    fs::write(&elsewhere, "").unwrap();
    for file in [&audited.file, &audited.head()] {
        let content = fs::read(file).unwrap();
        fs::remove_file(file).unwrap();
        std::os::unix::fs::symlink(&elsewhere, file).unwrap();
        assert!(audited.write("n").text.contains("symbolic link"));
        assert!(verify(&audited.file, None).is_err());
        fs::remove_file(file).unwrap();
        fs::write(file, content).unwrap();
    }
    assert_eq!(fs::read(&elsewhere).unwrap(), b"");
    let written = audited.write("n");
    assert!(written.ok, "{}", written.text);
    let link = audited.state.path().join("link");
    std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    let built = Workspace::builder().root(audited.directory.path()).audit(&link).build();
    assert!(matches!(built, Err(Error::Audit { .. })));
}

#[test]
fn the_audit_file_must_be_outside_every_root() {
    let (directory, state, notes) = (TempDir::new().unwrap(), TempDir::new().unwrap(), TempDir::new().unwrap());
    let builder = || {
        Workspace::builder()
            .root(directory.path())
            .mount(notes.path(), "/notes", Access::ReadOnly)
            .state_dir(state.path())
    };
    for inside in [directory.path().join("audit"), directory.path().join("x/y"), notes.path().join("audit")] {
        assert!(matches!(builder().audit(&inside).build(), Err(Error::Audit { .. })), "{inside:?}");
        assert!(!inside.exists());
    }
    let workspace = builder().audit_in_state().build().unwrap();
    assert!(workspace.call("stat", r#"{"path": "."}"#).ok);
    assert_eq!(verify(state.path().join("audit.jsonl"), None).unwrap().records, 1);
    assert!(matches!(builder().no_state_dir().audit_in_state().build(), Err(Error::Audit { .. })));
    let looking = builder().read_only().audit_in_state().build().unwrap();
    assert!(looking.call("stat", r#"{"path": "."}"#).ok);
    assert_eq!(verify(state.path().join("audit.jsonl"), None).unwrap().records, 2);
}

#[test]
fn threads_and_workspaces_keep_one_chain() {
    let state = TempDir::new().unwrap();
    let file = state.path().join("audit.jsonl");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let directory = TempDir::new().unwrap();
                let workspace =
                    Workspace::builder().root(directory.path()).no_state_dir().audit(&file).build().unwrap();
                for name in 0..10 {
                    workspace.write(&WriteArgs::new(format!("{name}"), "x")).unwrap();
                }
            });
        }
    });
    let report = verify(&file, None).unwrap();
    assert_eq!((report.records, report.problem, report.notes), (80, None, vec![]));
}
