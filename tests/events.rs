//! Events of calls, and the audit log.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use paddock::types::{ApplyPatchArgs, ChangesArgs, ErrorCode, GrepArgs, ReadArgs, ReplaceArgs, WriteArgs, WriteMode};
use paddock::{Access, Builder, CallOptions, Ended, Event, FileWritten, Limits, Policy, Workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

mod audit;
mod cli;

/// A workspace with a listener that records its events.
struct Recorder {
    directory: TempDir,
    workspace: Workspace,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Recorder {
    fn new(options: impl FnOnce(Builder) -> Builder) -> Self {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("a.txt"), "one\ntwo\n").unwrap();
        fs::write(directory.path().join(".agentignore"), ".env\n/conf/\n").unwrap();
        fs::write(directory.path().join(".env"), "password").unwrap();
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let recorded = Arc::clone(&events);
        let builder = Workspace::builder().root(directory.path()).no_state_dir();
        let workspace = options(builder.on_event(move |event| recorded.lock().unwrap().push(event.clone())));
        Self { directory, workspace: workspace.build().unwrap(), events }
    }

    fn plain() -> Self {
        Self::new(|builder| builder)
    }

    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().unwrap())
    }

    /// Returns the written files and the end of the only call, and checks that all its events have the same id.
    fn one(&self) -> (Vec<FileWritten>, Ended) {
        let events = self.take();
        let Some((Event::Start(start), rest)) = events.split_first() else { panic!("{events:?}") };
        let Some((Event::End(end), written)) = rest.split_last() else { panic!("{events:?}") };
        let files: Vec<_> = written
            .iter()
            .map(|event| match event {
                Event::FileWritten(file) => file.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!((&start.call, &start.dialect, &start.tool), (&end.call, &end.dialect, &end.tool));
        assert!(files.iter().all(|file| file.call == end.call));
        assert!(start.time.as_str() <= end.time.as_str() && start.time.ends_with('Z'), "{} {}", start.time, end.time);
        (files, end.clone())
    }

    fn call(&self, tool: &str, arguments: Value) -> Ended {
        self.workspace.call(tool, &arguments.to_string());
        self.one().1
    }
}

#[test]
fn a_call_has_a_start_and_an_end() {
    let recorder = Recorder::plain();
    let arguments = json!({"path": "./a.txt", "limit": 1}).to_string();
    let options = CallOptions::default().with_id("mine");
    assert!(recorder.workspace.call_with("read_file", &arguments, &options).ok);
    let events: Vec<Value> = recorder.take().iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    let [start, end] = events.as_slice() else { panic!("{events:?}") };
    let time = &start["time"];
    assert_eq!(
        *start,
        json!({"event": "start", "call": "mine", "time": time, "dialect": "paddock", "tool": "read_file"})
    );
    let (time, duration) = (&end["time"], &end["duration_ms"]);
    let expected = json!({
        "event": "end", "call": "mine", "time": time, "dialect": "paddock", "tool": "read_file", "operation": "read",
        "paths": ["a.txt"], "redacted": 0, "bytes": 3, "lines": 1, "truncated": true, "duration_ms": duration,
        "outcome": "ok", "changes": [],
    });
    assert_eq!(*end, expected);
    assert!(duration.as_f64().unwrap() > 0.0);
    humantime::parse_rfc3339(time.as_str().unwrap()).unwrap();
    let calls: Vec<String> = (0..3).map(|_| recorder.call("stat", json!({"path": "a.txt"})).call).collect();
    assert!(calls[0] != calls[1] && calls[1] != calls[2], "{calls:?}");
}

#[test]
fn content_is_in_no_event() {
    let recorder = Recorder::plain();
    recorder.workspace.call("write_file", &json!({"path": "n", "content": "sesame"}).to_string());
    recorder.workspace.call("read_file", r#"{"path": "n"}"#);
    recorder.workspace.call("grep", r#"{"pattern": "sesame"}"#);
    recorder.workspace.call("edit_file", r#"{"path": "n", "edits": [{"old_text": "sesame", "new_text": "sesame!"}]}"#);
    recorder.workspace.call("edit_file", r#"{"path": "n", "edits": [{"old_text": "sesame?", "new_text": "x"}]}"#);
    let events = recorder.take();
    assert_eq!(events.len(), 12);
    assert!(!format!("{events:?}").contains("sesame") && !serde_json::to_string(&events).unwrap().contains("sesame"));
}

#[test]
fn failures_report_the_requested_paths() {
    let recorder = Recorder::plain();
    let missing = recorder.call("read_file", json!({"path": "b.txt"}));
    assert_eq!((missing.error, missing.paths.as_slice()), (Some(ErrorCode::NotFound), ["b.txt".to_owned()].as_slice()));
    assert_eq!((missing.operation.as_deref(), missing.is_refused()), (Some("read"), false));
    let outside = recorder.call("read_file", json!({"path": "../etc/passwd"}));
    assert_eq!(outside.error, Some(ErrorCode::OutsideWorkspace));
    assert!(outside.is_refused() && outside.paths == ["../etc/passwd"]);
    let wrong = recorder.call("read_file", json!({"fyle": "a.txt"}));
    assert_eq!((wrong.error, wrong.operation), (Some(ErrorCode::InvalidArgument), None));
    assert!(wrong.paths.is_empty());
    let unknown = recorder.call(&"x".repeat(1_000), json!({}));
    assert_eq!((unknown.error, unknown.tool.len()), (Some(ErrorCode::UnknownTool), 64));
}

#[test]
fn a_read_only_workspace_refuses_with_an_event() {
    let recorder = Recorder::new(Builder::read_only);
    let refused = recorder.call("write_file", json!({"path": "n", "content": "x"}));
    assert!(refused.is_refused() && refused.error == Some(ErrorCode::ReadOnly));
    assert_eq!(refused.paths, ["n"]);
    let redacted_call = recorder.call("write_file", json!({"path": ".env", "content": "x"}));
    assert_eq!(
        (redacted_call.error, redacted_call.paths.len(), redacted_call.redacted),
        (Some(ErrorCode::ReadOnly), 0, 1)
    );
}

#[test]
fn a_path_that_agentignore_hides_is_in_no_event() {
    let recorder = Recorder::plain();
    let patch = "*** Begin Patch\n*** Add File: n\n+n\n*** Add File: .env\n+x\n*** End Patch\n";
    let calls = [
        ("read_file", json!({"path": ".env"}), 1),
        ("read_file", json!({"path": "x/../.env"}), 1),
        ("read_file", json!({"path": "../other/.env"}), 1),
        ("stat", json!({"path": "conf/key"}), 1),
        ("read_files", json!({"paths": ["a.txt", ".env"]}), 1),
        ("copy", json!({"source": ".env", "destination": "n"}), 2),
        ("move", json!({"source": "a.txt", "destination": "conf/.env"}), 2),
        ("apply_patch", json!({"patch": patch}), 2),
        ("write_file", json!({"path": ".ENV", "content": ""}), 1),
        ("grep", json!({"pattern": "x", "path": "conf"}), 1),
    ];
    for (tool, arguments, redacted) in calls {
        let ended = recorder.call(tool, arguments);
        let serialized = serde_json::to_string(&Event::End(ended.clone())).unwrap().to_lowercase();
        assert!(!serialized.contains("env") && !serialized.contains("conf"), "{serialized}");
        assert_eq!(ended.redacted, redacted, "{serialized}");
    }
    let root = recorder.directory.path().join(".env");
    let absolute = recorder.call("read_file", json!({ "path": root }));
    assert_eq!((absolute.redacted, absolute.paths.len()), (1, 0));
}

#[test]
fn each_file_that_is_written() {
    let recorder = Recorder::plain();
    let write = |arguments: Value| {
        recorder.workspace.call_with("write_file", &arguments.to_string(), &CallOptions::dialect("weakincentives"));
        let (files, end) = recorder.one();
        assert_eq!((end.dialect.as_str(), end.operation.as_deref()), ("weakincentives", Some("write")), "{end:?}");
        files.into_iter().map(|file| (file.path, file.bytes, file.mode)).collect::<Vec<_>>()
    };
    let new = write(json!({"file_path": "src/n.txt", "content": "abc\n"}));
    assert_eq!(new, [("src/n.txt".to_owned(), 4, WriteMode::Create)]);
    assert_eq!(write(json!({"file_path": "src/n.txt", "content": "abc\n"})), []);

    let edit = json!({"file_path": "src/n.txt", "old_string": "abc", "new_string": "abcdef"}).to_string();
    let edited = recorder.workspace.call_with("edit_file", &edit, &CallOptions::dialect("weakincentives"));
    assert!(edited.ok, "{edited:?}");
    let (files, _) = recorder.one();
    let serialized = serde_json::to_value(Event::FileWritten(files[0].clone())).unwrap();
    let (call, time) = (&serialized["call"], &serialized["time"]);
    let expected = json!({
        "event": "file-written", "call": call, "time": time, "path": "src/n.txt", "bytes": 7, "mode": "overwrite",
    });
    assert_eq!((serialized.clone(), files.len()), (expected, 1));

    recorder.workspace.write(&WriteArgs { append: true, ..WriteArgs::new("src/n.txt", "more") }).unwrap();
    let (files, end) = recorder.one();
    assert_eq!((files[0].bytes, files[0].mode, end.bytes), (4, WriteMode::Append, 4));

    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Add File: b.txt\n+b\n*** Delete File: src/n.txt\n*** End Patch\n";
    recorder.workspace.apply_patch(&ApplyPatchArgs::new(patch)).unwrap();
    let (files, end) = recorder.one();
    let written: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.bytes, file.mode)).collect();
    assert_eq!(written, [("a.txt", 6, WriteMode::Overwrite), ("b.txt", 2, WriteMode::Create)]);
    assert_eq!(
        (end.paths.as_slice(), end.changes.len()),
        (["a.txt", "b.txt", "src/n.txt"].map(str::to_owned).as_slice(), 3)
    );
}

#[test]
fn a_replacement_reports_the_files_that_it_wrote() {
    let recorder = Recorder::plain();
    let planned = recorder.workspace.replace(&ReplaceArgs::new("one", "eins")).unwrap();
    let (files, end) = recorder.one();
    assert_eq!(
        (files.len(), end.operation.as_deref(), end.paths.as_slice()),
        (0, Some("replace"), &[".".to_owned()][..])
    );
    recorder.workspace.replace(&ReplaceArgs { plan: planned.plan, ..ReplaceArgs::new("one", "eins") }).unwrap();
    let (files, end) = recorder.one();
    assert_eq!((files.len(), files[0].path.as_str(), files[0].mode), (1, "a.txt", WriteMode::Overwrite));
    assert_eq!((end.paths.as_slice(), end.bytes), (&["a.txt".to_owned()][..], files[0].bytes));
    // This workspace has no state directory, so `changes` fails.
    assert_eq!(recorder.workspace.changes(&ChangesArgs::new()).unwrap_err().code, ErrorCode::Io);
    let (_, end) = recorder.one();
    assert_eq!((end.operation.as_deref(), end.changes.len()), (Some("changes"), 0));
}

#[test]
fn typed_functions_are_calls_too() {
    let recorder = Recorder::plain();
    recorder.workspace.read(&ReadArgs::new("a.txt")).unwrap();
    let (_, read) = recorder.one();
    assert_eq!((read.tool.as_str(), read.dialect.as_str(), read.paths[0].as_str()), ("read_file", "paddock", "a.txt"));
    recorder.workspace.grep(&GrepArgs::new("t")).unwrap();
    let (_, event) = recorder.one();
    assert_eq!((event.tool.as_str(), event.lines), ("grep", Some(1)));
    recorder.workspace.read(&ReadArgs::new(".env")).unwrap_err();
    let (_, refused) = recorder.one();
    assert_eq!((refused.error, refused.redacted, refused.paths.len()), (Some(ErrorCode::Denied), 1, 0));
    recorder.workspace.snapshot().unwrap_err();
    assert!(recorder.take().is_empty(), "what is no tool is no call");
}

#[test]
fn a_search_by_several_guests_is_one_call() {
    let recorder = Recorder::new(|builder| builder.threads(4));
    for name in 0..300 {
        fs::write(recorder.directory.path().join(format!("{name}.txt")), "three\n").unwrap();
    }
    let event = recorder.call("grep", json!({"pattern": "three", "limit": 500}));
    assert_eq!((event.lines, event.paths.as_slice(), event.error), (Some(300), [".".to_owned()].as_slice(), None));
    recorder.workspace.grep(&GrepArgs { limit: 500, ..GrepArgs::new("three") }).unwrap();
    assert_eq!(recorder.one().1.lines, Some(300));
}

/// Arguments of a search that takes minutes.
fn slow(directory: &Path) -> &'static str {
    let mut seed = 1u64;
    let mut letter = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if seed >> 63 == 0 { b'a' } else { b'b' }
    };
    let line: Vec<u8> = (0..9 << 20).map(|_| letter()).collect();
    fs::write(directory.join("long.txt"), line).unwrap();
    r#"{"pattern": "(?:a[ab]{90}|b[ab]{120}|[ab]a[ab]{150})[c-zC-Z]", "path": "."}"#
}

#[test]
fn a_call_that_the_host_ends_has_an_end() {
    let recorder = Recorder::plain();
    let search = slow(recorder.directory.path());
    let options = CallOptions::default().with_time(Duration::from_millis(300));
    recorder.workspace.call_with("grep", search, &options);
    let (_, late) = recorder.one();
    assert_eq!((late.error, late.operation.as_deref()), (Some(ErrorCode::LimitExceeded), Some("grep")));
    assert!(late.paths == ["."] && late.duration_ms >= 300.0, "{late:?}");

    let options = CallOptions::default();
    let cancel = options.cancel.clone();
    let workspace = recorder.workspace.clone();
    let call = thread::spawn(move || workspace.call_with("grep", search, &options));
    thread::sleep(Duration::from_millis(200));
    cancel.cancel();
    call.join().unwrap();
    assert_eq!(recorder.one().1.error, Some(ErrorCode::Cancelled));
}

#[test]
fn a_call_that_traps_has_an_end() {
    let limits = Limits { max_memory_bytes: 8 << 20, ..Limits::default() };
    let recorder = Recorder::new(|builder| builder.limits(limits));
    fs::write(recorder.directory.path().join("large"), vec![b'a'; 9 << 20]).unwrap();
    let edit = |path: &str| json!({"path": path, "edits": [{"old_text": "b", "new_text": "c"}]});
    let ended = recorder.call("edit_file", edit("large"));
    assert_eq!(
        (ended.error, ended.paths.as_slice()),
        (Some(ErrorCode::LimitExceeded), ["large".to_owned()].as_slice())
    );
    assert_eq!(ended.operation.as_deref(), Some("edit"));
    let redacted_call = recorder.call("edit_file", edit(".env"));
    assert_eq!((redacted_call.error, redacted_call.redacted), (Some(ErrorCode::Denied), 1));
}

#[test]
fn a_call_that_is_not_made_has_an_end() {
    let recorder = Recorder::plain();
    fs::remove_dir_all(recorder.directory.path()).unwrap();
    let ended = recorder.call("stat", json!({"path": "a.txt"}));
    assert_eq!((ended.error, ended.paths.len()), (Some(ErrorCode::BackendGone), 0));
}

#[test]
fn a_listener_that_panics_breaks_nothing() {
    let heard: Arc<Mutex<u32>> = Arc::default();
    let counted = Arc::clone(&heard);
    let builder = Workspace::builder().on_event(|_| panic!("a listener's own fault"));
    let workspace = builder.on_event(move |_| *counted.lock().unwrap() += 1).build_memory().unwrap();
    assert!(workspace.call("write_file", r#"{"path": "a", "content": "a"}"#).ok);
    assert_eq!(workspace.read(&ReadArgs::new("a")).unwrap().content, "a");
    assert_eq!(*heard.lock().unwrap(), 5);
}

#[test]
fn a_listener_may_make_calls() {
    static WORKSPACE: OnceLock<Workspace> = OnceLock::new();
    let listener = |event: &Event| {
        if let (Event::FileWritten(file), Some(workspace)) = (event, WORKSPACE.get())
            && file.path == "a"
        {
            workspace.write(&WriteArgs::new("log", file.path.as_str())).unwrap();
        }
    };
    let workspace = Workspace::builder().on_event(listener).build_memory().unwrap();
    WORKSPACE.set(workspace.clone()).ok().unwrap();
    workspace.write(&WriteArgs::new("a", "x")).unwrap();
    assert_eq!(workspace.read(&ReadArgs::new("log")).unwrap().content, "a");
}

#[test]
fn a_workspace_in_memory_tells_too() {
    let last: Arc<Mutex<Option<Ended>>> = Arc::default();
    let recorded = Arc::clone(&last);
    let limits = Limits { max_memory_bytes: 16 << 20, ..Limits::default() };
    let builder = Workspace::builder().policy(Policy { limits, ..Policy::default() });
    let workspace = builder.on_event(move |event| {
        if let Event::End(ended) = event {
            *recorded.lock().unwrap() = Some(ended.clone());
        }
    });
    let workspace = workspace.build_memory().unwrap();
    let last = || last.lock().unwrap().take().unwrap();
    workspace.write(&WriteArgs::new("a.txt", "x")).unwrap();
    assert_eq!(
        (last().paths.as_slice(), workspace.read(&ReadArgs::new("a.txt")).is_ok()),
        (["a.txt".to_owned()].as_slice(), true)
    );
    let failed = (0..8).find_map(|name| workspace.write(&WriteArgs::new(format!("{name}"), "a".repeat(4 << 20))).err());
    assert_eq!(failed.unwrap().code, ErrorCode::LimitExceeded);
    assert_eq!(last().error, Some(ErrorCode::LimitExceeded));
    workspace.call("stat", r#"{"path": "a.txt"}"#);
    let gone = last();
    assert_eq!((gone.error, gone.paths.len()), (Some(ErrorCode::BackendGone), 0));
}

#[tokio::test]
async fn a_call_without_blocking_is_reported() {
    let recorder = Recorder::plain();
    recorder.workspace.call_async("stat", r#"{"path": "a.txt"}"#, CallOptions::default()).await;
    assert_eq!(recorder.one().1.paths, ["a.txt"]);
}
