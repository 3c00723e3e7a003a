//! `paddock serve` as a process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::client::Connection;

pub const TOKEN: &str = "pdk_bench";

/// Returns a figure in kilobytes of a file in `/proc`.
pub fn memory(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap()
}

pub fn binary() -> String {
    std::env::var("PADDOCK").unwrap_or_else(|_| env!("CARGO_BIN_EXE_paddock").to_owned())
}

pub struct Server {
    pub home: TempDir,
    child: Child,
    address: String,
    /// Time from the start of the process until it accepts connections.
    pub start: Duration,
}

impl Server {
    /// Starts a server. `{home}` in the configuration has these directories, each with a file of 4 KB.
    pub fn start(directories: &[&str], configuration: &str) -> Self {
        let home = TempDir::new().unwrap();
        for directory in directories {
            fs::create_dir_all(home.path().join(directory)).unwrap();
            fs::write(home.path().join(directory).join("a.txt"), "the quick brown fox jumps over it\n".repeat(120))
                .unwrap();
        }
        let hash = paddock::serve::hash(TOKEN);
        let tokens = format!("tokens:\n- {{name: bench, sha256: {hash}, grant: {{workspaces: ['*']}}}}\n");
        let text = configuration.replace("{home}", home.path().to_str().unwrap());
        let file = home.path().join("serve.yaml");
        fs::write(&file, format!("listen: 127.0.0.1:0\nstate_dir: state\nlimits: {{max_calls: 256}}\n{tokens}{text}"))
            .unwrap();
        let started = Instant::now();
        let mut command = clean(home.path());
        let mut child = command.args(["serve", "--config"]).arg(&file).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("paddock: serving http://").unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { home, child, address, start: started.elapsed() }
    }

    pub fn connect(&self) -> Connection {
        Connection::new(&*self.address)
    }

    pub fn memory(&self) -> u64 {
        memory(&format!("/proc/{}/status", self.child.id()), "VmRSS")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the command without the user's own policy.
pub fn clean(home: &Path) -> Command {
    let mut command = Command::new(binary());
    command
        .env("XDG_CONFIG_HOME", home.join("none"))
        .env("PADDOCK_STATE_DIR", home.join("piped"))
        .env_remove("PADDOCK_POLICY");
    command
}
