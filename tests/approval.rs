//! Calls that need approval: only the approved change is made.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use paddock::types::{DeleteArgs, ErrorCode, Plan, WriteArgs};
use paddock::{CallOptions, Decision, Grant, Outcome, Workspace};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(600);

struct Fixture {
    workspace: Workspace,
    home: TempDir,
}

/// A function that decides about a plan.
type Decide = Box<dyn Fn(&Plan) -> Decision + Send + Sync>;

impl Fixture {
    fn new(approval: &str) -> Self {
        Self::with_approver(approval, None)
    }

    fn with_approver(approval: &str, approver: Option<Decide>) -> Self {
        let home = TempDir::new().unwrap();
        let root = home.path().join("work");
        fs::create_dir_all(root.join("dir")).unwrap();
        fs::write(root.join("a.txt"), "one\n").unwrap();
        fs::write(root.join("dir/b.txt"), "b\n").unwrap();
        let builder = Workspace::builder().root(&root).state_dir(home.path().join("state"));
        let mut builder = builder.policy_json(&format!(r#"{{"approval": "{approval}"}}"#)).unwrap();
        if let Some(approver) = approver {
            builder = builder.approver(approver);
        }
        Self { workspace: builder.build().unwrap(), home }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("work").join(name)
    }

    fn call(&self, tool: &str, arguments: &str) -> Outcome {
        self.workspace.call(tool, arguments)
    }

    fn granted(&self, tool: &str, arguments: &str, grant: &Grant) -> Outcome {
        self.workspace.call_with(tool, arguments, &CallOptions::default().with_grant(grant.clone()))
    }

    /// Returns the plan of a call that needs approval.
    #[track_caller]
    fn plan(&self, tool: &str, arguments: &str) -> Plan {
        let outcome = self.call(tool, arguments);
        assert_eq!(code(&outcome), "approval-required", "{}", outcome.text);
        outcome.plan.expect("a plan")
    }
}

fn code(outcome: &Outcome) -> String {
    outcome.value()["code"].as_str().unwrap_or("ok").to_owned()
}

const DELETE: &str = r#"{"path": "a.txt"}"#;

#[test]
fn a_call_that_was_approved_runs_and_no_other() {
    let fixture = Fixture::new("on-delete");
    let plan = fixture.plan("delete", DELETE);
    assert_eq!(
        (plan.summary.as_str(), &plan.paths[..]),
        ("delete `a.txt` (a file of 4 bytes)\n", &["a.txt".to_owned()][..])
    );
    assert!(fixture.path("a.txt").exists());
    let grant = fixture.workspace.grant(&plan, LONG);
    // The plan approves neither another path nor other arguments.
    for (tool, arguments) in
        [("delete", r#"{"path": "dir/b.txt"}"#), ("delete", r#"{"path": "a.txt", "recursive": true}"#)]
    {
        let grant = fixture.workspace.grant(&plan, LONG);
        assert_eq!(code(&fixture.granted(tool, arguments, &grant)), "approval-required", "{arguments}");
    }
    assert!(fixture.granted("delete", DELETE, &grant).ok);
    assert!(!fixture.path("a.txt").exists());
}

#[test]
fn an_approval_is_good_once() {
    let fixture = Fixture::new("on-delete");
    let grant = fixture.workspace.grant(&fixture.plan("delete", DELETE), LONG);
    assert!(fixture.granted("delete", DELETE, &grant).ok);
    fs::write(fixture.path("a.txt"), "one\n").unwrap();
    let again = fixture.granted("delete", DELETE, &grant);
    assert_eq!(code(&again), "denied", "{}", again.text);
    assert!(fixture.path("a.txt").exists());
}

#[test]
fn an_approval_is_bound_to_the_content() {
    let fixture = Fixture::new("on-change");
    let dir = r#"{"path": "dir", "recursive": true}"#;
    let plans = [
        fixture.plan("delete", DELETE),
        fixture.plan("delete", dir),
        fixture.plan("move", r#"{"source": "dir", "destination": "d2"}"#),
    ];
    fs::write(fixture.path("a.txt"), "two\n").unwrap();
    fs::write(fixture.path("dir/new.txt"), "new\n").unwrap();
    let calls = [("delete", DELETE), ("delete", dir), ("move", r#"{"source": "dir", "destination": "d2"}"#)];
    for (plan, (tool, arguments)) in plans.iter().zip(calls) {
        let outcome = fixture.granted(tool, arguments, &fixture.workspace.grant(plan, LONG));
        assert_eq!(code(&outcome), "approval-required", "{arguments}");
        assert_ne!(outcome.plan.unwrap().digest, plan.digest);
    }
    assert!(fixture.path("a.txt").exists() && fixture.path("dir/new.txt").exists());
}

/// Different content of the same size and time is detected.
#[test]
fn an_approval_of_a_directory_covers_the_content_of_its_files() {
    let fixture = Fixture::new("on-change");
    let dir = r#"{"path": "dir", "recursive": true}"#;
    let plan = fixture.plan("delete", dir);
    let path = fixture.path("dir/b.txt");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "c\n").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    let outcome = fixture.granted("delete", dir, &fixture.workspace.grant(&plan, LONG));
    assert_eq!(code(&outcome), "approval-required");
    assert_eq!(fs::read_to_string(&path).unwrap(), "c\n");
}

#[test]
fn forged_altered_foreign_and_expired_approvals_are_refused() {
    let fixture = Fixture::new("on-delete");
    let plan = fixture.plan("delete", DELETE);
    let other = Fixture::new("on-delete");
    let foreign = other.workspace.grant(&plan, LONG);
    assert_eq!(code(&fixture.granted("delete", DELETE, &foreign)), "denied");
    let forged = Plan { digest: "0".repeat(64), ..plan.clone() };
    assert_eq!(code(&fixture.granted("delete", DELETE, &fixture.workspace.grant(&forged, LONG))), "approval-required");
    let late = fixture.workspace.grant(&plan, Duration::from_millis(20));
    thread::sleep(Duration::from_millis(40));
    assert_eq!(code(&fixture.granted("delete", DELETE, &late)), "denied");
    assert!(fixture.path("a.txt").exists());
}

#[test]
fn the_approver_decides() {
    let questions: Arc<Mutex<Vec<Plan>>> = Arc::default();
    let plans = questions.clone();
    let approver = move |plan: &Plan| {
        plans.lock().unwrap().push(plan.clone());
        match plan.paths.iter().any(|path| path == "dir") {
            true => Decision::Refuse("keep that".to_owned()),
            false => Decision::Approve,
        }
    };
    let fixture = Fixture::with_approver("on-change", Some(Box::new(approver)));
    assert!(fixture.call("write_file", r#"{"path": "n.txt", "content": "n"}"#).ok);
    assert!(fixture.call("edit_file", r#"{"path": "a.txt", "edits": [{"old_text": "one", "new_text": "1"}]}"#).ok);
    let refused = fixture.call("delete", r#"{"path": "dir", "recursive": true}"#);
    assert_eq!(code(&refused), "denied");
    assert!(refused.text.contains("keep that"), "{}", refused.text);
    assert!(fixture.call("read_file", DELETE).ok);
    fixture.workspace.write(&WriteArgs::new("typed.txt", "t")).unwrap();
    assert!(fixture.workspace.delete(&DeleteArgs { recursive: true, ..DeleteArgs::new("dir") }).is_err());
    let questions = questions.lock().unwrap();
    assert_eq!(questions.len(), 5);
    assert!(questions[1].summary.contains("-one\n+1"), "an edit is shown: {}", questions[1].summary);
}

/// The content may change while a person decides: the new content needs a new approval.
#[test]
fn a_change_during_the_decision_needs_a_new_approval() {
    let home: Arc<Mutex<Option<PathBuf>>> = Arc::default();
    let (path, count) = (home.clone(), Arc::new(Mutex::new(0)));
    let counted = count.clone();
    let approver = move |_: &Plan| {
        *counted.lock().unwrap() += 1;
        if let Some(path) = path.lock().unwrap().take() {
            fs::write(path, "changed\n").unwrap();
        }
        Decision::Approve
    };
    let fixture = Fixture::with_approver("on-delete", Some(Box::new(approver)));
    *home.lock().unwrap() = Some(fixture.path("a.txt"));
    assert!(fixture.call("delete", DELETE).ok);
    assert_eq!(*count.lock().unwrap(), 2);
}

#[test]
fn every_way_to_delete_needs_approval() {
    let fixture = Fixture::new("on-delete");
    let patch = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch";
    let arguments = serde_json::json!({ "patch": patch }).to_string();
    let plan = fixture.plan("apply_patch", &arguments);
    assert_eq!(plan.paths, ["a.txt"]);
    assert!(fixture.granted("apply_patch", &arguments, &fixture.workspace.grant(&plan, LONG)).ok);
    let update = "*** Begin Patch\n*** Update File: dir/b.txt\n@@\n-b\n+c\n*** End Patch";
    assert!(
        fixture.call("apply_patch", &serde_json::json!({ "patch": update }).to_string()).ok,
        "changes nobody has to see"
    );
    let written = fixture.call("write_file", r#"{"path": "n.txt", "content": "n"}"#);
    let backup = written.value()["backup"].as_str().unwrap().to_owned();
    // The undo of a newly written file deletes it, which needs approval.
    let undo = format!(r#"{{"backup": "{backup}"}}"#);
    let plan = fixture.plan("restore", &undo);
    assert_eq!(plan.paths, ["n.txt"]);
    assert!(fixture.granted("restore", &undo, &fixture.workspace.grant(&plan, LONG)).ok);
    assert!(!fixture.path("n.txt").exists());
    for (dialect, tool, arguments) in [
        ("chorus", "file.delete", r#"{"path": "dir/b.txt"}"#),
        ("weakincentives", "rm", r#"{"path": "dir", "recursive": true}"#),
        ("openai", "apply_patch", r#"{"operation": {"type": "delete_file", "path": "dir/b.txt"}}"#),
        ("lincona", "apply_patch_json", r#"{"patch": "--- a/dir/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n"}"#),
    ] {
        let outcome = fixture.workspace.call_with(tool, arguments, &CallOptions::dialect(dialect));
        let code = outcome.error.expect(dialect).code;
        assert_eq!(code, ErrorCode::ApprovalRequired, "{dialect}: {}", outcome.text);
    }
    assert!(fixture.path("dir/b.txt").exists());
}

/// A file that another one replaces is lost like a deleted one. A file that gets other text is changed.
#[test]
fn replacing_a_file_is_asked_about_by_every_way() {
    let fixture = Fixture::new("on-delete");
    let call = |dialect: &str, tool: &str, arguments: &str| {
        fixture.workspace.call_with(tool, arguments, &CallOptions::dialect(dialect))
    };
    let packed = call("dotnet-prompt", "compress_files", r#"{"source_paths": ["a.txt"], "destination_path": "a.zip"}"#);
    assert!(packed.ok, "{}", packed.text);
    fs::write(fixture.path("a.txt"), "two\n").unwrap();
    let replaced = |patch: &str| serde_json::json!({ "patch": format!("*** Begin Patch\n{patch}*** End Patch") });
    let add = replaced("*** Delete File: a.txt\n*** Add File: a.txt\n+new\n").to_string();
    let r#move = replaced("*** Delete File: a.txt\n*** Update File: dir/b.txt\n*** Move to: a.txt\n@@\n-b\n+c\n");
    for (dialect, tool, arguments) in [
        ("paddock", "move", r#"{"source": "dir/b.txt", "destination": "a.txt", "overwrite": true}"#),
        ("paddock", "copy", r#"{"source": "dir/b.txt", "destination": "a.txt", "overwrite": true}"#),
        (
            "dotnet-prompt",
            "compress_files",
            r#"{"source_paths": ["dir"], "destination_path": "a.txt", "overwrite": true}"#,
        ),
        (
            "dotnet-prompt",
            "extract_archive",
            r#"{"archive_path": "a.zip", "destination_path": ".", "overwrite": true}"#,
        ),
        ("paddock", "apply_patch", &add),
        ("paddock", "apply_patch", &r#move.to_string()),
    ] {
        let outcome = call(dialect, tool, arguments);
        let plan = outcome.plan.unwrap_or_else(|| panic!("{tool}: {}", outcome.text));
        assert!(plan.summary.contains("replace"), "{tool}: {}", plan.summary);
        assert!(plan.paths.contains(&"a.txt".to_owned()), "{tool}: {:?}", plan.paths);
    }
    assert_eq!(fs::read_to_string(fixture.path("a.txt")).unwrap(), "two\n");
    for (dialect, tool, arguments) in [
        ("paddock", "write_file", r#"{"path": "a.txt", "content": "three\n"}"#),
        ("paddock", "copy", r#"{"source": "dir/b.txt", "destination": "free.txt", "overwrite": true}"#),
        ("paddock", "move", r#"{"source": "free.txt", "destination": "moved.txt", "overwrite": true}"#),
        (
            "dotnet-prompt",
            "extract_archive",
            r#"{"archive_path": "a.zip", "destination_path": "out", "overwrite": true}"#,
        ),
    ] {
        let outcome = call(dialect, tool, arguments);
        assert!(outcome.ok, "{tool}: {}", outcome.text);
    }
}

/// Every dialect that writes a file shows its content before a person approves it.
#[test]
fn a_write_is_shown_in_every_dialect() {
    let fixture = Fixture::new("on-change");
    for (dialect, tool, arguments) in [
        ("paddock", "write_file", r#"{"path": "a.txt", "content": "evil\n"}"#),
        ("paddock", "write_file", r#"{"path": "a.txt", "content": "evil\n", "append": true}"#),
        ("chorus", "file.write", r#"{"path": "a.txt", "content": "evil\n"}"#),
        ("weakincentives", "write_file", r#"{"file_path": "new.txt", "content": "evil\n"}"#),
        ("mcp-filesystem", "write_file", r#"{"path": "a.txt", "content": "evil\n"}"#),
        ("codex", "apply_patch", r#"{"input": "*** Begin Patch\n*** Add File: a.txt\n+evil\n*** End Patch\n"}"#),
        (
            "anthropic",
            "str_replace_based_edit_tool",
            r#"{"command": "create", "path": "new.txt", "file_text": "evil\n"}"#,
        ),
    ] {
        let outcome = fixture.workspace.call_with(tool, arguments, &CallOptions::dialect(dialect));
        let plan = outcome.plan.unwrap_or_else(|| panic!("{dialect}: {}", outcome.text));
        assert!(plan.summary.contains("\n+evil\n"), "{dialect}: {}", plan.summary);
    }
}

#[test]
fn a_plan_that_is_not_whole_says_so() {
    let fixture = Fixture::new("on-change");
    let content = "a line of text\n".repeat(100_000);
    let arguments = serde_json::json!({ "path": "a.txt", "content": content }).to_string();
    let plan = fixture.plan("write_file", &arguments);
    assert!(plan.omitted_bytes > 1_200_000 && plan.summary.len() < 257 * 1024, "{}", plan.omitted_bytes);
    let last = plan.summary.lines().last().unwrap_or_default();
    assert!(last.contains(&format!("{} bytes are not shown", plan.omitted_bytes)), "{last}");
    assert!(fixture.granted("write_file", &arguments, &fixture.workspace.grant(&plan, LONG)).ok);
}

#[test]
fn a_model_cannot_say_that_it_is_approved() {
    let fixture = Fixture::new("on-delete");
    let grant = format!("{:?}", fixture.workspace.grant(&fixture.plan("delete", DELETE), LONG));
    for arguments in [
        r#"{"path": "a.txt", "approved": true}"#.to_owned(),
        r#"{"path": "a.txt", "grant": "x"}"#.to_owned(),
        serde_json::json!({ "path": "a.txt", "approval": grant }).to_string(),
    ] {
        assert_eq!(code(&fixture.call("delete", &arguments)), "invalid-argument");
    }
    assert!(fixture.path("a.txt").exists());
}

/// Planning a replacement only reads and needs no approval; carrying it out does.
#[test]
fn a_replacement_needs_approval_when_it_is_applied() {
    let fixture = Fixture::new("on-change");
    let mut arguments = serde_json::json!({"pattern": "(o)ne|b", "replacement": "${1}B"});
    let looked = fixture.call("replace", &arguments.to_string());
    assert!(looked.ok, "{}", looked.text);
    arguments["plan"] = looked.value()["plan"].clone();
    let call = arguments.to_string();
    let plan = fixture.plan("replace", &call);
    assert_eq!(plan.paths, ["a.txt", "dir/b.txt"]);
    assert!(plan.summary.starts_with("replace in `a.txt` (a file of 4 bytes)\n"), "{}", plan.summary);
    assert!(plan.summary.contains("+++ b/a.txt\n@@ -1 +1 @@\n-one\n+oB\n"), "{}", plan.summary);
    let grant = fixture.workspace.grant(&plan, LONG);
    fs::write(fixture.path("dir/b.txt"), "b b\n").unwrap();
    // No approval is requested for a call that would fail.
    assert_eq!(code(&fixture.granted("replace", &call, &grant)), "changed-since-read");
    fs::write(fixture.path("dir/b.txt"), "b\n").unwrap();
    assert!(fixture.granted("replace", &call, &fixture.workspace.grant(&plan, LONG)).ok);
    assert_eq!(fs::read_to_string(fixture.path("a.txt")).unwrap(), "oB\n");
    assert_eq!(fs::read_to_string(fixture.path("dir/b.txt")).unwrap(), "B\n");
    assert!(Fixture::new("on-delete").call("replace", &call).ok);
}

/// An approval of a change through a symbolic link is for the target of the link.
#[test]
fn an_approval_through_a_link_is_for_the_file_behind_it() {
    for (tool, arguments) in [
        ("write_file", r#"{"path": "link.txt", "content": "new\n"}"#),
        ("edit_file", r#"{"path": "link.txt", "edits": [{"old_text": "one", "new_text": "two"}]}"#),
    ] {
        let fixture = Fixture::new("on-change");
        fs::write(fixture.path("real.txt"), "one\n").unwrap();
        std::os::unix::fs::symlink("real.txt", fixture.path("link.txt")).unwrap();
        let plan = fixture.plan(tool, arguments);
        assert!(plan.summary.contains("`real.txt`") && plan.paths == ["real.txt"], "{plan:?}");
        let grant = fixture.workspace.grant(&plan, Duration::from_secs(60));
        fs::write(fixture.path("real.txt"), "one, by a person\n").unwrap();
        assert_eq!(code(&fixture.granted(tool, arguments, &grant)), "approval-required", "{tool}");
        assert_eq!(fs::read_to_string(fixture.path("real.txt")).unwrap(), "one, by a person\n");
    }
}
