//! Every operation that changes files, each as one call on the same tree.

use paddock_archive::zip::write::Writer;
use paddock_guest::engine;
use paddock_types::entry::Time;
use paddock_types::error::ErrorText;
use paddock_types::outcome::Outcome;
use paddock_types::policy::{Backend, Policy};
use paddock_types::request::{Pack, Request, Unpack};
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::overlay::OverlayFs;
use paddock_vfs::{Filesystem, OVERLAY_GUEST_PATH, Open};

use crate::tree::{Tree, tree_of};

pub struct Scenario {
    pub name: &'static str,
    call: Call,
}

enum Call {
    Tool(&'static str, serde_json::Value),
    /// An operation that no tool of the dialect offers.
    Typed(Request),
}

pub fn scenarios() -> Vec<Scenario> {
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
        scenario("write through a link", "write_file", json!({"path": "link", "content": "2\n"})),
        scenario("write what is hard linked", "write_file", json!({"path": "shared.txt", "content": "mine\n"})),
        scenario("delete a link", "delete", json!({"path": "link"})),
        scenario("make directories", "make_dir", json!({"path": "m/n/o"})),
        scenario("patch", "apply_patch", json!({ "patch": patch })),
        scenario("patch that only deletes", "apply_patch", json!({ "patch": deletes })),
        scenario("replace", "replace", planned(json!({"pattern": "(o)([a-z]*)", "replacement": "${2}0\n$1"}))),
        scenario("move", "move", json!({"source": "one.txt", "destination": "far/away.txt"})),
        scenario("move over", "move", json!({"source": "one.txt", "destination": "dir/two.txt", "overwrite": true})),
        scenario("move tree", "move", json!({"source": "dir", "destination": "dir4"})),
        scenario("move tree into new directories", "move", json!({"source": "dir", "destination": "far/away/dir"})),
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

/// Returns the arguments of a replacement, with the plan for the initial files.
fn planned(arguments: serde_json::Value) -> serde_json::Value {
    let outcome = called(&fresh(), &Policy::default(), "replace", &arguments.to_string());
    let result: serde_json::Value = serde_json::from_str(&outcome.result).unwrap();
    assert!(result["total_files"].as_u64() > Some(2), "{result}");
    let mut arguments = arguments;
    arguments["plan"] = result["plan"].clone();
    arguments
}

pub fn policies() -> [Policy; 4] {
    let policy = |backend, carries_modes| {
        let host = format!(r#"{{"carries_modes":{carries_modes}}}"#);
        Policy::parse(&format!(r#"{{"backend":"{backend}","host":{host}}}"#), "paddock").unwrap()
    };
    [policy("wasi", true), policy("wasi", false), policy("overlay", true), policy("overlay", false)]
}

/// Directories that a scenario needs.
pub const PREOPENS: [&str; 3] = ["/workspace", "/paddock-state", OVERLAY_GUEST_PATH];

/// Returns the initial state of a scenario; for an overlay, the unchanged base.
pub fn fresh() -> MemoryFs {
    let memory = MemoryFs::new(&PREOPENS, || Time { seconds: 7, nanoseconds: 0 }, 1);
    prepare(&memory);
    memory
}

/// Fills an empty file system with the initial state of a scenario.
pub fn prepare(fs: &dyn Filesystem) {
    let files = [
        ("one.txt", "first\nsecond\n"),
        ("dir/two.txt", "two\n"),
        ("dir/three.txt", "three\n"),
        ("dir/four.txt", "four\n"),
        ("dir/inner/five.txt", "four\n"),
        ("dir/inner/five.txt", "five\n"),
        ("shared.txt", "shared\n"),
        ("gone/six.txt", "six\n"),
        ("gone/in/seven.txt", "seven\n"),
    ];
    let call = |tool: &str, arguments: serde_json::Value| {
        let outcome = called(fs, &Policy::default(), tool, &arguments.to_string());
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
    };
    for (path, content) in files {
        call("write_file", serde_json::json!({"path": path, "content": content}));
    }
    call("delete", serde_json::json!({"path": "gone", "recursive": true}));
    let top = fs.preopens().remove(0).dir;
    for (name, archive) in archives() {
        let file = fs.open_file(&top, name, Open::CreateNew).unwrap();
        fs.write(&file, 0, &archive).unwrap();
    }
    fs.symlink(&top, "link", "dir/two.txt").unwrap();
    fs.link(&top, "shared.txt", &top, "twin.txt").unwrap();
}

/// Returns one archive with existing files, new files and directories, and one with only directories.
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

pub fn run(fs: &dyn Filesystem, policy: &Policy, scenario: &Scenario) -> Outcome {
    match &scenario.call {
        Call::Tool(tool, arguments) => called(fs, policy, tool, &arguments.to_string()),
        Call::Typed(request) => with_backend(fs, policy, |fs| {
            let error = engine::run(fs, policy, request).0.err();
            error.map_or_else(no_error, |error| Outcome { error: Some(error.into()), ..no_error() })
        }),
    }
}

pub fn called(fs: &dyn Filesystem, policy: &Policy, tool: &str, arguments: &str) -> Outcome {
    with_backend(fs, policy, |fs| engine::call(fs, policy, "paddock", tool, arguments))
}

pub fn with_backend(fs: &dyn Filesystem, policy: &Policy, call: impl FnOnce(&dyn Filesystem) -> Outcome) -> Outcome {
    if policy.backend != Backend::Overlay {
        return call(fs);
    }
    match OverlayFs::open(fs, policy) {
        Ok(overlay) => call(&overlay),
        Err(fault) => Outcome { error: Some(fault.at("open", "the overlay").into()), ..no_error() },
    }
}

fn no_error() -> Outcome {
    Outcome {
        result: String::new(),
        text: String::new(),
        error: None::<ErrorText>,
        changes: Vec::new(),
        truncated: false,
        accessed_paths: None,
    }
}

pub fn tree_in(fs: &dyn Filesystem, policy: &Policy) -> Tree {
    match policy.backend {
        Backend::Overlay => tree_of(&OverlayFs::open(fs, policy).unwrap()),
        _ => tree_of(fs),
    }
}

/// Makes another change, which must work in every state.
pub fn read_everything(fs: &dyn Filesystem, policy: &Policy) {
    let looked = called(fs, policy, "make_dir", r#"{"path": "dir2"}"#);
    assert!(looked.error.is_none(), "{:?}", looked.error);
    let looked = called(fs, policy, "delete", r#"{"path": "dir2"}"#);
    assert!(looked.error.is_none(), "{:?}", looked.error);
}
