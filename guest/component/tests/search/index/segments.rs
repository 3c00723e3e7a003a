//! Cases of the segments of the index: their number, their order and their removal.

use paddock_ops::index::exclusions::FILES_BEFORE_INDEX;
use paddock_ops::index::update::update;
use paddock_types::request::{Grep, GrepOutput, Request};
use paddock_vfs::Filesystem;
use paddock_workspace::Workspace;

use super::stamped::{LISTINGS, Stamped, advance};
use super::{SECOND, change, compared, make_dir, open_dir, pass, put, tree, with_index};
use crate::support::{Random, run_with, search};

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

/// Makes one pass, whose parts have this time for files, and returns the number of parts.
fn parts_of_a_pass(fs: &Stamped, time_ms: u64) -> usize {
    let (policy, mut start, mut parts) = (with_index(), None, 0);
    loop {
        let workspace = Workspace::open(fs, &policy).unwrap();
        start = update(&workspace, start.as_deref(), time_ms).unwrap().next;
        parts += 1;
        assert!(parts < 300);
        if start.is_none() {
            return parts;
        }
    }
}

/// Such a segment is that of another user in a directory with the sticky bit.
#[test]
fn a_pass_ends_if_segments_cannot_be_removed() {
    let fs = Stamped::new();
    let dir = make_dir(&fs, "many");
    (0..2_600).for_each(|number| put(&fs, &dir, &format!("{number}"), b"text\n"));
    advance(3 * SECOND);
    fs.removable.set(0);
    let parts = parts_of_a_pass(&fs, 0);
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
    // The pass opens each segment for its header, its files and its first window, and one of them to check it. One new file in
    // 65,536 looks like one of a segment, which is then read.
    assert!(before - fs.openable.get() <= 100, "{} opens", before - fs.openable.get());
}

/// Creates a tree of directories with 600 files each, and a segment for each of them.
fn tree_of_segments(directories: usize) -> Stamped {
    let fs = Stamped::new();
    for directory in 0..directories {
        let dir = make_dir(&fs, &format!("d{directory}"));
        for number in 0..600 {
            put(&fs, &dir, &format!("{number:03}"), format!("text {number}\n").as_bytes());
        }
        advance(60 * SECOND);
        pass(&fs, &with_index(), false);
    }
    assert_eq!(fs.index().len(), directories);
    fs
}

/// Searches a directory, and returns the number of bytes that were read of segments, and of files that were opened.
fn cost(fs: &Stamped, path: &str) -> (u64, u64) {
    cost_of(fs, Grep { path: path.to_owned(), ..search("of_nothing") })
}

fn cost_of(fs: &Stamped, args: Grep) -> (u64, u64) {
    let before = (fs.segment_bytes.get(), fs.opened.get());
    run_with(fs, &with_index(), Request::Grep(args)).unwrap();
    (fs.segment_bytes.get() - before.0, fs.opened.get() - before.1)
}

#[test]
fn a_search_reads_the_segments_of_its_paths() {
    let fs = tree_of_segments(8);
    let (all, opened_of_all) = cost(&fs, ".");
    for path in ["d0", "d4", "d7"] {
        let (read, opened) = cost(&fs, path);
        // The files before the index is opened.
        assert_eq!(opened, opened_of_all);
        assert!(opened < 600 && read < all / 5, "{path}: {read} of {all} bytes");
    }
}

/// The files of a moved directory are in a segment with other paths.
#[test]
fn moved_files_are_found() {
    let fs = tree_of_segments(8);
    let top = fs.preopens()[0].dir.clone();
    fs.rename(&top, "d4", &top, "moved").unwrap();
    let (_, unopened) = compared(&fs, &Grep { path: "moved".to_owned(), ..search("of_nothing") }, &String::new);
    assert!(unopened >= 400, "{unopened} files");
    let (_, opened) = cost(&fs, "moved");
    // A file that is read is opened twice, by the search and for its stamp. Without the index, all 600 are read.
    assert!(opened < 800, "{opened} opens");
}

/// A segment of few files all over the tree, which is not used, does not have the files of a moved directory.
#[test]
fn a_small_segment_that_is_not_used_hides_no_moved_files() {
    let fs = tree_of_segments(4);
    let top = fs.preopens()[0].dir.clone();
    ["a", "z"].iter().for_each(|name| put(&fs, &top, name, b"only_here\n"));
    advance(60 * SECOND);
    assert_eq!(pass(&fs, &with_index(), false).added, 2);
    fs.rename(&top, "d1", &top, "moved").unwrap();
    let (_, opened) = cost_of(&fs, Grep { path: "moved".to_owned(), ..search("only_here") });
    assert!(opened < 800, "{opened} opens");
}

/// A pass adds them in their new place, where a search finds them without loading the segments of other places.
#[test]
fn moved_files_are_added_in_their_new_place() {
    let fs = Stamped::new();
    let top = fs.preopens()[0].dir.clone();
    let dir = make_dir(&fs, "d");
    put(&fs, &dir, "stays", b"text\n");
    let sub = make_dir(&fs, "d/sub");
    (0..600).for_each(|number| put(&fs, &sub, &format!("{number:03}"), b"text\n"));
    advance(60 * SECOND);
    assert_eq!(pass(&fs, &with_index(), false).added, 601);
    let before = cost(&fs, "d/sub");
    // The pass loads the segment for the file that stays, before it visits the new place.
    fs.rename(&dir, "sub", &top, "moved").unwrap();
    advance(60 * SECOND);
    // The first pass removes the old segment, of which most files are gone. The second one adds the file that stays.
    let added = [(); 3].map(|()| pass(&fs, &with_index(), false).added);
    assert_eq!(added, [600, 1, 0]);
    let after = cost(&fs, "moved");
    // A search reads the header of the segment of the file that stays, too.
    assert!(after.0 < before.0 + 1_000 && after.1 == before.1, "{after:?} and {before:?}");
}

/// A segment of which too few files are excluded has them, so that no other segment is loaded for them.
#[test]
fn a_search_of_matching_files_does_not_load_segments_of_other_places() {
    let fs = tree_of_segments(8);
    let (of_no_file, _) = cost(&fs, "d4");
    let (of_all_files, _) = cost_of(&fs, Grep { path: "d4".to_owned(), output: GrepOutput::Count, ..search("text") });
    assert!(of_all_files <= of_no_file, "{of_all_files} of {of_no_file} bytes");
}

/// A part of a pass has time for files, however long it takes to load segments.
#[test]
fn a_part_of_a_pass_has_time_beside_loading() {
    let fs = tree_of_segments(8);
    fs.segment_read_ms.set(50);
    let parts = parts_of_a_pass(&fs, 100);
    assert!(parts <= 2, "{parts} parts");
}

/// To load a large segment would take longer than to read few files.
#[test]
fn a_search_of_few_files_does_not_load_a_large_segment() {
    let fs = Stamped::new();
    for (directory, files) in [("few", 66), ("many", 9_000)] {
        let dir = make_dir(&fs, directory);
        (0..files).for_each(|number| put(&fs, &dir, &format!("{number}"), b"text\n"));
    }
    advance(3 * SECOND);
    pass(&fs, &with_index(), false);
    assert_eq!(fs.index().len(), 1);
    assert!(cost(&fs, "few").0 < 1_000);
    assert!(cost(&fs, ".").0 > 9_000);
    assert!(cost(&fs, "many").1 < 200);
}
