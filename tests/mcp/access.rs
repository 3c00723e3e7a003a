//! Resources are under the rules of the tools: what a tool may not show is not shown, not reported, and recorded.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Client, read_resource};

fn subscribe(client: &mut Client, id: u64, uri: &str) -> Value {
    client.request(id, "resources/subscribe", json!({"uri": uri}))
}

/// Starts a client of a session with these options.
fn legacy_with(options: &[&str]) -> Client {
    let mut client = Client::start_with(false, json!({}), options);
    let about = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about});
    client.request(1, "initialize", hello);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client
}

#[test]
fn every_use_of_a_resource_has_a_record() {
    let home = TempDir::new().unwrap();
    let audit = home.path().join("audit.jsonl");
    let mut client = legacy_with(&["--audit", audit.to_str().unwrap(), "--dialect", "anthropic"]);
    let root = client.workspace.path().to_owned();
    fs::write(root.join("a.txt"), "one\n").unwrap();
    fs::write(root.join(".agentignore"), "secret*\n").unwrap();
    fs::write(root.join("secret.txt"), "hush").unwrap();
    let records = || -> Vec<Value> {
        let text = fs::read_to_string(&audit).unwrap_or_default();
        let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.map(|record| json!([record["tool"], record["paths"], record["redacted"], record["outcome"]])).collect()
    };
    assert!(client.request(2, "resources/list", json!({}))["result"]["resources"].is_array());
    assert!(read_resource(&mut client, 3, "file:///a.txt")["result"].is_object());
    assert!(subscribe(&mut client, 4, "file:///a.txt")["result"].is_object());
    assert_eq!(subscribe(&mut client, 5, "file:///secret.txt")["error"]["code"], -32002);
    assert_eq!(subscribe(&mut client, 6, "file:///none")["error"]["code"], -32002);
    let all = records();
    let of = |tool: &str| all.iter().filter(|record| record[0] == tool).cloned().collect::<Vec<_>>();
    assert_eq!(of("list_dir").len(), 1, "{all:?}");
    assert_eq!(of("read_file").len(), 1, "{all:?}");
    let stats = of("stat");
    assert_eq!(stats[0][1], json!(["a.txt"]), "{all:?}");
    assert_eq!((&stats[1][1], &stats[1][2], &stats[1][3]), (&json!([]), &json!(1), &json!("denied")), "{all:?}");
    assert_eq!(stats[2][3], "not-found", "{all:?}");
    // The checks of a subscription are not recorded: no caller sees their results.
    assert!(client.is_silent());
    assert_eq!(records().len(), all.len());
    client.close();

    let mut client = Client::start_with(true, json!({}), &["--audit", audit.to_str().unwrap()]);
    let before = records().len();
    client.send_request(
        2,
        "subscriptions/listen",
        json!({"notifications": {"resourceSubscriptions": ["file:///later.txt"]}}),
    );
    client.next();
    client.call(3, "stat", json!({"path": "."}));
    let after = records();
    let listened = after[before..].iter().filter(|record| record[0] == "stat" && record[3] == "not-found");
    assert!(listened.count() > 0, "{after:?}");
}

