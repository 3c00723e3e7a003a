//! A change that stops at any point, by an error or by a crash, leaves the old
//! tree or the new one: every scenario is run once for every call of the file
//! system that it makes, and its recovery once for every call of that; in a
//! directory, and in an overlay over one.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::Cell;

use paddock_guest::engine;
use paddock_guest::error::Error;
use paddock_guest::fs::memory::MemoryFs;
use paddock_guest::fs::overlay::{OVERLAY_GUEST_PATH, OverlayFs};
use paddock_guest::fs::{Filesystem, Open, Time};
use paddock_guest::policy::{Backend, Policy};
use paddock_guest::request::{Pack, Request, Unpack};
use paddock_guest::zip::write::Writer;

use stopping::Stopping;
use tree::{Tree, tree_of};

mod stopping;
mod tree;

struct Scenario {
    name: &'static str,
    call: Call,
}

enum Call {
    Tool(&'static str, serde_json::Value),
    /// What no tool of the dialect does.
    Typed(Request),
}

fn scenarios() -> Vec<Scenario> {
    let patch = "*** Begin Patch\n*** Update File: one.txt\n@@\n-first\n+FIRST\n*** Add File: deep/er/new.txt\n+new\n\
        *** Delete File: dir/two.txt\n*** Update File: dir/three.txt\n*** Move to: moved/three.txt\n@@\n-three\n+THREE\n\
        *** Update File: dir/four.txt\n*** Move to: moved/four.txt\n*** End Patch\n";
    let deletes = "*** Begin Patch\n*** Delete File: one.txt\n*** Delete File: dir/two.txt\n*** End Patch\n";
    let scenario = |name, tool, arguments| Scenario { name, call: Call::Tool(tool, arguments) };
    let unpack = |name, source: &str, destination: &str| {
        let (source, destination) = (source.to_owned(), destination.to_owned());
        Scenario { name, call: Call::Typed(Request::Unpack(Unpack { source, destination, overwrite: true })) }
    };
    let sources = vec!["dir".to_owned(), "one.txt".to_owned()];
    let pack = Pack { sources, destination: "far/new.zip".to_owned(), overwrite: false };
    use serde_json::json;
    vec![
        scenario("new file", "write_file", json!({"path": "new.txt", "content": "hello"})),
        scenario("new file in new directories", "write_file", json!({"path": "a/b/c.txt", "content": "hello"})),
        scenario("overwrite", "write_file", json!({"path": "one.txt", "content": "x"})),
        scenario("append", "write_file", json!({"path": "one.txt", "content": "more\n", "append": true})),
        scenario(
            "edit",
            "edit_file",
            json!({"path": "dir/two.txt", "edits": [{"old_text": "two", "new_text": "a longer two"}]}),
        ),
        scenario("patch", "apply_patch", json!({ "patch": patch })),
        scenario("patch that only deletes", "apply_patch", json!({ "patch": deletes })),
        scenario("replace", "replace", planned(json!({"pattern": "(o)([a-z]*)", "replacement": "${2}0\n$1"}))),
        scenario("move", "move", json!({"source": "one.txt", "destination": "far/away.txt"})),
        scenario("copy file", "copy", json!({"source": "one.txt", "destination": "far/copy.txt"})),
        scenario("copy over", "copy", json!({"source": "one.txt", "destination": "dir/two.txt", "overwrite": true})),
        scenario("copy tree", "copy", json!({"source": "dir", "destination": "far/dir", "recursive": true})),
        scenario("delete file", "delete", json!({"path": "one.txt"})),
        scenario("delete tree", "delete", json!({"path": "dir", "recursive": true})),
        scenario("restore a tree", "restore", json!({"path": "gone"})),
        scenario("restore over", "restore", json!({"path": "dir/inner/five.txt"})),
        Scenario { name: "pack", call: Call::Typed(Request::Pack(pack)) },
        unpack("unpack over", "tree.zip", "dir"),
        unpack("unpack into a new directory", "tree.zip", "far/away"),
        unpack("unpack directories alone", "directories.zip", "dir"),
    ]
}

/// The arguments of a replacement, with the plan for the files that are there at first.
fn planned(arguments: serde_json::Value) -> serde_json::Value {
    let outcome = called(&fresh(), &Policy::default(), "replace", &arguments.to_string());
    let result: serde_json::Value = serde_json::from_str(&outcome.result).unwrap();
    assert!(result["total_files"].as_u64() > Some(2), "{result}");
    let mut arguments = arguments;
    arguments["plan"] = result["plan"].clone();
    arguments
}

fn policies() -> [Policy; 4] {
    let policy = |backend, carries_modes| {
        let host = format!(r#"{{"carries_modes":{carries_modes}}}"#);
        Policy::parse(&format!(r#"{{"backend":"{backend}","host":{host}}}"#), "paddock").unwrap()
    };
    [policy("wasi", true), policy("wasi", false), policy("overlay", true), policy("overlay", false)]
}

/// What a scenario starts from: for an overlay, the base, in which nothing was changed yet.
fn fresh() -> MemoryFs {
    let memory =
        MemoryFs::new(&["/workspace", "/paddock-state", OVERLAY_GUEST_PATH], || Time { seconds: 7, nanoseconds: 0 }, 1);
    let files = [
        ("one.txt", "first\nsecond\n"),
        ("dir/two.txt", "two\n"),
        ("dir/three.txt", "three\n"),
        ("dir/four.txt", "four\n"),
        ("dir/inner/five.txt", "four\n"),
        ("dir/inner/five.txt", "five\n"),
        ("gone/six.txt", "six\n"),
        ("gone/in/seven.txt", "seven\n"),
    ];
    let call = |tool: &str, arguments: serde_json::Value| {
        let outcome = called(&memory, &Policy::default(), tool, &arguments.to_string());
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
    };
    for (path, content) in files {
        call("write_file", serde_json::json!({"path": path, "content": content}));
    }
    call("delete", serde_json::json!({"path": "gone", "recursive": true}));
    let top = memory.preopens().remove(0).dir;
    for (name, archive) in archives() {
        let file = memory.open_file(&top, name, Open::CreateNew).unwrap();
        memory.write(&file, 0, &archive).unwrap();
    }
    memory
}

/// One with files that are there, new ones and directories, and one with directories alone.
fn archives() -> [(&'static str, Vec<u8>); 2] {
    let archive = |directories: &[&str], files: &[(&str, &str)]| {
        let mut writer = Writer::new();
        directories.iter().try_for_each(|name| writer.directory(name, None)).unwrap();
        files.iter().try_for_each(|(name, content)| writer.file(name, None, content.as_bytes())).unwrap();
        writer.finish().unwrap()
    };
    let files = [("two.txt", "2\n"), ("inner/five.txt", "5\n"), ("new/deep/er.txt", "new\n"), ("four.txt", "four\n")];
    let tree = archive(&["empty/in/", "new/", "inner/"], &files);
    [("tree.zip", tree), ("directories.zip", archive(&["inner/", "n/", "n/m/", "o/p/q/"], &[]))]
}

fn run(fs: &dyn Filesystem, policy: &Policy, scenario: &Scenario) -> engine::Outcome {
    match &scenario.call {
        Call::Tool(tool, arguments) => called(fs, policy, tool, &arguments.to_string()),
        Call::Typed(request) => with_backend(fs, policy, |fs| {
            let error = engine::run(fs, policy, request).0.err();
            error.map_or_else(done, |error| engine::Outcome { error: Some(error), ..done() })
        }),
    }
}

fn called(fs: &dyn Filesystem, policy: &Policy, tool: &str, arguments: &str) -> engine::Outcome {
    with_backend(fs, policy, |fs| engine::call(fs, policy, "paddock", tool, arguments))
}

fn with_backend(
    fs: &dyn Filesystem,
    policy: &Policy,
    call: impl FnOnce(&dyn Filesystem) -> engine::Outcome,
) -> engine::Outcome {
    if policy.backend != Backend::Overlay {
        return call(fs);
    }
    match OverlayFs::open(fs, policy) {
        Ok(overlay) => call(&overlay),
        Err(fault) => engine::Outcome { error: Some(fault.at("open", "the overlay")), ..done() },
    }
}

fn done() -> engine::Outcome {
    engine::Outcome {
        result: String::new(),
        text: String::new(),
        error: None::<Error>,
        changes: Vec::new(),
        truncated: false,
        touched: None,
    }
}

fn tree(memory: &MemoryFs, policy: &Policy) -> Tree {
    match policy.backend {
        Backend::Overlay => tree_of(&OverlayFs::open(memory, policy).unwrap()),
        _ => tree_of(memory),
    }
}

fn names(tree: &Tree) -> Vec<&String> {
    tree.keys().collect()
}

/// Runs `check` with a file system that stops at call 1, 2, 3 and so on, until the scenario gets through.
fn for_every_stop(crash: bool, mut check: impl FnMut(&Scenario, &Policy, &MemoryFs, &engine::Outcome, &Tree, &Tree)) {
    for policy in policies() {
        for scenario in scenarios() {
            let start = fresh();
            let old = tree(&start, &policy);
            let finished = start.clone_tree();
            let outcome = run(&finished, &policy, &scenario);
            assert!(outcome.error.is_none(), "{}: {:?}", scenario.name, outcome.error);
            let new = tree(&finished, &policy);
            assert_ne!(old, new, "{}", scenario.name);
            for stop in 1.. {
                let memory = start.clone_tree();
                let stopping = Stopping { inner: &memory, left: Cell::new(stop), crash, also: Vec::new() };
                let outcome = run(&stopping, &policy, &scenario);
                let reached = if crash { stopping.left.get() == 0 } else { stopping.left.get() > stop };
                if !reached {
                    assert!(outcome.error.is_none());
                    break;
                }
                check(&scenario, &policy, &memory, &outcome, &old, &new);
                if policy.backend == Backend::Overlay {
                    assert!(tree_of(&memory) == old, "{}: the base was changed", scenario.name);
                }
            }
        }
    }
}

fn look(memory: &MemoryFs, policy: &Policy) {
    let looked = called(memory, policy, "make_dir", r#"{"path": "dir2"}"#);
    assert!(looked.error.is_none(), "{:?}", looked.error);
    let looked = called(memory, policy, "delete", r#"{"path": "dir2"}"#);
    assert!(looked.error.is_none(), "{:?}", looked.error);
}

#[test]
fn a_crash_at_any_call_leaves_the_old_tree_or_the_new_one() {
    let mut states = 0;
    for_every_stop(true, |scenario, policy, memory, _, old, new| {
        states += 1;
        look(memory, policy);
        let after = tree(memory, policy);
        let names = || format!("{}: {:?}", scenario.name, names(&after));
        assert!(after == *old || after == *new, "neither old nor new after {}", names());
    });
    assert!(states > 500, "{states}");
}

#[test]
fn a_crash_during_recovery_is_recovered_from() {
    let mut states = 0;
    let mut crashes = 0;
    for_every_stop(true, |scenario, policy, memory, _, old, new| {
        let is_overlay = policy.backend == Backend::Overlay;
        crashes += 1;
        // An overlay recovers by the same steps, each of several calls: all of them would take minutes.
        if is_overlay && crashes % 23 != 0 {
            return;
        }
        let crashed = tree(memory, policy);
        for stop in (1..).step_by(if is_overlay { 11 } else { 3 }) {
            // The state directory is not part of the archive, so the crash is made again for each stop.
            let again = memory.clone_tree();
            assert_eq!(tree(&again, policy), crashed);
            let stopping = Stopping { inner: &again, left: Cell::new(stop), crash: true, also: Vec::new() };
            called(&stopping, policy, "stat", r#"{"path": "."}"#);
            if stopping.left.get() > 0 {
                break;
            }
            states += 1;
            look(&again, policy);
            let after = tree(&again, policy);
            assert!(after == *old || after == *new, "{} twice: {:?}", scenario.name, names(&after));
        }
    });
    assert!(states > 500, "{states}");
}

#[test]
fn an_error_at_any_call_is_reported_and_leaves_the_old_tree() {
    let mut states = 0;
    for_every_stop(false, |scenario, policy, memory, outcome, old, new| {
        states += 1;
        let reported = outcome.error.is_some();
        let before = tree(memory, policy);
        look(memory, policy);
        let after = tree(memory, policy);
        // A change that is durable may leave its cleaning up to the next call.
        if reported {
            assert_eq!(names(&before), names(&after), "{}: something was left for later", scenario.name);
        }
        let expected = if reported { old } else { new };
        // A tree that was half deleted when the error came cannot be put together again.
        if scenario.name != "delete tree" {
            assert!(after == *expected, "{} ({:?}): {:?}", scenario.name, outcome.error, names(&after));
        }
    });
    assert!(states > 500, "{states}");
}
