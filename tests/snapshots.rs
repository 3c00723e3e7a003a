//! `paddock snapshot`, `restore-snapshot` and `snapshots` from outside.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A workspace, a store, and the state directories of this machine and another one.
struct Machines {
    home: TempDir,
}

impl Machines {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        for directory in ["project", "here", "there"] {
            fs::create_dir(home.path().join(directory)).unwrap();
        }
        Self { home }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Runs the program on the machine `here` or `there`.
    fn run(&self, machine: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.args(arguments).current_dir(self.home.path()).env("PADDOCK_STATE_DIR", self.path(machine));
        command.env("XDG_CONFIG_HOME", self.path("none")).env_remove("PADDOCK_POLICY");
        command.output().unwrap()
    }

    /// Runs the program and returns the lines of its output.
    fn succeed(&self, machine: &str, arguments: &[&str]) -> Vec<String> {
        let output = self.run(machine, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Runs the program, which fails, and returns its message.
    fn fail(&self, arguments: &[&str]) -> String {
        let output = self.run("here", arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert_eq!(output.stdout, b"");
        String::from_utf8(output.stderr).unwrap()
    }

    fn call(&self, machine: &str, root: &str, tool: &str, arguments: &Value) -> Value {
        let output = self.run(machine, &["call", "--root", root, tool, &arguments.to_string()]);
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn snapshot(&self, url: &str) -> Value {
        let lines = self.succeed("here", &["snapshot", "--json", "project", url]);
        serde_json::from_str(&lines.concat()).unwrap()
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_workspace_moves_with_its_history() {
    let machines = Machines::new();
    let project = machines.path("project");
    fs::create_dir_all(project.join("src/empty")).unwrap();
    fs::write(project.join("run.sh"), "old\n").unwrap();
    fs::set_permissions(project.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("run.sh", project.join("link")).unwrap();
    for content in ["new\n", "newer\n"] {
        let written = machines.call("here", "project", "write_file", &json!({ "path": "run.sh", "content": content }));
        assert_eq!(written["ok"], true, "{written}");
    }
    let report = machines.snapshot("store#moved");
    assert_eq!(report["snapshot"], "store#moved");
    let digest = report["digest"].as_str().unwrap();
    let restore = ["restore-snapshot", "--digest", digest, "store#moved", "moved"];
    let lines = machines.succeed("there", &restore);
    assert!(lines[0].ends_with(" 2 backups"), "{lines:?}");
    let moved = machines.path("moved");
    assert_eq!(read(&moved.join("run.sh")), "newer\n");
    assert_eq!(fs::metadata(moved.join("run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_link(moved.join("link")).unwrap(), Path::new("run.sh"));
    assert!(moved.join("src/empty").is_dir());
    // The backups belong to the moved workspace, and undo the changes there.
    assert_eq!(machines.succeed("there", &["history", "--root", "moved"]).len(), 2);
    machines.succeed("there", &["restore", "--root", "moved", "run.sh"]);
    assert_eq!(read(&moved.join("run.sh")), "new\n");
    assert_eq!(read(&project.join("run.sh")), "newer\n", "the old workspace is as it was");
}

#[test]
fn a_snapshot_can_be_without_history() {
    let machines = Machines::new();
    machines.call("here", "project", "write_file", &json!({ "path": "a", "content": "a" }));
    machines.call("here", "project", "write_file", &json!({ "path": "a", "content": "b" }));
    machines.succeed("here", &["snapshot", "--without-history", "project", "store#without"]);
    machines.succeed("here", &["snapshot", "project", "store#with"]);
    machines.succeed("there", &["restore-snapshot", "store#without", "first"]);
    machines.succeed("there", &["restore-snapshot", "--without-history", "store#with", "second"]);
    for root in ["first", "second"] {
        assert_eq!(read(&machines.path(root).join("a")), "b");
        assert_eq!(machines.succeed("there", &["history", "--root", root]), [""; 0]);
    }
}

#[test]
fn a_second_snapshot_stores_what_changed() {
    let machines = Machines::new();
    for number in 0..30 {
        fs::write(machines.path("project").join(format!("f{number}")), format!("content {number}")).unwrap();
    }
    // Stamps are trusted when they are 2 s old.
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    let first = machines.snapshot("store");
    assert_eq!((&first["files_read"], &first["objects_stored"]), (&json!(30), &json!(30)));
    (0..10).for_each(|number| {
        fs::write(machines.path("project").join(format!("f{number}")), format!("new {number}")).unwrap()
    });
    let second = machines.snapshot("store#second");
    assert_eq!((&second["files_read"], &second["objects_stored"]), (&json!(10), &json!(10)));
    assert_eq!(machines.succeed("here", &["snapshots", "list", "store"]).len(), 2);
    let name = first["snapshot"].as_str().unwrap();
    machines.succeed("here", &["snapshots", "remove", name]);
    let lines = machines.succeed("here", &["snapshots", "collect", "store"]);
    assert!(lines[0].starts_with("removed 10 objects"), "{lines:?}");
    machines.succeed("there", &["restore-snapshot", "store#second", "moved"]);
    assert_eq!(read(&machines.path("moved/f3")), "new 3");
}

#[test]
fn failures_name_the_cause_and_leave_nothing() {
    let machines = Machines::new();
    fs::write(machines.path("project/a"), "content").unwrap();
    machines.succeed("here", &["snapshot", "project", "store#first"]);
    for (arguments, cause) in [
        (&["snapshot", "project", "store#first"][..], "has a snapshot of this name"),
        (&["snapshot", "none", "store#second"], "cannot open the root `none`"),
        (&["snapshot", "--max-bytes", "6", "project", "store#second"], "more than the limit of 6"),
        (&["restore-snapshot", "store", "moved"], "add its name, as in `store#NAME`"),
        (&["restore-snapshot", "store#none", "moved"], "the store has none of this name"),
        (&["restore-snapshot", "elsewhere#first", "moved"], "cannot use the store `elsewhere`"),
        (&["restore-snapshot", "store#first", "project"], "not empty"),
        (&["restore-snapshot", "--max-entries", "1", "store#first", "moved"], "more than the limit of 1"),
        (&["restore-snapshot", "--digest", &"0".repeat(64), "store#first", "moved"], "was expected"),
        (&["snapshots", "remove", "store#none"], "the store has none of this name"),
    ] {
        let message = machines.fail(arguments);
        assert!(message.starts_with("paddock: ") && message.contains(cause), "{arguments:?}: {message}");
    }
    assert!(!machines.path("moved").exists());
    let wrong = machines.run("here", &["snapshot", "project", "store#../x"]);
    assert_eq!(wrong.status.code(), Some(2));
}

/// A snapshot waits for a change, and a change that a crash interrupted is finished first.
#[test]
fn a_journal_is_finished_first() {
    let machines = Machines::new();
    fs::write(machines.path("project/a"), "a").unwrap();
    machines.call("here", "project", "write_file", &json!({ "path": "b", "content": "b" }));
    let state = fs::read_dir(machines.path("here")).unwrap().map(|entry| entry.unwrap().path());
    let state = state.into_iter().find(|path| path.join("history").is_dir()).unwrap();
    // A journal that cannot be read stops the snapshot.
    fs::write(state.join("journal"), "damaged").unwrap();
    let output = machines.run("here", &["snapshot", "project", "store#first"]);
    let journal_remains = fs::read_dir(&state).unwrap().any(|entry| {
        let name = entry.unwrap().file_name();
        name.as_encoded_bytes().starts_with(b"journal") && name != "journal.refused"
    });
    assert_eq!(output.status.success(), !journal_remains, "{}", String::from_utf8_lossy(&output.stderr));
}

/// Every command of the guide's page has options that exist.
#[test]
fn the_commands_of_the_guide_are_parsed() {
    let page = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host/guide/src/snapshots.md"));
    let commands: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("paddock ")).collect();
    assert_eq!(commands.len(), 6);
    let machines = Machines::new();
    for command in commands {
        let arguments: Vec<_> = command.split(' ').chain(["--help"]).collect();
        let lines = machines.succeed("here", &arguments);
        assert!(lines.iter().any(|line| line.starts_with("Usage: ")), "{command}");
    }
}
