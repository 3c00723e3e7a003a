use paddock_types::entry::Time;
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Filesystem, Open};

use crate::resolve::*;

/// Runs `test` on roots, each a guest path with its entries: `a/b` is a file, `a/` a directory, `a -> b` a link.
fn with(policy: &str, roots: &[(&str, &[&str])], test: impl FnOnce(&Workspace<'_>)) {
    let paths: Vec<_> = roots.iter().map(|(path, _)| *path).collect();
    let fs = MemoryFs::new(&paths, || Time { seconds: 7, nanoseconds: 0 }, 1);
    for (preopen, (_, entries)) in fs.preopens().iter().zip(roots) {
        entries.iter().for_each(|entry| put(&fs, &preopen.dir, entry));
    }
    let policy = Policy::parse(policy, "paddock").unwrap();
    test(&Workspace::open(&fs, &policy).unwrap());
}

/// Makes one entry; a rule file as `.agentignore: rule`.
fn put(fs: &MemoryFs, top: &Dir, entry: &str) {
    let (path, target) = entry.split_once(" -> ").map_or((entry, None), |(path, target)| (path, Some(target)));
    let (path, text) = path.split_once(": ").unwrap_or((path, "x"));
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let dir = above.split('/').filter(|name| !name.is_empty()).fold(top.clone(), |dir, name| {
        let _ = fs.make_dir(&dir, name);
        fs.open_dir(&dir, name).unwrap()
    });
    match target {
        Some(target) => fs.symlink(&dir, name, target).unwrap(),
        None if name.is_empty() => {}
        None => fs.write(&fs.open_file(&dir, name, Open::CreateNew).unwrap(), 0, text.as_bytes()).unwrap(),
    }
}

/// Runs `test` on one root with these entries.
fn with_one(entries: &[&str], test: impl FnOnce(&Workspace<'_>)) {
    with("{}", &[("/workspace", entries)], test);
}

/// Returns the resolved path in the form of results, and the kind of the entry.
fn led(workspace: &Workspace<'_>, path: &str) -> Result<(String, Option<Kind>)> {
    workspace.resolve(path, "read").map(|resolved| (resolved.path, resolved.stat.map(|stat| stat.kind)))
}

#[track_caller]
fn leads(workspace: &Workspace<'_>, path: &str, to: &str, kind: impl Into<Option<Kind>>) {
    assert_eq!(led(workspace, path), Ok((to.to_owned(), kind.into())), "{path:?}");
}

#[track_caller]
fn fails(workspace: &Workspace<'_>, path: &str, code: Code) -> Error {
    let error = led(workspace, path).unwrap_err();
    assert_eq!(error.code, code, "{path:?}: {error:?}");
    error
}

#[test]
fn every_spelling_of_a_path_leads_to_the_same_location() {
    with_one(&["a/b/c.txt"], |workspace| {
        for path in ["a/b/c.txt", "./a//b/./c.txt", "a/b/../b/c.txt", "/workspace/a/b/c.txt", "a/../a/b/c.txt"] {
            leads(workspace, path, "a/b/c.txt", Kind::File);
        }
        for path in ["a/b", "a/b/", "a/b/.", "a/b/../b"] {
            leads(workspace, path, "a/b", Kind::Directory);
        }
        for path in [".", "/workspace", "/workspace/", "a/..", "a/b/../.."] {
            leads(workspace, path, ".", Kind::Directory);
        }
        // As in a kernel, `..` after a missing name cannot be resolved.
        for path in ["a/x/..", "a/x/../..", "a/x/../b"] {
            fails(workspace, path, Code::NotFound);
        }
        fails(workspace, "a/b/c.txt/..", Code::NotADirectory);
    });
}

#[test]
fn a_resolved_path_has_its_requested_path_and_its_ancestors() {
    with_one(&["a/b/c.txt"], |workspace| {
        let resolved = workspace.resolve("./a/b/c.txt", "read").unwrap();
        let ancestors: Vec<_> = resolved.ancestors.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            (resolved.requested_path.as_str(), resolved.name.as_str(), ancestors),
            ("./a/b/c.txt", "c.txt", vec!["a", "b"])
        );
        assert!(workspace.fs.stat(&resolved.dir, "c.txt").is_ok());
        let resolved = workspace.resolve("a/new/deep/er.txt", "write").unwrap();
        assert_eq!(
            (resolved.name.as_str(), resolved.missing, resolved.stat),
            ("er.txt", vec!["new".into(), "deep".into()], None)
        );
        assert!(workspace.fs.stat(&resolved.dir, "b").is_ok());
        assert!(workspace.resolve("a/..", "read").unwrap().is_root());
    });
}

#[test]
fn dot_dot_does_not_lead_out() {
    with_one(&["a/b.txt", "up -> ../..", "into -> a", "over -> a/../../workspace/a"], |workspace| {
        for path in ["..", "../x", "a/../..", "into/../..", "/workspace/.."] {
            let error = fails(workspace, path, Code::OutsideWorkspace);
            assert!(error.message().contains("`..` leads out of the root"), "{error:?}");
            assert_eq!(error.hint_text().unwrap(), "use a path relative to the workspace; `.` is its top");
        }
        for path in ["up", "up/x", "over"] {
            let error = fails(workspace, path, Code::OutsideWorkspace);
            assert!(error.message().contains("a symbolic link on it leads outside"), "{error:?}");
            assert_eq!(error.hint_text().unwrap(), "use a path that does not pass through that link");
        }
        // The caller's own `..` follows a link that was resolved.
        leads(workspace, "into/..", ".", Kind::Directory);
    });
}

#[test]
fn links_lead_where_they_say_and_only_inside() {
    let entries = [
        "dir/file",
        "dir/near -> file",
        "far -> dir/near",
        "whole -> /workspace/dir",
        "slash -> dir/",
        "file/ish -> ../dir/file",
        "dangling -> dir/new/er",
        "out -> /etc/passwd",
        "backslash -> dir\\file",
        "to_file -> dir/file/",
        "deep/er/whole -> /workspace/dir",
    ];
    with_one(&entries, |workspace| {
        for path in ["dir/near", "far", "whole/file", "slash/near", "file/ish", "whole/../far", "deep/er/whole/file"] {
            leads(workspace, path, "dir/file", Kind::File);
        }
        for path in ["whole", "slash", "slash/", "whole/."] {
            leads(workspace, path, "dir", Kind::Directory);
        }
        leads(workspace, "dangling", "dir/new/er", None);
        for path in ["out", "out/x", "backslash"] {
            let error = fails(workspace, path, Code::OutsideWorkspace);
            assert!(error.message().contains("a symbolic link on it leads outside"), "{error:?}");
            assert_eq!(error.path.as_deref(), Some(path));
        }
        for path in ["far/x", "far/", "to_file", "dir/file/", "dir/file/.", "dir/file/x", "dir/near/"] {
            fails(workspace, path, Code::NotADirectory);
        }
    });
}

#[test]
fn the_last_link_is_not_followed_on_request() {
    with_one(&["dir/file", "to_dir -> dir", "to_file -> dir/file", "out -> /etc"], |workspace| {
        let resolved_link = |path| {
            workspace.resolve_with(path, "delete", FollowSymlinks::No).map(|resolved| (resolved.path, resolved.stat))
        };
        for path in ["to_dir", "to_file", "out"] {
            let (at, stat) = resolved_link(path).unwrap();
            assert_eq!((at.as_str(), stat.unwrap().kind), (path, Kind::Link));
        }
        assert_eq!(resolved_link("to_dir/file").unwrap().0, "dir/file", "one on the way is followed");
        assert_eq!(resolved_link("dir/").unwrap().0, "dir", "a slash after a directory changes nothing");
        for path in ["to_dir/", "to_file/", "to_dir/."] {
            let error = resolved_link(path).unwrap_err();
            assert_eq!(error.code, Code::NotADirectory);
            assert!(error.message().contains("a `/` follows the name of a symbolic link"), "{error:?}");
            assert!(error.hint_text().unwrap().contains("leave the `/` out"));
        }
    });
}

#[test]
fn a_path_has_at_most_forty_links() {
    let chain: Vec<_> = (0..41).map(|link| format!("link{link} -> link{}", link + 1)).collect();
    let entries: Vec<_> = chain.iter().map(String::as_str).chain(["link41", "loop -> loop"]).collect();
    with_one(&entries, |workspace| {
        leads(workspace, "link1", "link41", Kind::File);
        for path in ["link0", "loop"] {
            let error = fails(workspace, path, Code::InvalidPath);
            assert!(error.message().contains("too many symbolic links"), "{error:?}");
        }
    });
}

#[test]
fn invalid_paths_are_refused() {
    let (name, long_name) = ("n".repeat(255), "n".repeat(256));
    let (path, long_path) = ("x/".repeat(2_048), "x/".repeat(2_048) + "y");
    let long_link = format!("long -> dir/{long_name}");
    with_one(&["dir/", &long_link], |workspace| {
        leads(workspace, &name, &name, None);
        leads(workspace, &path, path.trim_end_matches('/'), None);
        for path in ["", "a\0b", "a\\b", &long_name, &long_path, "long"] {
            let error = fails(workspace, path, Code::InvalidPath);
            assert!(error.message().len() < 600, "{error:?}");
        }
        assert!(fails(workspace, &format!("{long_name}/.."), Code::InvalidPath).message().contains("longer than 255"));
        assert_eq!(fails(workspace, "", Code::InvalidPath).hint_text().unwrap(), "`.` is the top of the workspace");
    });
}

#[test]
fn a_directory_is_needed_where_one_is_opened() {
    with_one(&["dir/file", "to_dir -> dir"], |workspace| {
        let opened = |path| workspace.resolve_dir(path, "list").map(|(resolved, dir)| (resolved.path, dir));
        for path in ["dir", "to_dir"] {
            let (at, dir) = opened(path).unwrap();
            assert!(at == "dir" && workspace.fs.stat(&dir, "file").is_ok());
        }
        let (at, dir) = opened(".").unwrap();
        assert!(at == "." && workspace.fs.stat(&dir, "dir").is_ok());
        let error = opened("dir/file").err().unwrap();
        assert_eq!(
            (error.code, error.message().as_str()),
            (Code::NotADirectory, "cannot list `dir/file`: it is not a directory")
        );
        assert_eq!(opened("none").err().unwrap().code, Code::NotFound);
    });
}

#[test]
fn rules_hold_on_every_way() {
    let entries = [
        ".agentignore: /secret\nhidden/\nkey",
        "secret/in",
        "hidden/in",
        "key",
        "dir/secret/in",
        "dir/.agentignore: own",
        "dir/own",
        "own",
        "to_secret -> secret/in",
        "to_key -> key",
        "to_own -> dir/own",
    ];
    with_one(&entries, |workspace| {
        let denied = [
            "secret",
            "secret/in",
            "hidden",
            "hidden/in",
            "key",
            "dir/key",
            "dir/own",
            "dir/new/own",
            "new/key",
            "new/hidden",
            "new/hidden/x",
            "to_secret",
            "to_key",
            "to_own",
            "dir/secret/../own",
            "dir/../key",
            "hidden/../own",
            "/workspace/key",
        ];
        for path in denied {
            let error = fails(workspace, path, Code::Denied);
            assert!(error.message().contains("`.agentignore` keeps it from every tool"), "{error:?}");
            assert!(error.hint_text().unwrap().contains("ask the user"));
        }
        for path in ["own", "dir/secret/in", "new/own", "new/secret", "dir/../own", "dir/secret/../../own"] {
            assert!(led(workspace, path).is_ok(), "{path}");
        }
    });
}

#[test]
fn a_name_that_is_not_there_can_become_a_file_or_a_directory() {
    with_one(&[".agentignore: thing\n!thing/\nplace/", "in/place"], |workspace| {
        fails(workspace, "thing", Code::Denied);
        leads(workspace, "thing/x", "thing/x", None);
        fails(workspace, "place", Code::Denied);
        fails(workspace, "place/x", Code::Denied);
        leads(workspace, "in/place", "in/place", Kind::File);
    });
}

#[test]
fn a_resolved_path_has_the_rules_of_its_directory() {
    with_one(&[".agentignore: /a/b/key", "a/in/x"], |workspace| {
        // Rules below a directory apply to entries that are found or created there.
        for (path, below) in [
            ("a/b/c/d", &["b"][..]),
            ("a/b", &["b"]),
            ("a", &["a", "b"]),
            ("a/.", &["a", "b"]),
            ("a/in/..", &["a", "b"]),
            ("a/in/../..", &["a", "b"]),
        ] {
            let mut agent_ignore = workspace.resolve(path, "list").unwrap().agent_ignore;
            below.iter().for_each(|name| agent_ignore.enter_missing(name));
            assert!(agent_ignore.denies("key", Kind::File), "{path}");
            agent_ignore.enter_missing("c");
            assert!(!agent_ignore.denies("key", Kind::File), "{path}");
        }
    });
}

#[test]
fn rules_that_cannot_be_read_close_their_directory() {
    with_one(&["dir/.agentignore: a[", "dir/file", "file", "to_dir -> dir"], |workspace| {
        leads(workspace, "file", "file", Kind::File);
        leads(workspace, "dir", "dir", Kind::Directory);
        for path in ["dir/file", "to_dir/file", "dir/new"] {
            let error = fails(workspace, path, Code::Denied);
            assert_eq!(error.path.as_deref(), Some(path), "the path is the caller's, not that of the rules");
        }
    });
    with_one(&[".agentignore: a[", "file"], |workspace| {
        assert_eq!(fails(workspace, "file", Code::Denied).path.as_deref(), Some("file"));
    });
}

#[test]
fn an_absolute_path_is_below_the_root_of_the_longest_name() {
    let policy = r#"{"roots": [{"guest": "/workspace", "host": "/home/me/project", "access": "read-write"}]}"#;
    let roots: [(&str, &[&str]); 3] = [
        ("/workspace", &["a", "sub/a", "to_vendor -> /vendor/lib/v", "back -> /vendor/back"]),
        ("/vendor", &["lib/v", "back -> /home/me/project/a", "up -> .."]),
        ("/workspace/sub", &["inner"]),
    ];
    with(policy, &roots, |workspace| {
        for (path, root, to) in [
            ("/workspace/a", 0, "a"),
            ("/home/me/project/a", 0, "a"),
            ("/vendor/lib/v", 1, "/vendor/lib/v"),
            ("/vendor", 1, "/vendor"),
            ("/workspace/sub/inner", 2, "/workspace/sub/inner"),
            ("/workspace/subs", 0, "subs"),
            ("sub/a", 0, "sub/a"),
            ("to_vendor", 1, "/vendor/lib/v"),
            ("back", 0, "a"),
            ("/vendor/back", 0, "a"),
        ] {
            let resolved = workspace.resolve(path, "read").unwrap();
            assert_eq!((resolved.root, resolved.path.as_str()), (root, to), "{path}");
        }
        for path in ["/workspaces/a", "/etc/passwd", "/", "/home/me", "/vendor/.."] {
            let hint = fails(workspace, path, Code::OutsideWorkspace).hint_text().unwrap();
            assert_eq!(
                hint, "use a path relative to the workspace, or one below `/vendor`, `/workspace/sub`",
                "{path}"
            );
        }
    });
}

#[test]
fn an_absolute_target_is_resolved_by_the_host_names_of_a_root() {
    let policy = r#"{"roots": [
        {"guest": "/workspace", "host": "/work/root", "aliases": ["/work/link"], "access": "read-write"},
        {"guest": "/vendor", "host": "/work/root2", "access": "read-write"}
    ]}"#;
    let chain: Vec<_> = (0..41).map(|link| format!("link{link} -> /work/root/link{}", link + 1)).collect();
    let entries = [
        "dir/a",
        "link41",
        ".agentignore: /key",
        "key",
        "file -> /work/root/dir/a",
        "alias -> /work/link/dir/a",
        "dot -> /work/root/./dir//a",
        "up -> /work/root/dir/../dir/a",
        "top -> /work/root",
        "slash -> /work/root/dir/",
        "missing -> /work/root/dir/new",
        "other -> /work/root2/v",
        "out -> /work/root/../root/dir/a",
        "sibling -> /work/root3/a",
        "sibling_up -> /work/root3/../root/dir/a",
        "guest -> /workspace/dir/a",
        "loop -> /work/root/loop",
        "to_key -> /work/root/key",
        "backslash -> /work/root/dir\\a",
    ];
    let entries: Vec<_> = chain.iter().map(String::as_str).chain(entries).collect();
    with(policy, &[("/workspace", &entries), ("/vendor", &["v", "back -> /work/root/dir/a"])], |workspace| {
        for path in
            ["file", "alias", "dot", "up", "top/dir/a", "slash/a", "top/file", "/vendor/back", "/work/link/file"]
        {
            leads(workspace, path, "dir/a", Kind::File);
        }
        leads(workspace, "top", ".", Kind::Directory);
        leads(workspace, "missing", "dir/new", None);
        leads(workspace, "other", "/vendor/v", Kind::File);
        leads(workspace, "link1", "link41", Kind::File);
        for path in ["out", "sibling", "sibling_up", "guest", "backslash"] {
            let error = fails(workspace, path, Code::OutsideWorkspace);
            assert!(error.message().contains("a symbolic link on it leads outside"), "{error:?}");
        }
        for path in ["loop", "link0"] {
            assert!(fails(workspace, path, Code::InvalidPath).message().contains("too many symbolic links"));
        }
        fails(workspace, "to_key", Code::Denied);
    });
}

