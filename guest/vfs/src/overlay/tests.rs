//! Requirements of the overlay: it behaves like a directory, and the base stays unchanged.

use crate::copy_remove;
use crate::memory::MemoryFs;
use crate::open_location::OpenLocation;
use crate::overlay::*;

mod random;

pub(super) fn policy() -> Policy {
    Policy::default()
}

pub(super) fn memory() -> MemoryFs {
    let paths = ["/workspace", OVERLAY_GUEST_PATH, STATE_GUEST_PATH];
    MemoryFs::new(&paths, || Time { seconds: 7, nanoseconds: 0 }, 1)
}

pub(super) fn root(fs: &dyn Filesystem) -> Dir {
    fs.preopens().into_iter().find(|preopen| preopen.guest_path == "/workspace").unwrap().dir
}

pub(super) fn location(fs: &dyn Filesystem, path: &str) -> FsResult<OpenLocation> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let dir =
        above.split('/').filter(|name| !name.is_empty()).try_fold(root(fs), |dir, name| fs.open_dir(&dir, name))?;
    Ok(OpenLocation { dir, name: name.to_owned() })
}

pub(super) fn make(fs: &dyn Filesystem, path: &str, content: &str) {
    let mut dir = root(fs);
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    for part in above.split('/').filter(|part| !part.is_empty()) {
        let _ = fs.make_dir(&dir, part);
        dir = fs.open_dir(&dir, part).unwrap();
    }
    match content.strip_prefix("-> ") {
        Some(target) => fs.symlink(&dir, name, target).unwrap(),
        None if name.is_empty() => {}
        None => OpenLocation { dir, name: name.to_owned() }.create(fs, &content.as_bytes().to_vec().into()).unwrap(),
    }
}

pub(super) fn read(fs: &dyn Filesystem, at: &OpenLocation) -> FsResult<String> {
    let file = fs.open_file(&at.dir, &at.name, Open::Read)?;
    let mut bytes = Vec::new();
    while fs.read(&file, bytes.len() as u64, 1000, &mut bytes)? > 0 {}
    Ok(String::from_utf8(bytes).unwrap())
}

/// Returns the tree below a root, one line per entry.
pub(super) fn tree_of(fs: &dyn Filesystem) -> Vec<String> {
    let (mut lines, mut ahead) = (Vec::new(), vec![(String::new(), root(fs))]);
    while let Some((path, dir)) = ahead.pop() {
        let listing = fs.list(&dir).unwrap();
        for entry in listing.entries {
            let at = OpenLocation { dir: dir.clone(), name: entry.name.clone() };
            let path = format!("{path}/{}", entry.name);
            assert_eq!(fs.stat(&dir, &entry.name).unwrap().kind, entry.kind, "{path}");
            match entry.kind {
                Kind::Directory => {
                    lines.push(format!("{path}/"));
                    ahead.push((path, fs.open_dir(&dir, &entry.name).unwrap()));
                }
                Kind::Link => lines.push(format!("{path} -> {}", fs.read_link(&dir, &entry.name).unwrap())),
                _ => lines.push(format!("{path}: {}", read(fs, &at).unwrap())),
            }
        }
    }
    lines.sort();
    lines
}

