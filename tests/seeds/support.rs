//! A separate workspace for a test, in one dialect.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use paddock::types::Plan;
use paddock::{CallOptions, Decision, Outcome, Workspace};
use serde_json::Value;
use tempfile::TempDir;

pub struct Fixture {
    dialect: &'static str,
    workspace: Workspace,
    /// Decision about every plan, and the plans so far.
    person: Arc<Mutex<(Decision, Vec<Plan>)>>,
    /// Directory with the workspace and, next to it, secret files.
    home: TempDir,
}

impl Fixture {
    pub fn new(dialect: &'static str) -> Self {
        Self::with(dialect, &[])
    }

    /// Creates a workspace with these files.
    pub fn with(dialect: &'static str, files: &[(&str, &str)]) -> Self {
        Self::with_policy(dialect, files, "{}")
    }

    /// Creates a workspace with these files and a policy.
    pub fn with_policy(dialect: &'static str, files: &[(&str, &str)], policy: &str) -> Self {
        let home = TempDir::new().unwrap();
        let root = home.path().join("work");
        fs::create_dir(&root).unwrap();
        fs::write(home.path().join("secret.txt"), "secret").unwrap();
        fs::create_dir(home.path().join("work2")).unwrap();
        let person = Arc::new(Mutex::new((Decision::Approve, Vec::new())));
        let questions = person.clone();
        let builder =
            Workspace::builder().root(&root).state_dir(home.path().join("state")).policy_json(policy).unwrap();
        let builder = builder.dialect(dialect).approver(move |plan| {
            let mut person = questions.lock().unwrap();
            person.1.push(plan.clone());
            person.0.clone()
        });
        let fixture = Self { dialect, workspace: builder.build().unwrap(), person, home };
        for (path, content) in files {
            fixture.put(path, content);
        }
        fixture
    }

    pub fn root(&self) -> std::path::PathBuf {
        self.home.path().join("work")
    }

    /// Sets the decision about all further plans.
    pub fn answer(&self, decision: Decision) {
        self.person.lock().unwrap().0 = decision;
    }

    /// Returns the plans so far.
    pub fn questions(&self) -> Vec<Plan> {
        self.person.lock().unwrap().1.clone()
    }

    /// Returns the path of the audit log.
    pub fn audit(&self) -> std::path::PathBuf {
        self.home.path().join("state/audit.jsonl")
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn get(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub fn has(&self, path: &str) -> bool {
        self.root().join(path).exists()
    }

    pub fn link(&self, name: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.root().join(name)).unwrap();
    }

    pub fn call(&self, tool: &str, arguments: Value) -> Outcome {
        self.workspace.call_with(tool, &arguments.to_string(), &CallOptions::dialect(self.dialect))
    }

    /// Makes a call that must succeed, and returns its result.
    #[track_caller]
    pub fn ok(&self, tool: &str, arguments: Value) -> Value {
        let outcome = self.call(tool, arguments);
        assert!(outcome.ok, "{}", outcome.text);
        outcome.value()
    }

    /// Makes a call that must fail, and returns its error in the dialect's shape.
    #[track_caller]
    pub fn fails(&self, tool: &str, arguments: Value) -> Value {
        let outcome = self.call(tool, arguments);
        assert!(!outcome.ok, "{}", outcome.text);
        assert!(!outcome.text.contains("secret\n"), "{}", outcome.text);
        outcome.value()
    }

    /// Returns path arguments that lead outside, for every way that the specifications name.
    pub fn ways_out(&self) -> Vec<String> {
        let _ = fs::remove_file(self.root().join("out"));
        self.link("out", "../secret.txt");
        fs::create_dir_all(self.root().join("a")).unwrap();
        let outside = self.home.path().join("secret.txt");
        let sibling = self.home.path().join("work2/x");
        let names = ["../secret.txt", "a/../../secret.txt", "out", "/etc/passwd", "../work2/x"];
        let absolute = [&outside, &sibling].map(|path| path.to_str().unwrap().to_owned());
        names.map(str::to_owned).into_iter().chain(absolute).collect()
    }

    pub fn hidden_file_is_untouched(&self) {
        assert_eq!(fs::read_to_string(self.home.path().join("secret.txt")).unwrap(), "secret");
        assert_eq!(fs::read_dir(self.home.path().join("work2")).unwrap().count(), 0);
    }
}
