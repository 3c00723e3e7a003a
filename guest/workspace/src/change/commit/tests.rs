use crate::change::directories::directories_to_make;
use paddock_types::entry::Time;
use paddock_types::policy::Policy;
use paddock_vfs::Open;
use paddock_vfs::memory::MemoryFs;

use crate::change::commit::*;

const CARRIES_MODES: &str = r#"{"host": {"carries_modes": true}}"#;

/// Runs `test` on a workspace with these files, in one directory.
fn with(policy: &str, files: &[(&str, &str)], test: impl FnOnce(&Workspace<'_>)) {
    let fs = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 7, nanoseconds: 0 }, 1);
    files.iter().for_each(|(name, text)| put(&fs, name, text));
    let policy = Policy::parse(policy, "paddock").unwrap();
    test(&Workspace::open(&fs, &policy).unwrap());
}

/// Writes a file as another process would.
fn put(fs: &dyn Filesystem, name: &str, text: &str) {
    let dir = fs.preopens().remove(0).dir;
    let _ = fs.unlink(&dir, name);
    fs.write(&fs.open_file(&dir, name, Open::CreateNew).unwrap(), 0, text.as_bytes()).unwrap();
}

fn resolved(workspace: &Workspace<'_>, path: &str) -> ResolvedPath {
    workspace.resolve(path, "change").unwrap()
}

/// Returns the change of a file from its present content.
fn change(workspace: &Workspace<'_>, path: &str, new: Option<&str>) -> FileChange {
    let resolved = resolved(workspace, path);
    let old = resolved.stat.map(|_| workspace.read_whole(&resolved, "change").unwrap().0.into());
    FileChange { resolved, old, new: new.map(|text| text.as_bytes().to_vec().into()), to: None }
}

fn write(workspace: &Workspace<'_>, path: &str, text: &str) -> FileChange {
    change(workspace, path, Some(text))
}

fn move_to(workspace: &Workspace<'_>, path: &str, to: &str) -> FileChange {
    let change = change(workspace, path, None);
    FileChange { new: change.old.clone(), to: Some(resolved(workspace, to)), ..change }
}

fn committed(workspace: &Workspace<'_>, files: Vec<FileChange>) -> Result<Vec<String>> {
    commit(workspace, "change", files)
}

#[track_caller]
fn refused(workspace: &Workspace<'_>, files: Vec<FileChange>, code: Code) -> Error {
    let error = committed(workspace, files).unwrap_err();
    assert_eq!(error.code, code, "{error:?}");
    error
}

fn text(workspace: &Workspace<'_>, path: &str) -> Option<String> {
    let resolved = resolved(workspace, path);
    resolved.stat.map(|_| String::from_utf8(workspace.read_whole(&resolved, "read").unwrap().0).unwrap())
}

/// Returns all names in the workspace's top directory.
fn names(workspace: &Workspace<'_>) -> Vec<String> {
    let entries = workspace.fs.list(&workspace.roots[0].dir).unwrap().entries;
    entries.into_iter().map(|entry| entry.name).collect()
}

#[test]
fn an_unread_file_is_not_overwritten() {
    with("{}", &[("a", "a\n"), ("b", "b\n")], |workspace| {
        let blind = |path: &str| FileChange { old: None, ..write(workspace, path, "new\n") };
        let error = refused(workspace, vec![write(workspace, "a", "A\n"), blind("b")], Code::AlreadyExists);
        assert_eq!(error.path.as_deref(), Some("b"));
        refused(workspace, vec![move_to(workspace, "a", "b")], Code::AlreadyExists);
        let gone = FileChange { old: Some(b"c\n".to_vec().into()), ..write(workspace, "c", "C\n") };
        refused(workspace, vec![gone], Code::NotFound);
        let top = FileChange { resolved: resolved(workspace, "."), ..write(workspace, "new", "x") };
        refused(workspace, vec![top], Code::NotAFile);
        let contents = (text(workspace, "a").unwrap(), text(workspace, "b").unwrap());
        assert_eq!(contents, ("a\n".to_owned(), "b\n".to_owned()));
        assert_eq!(names(workspace), ["a", "b"]);
        let state = workspace.fs.list(workspace.state.as_ref().unwrap()).unwrap();
        assert!(state.entries.is_empty(), "no change was begun: {state:?}");
    });
}

