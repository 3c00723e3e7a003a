//! A replaced file keeps its mode, owner and extended attributes.

#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use paddock::Workspace;
use paddock::types::{ApplyPatchArgs, EditArgs, WriteArgs};
use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;
use tempfile::TempDir;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn an_edited_script_keeps_its_mode_and_other_bytes() {
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("run.sh");
    fs::write(&script, "\u{feff}#!/bin/sh\r\necho one\r\necho two\r\n").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let attribute = setxattr(&script, "user.paddock", b"kept", XattrFlags::empty());
    let inode = fs::metadata(&script).unwrap().ino();
    let workspace = Workspace::builder().root(directory.path()).no_state_dir().build().unwrap();

    workspace.edit(&EditArgs::new("run.sh", "echo one\necho two", "echo 1\necho 2")).unwrap();

    assert_eq!(fs::read_to_string(&script).unwrap(), "\u{feff}#!/bin/sh\r\necho 1\r\necho 2\r\n");
    assert_ne!(fs::metadata(&script).unwrap().ino(), inode, "replaced, not written in place");
    assert_eq!(mode(&script), 0o755);
    match attribute {
        Ok(()) => {
            let mut value = [0; 8];
            assert_eq!(getxattr(&script, "user.paddock", &mut value).unwrap(), 4);
            assert_eq!(&value[..4], b"kept");
        }
        Err(errno) => assert_eq!(errno, Errno::NOTSUP, "the file system keeps no attributes"),
    }
}

#[test]
fn every_kind_of_replacement_keeps_the_mode() {
    let directory = TempDir::new().unwrap();
    let workspace = Workspace::builder().root(directory.path()).no_state_dir().build().unwrap();
    for bits in [0o600, 0o640, 0o444, 0o777] {
        let file = directory.path().join("a");
        fs::write(&file, "one\n").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(bits)).unwrap();
        workspace.write(&WriteArgs::new("a", "two\n")).unwrap();
        assert_eq!(mode(&file), bits);
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-two\n+three\n*** End Patch\n";
        workspace.apply_patch(&ApplyPatchArgs::new(patch)).unwrap();
        assert_eq!((mode(&file), fs::read(&file).unwrap()), (bits, b"three\n".to_vec()));
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn copies_keep_the_mode() {
    let directory = TempDir::new().unwrap();
    let workspace = Workspace::builder().root(directory.path()).no_state_dir().build().unwrap();
    let script = directory.path().join("tree/deep/run.sh");
    fs::create_dir_all(script.parent().unwrap()).unwrap();
    fs::write(&script, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    for (source, destination, copy) in
        [("tree/deep/run.sh", "copy.sh", "copy.sh"), ("tree", "other/tree", "other/tree/deep/run.sh")]
    {
        let arguments = serde_json::json!({"source": source, "destination": destination, "recursive": true});
        let outcome = workspace.call("copy", &arguments.to_string());
        assert!(outcome.ok, "{}", outcome.text);
        let copy = directory.path().join(copy);
        assert_eq!((mode(&copy), fs::read(&copy).unwrap()), (0o755, b"#!/bin/sh\n".to_vec()));
        let names: Vec<_> =
            fs::read_dir(copy.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| !name.to_string_lossy().starts_with(".paddock-")), "{names:?}");
    }
}

#[test]
fn set_id_bits_do_not_outlive_the_content_they_were_given_to() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("a");
    fs::write(&file, "one\n").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o4755)).unwrap();
    let workspace = Workspace::builder().root(directory.path()).no_state_dir().build().unwrap();
    workspace.write(&WriteArgs::new("a", "two\n")).unwrap();
    assert_eq!(mode(&file), 0o755);
}

/// Set-user-id rights belong to the content for which they were set, and a further hard link does not transfer modes to
/// another file.
#[test]
fn nothing_that_grants_is_carried_to_new_content() {
    // `struct vfs_cap_data` of revision 2: CAP_NET_BIND_SERVICE, effective.
    let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let directory = TempDir::new().unwrap();
    let workspace = Workspace::builder().root(directory.path()).no_state_dir().build().unwrap();
    let (lone, linked) = (directory.path().join("lone"), directory.path().join("linked"));
    fs::write(&lone, "one\n").unwrap();
    fs::write(&linked, "one\n").unwrap();
    if let Err(errno) = setxattr(&lone, "security.capability", &capability, XattrFlags::empty()) {
        println!("not run: this user may set no capabilities of files: {errno}");
        return;
    }
    setxattr(&lone, "user.note", b"kept", XattrFlags::empty()).unwrap();
    setxattr(&linked, "user.note", b"left", XattrFlags::empty()).unwrap();
    fs::hard_link(&linked, directory.path().join("further")).unwrap();
    let mut value = [0; 64];
    for name in ["lone", "linked"] {
        let arguments = serde_json::json!({"path": name, "content": "two\n"}).to_string();
        let outcome = workspace.call("write_file", &arguments);
        println!("{name}: {}", outcome.text);
    }
    assert_eq!(fs::read(&lone).unwrap(), b"two\n");
    assert_eq!(getxattr(&lone, "security.capability", &mut value), Err(Errno::NODATA));
    assert_eq!(getxattr(&lone, "user.note", &mut value), Ok(4));
    if fs::read(&linked).unwrap() == b"two\n" && fs::metadata(&linked).unwrap().nlink() == 1 {
        assert_eq!(getxattr(&linked, "user.note", &mut value), Err(Errno::NODATA));
    }
}

/// An undo grants access to no user who did not have it before.
mod restored {
    use super::*;
    use serde_json::{Value, json};

    /// A tree with a private key, a private directory, a read-only directory, and a script.
    struct Tree {
        home: TempDir,
        workspace: Workspace,
    }

