//! Changes by tokens for a part of a workspace that a kill cuts off.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use paddock::serve::hash;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Program, Reply, Running, TOKEN, request};

const FILES: usize = 400;

/// The workspace whose changes are cut off.
const NOTES: &str = "  notes: {root: '{home}/notes'}\n";

/// Returns the number of files in a directory that have the new text. Temporary files of a change have it before.
fn changed(directory: &Path) -> usize {
    let is_new =
        |number: usize| fs::read_to_string(directory.join(format!("{number}.txt"))).is_ok_and(|text| text == "new\n");
    (0..FILES).filter(|number| is_new(*number)).count()
}

/// Replaces a text in all files of a root, by a process that is killed when some of them are changed. Returns whether the
/// kill came in time.
pub fn cut_off(root: &Path, state: &Path, files: &Path) -> bool {
    cut_off_in_mode("restricted", root, state, files)
}

fn cut_off_in_mode(mode: &str, root: &Path, state: &Path, files: &Path) -> bool {
    for number in 0..FILES {
        fs::write(files.join(format!("{number}.txt")), "old\n").unwrap();
    }
    let options = ["--set", &format!("mode={mode}")];
    kill_replace(&options, root, state, json!({"pattern": "old", "replacement": "new"}), || changed(files) > 0);
    (1..FILES).contains(&changed(files))
}

/// Makes a replacement by a process that is killed when `is_begun` says so.
pub fn kill_replace(options: &[&str], root: &Path, state: &Path, mut arguments: Value, is_begun: impl Fn() -> bool) {
    let call = |arguments: &Value| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.arg("call").arg("--root").arg(root).arg("--state-dir").arg(state).args(options);
        command.arg("replace").arg(arguments.to_string());
        command
    };
    let planned: Value = serde_json::from_slice(&call(&arguments).output().unwrap().stdout).unwrap();
    arguments["plan"] = planned["result"]["plan"].clone();
    let mut child = call(&arguments).stdout(Stdio::null()).spawn().unwrap();
    while !is_begun() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Creates the directory `notes/docs`, whose files are changed, and cuts off a change in it. Root and state directory are
/// below the home directory and its directory of state directories.
fn cut_off_in(home: &Path, root: &str, state: &str) -> PathBuf {
    let docs = home.join("notes/docs");
    fs::create_dir_all(&docs).unwrap();
    let (root, state) = (home.join(root), home.join("state").join(state));
    assert!((0..20).any(|_| cut_off(&root, &state, &docs)), "no kill came in the middle of a change");
    docs
}

/// Returns the number of changed files, which is that of all files or zero.
pub fn changed_as_a_whole(directory: &Path) -> usize {
    let changed = changed(directory);
    assert!(changed == 0 || changed == FILES, "{changed} of {FILES} files are changed");
    changed
}

/// Starts a server with these workspaces, and one token with these rights.
fn serve(home: TempDir, workspaces: &str, grant: &Value) -> Running {
    let tokens = format!("tokens:\n- {{name: alice, sha256: {}, grant: {grant}}}\n", hash(TOKEN));
    Running::at(home, &format!("workspaces:\n{workspaces}{tokens}"))
}

/// Returns the number of files that a token finds changed.
fn found(server: &Running, arguments: Value) -> usize {
    let reply = server.call_as(TOKEN, "notes", "grep", arguments).json();
    assert_eq!(reply["ok"], true, "{reply}");
    reply["result"]["files"].as_array().map_or(0, Vec::len)
}

/// Cuts off a change in the directory `docs` of a workspace, as a part or as a part of the whole, and calls by a token that
/// has the given rights. `change` changes the home directory in between.
fn is_complete_for(root: &str, state: &str, grant: &Value, change: impl FnOnce(&Path)) {
    let home = TempDir::new().unwrap();
    let docs = cut_off_in(home.path(), root, state);
    change(home.path());
    let server = serve(home, NOTES, grant);
    let read = server.call_as(TOKEN, "notes", "stat", json!({"path": "."})).json();
    assert_eq!(read["ok"], true, "{read}");
    let changed = changed_as_a_whole(&docs);
    assert_eq!(found(&server, json!({"pattern": "new", "output": "files", "limit": FILES})), changed);
}

