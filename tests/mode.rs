//! A replaced file keeps its mode, owner and extended attributes.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]
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
fn an_executable_script_changes_in_the_bytes_asked_for_and_nothing_else() {
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
fn copies_have_the_mode_of_what_was_copied() {
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

/// Rights that a program runs with are of the content that they were given to, and what a further name says of a file
/// says nothing of another one.
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
