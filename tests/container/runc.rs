//! A container that runc runs. It is deleted when the value is dropped.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use paddock::{Builder, Container, Outcome, Workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Content of a file next to the container's root, which no call may return.
pub(super) const CANARY: &str = "canary-of-the-host";

pub(super) struct Running {
    pub(super) id: String,
    directory: TempDir,
}

impl Running {
    /// Starts a container whose commands start in `/app`. Returns `None` and prints the reason if this machine cannot
    /// run it.
    pub(super) fn start() -> Option<Self> {
        Self::start_with(|_| {})
    }

    /// Starts a container with another configuration.
    pub(super) fn start_with(configure: impl FnOnce(&mut Value)) -> Option<Self> {
        if let Some(missing) = missing() {
            let hint = "`apt-get install runc busybox-static`, and run the tests as root";
            assert!(std::env::var_os("PADDOCK_TEST_CONTAINERS").is_none(), "{missing}: {hint}");
            eprintln!("not run: {missing}: {hint}");
            return None;
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let id = format!("paddock-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let running = Self { id, directory: TempDir::new().unwrap() };
        running.make_root();
        running.make_bundle(configure);
        running.run();
        Some(running)
    }

    fn make_root(&self) {
        let root = self.root();
        for directory in ["bin", "etc", "proc", "sys", "dev", "app/src", "srv", "tmp"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
        for (name, text) in [
            ("etc/passwd", "root:x:0:0:of-the-container\n"),
            ("app/src/main.rs", "fn main() {}\n"),
            ("srv/data.txt", "served\n"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        symlink("busybox", root.join("bin/sh")).unwrap();
        symlink("/etc/passwd", root.join("app/users")).unwrap();
        symlink("../etc/passwd", root.join("app/users-too")).unwrap();
        fs::write(self.bundle().join("canary.txt"), CANARY).unwrap();
    }

    fn make_bundle(&self, configure: impl FnOnce(&mut Value)) {
        assert!(Command::new("runc").arg("spec").current_dir(self.bundle()).status().unwrap().success());
        let path = self.bundle().join("config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        // Some machines forbid to raise these limits above the present ones.
        config["process"].as_object_mut().unwrap().remove("rlimits");
        config["process"]["terminal"] = json!(false);
        config["process"]["args"] = json!(["/bin/busybox", "sleep", "1000"]);
        config["process"]["cwd"] = json!("/app");
        config["root"]["readonly"] = json!(false);
        configure(&mut config);
        fs::write(path, config.to_string()).unwrap();
    }

    /// Starts the container, also after its deletion.
    pub(super) fn run(&self) {
        let stderr_file = File::create(self.bundle().join("said")).unwrap();
        let mut command = Command::new("runc");
        command.args(["run", "--detach", "--bundle"]).arg(self.bundle()).arg(&self.id);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr_file).status().unwrap();
        assert!(status.success(), "{}", fs::read_to_string(self.bundle().join("said")).unwrap());
    }

    pub(super) fn bundle(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the path of the root on this machine.
    pub(super) fn root(&self) -> PathBuf {
        self.bundle().join("rootfs")
    }

    pub(super) fn name(&self) -> String {
        format!("runc:{}", self.id)
    }

    pub(super) fn builder(&self) -> Builder {
        let container = Container::open(&self.name()).unwrap();
        Workspace::builder().container(&container).state_dir(self.bundle().join("state"))
    }

    pub(super) fn workspace(&self) -> Workspace {
        self.builder().build().unwrap()
    }

    pub(super) fn state(&self) -> Value {
        let output = Command::new("runc").args(["state", &self.id]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(super) fn pid(&self) -> u64 {
        self.state()["pid"].as_u64().unwrap()
    }

    /// Runs a command in the container.
    pub(super) fn exec(&self, arguments: &[&str]) -> String {
        let output = Command::new("runc").args(["exec", &self.id, "/bin/busybox"]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Kills the container and deletes its state in the engine.
    pub(super) fn delete(&self) {
        // The container may have been deleted already.
        let _ = Command::new("runc").args(["delete", "--force", &self.id]).stderr(Stdio::null()).status();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.delete();
    }
}

/// Returns the missing requirement for containers, if any.
pub(super) fn missing() -> Option<&'static str> {
    let has = |program: &str| Command::new(program).arg("--help").stdout(Stdio::null()).status().is_ok();
    match () {
        () if !rustix::process::geteuid().is_root() => Some("this user is not root"),
        () if !has("runc") => Some("there is no runc"),
        () if !has("/bin/busybox") => Some("there is no busybox"),
        () => None,
    }
}

/// Makes a call that must succeed, and returns its result.
pub(super) fn call(workspace: &Workspace, tool: &str, arguments: Value) -> Value {
    let outcome = workspace.call(tool, &arguments.to_string());
    assert!(outcome.ok, "{tool} {arguments}: {}", outcome.text);
    outcome.value()
}

/// Makes a call that must fail, and returns its error.
pub(super) fn refusal(workspace: &Workspace, tool: &str, arguments: Value) -> Value {
    let outcome: Outcome = workspace.call(tool, &arguments.to_string());
    assert!(!outcome.ok, "{tool} {arguments}: {}", outcome.text);
    outcome.value()
}
