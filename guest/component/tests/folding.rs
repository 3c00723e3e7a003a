//! Calls on a file system that ignores letter case and normalization and has short names: no other name of a file gets
//! around a rule, and no change loses a file.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use folding_fs::Folding;
use paddock_guest::engine;
use paddock_types::entry::Time;
use paddock_types::error::Code;
use paddock_types::outcome::Outcome;
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Filesystem, Open};
use serde_json::{Value, json};
use tree::{Tree, tree_of};

mod folding_fs;
mod tree;

const FILES: [(&str, &str); 6] = [
    (".agentignore", "secret-file.txt\ncafé.txt\n"),
    ("secret-file.txt", "SECRET\n"),
    ("café.txt", "SECRET\n"),
    ("a.txt", "one\n"),
    ("résumé.md", "text\n"),
    ("b~1.txt", "b\n"),
];

fn memory() -> MemoryFs {
    MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 1_700_000_000, nanoseconds: 0 }, 3)
}

fn fresh() -> MemoryFs {
    let fs = memory();
    let top = fs.preopens().remove(0).dir;
    fs.make_dir(&top, ".git").unwrap();
    let git = fs.open_dir(&top, ".git").unwrap();
    for (dir, name, text) in FILES.map(|(name, text)| (&top, name, text)).iter().chain(&[(&git, "config", "[core]\n")])
    {
        fs.write(&fs.open_file(dir, name, Open::CreateNew).unwrap(), 0, text.as_bytes()).unwrap();
    }
    fs
}

fn call(fs: &MemoryFs, tool: &str, arguments: &Value) -> Outcome {
    call_under(r#"{"host": {"names": "folded"}}"#, fs, tool, arguments)
}

fn call_under(policy: &str, fs: &MemoryFs, tool: &str, arguments: &Value) -> Outcome {
    let policy = Policy::parse(policy, "paddock").unwrap();
    engine::call(&Folding::with(fs, |_| Ok(())), &policy, "paddock", tool, &arguments.to_string())
}

/// Calls of every tool that reads or changes `path`.
fn calls(path: &str) -> [(&'static str, Value); 9] {
    [
        ("read_file", json!({"path": path})),
        ("stat", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "x"})),
        ("edit_file", json!({"path": path, "edits": [{"old_text": "SECRET", "new_text": "x"}]})),
        ("copy", json!({"source": path, "destination": "copy"})),
        ("copy", json!({"source": "a.txt", "destination": path, "overwrite": true})),
        ("move", json!({"source": path, "destination": "moved", "recursive": true})),
        ("move", json!({"source": "a.txt", "destination": path, "overwrite": true})),
        ("delete", json!({"path": path, "recursive": true})),
    ]
}

#[test]
fn no_other_name_of_a_hidden_file_gets_around_the_rules() {
    let fs = fresh();
    let before = tree_of(&fs);
    for path in [
        "secret-file.txt",
        "SECRET-FILE.TXT",
        "SECRET~1",
        "secret~1",
        "café.txt",
        "cafe\u{301}.txt",
        "CAFE\u{301}.TXT",
        "CAFÉ.txt",
        "CAFTXT~1",
    ] {
        for (tool, arguments) in calls(path) {
            let outcome = call(&fs, tool, &arguments);
            let code = outcome.error.map(|error| error.code);
            assert!(matches!(code, Some(Code::Denied | Code::InvalidPath)), "{tool} {arguments}: {code:?}");
            assert!(!outcome.text.contains("SECRET\n"), "{tool} {arguments}: {}", outcome.text);
        }
    }
    assert_eq!(tree_of(&fs), before);
}

/// Linux can have such a file system too, such as a memory card or a share, and its host does not know.
#[test]
fn other_names_are_refused_if_the_host_knows_nothing_of_its_file_system() {
    let fs = fresh();
    for path in ["SECRET~1", "secret~1", "cafe\u{301}.txt", "CAFÉ.txt", "CAFTXT~1", "AGENTI~1", "GIT~1"] {
        for (tool, arguments) in calls(path) {
            let outcome = call_under("{}", &fs, tool, &arguments);
            let code = outcome.error.map(|error| error.code);
            assert!(
                matches!(code, Some(Code::Denied | Code::InvalidPath | Code::ReadOnly)),
                "{tool} {arguments}: {code:?}"
            );
        }
    }
    // Control: without a rule, no listing is read for a letter outside of ASCII.
    let top = fs.preopens().remove(0).dir;
    fs.unlink(&top, ".agentignore").unwrap();
    assert!(call_under("{}", &fs, "read_file", &json!({"path": "cafe\u{301}.txt"})).text.contains("SECRET"));
}

