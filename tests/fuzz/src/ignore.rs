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
    let (shown, all) = (list(false), list(true));
    assert!(shown.iter().all(|path| all.contains(path)), "{shown:?} of {all:?}");
    assert_eq!(all, ["a.txt", "dir/b.txt", "dir/in/c"]);
    // The same file as `.agentignore`. With an invalid rule, everything is hidden.
    fixture.put(".agentignore", bytes);
    let secret = fixture.call("read_file", &json!({"path": "a.txt"}));
    let listed = fixture.call("glob", &json!({"pattern": "**", "include_ignored": true}));
    assert_eq!(secret.error.is_none(), listed.result.contains("\"a.txt\""), "{:?}", secret.error);
    assert!(listed.error.is_none_or(|error| error.code == Code::Denied));
}