#[test]
fn a_change_in_a_part_is_complete_for_the_whole() {
    is_complete_for("notes/docs", "notes@/docs", &json!({"workspaces": ["notes"]}), |_| {});
}

#[test]
fn a_change_of_the_whole_is_complete_for_a_part() {
    is_complete_for("notes", "notes", &json!({"workspaces": ["notes"], "path": "docs"}), |_| {});
}

/// The call has looked for such changes before it waits for the lock, of a file in the directory of state directories.
fn is_complete_for_a_call_that_waits(notes: &str, lock: &str, root: &str, state: &str) {
    let home = TempDir::new().unwrap();
    let docs = home.path().join("notes/docs");
    fs::create_dir_all(&docs).unwrap();
    let server = serve(home, notes, &json!({"workspaces": ["notes"]}));
    let write = |text: &str| server.call("write_file", json!({"path": "a.txt", "content": text})).json();
    assert_eq!(write("first\n")["ok"], true);
    let (root, states) = (server.home.path().join(root), server.home.path().join("state"));
    let lock = fs::File::options().write(true).open(states.join(lock)).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| write("second\n"));
        std::thread::sleep(Duration::from_millis(300));
        assert!((0..20).any(|_| cut_off(&root, &states.join(state), &docs)), "no kill came in time");
        assert!(!waiting.is_finished());
        lock.unlock().unwrap();
        let written = waiting.join().unwrap();
        assert_eq!(written["ok"], true, "{written}");
    });
    changed_as_a_whole(&docs);
}

#[test]
fn a_change_that_was_cut_off_while_a_call_waits_is_completed_first() {
    is_complete_for_a_call_that_waits(NOTES, "notes/lock", "notes/docs", "notes@/docs");
}

/// The change is one of the directory below the overlay, whose locks are others.
#[test]
fn a_change_that_was_cut_off_while_a_call_in_an_overlay_waits_is_completed_first() {
    let notes = "  notes: {root: '{home}/notes', overlay: review}\n";
    is_complete_for_a_call_that_waits(notes, "notes/overlays/review/state/lock", "notes", "notes");
}

/// In the mode `unrestricted`, a call has the root of the file system too, and therefore another journal.
#[test]
fn a_change_is_complete_for_a_token_with_another_mode() {
    let unrestricted = "  notes: {root: '{home}/notes', policy: {mode: unrestricted}}\n";
    let restricts = json!({"workspaces": ["notes"], "policy": {"mode": "restricted"}});
    for (mode, grant) in [("unrestricted", restricts), ("restricted", json!({"workspaces": ["notes"]}))] {
        let home = TempDir::new().unwrap();
        let docs = home.path().join("notes/docs");
        fs::create_dir_all(&docs).unwrap();
        let (root, state) = (home.path().join("notes"), home.path().join("state/notes"));
        assert!((0..20).any(|_| cut_off_in_mode(mode, &root, &state, &docs)), "no kill came in time");
        let server = serve(home, unrestricted, &grant);
        // The call completes the change itself, which takes long on a machine with a slow disk.
        let written = server.call("write_file", json!({"path": "a.txt", "content": "a"})).json();
        assert_eq!(written["ok"], true, "{mode}: {written}");
        changed_as_a_whole(&docs);
    }
}

/// A token that may change nothing cannot complete a change itself.
#[test]
fn a_change_is_complete_for_a_token_that_may_only_read() {
    is_complete_for("notes", "notes", &json!({"workspaces": ["notes"], "read_only": true}), |_| {});
    let part = json!({"workspaces": ["notes"], "path": "docs", "read_only": true});
    is_complete_for("notes/docs", "notes@/docs", &part, |_| {});
}

