//! A workspace with commands, and the directories next to it.

use std::fs;
use std::path::PathBuf;

use paddock::{Outcome, Workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Content that no command may read.
pub const CANARY: &str = "canary-7f3a";

pub struct Fixture {
    pub home: TempDir,
    pub workspace: Workspace,
}

impl Fixture {
    pub fn new() -> Self {
        Self::with(json!({}))
    }

    /// Creates a workspace with these settings of `commands`.
    pub fn with(commands: Value) -> Self {
        Self::under(json!({}), commands)
    }

    /// Creates a workspace with these settings of the policy and of `commands`.
    pub fn under(mut policy: Value, mut commands: Value) -> Self {
        let home = TempDir::new().unwrap();
        let root = home.path().join("work");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir_all(home.path().join("outside")).unwrap();
        fs::write(root.join("a.txt"), "one\n").unwrap();
        fs::write(root.join("src/b.txt"), "two\n").unwrap();
        fs::write(home.path().join("outside/secret"), CANARY).unwrap();
        commands["enabled"] = json!(true);
        policy["commands"] = commands;
        let builder = Workspace::builder().root(&root).state_dir(home.path().join("state"));
        let workspace = builder.policy_json(&policy.to_string()).unwrap().build().unwrap();
        Self { home, workspace }
    }

    pub fn root(&self) -> PathBuf {
        self.home.path().join("work")
    }

    pub fn call(&self, tool: &str, arguments: Value) -> Outcome {
        self.workspace.call(tool, &arguments.to_string())
    }

    /// Makes a call that must succeed, and returns its result.
    #[track_caller]
    pub fn ok(&self, tool: &str, arguments: Value) -> Value {
        let outcome = self.call(tool, arguments);
        assert!(outcome.ok, "{}", outcome.text);
        outcome.value()
    }

    /// Runs a command line and returns its result.
    #[track_caller]
    pub fn shell(&self, line: &str) -> Value {
        self.ok("shell", json!({"command": line}))
    }

    /// Runs a command line, which must succeed, and returns its output.
    #[cfg(unix)]
    #[track_caller]
    pub fn printed(&self, line: &str) -> String {
        let ran = self.shell(line);
        assert_eq!(ran["exit_code"], 0, "{line}: {ran}");
        stdout(&ran)
    }

    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }
}

pub fn stdout(ran: &Value) -> String {
    ran["stdout"]["text"].as_str().unwrap().to_owned()
}

/// Returns the changes of a result in the form `created a.txt`.
pub fn changes(ran: &Value) -> Vec<String> {
    let change = |change: &Value| format!("{} {}", change["kind"].as_str().unwrap(), change["path"].as_str().unwrap());
    ran["changes"].as_array().unwrap().iter().map(change).collect()
}
