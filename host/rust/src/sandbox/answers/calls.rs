//! All calls that the host makes to a guest, and the workspaces for them.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tempfile::TempDir;

use super::prepared::REQUESTS;
use crate::approval::Decision;
use crate::bindings::exports::paddock::files::commands::{Access, Before};
use crate::command::authorizer::Authorizer;
use crate::events::Event;
use crate::host_mount::HostMount;
use crate::options::CancelToken;
use crate::types::*;
use crate::{CallOptions, Workspace};

/// Size in bytes of the secret, which is more than a command can print about the files inside.
const SECRET: usize = 64 * 1024;

/// Kind of a workspace.
#[derive(Clone, Copy, Debug)]
pub(super) enum Where {
    Directory,
    Overlay,
    Memory,
}

/// A directory with a secret next to the workspace, and the largest output of a command.
pub(super) struct Fixture {
    home: TempDir,
    printed: Arc<AtomicU64>,
}

pub(super) fn anywhere() -> impl Strategy<Value = Where> {
    prop_oneof![2 => Just(Where::Directory), 1 => Just(Where::Overlay), 1 => Just(Where::Memory)]
}

impl Fixture {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        for directory in ["ws", "outside"] {
            fs::create_dir(home.path().join(directory)).unwrap();
        }
        fs::write(home.path().join("outside/secret"), "s".repeat(SECRET)).unwrap();
        Self { home, printed: Arc::default() }
    }

    pub(super) fn workspace(&self, kind: Where) -> Workspace {
        let (home, printed) = (self.home.path(), Arc::clone(&self.printed));
        let listener = move |event: &Event| {
            if let Event::Output(output) = event {
                printed.fetch_max(output.stdout_bytes, Ordering::Relaxed);
            }
        };
        let builder = Workspace::builder().root(home.join("ws")).state_dir(home.join("state")).on_event(listener);
        let builder = builder.approver(|_| Decision::Approve);
        let builder = builder.policy_json(r#"{"commands": {"enabled": true, "max_time_ms": 2000}}"#).unwrap();
        let workspace = match kind {
            Where::Directory => builder.build(),
            Where::Overlay => builder.overlay("o").build(),
            Where::Memory => builder.build_memory(),
        };
        workspace.unwrap()
    }

    /// Fails if a file outside was read or changed.
    fn check(&self) {
        let outside = self.home.path().join("outside");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert!(fs::read(outside.join("secret")).unwrap() == "s".repeat(SECRET).as_bytes());
        assert!(self.printed.load(Ordering::Relaxed) < SECRET as u64);
    }
}

pub(super) fn call_all(workspace: &Workspace, fixture: &Fixture) {
    tools(workspace);
    read_everything(workspace);
    change(workspace);
    whole_tree(workspace, &fixture.home.path().join("ws"));
    authorizer(workspace);
    workspace.end_sessions();
    fixture.check();
}

fn tools(workspace: &Workspace) {
    // The host caches the traits of a tool by its name, so each run uses new names.
    static TOOL: AtomicU64 = AtomicU64::new(0);
    let tool = format!("tool{}", TOOL.fetch_add(1, Ordering::Relaxed));
    for length in 0..REQUESTS {
        let outcome = workspace.call_with(&tool, &" ".repeat(length), &CallOptions::dialect("twin"));
        assert!(!serde_json::to_string(&outcome).unwrap().contains(['\n', '\r']));
        drop(outcome.value());
    }
    drop(workspace.tools("twin"));
    drop(crate::dialects());
}

fn read_everything(workspace: &Workspace) {
    let path = || "a".to_owned();
    drop(workspace.read(&ReadArgs::new(path())));
    drop(workspace.read_many(&ReadManyArgs::paths([path()])));
    drop(workspace.stat(&StatArgs::new(path())));
    drop(workspace.list(&ListArgs::new(path())));
    drop(workspace.tree(&TreeArgs::new(path())));
    drop(workspace.changes(&ChangesArgs::new()));
    drop(workspace.history(&HistoryArgs { limit: 1 }));
    drop(workspace.glob(&GlobArgs::new("*")));
    drop(workspace.grep(&GrepArgs::new("a")));
    drop(workspace.fingerprint("a", None, &CancelToken::default()));
}

fn change(workspace: &Workspace) {
    let path = || "a".to_owned();
    drop(workspace.write(&WriteArgs::new(path(), "b")));
    drop(workspace.edit(&EditArgs::new(path(), "a", "b")));
    drop(workspace.apply_patch(&ApplyPatchArgs::new("")));
    drop(workspace.replace(&ReplaceArgs::new("a", "b")));
    drop(workspace.make_directory(&MakeDirectoryArgs::new(path())));
    drop(workspace.copy(&TransferArgs::new(path(), "b")));
    drop(workspace.move_entry(&TransferArgs::new(path(), "b")));
    drop(workspace.delete(&DeleteArgs::new(path())));
    drop(workspace.pack(&PackArgs::new([path()], "a.zip")));
    drop(workspace.unpack(&UnpackArgs::new("a.zip", "b")));
    drop(workspace.restore(&RestoreArgs::path(path())));
}

fn whole_tree(workspace: &Workspace, directory: &Path) {
    drop(workspace.load(b"a"));
    drop(workspace.snapshot());
    drop(workspace.copy_in(&HostMount::new(directory)));
    drop(workspace.checkpoint("a"));
    drop(workspace.rollback("a"));
    drop(workspace.checkpoints());
    drop(workspace.diff(&[], true));
    drop(workspace.commit(&[], true));
    drop(workspace.discard(&[]));
}

/// Calls the authorizer as the thread of a command does, on which the component is not replaced.
fn authorizer(workspace: &Workspace) {
    let mut authorizer = Authorizer::new(Arc::downgrade(workspace.guests()), CancelToken::default());
    drop(authorizer.allows((0, "a"), Access::Change, false, Instant::now() + Duration::from_secs(10)));
    drop(authorizer.record(&[Before {
        path: "a".to_owned(),
        kind: None,
        target: None,
        staged_file: None,
        mode: None,
    }]));
}
