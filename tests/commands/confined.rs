//! Effects of the confinement that callers see.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use serde_json::json;

use crate::fixture::{CANARY, Fixture, stdout};

/// Returns names, contents and modes of the files outside.
fn outside(fixture: &Fixture) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let mut entries: Vec<_> = fs::read_dir(fixture.home.path().join("outside"))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
            format!("{} {mode:o} {}", path.display(), fs::read_to_string(&path).unwrap_or_default())
        })
        .collect();
    entries.sort();
    entries
}

#[test]
fn nothing_outside_the_roots_is_read_or_changed() {
    let fixture = Fixture::new();
    let before = outside(&fixture);
    let out = fixture.home.path().join("outside");
    let secret = out.join("secret");
    let (out, secret) = (out.display(), secret.display());
    for line in [
        format!("cat {secret}"),
        "cat ../outside/secret".to_owned(),
        format!("ln -s {secret} link && cat link"),
        format!("ln -s {out} dir; cat dir/secret; echo x > dir/new; rm dir/secret"),
        format!("ln {secret} hard && cat hard"),
        format!("mv {secret} here; cat here"),
        format!("cp {secret} here; cat here"),
        format!(
            "echo x > {out}/new; echo x >> {secret}; rm {secret}; mkdir {out}/d; touch {secret}; chmod 777 {secret}"
        ),
        format!("cd / && cat .{secret}"),
        format!("cat /proc/$PPID/root{secret}; cat /proc/1/root{secret}; cat /proc/self/root{secret}"),
        "cat /proc/$PPID/cwd/../outside/secret; cat /proc/$PPID/environ | tr '\\0' '\\n'".to_owned(),
        format!("find {out} -type f -exec cat {{}} +; grep -r canary {out}; ls -R {out}; tar c {out}"),
        format!("sh -c 'exec 9<{secret}; cat <&9'"),
        "cat /etc/shadow; ls /root /home; cat ~root/.bashrc ~root/.ssh/*".to_owned(),
        format!("ls {0}; cat {0}/lock; echo x > {0}/history/x", fixture.home.path().join("state").display()),
    ] {
        let ran = fixture.shell(&line);
        let reported = ran.to_string();
        assert!(!reported.contains(CANARY) && !reported.contains("root:"), "{line}: {reported}");
        assert_eq!(outside(&fixture), before, "{line}");
    }
    // Without confinement, the same lines succeed.
    let plain = std::process::Command::new("sh").arg("-c").arg(format!("cat {secret}")).output().unwrap();
    assert_eq!(String::from_utf8(plain.stdout).unwrap(), CANARY);
    let ran = fixture.shell(&format!("cat {secret}"));
    let refused = ran["refused"].as_array().unwrap();
    assert!(refused.iter().any(|refused| refused["path"] == secret.to_string()), "{ran}");
}

#[test]
fn rules_of_tools_apply_to_commands() {
    let fixture =
        Fixture::under(json!({"blocked_directories": ["private"], "blocked_extensions": [".pem"]}), json!({}));
    fs::write(fixture.root().join(".agentignore"), ".env\n").unwrap();
    fs::create_dir_all(fixture.root().join(".git/hooks")).unwrap();
    fs::create_dir(fixture.root().join("private")).unwrap();
    for path in [".env", "src/.env", "private/x", "key.pem"] {
        fs::write(fixture.root().join(path), CANARY).unwrap();
    }
    fs::write(fixture.root().join(".git/config"), "[core]\n").unwrap();
    for line in [
        "cat .env src/.env private/x key.pem",
        "cp .env x; mv .env y; ln .env z; ln -s .env w; cat x y z w",
        "mv src other; cat other/.env",
        "tar c . | cat; grep -r canary .; cat < .env; sed -n p key.pem; ls private",
        "mv private p; cat p/x; cp -r private p; cat p/x",
        "echo x > .agentignore; rm -f .agentignore; mv .agentignore a; cat .env",
    ] {
        let reported = fixture.shell(line).to_string();
        assert!(!reported.contains(CANARY), "{line}: {reported}");
    }
    for path in [".env", "src/.env", "private/x", "key.pem"] {
        assert_eq!(fixture.read(path).unwrap(), CANARY, "{path}");
    }
    assert_eq!(fixture.read(".agentignore").unwrap(), ".env\n");
    let ran = fixture.shell("cat .git/config; echo x > .git/hooks/pre-commit; echo x >> .git/config");
    assert_eq!((stdout(&ran), fixture.read(".git/config").unwrap()), ("[core]\n".to_owned(), "[core]\n".to_owned()));
    assert!(!fixture.root().join(".git/hooks/pre-commit").exists());
    assert!(ran["refused"].to_string().contains("pre-commit"), "{ran}");
}

