//! Ignore files: every call returns, and never more entries than without the ignore files.

use paddock_types::error::Code;
use serde_json::{Value, json};

use crate::fixture::Fixture;

pub fn fuzz(bytes: &[u8]) {
    let fixture = Fixture::furnished();
    fixture.put(".gitignore", bytes);
    let list = |include_ignored: bool| -> Vec<String> {
        let result = fixture.ok("glob", &json!({"pattern": "**", "include_ignored": include_ignored, "limit": 1000}));
        let paths = result["paths"].as_array().unwrap();
        paths.iter().map(|path: &Value| path.as_str().unwrap().to_owned()).collect()
    };
    let (visible, all) = (list(false), list(true));
    assert!(visible.iter().all(|path| all.contains(path)), "{visible:?} of {all:?}");
    assert_eq!(all, ["a.txt", "dir/b.txt", "dir/in/c"]);
    // The same file as `.agentignore`. With an invalid rule, everything is hidden.
    fixture.put(".agentignore", bytes);
    let read = fixture.call("read_file", &json!({"path": "a.txt"}));
    let listed = fixture.call("glob", &json!({"pattern": "**", "include_ignored": true}));
    assert_eq!(read.error.is_none(), listed.result.contains("\"a.txt\""), "{:?}", read.error);
    assert!(listed.error.is_none_or(|error| error.code == Code::Denied));
}