#[test]
fn above_a_root_in_a_whole_tree_is_that_tree() {
    let roots: [(&str, &[&str]); 2] = [
        ("/srv/app", &["a", "to_host -> ../etc/host", "to_top -> ../../.."]),
        ("/", &["etc/os", "srv/etc/host", ".agentignore: /srv/key", "srv/key"]),
    ];
    with("{}", &roots, |workspace| {
        leads(workspace, "..", "/srv", Kind::Directory);
        leads(workspace, "../../etc/os", "/etc/os", Kind::File);
        leads(workspace, "to_host", "/srv/etc/host", Kind::File);
        leads(workspace, "/etc/os", "/etc/os", Kind::File);
        leads(workspace, "/srv/app/a", "a", Kind::File);
        fails(workspace, "../key", Code::Denied);
        // The root has no parent: as in a kernel, `..` stays there, and the next name is one below it.
        leads(workspace, "../../../etc/os", "/etc/os", Kind::File);
        leads(workspace, "to_top", "/", Kind::Directory);
        leads(workspace, "/..", "/", Kind::Directory);
    });
}

#[test]
fn a_path_is_below_a_directory_by_whole_names() {
    assert_eq!(below("/ws/a/b", "/ws"), Some("a/b"));
    assert_eq!(below("/ws", "/ws/"), Some(""));
    assert_eq!(below("/ws/", "/ws"), Some(""));
    assert_eq!(below("/etc", "/"), Some("etc"));
    assert_eq!(below("/ws-evil/a", "/ws"), None);
    assert_eq!(below("/w", "/ws"), None);
}

