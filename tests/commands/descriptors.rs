//! Commands have access only to the directories that were opened for them, whatever tools, other commands and other
//! processes rename or link between calls. They end at their time limit, however many requests they make.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use paddock::{Access, Workspace};
use serde_json::json;

use crate::fixture::{CANARY, Fixture, stdout};

/// A program whose threads rename directories with many entries. The supervisor checks every entry.
const QUESTIONS: &str = r#"
import os, threading
for n in range(8):
    os.makedirs(f"d{n}/x")
    for e in range(4000):
        open(f"d{n}/x/{e}", "w").close()
def work(n):
    while True:
        os.rename(f"d{n}/x", f"d{n}/y")
        os.rename(f"d{n}/y", f"d{n}/x")
for n in range(8):
    threading.Thread(target=work, args=(n,)).start()
"#;

#[test]
fn threads_that_keep_asking_end_in_time() {
    let fixture = Fixture::new();
    fs::write(fixture.root().join("ask.py"), QUESTIONS).unwrap();
    let begun = Instant::now();
    let ran = fixture.ok("shell", json!({"command": "python3 ask.py", "timeout_ms": 2000}));
    assert_eq!(ran["timed_out"], true, "{ran}");
    assert!(begun.elapsed() < Duration::from_secs(8), "it took {:?}", begun.elapsed());
}

#[test]
fn a_session_that_keeps_asking_is_killed_at_once() {
    let fixture = Fixture::new();
    fs::write(fixture.root().join("ask.py"), QUESTIONS).unwrap();
    let id = fixture.ok("exec_command", json!({"command": "python3 ask.py"}))["session_id"].clone();
    std::thread::sleep(Duration::from_secs(2));
    let begun = Instant::now();
    let ran = fixture.ok("kill_session", json!({"session_id": id}));
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    assert_eq!(ran["timed_out"], false, "{ran}");
}

/// A command's home is the directory that was created for it, not the entry at its path when the next command runs.
#[test]
fn no_link_in_place_of_a_home_leads_out() {
    let fixture = Fixture::new();
    let id =
        fixture.ok("exec_command", json!({"command": "echo $HOME; read x; cat ~/secret; echo y > ~/made; echo done"}));
    let (session, home) = (id["session_id"].clone(), stdout(&id).trim().to_owned());
    let outside = fixture.home.path().join("outside");
    fs::rename(&home, format!("{home}-moved")).unwrap();
    symlink(&outside, &home).unwrap();
    let mut ran = fixture.ok("write_stdin", json!({"session_id": session, "chars": "\n", "yield_time_ms": 5000}));
    // On a busy machine, the first result may contain only a part of the output.
    while !stdout(&ran).contains("done") {
        assert!(ran["session_id"] == session && !ran.to_string().contains(CANARY), "{ran}");
        ran = fixture.ok("write_stdin", json!({"session_id": session, "chars": "", "yield_time_ms": 5000}));
    }
    assert!(!ran.to_string().contains(CANARY), "{ran}");
    let ran = fixture.shell("cat ~/secret; echo y > ~/made; ls ~");
    assert!(!ran.to_string().contains(CANARY), "{ran}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    let (home_directory, home) = (fixture.home, fixture.workspace);
    drop(home);
    assert_eq!(fs::read_dir(home_directory.path().join("outside")).unwrap().count(), 1);
}

/// Temporary directories are in no root, whatever the environment contains.
#[test]
fn no_home_is_in_a_root() {
    let fixture = Fixture::new();
    let program = env!("CARGO_BIN_EXE_paddock");
    let output = std::process::Command::new(program)
        .args(["call", "--root"])
        .arg(fixture.root())
        .args(["--set", "commands.enabled=true", "shell", r#"{"command": "echo $HOME $TMPDIR"}"#])
        .env("TMPDIR", fixture.root())
        .env("PADDOCK_STATE_DIR", fixture.home.path().join("s"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("paddock-"), "{text}");
    assert!(!text.contains(fixture.root().to_str().unwrap()), "{text}");
}

/// Neither commands nor tools can move a root inside another root, or the directories above it.
#[test]
fn commands_do_not_move_replace_or_link_over_a_root() {
    let fixture = Fixture::new();
    let (outer, inner) = (fixture.root(), fixture.root().join("src/inner"));
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("own.txt"), "own\n").unwrap();
    let workspace = Workspace::builder()
        .root(&outer)
        .mount(&inner, "/inner", Access::ReadWrite)
        .state_dir(fixture.home.path().join("state2"))
        .policy_json(r#"{"commands": {"enabled": true}}"#)
        .unwrap()
        .build()
        .unwrap();
    let outside = fixture.home.path().join("outside");
    for line in [
        "mv src/inner x",
        "mv src x",
        "rm -rf src/inner; ls src/inner",
        "mkdir y; mv -T y src/inner",
        "ln -s /etc l; mv -T l src/inner",
        "python3 -c \"import ctypes; print(ctypes.CDLL(None).renameat2(-100, b'a.txt', -100, b'src/inner', 2))\"",
    ] {
        workspace.call("shell", &json!({"command": line}).to_string());
        assert!(inner.is_dir() && !fs::symlink_metadata(&inner).unwrap().is_symlink(), "{line}");
    }
    // Another process can move the root; calls then use the same directory, or report that it is gone.
    let _none = fs::remove_dir_all(&inner);
    symlink(&outside, &inner).unwrap();
    for (tool, arguments) in [
        ("shell", json!({"command": "cat src/inner/secret; echo x > src/inner/made"})),
        ("read_file", json!({"path": "/inner/secret"})),
        ("write_file", json!({"path": "/inner/made", "content": "x"})),
    ] {
        let outcome = workspace.call(tool, &arguments.to_string());
        assert!(!outcome.text.contains(CANARY), "{tool}: {}", outcome.text);
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}
