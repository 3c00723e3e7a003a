//! The list of allowed commands: no other program is executed, whatever the command line contains and whatever an
//! allowed program does.

use serde_json::json;

use crate::fixture::Fixture;

/// Lines in which a shell seems to run an allowed command, or no command, but which run another one.
const EVALUATED: [&str; 12] = [
    "test -v 'a[$(touch ran)]'",
    "printf -v 'a[$(touch ran)]' x",
    ": $((a[$(touch ran)]))",
    "x='$(touch ran)'; echo ${x@P}",
    "PATH=./evil git status",
    "export PATH=./evil; git status",
    "git status; touch ran",
    "git status $(touch ran)",
    "git status <(touch ran)",
    "git status > ran",
    "git status\ntouch ran",
    "[[ -v a[$(touch ran)] ]]",
];

fn evil(fixture: &Fixture) {
    std::fs::create_dir(fixture.root().join("evil")).unwrap();
    let program = fixture.root().join("evil/git");
    std::fs::write(&program, "#!/bin/sh\n: > ran\n").unwrap();
    std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn without_a_shell_no_line_is_evaluated() {
    let fixture = Fixture::with(json!({"allow": ["git status"]}));
    evil(&fixture);
    for line in EVALUATED {
        for tool in ["shell", "exec_command"] {
            let outcome = fixture.call(tool, json!({"command": line}));
            assert_eq!(outcome.value()["code"], "denied", "{tool} {line}: {}", outcome.text);
            assert!(outcome.text.contains("`git status`"), "it says what is allowed: {}", outcome.text);
        }
    }
    assert!(fixture.read("ran").is_none());
}

#[test]
fn an_allowed_program_executes_no_other() {
    let fixture = Fixture::with(json!({"allow": ["git status"]}));
    init(&fixture);
    assert!(fixture.printed("git status -s").contains("a.txt"));
    // The settings of a repository can make Git run programs.
    let settings = "[core]\n\tfsmonitor = touch ran; false\n[alias]\n\tst = !touch ran\n";
    let before = fixture.read(".git/config").unwrap();
    std::fs::write(fixture.root().join(".git/config"), before.clone() + settings).unwrap();
    fixture.shell("git status");
    assert!(fixture.read("ran").is_none());
    // With a shell among the executables, the settings take effect.
    let free = Fixture::with(json!({"allow": ["git status"], "executables": ["/bin/sh", "/usr/bin/touch"]}));
    init(&free);
    std::fs::write(free.root().join(".git/config"), before + settings).unwrap();
    free.shell("git status");
    assert!(free.read("ran").is_some(), "the check above would have found it");
}

fn init(fixture: &Fixture) {
    assert!(
        std::process::Command::new("git").args(["init", "-q"]).current_dir(fixture.root()).status().unwrap().success()
    );
}

#[test]
fn an_allowed_shell_executes_only_allowed_programs() {
    let fixture = Fixture::with(json!({"allow": ["sh", "cat"]}));
    assert_eq!(fixture.printed("cat a.txt | cat"), "one\n");
    for line in ["sh -c 'touch ran'", "sh ./run.sh", "sh -c './evil/git'"] {
        evil_again(&fixture);
        std::fs::write(fixture.root().join("run.sh"), "touch ran\n/usr/bin/touch ran\n./evil/git\n").unwrap();
        let outcome = fixture.call("shell", json!({"command": line}));
        assert!(fixture.read("ran").is_none(), "{line}: {}", outcome.text);
    }
    let ran = fixture.shell("sh run.sh");
    assert!(ran["stderr"]["text"].as_str().unwrap().contains("ermission denied"), "{ran}");
}

fn evil_again(fixture: &Fixture) {
    let _none = std::fs::remove_dir_all(fixture.root().join("evil"));
    evil(fixture);
}

#[test]
fn a_program_of_that_name_in_a_root_is_not_the_one_that_is_allowed() {
    let fixture = Fixture::new();
    evil(&fixture);
    let path = fixture.root().join("evil").display().to_string();
    let home = tempfile::tempdir().unwrap();
    let policy = json!({"commands": {"enabled": true, "allow": ["git"], "path": [path]}}).to_string();
    let builder = paddock::Workspace::builder().root(fixture.root()).state_dir(home.path().join("state"));
    let workspace = builder.policy_json(&policy).unwrap().build().unwrap();
    let outcome = workspace.call("shell", r#"{"command": "git --version"}"#);
    assert!(fixture.read("ran").is_none(), "{}", outcome.text);
    let outcome = workspace.call("shell", r#"{"command": "./evil/git"}"#);
    assert!(fixture.read("ran").is_none(), "{}", outcome.text);
    assert!(outcome.text.contains("commands.executables"), "it says what would work: {}", outcome.text);
}

#[test]
fn a_loader_is_no_way_around_the_list() {
    let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let Some(loader) = loader.into_iter().find(|path| std::path::Path::new(path).exists()) else { return };
    let line = format!("{loader} /usr/bin/touch ran");
    let fixture = Fixture::with(json!({"allow": ["sh"]}));
    std::fs::copy("/usr/bin/touch", fixture.root().join("mine")).unwrap();
    for script in [
        line.clone(),
        format!("{loader} ./mine ran"),
        format!("cd / && .{loader} /usr/bin/touch {}/ran", fixture.root().display()),
    ] {
        std::fs::write(fixture.root().join("run.sh"), script).unwrap();
        let ran = fixture.shell("sh run.sh");
        assert!(fixture.read("ran").is_none(), "{ran}");
        assert!(ran["refused"].to_string().contains("ld-linux"), "{ran}");
    }
    // Git and `make` run commands from settings and files.
    let fixture = Fixture::with(json!({"allow": ["git"]}));
    let outcome = fixture
        .call("shell", json!({"command": format!("git -c diff.external={loader} diff --no-index /dev/null a.txt")}));
    assert!(!outcome.text.contains("uid="), "{}", outcome.text);
    // The same script runs if the policy names the loader, or no program at all.
    for policy in [json!({"allow": ["sh"], "executables": [loader]}), json!({})] {
        let fixture = Fixture::with(policy);
        std::fs::write(fixture.root().join("run.sh"), &line).unwrap();
        let ran = fixture.shell("sh run.sh");
        assert!(fixture.read("ran").is_some(), "{ran}");
    }
}

#[test]
fn no_program_is_run_from_memory() {
    if !std::path::Path::new("/usr/bin/perl").exists() || !cfg!(target_arch = "x86_64") {
        return;
    }
    let script = "my $x = 'm'; my $fd = syscall(319, $x, 0); open(my $o, '>&=', $fd); binmode $o; \
        open(my $i, '<', '/usr/bin/id'); local $/; my $d = <$i>; print $o $d; select($o); $| = 1; \
        chmod 0777, \"/proc/self/fd/$fd\"; exec(\"/proc/self/fd/$fd\") or print STDOUT \"no $!\n\";";
    for (policy, expected) in [(json!({"allow": ["perl"]}), "no Permission denied"), (json!({}), "uid=")] {
        let fixture = Fixture::with(policy);
        std::fs::write(fixture.root().join("m.pl"), script).unwrap();
        let ran = fixture.shell("perl m.pl");
        assert!(crate::fixture::stdout(&ran).contains(expected), "{ran}");
    }
}