#[test]
fn a_file_changed_since_the_read_stops_the_whole_change() {
    with(CARRIES_MODES, &[("a", "a\n"), ("b", "b\n")], |workspace| {
        let files =
            || vec![write(workspace, "a", "A\n"), write(workspace, "in/new", "new\n"), write(workspace, "b", "B\n")];
        let planned = files();
        put(workspace.fs, "b", "theirs\n");
        let error = refused(workspace, planned, Code::ChangedSinceRead);
        assert!(error.hint_text().unwrap().contains("read it again"));
        let planned = files();
        workspace.fs.unlink(&workspace.roots[0].dir, "b").unwrap();
        refused(workspace, planned, Code::ChangedSinceRead);
        let planned = vec![write(workspace, "a", "A\n"), write(workspace, "c", "mine\n")];
        put(workspace.fs, "c", "theirs\n");
        refused(workspace, planned, Code::AlreadyExists);
        assert_eq!((text(workspace, "a").as_deref(), text(workspace, "c").as_deref()), (Some("a\n"), Some("theirs\n")));
        assert_eq!(names(workspace), ["a", "c"], "nothing of it stays");
        assert_eq!((workspace.backup(), backup::ids(workspace).unwrap().len()), (None, 0), "nor its backup");
        assert!(workspace.changes().is_empty());
    });
}

#[test]
fn a_move_replaces_nothing_that_appeared_meanwhile() {
    with(CARRIES_MODES, &[("a", "a\n"), ("b", "b\n")], |workspace| {
        let planned = vec![write(workspace, "b", "B\n"), move_to(workspace, "a", "c")];
        put(workspace.fs, "c", "theirs\n");
        refused(workspace, planned, Code::AlreadyExists);
        let texts = ["a", "b", "c"].map(|path| text(workspace, path).unwrap());
        assert_eq!(texts, ["a\n", "b\n", "theirs\n"]);
        assert_eq!(names(workspace), ["a", "b", "c"]);
    });
}

#[test]
fn a_change_that_failed_takes_no_other_change_s_backup_along() {
    let policy = r#"{"backups": {"max_bytes": 400}, "host": {"carries_modes": true}}"#;
    let large = "x".repeat(500);
    with(policy, &[("a", "a\n"), ("large", &large)], |workspace| {
        committed(workspace, vec![write(workspace, "a", "A\n")]).unwrap();
        let first = workspace.backup();
        assert!(first.is_some());
        // A file that is too large has no record, so the last record is that of the first change.
        let stored = resolved(workspace, "large").content(workspace, "change").unwrap();
        let planned = FileChange { old: Some(stored), ..write(workspace, "large", "small\n") };
        put(workspace.fs, "large", "theirs\n");
        refused(workspace, vec![planned], Code::ChangedSinceRead);
        assert_eq!(workspace.backup(), first);
        assert_eq!(backup::ids(workspace).unwrap().len(), 1);
    });
}

#[test]
fn rules_hold_for_whatever_is_changed() {
    let policy = r#"{"blocked_extensions": [".exe"], "limits": {"max_file_bytes": 1000}}"#;
    with(policy, &[("a", "a\n"), ("old.exe", "x")], |workspace| {
        for path in [".git/config", ".claude/settings.json", ".agentignore"] {
            refused(workspace, vec![write(workspace, path, "x")], Code::ReadOnly);
            refused(workspace, vec![move_to(workspace, "a", path)], Code::ReadOnly);
            let directories = vec![resolved(workspace, path)];
            let error = commit_all(workspace, "make", Changes { directories, ..Changes::default() }).unwrap_err();
            assert_eq!(error.code, Code::ReadOnly, "{path}");
        }
        refused(workspace, vec![write(workspace, "new.exe", "x")], Code::Denied);
        refused(workspace, vec![move_to(workspace, "a", "a.exe")], Code::Denied);
        assert_eq!(names(workspace), ["a", "old.exe"]);
    });
}

#[test]
fn a_file_may_get_as_large_as_the_policy_says() {
    with(r#"{"limits": {"max_file_bytes": 1000}}"#, &[("a", "a\n")], |workspace| {
        let (max, more) = ("x".repeat(1_000), "x".repeat(1_001));
        refused(workspace, vec![write(workspace, "a", &more)], Code::TooLarge);
        refused(workspace, vec![write(workspace, "new", &more)], Code::TooLarge);
        assert_eq!((text(workspace, "a").as_deref(), names(workspace)), (Some("a\n"), vec!["a".to_owned()]));
        committed(workspace, vec![write(workspace, "a", &max)]).unwrap();
        assert_eq!(text(workspace, "a"), Some(max));
    });
}

