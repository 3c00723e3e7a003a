//! The benchmark as a command. `.ci/run` runs its quick form.

use std::process::Command;

#[test]
fn an_unknown_tree_is_refused_before_anything_is_made() {
    let bench = Command::new(env!("CARGO_BIN_EXE_paddock-peers")).args(["--trees", "nowhere"]).output().unwrap();
    let stderr = String::from_utf8_lossy(&bench.stderr);
    assert!(!bench.status.success() && stderr.contains("nowhere"), "{stderr}");
}