    const MODES: [(&str, u32); 6] = [
        ("tree", 0o755),
        ("tree/own", 0o700),
        ("tree/own/key", 0o600),
        ("tree/own/deep", 0o750),
        ("tree/own/deep/run.sh", 0o755),
        ("tree/empty", 0o710),
    ];

    impl Tree {
        fn new(policy: &Value, overlay: bool) -> Self {
            let home = TempDir::new().unwrap();
            let root = home.path().join("work");
            fs::create_dir_all(root.join("tree/own/deep")).unwrap();
            fs::create_dir(root.join("tree/empty")).unwrap();
            fs::write(root.join("tree/own/key"), "secret\n").unwrap();
            fs::write(root.join("tree/own/deep/run.sh"), "#!/bin/sh\n").unwrap();
            fs::write(root.join("other"), "other\n").unwrap();
            for (path, bits) in MODES {
                fs::set_permissions(root.join(path), Permissions::from_mode(bits)).unwrap();
            }
            let builder = Workspace::builder().root(&root).state_dir(home.path().join("state"));
            let builder = if overlay { builder.overlay("o") } else { builder };
            let workspace = builder.policy_json(&policy.to_string()).unwrap().build().unwrap();
            Self { home, workspace }
        }

        fn call(&self, tool: &str, arguments: Value) -> Value {
            let outcome = self.workspace.call(tool, &arguments.to_string());
            assert!(outcome.ok, "{tool} {arguments}: {}", outcome.text);
            outcome.value()
        }

        #[track_caller]
        fn is_as_before(&self) {
            let root = self.home.path().join("work");
            for (path, bits) in MODES {
                assert_eq!(format!("{path} {:o}", mode(&root.join(path))), format!("{path} {bits:o}"));
            }
            assert_eq!(fs::read(root.join("tree/own/key")).unwrap(), b"secret\n");
        }

        /// Undoes the last call.
        fn undo(&self, result: &Value) {
            let backup = result["backup"].as_str().unwrap_or_else(|| panic!("no backup: {result}"));
            self.call("restore", json!({ "backup": backup }));
        }
    }

    #[test]
    fn a_delete_is_undone_with_modes() {
        let tree = Tree::new(&json!({}), false);
        for path in ["tree/own/key", "tree/own/deep/run.sh", "tree/own", "tree/empty", "tree"] {
            let result = tree.call("delete", json!({"path": path, "recursive": true}));
            tree.undo(&result);
            tree.is_as_before();
        }
    }

    #[test]
    fn a_patch_is_undone_with_modes() {
        let tree = Tree::new(&json!({}), false);
        let patch =
            "*** Begin Patch\n*** Delete File: tree/own/key\n*** Delete File: tree/own/deep/run.sh\n*** End Patch\n";
        let result = tree.call("apply_patch", json!({ "patch": patch }));
        tree.undo(&result);
        tree.is_as_before();
    }

    #[test]
    fn an_overwritten_file_is_restored_with_its_mode() {
        let tree = Tree::new(&json!({}), false);
        for tool in ["move", "copy"] {
            let arguments = json!({"source": "other", "destination": "tree/own/key", "overwrite": true});
            let result = tree.call(tool, arguments);
            tree.undo(&result);
            tree.is_as_before();
        }
    }

    #[test]
    fn changes_of_a_command_are_undone_with_modes() {
        let tree = Tree::new(&json!({"commands": {"enabled": true}}), false);
        for line in [
            "rm tree/own/key tree/own/deep/run.sh",
            "rm -r tree/own",
            "rm -r tree",
            "rmdir tree/empty",
            "mv other tree/own/key",
            "echo x > tree/own/key; chmod 666 tree/own/key",
            "chmod 666 tree/own/key; chmod 600 tree/own/deep/run.sh",
        ] {
            let result = tree.call("shell", json!({ "command": line }));
            tree.undo(&result);
            tree.is_as_before();
        }
    }

    #[test]
    fn a_commit_of_an_overlay_is_undone_with_modes() {
        let tree = Tree::new(&json!({}), true);
        tree.call("delete", json!({"path": "tree/own", "recursive": true}));
        let committed = tree.workspace.commit(&[], false).unwrap();
        assert!(!tree.home.path().join("work/tree/own").exists());
        let plain = Workspace::builder().root(tree.home.path().join("work")).state_dir(tree.home.path().join("state"));
        let plain = plain.build().unwrap();
        let outcome = plain.call("restore", &json!({"backup": committed.backup}).to_string());
        assert!(outcome.ok, "{}", outcome.text);
        tree.is_as_before();
    }

    #[test]
    fn a_deletion_in_an_overlay_is_undone_with_modes() {
        let tree = Tree::new(&json!({}), true);
        let result = tree.call("delete", json!({"path": "tree", "recursive": true}));
        tree.undo(&result);
        tree.workspace.commit(&[], false).unwrap();
        tree.is_as_before();
    }

    /// Directories are copied with their bits as files are.
    #[test]
    fn a_copied_directory_keeps_its_modes() {
        let tree = Tree::new(&json!({}), false);
        let root = tree.home.path().join("work");
        fs::set_permissions(root.join("tree/own/deep"), Permissions::from_mode(0o550)).unwrap();
        tree.call("copy", json!({"source": "tree", "destination": "copy", "recursive": true}));
        for (path, bits) in MODES {
            let bits = if path == "tree/own/deep" { 0o550 } else { bits };
            let copy = root.join(path.replacen("tree", "copy", 1));
            assert_eq!(format!("{path} {:o}", mode(&copy)), format!("{path} {bits:o}"));
        }
    }
}
