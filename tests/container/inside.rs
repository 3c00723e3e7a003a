//! Tools see the files of the container and no others.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use paddock::{Container, Workspace};
use serde_json::json;

use super::runc::{CANARY, Running, call, refusal};

#[test]
fn paths_are_those_of_the_container() {
    let Some(running) = Running::start() else { return };
    let workspace = running.workspace();
    let read = |path: &str| call(&workspace, "read_file", json!({ "path": path }));
    assert_eq!(read("src/main.rs")["path"], "src/main.rs");
    assert_eq!(read("/app/src/main.rs")["path"], "src/main.rs", "one file has one path");
    assert_eq!(read("/srv/data.txt")["path"], "/srv/data.txt");
    for path in ["/etc/passwd", "users", "users-too", "../etc/passwd", "/app/../../../etc/passwd"] {
        let result = read(path);
        assert_eq!(result["content"], "root:x:0:0:of-the-container", "{path}");
        assert_eq!(result["path"], "/etc/passwd", "{path}");
    }
    let listed = call(&workspace, "list_dir", json!({"path": "/"}));
    let paths: Vec<_> = listed["entries"].as_array().unwrap().iter().map(|entry| entry["path"].clone()).collect();
    assert_eq!(paths, ["/app", "/bin", "/etc", "/srv", "/tmp"], "and nothing of the kernel's");
    let result = call(&workspace, "grep", json!({"pattern": "served|main", "path": "/", "output": "files"}));
    assert_eq!(result["files"][0]["path"], "/app/src/main.rs");
    assert_eq!(result["files"][1]["path"], "/srv/data.txt");
    let near = refusal(&workspace, "read_file", json!({"path": "/srv/dota.txt"}));
    assert_eq!(near["hint"], "did you mean `/srv/data.txt`?");
    let near = refusal(&workspace, "list_dir", json!({"path": "/srw"}));
    assert_eq!(near["hint"], "did you mean `/srv`?");
}

