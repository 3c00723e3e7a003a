//! The time to delete a directory grows with the number of its subdirectories and not with its square.

use std::fs;
use std::time::{Duration, Instant};

use paddock::{CallOptions, Workspace};

#[test]
fn each_directory_is_listed_once() {
    let _alone = super::alone();
    let root = tempfile::tempdir().unwrap();
    let workspace = Workspace::builder().root(root.path()).no_state_dir().build().unwrap();
    let took = |count: u32| {
        let top = root.path().join("many");
        (0..count).for_each(|number| fs::create_dir_all(top.join(number.to_string())).unwrap());
        let started = Instant::now();
        let options = CallOptions::default().with_time(Duration::from_secs(30));
        let outcome = workspace.call_with("delete", r#"{"path": "many", "recursive": true}"#, &options);
        assert!(outcome.ok, "{}", outcome.text);
        started.elapsed()
    };
    let fastest = |count| (0..3).map(|_| took(count)).min().unwrap();
    let (few, many) = (fastest(100), fastest(900));
    println!("100: {few:?}, 900: {many:?}");
    assert!(many < few * 30, "100: {few:?}, 900: {many:?}");
}
