//! The search index on real files: searches return the same bytes with and without it, whatever happened to the files.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use paddock::{Builder, CallOptions, Policy, Progress, Workspace};
use rustix::fs::statfs;
use serde_json::{Value, json};
use tempfile::TempDir;

mod beside_ripgrep;

/// Number of files of the tree.
const FILES: usize = 400;
/// Time after which the file of a change can be indexed.
const SETTLING: Duration = Duration::from_millis(2_100);

/// A workspace whose files can be indexed.
struct Fixture {
    home: TempDir,
    workspace: Workspace,
    without_index: Workspace,
}

impl Fixture {
    /// Creates a workspace with `build`. Returns `None` if the file system of temporary directories has no stamps.
    fn new(build: impl FnOnce(Builder) -> Builder) -> Option<Self> {
        let write_tree = |root: &Path| {
            for number in 0..FILES {
                let dir = root.join(["a", "b", "b/c", "d"][number % 4]);
                fs::create_dir_all(&dir).unwrap();
                fs::write(dir.join(format!("f{number:03}")), format!("line one of {number}\nthe end\n")).unwrap();
            }
            fs::write(root.join("d/binary"), b"\0needle").unwrap();
            fs::write(root.join("d/latin1"), b"caf\xe9 needle\n").unwrap();
        };
        Self::with_tree(write_tree, build)
    }

    /// Creates a workspace with `build` over the files that `write_tree` writes.
    fn with_tree(write_tree: impl FnOnce(&Path), build: impl FnOnce(Builder) -> Builder) -> Option<Self> {
        let home = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let root = home.path().join("work");
        fs::create_dir(&root).unwrap();
        write_tree(&root);
        let builder = Workspace::builder().root(&root).state_dir(home.path().join("state"));
        let of_index = |setting: fn(&mut Policy)| {
            let mut policy = Policy::default();
            setting(&mut policy);
            builder.clone().policy(policy)
        };
        let without_index = of_index(|policy| policy.index.enabled = false).build().unwrap();
        let workspace = build(of_index(|policy| policy.index.min_age_seconds = 2)).build().unwrap();
        // ext4, XFS, Btrfs: those of build machines.
        let has_stamps = [0xef53, 0x5846_5342, 0x9123_683e].contains(&statfs(&root).unwrap().f_type);
        let fixture = Self { workspace, without_index, home };
        if !has_stamps {
            assert_eq!(fixture.workspace.update_index(Duration::MAX).unwrap().added, 0);
            eprintln!("the file system of the target directory has no stamps: nothing is tested");
        }
        has_stamps.then_some(fixture)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path().join("work").join(path)
    }

    /// Waits until all files can be indexed, and adds them.
    fn update(&self) -> u64 {
        std::thread::sleep(SETTLING);
        let update = self.workspace.update_index(Duration::MAX).unwrap();
        assert!(update.is_complete && update.unsettled == 0, "{update:?}");
        update.added
    }

    /// Compares a search with that without the index, and returns the matching paths.
    #[track_caller]
    fn found(&self, arguments: &Value) -> Vec<String> {
        let (found, _) = search(&self.workspace, arguments);
        let (expected, _) = search(&self.without_index, arguments);
        assert_eq!(found.to_string(), expected.to_string());
        let matches = found["result"]["matches"].as_array().unwrap();
        matches.iter().map(|found| found["path"].as_str().unwrap().to_owned()).collect()
    }
}

/// Returns the outcome of a search, and the number of files and directories that it opened.
fn search(workspace: &Workspace, arguments: &Value) -> (Value, u64) {
    let options = CallOptions::default().with_progress(Progress::default());
    let outcome = workspace.call_with("grep", &arguments.to_string(), &options);
    assert!(outcome.ok, "{}", outcome.text);
    (serde_json::to_value(&outcome).unwrap(), options.progress.opened())
}

fn needle() -> Value {
    json!({"pattern": "needle_in", "output": "content"})
}

/// Sets the modification time of a file to that of another one.
fn copy_time(from: &Path, to: &Path) {
    let modified = fs::metadata(from).unwrap().modified().unwrap();
    File::options().write(true).open(to).unwrap().set_times(FileTimes::new().set_modified(modified)).unwrap();
}

