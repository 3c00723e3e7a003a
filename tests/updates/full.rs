//! A full file system: a change is made, or refused without effect.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use paddock::Workspace;
use paddock::types::ErrorCode;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Size of the file system in pages.
const PAGES: usize = 48;
const PAGE: usize = 4096;

/// A small file system in memory, mounted until this value is dropped.
struct Small(TempDir);

impl Small {
    /// Mounts a file system; returns `None` if this user may not.
    fn mount(options: &str) -> Option<Self> {
        let home = TempDir::new().unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(home.path()).output();
        let is_mounted = mount.is_ok_and(|output| output.status.success());
        is_mounted.then(|| Self(home))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

fn tree(top: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut nodes = BTreeMap::new();
    for entry in fs::read_dir(top).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => {
                nodes.extend(tree(&entry.path()).into_iter().map(|(path, node)| (format!("{name}/{path}"), node)));
                nodes.insert(name, None);
            }
            false => {
                nodes.insert(name, Some(fs::read(entry.path()).unwrap()));
            }
        }
    }
    nodes
}

fn changes() -> [(&'static str, Value); 7] {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** Add File: new/deep/c.txt\n+new\n\
        *** Delete File: dir/b.txt\n*** End Patch\n";
    [
        ("write_file", json!({"path": "new.txt", "content": "x".repeat(3 * PAGE)})),
        ("write_file", json!({"path": "a.txt", "content": "y".repeat(3 * PAGE)})),
        ("edit_file", json!({"path": "a.txt", "edits": [{"old_text": "one", "new_text": "z".repeat(2 * PAGE)}]})),
        ("apply_patch", json!({ "patch": patch })),
        ("copy", json!({"source": "dir", "destination": "copy", "recursive": true})),
        ("move", json!({"source": "dir", "destination": "far/away/dir"})),
        ("delete", json!({"path": "dir", "recursive": true})),
    ]
}

/// Makes each change on a file system with this little free space, and fails unless the change was made completely or
/// not at all.
fn on_small_filesystem(options: &str, fill: impl Fn(&Path)) -> Option<(usize, usize)> {
    let (mut successes, mut refused) = (0, 0);
    for (tool, arguments) in changes() {
        let small = Small::mount(options)?;
        let root = small.0.path().join("work");
        fs::create_dir_all(root.join("dir")).unwrap();
        fs::write(root.join("a.txt"), "one\ntwo\n").unwrap();
        fs::write(root.join("dir/b.txt"), "b".repeat(PAGE)).unwrap();
        let open = || Workspace::builder().root(&root).state_dir(small.0.path().join("state")).build();
        // The state directory may not fit on the file system.
        let Ok(workspace) = open() else { continue };
        fill(small.0.path());
        let before = tree(&root);
        let outcome = workspace.call(tool, &arguments.to_string());
        let after = tree(&root);
        match &outcome.error {
            None => {
                successes += 1;
                assert_ne!(before, after, "{tool}");
            }
            Some(error) => {
                refused += 1;
                assert_eq!(error.code, ErrorCode::NoSpace, "{tool}: {error:?}");
                assert!(before == after, "{tool}, {error:?}: {:?}", after.keys());
            }
        }
        assert!(after.keys().all(|path| !path.contains(".paddock")), "{tool}: {:?}", after.keys());
        fs::remove_dir_all(small.0.path().join("filler")).unwrap();
        has_room(&workspace);
    }
    Some((successes, refused))
}

/// Fails unless a file can be written soon. A process that another test has just started has the descriptors of this one
/// until it runs its own program, and with them the space of a removed file.
#[track_caller]
fn has_room(workspace: &Workspace) {
    let started = Instant::now();
    loop {
        let outcome = workspace.call("write_file", r#"{"path": "last.txt", "content": "room"}"#);
        let Some(error) = outcome.error else { return };
        assert!(error.code == ErrorCode::NoSpace && started.elapsed() < Duration::from_secs(10), "{error:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn without_space_a_change_is_made_or_refused() {
    let (mut successes, mut refused) = (0, 0);
    for pages in 0..PAGES {
        let counts = on_small_filesystem(&format!("size={}", PAGES * PAGE), |top| {
            let used = PAGE * pages;
            fs::create_dir(top.join("filler")).unwrap();
            let filler = top.join("filler/file");
            fs::write(&filler, []).unwrap();
            // The filler leaves only the given number of pages free.
            let mut file = fs::OpenOptions::new().append(true).open(&filler).unwrap();
            while std::io::Write::write_all(&mut file, &[0; PAGE]).is_ok() {}
            let full = file.metadata().unwrap().len();
            file.set_len(full.saturating_sub(used as u64)).unwrap();
        });
        let Some(counts) = counts else {
            println!("skipped: this user may mount no tmpfs");
            return;
        };
        (successes, refused) = (successes + counts.0, refused + counts.1);
    }
    println!("a small tmpfs: {successes} changes made, {refused} refused");
    assert!(successes > 0 && refused > 0, "{successes} made, {refused} refused");
}

#[test]
fn without_inodes_a_change_is_made_or_refused() {
    let (mut successes, mut refused) = (0, 0);
    for free in 0..20 {
        let counts = on_small_filesystem("size=1m,nr_inodes=80", |top| {
            let fillers = top.join("filler");
            fs::create_dir(&fillers).unwrap();
            let filler_paths: Vec<_> = (0..)
                .map(|number| fillers.join(format!("{number}")))
                .take_while(|path| fs::write(path, []).is_ok())
                .collect();
            filler_paths.iter().rev().take(free).for_each(|path| fs::remove_file(path).unwrap());
        });
        let Some(counts) = counts else {
            println!("skipped: this user may mount no tmpfs");
            return;
        };
        (successes, refused) = (successes + counts.0, refused + counts.1);
    }
    println!("a tmpfs of few inodes: {successes} changes made, {refused} refused");
    assert!(successes > 0 && refused > 0, "{successes} made, {refused} refused");
}