/// Applies `change` in a new overlay over a base and returns the tree and the differences. Checks that the base is
/// unchanged and that a second instance sees the same.
fn over(base: &[(&str, &str)], change: impl FnOnce(&OverlayFs<'_>)) -> (Vec<String>, Vec<String>) {
    let memory = memory();
    base.iter().for_each(|(path, content)| make(&memory, path, content));
    let before = tree_of(&memory);
    let overlay = OverlayFs::open(&memory, &policy()).unwrap();
    change(&overlay);
    let after = tree_of(&overlay);
    assert_eq!(tree_of(&memory), before, "the base changed");
    let again = OverlayFs::open(&memory, &policy()).unwrap();
    assert_eq!(tree_of(&again), after);
    assert_eq!(again.changes().unwrap(), overlay.changes().unwrap());
    (after, overlay.changes().unwrap().iter().map(rendered).collect())
}

fn rendered(difference: &Difference) -> String {
    let was = difference.was.as_ref().map(|was| format!("{:?}", was.kind()).to_lowercase());
    let is = difference.is.as_ref().map(|is| match is {
        Is::File { .. } => "file",
        Is::Directory => "directory",
        Is::Link { .. } => "link",
        Is::Other => "other",
    });
    format!("{}: {} to {}", difference.path.join("/"), was.as_deref().unwrap_or("nothing"), is.unwrap_or("nothing"))
}

const BASE: &[(&str, &str)] =
    &[("a", "one"), ("d/b", "two"), ("d/e/c", "three"), ("d/l", "-> ../a"), ("empty/", ""), ("z", "last")];

fn write(fs: &dyn Filesystem, path: &str, content: &str) {
    let at = location(fs, path).unwrap();
    let file = fs.open_file(&at.dir, &at.name, Open::Write).unwrap();
    fs.set_size(&file, 0).unwrap();
    fs.write(&file, 0, content.as_bytes()).unwrap();
}

fn rename(fs: &dyn Filesystem, from: &str, to: &str) -> FsResult<()> {
    location(fs, from)?.rename(fs, &location(fs, to)?)
}

#[test]
fn a_file_is_copied_when_it_is_first_written() {
    let (tree, changes) = over(BASE, |fs| write(fs, "d/e/c", "THREE"));
    assert_eq!(tree, ["/a: one", "/d/", "/d/b: two", "/d/e/", "/d/e/c: THREE", "/d/l -> ../a", "/empty/", "/z: last"]);
    assert_eq!(changes, ["d/e/c: file to file"]);
}

#[test]
fn a_file_that_was_only_opened_to_write_is_no_difference() {
    let (_, changes) = over(BASE, |fs| write(fs, "d/e/c", "three"));
    assert!(changes.is_empty(), "{changes:?}");
}

#[test]
fn removed_entries_stay_removed_and_can_be_created_again() {
    let (tree, changes) = over(BASE, |fs| {
        location(fs, "a").unwrap().discard(fs).unwrap();
        location(fs, "d/l").unwrap().discard(fs).unwrap();
        let empty = location(fs, "empty").unwrap();
        fs.remove_dir(&empty.dir, &empty.name).unwrap();
        assert_eq!(location(fs, "empty/x").err(), Some(Fault::NotFound));
        make(fs, "empty", "now a file");
        make(fs, "a/in", "now a directory");
    });
    let expected = ["/a/", "/a/in: now a directory", "/d/", "/d/b: two", "/d/e/", "/d/e/c: three"];
    assert_eq!(tree, [&expected[..], &["/empty: now a file", "/z: last"]].concat());
    assert_eq!(
        changes,
        ["a: file to directory", "a/in: nothing to file", "d/l: link to nothing", "empty: directory to file"]
    );
}

#[test]
fn a_directory_made_where_one_was_removed_has_nothing_of_the_old_one() {
    let (tree, changes) = over(BASE, |fs| {
        let top = location(fs, "d").unwrap();
        for path in ["d/b", "d/l", "d/e/c"] {
            location(fs, path).unwrap().discard(fs).unwrap();
        }
        let inner = location(fs, "d/e").unwrap();
        assert_eq!(fs.remove_dir(&top.dir, "d"), Err(Fault::NotEmpty));
        fs.remove_dir(&inner.dir, "e").unwrap();
        fs.remove_dir(&top.dir, "d").unwrap();
        assert_eq!(fs.make_dir(&inner.dir, "x"), Err(Fault::NotFound), "who has it open can make nothing in it");
        make(fs, "d/new", "new");
    });
    assert_eq!(tree, ["/a: one", "/d/", "/d/new: new", "/empty/", "/z: last"]);
    let gone = ["d/b: file to nothing", "d/e: directory to nothing", "d/e/c: file to nothing", "d/l: link to nothing"];
    assert_eq!(changes, [&["d: directory to directory"], &gone[..], &["d/new: nothing to file"]].concat());
}

#[test]
fn a_directory_is_renamed_with_all_it_holds() {
    let (tree, changes) = over(BASE, |fs| {
        write(fs, "d/b", "TWO");
        let inner = location(fs, "d/e/c").unwrap();
        rename(fs, "d", "moved").unwrap();
        assert_eq!(read(fs, &inner).unwrap(), "three", "who has it open still has it");
        fs.make_dir(&inner.dir, "made").unwrap();
        assert_eq!(location(fs, "d/b").err(), Some(Fault::NotFound));
    });
    let moved = ["/moved/", "/moved/b: TWO", "/moved/e/", "/moved/e/c: three", "/moved/e/made/", "/moved/l -> ../a"];
    assert_eq!(tree, [&["/a: one", "/empty/"], &moved[..], &["/z: last"]].concat());
    assert_eq!(changes.len(), 11, "{changes:?}");
    assert_eq!(changes[0], "d: directory to nothing");
    assert_eq!(changes[4], "d/l: link to nothing");
    assert_eq!(changes[5], "moved: nothing to directory");
}

#[test]
fn a_rename_replaces_files_and_empty_directories() {
    let (tree, changes) = over(BASE, |fs| {
        assert_eq!(rename(fs, "a", "d"), Err(Fault::IsDirectory));
        assert_eq!(rename(fs, "empty", "a"), Err(Fault::NotDirectory));
        assert_eq!(rename(fs, "empty", "d"), Err(Fault::NotEmpty));
        assert!(matches!(rename(fs, "d", "d/e/x"), Err(Fault::Io(_))));
        rename(fs, "a", "z").unwrap();
        rename(fs, "d", "empty").unwrap();
    });
    let below = ["/empty/b: two", "/empty/e/", "/empty/e/c: three", "/empty/l -> ../a"];
    assert_eq!(tree, [&["/empty/"], &below[..], &["/z: one"]].concat());
    assert_eq!(changes[..2], ["a: file to nothing", "d: directory to nothing"]);
    assert_eq!(changes[6], "empty: directory to directory");
    assert_eq!(changes.last().unwrap(), "z: file to file");
}

#[test]
fn a_tree_is_removed_by_one_whiteout() {
    let (tree, changes) = over(BASE, |fs| {
        let top = location(fs, "d").unwrap();
        fs.remove_tree(&top.dir, "d").unwrap();
        assert_eq!(fs.stat(&top.dir, "d"), Err(Fault::NotFound));
        make(fs, "d/e/old", "old");
        fs.remove_tree(&top.dir, "d").unwrap();
        make(fs, "d/e/new", "new");
        make(fs, "empty/new", "new");
        assert_eq!(fs.remove_tree(&top.dir, "empty"), Err(Fault::Unsupported), "it takes more than one step");
        location(fs, "empty/new").unwrap().discard(fs).unwrap();
    });
    assert_eq!(tree, ["/a: one", "/d/", "/d/e/", "/d/e/new: new", "/empty/", "/z: last"]);
    let below = ["d/b: file to nothing", "d/e: directory to directory", "d/e/c: file to nothing"];
    let rest = ["d/e/new: nothing to file", "d/l: link to nothing"];
    assert_eq!(changes, [&["d: directory to directory"], &below[..], &rest].concat());
}

#[test]
fn a_restored_entry_is_no_difference() {
    let (_, changes) = over(BASE, |fs| {
        rename(fs, "d", "moved").unwrap();
        rename(fs, "a", "moved/a").unwrap();
        rename(fs, "moved/a", "a").unwrap();
        rename(fs, "moved", "d").unwrap();
    });
    assert!(changes.is_empty(), "{changes:?}");
}

#[test]
fn a_base_that_changed_since_is_noticed() {
    let memory = memory();
    BASE.iter().for_each(|(path, content)| make(&memory, path, content));
    let overlay = OverlayFs::open(&memory, &policy()).unwrap();
    write(&overlay, "a", "ONE");
    let top = location(&overlay, "d").unwrap();
    overlay.remove_tree(&top.dir, "d").unwrap();
    let changed = |overlay: &OverlayFs<'_>| -> Vec<String> {
        let changes = overlay.changes().unwrap();
        let is_changed = |change: &&Difference| overlay.base_now(change).unwrap() != change.was;
        changes.iter().filter(is_changed).map(|change| change.path.join("/")).collect()
    };
    assert!(changed(&overlay).is_empty());
    write(&memory, "a", "1");
    write(&memory, "d/e/c", "3");
    assert_eq!(changed(&overlay), ["a", "d"]);
}