/// A file that was created after the change, and for which no token may be limited to the part any more.
#[test]
fn a_change_in_a_part_is_complete_whatever_hides_paths_later() {
    is_complete_for("notes/docs", "notes@/docs", &json!({"workspaces": ["notes"]}), |home| {
        fs::write(home.join("notes/.agentignore"), "*.key\n").unwrap();
    });
}

/// Makes a change of the whole workspace that the server answers soon. Returns the error, if there is one.
fn write(server: &Running, token: &str, workspace: &str) -> Option<String> {
    let started = Instant::now();
    let written = server.call_as(token, workspace, "write_file", json!({"path": "a.txt", "content": "a"})).json();
    assert!(started.elapsed() < Duration::from_secs(10), "{written}");
    written["error"]["message"].as_str().map(str::to_owned)
}

/// A journal of a directory that another one has replaced has no effect.
#[test]
fn a_part_that_was_replaced_blocks_nobody() {
    for copied in [false, true] {
        let home = TempDir::new().unwrap();
        fs::create_dir_all(home.path().join("notes/docs/in")).unwrap();
        let docs = cut_off_in(home.path(), "notes/docs", "notes@/docs");
        let old = home.path().join("notes/old");
        fs::rename(&docs, &old).unwrap();
        match copied {
            true => assert!(Command::new("cp").arg("-a").args([&old, &docs]).status().unwrap().success()),
            false => fs::create_dir_all(docs.join("in")).unwrap(),
        }
        let mut configuration = "workspaces:\n  notes:\n    root: '{home}/notes'\ntokens:\n".to_owned();
        let parts = [".", "docs", "docs/in"].map(|part| (part, format!("{TOKEN}{part}")));
        for (number, (part, token)) in parts.iter().enumerate() {
            let (sha256, grant) = (hash(token), json!({"workspaces": ["notes"], "path": part}));
            configuration += &format!("- {{name: t{number}, sha256: {sha256}, grant: {grant}}}\n");
        }
        let server = Running::at(home, &configuration);
        for (part, token) in &parts {
            assert_eq!(write(&server, token, "notes"), None, "{part}");
        }
    }
}

/// Its policy is that of the configuration, so that nobody completes the change.
#[test]
fn a_read_only_workspace_says_so_beside_a_change_that_was_cut_off() {
    let home = TempDir::new().unwrap();
    cut_off_in(home.path(), "notes/docs", "notes@/docs");
    let workspaces = "  notes: {root: '{home}/notes', policy: {read_only: true}}\n";
    let server = serve(home, workspaces, &json!({"workspaces": ["notes"]}));
    let error = write(&server, TOKEN, "notes").unwrap();
    assert!(error.contains("read-only"), "{error}");
}

/// The files of an overlay are those of its changes, and a change of the overlay itself is completed too.
#[test]
fn an_overlay_is_the_same_for_a_token_that_may_only_read() {
    is_the_same_for_a_reader("restricted");
}

/// The change that is cut off has fewer roots than other calls, and so another journal.
#[test]
fn an_overlay_is_the_same_for_a_token_that_may_only_read_in_another_mode() {
    is_the_same_for_a_reader("unrestricted");
}

