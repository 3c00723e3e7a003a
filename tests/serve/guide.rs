//! The configurations and commands of the README and of the guide's page about the server.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use paddock::serve::{Server, SigningKey};

/// The digits that stand for a hash or a key.
const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn page(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// Returns the blocks of a page in a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let start = format!("\n```{language}\n");
    let parts = page.split(&start).skip(1);
    parts.map(|part| part.split("\n```").next().unwrap().to_owned() + "\n").collect()
}

/// Creates the directories below `/srv` of a configuration, and returns the configuration with them.
fn in_home(home: &Path, configuration: &str) -> String {
    for directory in ["notes/docs", "workspaces/red"] {
        fs::create_dir_all(home.join("srv").join(directory)).unwrap();
    }
    fs::write(home.join("srv/notes/docs/a.md"), "# Notes\n").unwrap();
    let moved = configuration.replace("/srv/", &format!("{}/srv/", home.display()));
    moved.replace("/var/lib/", &format!("{}/", home.display()))
}

#[test]
fn every_configuration_is_one() {
    let mut tried = 0;
    for path in ["README.md", "host/guide/src/server.md"] {
        for block in blocks(&page(path), "yaml serve") {
            let home = tempfile::tempdir().unwrap();
            fs::write(home.path().join("keys.json"), r#"{"keys": []}"#).unwrap();
            let block = block.replace(ZEROS, &SigningKey::generate().public_hex());
            let file = home.path().join("serve.yaml");
            fs::write(&file, in_home(home.path(), &block)).unwrap();
            if let Err(error) = Server::open(&file) {
                panic!("{path}: {error}: {block}");
            }
            tried += 1;
        }
    }
    assert!(tried >= 2, "{tried} configurations");
}

/// A server of the session, which is stopped at the end.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shell(command: &str, home: &Path) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_paddock")).parent().unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-euc", command]).current_dir(home).env("XDG_CONFIG_HOME", home.join("none"));
    shell.env("PATH", format!("{}:{}", binary.display(), std::env::var("PATH").unwrap()));
    shell.env_remove("PADDOCK_POLICY").env("PADDOCK_STATE_DIR", home.join("state"));
    shell
}

/// Returns whether a text has the parts of a line between each `…`, in order.
fn is_shown(printed: &str, line: &str) -> bool {
    let mut rest = printed;
    line.split('…').all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

#[test]
fn the_session_of_the_readme_has_the_documented_output() {
    if let Err(cause) = Command::new("curl").arg("--version").stdout(Stdio::null()).status() {
        println!("skipped: curl cannot be started: {cause}");
        return;
    }
    let readme = page("README.md");
    let home = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let configuration = in_home(home.path(), &blocks(&readme, "yaml serve").concat());
    let (mut server, mut shown) = (None, 0);
    let mut printed = String::new();
    for line in blocks(&readme, "console serve").concat().lines() {
        let Some(command) = line.strip_prefix("$ ") else {
            assert!(is_shown(&printed, line), "{line}: {printed}");
            shown += 1;
            continue;
        };
        let command = command.replace("8710", &port.to_string());
        if let Some(command) = command.strip_suffix(" &") {
            server =
                Some(Started(shell(&format!("exec {command}"), home.path()).stderr(Stdio::null()).spawn().unwrap()));
            let started = Instant::now();
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                assert!(started.elapsed() < Duration::from_secs(60), "the server does not start");
                std::thread::sleep(Duration::from_millis(50));
            }
            continue;
        }
        let output = shell(&command, home.path()).output().unwrap();
        printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        if let Some(key) = printed.strip_prefix("public_key: ") {
            let text = configuration.replace(ZEROS, key.trim());
            fs::write(home.path().join("serve.yaml"), format!("listen: 127.0.0.1:{port}\n{text}")).unwrap();
        }
    }
    assert!(server.is_some() && shown >= 3, "{shown} lines of output");
}

#[test]
fn the_tokens_of_the_guide_can_be_issued_and_narrowed() {
    let home = tempfile::tempdir().unwrap();
    let session = blocks(&page("host/guide/src/server.md"), "console serve").concat();
    let mut tried = 0;
    for command in
        session.lines().filter_map(|line| line.strip_prefix("$ ")).filter(|line| line.starts_with("paddock token"))
    {
        let output = shell(command, home.path()).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        tried += 1;
    }
    assert!(tried >= 4, "{tried} commands");
}