#[test]
fn changes_are_seen_in_the_container_and_can_be_undone() {
    let Some(running) = Running::start() else { return };
    let workspace = running.workspace();
    fs::set_permissions(running.root().join("srv/data.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    call(&workspace, "write_file", json!({"path": "new/note.txt", "content": "written\n"}));
    assert_eq!(running.exec(&["cat", "/app/new/note.txt"]), "written\n");
    let edit = json!({"path": "/srv/data.txt", "edits": [{"old_text": "served", "new_text": "changed"}]});
    call(&workspace, "edit_file", edit);
    assert_eq!(running.exec(&["cat", "/srv/data.txt"]), "changed\n");
    let mode = fs::metadata(running.root().join("srv/data.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    call(&workspace, "restore", json!({"path": "/srv/data.txt"}));
    assert_eq!(running.exec(&["cat", "/srv/data.txt"]), "served\n");
    call(&workspace, "move", json!({"source": "/srv/data.txt", "destination": "moved.txt"}));
    assert_eq!(running.exec(&["cat", "/app/moved.txt"]), "served\n");
    assert!(running.bundle().join("state").is_dir() && !running.root().join("app/.paddock").exists());
}

#[test]
fn volumes_belong_to_the_container() {
    let volume = tempfile::TempDir::new().unwrap();
    fs::write(volume.path().join("kept.txt"), "kept\n").unwrap();
    let source = volume.path().to_str().unwrap().to_owned();
    let with_volume = |config: &mut serde_json::Value| {
        let mounts = config["mounts"].as_array_mut().unwrap();
        let options = json!(["bind", "rw"]);
        mounts.push(json!({"destination": "/app/volume", "type": "bind", "source": source, "options": options}));
        mounts.push(json!({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["rw"]}));
    };
    let Some(running) = Running::start_with(with_volume) else { return };
    let workspace = running.workspace();
    assert_eq!(call(&workspace, "read_file", json!({"path": "volume/kept.txt"}))["content"], "kept");
    call(&workspace, "write_file", json!({"path": "/tmp/in-memory.txt", "content": "x"}));
    assert_eq!(running.exec(&["cat", "/tmp/in-memory.txt"]), "x");
    assert!(!running.root().join("tmp/in-memory.txt").exists(), "the container's mount, not what it covers");
    let up = call(&workspace, "read_file", json!({"path": "volume/../src/main.rs"}));
    assert_eq!(up["path"], "src/main.rs");
}

#[test]
fn a_hostile_root_leads_nowhere_else() {
    let Some(running) = Running::start() else { return };
    let canary = running.bundle().join("canary.txt");
    let canary_path = canary.clone();
    let app = running.root().join("app");
    for (name, target) in [
        ("absolute", canary.to_str().unwrap()),
        ("up", "../../canary.txt"),
        ("far-up", "../../../../../../../../../../canary.txt"),
        ("bundle", running.bundle().to_str().unwrap()),
        ("process", "/proc/1/root"),
        ("descriptor", "/proc/self/fd/0"),
    ] {
        symlink(target, app.join(name)).unwrap();
    }
    let workspace = running.workspace();
    for path in ["absolute", "up", "far-up", "bundle/canary.txt", "../../canary.txt", canary.to_str().unwrap()] {
        assert_eq!(refusal(&workspace, "read_file", json!({ "path": path }))["code"], "not-found", "{path}");
    }
    assert_eq!(refusal(&workspace, "read_file", json!({"path": "descriptor"}))["code"], "denied");
    for path in ["process/etc/passwd", "/proc/1/environ", "/sys/kernel", "/dev/shm", "/dev/null"] {
        assert_eq!(refusal(&workspace, "stat", json!({ "path": path }))["code"], "denied", "{path}");
    }
    let result = call(&workspace, "grep", json!({"pattern": CANARY, "path": "/", "include_ignored": true}));
    assert_eq!(result["matches"], json!([]));
    call(&workspace, "write_file", json!({"path": "far-up", "content": "x"}));
    assert_eq!(running.exec(&["cat", "/canary.txt"]), "x", "it made what the link names in the container");
    assert_eq!(fs::read_to_string(canary).unwrap(), CANARY);
    call(&workspace, "copy", json!({"source": "absolute", "destination": "/tmp/absolute"}));
    let target = fs::read_link(running.root().join("tmp/absolute")).unwrap();
    assert_eq!(target, canary_path, "a link is copied as it is");
}

#[test]
fn a_kernel_s_file_system_is_closed_wherever_it_is_mounted() {
    let with_proc = |config: &mut serde_json::Value| {
        let mounts = config["mounts"].as_array_mut().unwrap();
        mounts.push(json!({"destination": "/app/p", "type": "proc", "source": "proc"}));
        mounts.push(json!({"destination": "/app/s", "type": "sysfs", "source": "sysfs"}));
    };
    let Some(running) = Running::start_with(with_proc) else { return };
    let workspace = running.workspace();
    for path in ["p/sys/kernel/core_pattern", "p/1/environ", "s/kernel"] {
        let refused = refusal(&workspace, "stat", json!({ "path": path }));
        assert_eq!(refused["code"], "permission-denied", "{path}: {refused}");
    }
    let result = call(&workspace, "grep", json!({"pattern": "core", "path": ".", "output": "files"}));
    assert_eq!(result["files"], json!([]));
}

#[test]
fn a_working_directory_that_is_a_link_is_followed_in_the_container() {
    let Some(running) = Running::start() else { return };
    symlink("/srv", running.root().join("link")).unwrap();
    let open = |cwd: &str| {
        let path = running.bundle().join("config.json");
        let mut config: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        config["process"]["cwd"] = json!(cwd);
        fs::write(path, config.to_string()).unwrap();
        Container::open(&running.name())
    };
    let container = open("/link").unwrap();
    assert_eq!(container.working_directory().to_str(), Some("/srv"));
    let workspace = Workspace::builder().container(&container).no_state_dir().build().unwrap();
    assert_eq!(call(&workspace, "read_file", json!({"path": "data.txt"}))["content"], "served");

    let whole = Workspace::builder().container(&open("/").unwrap()).no_state_dir().build().unwrap();
    assert_eq!(call(&whole, "read_file", json!({"path": "/etc/passwd"}))["path"], "etc/passwd");
    assert_eq!(call(&whole, "read_file", json!({"path": "app/users-too"}))["path"], "etc/passwd");
    assert_eq!(call(&whole, "read_file", json!({"path": "../etc/passwd"}))["path"], "etc/passwd");
    assert_eq!(refusal(&whole, "stat", json!({"path": "proc/1/environ"}))["code"], "denied");

    symlink("/proc/1", running.root().join("process")).unwrap();
    for (cwd, cause) in
        [("/proc", "itself"), ("/process", "itself"), ("/dev", "closed to tools"), ("/none", "No such file")]
    {
        let refused = open(cwd).unwrap_err().to_string();
        assert!(refused.contains(if cause == "itself" { "`/proc" } else { cause }), "{cwd}: {refused}");
    }
}

#[test]
fn relative_paths_start_where_the_caller_says() {
    let Some(running) = Running::start() else { return };
    symlink("/srv", running.root().join("app/link")).unwrap();
    symlink("../../../../..", running.root().join("app/up")).unwrap();
    let container = Container::open(&running.name()).unwrap();
    let at = |path: &str| container.with_working_directory(path);
    for (path, real) in [("/srv", "/srv"), ("/app/link/../srv/.", "/srv"), ("/app/up/app/src", "/app/src"), ("/", "/")]
    {
        assert_eq!(at(path).unwrap().working_directory().to_str(), Some(real), "{path}");
    }
    let open = |path: &str| {
        let builder = Workspace::builder().container(&at(path).unwrap());
        builder.state_dir(running.bundle().join("state-of").join(path.replace('/', "_"))).build().unwrap()
    };
    let (served, sources) = (open("/app/link"), open("/app/src"));
    assert_eq!(call(&served, "read_file", json!({"path": "data.txt"}))["content"], "served");
    assert_eq!(call(&served, "read_file", json!({"path": "/srv/data.txt"}))["path"], "data.txt");
    assert_eq!(call(&served, "read_file", json!({"path": "/app/src/main.rs"}))["path"], "/app/src/main.rs");
    call(&sources, "write_file", json!({"path": "new.rs", "content": "x"}));
    assert_eq!(running.exec(&["cat", "/app/src/new.rs"]), "x");
    assert_eq!(container.working_directory().to_str(), Some("/app"), "the one it came from stays");
    for (path, cause) in [
        ("srv", "not an absolute path, such as `/srv`"),
        ("", "not an absolute path"),
        ("/srv/data.txt", "Not a directory"),
        ("/none", "No such file"),
        ("/proc/1", "`/proc"),
        ("/dev", "closed to tools"),
    ] {
        let refused = at(path).unwrap_err().to_string();
        assert!(refused.contains(&running.name()) && refused.contains(cause), "{path}: {refused}");
    }
}

#[test]
fn the_command_line_says_where_relative_paths_start() {
    let Some(running) = Running::start() else { return };
    fs::write(running.root().join("srv/.paddock.yaml"), "read_only: true\n").unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.arg("call").args(arguments).env_remove("PADDOCK_POLICY");
        command.env("XDG_CONFIG_HOME", running.bundle()).env("PADDOCK_STATE_DIR", running.bundle().join("state"));
        command.output().unwrap()
    };
    let container = running.name();
    let read = ["read_file", r#"{"path": "data.txt"}"#];
    let output = run(&[&["--container", &container, "--workdir", "/srv"], &read[..]].concat());
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(answer["result"]["content"], "served");
    let write = ["write_file", r#"{"path": "a", "content": "x"}"#];
    let output = run(&[&["--container", &container, "--workdir", "/srv"], &write[..]].concat());
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(answer["error"]["code"], "read-only", "by the file in that directory");
    let output = run(&[&["--container", &container, "--workdir", "/srv/data.txt"], &read[..]].concat());
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("Not a directory"), "{output:?}");
    let output = run(&[&["--workdir", "/srv"], &read[..]].concat());
    assert_eq!(output.status.code(), Some(2), "it is of a container alone: {output:?}");
}

#[test]
fn a_read_only_workspace_changes_nothing_by_any_path() {
    let Some(running) = Running::start() else { return };
    let workspace = running.builder().read_only().build().unwrap();
    for path in ["new.txt", "/app/new.txt", "/tmp/new.txt", "../tmp/new.txt"] {
        let refused = refusal(&workspace, "write_file", json!({"path": path, "content": "x"}));
        assert_eq!(refused["code"], "read-only", "{path}");
    }
    assert!(!running.root().join("tmp/new.txt").exists() && !running.root().join("app/new.txt").exists());
}

#[test]
fn rules_count_in_it_and_directories_of_this_machine_do_not() {
    let Some(running) = Running::start() else { return };
    let container = Container::open(&running.name()).unwrap();
    let builder = || Workspace::builder().container(&container).no_state_dir();
    let workspace = builder().policy_json(r#"{"blocked_directories": ["/srv", "src"]}"#).unwrap().build().unwrap();
    for path in ["/srv/data.txt", "src/main.rs", "/app/src/main.rs", "../srv"] {
        assert_eq!(refusal(&workspace, "stat", json!({ "path": path }))["code"], "denied", "{path}");
    }
    for policy in [r#"{"allowed_directories": ["/tmp"]}"#, r#"{"mode": "unrestricted"}"#] {
        let refused = builder().policy_json(policy).unwrap().build().err().unwrap().to_string();
        assert!(refused.contains("this machine's"), "{refused}");
    }
    let refused = builder().root("/tmp").build().err().unwrap().to_string();
    assert!(refused.contains("a container cannot be combined with the root `/tmp`"), "{refused}");
    fs::write(running.root().join("app/.paddock.yaml"), "read_only: true\n").unwrap();
    let layers = paddock::Layers::load_in(&container).unwrap();
    let workspace = builder().policy_layers(&layers).unwrap().build().unwrap();
    let refused = refusal(&workspace, "write_file", json!({"path": "/tmp/a", "content": "x"}));
    assert_eq!(refused["code"], "read-only");
    let setting = layers.effective("paddock").unwrap().into_iter().find(|one| one.name == "read_only").unwrap();
    assert_eq!(setting.origins, [format!("{}:/app/.paddock.yaml:1", running.name())]);
}
