//! Listings of directories that symbolic links lead to: the names in them are whole.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paddock_guest::engine;
use paddock_types::entry::Time;
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Filesystem, Open};
use serde_json::{Value, json};

/// Lists in a workspace with the file `store/deep/file.md` and the symbolic links `memories`, to `target`, and `store/l`
/// and `store/self`. Returns the last lines of the answer.
fn listing(target: &str, dialect: &str, tool: &str, arguments: &Value) -> Vec<String> {
    let fs = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 7, nanoseconds: 0 }, 1);
    let top = fs.preopens().remove(0).dir;
    fs.make_dir(&top, "store").unwrap();
    let store = fs.open_dir(&top, "store").unwrap();
    fs.make_dir(&store, "deep").unwrap();
    fs.open_file(&fs.open_dir(&store, "deep").unwrap(), "file.md", Open::CreateNew).unwrap();
    for (dir, name, target) in [(&top, "memories", target), (&store, "l", "deep"), (&store, "self", ".")] {
        fs.symlink(dir, name, target).unwrap();
    }
    let outcome = engine::call(&fs, &Policy::parse("{}", dialect).unwrap(), dialect, tool, &arguments.to_string());
    assert!(outcome.error.is_none(), "{}", outcome.text);
    outcome.text.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn names_below_a_link_are_whole() {
    let memory = |target: &str, path: &str| {
        let lines = listing(target, "anthropic", "memory", &json!({"command": "view", "path": path}));
        lines.iter().map(|line| line.trim_start_matches("0B\t").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(memory("store", "/memories/l"), ["/memories/l", "/memories/l/file.md"]);
    let of_store = ["/memories", "/memories/deep/", "/memories/deep/file.md", "/memories/l", "/memories/self"];
    assert_eq!(memory("store", "/memories"), of_store);
    let of_self = of_store.map(|path| path.replacen("/memories", "/memories/self", 1));
    assert_eq!(memory("store", "/memories/self"), of_self);
    let of_top = ["/memories", "/memories/memories", "/memories/store/", "/memories/store/deep/", "/memories/store/l"];
    assert_eq!(memory(".", "/memories")[..5], of_top);

    let view = |path: &str| json!({"command": "view", "path": path});
    let editor = |path: &str| listing(".", "anthropic", "str_replace_based_edit_tool", &view(path));
    assert_eq!(editor("memories")[..3], ["memories", "memories/memories", "memories/store/"]);
    assert_eq!(editor("store/l"), ["store/l", "store/l/file.md"]);
    let codex = |path: &str| listing(".", "codex", "list_dir", &json!({"dir_path": path}));
    assert_eq!(codex("/workspace/memories"), ["memories@", "store/", "  deep/", "  l@", "  self@"]);
    assert_eq!(codex("/workspace/store/l"), ["file.md"]);
}
