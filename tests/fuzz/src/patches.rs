//! Patches: a patch is applied completely or not at all.

use serde_json::json;

use crate::fixture::{Fixture, halves};

/// Applies a patch in the format of Codex: the file, NUL, the inner lines of the patch.
pub fn fuzz_patch(bytes: &[u8]) {
    let (file, patch) = halves(bytes);
    apply(&file, &format!("*** Begin Patch\n{patch}\n*** End Patch\n"));
}

/// Applies a unified diff: the file, NUL, the hunks.
pub fn fuzz_unified(bytes: &[u8]) {
    let (file, hunks) = halves(bytes);
    apply(&file, &format!("--- a/a.txt\n+++ b/a.txt\n{hunks}"));
}

fn apply(file: &str, patch: &str) {
    let fixture = Fixture::new();
    fixture.put("a.txt", file.as_bytes());
    fixture.put("b.txt", b"one\ntwo\n");
    let before = fixture.tree();
    let looked = fixture.call("apply_patch", &json!({"patch": patch, "dry_run": true}));
    assert_eq!(fixture.tree(), before, "looking changes nothing");
    let outcome = fixture.call("apply_patch", &json!({ "patch": patch }));
    assert_eq!(looked.error.is_some(), outcome.error.is_some(), "{:?}, {:?}", looked.error, outcome.error);
    if outcome.error.is_some() {
        assert_eq!(fixture.tree(), before, "{:?}", outcome.error);
    }
}
