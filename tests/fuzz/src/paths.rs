//! Paths: text that was written to a path can be read from it and is inside the workspace. A refused write changes
//! nothing.

use paddock_types::entry::Kind;
use paddock_vfs::Filesystem;
use serde_json::json;

use crate::fixture::Fixture;

pub fn fuzz(bytes: &[u8]) {
    let Ok(path) = std::str::from_utf8(bytes) else { return };
    let fixture = Fixture::furnished();
    let before = fixture.tree();
    let state = fixture.fs.preopens().remove(1).dir;
    for tool in ["stat", "read_file", "list_dir", "tree"] {
        fixture.call(tool, &json!({ "path": path }));
    }
    fixture.call("glob", &json!({"pattern": "**", "path": path}));
    assert_eq!(fixture.tree(), before, "looking changes nothing");
    let written = fixture.call("write_file", &json!({"path": path, "content": "canary"}));
    let after = fixture.tree();
    if written.error.is_some() {
        assert_eq!(after, before, "{:?}", written.error);
    } else {
        let changed: Vec<_> = after.iter().filter(|(path, node)| before.get(*path) != Some(node)).collect();
        let files = changed.iter().filter(|(_, (kind, _))| *kind == Kind::File);
        assert!(files.clone().count() == 1 && files.clone().all(|(_, (_, load))| load == b"canary"), "{changed:?}");
        let read = fixture.ok("read_file", &json!({ "path": path }));
        assert_eq!(read["content"], "canary");
    }
    let canary = |name: &str| fixture.fs.stat(&state, name).is_ok_and(|stat| stat.size == 6);
    assert!(
        !fixture.fs.list(&state).unwrap().entries.iter().any(|entry| canary(&entry.name)),
        "the state is no part of it"
    );
}
