//! A restored tree is equal to the tree that was stored.

use super::*;

#[tokio::test]
async fn a_tree_returns_with_modes_times_links_and_empty_directories() {
    let fixture = Fixture::new();
    fixture.write("src/main.rs", "fn main() {}\n");
    fixture.write("run.sh", "#!/bin/sh\n");
    fixture.write("empty", "");
    fixture.write("private/key", "secret");
    fixture.write("large", vec![7; 20 << 20]);
    fs::create_dir_all(fixture.tree.join("none/below")).unwrap();
    symlink("src/main.rs", fixture.tree.join("inside")).unwrap();
    symlink("/etc/passwd", fixture.tree.join("outside")).unwrap();
    symlink("..", fixture.tree.join("above")).unwrap();
    let odd = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"odd \xff\n\\name");
    fs::write(fixture.tree.join(odd), "odd").unwrap();
    let mode =
        |path: &str, mode| fs::set_permissions(fixture.tree.join(path), PermissionsExt::from_mode(mode)).unwrap();
    mode("run.sh", 0o755);
    mode("private/key", 0o600);
    mode("empty", 0o444);
    mode("private", 0o700);
    mode("none", 0o555);
    let before = describe(&fixture.tree);
    let report = fixture.snapshot("first").await.unwrap();
    assert_eq!((report.files, report.files_read, report.skipped_count), (6, 6, 0));
    assert_eq!(report.entries, before.len() as u64 + 1);
    let restored = fixture.restore_with("first", &Limits::default(), Some(report.digest)).await.unwrap();
    assert_eq!(describe(&restored), before);
    assert_eq!(fixture.leftovers(), ["restored"]);
    assert_eq!(fs::metadata(fixture.path("store")).unwrap().mode() & 0o777, 0o700);
}

/// A directory without the permission to write is moved too, and its mode returns.
#[tokio::test]
async fn a_tree_that_its_owner_cannot_change_returns_into_an_empty_directory() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    fs::set_permissions(&fixture.tree, PermissionsExt::from_mode(0o555)).unwrap();
    fixture.snapshot("first").await.unwrap();
    fs::create_dir(fixture.path("restored")).unwrap();
    let restored = fixture.restore("first").await.unwrap();
    assert_eq!(fs::metadata(&restored).unwrap().mode() & 0o777, 0o555);
    assert_eq!(fs::read_to_string(restored.join("a")).unwrap(), "a");
}

#[tokio::test]
async fn a_second_snapshot_with_ten_changed_files_stores_ten() {
    let fixture = Fixture::new();
    for number in 0..200 {
        fixture.write(&format!("d{}/f{number}", number % 7), format!("content {number}"));
    }
    // A stamp is trusted when its times are 2 s in the past.
    std::thread::sleep(Duration::from_millis(2_100));
    let first = fixture.snapshot("first").await.unwrap();
    assert_eq!((first.files_read, first.objects_stored), (200, 200));
    let cache = StatCache::from_bytes(&first.cache.to_bytes());
    for number in 0..10 {
        fixture.write(&format!("d{}/f{number}", number % 7), format!("changed {number}"));
    }
    let second = fixture.snapshot_with(&fixture.store, "second", cache).await.unwrap();
    assert_eq!((second.files_read, second.objects_stored), (10, 10));
    assert_eq!(fixture.objects(), 210);
    assert_eq!(describe(&fixture.restore("second").await.unwrap()), describe(&fixture.tree));
    // Without a cache, all files are read, and none is stored.
    let third = fixture.snapshot("third").await.unwrap();
    assert_eq!((third.files_read, third.objects_stored), (200, 0));
}