#[test]
fn links_are_taken_up_as_links() {
    let (tree, changes) = over(BASE, |fs| {
        rename(fs, "d/l", "l").unwrap();
        let (from, to) = (location(fs, "a").unwrap(), location(fs, "d/e/second").unwrap());
        from.link(fs, &to).unwrap();
        write(fs, "a", "both");
        assert_eq!(fs.stat(&to.dir, &to.name).unwrap().links, 2);
    });
    assert!(tree.contains(&"/d/e/second: both".to_owned()), "{tree:?}");
    assert!(tree.contains(&"/l -> ../a".to_owned()), "{tree:?}");
    assert_eq!(
        changes,
        ["a: file to file", "d/e/second: nothing to file", "d/l: link to nothing", "l: nothing to link"]
    );
}

#[test]
fn no_name_is_taken_for_a_whiteout() {
    let names = ["at", "in", "gone", "upper", "work", ".wh.a", "%", "a"];
    let base: Vec<_> = names.iter().map(|name| (*name, "base")).collect();
    let (tree, _) = over(&base, |fs| {
        for name in names {
            location(fs, name).unwrap().discard(fs).unwrap();
        }
        for path in ["at/a", "in/at/a", "in/in/in", "gone/a", ".wh.a", ".wh.b"] {
            make(fs, path, "new");
        }
    });
    let expected = ["/.wh.a: new", "/.wh.b: new", "/at/", "/at/a: new", "/gone/", "/gone/a: new", "/in/", "/in/at/"];
    assert_eq!(tree, [&expected[..], &["/in/at/a: new", "/in/in/", "/in/in/in: new"]].concat());
}