#[test]
fn rules_ignore_the_case_of_letters_in_every_alphabet() {
    let hidden =
        ["café.TXT", "ПАРОЛЬ.txt", "strasse-plan.txt", "\u{fb01}le-keys.txt", "SECRET.txt", "àb.txt", "àc.txt"];
    let rules = "/Café.txt\nété/secret\n*оль.txt\nſecret.txt\nStraße-plan.txt\nfile-keys.txt\nÀ*\n!Àb.txt\n";
    let fs = memory();
    let top = fs.preopens().remove(0).dir;
    let write = |dir: &_, name: &str, text: &str| {
        fs.write(&fs.open_file(dir, name, Open::CreateNew).unwrap(), 0, text.as_bytes()).unwrap();
    };
    write(&top, ".agentignore", rules);
    for directory in ["ÉTÉ", "keep"] {
        fs.make_dir(&top, directory).unwrap();
        write(&fs.open_dir(&top, directory).unwrap(), "Secret", "x");
    }
    for name in hidden.iter().chain(&["Àb.txt", "cafe.txt"]) {
        write(&top, name, "x");
    }
    let is_denied = |path: &str| {
        let outcome = engine::call(&fs, &Policy::default(), "paddock", "read_file", &json!({"path": path}).to_string());
        outcome.error.is_some_and(|error| error.code == Code::Denied)
    };
    for path in hidden.iter().chain(&["ÉTÉ/Secret"]) {
        assert!(is_denied(path), "{path}");
    }
    for path in ["keep/Secret", "Àb.txt", "cafe.txt"] {
        assert!(!is_denied(path), "{path}");
    }
}

#[test]
fn no_other_name_of_a_protected_file_can_be_changed() {
    let fs = fresh();
    let before = tree_of(&fs);
    for path in [".git/config", ".GIT/config", "GIT~1/config", "git~1", ".AgentIgnore", "AGENTI~1", "agenti~1"] {
        for (tool, arguments) in
            calls(path).into_iter().skip(2).filter(|(_, arguments)| arguments["destination"] != "copy")
        {
            let outcome = call(&fs, tool, &arguments);
            assert!(outcome.error.is_some(), "{tool} {arguments}: {}", outcome.text);
        }
    }
    assert_eq!(tree_of(&fs), before);
}

#[test]
fn a_name_as_the_list_shows_it_works() {
    let fs = fresh();
    for path in ["résumé.md", "RéSUMé.MD", "b~1.txt", "B~1.TXT", "A.TXT"] {
        assert_eq!(call(&fs, "read_file", &json!({"path": path})).error, None, "{path}");
    }
    let outcome = call(&fs, "read_file", &json!({"path": "re\u{301}sume\u{301}.md"}));
    assert!(outcome.error.unwrap().message.contains("takes no such name"));
    assert_eq!(call(&fs, "write_file", &json!({"path": "né~w", "content": "x"})).error, None);
}

/// Returns the contents of the files, without their names.
fn contents(tree: &Tree) -> Vec<&[u8]> {
    let mut contents: Vec<_> = tree.values().map(|(_, bytes)| bytes.as_slice()).collect();
    contents.sort_unstable();
    contents
}

#[test]
fn a_change_of_two_names_of_one_file_loses_nothing() {
    let patch = |text: &str| json!({"patch": format!("*** Begin Patch\n{text}*** End Patch\n")});
    for (tool, arguments) in [
        ("copy", json!({"source": "a.txt", "destination": "A.TXT"})),
        ("copy", json!({"source": "a.txt", "destination": "A.TXT", "overwrite": true})),
        ("move", json!({"source": "a.txt", "destination": "A.TXT"})),
        ("move", json!({"source": "a.txt", "destination": "A.TXT", "overwrite": true})),
        ("move", json!({"source": ".git", "destination": ".GIT", "recursive": true})),
        ("write_file", json!({"path": "A.TXT", "content": "x", "create_only": true})),
        ("apply_patch", patch("*** Update File: a.txt\n*** Move to: A.TXT\n@@\n-one\n+one\n")),
    ] {
        let fs = fresh();
        let before = tree_of(&fs);
        let outcome = call(&fs, tool, &arguments);
        let after = tree_of(&fs);
        assert_eq!(contents(&after), contents(&before), "{tool} {arguments}: {}", outcome.text);
    }
    for text in [
        "*** Update File: a.txt\n@@\n-one\n+1\n*** Delete File: A.TXT\n",
        "*** Delete File: a.txt\n*** Add File: A.TXT\n+new\n",
        "*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: A.TXT\n@@\n-one\n+2\n",
        "*** Add File: new.txt\n+1\n*** Add File: NEW.TXT\n+2\n",
    ] {
        let fs = fresh();
        let before = tree_of(&fs);
        let outcome = call(&fs, "apply_patch", &patch(text));
        let after = tree_of(&fs);
        assert!(outcome.error.is_some() && after == before, "{text}: {}", outcome.text);
    }
}