#[test]
fn files_rewritten_in_place_have_the_same_size_limit() {
    let small = r#""limits": {"max_file_bytes": 1000}"#;
    let (max, more) = ("x".repeat(1_000), "x".repeat(1_001));
    let files = [("most", max.as_str()), ("more", more.as_str())];
    let stored = |workspace: &Workspace<'_>, path: &str| {
        let resolved = resolved(workspace, path);
        let old = Some(resolved.content(workspace, "change").unwrap());
        FileChange { resolved, old, new: Some(b"new\n".to_vec().into()), to: None }
    };
    with(&format!("{{{small}}}"), &files, |workspace| {
        refused(workspace, vec![stored(workspace, "more")], Code::TooLarge);
        committed(workspace, vec![stored(workspace, "most")]).unwrap();
        assert_eq!(text(workspace, "most").as_deref(), Some("new\n"));
        let mut change = stored(workspace, "most");
        hold(workspace, "change", &mut change).unwrap();
        assert!(matches!(change.old, Some(FileContent::Bytes(..))), "a file that is written over brings nothing back");
    });
    with(&format!(r#"{{{small}, "host": {{"carries_modes": true}}}}"#), &files, |workspace| {
        committed(workspace, vec![stored(workspace, "more")]).unwrap();
        assert_eq!(text(workspace, "more").as_deref(), Some("new\n"), "one that is replaced can have any size");
    });
}

