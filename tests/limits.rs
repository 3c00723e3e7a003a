//! Every limit ends in an error value, in any thread, and never in a panic.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use paddock::types::{ErrorCode, ReadArgs, StatArgs, WriteArgs};
use paddock::{CallOptions, Limits, Outcome, Policy, Workspace};
use tempfile::TempDir;

/// Fails for the reader unless the call failed with this code.
fn assert_code(outcome: &Outcome, code: ErrorCode) {
    assert_eq!(outcome.error.as_ref().map(|error| error.code), Some(code), "{outcome:?}");
    assert!(!outcome.ok && !outcome.text.is_empty());
    assert_eq!(outcome.value()["code"], code.name());
}

/// Returns a directory and a pattern whose search takes minutes, because its automaton is too large for the cache.
fn slow() -> (TempDir, &'static str) {
    let directory = TempDir::new().unwrap();
    let mut seed = 1u64;
    let mut letter = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if seed >> 63 == 0 { b'a' } else { b'b' }
    };
    let line: Vec<u8> = (0..9 << 20).map(|_| letter()).collect();
    fs::write(directory.path().join("long.txt"), line).unwrap();
    (directory, r#"{"pattern": "(?:a[ab]{90}|b[ab]{120}|[ab]a[ab]{150})[c-zC-Z]"}"#)
}

fn workspace(directory: &TempDir) -> Workspace {
    Workspace::builder().root(directory.path()).no_state_dir().build().unwrap()
}

#[test]
fn the_deadline_ends_endless_calls() {
    let (directory, search) = slow();
    let options = CallOptions::default().with_time(Duration::from_millis(300));
    let started = Instant::now();
    let outcome = workspace(&directory).call_with("grep", search, &options);
    assert_code(&outcome, ErrorCode::LimitExceeded);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn cancelling_stops_the_guest() {
    let (directory, search) = slow();
    let workspace = workspace(&directory);
    let options = CallOptions::default();
    let cancel = options.cancel.clone();
    // The compilation of the component is not measured.
    assert!(workspace.call("stat", r#"{"path": "."}"#).ok);
    let call = thread::spawn(move || (workspace.call_with("grep", search, &options), Instant::now()));
    thread::sleep(Duration::from_millis(200));
    let cancelled_at = Instant::now();
    cancel.cancel();
    let (outcome, ended) = call.join().unwrap();
    assert_code(&outcome, ErrorCode::Cancelled);
    assert!(ended - cancelled_at < Duration::from_secs(1), "{:?}", ended - cancelled_at);
}

#[test]
fn memory_is_limited_at_the_start_and_during_a_call() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a.txt"), vec![b'a'; 9 << 20]).unwrap();
    for bytes in [64 << 10, 8 << 20] {
        let limits = Limits { max_memory_bytes: bytes, ..Limits::default() };
        let workspace = Workspace::builder().root(directory.path()).limits(limits).no_state_dir().build().unwrap();
        let outcome =
            workspace.call("edit_file", r#"{"path": "a.txt", "edits": [{"old_text": "b", "new_text": "c"}]}"#);
        assert_code(&outcome, ErrorCode::LimitExceeded);
    }
    assert!(workspace(&directory).call("read_file", r#"{"path": "a.txt"}"#).ok);
}

/// The text of such a page has ten times the size of the file. It fits if the text grows in its place, and does not if it is
/// copied to a larger one.
#[test]
fn a_page_of_nine_million_lines_fits_in_memory() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a.txt"), vec![b'\n'; 9 << 20]).unwrap();
    let limits = Limits { max_result_bytes: u32::MAX as usize, max_lines: u64::MAX, ..Limits::default() };
    let workspace = Workspace::builder().root(directory.path()).limits(limits).no_state_dir().build().unwrap();
    let outcome = workspace.call("read_file", r#"{"path": "a.txt"}"#);
    assert!(outcome.ok, "{:?}", outcome.error);
    assert!(outcome.text.starts_with("1|\n2|\n") && outcome.text.contains("\n9437184|\n"));
}

#[test]
fn a_workspace_in_memory_says_that_it_is_gone() {
    let limits = Limits { max_memory_bytes: 16 << 20, ..Limits::default() };
    let workspace = Workspace::memory(Policy { limits, ..Policy::default() }).unwrap();
    let write = |name: u32| workspace.write(&WriteArgs::new(format!("{name}.txt"), "a".repeat(4 << 20)));
    let failed = (0..8).find_map(|name| write(name).err()).expect("16 MiB hold no 32 MiB");
    assert_eq!(failed.code, ErrorCode::LimitExceeded, "{failed:?}");
    assert_eq!(workspace.read(&ReadArgs::new("0.txt")).unwrap_err().code, ErrorCode::BackendGone);
    assert_code(&workspace.call("stat", r#"{"path": "."}"#), ErrorCode::BackendGone);
}

#[test]
fn a_held_lock_is_a_limit_too() {
    let (directory, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let workspace = Workspace::builder().root(directory.path()).state_dir(state.path()).build().unwrap();
    assert!(workspace.call("write_file", r#"{"path": "a", "content": "a"}"#).ok);
    let lock = fs::File::open(state.path().join("lock")).unwrap();
    lock.lock().unwrap();
    let options = CallOptions::default().with_time(Duration::from_millis(100));
    let outcome = workspace.call_with("write_file", r#"{"path": "a", "content": "b"}"#, &options);
    assert_code(&outcome, ErrorCode::LimitExceeded);
    assert!(outcome.text.contains("another process"), "{}", outcome.text);
    assert!(workspace.call("read_file", r#"{"path": "a"}"#).ok, "looking needs no lock");
    drop(lock);
    assert!(workspace.call("write_file", r#"{"path": "a", "content": "b"}"#).ok);
}

#[test]
fn a_root_that_went_away_is_a_value() {
    if cfg!(windows) {
        return eprintln!("skipped: Windows removes a directory only when nothing has it open");
    }
    let directory = TempDir::new().unwrap();
    let workspace = workspace(&directory);
    drop(directory);
    assert_code(&workspace.call("stat", r#"{"path": "."}"#), ErrorCode::BackendGone);
}

#[tokio::test]
async fn calls_work_inside_a_runtime() {
    let directory = TempDir::new().unwrap();
    let workspace = workspace(&directory);
    assert!(workspace.call("write_file", r#"{"path": "a", "content": "a"}"#).ok);
    let read = workspace.call_async("read_file", r#"{"path": "a"}"#, CallOptions::default()).await;
    assert_eq!(read.value()["content"], "a", "{read:?}");
    let stat = workspace.stat_async(StatArgs::new("a")).await.unwrap();
    assert_eq!(stat.size, Some(1));
    let missing = workspace.read_async(ReadArgs::new("b")).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::NotFound);
}

#[tokio::test(flavor = "current_thread")]
async fn a_call_does_not_block_the_executor_and_ends_with_its_future() {
    let (directory, search) = slow();
    let workspace = workspace(&directory);
    assert!(workspace.call("stat", r#"{"path": "."}"#).ok);
    let options = CallOptions::default();
    let cancel = options.cancel.clone();
    let call = workspace.call_async("grep", search, options);
    let outcome = tokio::time::timeout(Duration::from_millis(200), call).await;
    assert!(outcome.is_err(), "the executor's clock went on meanwhile");
    assert!(cancel.is_cancelled());
}
