//! Snapshots are listed and removed.

use super::faulty::Faulty;
use super::*;
use crate::{collect, list, remove};

#[tokio::test]
async fn what_no_snapshot_needs_is_removed() {
    let fixture = Fixture::new();
    fixture.write("a", "one");
    fixture.write("b", "both");
    fixture.snapshot("first").await.unwrap();
    fixture.write("a", "two!");
    fixture.snapshot("second").await.unwrap();
    let listed = list(&fixture.store).await.unwrap();
    let named: Vec<_> = listed.iter().map(|one| (one.name.as_str(), one.entries, one.bytes)).collect();
    assert_eq!(named, [("first", 3, 7), ("second", 3, 8)]);
    assert_eq!(collect(&fixture.store).await.unwrap().objects, 0);
    remove(&fixture.store, "first").await.unwrap();
    assert!(matches!(remove(&fixture.store, "first").await, Err(Error::Missing { .. })));
    let collected = collect(&fixture.store).await.unwrap();
    assert_eq!((collected.objects, collected.bytes, collected.retained), (1, 3, 2));
    assert!(!fixture.object(b"one").exists());
    assert_eq!(describe(&fixture.restore("second").await.unwrap()), describe(&fixture.tree));
}

#[tokio::test]
async fn a_damaged_manifest_stops_the_removal() {
    let fixture = Fixture::new();
    fixture.write("a", "one");
    fixture.snapshot("first").await.unwrap();
    let path = fixture.path("store/snapshots/first");
    let manifest = fs::read(&path).unwrap();
    fs::write(&path, &manifest[..manifest.len() - 10]).unwrap();
    assert!(matches!(collect(&fixture.store).await, Err(Error::Manifest { .. })));
    assert!(fixture.object(b"one").exists());
}

#[tokio::test]
async fn a_snapshot_and_a_removal_exclude_each_other() {
    let fixture = Fixture::new();
    fixture.write("a", "one");
    let running = fixture.path("store/running");
    fs::create_dir_all(&running).unwrap();
    fs::write(running.join("snapshot-1"), "").unwrap();
    let error = collect(&fixture.store).await.unwrap_err();
    assert!(matches!(&error, Error::Busy { marker, .. } if marker == "running/snapshot-1"), "{error}");
    fixture.snapshot("first").await.unwrap();
    fs::rename(running.join("snapshot-1"), running.join("collection-1")).unwrap();
    assert!(matches!(fixture.snapshot("second").await, Err(Error::Busy { .. })));
    assert!(matches!(collect(&fixture.store).await, Err(Error::Busy { .. })));
    // The marker of a process that was killed a day ago.
    let marker = fs::File::options().write(true).open(running.join("collection-1")).unwrap();
    marker.set_modified(SystemTime::now() - Duration::from_secs(25 * 60 * 60)).unwrap();
    fixture.snapshot("second").await.unwrap();
    collect(&fixture.store).await.unwrap();
    assert_eq!(fs::read_dir(&running).unwrap().count(), 1, "each removes its own marker");
}

/// While a snapshot is taken, another process removes what no snapshot needs.
#[tokio::test(flavor = "multi_thread")]
async fn no_object_is_removed_that_a_running_snapshot_needs() {
    let fixture = Fixture::new();
    fixture.write("a", "one");
    let shared: std::sync::Arc<std::sync::OnceLock<Store>> = Default::default();
    let own = shared.clone();
    let refused = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counter = refused.clone();
    let (store, _) = Faulty::new(move |key| {
        if key.starts_with("snapshots/") {
            let store = own.get().unwrap().clone();
            let collected = std::thread::spawn(move || {
                tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(collect(&store))
            });
            assert!(matches!(collected.join().unwrap(), Err(Error::Busy { .. })));
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    });
    shared.set(store.clone()).unwrap();
    fixture.snapshot_with(&store, "first", StatCache::default()).await.unwrap();
    assert_eq!(refused.load(std::sync::atomic::Ordering::Relaxed), 1);
}
