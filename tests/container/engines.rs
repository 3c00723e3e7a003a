//! Recorded answers of container engines, returned by a program of the engine's name on the `PATH` of the command line.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::runc::Running;

/// `podman container inspect`, of podman 4.3.1.
pub(super) const PODMAN: &str = include_str!("podman.json");
/// `docker container inspect`, shortened after the reference of Docker's API 1.47.
const DOCKER: &str = include_str!("docker.json");

/// A `PATH` with mock engines only.
pub(super) struct Engines(TempDir);

impl Engines {
    pub(super) fn new() -> Self {
        let engines = Self(TempDir::new().unwrap());
        fs::create_dir(engines.0.path().join("bin")).unwrap();
        engines
    }

    /// Adds an engine with a recorded answer about a running container with this process.
    pub(super) fn record(&self, engine: &str, answer: &str, pid: u64) {
        let mut answer: Value = serde_json::from_str(answer).unwrap();
        answer[0]["State"]["Status"] = json!("running");
        answer[0]["State"]["Pid"] = json!(pid);
        let path = self.0.path().join(format!("{engine}.json"));
        fs::write(&path, answer.to_string()).unwrap();
        self.script(engine, &format!("test \"$*\" = 'container inspect web' && exec /bin/cat '{}'", path.display()));
    }

    fn script(&self, engine: &str, body: &str) {
        let path = self.0.path().join("bin").join(engine);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn call(&self, container: &str, path: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.args(["call", "--container", container, "read_file", &json!({ "path": path }).to_string()]);
        command.env("PATH", self.0.path().join("bin")).env_remove("PADDOCK_POLICY");
        command.env("XDG_CONFIG_HOME", self.0.path()).env("PADDOCK_STATE_DIR", self.0.path().join("state"));
        command.output().unwrap()
    }

    /// Returns the error of opening a container.
    pub(super) fn refused(&self, container: &str) -> String {
        let output = self.call(container, "/etc/passwd");
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn podman_and_docker_are_understood() {
    let Some(running) = Running::start() else { return };
    for (engine, answer) in [("podman", PODMAN), ("docker", DOCKER)] {
        let engines = Engines::new();
        engines.record(engine, answer, running.pid());
        for name in ["web", &format!("{engine}:web")] {
            for path in ["/etc/passwd", "users"] {
                let output = engines.call(name, path);
                let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
                assert_eq!(answer["result"]["content"], "root:x:0:0:of-the-container", "{engine} {path}");
            }
        }
    }
}

#[test]
fn a_name_alone_has_to_be_known_to_one_engine() {
    let engines = Engines::new();
    let error = engines.refused("web");
    let none = "no engine knows it (podman: not installed; docker: not installed; runc: not installed)";
    assert!(error.contains(none), "{error}");
    engines.script("runc", "echo 'one\ncontainer does not exist' >&2; exit 1");
    let error = engines.refused("web");
    assert!(error.contains("runc: container does not exist)"), "{error}");
    engines.record("podman", PODMAN, 1);
    engines.record("docker", DOCKER, 1);
    let error = engines.refused("web");
    assert!(error.contains("say which: `podman:web`, `docker:web`"), "{error}");
    let error = engines.refused("lxc:web");
    assert!(error.contains("the engine has to be one of `podman`, `docker`, `runc`"), "{error}");
}

#[test]
fn a_name_is_never_an_option_or_a_command() {
    let engines = Engines::new();
    let marker_file = engines.0.path().join("touched");
    engines.script("podman", &format!(": > '{}'", marker_file.display()));
    let name = "`touch x`";
    for name in ["--help", "podman:-v", "podman:", "", "a b", "a;b", name, "podman:$(x)", "../web", "a/b", "podman:a:b"]
    {
        let output = engines.call(name, "/etc/passwd");
        assert_ne!(output.status.code(), Some(0), "{name}");
        assert!(!marker_file.exists(), "{name} reached the engine");
    }
    let error = engines.refused("podman:-v");
    assert!(error.contains("a name is letters, digits"), "{error}");
}

#[test]
fn an_engine_that_answers_anything_is_refused() {
    let engines = Engines::new();
    for (body, cause) in [
        ("echo nonsense", "the output of podman cannot be parsed"),
        ("echo '[]'", "the output of podman cannot be parsed"),
        ("/bin/cat /dev/zero", "it prints more than"),
        ("echo '[{\"Id\":\"1\",\"State\":{\"Status\":\"running\",\"Pid\":0},\"Config\":{}}]'", "reports no process"),
        ("echo '[{\"Id\":\"1\",\"State\":{\"Status\":\"running\",\"Pid\":-1},\"Config\":{}}]'", "reports no process"),
        ("echo '[{\"Id\":\"1\",\"State\":{\"Status\":\"exited\",\"Pid\":1},\"Config\":{}}]'", "podman says `exited`"),
        // The process id differs in each inspection: the container was replaced between them.
        (
            "echo \"[{\\\"Id\\\":\\\"$$\\\",\\\"State\\\":{\\\"Status\\\":\\\"running\\\",\\\"Pid\\\":1},\\\"Config\\\":{}}]\"",
            "stopped or replaced meanwhile",
        ),
    ] {
        engines.script("podman", body);
        let error = engines.refused("podman:web");
        assert!(error.contains(cause), "{body}: {error}");
    }
}

#[test]
fn an_engine_that_does_not_answer_is_ended() {
    let engines = Engines::new();
    engines.script("podman", "exec /bin/sleep 1000");
    let started = Instant::now();
    let error = engines.refused("podman:web");
    assert!(error.contains("no answer within 10 s"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(15));
}

/// Podman's real description of a container that was created but not started.
#[test]
fn podman_s_own_answer_is_understood() {
    let Ok(version) = Command::new("podman").arg("--version").output() else {
        eprintln!("not run: there is no podman: `apt-get install podman`");
        return;
    };
    let store = TempDir::new().unwrap();
    let root = store.path().join("rootfs");
    fs::create_dir_all(root.join("srv")).unwrap();
    let podman = |arguments: &[&str]| {
        let mut command = Command::new("podman");
        for (option, name) in [("--root", "root"), ("--runroot", "run"), ("--tmpdir", "tmp")] {
            command.arg(option).arg(store.path().join(name));
        }
        command.args(["--cgroup-manager=cgroupfs", "--storage-driver=vfs"]).args(arguments).output().unwrap()
    };
    let create =
        ["create", "--name", "web", "--network=none", "--workdir=/srv", "--rootfs", root.to_str().unwrap(), "x"];
    let created = podman(&create);
    assert!(created.status.success(), "{version:?}: {}", String::from_utf8_lossy(&created.stderr));
    let answer = podman(&["container", "inspect", "web"]);
    let engines = Engines::new();
    let path = engines.0.path().join("answer.json");
    fs::write(&path, &answer.stdout).unwrap();
    engines.script("podman", &format!("exec /bin/cat '{}'", path.display()));
    let error = engines.refused("podman:web");
    assert!(error.contains("it does not run: podman says `created`"), "{error}");
    let recorded: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(recorded[0]["Config"]["WorkingDir"], "/srv");
}