#[test]
fn a_read_only_workspace_is_only_read() {
    let fixture = Fixture::under(json!({"read_only": true}), json!({}));
    let ran = fixture
        .shell("cat a.txt; echo x > a.txt; rm src/b.txt; touch new; mkdir d; chmod 777 a.txt; echo y > ~/z && cat ~/z");
    assert_eq!(stdout(&ran), "one\ny\n");
    assert_eq!(
        (fixture.read("a.txt").unwrap(), fixture.read("src/b.txt").unwrap()),
        ("one\n".to_owned(), "two\n".to_owned())
    );
    assert_eq!(fs::read_dir(fixture.root()).unwrap().count(), 2);
}

#[test]
fn no_network_and_no_sockets_unless_the_policy_gives_it() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    std::thread::spawn(move || tcp.incoming().flatten().for_each(|mut peer| drop(peer.write_all(b"reached\n"))));
    let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3");
    let bash = |line: &str| format!("bash -c '{line}'");
    let ran = Fixture::new().shell(&bash(&format!("{line}; {line}")));
    assert!(!ran.to_string().contains("reached"), "{ran}");
    let reason = json!(["it has no access to the network: the policy does not set `commands.network`"]);
    assert_eq!(ran["notes"], reason, "the reason is named once: {ran}");
    assert_eq!(Fixture::with(json!({"network": true})).printed(&bash(&line)), "reached\n");
    let fixture = Fixture::with(json!({"network": true}));
    let _listener = UnixListener::bind(fixture.home.path().join("outside/socket")).unwrap();
    let Ok(node) = std::process::Command::new("/usr/bin/node").arg("--version").output() else {
        eprintln!("a socket by path is not tried here: no `/usr/bin/node`; the supervisor's own tests do");
        return;
    };
    assert!(node.status.success());
    let socket = fixture.home.path().join("outside/socket");
    let line = format!(
        "node -e \"require('net').connect('{}').on('connect', () => console.log('reached')).on('error', e => console.log(e.code))\"",
        socket.display()
    );
    let reported = fixture.shell(&line).to_string();
    assert!(!reported.contains("reached"), "{reported}");
}

#[test]
fn a_program_that_rules_hide_is_not_run() {
    let fixture = Fixture::new();
    fs::write(fixture.root().join(".agentignore"), "hidden*\n").unwrap();
    for name in ["hidden", "shown"] {
        fs::copy("/usr/bin/id", fixture.root().join(name)).unwrap();
    }
    fs::write(fixture.root().join("hidden.sh"), "#!/bin/sh\necho uid=1\n").unwrap();
    fs::set_permissions(fixture.root().join("hidden.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for line in ["./hidden", "./hidden.sh", "sh ./hidden.sh", "ln -s hidden link; ./link", "exec ./hidden"] {
        let ran = fixture.shell(line);
        assert!(!stdout(&ran).contains("uid=") && ran["exit_code"] != 0, "{line}: {ran}");
        assert!(ran["refused"].to_string().contains("hidden"), "{line}: {ran}");
    }
    assert!(fixture.printed("./shown").contains("uid="));
}

#[test]
fn other_names_of_a_file_are_left_alone() {
    for (policy, inside, outside, is_done) in [
        (json!({"hard_links": "refuse"}), "old\n", "old\n", false),
        (json!({"hard_links": "break"}), "old\nnew\n", "old\n", true),
        (json!({}), "old\nnew\n", "old\n", true),
        (json!({"hard_links": "keep"}), "old\nnew\n", "old\nnew\n", true),
    ] {
        let fixture = Fixture::under(policy.clone(), json!({}));
        let other = fixture.home.path().join("outside/other");
        fs::write(&other, "old\n").unwrap();
        fs::hard_link(&other, fixture.root().join("f")).unwrap();
        let ran = fixture.shell("echo new >> f");
        assert_eq!(ran["exit_code"] == 0, is_done, "{policy}: {ran}");
        assert_eq!(ran["refused"].to_string().contains("hard links"), !is_done, "{policy}: {ran}");
        assert_eq!(ran["notes"].to_string().contains("hard links"), is_done && outside == "old\n", "{policy}: {ran}");
        assert_eq!(
            (fixture.read("f").unwrap().as_str(), fs::read_to_string(&other).unwrap().as_str()),
            (inside, outside)
        );
        if is_done {
            fixture.ok("restore", json!({"path": "f", "overwrite": true}));
            assert_eq!(fixture.read("f").unwrap(), "old\n", "{policy}");
        }
    }
}
