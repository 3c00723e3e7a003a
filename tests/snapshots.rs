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
        self.command(machine, arguments).output().unwrap()
    }

    fn command(&self, machine: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.args(arguments).current_dir(self.home.path()).env("PADDOCK_STATE_DIR", self.path(machine));
        command.env("XDG_CONFIG_HOME", self.path("none")).env_remove("PADDOCK_POLICY");
        command
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

/// The journal of other roots that share the state directory: the snapshot could have half of their change.
#[test]
fn a_change_of_other_roots_that_is_not_complete_stops_a_snapshot() {
    let machines = Machines::new();
    fs::write(machines.path("project/a"), "a").unwrap();
    machines.call("here", "project", "write_file", &json!({ "path": "b", "content": "b" }));
    let state = fs::read_dir(machines.path("here")).unwrap().map(|entry| entry.unwrap().path());
    let state = state.into_iter().find(|path| path.join("history").is_dir()).unwrap();
    fs::write(state.join("journal-0123456789abcdef"), "damaged").unwrap();
    let message = machines.fail(&["snapshot", "project", "store#first"]);
    assert!(message.contains("cannot take the snapshot: ") && message.contains("journal"), "{message}");
    assert!(!machines.path("store/snapshots/first").exists());
    // A process that is killed while it writes a journal has changed nothing yet.
    fs::rename(state.join("journal-0123456789abcdef"), state.join("journal-0123456789abcdef.new")).unwrap();
    machines.snapshot("store#first");
    // A server has a state directory for each directory of the workspace that a token made a root.
    let parts = state.with_file_name(format!("{}@", state.file_name().unwrap().to_str().unwrap()));
    fs::create_dir_all(parts.join("docs")).unwrap();
    fs::write(parts.join("file"), "").unwrap();
    machines.snapshot("store#second");
    fs::write(parts.join("docs/journal-0123456789abcdef"), "").unwrap();
    let message = machines.fail(&["snapshot", "project", "store#third"]);
    assert!(message.contains("cannot take the snapshot: ") && message.contains("a part of the workspace"), "{message}");
}

/// Each call changes two files to one content. A snapshot is taken during the calls, and one after the process was killed.
#[test]
fn no_snapshot_has_half_of_a_change() {
    let machines = Machines::new();
    for name in ["a", "b"] {
        fs::write(machines.path("project").join(name), "0\n").unwrap();
    }
    let mut last = read(&machines.path("project/a"));
    for round in 0..5 {
        let mut calls = String::new();
        let mut before = last.clone();
        for number in 0..500 {
            let after = format!("{round}.{number}\n");
            let hunk = |name| format!("*** Update File: {name}\n@@\n-{before}+{after}");
            let patch = format!("*** Begin Patch\n{}{}*** End Patch\n", hunk("a"), hunk("b"));
            calls += &format!("{}\n", json!({ "tool": "apply_patch", "arguments": { "patch": patch } }));
            before = after;
        }
        fs::write(machines.path("calls"), calls).unwrap();
        let mut command = machines.command("here", &["batch", "--root", "project"]);
        let calls = fs::File::open(machines.path("calls")).unwrap();
        let mut batch = command.stdin(calls).stdout(std::process::Stdio::null()).spawn().unwrap();
        let begun = std::time::Instant::now();
        while read(&machines.path("project/a")) == last && begun.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let during = format!("store#during{round}");
        machines.succeed("here", &["snapshot", "project", &during]);
        batch.kill().unwrap();
        batch.wait().unwrap();
        let after = format!("store#after{round}");
        machines.succeed("here", &["snapshot", "project", &after]);
        for url in [during, after] {
            let directory = url.replace('#', "-");
            machines.succeed("there", &["restore-snapshot", "--without-history", &url, &directory]);
            let [a, b] = ["a", "b"].map(|name| read(&machines.path(&directory).join(name)));
            assert_eq!(a, b, "{url}");
        }
        last = read(&machines.path("project/a"));
        assert_ne!(last, "0\n", "round {round} changed something");
    }
}

#[test]
fn two_snapshots_of_a_workspace_at_once_are_both_complete() {
    let machines = Machines::new();
    (0..200).for_each(|number| fs::write(machines.path("project").join(format!("f{number}")), "content").unwrap());
    let names = ["one", "two", "three"];
    let running = names.map(|name| {
        let mut command = machines.command("here", &["snapshot", "project", &format!("store#{name}")]);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    });
    for mut process in running {
        assert!(process.wait().unwrap().success());
    }
    for name in names {
        let line = machines.succeed("there", &["restore-snapshot", &format!("store#{name}"), name]).concat();
        assert!(line.contains(": 200 files, "), "{line}");
    }
}

/// The processes are killed at some time, and the commands are repeated. A snapshot that is killed late has its name
/// already, and a restored tree that is killed late is in its place: both are then whole.
#[test]
fn a_killed_process_leaves_a_store_and_a_destination_that_can_be_used() {
    let machines = Machines::new();
    (0..300).for_each(|number| {
        fs::write(machines.path("project").join(format!("f{number}")), format!("content {number}")).unwrap();
    });
    for milliseconds in [20, 80, 200, 500] {
        let url = format!("store#after{milliseconds}");
        let directory = format!("moved{milliseconds}");
        for (machine, arguments) in
            [("here", ["snapshot", "project", url.as_str()]), ("there", ["restore-snapshot", url.as_str(), &directory])]
        {
            let mut process =
                machines.command(machine, &arguments).stdout(std::process::Stdio::null()).spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(milliseconds));
            let _ = process.kill();
            if !process.wait().unwrap().success() {
                let repeated = machines.run(machine, &arguments);
                let errors = String::from_utf8_lossy(&repeated.stderr);
                let is_done = errors.contains("the store has a snapshot of this name")
                    || errors.contains("the directory is not empty");
                assert!(repeated.status.success() || is_done, "{arguments:?}: {errors}");
            }
        }
        for number in 0..300 {
            let content = fs::read(machines.path(&directory).join(format!("f{number}"))).unwrap();
            assert_eq!(content, format!("content {number}").as_bytes(), "after {milliseconds} ms");
        }
    }
    let message = machines.run("here", &["snapshots", "collect", "store"]);
    let errors = String::from_utf8_lossy(&message.stderr);
    assert!(message.status.success() || errors.contains("after 24 hours"), "{errors}");
}

#[test]
fn a_store_in_the_workspace_is_refused() {
    let machines = Machines::new();
    fs::write(machines.path("project/a"), "a").unwrap();
    let message = machines.fail(&["snapshot", "project", "project/store#first"]);
    assert!(message.contains("the store is in the tree, at `store`"), "{message}");
}

#[test]
fn no_message_has_credentials() {
    let machines = Machines::new();
    for url in ["s3://name:hunter2@bucket#x", "s3://bucket?X-Amz-Signature=hunter2#x", "s3://name:a#hunter2@bucket"] {
        for arguments in [
            &["snapshot", "project", url][..],
            &["restore-snapshot", url, "moved"],
            &["snapshots", "list", url],
            &["snapshots", "remove", url],
            &["snapshots", "collect", url],
        ] {
            let output = machines.run("here", arguments);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
            assert!(errors.contains("cannot use the store") && !errors.contains("hunter2"), "{errors}");
        }
    }
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