/// Returns all names in a workspace, and the number of directories that were opened.
fn names(workspace: &Workspace) -> (String, u64) {
    let options = CallOptions::default().with_progress(Progress::default());
    let outcome = workspace.call_with("glob", r#"{"pattern": "**", "limit": 2000, "include_hidden": true}"#, &options);
    assert!(outcome.ok, "{}", outcome.text);
    (serde_json::to_string(&outcome).unwrap(), options.progress.opened())
}

#[test]
fn directories_that_have_not_changed_are_not_opened() {
    const DIRECTORIES: usize = 120;
    let directory = |number: usize| format!("{}/d{number}", number % 4);
    let write_tree = |root: &Path| {
        for number in 0..DIRECTORIES {
            let dir = root.join(directory(number));
            fs::create_dir_all(&dir).unwrap();
            (0..3).for_each(|file| fs::write(dir.join(format!("f{file}")), format!("needle {number}\n")).unwrap());
        }
    };
    let Some(fixture) = Fixture::with_tree(write_tree, |builder| builder) else { return };
    fixture.update();
    let compared = || {
        let ((found, opened), (expected, all)) = (names(&fixture.workspace), names(&fixture.without_index));
        assert_eq!(found, expected);
        fixture.found(&json!({"pattern": "needle", "output": "content", "limit": 1000}));
        (opened, all)
    };
    let (opened, all) = compared();
    assert!(all >= DIRECTORIES as u64 && opened < all / 2, "{opened} of {all} directories were opened");
    let path = |number: usize| fixture.path(&directory(number));
    let kept = |number: usize, change: &dyn Fn(&Path)| {
        let modified = fs::metadata(path(number)).unwrap().modified().unwrap();
        change(&path(number));
        File::open(path(number)).unwrap().set_times(FileTimes::new().set_modified(modified)).unwrap();
    };
    // The last directories, since a walk lists the first ones.
    kept(119, &|dir| fs::write(dir.join("new"), "needle new\n").unwrap());
    compared();
    kept(118, &|dir| fs::remove_file(dir.join("f1")).unwrap());
    compared();
    kept(117, &|dir| fs::rename(dir.join("f1"), dir.join("g1")).unwrap());
    compared();
    kept(116, &|dir| {
        fs::remove_file(dir.join("f0")).unwrap();
        symlink("f1", dir.join("f0")).unwrap();
    });
    compared();
    kept(115, &|dir| {
        fs::remove_file(dir.join("f0")).unwrap();
        fs::create_dir(dir.join("f0")).unwrap();
        fs::write(dir.join("f0/in"), "needle in\n").unwrap();
    });
    compared();
    // Two directories change their names.
    fs::rename(path(114), fixture.path("aside")).unwrap();
    fs::rename(path(113), path(114)).unwrap();
    fs::rename(fixture.path("aside"), path(113)).unwrap();
    compared();
    kept(112, &|dir| fs::write(dir.join(".gitignore"), "f*\n").unwrap());
    compared();
    kept(111, &|dir| fs::write(dir.join(".agentignore"), "f1\n").unwrap());
    compared();
    fs::remove_dir_all(path(110)).unwrap();
    fs::write(path(110), "needle\n").unwrap();
    compared();
    fixture.update();
    compared();
}

#[test]
fn indexed_files_are_not_opened() {
    let Some(fixture) = Fixture::new(|builder| builder) else { return };
    let (before, opened_before) = search(&fixture.workspace, &needle());
    assert_eq!(fixture.update(), FILES as u64 + 2);
    assert_eq!(fixture.workspace.update_index(Duration::MAX).unwrap().added, 0);
    let (after, opened_after) = search(&fixture.workspace, &needle());
    assert_eq!(after.to_string(), before.to_string());
    assert!(opened_before >= FILES as u64 && opened_after < FILES as u64 / 2, "{opened_before}, {opened_after}");
    for arguments in [
        json!({"pattern": "needle", "multiline": true}),
        json!({"pattern": "caf. needle"}),
        json!({"pattern": "ONE OF 1.*END", "multiline": true, "case": "insensitive", "output": "count"}),
        json!({"pattern": "of 27", "fixed": true, "limit": 3}),
        json!({"pattern": "of 27", "glob": "**/f1*"}),
    ] {
        let (found, _) = search(&fixture.workspace, &arguments);
        let (expected, _) = search(&fixture.without_index, &arguments);
        assert_eq!(found.to_string(), expected.to_string());
    }
}

#[test]
fn changes_of_indexed_files_are_found() {
    let Some(fixture) = Fixture::new(|builder| builder) else { return };
    let path = |path: &str| fixture.path(path);
    let text = |number: usize| format!("line one of {number}\nthe end\n");
    let needle_of = |number: usize| format!("{:-<1$}", "needle_in", text(number).len());
    // An equal file, whose times become those of a file of the tree.
    fs::write(path("spare"), needle_of(297)).unwrap();
    copy_time(&path("b/f297"), &path("spare"));
    fs::create_dir(path("e")).unwrap();
    fs::write(path("e/f003"), needle_of(3)).unwrap();
    copy_time(&path("d/f003"), &path("e/f003"));
    fixture.update();
    assert_eq!(fixture.found(&needle()), ["e/f003", "spare"]);
    // In place, with the same size and modification time.
    let modified = File::open(path("d/f299")).unwrap().metadata().unwrap().modified().unwrap();
    fs::write(path("d/f299"), needle_of(299)).unwrap();
    File::open(path("d/f299")).unwrap().set_times(FileTimes::new().set_modified(modified)).unwrap();
    assert_eq!(fixture.found(&needle()), ["d/f299", "e/f003", "spare"]);
    // Another file of the same size and modification time takes its name.
    fs::rename(path("spare"), path("b/f297")).unwrap();
    assert_eq!(fixture.found(&needle()), ["b/f297", "d/f299", "e/f003"]);
    // Two directories change their names.
    fs::rename(path("d"), path("swap")).unwrap();
    fs::rename(path("e"), path("d")).unwrap();
    fs::rename(path("swap"), path("e")).unwrap();
    assert_eq!(fixture.found(&needle()), ["b/f297", "d/f003", "e/f299"]);
    // A change through another hard link.
    fs::hard_link(path("b/f293"), path("link")).unwrap();
    fixture.update();
    fs::write(path("link"), needle_of(293)).unwrap();
    assert_eq!(fixture.found(&needle()), ["b/f293", "b/f297", "d/f003", "e/f299", "link"]);
    // A symbolic link, a file that cannot be read, and a file that is no longer there.
    fs::remove_file(path("b/f289")).unwrap();
    symlink("f293", path("b/f289")).unwrap();
    fs::set_permissions(path("b/f285"), PermissionsExt::from_mode(0o000)).unwrap();
    fs::remove_file(path("link")).unwrap();
    assert_eq!(fixture.found(&needle()), ["b/f293", "b/f297", "d/f003", "e/f299"]);
    fixture.update();
    assert_eq!(fixture.found(&needle()), ["b/f293", "b/f297", "d/f003", "e/f299"]);
}

/// A program that writes through a memory map, or in one write of many seconds, changes a file after its times.
#[test]
fn files_that_changed_in_the_last_minute_are_not_added() {
    let Some(fixture) = Fixture::new(|builder| builder) else { return };
    std::thread::sleep(SETTLING);
    let workspace =
        Workspace::builder().root(fixture.path(".")).state_dir(fixture.home.path().join("other")).build().unwrap();
    let update = workspace.update_index(Duration::MAX).unwrap();
    assert_eq!((update.added, update.unsettled), (0, FILES as u64 + 2));
}

/// The time of the last change of its metadata counts, and not only that of its content.
#[test]
fn a_file_whose_metadata_changed_is_not_added_at_once() {
    let Some(fixture) = Fixture::new(|builder| builder) else { return };
    std::thread::sleep(SETTLING);
    // On a loaded machine, an update can take so long that the file can be added.
    let is_in_time = |mode: u32| {
        fs::set_permissions(fixture.path("a/f000"), fs::Permissions::from_mode(mode)).unwrap();
        let changed = Instant::now();
        let update = fixture.workspace.update_index(Duration::MAX).unwrap();
        let is_in_time = changed.elapsed() < Duration::from_millis(1_900);
        assert!(!is_in_time || update.unsettled == 1, "{update:?}");
        is_in_time
    };
    assert!((0o600..0o620).any(is_in_time));
    assert_eq!(fixture.update(), 1);
}

#[test]
fn a_search_leaves_no_trace_and_a_damaged_index_is_ignored() {
    let Some(fixture) = Fixture::new(|builder| builder) else { return };
    search(&fixture.workspace, &needle());
    assert!(!fixture.home.path().join("state").exists());
    fixture.update();
    let index = fixture.home.path().join("state/index");
    let segments = || fs::read_dir(&index).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    for segment in segments() {
        let mut bytes = fs::read(&segment).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&segment, bytes).unwrap();
    }
    assert!(fixture.found(&needle()).is_empty());
    fs::write(fixture.path("d/f299"), "needle_in").unwrap();
    assert_eq!(fixture.found(&needle()), ["d/f299"]);
}

