//! The tree changes while it is read.

use std::os::unix::fs::FileExt;

use super::faulty::Faulty;
use super::*;

/// The file is written during the first attempt, and the snapshot has the new content.
#[tokio::test]
async fn a_tree_that_changes_once_is_read_again() {
    let fixture = Fixture::new();
    fixture.write("a", "old");
    fixture.write("b", "b");
    let path = fixture.tree.join("a");
    let mut is_first = true;
    let (store, _) = Faulty::new(move |key| {
        if key.starts_with("objects/") && std::mem::take(&mut is_first) {
            fs::write(&path, "new").unwrap();
            fs::write(path.with_file_name("c"), "c").unwrap();
        }
        Ok(())
    });
    let report = fixture.snapshot_with(&store, "first", StatCache::default()).await.unwrap();
    assert_eq!(report.files, 3);
    let destination = Destination::open(&fixture.path("restored")).unwrap();
    let mut staged = stage(&store, "first", destination, &Limits::default(), None).await.unwrap();
    let (restored, _) = staged.commit(TREE).unwrap();
    assert_eq!(describe(&restored), describe(&fixture.tree));
}

#[tokio::test]
async fn a_tree_that_changes_all_the_time_is_an_error_with_the_path() {
    let fixture = Fixture::new();
    fixture.write("a", "0");
    fixture.write("quiet", "q");
    let path = fixture.tree.join("a");
    let mut count = 0;
    let (store, _) = Faulty::new(move |key| {
        if key.starts_with("objects/") {
            count += 1;
            fs::write(&path, format!("changed {count}")).unwrap();
        }
        Ok(())
    });
    let error = fixture.snapshot_with(&store, "first", StatCache::default()).await.unwrap_err();
    assert!(matches!(&error, Error::Changed { paths, attempts: 3 } if *paths == ["a"]), "{error}");
    assert_eq!(crate::list(&store).await.unwrap(), []);
}

/// Another program replaces a directory by a link to a directory outside while the tree is read.
#[tokio::test]
async fn no_link_is_followed_that_replaces_a_directory() {
    let fixture = Fixture::new();
    fixture.write("0", "first");
    fixture.write("d/secret", "of the tree");
    fs::create_dir(fixture.path("outside")).unwrap();
    fs::write(fixture.path("outside/secret"), "of the others").unwrap();
    fs::write(fixture.path("outside/more"), "of the others too").unwrap();
    let (tree, outside) = (fixture.tree.clone(), fixture.path("outside"));
    let (store, objects) = Faulty::new(move |key| {
        if key.starts_with("running/snapshot") {
            return Ok(());
        }
        let directory = tree.join("d");
        if directory.symlink_metadata().unwrap().is_symlink() {
            fs::remove_file(&directory).unwrap();
            fs::rename(tree.join("moved"), &directory).unwrap();
        } else {
            fs::rename(&directory, tree.join("moved")).unwrap();
            symlink(&outside, &directory).unwrap();
        }
        Ok(())
    });
    // Whether an attempt finds a quiet moment is a matter of time.
    let _ = fixture.snapshot_with(&store, "first", StatCache::default()).await;
    for content in ["of the others", "of the others too"] {
        let key = crate::object::object_key(&Digest::of(content.as_bytes())).into();
        assert!(object_store::ObjectStoreExt::head(&*objects, &key).await.is_err(), "{content}");
    }
}

/// Neither the size nor the time of the last modification shows the change, as with `touch -r`.
#[tokio::test]
async fn a_change_that_keeps_size_and_time_is_stored() {
    let fixture = Fixture::new();
    fixture.write("a", "old");
    std::thread::sleep(Duration::from_millis(2_100));
    let first = fixture.snapshot("first").await.unwrap();
    let file = fs::File::options().write(true).open(fixture.tree.join("a")).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(b"new", 0).unwrap();
    file.set_modified(time).unwrap();
    let second = fixture.snapshot_with(&fixture.store, "second", first.cache).await.unwrap();
    assert_eq!((second.files_read, second.objects_stored), (1, 1));
}

/// A file that was changed just before a snapshot could be changed again without another stamp.
#[tokio::test]
async fn a_new_file_is_read_again() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    let first = fixture.snapshot("first").await.unwrap();
    let second = fixture.snapshot_with(&fixture.store, "second", first.cache).await.unwrap();
    assert_eq!((second.files_read, second.objects_stored), (1, 0));
    let damaged = StatCache::from_bytes(b"{\"version\":1}");
    let third = fixture.snapshot_with(&fixture.store, "third", damaged).await.unwrap();
    assert_eq!((third.files_read, third.objects_stored), (1, 0));
}

#[tokio::test]
async fn a_tree_beyond_the_bounds_is_refused() {
    let fixture = Fixture::new();
    (0..10).for_each(|number| fixture.write(&format!("f{number}"), "0123456789"));
    for (max_entries, max_bytes) in [(10, 1_000), (100, 99)] {
        let options = Options { limits: Limits { max_entries, max_bytes }, ..Options::default() };
        let error = create(&fixture.store, Some("first"), fixture.trees(), options).await.unwrap_err();
        assert!(matches!(error, Error::Limit { .. }), "{error}");
    }
    let options = Options { limits: Limits { max_entries: 11, max_bytes: 100 }, ..Options::default() };
    create(&fixture.store, Some("first"), fixture.trees(), options).await.unwrap();
    fs::create_dir_all(fixture.tree.join("d/".repeat(300))).unwrap();
    let error = fixture.snapshot("second").await.unwrap_err();
    assert!(message(&error).contains("more than 256 names"), "{error}");
}

/// The superuser reads every file.
#[tokio::test]
async fn a_file_that_cannot_be_read_is_an_error_with_its_path() {
    let fixture = Fixture::new();
    fixture.write("a\nb", "a");
    fs::set_permissions(fixture.tree.join("a\nb"), PermissionsExt::from_mode(0o000)).unwrap();
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: this user reads every file");
        return;
    }
    let error = fixture.snapshot("first").await.unwrap_err();
    assert!(message(&error).starts_with("cannot read `a\\nb`: "), "{error}");
}
