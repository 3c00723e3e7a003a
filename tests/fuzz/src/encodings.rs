//! Files of any bytes: an edit and its reverse leave every byte as it was.

use serde_json::json;

use crate::fixture::Fixture;

pub fn fuzz(bytes: &[u8]) {
    let fixture = Fixture::new();
    fixture.put("f", bytes);
    let read = fixture.call("read_file", &json!({"path": "f", "limit": 2000}));
    assert_eq!(fixture.bytes("f"), bytes, "reading changes nothing");
    if read.error.is_some() {
        return;
    }
    let result: serde_json::Value = serde_json::from_str(&read.result).unwrap();
    let line = result["content"].as_str().unwrap_or_default().lines().find(|line| line.len() > 2).map(str::to_owned);
    let Some(line) = line else { return };
    let change = |from: &str, to: &str| {
        fixture.call("edit_file", &json!({"path": "f", "edits": [{"old_text": from, "new_text": to}]}))
    };
    // The line keeps its text, because without it another encoding might be detected.
    let new = format!("{line} zebra crossing");
    if change(&line, &new).error.is_some() {
        assert_eq!(fixture.bytes("f"), bytes, "an edit that is refused changes nothing");
        return;
    }
    let outcome = change(&new, &line);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(fixture.bytes("f"), bytes, "{line:?}");
}