#[tokio::test]
async fn times_before_1970_return() {
    let fixture = Fixture::new();
    fixture.write("d/a", "a");
    for name in ["d/a", "d"] {
        let file = fs::File::open(fixture.tree.join(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH - Duration::from_millis(1_500)).unwrap();
    }
    fixture.snapshot("first").await.unwrap();
    assert_eq!(describe(&fixture.restore("first").await.unwrap()), describe(&fixture.tree));
}

#[tokio::test]
async fn equal_contents_are_one_object() {
    let fixture = Fixture::new();
    (0..20).for_each(|number| fixture.write(&format!("f{number}"), "the same"));
    let report = fixture.snapshot("first").await.unwrap();
    assert_eq!((report.files, report.objects_stored, report.bytes_stored, fixture.objects()), (20, 1, 8, 1));
}

/// The digest of the cache is not trusted for an object that the store has lost.
#[tokio::test]
async fn an_object_that_is_missing_or_damaged_in_the_store_is_stored_again() {
    let fixture = Fixture::new();
    fixture.write("a", "aaaa");
    fixture.write("b", "bbbb");
    std::thread::sleep(Duration::from_millis(2_100));
    let first = fixture.snapshot("first").await.unwrap();
    crate::remove(&fixture.store, "first").await.unwrap();
    fs::remove_file(fixture.object(b"aaaa")).unwrap();
    fs::write(fixture.object(b"bbbb"), "b").unwrap();
    let second = fixture.snapshot_with(&fixture.store, "second", first.cache).await.unwrap();
    assert_eq!((second.files_read, second.objects_stored), (2, 2));
    assert_eq!(describe(&fixture.restore("second").await.unwrap()), describe(&fixture.tree));
}

#[tokio::test]
async fn special_files_are_skipped_by_name() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        fixture.tree.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o644),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.tree.join("socket")).unwrap();
    fs::hard_link(fixture.tree.join("a"), fixture.tree.join("b")).unwrap();
    fs::set_permissions(fixture.tree.join("a"), PermissionsExt::from_mode(0o4755)).unwrap();
    let report = fixture.snapshot("first").await.unwrap();
    assert_eq!((report.skipped, report.skipped_count), (vec!["pipe".to_owned(), "socket".to_owned()], 2));
    assert_eq!((report.special_modes, report.hard_links), (2, 2));
    let restored = fixture.restore("first").await.unwrap();
    assert_eq!(fs::metadata(restored.join("a")).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(fs::read_dir(&restored).unwrap().count(), 2);
}

#[tokio::test]
async fn a_name_is_used_once() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    fixture.snapshot("first").await.unwrap();
    let error = fixture.snapshot("first").await.unwrap_err();
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    let error = fixture.restore("second").await.unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    let (name, _) = create(&fixture.store, None, fixture.trees(), Options::default()).await.unwrap();
    assert!(name.starts_with("20") && fixture.restore(&name).await.is_ok(), "{name}");
}

#[tokio::test]
async fn nothing_is_restored_over_anything() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    fixture.snapshot("first").await.unwrap();
    fs::create_dir_all(fixture.path("restored/x")).unwrap();
    assert!(fixture.restore("first").await.unwrap_err().to_string().contains("not empty"));
    fs::remove_dir_all(fixture.path("restored")).unwrap();
    fs::create_dir(fixture.path("other")).unwrap();
    symlink("other", fixture.path("restored")).unwrap();
    assert!(fixture.restore("first").await.unwrap_err().to_string().contains("not a directory"));
    assert_eq!(fs::read_dir(fixture.path("other")).unwrap().count(), 0);
    fs::remove_file(fixture.path("restored")).unwrap();
    // Something appears while the snapshot is read.
    let destination = Destination::open(&fixture.path("restored")).unwrap();
    let mut staged = stage(&fixture.store, "first", destination, &Limits::default(), None).await.unwrap();
    fs::create_dir_all(fixture.path("restored/x")).unwrap();
    assert!(staged.commit(TREE).is_err());
    drop(staged);
    assert_eq!(fixture.leftovers(), ["other", "restored"]);
    assert!(fixture.path("restored/x").exists());
}

#[tokio::test]
async fn several_trees_are_one_snapshot() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    let mut trees = fixture.trees();
    fs::create_dir(fixture.path("state")).unwrap();
    fs::write(fixture.path("state/1"), "one").unwrap();
    trees.insert(0, ("history".to_owned(), Dir::open_ambient_dir(fixture.path("state"), ambient_authority()).unwrap()));
    create(&fixture.store, Some("first"), trees, Options::default()).await.unwrap();
    let destination = Destination::open(&fixture.path("restored")).unwrap();
    let mut staged = stage(&fixture.store, "first", destination, &Limits::default(), None).await.unwrap();
    let history = staged.tree("history").unwrap().unwrap();
    assert_eq!(history.read_to_string("1").unwrap(), "one");
    let (path, _) = staged.commit(TREE).unwrap();
    assert!(staged.tree("none").unwrap().is_none() && staged.commit("none").is_err());
    drop(staged);
    assert_eq!(describe(&path), describe(&fixture.tree));
}
