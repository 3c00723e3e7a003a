use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// Returns a directory whose path has no links.
fn fixture() -> (TempDir, PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    let top = temporary.path().canonicalize().unwrap();
    (temporary, top)
}

#[test]
fn a_walk_tells_every_link_on_it() {
    let (_fixture, top) = fixture();
    fs::create_dir_all(top.join("real/config")).unwrap();
    symlink("real", top.join("one")).unwrap();
    symlink(top.join("one/../real/config"), top.join("two")).unwrap();
    symlink("loop", top.join("loop")).unwrap();
    let walk = Walk::new(&top.join("two/./paddock/policy.yaml")).unwrap();
    assert_eq!(walk.path(), top.join("real/config/paddock/policy.yaml"));
    assert_eq!(walk.missing, ["paddock", "policy.yaml"]);
    let links: Vec<_> = walk.links.iter().map(|link| &link.path).collect();
    assert_eq!(links, [&top.join("two"), &top.join("one")]);
    assert!(Walk::new(&top.join("loop/a")).unwrap_err().to_string().contains("too many symbolic links"));
    assert_eq!(Walk::new(&top.join("none/../a")).unwrap().path(), top.join("a"));
}

#[test]
fn a_walk_may_end_at_a_file_and_go_through_none() {
    let (_fixture, top) = fixture();
    fs::write(top.join("file"), "").unwrap();
    symlink("file", top.join("link")).unwrap();
    let walk = Walk::new(&top.join("link")).unwrap();
    assert_eq!((walk.path(), walk.file.as_deref()), (top.join("file"), Some("file".as_ref())));
    assert_eq!(walk.end().unwrap_err().kind(), io::ErrorKind::NotADirectory);
    assert!(Walk::new(&top.join("file/a")).is_err());
}

#[test]
fn a_link_that_leads_out_of_a_root_is_known_by_any_path() {
    let (_fixture, top) = fixture();
    fs::create_dir_all(top.join("ws/in")).unwrap();
    fs::create_dir(top.join("outside")).unwrap();
    symlink("../outside", top.join("ws/out")).unwrap();
    symlink("in", top.join("ws/inner")).unwrap();
    symlink("ws", top.join("way")).unwrap();
    let root = Directory::open(&top.join("ws")).unwrap();
    for (path, leaves) in
        [("ws/out", true), ("way/out", true), ("ws/inner", false), ("way/in", false), ("ws/in/../../outside", false)]
    {
        assert_eq!(Walk::new(&top.join(path)).unwrap().leaves(&root), leaves, "{path}");
    }
}

#[test]
fn a_held_directory_is_the_same_whatever_happens_to_its_path() {
    let (_fixture, top) = fixture();
    fs::create_dir_all(top.join("a/b")).unwrap();
    fs::create_dir_all(top.join("other/b")).unwrap();
    fs::write(top.join("a/b/mine"), "").unwrap();
    let held = Directory::open(&top.join("a/b")).unwrap();
    fs::rename(top.join("a"), top.join("moved")).unwrap();
    symlink("other", top.join("a")).unwrap();
    assert!(held.identity_of("mine").is_some() && !held.is_deleted());
    fs::remove_dir_all(top.join("moved")).unwrap();
    assert!(held.is_deleted());
}

#[test]
fn a_deferred_directory_is_made_where_it_was_to_be() {
    let (_fixture, top) = fixture();
    fs::create_dir_all(top.join("home")).unwrap();
    fs::create_dir_all(top.join("outside/state")).unwrap();
    let deferred = Deferred::new(Walk::new(&top.join("home/state/ws")).unwrap()).unwrap();
    assert!(deferred.get().unwrap().is_none());
    fs::rename(top.join("home"), top.join("moved")).unwrap();
    symlink("outside", top.join("home")).unwrap();
    deferred.create().unwrap();
    assert!(top.join("moved/state/ws").is_dir() && fs::read_dir(top.join("outside/state")).unwrap().next().is_none());
    let inner = deferred.below(&["overlays", "one"]);
    assert!(inner.get().unwrap().is_none() && inner.create().unwrap().path().ends_with("overlays/one"));
    // A link that replaced the directory is not followed.
    let linked = Deferred::new(Walk::new(&top.join("moved/linked")).unwrap()).unwrap();
    symlink("../outside", top.join("moved/linked")).unwrap();
    assert!(linked.get().unwrap().is_none() && linked.create().is_err());
}

#[test]
fn a_deferred_directory_that_was_deleted_is_made_again() {
    let (_fixture, top) = fixture();
    fs::create_dir_all(top.join("state/ws")).unwrap();
    let deferred = Deferred::new(Walk::new(&top.join("state/ws")).unwrap()).unwrap();
    let first = deferred.get().unwrap().unwrap();
    fs::remove_dir_all(top.join("state/ws")).unwrap();
    assert!(deferred.get().unwrap().is_none());
    let second = deferred.create().unwrap();
    assert!(!second.is_deleted() && first.is_deleted() && deferred.get().unwrap().is_some());
}

#[test]
fn directories_in_a_root_are_recognized_by_identity() {
    let (_fixture, top) = fixture();
    fs::create_dir_all(top.join("home/.cache/paddock")).unwrap();
    symlink(".cache", top.join("home/cache")).unwrap();
    let home = Directory::open(&top.join("home")).unwrap();
    let walk = Walk::new(&top.join("home/cache/paddock/new")).unwrap();
    assert_eq!(walk.below(&home), Some(PathBuf::from(".cache/paddock/new")));
    assert_eq!(walk.links_below(&home).collect::<Vec<_>>(), [PathBuf::from("cache")]);
    assert_eq!(walk.below(&Directory::open(&top.join("home/.cache/paddock")).unwrap()), Some(PathBuf::from("new")));
    fs::create_dir(top.join("elsewhere")).unwrap();
    assert_eq!(walk.below(&Directory::open(&top.join("elsewhere")).unwrap()), None);
}

#[test]
fn a_directory_that_cannot_be_opened_is_no_missing_one() {
    let error = |kind: io::ErrorKind| found::<()>(Err(kind.into()));
    assert!(error(io::ErrorKind::NotFound).is_ok() && error(io::ErrorKind::NotADirectory).is_ok());
    let used_up = io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
    assert!(found::<()>(Err(used_up)).is_err() && error(io::ErrorKind::PermissionDenied).is_err());
}
