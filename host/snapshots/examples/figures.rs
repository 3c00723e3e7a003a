//! Prints the times of snapshots of 10,000 files: `cargo run --release -p paddock-files-snapshots --example figures [STORE]`.
//! STORE is the URL of a store, and a temporary directory by default.
#![allow(clippy::unwrap_used, reason = "a program for measurements stops at the first error")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use paddock_snapshots::{Destination, Limits, Location, Options, Report, StatCache, Store, create, stage};

/// Number of files, and of directories that contain them.
const FILES: usize = 10_000;
const DIRECTORIES: usize = 100;
/// Number of files that change before the second snapshot.
const CHANGED: usize = 10;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let home = tempfile::tempdir().unwrap();
    let tree = home.path().join("tree");
    (0..FILES).for_each(|number| write(&tree, number, "first"));
    let own = home.path().join("store").to_str().unwrap().to_owned();
    let location: Location = std::env::args().nth(1).unwrap_or(own).parse().unwrap();
    let store = Store::open(&location, true).unwrap();
    // Stamps are trusted when they are 2 s old.
    std::thread::sleep(Duration::from_millis(2_100));
    let (_, first) = timed("first snapshot", snapshot(&store, &tree, StatCache::default())).await;
    let (_, unchanged) = timed("second, nothing changed", snapshot(&store, &tree, first.cache)).await;
    (0..CHANGED).for_each(|number| write(&tree, number * 997, "changed"));
    let (name, last) = timed("third, ten files changed", snapshot(&store, &tree, unchanged.cache)).await;
    println!("the third read {} files and stored {}", last.files_read, last.objects_stored);
    timed("the same without a cache", snapshot(&store, &tree, StatCache::default())).await;
    let destination = Destination::open(&home.path().join("restored")).unwrap();
    let mut staged =
        timed("restore", async { stage(&store, &name, destination, &Limits::default(), None).await.unwrap() }).await;
    staged.commit("workspace").unwrap();
    let mut copy = std::process::Command::new("cp");
    copy.arg("-a").arg(&tree).arg(home.path().join("copy"));
    timed("`cp -a`, not durable", async { assert!(copy.status().unwrap().success()) }).await;
}

/// Writes a file of about 1 KB.
fn write(tree: &Path, number: usize, text: &str) {
    let path = tree.join(format!("d{}/f{number}.txt", number % DIRECTORIES));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text} {number}\n").repeat(64)).unwrap();
}

async fn snapshot(store: &Store, tree: &Path, cache: StatCache) -> (String, Report) {
    let trees = vec![("workspace".to_owned(), Dir::open_ambient_dir(tree, ambient_authority()).unwrap())];
    create(store, None, trees, Options { cache, ..Options::default() }).await.unwrap()
}

async fn timed<T>(name: &str, work: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let result = work.await;
    println!("{name}: {:.0} ms", begun.elapsed().as_secs_f64() * 1_000.0);
    result
}
