//! Other processes act while a snapshot is taken or restored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::faulty::Faulty;
use super::*;
use crate::{collect, remove};

fn fifo(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::from(0o644), 0).unwrap();
}

/// A file becomes a FIFO, a directory and a link after the tree was listed.
#[tokio::test]
async fn a_file_that_becomes_another_entry_is_not_followed() {
    for kind in ["FIFO", "directory", "link"] {
        let fixture = Fixture::new();
        (0..100).for_each(|number| fixture.write(&format!("f{number:02}"), format!("content {number}")));
        let secret = fixture.path("secret");
        fs::write(&secret, "of the others").unwrap();
        let (tree, mut is_first) = (fixture.tree.clone(), true);
        let (store, objects) = Faulty::new(move |key| {
            if key.starts_with("objects/") && std::mem::take(&mut is_first) {
                for number in 20..100 {
                    let path = tree.join(format!("f{number:02}"));
                    fs::remove_file(&path).unwrap();
                    match kind {
                        "FIFO" => fifo(&path),
                        "directory" => fs::create_dir(&path).unwrap(),
                        _ => symlink(&secret, &path).unwrap(),
                    }
                }
            }
            Ok(())
        });
        let snapshot = fixture.snapshot_with(&store, "first", StatCache::default());
        let report = tokio::time::timeout(Duration::from_secs(30), snapshot).await.expect(kind).unwrap();
        assert_eq!((report.files, report.skipped_count), (20, if kind == "FIFO" { 80 } else { 0 }), "{kind}");
        let key = crate::object::object_key(&Digest::of(b"of the others")).into();
        assert!(object_store::ObjectStoreExt::head(&*objects, &key).await.is_err());
    }
}

/// A file grows while it is read, without an end.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_grows_without_an_end_is_an_error() {
    let fixture = Fixture::new();
    fixture.write("log", vec![b'x'; 5 << 20]);
    let ends = Arc::new(AtomicBool::new(false));
    let (path, end) = (fixture.tree.join("log"), ends.clone());
    let writer = std::thread::spawn(move || {
        let mut file = fs::File::options().append(true).open(path).unwrap();
        while !end.load(Ordering::Relaxed) {
            std::io::Write::write_all(&mut file, b"line\n").unwrap();
        }
    });
    let result = tokio::time::timeout(Duration::from_secs(60), fixture.snapshot("first")).await;
    ends.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    let error = result.expect("the snapshot ends").unwrap_err();
    assert!(matches!(&error, Error::Changed { paths, .. } if *paths == ["log"]), "{error}");
    fixture.snapshot("first").await.unwrap();
}

#[tokio::test]
async fn two_snapshots_at_once_are_two_snapshots() {
    let fixture = Fixture::new();
    (0..50).for_each(|number| fixture.write(&format!("f{number}"), format!("content {number}")));
    let (first, second) = tokio::join!(fixture.snapshot("first"), fixture.snapshot("second"));
    assert_eq!(first.unwrap().digest.to_string().len(), second.unwrap().digest.to_string().len());
    for name in ["first", "second"] {
        assert_eq!(describe(&fixture.restore(name).await.unwrap()), describe(&fixture.tree), "{name}");
        fs::remove_dir_all(fixture.path("restored")).unwrap();
    }
    // One name belongs to one of two.
    let (one, other) = tokio::join!(fixture.snapshot("third"), fixture.snapshot("third"));
    let failed = if one.is_ok() { other } else { one };
    assert!(matches!(failed, Err(Error::Exists { .. })));
    assert_eq!(describe(&fixture.restore("third").await.unwrap()), describe(&fixture.tree));
}

