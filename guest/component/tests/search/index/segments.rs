//! Cases of the segments of the index: their number, their order and their removal.

use paddock_ops::index::exclusions::FILES_BEFORE_INDEX;
use paddock_ops::index::update::update;
use paddock_workspace::Workspace;

use super::stamped::{LISTINGS, Stamped, advance};
use super::{SECOND, change, compared, make_dir, open_dir, pass, put, tree, with_index};
use crate::support::{Random, search};

#[test]
fn segments_do_not_accumulate() {
    let mut random = Random(5);
    let fs = tree(&mut random);
    for _ in 0..100 {
        change(&fs, &mut random);
        advance(3 * SECOND);
        pass(&fs, &with_index(), false);
        assert!(fs.index().len() <= 12, "{:?}", fs.index());
        assert!(fs.index_files(LISTINGS).len() <= 12, "{:?}", fs.index_files(LISTINGS));
    }
}

/// Creates a tree of whose files each is in another segment than the one before and the one after it.
fn alternating(segments: usize) -> Stamped {
    let fs = Stamped::new();
    let dir = make_dir(&fs, "many");
    for segment in 0..segments {
        for number in (segment..600).step_by(segments) {
            put(&fs, &dir, &format!("{number:03}"), format!("text {number}\n").as_bytes());
        }
        advance(60 * SECOND);
        pass(&fs, &with_index(), false);
    }
    assert_eq!(fs.index().len(), segments);
    fs
}

#[test]
fn segments_can_alternate() {
    for segments in [1, 2, 8] {
        let (_, unopened) = compared(&alternating(segments), &search("of_nothing"), &String::new);
        // A search opens the index after some files.
        assert!(unopened >= 600 - u64::from(FILES_BEFORE_INDEX), "{segments} segments: {unopened}");
    }
}

/// A pass of another process can merge segments while a search uses them.
#[test]
fn segments_can_be_removed_during_a_search() {
    let fs = alternating(8);
    for opens in 0..40 {
        fs.openable.set(opens);
        compared(&fs, &search("text .*7"), &|| format!("{opens} opens"));
    }
}

/// A pass over a slow disk has many parts, each of which makes a segment.
#[test]
fn a_pass_merges_the_segments_of_its_parts() {
    let fs = Stamped::new();
    let dir = make_dir(&fs, "many");
    (0..2_600).for_each(|number| put(&fs, &dir, &format!("{number}"), format!("text {number}\n").as_bytes()));
    advance(3 * SECOND);
    assert_eq!(pass(&fs, &with_index(), true).added, 2_600);
    assert!(fs.index().len() <= 10, "{:?}", fs.index());
    assert_eq!(pass(&fs, &with_index(), true).added, 0);
    compared(&fs, &search("text 9.*7"), &String::new);
}

/// Such a segment is that of another user in a directory with the sticky bit.
#[test]
fn a_pass_ends_if_segments_cannot_be_removed() {
    let (fs, policy) = (Stamped::new(), with_index());
    let dir = make_dir(&fs, "many");
    (0..2_600).for_each(|number| put(&fs, &dir, &format!("{number}"), b"text\n"));
    advance(3 * SECOND);
    fs.removable.set(0);
    let (mut start, mut parts) = (None, 0);
    loop {
        let workspace = Workspace::open(&fs, &policy).unwrap();
        start = update(&workspace, start.as_deref(), 0).unwrap().next;
        parts += 1;
        assert!(parts < 300);
        if start.is_none() {
            break;
        }
    }
    // The merged segment stays too.
    assert!(fs.index().len() <= parts + 1, "{parts} parts, {:?}", fs.index());
}

/// With many segments, a file that is in none of them costs no read of each.
#[test]
fn a_file_that_is_not_indexed_is_not_looked_up_in_segments() {
    let fs = alternating(8);
    let dir = open_dir(&fs, "many").unwrap();
    (0..3_000).for_each(|number| put(&fs, &dir, &format!("{number:03}-new"), b"text\n"));
    let before = fs.openable.get();
    assert_eq!(pass(&fs, &with_index(), false).unsettled, 3_000);
    // The pass opens each segment once, one of them to check it, and once more for its first window.
    assert!(before - fs.openable.get() <= 17, "{} opens", before - fs.openable.get());
}