#[test]
fn a_whiteout_records_what_it_hides_and_the_origin_keeps_it() {
    let memory = memory();
    BASE.iter().for_each(|(path, content)| make(&memory, path, content));
    let overlay = OverlayFs::open(&memory, &policy()).unwrap();
    write(&overlay, "d/b", "TWO");
    write(&overlay, "d/b", "TWO!");
    let was = overlay.changes().unwrap().remove(0).was.unwrap();
    assert_eq!(was, whiteouts::BaseEntry::File { size: 3, sha256: Some(paddock_types::digest::sha256(b"two")) });
    let top = memory.preopens().remove(1).dir;
    let at = overlay.make_way(&top, [&generation::name(0), ORIGIN, "workspace", "d"]).unwrap();
    assert_eq!(read(&memory, &OpenLocation { dir: at, name: "b".to_owned() }).unwrap(), "two");
}

#[test]
fn only_the_digest_of_a_file_over_the_limit_is_stored() {
    let memory = memory();
    BASE.iter().for_each(|(path, content)| make(&memory, path, content));
    let policy = Policy::parse(r#"{"limits": {"max_file_bytes": 2}}"#, "paddock").unwrap();
    let overlay = OverlayFs::open(&memory, &policy).unwrap();
    write(&overlay, "a", "ONE");
    let was = overlay.changes().unwrap().remove(0).was.unwrap();
    assert_eq!(was, whiteouts::BaseEntry::File { size: 3, sha256: Some(paddock_types::digest::sha256(b"one")) });
    assert_eq!(overlay.tree(ORIGIN).unwrap().map(drop), None);
}

#[test]
fn a_base_that_changes_below_leads_nowhere_else() {
    let memory = memory();
    BASE.iter().for_each(|(path, content)| make(&memory, path, content));
    write(&OverlayFs::open(&memory, &policy()).unwrap(), "d/e/c", "THREE");
    // `d/e` becomes a link, and `a` a directory.
    let (e, a) = (location(&memory, "d/e").unwrap(), location(&memory, "a").unwrap());
    copy_remove::remove(&memory, &e).unwrap();
    memory.symlink(&e.dir, "e", "/etc").unwrap();
    a.discard(&memory).unwrap();
    make(&memory, "a/x", "new");
    let overlay = OverlayFs::open(&memory, &policy()).unwrap();
    let tree = tree_of(&overlay);
    assert!(tree.contains(&"/d/e/c: THREE".to_owned()), "{tree:?}");
    assert!(tree.contains(&"/a/x: new".to_owned()), "{tree:?}");
    let changes: Vec<_> = overlay.changes().unwrap().iter().map(rendered).collect();
    // The base's directory has become a link, which a commit must detect: nothing in the directory had a whiteout.
    assert_eq!(changes, ["d/e: nothing to directory", "d/e/c: file to file"], "what it hid is in its mark");
}

#[test]
fn a_link_in_the_layers_is_not_followed() {
    let memory = memory();
    BASE.iter().for_each(|(path, content)| make(&memory, path, content));
    let top = memory.preopens().remove(1).dir;
    let layers = generation::name(0);
    memory.symlink(&top, &layers, "/workspace").unwrap();
    assert_eq!(OverlayFs::open(&memory, &policy()).err(), Some(Fault::Link));
    memory.unlink(&top, &layers).unwrap();
    memory.make_dir(&top, &layers).unwrap();
    memory.symlink(&memory.open_dir(&top, &layers).unwrap(), UPPER, "/workspace").unwrap();
    assert_eq!(OverlayFs::open(&memory, &policy()).err(), Some(Fault::Link));
}

#[test]
fn a_damaged_whiteout_is_an_error_and_still_hides() {
    let memory = memory();
    BASE.iter().for_each(|(path, content)| make(&memory, path, content));
    let overlay = OverlayFs::open(&memory, &policy()).unwrap();
    location(&overlay, "a").unwrap().discard(&overlay).unwrap();
    let at = crate::overlay::node(&root(&overlay)).unwrap().whiteouts().unwrap().at.unwrap();
    let file = memory.open_file(&at, "a", Open::Write).unwrap();
    memory.set_size(&file, 3).unwrap();
    assert_eq!(overlay.changes(), Err(whiteouts::damaged("a")));
    assert_eq!(location(&overlay, "a").unwrap().digest(&overlay), Ok(None));
}

#[test]
fn without_its_directory_an_overlay_only_shows_the_base() {
    let memory = MemoryFs::new(&["/workspace"], || Time { seconds: 7, nanoseconds: 0 }, 1);
    make(&memory, "a", "one");
    let overlay = OverlayFs::open(&memory, &policy()).unwrap();
    assert_eq!(tree_of(&overlay), ["/a: one"]);
    let at = location(&overlay, "a").unwrap();
    assert_eq!(at.discard(&overlay), Err(Fault::ReadOnly));
    assert_eq!(overlay.make_dir(&at.dir, "b"), Err(Fault::ReadOnly));
}

#[test]
fn the_next_change_empties_work_after_a_crash() {
    let memory = memory();
    BASE.iter().for_each(|(path, content)| make(&memory, path, content));
    let top = memory.preopens().remove(1).dir;
    memory.make_dir(&top, WORK).unwrap();
    let work = memory.open_dir(&top, WORK).unwrap();
    memory.make_dir(&work, "left").unwrap();
    write(&OverlayFs::open(&memory, &policy()).unwrap(), "a", "ONE");
    assert!(memory.list(&work).unwrap().entries.is_empty());
}

#[test]
fn a_root_has_a_name_of_its_own() {
    let names = ["/workspace", "/", ".", "/..", "/a/b", "/a%2Fb", "/%"].map(root_name);
    assert_eq!(names, ["workspace", "%", "%.", "%..", "a%2Fb", "a%252Fb", "%25"]);
}