#[test]
fn a_long_search_has_the_index_updated() {
    let Some(fixture) = Fixture::new(Builder::index_in_background) else { return };
    std::thread::sleep(SETTLING);
    let started = Instant::now();
    while search(&fixture.workspace, &needle()).1 >= FILES as u64 / 2 {
        assert!(started.elapsed() < Duration::from_secs(60), "the index is not updated");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A workspace whose lock is held takes no time from the index of others.
#[test]
fn an_update_in_the_background_does_not_wait_for_a_lock() {
    let Some(busy) = Fixture::new(Builder::index_in_background) else { return };
    let Some(other) = Fixture::new(Builder::index_in_background) else { return };
    std::thread::sleep(SETTLING);
    fs::create_dir_all(busy.home.path().join("state")).unwrap();
    let lock =
        File::options().write(true).create(true).truncate(false).open(busy.home.path().join("state/lock")).unwrap();
    lock.lock().unwrap();
    let started = Instant::now();
    while search(&other.workspace, &needle()).1 >= FILES as u64 / 2 {
        assert!(started.elapsed() < Duration::from_secs(15), "the index is not updated");
        search(&busy.workspace, &needle());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_command_adds_files() {
    let Some(fixture) = Fixture::new(|builder| builder) else { return };
    std::thread::sleep(SETTLING);
    let mut paddock = Command::new(env!("CARGO_BIN_EXE_paddock"));
    paddock
        .args(["index", "--set", "index.min_age_seconds=2", "--root"])
        .arg(fixture.path("."))
        .arg("--state-dir")
        .arg(fixture.home.path().join("state"));
    let output = paddock.output().unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed, json!({"added": FILES + 2, "unsettled": 0}));
}