#[test]
fn changes_of_hidden_entries_are_not_reported() {
    let mut client = legacy_with(&["--set", "blocked_directories=[private]", "--set", "blocked_extensions=[.key]"]);
    let root = client.workspace.path().to_owned();
    for directory in ["dir/deep", "private"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::write(root.join(".agentignore"), "secret*\n").unwrap();
    fs::write(root.join("dir/a.txt"), "one").unwrap();
    symlink("secret.txt", root.join("to-secret")).unwrap();
    symlink("dir/a.key", root.join("to-key")).unwrap();
    for (id, uri) in (2..).zip(["file:///", "file:///dir", "file:///to-secret", "file:///to-key"]) {
        assert!(subscribe(&mut client, id, uri)["result"].is_object());
    }
    let hidden = ["secret.txt", "dir/secret.txt", "dir/deep/secret", "private/x", "dir/a.key"];
    let changes: [&dyn Fn(&str); 3] = [
        &|path| fs::write(root.join(path), "hush").unwrap(),
        &|path| fs::write(root.join(path), "hush hush").unwrap(),
        &|path| fs::remove_file(root.join(path)).unwrap(),
    ];
    for change in changes {
        hidden.iter().for_each(|path| change(path));
        let note = client.messages.recv_timeout(super::SILENCE);
        assert!(note.is_err(), "{note:?}");
    }
    // A visible change is reported for each directory above it.
    fs::rename(root.join("dir/deep"), root.join("dir/moved")).unwrap();
    let mut updated = [client.updated().0, client.updated().0];
    updated.sort();
    assert_eq!(updated, ["file:///", "file:///dir"]);
    client.close();
}

/// A rename changes neither the number nor the sizes of files, and the renamed ones may be older than all others.
#[test]
fn a_rename_in_a_large_directory_is_reported() {
    let mut client = legacy_with(&[]);
    let root = client.workspace.path().to_owned();
    fs::create_dir_all(root.join("dir/old")).unwrap();
    fs::write(root.join("dir/old/a.txt"), "one").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    for number in 0..300 {
        fs::write(root.join(format!("dir/{number}.txt")), "x").unwrap();
    }
    assert!(subscribe(&mut client, 2, "file:///dir")["result"].is_object());
    fs::rename(root.join("dir/old"), root.join("dir/new")).unwrap();
    assert_eq!(client.updated().0, "file:///dir");
    client.close();
}

#[test]
fn a_listener_does_not_learn_that_a_hidden_path_appears() {
    let mut client = Client::start_with(true, json!({}), &["--set", "blocked_extensions=[.key]"]);
    let root = client.workspace.path().to_owned();
    fs::write(root.join(".agentignore"), "secret.txt\n").unwrap();
    let uris = json!(["file:///secret.txt", "file:///a.key", "file:///later.txt"]);
    client.send_request(3, "subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}));
    assert_eq!(client.next()["method"], "notifications/subscriptions/acknowledged");
    // The first check follows the acknowledgement.
    assert!(client.is_silent());
    for path in ["secret.txt", "a.key"] {
        fs::write(root.join(path), "hush").unwrap();
    }
    assert!(client.is_silent());
    fs::write(root.join("later.txt"), "").unwrap();
    assert_eq!(client.updated().0, "file:///later.txt");
}

/// The default policy of a dialect holds for resources as for its tools.
#[test]
fn the_policy_of_the_dialect_holds_for_resources() {
    let mut client = legacy_with(&["--dialect", "dotnet-prompt"]);
    let root = client.workspace.path().to_owned();
    for path in [".git", "bin"] {
        fs::create_dir(root.join(path)).unwrap();
    }
    fs::write(root.join(".git/config"), "hush").unwrap();
    fs::write(root.join("bin/a.txt"), "hush").unwrap();
    fs::write(root.join("a.txt"), "one").unwrap();
    assert_eq!(read_resource(&mut client, 2, "file:///a.txt")["result"]["contents"][0]["text"], "one");
    for (id, (there, missing)) in (10..).zip([(".git/config", ".git/none"), ("bin/a.txt", "bin/none"), ("bin", "obj")])
    {
        answers_alike(&mut client, 10 * id, there, missing);
    }
    client.close();
}

/// Checks that no answer tells an entry that the policy hides from a missing one.
#[track_caller]
fn answers_alike(client: &mut Client, id: u64, there: &str, missing: &str) {
    for (id, method) in (id..).zip(["resources/subscribe", "resources/read"]) {
        let [of_hidden, of_missing] = [there, missing].map(|path| {
            let refused = client.request(id, method, json!({"uri": format!("file:///{path}")}));
            assert_eq!(refused["error"]["code"], -32002, "{method}: {refused}");
            refused.to_string().replace(path, "PATH")
        });
        assert_eq!(of_hidden, of_missing);
    }
}

#[test]
fn a_hidden_entry_is_answered_like_a_missing_one() {
    for extensions in ["blocked_extensions=[.key, .bin]", "allowed_extensions=[.txt]"] {
        let mut client = legacy_with(&["--set", extensions, "--set", "blocked_directories=[private, a/b]"]);
        let root = client.workspace.path().to_owned();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(root.join("private")).unwrap();
        fs::write(root.join(".agentignore"), "secret*\n").unwrap();
        let hidden = ["secret.txt", "there.key", "there.bin", "private/there.txt", "a/b/there.txt"];
        hidden.iter().for_each(|path| fs::write(root.join(path), "hush").unwrap());
        for (id, path) in (10..).zip(hidden) {
            answers_alike(&mut client, 10 * id, path, &path.replace("there", "none").replace("secret.", "secretly."));
        }
        client.close();
    }
}

/// The client's dialect may have no tool that reads or lists.
#[test]
fn resources_do_not_depend_on_the_tools_of_the_dialect() {
    for dialect in ["anthropic", "mcp-filesystem", "codex", "paddock:grep"] {
        let mut client = legacy_with(&["--dialect", dialect]);
        fs::write(client.workspace.path().join("a.txt"), "one").unwrap();
        let listed = client.request(2, "resources/list", json!({}));
        assert_eq!(listed["result"]["resources"][0]["uri"], "file:///a.txt", "{dialect}: {listed}");
        assert_eq!(read_resource(&mut client, 3, "file:///a.txt")["result"]["contents"][0]["text"], "one");
        assert!(subscribe(&mut client, 4, "file:///a.txt")["result"].is_object());
        // The client does not have the tools of the `paddock` dialect that its hints name.
        let missing = read_resource(&mut client, 5, "file:///none");
        assert!(!missing.to_string().contains("list_dir"), "{dialect}: {missing}");
        client.close();
    }
}