/// Snapshots are taken and removed while objects are collected: each snapshot that succeeds can be restored.
#[tokio::test(flavor = "multi_thread")]
async fn no_collection_damages_a_snapshot() {
    let fixture = Fixture::new();
    let ends = Arc::new(AtomicBool::new(false));
    let (store, end) = (fixture.store.clone(), ends.clone());
    let collector = tokio::spawn(async move {
        let (mut done, mut busy) = (0, 0);
        while !end.load(Ordering::Relaxed) {
            match collect(&store).await {
                Ok(_) => done += 1,
                Err(Error::Busy { .. }) => busy += 1,
                Err(error) => panic!("{error}"),
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        (done, busy)
    });
    let (mut taken, mut tries) = (0, 0);
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while taken < 20 && std::time::Instant::now() < deadline {
        // Contents that other snapshots had, whose objects may be removed just now.
        (0..10).for_each(|number| fixture.write(&format!("f{number}"), format!("{}", (tries + number) % 13)));
        tries += 1;
        let name = format!("s{tries}");
        match fixture.snapshot(&name).await {
            Ok(_) => taken += 1,
            Err(Error::Busy { .. }) => continue,
            Err(error) => panic!("{error}"),
        }
        assert_eq!(describe(&fixture.restore(&name).await.unwrap()), describe(&fixture.tree), "{name}");
        fs::remove_dir_all(fixture.path("restored")).unwrap();
        remove(&fixture.store, &name).await.unwrap();
    }
    ends.store(true, Ordering::Relaxed);
    let (done, busy) = collector.await.unwrap();
    assert!(taken > 0, "{tries} tries, {done} collections, {busy} refused");
}

/// The directory of the destination is moved, and the destination appears, while the snapshot is read.
#[tokio::test]
async fn a_destination_that_is_swapped_is_not_followed() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    fixture.snapshot("first").await.unwrap();
    fs::create_dir_all(fixture.path("place")).unwrap();
    fs::create_dir_all(fixture.path("outside")).unwrap();
    for kind in ["link", "file", "full directory", "parent"] {
        let destination = Destination::open(&fixture.path("place/w")).unwrap();
        let mut staged = stage(&fixture.store, "first", destination, &Limits::default(), None).await.unwrap();
        match kind {
            "link" => symlink(fixture.path("outside"), fixture.path("place/w")).unwrap(),
            "file" => fs::write(fixture.path("place/w"), "mine").unwrap(),
            "full directory" => fs::create_dir_all(fixture.path("place/w/mine")).unwrap(),
            _ => {
                fs::rename(fixture.path("place"), fixture.path("moved")).unwrap();
                symlink(fixture.path("outside"), fixture.path("place")).unwrap();
            }
        }
        let committed = staged.commit(TREE);
        drop(staged);
        assert_eq!(fs::read_dir(fixture.path("outside")).unwrap().count(), 0, "{kind}");
        if kind == "parent" {
            committed.unwrap();
            assert_eq!(fs::read_to_string(fixture.path("moved/w/a")).unwrap(), "a");
            continue;
        }
        assert!(matches!(committed, Err(Error::Destination { .. })), "{kind}");
        assert_eq!(fs::read_dir(fixture.path("place")).unwrap().count(), 1, "{kind}: only what appeared");
        let _ = fs::remove_file(fixture.path("place/w"));
        let _ = fs::remove_dir_all(fixture.path("place/w"));
    }
}

/// Neither a snapshot nor a restore ends by itself: their futures are dropped, as when a process is killed. A snapshot
/// that is interrupted late has its name already, and is then whole, as the comparison of the trees shows.
#[tokio::test]
async fn what_is_interrupted_can_be_repeated() {
    let fixture = Fixture::new();
    (0..300).for_each(|number| fixture.write(&format!("f{number}"), format!("content {number}")));
    for microseconds in [1, 500, 2_000, 10_000, 30_000] {
        let time = Duration::from_micros(microseconds);
        let name = format!("s{microseconds}");
        if tokio::time::timeout(time, fixture.snapshot(&name)).await.is_err() {
            match fixture.snapshot(&name).await {
                Ok(_) | Err(Error::Exists { .. }) => {}
                Err(error) => panic!("{name}: {error}"),
            }
        }
        if tokio::time::timeout(time, fixture.restore(&name)).await.is_err() {
            fixture.restore(&name).await.unwrap();
        }
        assert_eq!(describe(&fixture.path("restored")), describe(&fixture.tree), "{name}");
        fs::remove_dir_all(fixture.path("restored")).unwrap();
    }
}
