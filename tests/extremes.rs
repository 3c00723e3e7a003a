//! Trees and arguments of extreme size, depth and form: each call ends in time with a result or a clear error, and the
//! next call works.
//!
//! `PADDOCK_EXTREMES=1000000 cargo test --release --test integration extremes:: -- --nocapture` has a million names in
//! a directory and a gigabyte of content.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use paddock::types::ErrorCode;
use paddock::{CallOptions, Outcome, Workspace};
use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Time limit of a call, and how much later the call may return.
const TIME: Duration = Duration::from_secs(5);
const LATE: Duration = Duration::from_secs(1);

/// Error codes that are acceptable here.
const CLEAR: [ErrorCode; 10] = [
    ErrorCode::PatchInvalid,
    ErrorCode::LimitExceeded,
    ErrorCode::InvalidArgument,
    ErrorCode::InvalidPath,
    ErrorCode::TooLarge,
    ErrorCode::NotFound,
    ErrorCode::NoMatch,
    ErrorCode::BinaryFile,
    ErrorCode::Denied,
    ErrorCode::NoSpace,
];

struct Fixture {
    home: TempDir,
    workspace: Workspace,
}

impl Fixture {
    fn new() -> Self {
        let home = TempDir::new().unwrap();
        let root = home.path().join("work");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("last.txt"), "here\n").unwrap();
        let builder = Workspace::builder().root(&root).state_dir(home.path().join("state"));
        let workspace = builder.build().unwrap();
        assert!(workspace.call("stat", r#"{"path": "."}"#).ok);
        Self { home, workspace }
    }

    fn root(&self) -> std::path::PathBuf {
        self.home.path().join("work")
    }

    /// Makes a call, which must return a result or a clear error in time, and checks that the next call works.
    fn call(&self, tool: &str, arguments: &str) -> Outcome {
        let options = CallOptions::default().with_time(TIME);
        let started = Instant::now();
        let outcome = self.workspace.call_with(tool, arguments, &options);
        let took = started.elapsed();
        let start_of_arguments: String = arguments.chars().take(60).collect();
        let code = outcome.error.as_ref().map(|error| error.code);
        println!("{took:>10.1?} {tool} {start_of_arguments} {code:?} {} bytes", outcome.text.len());
        assert!(took < TIME + LATE, "{tool} {start_of_arguments} took {took:?}");
        assert!(code.is_none_or(|code| CLEAR.contains(&code)), "{tool} {start_of_arguments}: {:?}", outcome.error);
        assert!(outcome.text.len() < 16 << 20, "{tool} {start_of_arguments}: {} bytes", outcome.text.len());
        let next = self.workspace.call("read_file", r#"{"path": "last.txt"}"#);
        assert_eq!(next.value()["content"], "here", "after {tool} {start_of_arguments}");
        outcome
    }

    fn read_everything(&self) {
        for (tool, arguments) in [
            ("list_dir", json!({})),
            ("list_dir", json!({"depth": 10_000, "sort": "size"})),
            ("tree", json!({"depth": 10_000})),
            ("glob", json!({"pattern": "**"})),
            ("glob", json!({"pattern": "**", "sort": "modified"})),
            ("grep", json!({"pattern": "here", "output": "count"})),
            ("grep", json!({"pattern": "nowhere"})),
            ("replace", json!({"pattern": "here", "replacement": "there"})),
        ] {
            self.call(tool, &arguments.to_string());
        }
    }
}

fn names() -> usize {
    std::env::var("PADDOCK_EXTREMES").map_or(30_000, |count| count.parse().unwrap())
}

#[test]
fn a_directory_of_very_many_names() {
    let fixture = Fixture::new();
    let wide = fixture.root().join("wide");
    fs::create_dir(&wide).unwrap();
    for number in 0..names() {
        File::create(wide.join(format!("{number}"))).unwrap();
    }
    fixture.read_everything();
    fixture.call("copy", r#"{"source": "wide", "destination": "copy", "recursive": true}"#);
    let gone = fixture.call("delete", r#"{"path": "wide", "recursive": true}"#);
    assert_ne!(wide.exists(), gone.ok, "all or nothing: {:?}", gone.error);
}

#[test]
fn directories_4000_deep() {
    let fixture = Fixture::new();
    let mut dir = open(fixture.root(), OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
    for _ in 0..4_000 {
        mkdirat(&dir, "d", Mode::RWXU).unwrap();
        dir = openat(&dir, "d", OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
    }
    fixture.read_everything();
    for depth in [900, 2_000, 4_000, 100_000] {
        let path = format!("{}x.txt", "d/".repeat(depth));
        fixture.call("write_file", &json!({"path": path, "content": "x"}).to_string());
        fixture.call("read_file", &json!({ "path": path }).to_string());
    }
    fixture.call("make_dir", &json!({"path": format!("new/{}", "d/".repeat(300))}).to_string());
    fixture.call("move", r#"{"source": "d", "destination": "e"}"#);
    fixture.call("delete", r#"{"path": "e", "recursive": true}"#);
    fixture.call("delete", r#"{"path": "d", "recursive": true}"#);
}

#[test]
fn a_tree_deeper_than_there_are_open_files() {
    const PADDOCK: &str = env!("CARGO_BIN_EXE_paddock");
    let fixture = Fixture::new();
    let deep = fixture.root().join("d/".repeat(300));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("x.txt"), "x").unwrap();
    let call = |tool: &str, arguments: &str| {
        let limited = r#"ulimit -n 100; exec "$@""#;
        let mut command = Command::new("sh");
        command.args(["-c", limited, "sh", PADDOCK, "call", "--root"]).arg(fixture.root());
        command.arg("--state-dir").arg(fixture.home.path().join("state")).args([tool, arguments]);
        let output = command.output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let failed = call("delete", r#"{"path": "d", "recursive": true}"#);
    assert_eq!(failed["error"]["code"], "limit-exceeded", "{failed}");
    assert!(failed["error"]["message"].as_str().unwrap().contains("open files"), "{failed}");
    assert!(deep.join("x.txt").exists());
    assert_eq!(call("grep", r#"{"pattern": "x", "output": "files"}"#)["ok"], true);
}

#[test]
fn the_longest_names() {
    let fixture = Fixture::new();
    let long = "n".repeat(255);
    let max = "é".repeat(127);
    for name in [&long, &max, &"n".repeat(256), &"é".repeat(128), &"n".repeat(5_000), &"n".repeat(1 << 20)] {
        let written = fixture.call("write_file", &json!({"path": name, "content": "x"}).to_string());
        assert_eq!(written.ok, name.len() <= 255, "{} bytes: {:?}", name.len(), written.error);
        for tool in ["edit_file", "stat", "move", "delete", "read_file"] {
            let edits = json!([{"old_text": "x", "new_text": "y"}]);
            let arguments = match tool {
                "edit_file" => json!({"path": name, "edits": edits}),
                "move" => json!({"source": name, "destination": format!("in/{name}")}),
                _ => json!({ "path": name }),
            };
            fixture.call(tool, &arguments.to_string());
        }
    }
    fixture.read_everything();
}

#[test]
fn files_that_grow_and_shrink_while_they_are_read() {
    let fixture = Fixture::new();
    let (path, is_finished) = (fixture.root().join("grows.txt"), AtomicBool::new(false));
    fs::write(&path, "line\n").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_finished.load(Ordering::Relaxed) {
                let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
                for _ in 0..2_000 {
                    file.write_all(&[b'x'; 512]).unwrap();
                }
                file.set_len(7).unwrap();
            }
        });
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            for tool in ["read_file", "stat"] {
                let outcome = fixture.workspace.call(tool, r#"{"path": "grows.txt"}"#);
                let code = outcome.error.as_ref().map(|error| error.code);
                assert!(
                    code.is_none_or(|code| CLEAR.contains(&code) || code == ErrorCode::ChangedSinceRead),
                    "{tool}: {:?}",
                    outcome.error
                );
            }
            assert!(fixture.workspace.call("grep", r#"{"pattern": "y"}"#).ok);
            let edit = r#"{"path": "grows.txt", "edits": [{"old_text": "line", "new_text": "line"}]}"#;
            fixture.workspace.call("edit_file", edit);
        }
        is_finished.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_sparse_file_of_100_gigabytes() {
    let fixture = Fixture::new();
    File::create(fixture.root().join("sparse")).unwrap().set_len(100 << 30).unwrap();
    for (tool, arguments) in [
        ("read_file", json!({"path": "sparse"})),
        ("read_file", json!({"path": "sparse", "mode": "base64", "limit": 100})),
        ("read_file", json!({"path": "sparse", "tail": 5})),
        ("stat", json!({"path": "sparse"})),
        ("stat", json!({"path": "sparse", "checksum": true})),
        ("grep", json!({"pattern": "x"})),
        ("edit_file", json!({"path": "sparse", "edits": [{"old_text": "x", "new_text": "y"}]})),
        ("write_file", json!({"path": "sparse", "content": "x", "append": true})),
        ("copy", json!({"source": "sparse", "destination": "other"})),
        ("move", json!({"source": "sparse", "destination": "moved"})),
        ("delete", json!({"path": "moved"})),
    ] {
        fixture.call(tool, &arguments.to_string());
    }
    assert!(!fixture.root().join("other").exists());
}

#[test]
fn a_directory_of_the_kernel_s_own_files_is_no_root() {
    for root in ["/proc/self", "/proc", "/sys/kernel"] {
        let opened = Workspace::builder().root(root).no_state_dir().build();
        assert!(
            format!("{:#}", anyhow::Error::from(opened.err().unwrap())).contains("the kernel's own state"),
            "{root}"
        );
    }
}

/// The copy is refused at once, because it would exhaust the time and the disk.
#[test]
fn a_copy_of_a_sparse_file_of_8_tebibytes() {
    let fixture = Fixture::new();
    // Some file systems have a smaller maximum size, so the largest possible size up to 8 TiB is used.
    let sizes = (0..10).map(|shift| (8 << 40) >> shift);
    let file = File::create(fixture.root().join("sparse")).unwrap();
    let size = sizes.into_iter().find(|size| file.set_len(*size).is_ok()).unwrap();
    println!("{size} bytes");
    fs::create_dir(fixture.root().join("tree")).unwrap();
    fs::hard_link(fixture.root().join("sparse"), fixture.root().join("tree/sparse")).unwrap();
    for source in ["sparse", "tree"] {
        let started = Instant::now();
        let arguments = json!({"source": source, "destination": "other", "recursive": true});
        let outcome = fixture.workspace.call("copy", &arguments.to_string());
        let error = outcome.error.unwrap();
        assert_eq!(error.code, ErrorCode::LimitExceeded, "{error:?}");
        assert!(error.message.contains("limits.max_copy_bytes"), "{error:?}");
        assert!(started.elapsed() < LATE, "{source}: {:?}", started.elapsed());
    }
    assert!(!fixture.root().join("other").exists());
}

#[test]
fn arguments_as_large_as_they_come() {
    let fixture = Fixture::new();
    fs::write(fixture.root().join("x.txt"), "x".repeat(1 << 20)).unwrap();
    let edits: Vec<_> = (0..100_000).map(|number| json!({"old_text": format!("{number}"), "new_text": "y"})).collect();
    let large = if names() >= 1_000_000 { 1 << 30 } else { 64 << 20 };
    let nested = |count: usize| format!("{{\"path\": {}{}}}", "[".repeat(count), "]".repeat(count));
    let alternation: String = (0..100_000).map(|number| format!("w{number}|")).collect();
    let calls: Vec<(&str, String)> = vec![
        ("grep", json!({"pattern": "x".repeat(1 << 20)}).to_string()),
        ("grep", json!({"pattern": alternation}).to_string()),
        ("grep", json!({"pattern": "(".repeat(100_000)}).to_string()),
        ("grep", json!({"pattern": "(?:x+x+)+y"}).to_string()),
        ("grep", json!({"pattern": "(x|x)*z"}).to_string()),
        ("grep", json!({"pattern": "((x{1,100}){1,100}){1,100}"}).to_string()),
        ("grep", json!({"pattern": "x{1000}{1000}"}).to_string()),
        ("grep", json!({"pattern": "\\pL{1,900}\\w{900}"}).to_string()),
        ("replace", json!({"pattern": "(x*)*", "replacement": "$1$1$1$1"}).to_string()),
        ("glob", json!({"pattern": "**/".repeat(30)}).to_string()),
        ("glob", json!({"pattern": "{a,b}".repeat(20)}).to_string()),
        ("glob", json!({"pattern": "{".repeat(10_000)}).to_string()),
        ("glob", json!({"pattern": "*x".repeat(10_000)}).to_string()),
        ("glob", json!({"pattern": "*(*(*(a|b)))"}).to_string()),
        ("edit_file", json!({"path": "x.txt", "edits": edits}).to_string()),
        (
            "edit_file",
            json!({"path": "x.txt", "edits": [{"old_text": "x", "new_text": "yy", "replace_all": true}]}).to_string(),
        ),
        ("apply_patch", json!({"patch": "@".repeat(8 << 20)}).to_string()),
        (
            "apply_patch",
            json!({"patch": format!("*** Begin Patch\n{}", "*** Add File: a\n+a\n".repeat(100_000))}).to_string(),
        ),
        ("read_files", json!({"paths": vec!["x.txt"; 100_000]}).to_string()),
        ("read_file", nested(100)),
        ("read_file", nested(100_000)),
        ("read_file", nested(10_000_000)),
        ("read_file", format!("{{\"path\": \"{}", "a".repeat(8 << 20))),
        ("read_file", json!({"path": "x.txt", "offset": u64::MAX, "limit": u64::MAX}).to_string()),
        ("read_file", r#"{"path": "x.txt", "limit": 1e308}"#.to_owned()),
        ("write_file", json!({"path": "large.txt", "content": "y".repeat(large)}).to_string()),
    ];
    for (tool, arguments) in calls {
        fixture.call(tool, &arguments);
    }
    let x = fs::read(fixture.root().join("x.txt")).unwrap();
    assert!(x.iter().all(|byte| b"xy".contains(byte)), "nothing was half done");
}