fn is_the_same_for_a_reader(mode: &str) {
    let home = TempDir::new().unwrap();
    fs::create_dir_all(home.path().join("notes/docs")).unwrap();
    for name in ["a.txt", "gone.txt"] {
        fs::write(home.path().join("notes").join(name), "base\n").unwrap();
    }
    let workspaces = format!("  notes: {{root: '{{home}}/notes', overlay: review, policy: {{mode: {mode}}}}}\n");
    let mut configuration = format!("workspaces:\n{workspaces}tokens:\n");
    for (name, read_only) in [("writer", false), ("reader", true)] {
        let grant = json!({"workspaces": ["notes"], "read_only": read_only});
        configuration += &format!("- {{name: {name}, sha256: {}, grant: {grant}}}\n", hash(&format!("{name}-{TOKEN}")));
    }
    let server = Running::at(home, &configuration);
    let call = |name: &str, tool: &str, arguments: Value| {
        server.call_as(&format!("{name}-{TOKEN}"), "notes", tool, arguments).json()
    };
    let is_seen = || {
        let read = call("reader", "read_file", json!({"path": "a.txt"}));
        let gone = call("reader", "stat", json!({"path": "gone.txt"}));
        assert_eq!((read["result"]["content"].as_str(), &gone["ok"]), (Some("new"), &json!(false)), "{read}");
    };
    assert_eq!(call("writer", "write_file", json!({"path": "a.txt", "content": "new\n"}))["ok"], true);
    assert_eq!(call("writer", "delete", json!({"path": "gone.txt"}))["ok"], true);
    is_seen();
    let (docs, states) = (server.root().join("docs"), server.home.path().join("state/notes"));
    for number in 0..FILES {
        fs::write(docs.join(format!("{number}.txt")), "text 0\n").unwrap();
    }
    let journals = || {
        let names = fs::read_dir(states.join("overlays/review/state")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        // The change of a journal that is still being written has not begun.
        names.filter(|name| name.starts_with("journal-") && !name.ends_with(".new")).count()
    };
    let cut_off = |text: &usize| {
        let (old, new) = (format!("text {text}"), format!("text {}", text + 1));
        let arguments = json!({"pattern": old, "replacement": new, "path": "docs"});
        kill_replace(&["--overlay", "review", "--set", "mode=restricted"], &server.root(), &states, arguments, || {
            journals() > 0
        });
        journals() > 0
    };
    let old = (0..20).find(cut_off).expect("no kill came in time");
    is_seen();
    assert_eq!(journals(), 0);
    let pattern = format!("text {}", old + 1);
    let found = call("reader", "grep", json!({"pattern": pattern, "path": "docs", "output": "files", "limit": FILES}));
    assert!([0, FILES].contains(&found["result"]["files"].as_array().map_or(0, Vec::len)), "{found}");
}

/// Its roots are others, so that no call completes it. Only the first one tries.
#[test]
fn a_change_of_an_overlay_that_stays_cut_off_is_tried_once() {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join("notes")).unwrap();
    fs::write(home.path().join("notes/a.txt"), "a\n").unwrap();
    let state = home.path().join("state/notes/overlays/review/state");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("journal-0000000000000000"), "").unwrap();
    let configuration = format!(
        "listen: 127.0.0.1:0\nstate_dir: state\nworkspaces:\n  notes: {{root: notes, overlay: review}}\n\
         tokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [notes]}}}}\n",
        hash(TOKEN)
    );
    fs::write(home.path().join("serve.yaml"), configuration).unwrap();
    let mut server = Program::start(home.path());
    let call = |tool: &str, arguments: Value| {
        let body = json!({"tool": tool, "arguments": arguments}).to_string();
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let headers = [("authorization", &*format!("Bearer {TOKEN}"))];
        stream.write_all(request("POST", "/w/notes/call", &headers, &body).as_bytes()).unwrap();
        Reply::read(&mut stream).unwrap().json()
    };
    for _ in 0..3 {
        let read = call("read_file", json!({"path": "a.txt"}));
        assert_eq!(read["result"]["content"], "a", "{read}");
    }
    assert_eq!(call("write_file", json!({"path": "a.txt", "content": "b\n"}))["ok"], true);
    server.terminate();
    assert!(server.child.wait().unwrap().success());
    let lines: Vec<_> = server.lines.by_ref().map(Result::unwrap).collect();
    let is_reported = |line: &&String| line.contains("stays cut off") && line.contains("overlays/review/state");
    assert_eq!(lines.iter().filter(is_reported).count(), 1, "{lines:?}");
}

