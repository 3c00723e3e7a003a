//! Trees of extreme shapes.

use super::*;

/// The size of a file is refused, not the blocks that it takes: a restored file has no holes.
#[tokio::test]
async fn a_sparse_file_beyond_the_bounds_is_refused_at_once() {
    let fixture = Fixture::new();
    fs::File::create(fixture.tree.join("sparse")).unwrap().set_len(1 << 40).unwrap();
    let snapshot = tokio::time::timeout(Duration::from_secs(10), fixture.snapshot("first"));
    let error = snapshot.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
    fs::File::create(fixture.tree.join("sparse")).unwrap().set_len(100 << 20).unwrap();
    fixture.snapshot("first").await.unwrap();
    let restored = fixture.restore("first").await.unwrap();
    assert_eq!(fs::metadata(restored.join("sparse")).unwrap().len(), 100 << 20);
}

#[tokio::test]
async fn a_directory_of_100_000_entries_returns() {
    let fixture = Fixture::new();
    for number in 0..100_000 {
        symlink("x", fixture.tree.join(format!("{number:05}"))).unwrap();
    }
    let report = fixture.snapshot("first").await.unwrap();
    assert_eq!(report.entries, 100_001);
    let restored = fixture.restore("first").await.unwrap();
    assert_eq!(fs::read_dir(restored).unwrap().count(), 100_000);
}

/// The deepest tree that a snapshot can have, with the longest names that fit into a path.
#[tokio::test]
async fn the_deepest_tree_returns() {
    let fixture = Fixture::new();
    let mut path = fixture.tree.clone();
    // The name of the tree is one of 256.
    for _ in 0..254 {
        path.push("ä");
    }
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("f"), "deep").unwrap();
    fixture.snapshot("first").await.unwrap();
    let restored = fixture.restore("first").await.unwrap();
    assert_eq!(describe(&restored), describe(&fixture.tree));
    fs::create_dir(path.join("d")).unwrap();
    fs::write(path.join("d/f"), "too deep").unwrap();
    let error = fixture.snapshot("second").await.unwrap_err();
    assert!(message(&error).contains("more than 256 names"), "{error}");
}

/// Every byte that a name can have.
#[tokio::test]
async fn names_of_odd_bytes_return() {
    use std::os::unix::ffi::OsStrExt;

    let fixture = Fixture::new();
    for byte in (1..=255_u8).filter(|byte| *byte != b'/') {
        fs::write(fixture.tree.join(std::ffi::OsStr::from_bytes(&[b'n', byte])), [byte]).unwrap();
        symlink(std::ffi::OsStr::from_bytes(&[byte, b'/', byte]), fixture.tree.join(format!("link{byte}"))).unwrap();
    }
    fs::write(fixture.tree.join("..."), "dots").unwrap();
    fs::write(fixture.tree.join("n".repeat(255)), "long").unwrap();
    fixture.snapshot("first").await.unwrap();
    let restored = fixture.restore("first").await.unwrap();
    assert_eq!(describe(&restored), describe(&fixture.tree));
}