#[test]
fn paths_of_windows_lead_to_roots_where_the_host_says_so() {
    let root = r#"{"guest": "/workspace", "host": "/C:/Users/me/ws"}, {"guest": "/lib", "host": "//server/share/lib"}"#;
    let policy = |names: &str| {
        format!(r#"{{"roots": [{root}], "host": {{"names": {names}, "private": ["/C:/Users/me/ws/.state"]}}}}"#)
    };
    let roots: [(&str, &[&str]); 2] = [("/workspace", &["src/a.rs", "up -> /C:/Users/me/ws/src"]), ("/lib", &["b.rs"])];
    with(&policy("\"windows\""), &roots, |workspace| {
        for path in [
            r"src\a.rs",
            r".\src\..\src\a.rs",
            r"C:\Users\me\ws\src\a.rs",
            "c:/users/me/WS/src/a.rs",
            r"up\a.rs",
            "/workspace/src/a.rs",
        ] {
            leads(workspace, path, "src/a.rs", Kind::File);
        }
        leads(workspace, r"\\server\share\lib\b.rs", "/lib/b.rs", Kind::File);
        leads(workspace, r"\\SERVER\share\lib\b.rs", "/lib/b.rs", Kind::File);
        for path in [
            r"..\a",
            r"src\..\..\a",
            r"\Windows\win.ini",
            r"C:\Windows\win.ini",
            r"C:\Users\me\ws-evil\a",
            r"D:\Users\me\ws\src\a.rs",
            r"\\server\other\a",
            r"\\.\PhysicalDrive0",
            r"\\?\C:\Users\me\ws\src\a.rs",
            r"\\?\GLOBALROOT\Device\HarddiskVolume1\a",
        ] {
            let error = fails(workspace, path, Code::OutsideWorkspace);
            assert!(error.message().contains(&format!("`{path}`")), "{error:?}");
        }
        fails(workspace, r".state\key", Code::Denied);
        fails(workspace, r"C:\users\me\ws\.STATE\key", Code::Denied);
    });
    with(&policy("null"), &roots, |workspace| {
        fails(workspace, r"src\a.rs", Code::InvalidPath);
        fails(workspace, "/c:/users/me/WS/src/a.rs", Code::OutsideWorkspace);
        leads(workspace, "C:a", "C:a", None);
    });
}

#[test]
fn a_missing_home_directory_is_refused() {
    with_one(&["a.txt"], |workspace| {
        for path in ["~", "~/", "~/a.txt", "~/new/b.txt", "~//a.txt"] {
            let error = fails(workspace, path, Code::OutsideWorkspace);
            assert!(error.message().ends_with("`~` is not expanded: paths are relative to the workspace"), "{error}");
            assert!(error.hint_text().unwrap().contains("`./~/`"));
        }
        leads(workspace, "./~/a.txt", "~/a.txt", None);
        leads(workspace, "/workspace/~", "~", None);
        leads(workspace, "~me/a.txt", "~me/a.txt", None);
        // The undo of a deletion creates the directory again.
        assert!(workspace.resolve("~/a.txt", "restore").is_ok());
    });
    with_one(&["~/a.txt"], |workspace| {
        leads(workspace, "~/a.txt", "~/a.txt", Kind::File);
        leads(workspace, "~/new/~", "~/new/~", None);
    });
}