/// The directory of the change is immutable, so that the change can neither be completed nor undone.
#[test]
fn no_call_shows_a_change_whose_recovery_fails() {
    let home = TempDir::new().unwrap();
    let docs = cut_off_in(home.path(), "notes", "notes");
    let attribute = |change: &str| Command::new("chattr").arg(change).arg(&docs).status().is_ok_and(|it| it.success());
    if !attribute("+i") {
        return eprintln!("skipped: this user or file system cannot make a directory immutable");
    }
    let server = serve(home, NOTES, &json!({"workspaces": ["notes"]}));
    let status = || server.call_as(TOKEN, "notes", "read_file", json!({"path": "docs/0.txt"})).status;
    let refused = [status(), status(), status()];
    assert!(attribute("-i"));
    assert_eq!((refused, status()), ([503; 3], 200));
    changed_as_a_whole(&docs);
}

/// A change of another workspace runs all the time.
#[test]
fn a_call_waits_no_longer_than_its_own_limit() {
    let home = TempDir::new().unwrap();
    let docs = cut_off_in(home.path(), "notes", "notes");
    let lock = fs::File::options().write(true).open(home.path().join("state/notes/lock")).unwrap();
    let workspaces =
        "  notes: {root: '{home}/notes'}\n  other: {root: '{home}/notes', policy: {limits: {max_time_ms: 500}}}\n";
    let server = serve(home, workspaces, &json!({"workspaces": ["other"]}));
    lock.lock().unwrap();
    let started = Instant::now();
    let reply = server.call_as(TOKEN, "other", "stat", json!({"path": "."}));
    assert_eq!(reply.status, 503, "{reply:?}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    lock.unlock().unwrap();
    assert_eq!(server.call_as(TOKEN, "other", "stat", json!({"path": "."})).status, 200);
    changed_as_a_whole(&docs);
}

/// Cuts off a change in the directory `root` of the workspace `notes`, and calls in another workspace over the same files.
fn is_complete_in(notes: &str, other: &str, root: &str, state: &str) {
    let home = TempDir::new().unwrap();
    let docs = cut_off_in(home.path(), root, state);
    let workspaces = format!("  notes: {{root: '{{home}}/{notes}'}}\n  other: {{root: '{{home}}/{other}}}\n");
    let server = serve(home, &workspaces, &json!({"workspaces": ["other"]}));
    let read = server.call_as(TOKEN, "other", "stat", json!({"path": "."})).json();
    assert_eq!(read["ok"], true, "{read}");
    changed_as_a_whole(&docs);
    assert_eq!(write(&server, TOKEN, "other"), None);
}

#[test]
fn a_change_is_complete_for_another_workspace_over_the_same_files() {
    is_complete_in("notes", "notes'", "notes", "notes");
    is_complete_in("notes", "notes', overlay: review", "notes", "notes");
    is_complete_in("notes", "notes', overlay: review", "notes/docs", "notes@/docs");
    is_complete_in("notes", "notes/docs'", "notes", "notes");
    is_complete_in("notes/docs", "notes'", "notes/docs", "notes");
}

/// The workspace of the change is read-only, so that nobody completes it. It must not block the other workspace.
#[test]
fn a_change_that_stays_cut_off_blocks_no_other_workspace() {
    let home = TempDir::new().unwrap();
    cut_off_in(home.path(), "notes", "notes");
    let workspaces = "  notes: {root: '{home}/notes', policy: {read_only: true}}\n  other: {root: '{home}/notes'}\n";
    let server = serve(home, workspaces, &json!({"workspaces": ["other"]}));
    assert_eq!(write(&server, TOKEN, "other"), None);
}

/// The part is another directory for some time.
#[test]
fn a_part_that_is_put_back_is_completed() {
    let home = TempDir::new().unwrap();
    let docs = cut_off_in(home.path(), "notes/docs", "notes@/docs");
    let old = home.path().join("notes/old");
    fs::rename(&docs, &old).unwrap();
    fs::create_dir(&docs).unwrap();
    let server = serve(home, NOTES, &json!({"workspaces": ["notes"]}));
    assert_eq!(write(&server, TOKEN, "notes"), None);
    fs::remove_dir(&docs).unwrap();
    fs::rename(&old, &docs).unwrap();
    assert_eq!(write(&server, TOKEN, "notes"), None);
    changed_as_a_whole(&docs);
}

#[test]
fn a_new_workspace_has_no_backups_of_an_earlier_one_of_its_name() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("teams/red");
    fs::create_dir_all(&directory).unwrap();
    fs::create_dir(home.path().join("notes")).unwrap();
    let configuration = format!(
        "templates:\n- root: '{{home}}/teams/{{name}}'\ntokens:\n- {{name: alice, sha256: {}, grant: {{workspaces: [red]}}}}\n",
        hash(TOKEN)
    );
    fs::write(directory.join("secret.txt"), "secret\n").unwrap();
    let server = Running::at(home, &configuration);
    let restore = json!({"path": "secret.txt"});
    for _ in 0..2 {
        assert_eq!(server.call_as(TOKEN, "red", "delete", restore.clone()).json()["ok"], true);
        assert_eq!(server.call_as(TOKEN, "red", "restore", restore.clone()).json()["ok"], true);
    }
    assert_eq!(server.call_as(TOKEN, "red", "delete", restore.clone()).json()["ok"], true);
    let home = server.end();
    // The new directory gets the inode number of the old one, on some file systems.
    fs::remove_dir_all(&directory).unwrap();
    fs::create_dir(&directory).unwrap();
    let server = Running::at(home, &configuration);
    let restored = server.call_as(TOKEN, "red", "restore", restore).json();
    assert!(restored["ok"] == false && !directory.join("secret.txt").exists(), "{restored}");
}

