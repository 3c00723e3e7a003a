//! Programs cannot reach files outside the roots, and get an error.

use std::fs;
#[cfg(unix)]
use std::path::Path;

use serde_json::{Value, json};

use super::build::{failures, fixture, fixture_under, printed, tool, tools};
#[cfg(unix)]
use crate::fixture::{CANARY, changes};
use crate::fixture::{Fixture, stdout};

/// Returns all entries outside the workspace.
fn outside(fixture: &Fixture) -> Vec<(String, Vec<u8>, std::time::SystemTime)> {
    let entry = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read(entry.path()).unwrap(), entry.metadata().unwrap().modified().unwrap())
    };
    fs::read_dir(fixture.home.path().join("outside")).unwrap().map(Result::unwrap).map(entry).collect()
}

fn refused(ran: &Value) -> Vec<String> {
    ran["refused"].as_array().unwrap().iter().map(|refused| refused["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn nothing_outside_is_reached_by_a_path() {
    for program in tools() {
        let fixture = fixture(program);
        let before = outside(&fixture);
        let host = fixture.home.path().join("outside");
        let host = host.display();
        for step in [
            "cat PATH",
            "write PATH x",
            "append PATH x",
            "cut PATH 0",
            "rm PATH",
            "stat PATH",
            "mv PATH here",
            "ln PATH here",
        ] {
            for path in [
                "../outside/secret",
                "src/../../outside/secret",
                "/workspace/../outside/secret",
                &format!("{host}/secret"),
            ] {
                failures(&fixture, &[&step.replace("PATH", path)]);
            }
        }
        for step in [
            "ls ..",
            "ls ../outside",
            "mkdir ../made",
            "new ../outside/new",
            "mv a.txt ../outside/a",
            "rmdir ../outside",
            "cat /etc/passwd",
        ] {
            failures(&fixture, &[step]);
        }
        // The C library of these programs treats `/` as the working directory.
        assert_eq!(stdout(&tool(&fixture, &["ls /"])), "a.txt src\n");
        let ran = tool(&fixture, &["cat ../outside/secret"]);
        assert_eq!(
            (stdout(&ran), &ran["stderr"]["text"]),
            (String::new(), &json!("cat ../outside/secret: PermissionDenied\n"))
        );
        let root = fixture.root().canonicalize().unwrap();
        assert_eq!(refused(&ran), [root.to_str().unwrap().trim_start_matches(r"\\?\")]);
        assert_eq!(outside(&fixture), before);
        assert_eq!(fixture.read("here"), None);
    }
}

#[cfg(unix)]
#[test]
fn nothing_outside_is_reached_through_a_link() {
    use std::os::unix::fs::symlink;
    for program in tools() {
        let fixture = fixture(program);
        let before = outside(&fixture);
        let host = fixture.home.path().join("outside");
        for (target, name) in
            [("../outside", "relative"), (host.to_str().unwrap(), "absolute"), ("src/../../outside", "winding")]
        {
            symlink(target, fixture.root().join(name)).unwrap();
            symlink(Path::new(target).join("secret"), fixture.root().join(format!("{name}-file"))).unwrap();
            let steps = [
                format!("cat {name}/secret"),
                format!("ls {name}"),
                format!("write {name}/secret x"),
                format!("new {name}/new"),
                format!("rm {name}/secret"),
                format!("touch {name}/secret"),
                format!("cat {name}-file"),
                format!("write {name}-file x"),
                format!("cut {name}-file 0"),
                format!("mv a.txt {name}/a.txt"),
                format!("ln a.txt {name}/a.txt"),
            ];
            failures(&fixture, &steps.each_ref().map(String::as_str));
        }
        for step in ["symlink ../outside made", "symlink src/../../outside made", "symlink /etc made"] {
            failures(&fixture, &[step]);
        }
        symlink("loop", fixture.root().join("loop")).unwrap();
        failures(&fixture, &["cat loop", "write loop x", "ls loop", "cat loop/x"]);
        assert_eq!(outside(&fixture), before);
        // A link that is inside the workspace can be changed like any other entry.
        assert_eq!(printed(&fixture, &["mv relative moved", "rm moved", "rm absolute"]), "");
        assert!(fs::read_to_string(host.join("secret")).unwrap().contains(CANARY));
    }
}

#[cfg(unix)]
#[test]
fn hidden_paths_stay_hidden_by_every_name() {
    use std::os::unix::fs::symlink;
    for program in tools() {
        let fixture = fixture(program);
        fs::write(fixture.root().join(".agentignore"), "*.pem\n/private/\n").unwrap();
        fs::create_dir_all(fixture.root().join("private/deep")).unwrap();
        for file in ["key.pem", "private/plan", "private/deep/plan", "src/inner.pem"] {
            fs::write(fixture.root().join(file), CANARY).unwrap();
        }
        symlink("key.pem", fixture.root().join("link")).unwrap();
        symlink("private", fixture.root().join("dir")).unwrap();
        let denied = failures(
            &fixture,
            &[
                "cat key.pem",
                "cat ./src/../key.pem",
                "cat link",
                "cat dir/plan",
                "cat private/deep/../plan",
                "ls private",
                "ls dir",
                "stat key.pem",
                "write key.pem x",
                "append link x",
                "cut key.pem 0",
                "touch key.pem",
                "rm key.pem",
                "mv key.pem open.txt",
                "ln key.pem open.txt",
                "mv private open",
                "mv src moved",
                "mv a.txt key.pem",
                "mv a.txt private/a",
                "mkdir private/new",
                "new made.pem",
            ],
        );
        assert_eq!(denied, vec!["PermissionDenied"; denied.len()]);
        let ran = tool(&fixture, &["cat key.pem", "cat link", "ls .", "ls src"]);
        assert_eq!(stdout(&ran), ".agentignore a.txt dir link src\nb.txt\n", "names of secrets are not listed");
        let secret = fixture.root().canonicalize().unwrap().join("key.pem");
        assert_eq!(refused(&ran), [secret.to_str().unwrap()]);
        assert!(ran["refused"][0]["cause"].as_str().unwrap().contains(".agentignore"), "{ran}");
        assert_eq!(changes(&ran), [""; 0]);
        assert_eq!(fs::read_to_string(fixture.root().join("key.pem")).unwrap(), CANARY);
    }
}

#[test]
fn protected_paths_can_be_read_and_not_changed() {
    for program in tools() {
        let fixture = fixture(program);
        fs::create_dir_all(fixture.root().join(".git/hooks")).unwrap();
        fs::write(fixture.root().join(".git/config"), "[core]\n").unwrap();
        assert_eq!(printed(&fixture, &["cat .git/config"]), "[core]\n");
        let steps = [
            "write .git/config x",
            "append .git/config x",
            "cut .git/config 0",
            "touch .git/config",
            "new .git/hooks/pre-commit",
            "mv .git git",
            "mv .git/config config",
            "ln .git/config config",
            "rm .git/config",
            "mv src .git/hooks/x",
            "new .mcp.json",
            "mkdir .vscode",
            "mv src .vscode",
            "symlink src .cursor",
        ];
        let denied = failures(&fixture, &steps);
        assert_eq!(denied, vec!["PermissionDenied"; denied.len()]);
        assert_eq!(fixture.read(".git/config").unwrap(), "[core]\n");
    }
}

#[test]
fn a_read_only_root_stays_as_it_is() {
    for program in tools() {
        let fixture = fixture_under(program, json!({"read_only": true}), json!({}));
        assert_eq!(printed(&fixture, &["cat a.txt"]), "one\n");
        let steps = [
            "write a.txt x",
            "append a.txt x",
            "new b",
            "rm a.txt",
            "mkdir d",
            "mv a.txt b",
            "touch a.txt",
            "cut a.txt 0",
            "ln a.txt b",
            "symlink a b",
        ];
        let denied = failures(&fixture, &steps);
        assert_eq!(denied, vec!["PermissionDenied"; denied.len()]);
        assert_eq!(fixture.read("a.txt").unwrap(), "one\n");
    }
}

#[test]
fn another_root_has_its_own_rights() {
    for program in tools() {
        let further = tempfile::tempdir().unwrap();
        fs::write(further.path().join("data"), "there\n").unwrap();
        let allowed = json!([{"path": further.path(), "access": "read-only"}]);
        let fixture = fixture_under(program, json!({ "allowed_directories": allowed }), json!({}));
        let name = further.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(printed(&fixture, &[&format!("cat /{name}/data")]), "there\n");
        let denied = failures(
            &fixture,
            &[&format!("write /{name}/data x"), &format!("mv a.txt /{name}/a"), &format!("mv /{name}/data a")],
        );
        assert_eq!(denied, vec!["PermissionDenied"; 3]);
        let ran =
            fixture.ok("run_program", json!({"name": "tool", "args": ["cat", "data"], "workdir": format!("/{name}")}));
        assert_eq!(stdout(&ran), "there\n");
    }
}

#[test]
fn there_is_no_network() {
    let program = tools().next().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let fixture = fixture_under(program, json!({}), json!({"network": true}));
    failures(&fixture, &[&format!("connect {}", listener.local_addr().unwrap())]);
}

#[cfg(target_os = "linux")]
#[test]
fn special_files_do_not_block() {
    for program in tools() {
        let fixture = fixture(program);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            fixture.root().join("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        failures(&fixture, &["cat fifo", "write fifo x", "append fifo x", "cat fifo/x"]);
    }
}

/// Another process swaps a directory and a link to a secret as fast as possible.
#[cfg(unix)]
#[test]
fn a_race_with_a_link_reads_no_hidden_file() {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    let program = tools().next().unwrap();
    let fixture = fixture(program);
    fs::write(fixture.root().join(".agentignore"), "/private/\n").unwrap();
    fs::create_dir(fixture.root().join("private")).unwrap();
    fs::create_dir(fixture.root().join("turns")).unwrap();
    for (dir, text) in [("private", CANARY), ("turns", "open")] {
        fs::write(fixture.root().join(dir).join("x"), text).unwrap();
    }
    symlink("private", fixture.root().join("link")).unwrap();
    let (ended, root) = (AtomicBool::new(false), fixture.root());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let at = |name: &str| root.join(name);
            while !ended.load(Ordering::Relaxed) {
                fs::rename(at("turns"), at("aside")).unwrap();
                fs::rename(at("link"), at("turns")).unwrap();
                fs::rename(at("turns"), at("link")).unwrap();
                fs::rename(at("aside"), at("turns")).unwrap();
            }
        });
        let steps = vec!["cat turns/x"; 500];
        let mut output = String::new();
        for _ in 0..5 {
            output += &stdout(&tool(&fixture, &steps));
        }
        ended.store(true, Ordering::Relaxed);
        assert!(output.contains("open") && !output.contains(CANARY), "{output}");
    });
}

#[test]
fn other_names_of_a_file_are_left_alone() {
    for program in tools() {
        for step in ["write f x", "append f x", "cut f 1", "touch f"] {
            for policy in ["refuse", "break", "keep"] {
                let fixture = fixture_under(program, json!({"hard_links": policy}), json!({}));
                let other = fixture.home.path().join("outside/other");
                fs::write(&other, "old\n").unwrap();
                fs::hard_link(&other, fixture.root().join("f")).unwrap();
                let before = outside(&fixture);
                let ran = tool(&fixture, &[step]);
                let stays = policy != "keep";
                assert_eq!(outside(&fixture) == before, stays, "{policy} {step}: {ran}");
                // Times are set through a descriptor for reading, which cannot be moved to a copy of the file.
                let is_refused = policy == "refuse" || (policy == "break" && step == "touch f");
                assert_eq!(ran["exit_code"] != 0, is_refused, "{policy} {step}: {ran}");
                assert_eq!(ran["refused"].to_string().contains("hard links"), is_refused, "{policy} {step}: {ran}");
                let is_broken = policy == "break" && !is_refused;
                assert_eq!(ran["notes"].to_string().contains("hard links"), is_broken, "{policy} {step}: {ran}");
                assert_eq!(fs::read_dir(fixture.root()).unwrap().count(), 3, "{policy} {step}: no other file is left");
            }
        }
    }
}

/// `commands.git` is for Git: a program could put links into `.git`.
#[test]
fn data_of_git_is_for_commands_alone() {
    for program in tools() {
        let fixture = fixture_under(program, json!({}), json!({"git": true}));
        fs::create_dir_all(fixture.root().join(".git/refs")).unwrap();
        fs::write(fixture.root().join(".git/index"), "x").unwrap();
        for step in
            ["write .git/index y", "symlink ../../outside .git/FETCH_HEAD", "mkdir .git/refs/x", "mv a.txt .git/HEAD"]
        {
            failures(&fixture, &[step]);
        }
        assert_eq!(fixture.read(".git/index").unwrap(), "x");
        assert_eq!(printed(&fixture, &["cat .git/index"]), "x");
    }
}
