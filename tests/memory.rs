//! Workspaces in memory: loading, export, limits and persistence between calls.

mod archives;
mod mounts;
mod persistence;
mod quota;

use paddock::{Limits, Policy, Workspace};
use serde_json::{Value, json};

/// Creates a workspace with a limit of bytes.
fn workspace_of(max_tree_bytes: u64) -> Workspace {
    let limits = Limits { max_tree_bytes, ..Limits::default() };
    Workspace::memory(Policy { limits, ..Policy::default() }).unwrap()
}

fn write(workspace: &Workspace, path: &str, content: &str) -> Value {
    workspace.call("write_file", &json!({"path": path, "content": content}).to_string()).value()
}

fn read(workspace: &Workspace, path: &str) -> Value {
    let outcome = workspace.call("read_file", &json!({"path": path, "mode": "raw"}).to_string()).value();
    if outcome["content"].is_string() { outcome["content"].clone() } else { outcome["code"].clone() }
}
