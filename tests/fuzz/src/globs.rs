//! Glob patterns: the result arrives in time, is sorted, and contains each existing path at most once. Pages and a
//! single result are equal.

use paddock_types::entry::Kind;
use serde_json::{Value, json};

use crate::fixture::Fixture;

pub fn fuzz(bytes: &[u8]) {
    let Ok(pattern) = std::str::from_utf8(bytes) else { return };
    let fixture = Fixture::furnished();
    let tree = fixture.tree();
    let whole = fixture.call("glob", &json!({"pattern": pattern, "limit": 1000}));
    if whole.error.is_some() {
        return;
    }
    let paths = |text: &str| -> (Vec<String>, Value) {
        let result: Value = serde_json::from_str(text).unwrap();
        let paths = result["paths"].as_array().unwrap();
        (paths.iter().map(|path| path.as_str().unwrap().to_owned()).collect(), result["next_cursor"].clone())
    };
    let (paths_found, _) = paths(&whole.result);
    assert!(paths_found.is_sorted_by(|a, b| a.split('/').lt(b.split('/'))), "{paths_found:?}");
    for path in &paths_found {
        assert_eq!(tree.get(path).map(|(kind, _)| *kind), Some(Kind::File), "{path}");
    }
    let (mut pages, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = fixture.ok("glob", &json!({"pattern": pattern, "limit": 1, "cursor": cursor}));
        let (more, next) = paths(&page.to_string());
        pages.extend(more);
        cursor = next;
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(pages, paths_found);
}
