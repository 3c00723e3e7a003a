//! The library from outside: typed operations, roots and the workspace in memory.

use std::fs;
use std::thread;

use paddock::types::*;
use paddock::{Access, CallOptions, Engine, Error, Limits, Policy, Workspace};
use tempfile::TempDir;

#[test]
fn typed_operations_equal_the_tools() {
    let workspace = Workspace::memory(Policy::default()).unwrap();
    let written = workspace.write(&WriteArgs::new("src/a.rs", "fn a() {}\nfn b() {}\n")).unwrap();
    assert!(written.created && written.bytes_written == 20);
    assert_eq!(workspace.read(&ReadArgs::new("src/a.rs")).unwrap().content, "fn a() {}\nfn b() {}");
    let edited = workspace.edit(&EditArgs::new("src/a.rs", "fn b", "fn c")).unwrap();
    assert_eq!(edited.lines, [LineRange { start: 2, end: 2 }]);
    let grep = workspace.grep(&GrepArgs::new(r"fn \w")).unwrap();
    assert_eq!(grep.matches.iter().map(|hit| hit.line).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(workspace.glob(&GlobArgs::new("*.rs")).unwrap().paths, ["src/a.rs"]);
    assert!(workspace.make_directory(&MakeDirectoryArgs::new("docs/x")).unwrap().created);
    workspace.copy(&TransferArgs::new("src/a.rs", "docs/a.rs")).unwrap();
    workspace.move_entry(&TransferArgs::new("docs/a.rs", "docs/b.rs")).unwrap();
    let many = workspace.read_many(&ReadManyArgs::paths(["docs/b.rs", "docs/a.rs"])).unwrap();
    assert!(many.entries[0].outcome.is_ok() && many.entries[1].outcome.is_err());
    let patch = "*** Begin Patch\n*** Add File: n\n+n\n*** End Patch\n";
    assert_eq!(workspace.apply_patch(&ApplyPatchArgs::new(patch)).unwrap().files[0].action, PatchAction::Add);
    assert_eq!(workspace.list(&ListArgs::new(".")).unwrap().entries.len(), 3);
    assert_eq!(workspace.tree(&TreeArgs::new("docs")).unwrap().files, 1);
    assert_eq!(workspace.stat(&StatArgs::new("n")).unwrap().kind, EntryKind::File);
    assert_eq!(workspace.delete(&DeleteArgs::new("n")).unwrap().entries_deleted, 1);
    assert_eq!(workspace.read(&ReadArgs::new("n")).unwrap_err().code, ErrorCode::NotFound);
}

#[test]
fn errors_of_typed_operations_name_methods_and_fields_of_this_library() {
    let workspace = Workspace::memory(Policy::default()).unwrap();
    workspace.load(&archive_of("b.bin", b"\0\x01\x02")).unwrap();
    let hint = |error: ToolError| error.hint.unwrap();
    let binary = workspace.read(&ReadArgs::new("b.bin")).unwrap_err();
    assert_eq!(hint(binary), "`read` with `mode: \"base64\"` gives its bytes");
    let end = workspace.write(&WriteArgs::new("x/", "")).unwrap_err();
    assert_eq!(hint(end), "leave the `/` at the end out, or use `make_directory`");
    assert_eq!(hint(workspace.read(&ReadArgs::new(".")).unwrap_err()), "`list` shows a directory");
    let many = workspace.read_many(&ReadManyArgs::paths(["b.bin"])).unwrap();
    let entry = many.entries.into_iter().next().unwrap();
    assert_eq!(hint(entry.outcome.unwrap_err()), "`read` with `mode: \"base64\"` gives its bytes");
    let grep = GrepArgs { cursor: Some("x".to_owned()), ..GrepArgs::new("(") };
    assert!(hint(workspace.grep(&grep).unwrap_err()).contains("`fixed`"));
    let outcome = workspace.call("read_files", r#"{"files": [{"path": "b.bin"}]}"#);
    assert!(outcome.result.get().contains("`read_file` with"), "{}", outcome.result);
}

/// Returns a tar archive of one file.
fn archive_of(path: &str, bytes: &[u8]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, path, bytes).unwrap();
    archive.into_inner().unwrap()
}

#[test]
fn a_call_without_a_dialect_is_in_that_of_the_builder() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a.txt"), "one\n").unwrap();
    let builder = || Workspace::builder().root(directory.path()).no_state_dir();
    let codex = builder().dialect("codex").build().unwrap();
    let arguments = r#"{"file_path": "a.txt"}"#;
    assert_eq!(codex.call("read_file", arguments).text, "L1: one");
    assert!(codex.call_with("stat", r#"{"path": "a.txt"}"#, &CallOptions::dialect("paddock")).ok);
    assert!(!codex.call("stat", r#"{"path": "a.txt"}"#).ok);
    assert!(builder().build().unwrap().call("stat", r#"{"path": "a.txt"}"#).ok);
    let memory = Workspace::builder().dialect("codex").build_memory().unwrap();
    assert!(!memory.call("stat", r#"{"path": "."}"#).ok);
}

#[test]
fn a_variable_of_the_caller_does_not_replace_the_policy() {
    let directory = TempDir::new().unwrap();
    let builder = || Workspace::builder().root(directory.path()).no_state_dir().read_only();
    for name in ["PADDOCK_POLICY", "PADDOCK_POLICY={}", "PADDOCK_X"] {
        let builders = [builder().env(name, "{}").build(), Workspace::builder().env(name, "{}").build_memory()];
        for built in builders {
            assert!(matches!(built.map(drop).unwrap_err(), Error::Variable { name: refused } if refused == name));
        }
    }
    let workspace = builder().env("LANG", "C").build().unwrap();
    assert_eq!(workspace.write(&WriteArgs::new("a", "")).unwrap_err().code, ErrorCode::ReadOnly);
}

#[test]
fn plans_changes_and_delta_reads() {
    let workspace = Workspace::memory(Policy::default()).unwrap();
    let text: String = (0..50).map(|line| format!("line {line}\n")).collect();
    let etag = workspace.write(&WriteArgs::new("a.txt", text)).unwrap().etag;
    let token = workspace.changes(&ChangesArgs::new()).unwrap().token;
    let args = ReplaceArgs::new(r"line (7|8)$", "LINE $1");
    let planned = workspace.replace(&args).unwrap();
    assert_eq!((planned.total_replacements, planned.applied), (2, false));
    assert_eq!(workspace.changes(&ChangesArgs::since(&token)).unwrap().total, 0);
    let applied = workspace.replace(&ReplaceArgs { plan: planned.plan, ..args }).unwrap();
    assert!(applied.applied);
    assert_eq!(workspace.changes(&ChangesArgs::since(&token)).unwrap().modified, ["a.txt"]);
    let known = |etag: &Option<String>| {
        workspace.read(&ReadArgs { if_none_match: etag.clone(), ..ReadArgs::new("a.txt") }).unwrap()
    };
    let since = known(&etag);
    assert!(since.content.is_empty() && since.diff.unwrap().contains("-line 7\n-line 8\n+LINE 7\n+LINE 8\n"));
    let same = known(&since.etag);
    assert!(same.unchanged && same.diff.is_none());
}

#[test]
fn a_tree_in_memory_is_exported_and_loaded() {
    let one = Workspace::memory(Policy::default()).unwrap();
    one.write(&WriteArgs::new("a/b.txt", "b\n")).unwrap();
    let archive = one.snapshot().unwrap();
    let two = Workspace::memory(Policy::default()).unwrap();
    two.load(&archive).unwrap();
    assert_eq!(two.read(&ReadArgs::new("a/b.txt")).unwrap().content, "b");
    assert_eq!(two.snapshot().unwrap(), archive);
    assert_eq!(two.load(b"no archive").unwrap_err().code, ErrorCode::InvalidArgument);
    assert_eq!(two.read(&ReadArgs::new("a/b.txt")).unwrap().content, "b", "a failed load changes nothing");
}

#[test]
fn a_directory_has_no_snapshot() {
    let directory = TempDir::new().unwrap();
    let workspace = Workspace::builder().root(directory.path()).no_state_dir().build().unwrap();
    assert_eq!(workspace.snapshot().unwrap_err().code, ErrorCode::Io);
}

#[test]
fn a_builder_refuses_invalid_workspaces() {
    let directory = TempDir::new().unwrap();
    let builder = || Workspace::builder().root(directory.path());
    let mount = |guest: &str| builder().mount(directory.path(), guest, Access::ReadOnly).build();
    assert!(matches!(Workspace::builder().build(), Err(Error::NoRoot)));
    assert!(matches!(Workspace::open(directory.path().join("none")), Err(Error::Root { .. })));
    for guest in ["x", "/", "/..", "/a/b", "/workspace", "/paddock-state"] {
        assert!(matches!(mount(guest), Err(Error::Mount { .. })), "{guest}");
    }
    assert!(matches!(builder().policy_json(r#"{"limits": {"max_line": 1}}"#), Err(Error::Policy(_))));
    let limits = Limits { max_lines: 5, ..Limits::default() };
    let two = builder().limits(limits).policy_json(r#"{"limits": {"max_lines": 6}}"#).unwrap();
    assert!(matches!(two.build(), Err(Error::Conflict { .. })));
    assert!(mount("/notes").is_ok());
}

/// A policy that is set later does not widen it.
#[test]
fn read_only_holds_whatever_is_said_after_it() {
    let directory = TempDir::new().unwrap();
    let builder = || Workspace::builder().root(directory.path()).no_state_dir();
    let json = r#"{"limits": {"max_lines": 5}}"#;
    for builder in [
        builder().read_only().policy(Policy::default()),
        builder().policy(Policy::default()).read_only(),
        builder().read_only().policy_json(json).unwrap(),
        builder().policy_json(json).unwrap().read_only(),
        builder().read_only().limits(Limits::default()),
    ] {
        let error = builder.build().unwrap().call("write_file", r#"{"path": "a", "content": ""}"#).error.unwrap();
        assert_eq!(error.code, ErrorCode::ReadOnly, "{error:?}");
    }
    assert!(!directory.path().join("a").exists());
}

#[test]
fn a_read_only_root_is_so_without_the_guests_help() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a"), "a").unwrap();
    let workspace = Workspace::builder().root_with(directory.path(), Access::ReadOnly).build().unwrap();
    assert_eq!(workspace.delete(&DeleteArgs::new("a")).unwrap_err().code, ErrorCode::ReadOnly);
    assert!(directory.path().join("a").exists());
}

#[test]
fn changes_from_many_threads_all_happen() {
    let (directory, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let open = || Workspace::builder().root(directory.path()).state_dir(state.path()).build().unwrap();
    open().write(&WriteArgs::new("log", "")).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            // Each thread has its own workspace, as separate processes would.
            let workspace = open();
            scope.spawn(move || {
                for _ in 0..10 {
                    let line = WriteArgs { append: true, ..WriteArgs::new("log", "line\n") };
                    workspace.write(&line).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(directory.path().join("log")).unwrap().lines().count(), 40);
}

#[test]
fn tools_are_described_in_a_fixed_order() {
    let names = |tools: Vec<Tool>| tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    let tools = names(paddock::tools("paddock").unwrap());
    assert_eq!(tools, names(paddock::tools("paddock").unwrap()));
    assert_eq!(tools.first().map(String::as_str), Some("read_file"));
    assert!(paddock::dialects().unwrap().contains(&"paddock".to_owned()));
    assert_eq!(paddock::tools("latin").unwrap_err().code, ErrorCode::UnknownDialect);
}

#[cfg(target_os = "linux")]
#[test]
fn a_root_can_be_a_directory_that_is_open() {
    let home = TempDir::new().unwrap();
    let (named, moved) = (home.path().join("named"), home.path().join("moved"));
    for (directory, text) in [(&named, "opened"), (&home.path().join("other"), "other")] {
        std::fs::create_dir(directory).unwrap();
        std::fs::write(directory.join("a.txt"), text).unwrap();
    }
    let open = || std::fs::File::open(&named).unwrap();
    let (opened, file) = (open(), std::fs::File::open(named.join("a.txt")).unwrap());
    // Another directory is at the path when the workspace opens.
    std::fs::rename(&named, &moved).unwrap();
    std::fs::rename(home.path().join("other"), &named).unwrap();
    let workspace = Workspace::builder().root_fd(opened.into()).no_state_dir().build().unwrap();
    assert_eq!(workspace.read(&ReadArgs::new("a.txt")).unwrap().content, "opened");
    let absolute = moved.canonicalize().unwrap().join("a.txt");
    assert_eq!(workspace.read(&ReadArgs::new(absolute.to_str().unwrap())).unwrap().content, "opened");
    workspace.write(&WriteArgs::new("b.txt", "b")).unwrap();
    assert!(moved.join("b.txt").exists() && !named.join("b.txt").exists());

    let deleted = open();
    std::fs::remove_dir_all(&named).unwrap();
    for none in [file, deleted] {
        let built = Workspace::builder().root_fd(none.into()).no_state_dir().build();
        assert!(matches!(built, Err(Error::Root { .. })));
    }
}

#[test]
fn an_engine_of_a_caller_has_its_own_cache_and_its_own_bound() {
    let top = TempDir::new().unwrap();
    let (root, cache) = (top.path().join("root"), top.path().join("root/cache"));
    fs::create_dir(&root).unwrap();
    let engine = Engine::builder().cache_dir(&cache).guests(2).build().unwrap();
    let compiled = || fs::read_dir(&cache).unwrap().count();
    assert_eq!(compiled(), 1);
    // A second engine loads the compiled code, and one without a cache stores nothing.
    Engine::builder().cache_dir(&cache).build().unwrap();
    let uncached = Engine::builder().no_cache().build().unwrap();
    assert_eq!(compiled(), 1);
    let workspace = Workspace::builder().root(&root).no_state_dir().engine(&engine).build().unwrap();
    assert!(workspace.call("write_file", r#"{"path": "a.txt", "content": "a\n"}"#).ok);
    // A tool must not reach a directory with code that the host executes.
    let outcome = workspace.call("list_dir", r#"{"path": "cache"}"#);
    assert!(!outcome.ok, "{}", outcome.text);
    let [_one, _two] = [(), ()].map(|()| Workspace::builder().engine(&engine).build_memory().unwrap());
    let outcome = workspace.call("read_file", r#"{"path": "a.txt"}"#);
    assert_eq!(outcome.value()["code"], "limit-exceeded", "{}", outcome.text);
    // Workspaces of other engines are not affected.
    let other = Workspace::builder().root(&root).no_state_dir().engine(&uncached).build().unwrap();
    assert!(other.call("read_file", r#"{"path": "a.txt"}"#).ok);
}

#[cfg(unix)]
#[test]
fn a_cache_that_others_can_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;

    let top = TempDir::new().unwrap();
    fs::set_permissions(top.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let error = Engine::builder().cache_dir(top.path()).build().unwrap_err();
    assert!(matches!(error, Error::Cache { .. }), "{error}");
}