#[test]
fn a_part_that_was_removed_blocks_nobody() {
    let home = TempDir::new().unwrap();
    fs::create_dir_all(home.path().join("notes")).unwrap();
    let state = home.path().join("state/notes@/gone");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("journal-0000000000000000"), "").unwrap();
    let server = serve(home, NOTES, &json!({"workspaces": ["notes"]}));
    assert_eq!(server.call("stat", json!({"path": "."})).json()["ok"], true);
    assert_eq!(server.call("write_file", json!({"path": "a.txt", "content": "a"})).json()["ok"], true);
}

/// Each has a journal for a moment, which is no reason for the other one to wait or to fail.
#[test]
fn changes_of_parts_that_are_apart_run_at_the_same_time() {
    let home = TempDir::new().unwrap();
    let token = |part: &str| format!("{part}-{TOKEN}");
    let mut configuration =
        "workspaces:\n  notes: {root: '{home}/notes'}\n  inner: {root: '{home}/notes/inner'}\ntokens:\n".to_owned();
    let roots = [("notes", "docs"), ("notes", "src"), ("inner", ".")];
    fs::create_dir_all(home.path().join("notes/inner")).unwrap();
    for (number, (workspace, part)) in roots.iter().enumerate() {
        fs::create_dir_all(home.path().join("notes").join(part)).unwrap();
        let (sha256, grant) = (hash(&token(part)), json!({"workspaces": [workspace], "path": part}));
        configuration += &format!("- {{name: t{number}, sha256: {sha256}, grant: {grant}}}\n");
    }
    let server = Running::at(home, &configuration);
    std::thread::scope(|scope| {
        for (workspace, part) in roots {
            let (server, token) = (&server, token(part));
            scope.spawn(move || {
                for number in 0..60 {
                    let (path, content) = ("a.txt", format!("{number}\n").repeat(20_000));
                    let written = json!({"path": path, "content": content});
                    let reply = server.call_as(&token, workspace, "write_file", written).json();
                    assert_eq!(reply["ok"], true, "{workspace}, {part}, {number}: {reply}");
                }
            });
        }
    });
}
