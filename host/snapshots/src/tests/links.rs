//! A store in a directory that another user can change: links, FIFOs, and files of other programs.

use super::*;
use crate::{collect, list, remove};

/// Name of an object that no snapshot needs.
const OTHER: &str = "abababababababababababababababababababababababababababababababab";

impl Fixture {
    /// Creates a directory beside the store, with a file, and with one that is named as an object.
    fn outside(&self) -> PathBuf {
        let outside = self.path("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("letter.txt"), "letter").unwrap();
        fs::write(outside.join(OTHER), "of another store").unwrap();
        outside
    }
}

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

fn fifo(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::from(0o644), 0).unwrap();
}

#[tokio::test]
async fn nothing_is_removed_through_a_link() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    fixture.snapshot("first").await.unwrap();
    let outside = fixture.outside();
    symlink(&outside, fixture.path("store/objects/ab")).unwrap();
    symlink(&outside, fixture.path("store/objects/link")).unwrap();
    symlink("/", fixture.path("store/objects/root")).unwrap();
    assert_eq!(collect(&fixture.store).await.unwrap().objects, 0);
    fs::rename(fixture.path("store/objects"), fixture.path("store/kept")).unwrap();
    fs::create_dir_all(outside.join("ab")).unwrap();
    fs::rename(outside.join(OTHER), outside.join("ab").join(OTHER)).unwrap();
    symlink(&outside, fixture.path("store/objects")).unwrap();
    let error = collect(&fixture.store).await.unwrap_err();
    assert!(matches!(error, Error::Store { .. }), "{error}");
    symlink(outside.join("letter.txt"), fixture.path("store/snapshots/link")).unwrap();
    let _ = remove(&fixture.store, "link").await;
    assert!(outside.join("letter.txt").exists() && outside.join("ab").join(OTHER).exists());
}

#[tokio::test]
async fn nothing_is_written_through_a_link() {
    for directory in ["objects", "snapshots", "running", "objects/ca"] {
        let fixture = Fixture::new();
        // Its digest begins with `ca`.
        fixture.write("a", "a");
        let outside = fixture.outside();
        let before = names(&outside);
        fs::create_dir_all(fixture.path("store/objects")).unwrap();
        let _ = fs::remove_dir(fixture.path("store").join(directory));
        symlink(&outside, fixture.path("store").join(directory)).unwrap();
        let error = fixture.snapshot("first").await.expect_err(directory);
        assert!(matches!(error, Error::Store { .. }), "{directory}: {error}");
        assert_eq!(names(&outside), before, "{directory}");
    }
}

/// A bucket or a directory can have files of other programs.
#[tokio::test]
async fn files_of_other_programs_remain() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    fixture.snapshot("first").await.unwrap();
    let others = ["objects/photo.jpg", "objects/ab/notes.txt", "objects/cd/file", "other"];
    for other in others {
        fs::create_dir_all(fixture.path("store").join(other).parent().unwrap()).unwrap();
        fs::write(fixture.path("store").join(other), "x").unwrap();
    }
    // The digest is not below its first two digits.
    fs::write(fixture.path("store/objects/cd").join(OTHER), "x").unwrap();
    fs::write(fixture.path("store/objects/ab").join(OTHER), "object").unwrap();
    assert_eq!(collect(&fixture.store).await.unwrap().objects, 1);
    assert!(others.iter().all(|other| fixture.path("store").join(other).exists()));
    assert!(fixture.path("store/objects/cd").join(OTHER).exists());
}

/// The store writes an object to `DIGEST#1` first, which remains if its process is killed.
#[tokio::test]
async fn an_unfinished_object_is_removed_after_a_day() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    fixture.snapshot("first").await.unwrap();
    let directory = fixture.path("store/objects/ab");
    fs::create_dir(&directory).unwrap();
    for name in [format!("{OTHER}#1"), format!("{OTHER}#2"), format!("{OTHER}#x")] {
        fs::write(directory.join(&name), "unfinished").unwrap();
        if !name.ends_with('2') {
            let file = fs::File::options().write(true).open(directory.join(&name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(25 * 60 * 60)).unwrap();
        }
    }
    assert_eq!(collect(&fixture.store).await.unwrap().objects, 1);
    assert_eq!(names(&directory), [format!("{OTHER}#2"), format!("{OTHER}#x")]);
}

#[tokio::test]
async fn no_special_file_in_a_store_is_waited_for() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    fixture.snapshot("first").await.unwrap();
    fifo(&fixture.path("store/snapshots/pipe"));
    fifo(&fixture.path("store/objects/pipe"));
    fifo(&fixture.path("store/running/snapshot-pipe"));
    let all = async {
        assert_eq!(list(&fixture.store).await.unwrap().len(), 1);
        assert_eq!(collect(&fixture.store).await.unwrap().retained, 1);
        assert!(fixture.restore("pipe").await.is_err());
        assert!(matches!(fixture.snapshot("pipe").await, Err(Error::Store { .. })));
        fixture.restore("first").await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(30), all).await.unwrap();
}

#[tokio::test]
async fn a_damaged_manifest_is_named() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    fixture.snapshot("first").await.unwrap();
    fs::write(fixture.path("store/snapshots/second"), "\x1b[2J\n").unwrap();
    for error in [list(&fixture.store).await.unwrap_err(), collect(&fixture.store).await.unwrap_err()] {
        assert!(error.to_string().starts_with("cannot read the snapshot `second`: line 1 "), "{error}");
        assert!(!error.to_string().contains('\x1b'), "{error}");
    }
    // Only the first line is read for a list.
    let first = fs::read(fixture.path("store/snapshots/first")).unwrap();
    let end = first.iter().position(|byte| *byte == b'\n').unwrap();
    fs::write(fixture.path("store/snapshots/second"), &first[..=end]).unwrap();
    assert_eq!(list(&fixture.store).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_store_in_its_tree_is_refused() {
    let fixture = Fixture::new();
    fixture.write("d/a", "a");
    let inner: Location = fixture.tree.join("d/store").to_str().unwrap().parse().unwrap();
    let store = Store::open(&inner, true).unwrap();
    let error = fixture.snapshot_with(&store, "first", StatCache::default()).await.unwrap_err();
    assert!(matches!(&error, Error::StoreInTree { path } if path == "d/store"), "{error}");
    // The same by a link to the tree.
    symlink(&fixture.tree, fixture.path("link")).unwrap();
    let store = Store::open(&fixture.path("link").to_str().unwrap().parse().unwrap(), true).unwrap();
    let error = fixture.snapshot_with(&store, "first", StatCache::default()).await.unwrap_err();
    assert!(matches!(error, Error::StoreInTree { .. }), "{error}");
}
