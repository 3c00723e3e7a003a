//! Policies: an accepted policy is complete, and narrowing never widens it.

use paddock_policy::Policy;
use serde_json::{Map, Value};

pub fn fuzz(bytes: &[u8]) {
    let Ok(Value::Object(mut settings)) = serde_json::from_slice::<Value>(bytes) else { return };
    let narrowed = settings.remove("narrowed");
    let Ok(own) = Policy::new(settings.clone(), "paddock") else { return };
    let reported = Policy::new(own.settings(), "paddock").expect("what a policy says of itself is a policy");
    assert_eq!(reported.settings(), own.settings());
    let Some(Value::Object(by)) = narrowed else { return };
    let mut both: Map<String, Value> = settings;
    both.insert("narrowed".to_owned(), Value::Object(by));
    let Ok(narrow) = Policy::new(both, "paddock") else { return };
    assert!(!own.read_only || narrow.read_only);
    assert!(own.allow_protected || !narrow.allow_protected);
    assert!(own.commands.enabled || !narrow.commands.enabled);
    let (max, least) = (&own.limits, &narrow.limits);
    assert!(least.max_file_bytes <= max.max_file_bytes && least.max_entries <= max.max_entries);
    assert!(own.blocked_directories.iter().all(|path| narrow.blocked_directories.contains(path)));
    assert!(own.commands.deny.iter().all(|rule| narrow.commands.deny.contains(rule)));
}