#[test]
fn hard_links_follow_the_policy() {
    for (hard_links, carries_modes) in
        [("break", true), ("break", false), ("keep", true), ("keep", false), ("refuse", true), ("refuse", false)]
    {
        let policy = format!(r#"{{"hard_links": "{hard_links}", "host": {{"carries_modes": {carries_modes}}}}}"#);
        with(&policy, &[("a", "old\n"), ("alone", "old\n")], |workspace| {
            let top = &workspace.roots[0].dir;
            ["b", "c"].iter().for_each(|name| workspace.fs.link(top, "a", top, name).unwrap());
            let notes = committed(workspace, vec![write(workspace, "a", "new\n")]);
            let other = text(workspace, "b").unwrap();
            match hard_links {
                "break" => {
                    assert_eq!(notes.unwrap(), ["`a` had 2 other hard link(s), which keep the old content"]);
                    assert_eq!((text(workspace, "a").unwrap().as_str(), other.as_str()), ("new\n", "old\n"));
                }
                "keep" => assert_eq!((notes.unwrap().len(), other.as_str()), (0, "new\n")),
                _ => {
                    let error = notes.unwrap_err();
                    assert_eq!(error.code, Code::Denied);
                    assert!(error.message().contains("it has 3 hard links"), "{error:?}");
                    assert_eq!(text(workspace, "a").unwrap(), "old\n");
                }
            }
            // An unchanged content, a move, a deletion, and a file with a single name break no hard link.
            let same = text(workspace, "b").unwrap();
            assert!(committed(workspace, vec![write(workspace, "b", &same)]).unwrap().is_empty());
            assert!(committed(workspace, vec![move_to(workspace, "b", "d")]).unwrap().is_empty());
            assert!(committed(workspace, vec![change(workspace, "d", None)]).unwrap().is_empty());
            assert!(committed(workspace, vec![write(workspace, "alone", "new\n")]).unwrap().is_empty());
        });
    }
}

#[test]
fn only_changed_contents_are_rewritten_in_place() {
    for (policy, in_place) in [(CARRIES_MODES, false), ("{}", true)] {
        with(policy, &[("a", "a\n"), ("b", "b\n")], |workspace| {
            let step =
                |change: &FileChange| plan(workspace, "change", (change, &BTreeMap::new()), &mut Vec::new()).unwrap();
            let kinds = [
                (write(workspace, "a", "new\n"), in_place, true),
                (FileChange { to: Some(resolved(workspace, "c")), ..write(workspace, "a", "new\n") }, in_place, true),
                (write(workspace, "new", "new\n"), false, true),
                (write(workspace, "a", "a\n"), false, false),
                (move_to(workspace, "b", "c"), false, false),
                (change(workspace, "b", None), false, false),
            ];
            for (index, (change, in_place, has_temporary)) in kinds.iter().enumerate() {
                let step = step(change);
                assert_eq!((step.in_place, step.temporary.is_some()), (*in_place, *has_temporary), "{index}");
            }
        });
    }
}

#[test]
fn a_record_lists_changes_and_created_directories() {
    with(CARRIES_MODES, &[("a", "a\n"), ("b", "b\n"), ("c", "c\n")], |workspace| {
        let files = vec![
            write(workspace, "a", "A\n"),
            change(workspace, "b", None),
            move_to(workspace, "c", "in/c"),
            write(workspace, "in/deep/d", "d\n"),
        ];
        committed(workspace, files).unwrap();
        let record = backup::Saved::open(workspace, &workspace.backup().unwrap()).unwrap().record;
        let entries: Vec<_> =
            record.entries.iter().map(|entry| (entry.action, entry.path.as_str(), entry.to.as_deref())).collect();
        assert_eq!(
            entries,
            [
                (Action::Created, "in", None),
                (Action::Created, "in/deep", None),
                (Action::Modified, "a", None),
                (Action::Deleted, "b", None),
                (Action::Moved, "c", Some("in/c")),
                (Action::Created, "in/deep/d", None),
            ]
        );
        let kinds: Vec<_> =
            workspace.changes().into_iter().map(|change| (change.kind, change.path, change.size)).collect();
        assert_eq!(
            kinds,
            [
                (ChangeKind::Modified, "a".to_owned(), Some(2)),
                (ChangeKind::Deleted, "b".to_owned(), None),
                (ChangeKind::Moved, "c".to_owned(), Some(2)),
                (ChangeKind::Created, "in/deep/d".to_owned(), Some(2)),
            ]
        );
    });
}

#[test]
fn later_changes_of_the_caller_are_recorded_without_a_journal() {
    with(CARRIES_MODES, &[("a", "a\n")], |workspace| {
        // Nothing can take the place of a directory.
        workspace.fs.make_dir(workspace.state.as_ref().unwrap(), "journal").unwrap();
        let others = || vec![Entry::of(Action::Deleted, "link", Kind::Link)];
        commit_all(workspace, "restore", Changes { others: others(), ..Changes::default() }).unwrap();
        let id = workspace.backup().unwrap();
        let record = backup::Saved::open(workspace, &id).unwrap().record;
        assert_eq!((record.operation.as_str(), record.entries.len()), ("restore", 1));
        assert_eq!((record.entries[0].action, record.entries[0].path.as_str()), (Action::Deleted, "link"));
        // Without a journal, no file is changed, and the record of the change is removed.
        let files = vec![write(workspace, "a", "A\n")];
        let error =
            commit_all(workspace, "restore", Changes { files, others: others(), ..Changes::default() }).unwrap_err();
        assert!(error.message().contains("the state directory"), "{error:?}");
        assert_eq!((workspace.backup(), backup::ids(workspace).unwrap().len()), (Some(id), 1));
        assert_eq!(text(workspace, "a").as_deref(), Some("a\n"));
    });
}

#[test]
fn each_directory_is_made_once_and_outer_ones_first() {
    with("{}", &[("file", "x")], |workspace| {
        let directories = vec![resolved(workspace, "there")];
        commit_all(workspace, "make", Changes { directories, ..Changes::default() }).unwrap();
        let files: Vec<_> = ["new/deep/a", "new/deep/b", "new/c", "there/x/y/z", "there/d", "top"]
            .iter()
            .map(|path| write(workspace, path, "x"))
            .collect();
        let paths = |stored_locations: Vec<StoredLocation>| {
            stored_locations.iter().map(StoredLocation::path).collect::<Vec<_>>()
        };
        let all = all_directories(workspace, &files, &[resolved(workspace, "new/empty"), resolved(workspace, "new")]);
        assert_eq!(paths(all), ["new", "new/empty", "new/deep", "there/x", "there/x/y"]);
        let to_make = |path: &str| paths(directories_to_make(workspace, &resolved(workspace, path)));
        assert_eq!(to_make("there/x/y/z"), ["there/x", "there/x/y"]);
        assert_eq!(to_make("a/b/c"), ["a", "a/b"]);
        assert!(to_make("there/d").is_empty() && to_make("file").is_empty());
    });
}

/// The bits of a file change with its content, or not at all.
#[test]
fn permission_bits_are_part_of_the_change() {
    with(CARRIES_MODES, &[("a", "a\n"), ("b", "b\n"), ("c", "c\n")], |workspace| {
        let mode = |path: &str| resolved(workspace, path).location().mode(workspace.fs).unwrap();
        let modes: BTreeMap<_, _> =
            [("a", 0o600), ("b", 0o755), ("new", 0o640)].map(|(path, mode)| (path.to_owned(), mode)).into();
        let stale = FileChange { old: Some(b"other\n".to_vec().into()), ..write(workspace, "c", "C\n") };
        let same = FileChange { new: Some(b"b\n".to_vec().into()), ..write(workspace, "b", "") };
        let files = |last: Option<FileChange>| {
            let same =
                FileChange { resolved: same.resolved.clone(), old: same.old.clone(), new: same.new.clone(), to: None };
            [write(workspace, "a", "A\n"), same, write(workspace, "new", "new\n")].into_iter().chain(last).collect()
        };
        let changes = |last| Changes { files: files(last), modes: modes.clone(), ..Changes::default() };
        commit_all(workspace, "restore", changes(Some(stale))).unwrap_err();
        assert_eq!((mode("a"), mode("b"), text(workspace, "a").as_deref()), (0o644, 0o644, Some("a\n")));
        commit_all(workspace, "restore", changes(None)).unwrap();
        assert_eq!((mode("a"), mode("b"), mode("new"), mode("c")), (0o600, 0o755, 0o640, 0o644));
        let record = backup::Saved::open(workspace, &workspace.backup().unwrap()).unwrap().record;
        let recorded: Vec<_> = record.entries.iter().map(|entry| (entry.content.is_some(), entry.mode)).collect();
        assert_eq!(recorded, [(true, Some(0o644)), (false, Some(0o644)), (false, None)]);
    });
}
