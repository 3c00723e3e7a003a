//! Archives through the component. A packed tree is unpacked unchanged by Paddock and by other tools; an archive that
//! cannot be unpacked changes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use paddock::types::*;
use paddock::{Limits, Policy, Workspace};
use paddock_archive::zip::write::Writer;
use tempfile::TempDir;

use crate::tree::{Tree, tree_of};

/// Returns all entries below a directory except links, which an archive does not contain.
fn without_links(top: &Path) -> Tree {
    let mut tree = tree_of(top);
    tree.retain(|name, _| !top.join(name).is_symlink());
    tree
}

struct Fixture {
    home: TempDir,
    workspace: Workspace,
}

impl Fixture {
    fn new() -> Self {
        let home = TempDir::new().unwrap();
        let root = home.path().join("work");
        fs::create_dir(&root).unwrap();
        let workspace = Workspace::builder().root(&root).state_dir(home.path().join("state")).build().unwrap();
        Self { home, workspace }
    }

    /// Creates a tree with all kinds of entries that an archive contains, and a link, which it does not contain.
    fn with_source() -> Self {
        let fixture = Self::new();
        let large: Vec<u8> = (0..700_000u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
        let files: [(&str, &[u8]); 6] = [
            ("src/main.rs", b"fn main() {}\r\n"),
            ("src/deep/er/large.bin", &large),
            ("src/empty.txt", b""),
            ("src/.hidden", b"\0\x01\xff"),
            ("src/at 12:30", b"colon"),
            ("src/h\u{e9}llo \u{65e5}\u{672c}", "\u{fc}".as_bytes()),
        ];
        for (path, content) in files {
            let path = fixture.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::create_dir(fixture.path("src/nothing in it")).unwrap();
        std::os::unix::fs::symlink("main.rs", fixture.path("src/link")).unwrap();
        fixture
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path().join("work").join(path)
    }

    /// Returns all entries below a directory except links.
    fn tree(&self, top: &str) -> Tree {
        without_links(&self.path(top))
    }

    fn pack(&self, sources: &[&str], destination: &str) -> PackResult {
        self.workspace.pack(&PackArgs::new(sources.iter().copied(), destination)).unwrap()
    }

    fn unpack(&self, source: &str, destination: &str, overwrite: bool) -> Result<UnpackResult, ToolError> {
        self.workspace.unpack(&UnpackArgs { overwrite, ..UnpackArgs::new(source, destination) })
    }
}

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = Writer::new();
    files.iter().try_for_each(|(name, content)| writer.file(name, None, content)).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_packed_tree_is_unpacked_unchanged() {
    let fixture = Fixture::with_source();
    let packed = fixture.pack(&["src"], "made/src.zip");
    assert_eq!((packed.entries, packed.files), (10, 6));
    assert_eq!(packed.notes, ["left out: 1 symbolic links, which are not followed"]);
    assert_eq!(packed.size, fs::metadata(fixture.path("made/src.zip")).unwrap().len());
    assert!(packed.size < packed.bytes / 2, "{packed:?}");
    let unpacked = fixture.unpack("made/src.zip", "out", false).unwrap();
    assert_eq!((unpacked.entries, unpacked.files, unpacked.bytes), (10, 6, packed.bytes));
    assert_eq!(fixture.tree("out/src"), fixture.tree("src"));
    // A second archive of the same tree has the same bytes.
    let again = fixture.pack(&["src/deep", "src"], "again.zip");
    assert_eq!(again.etag, packed.etag);
}

#[test]
fn an_unpack_is_undone_as_a_whole() {
    let fixture = Fixture::with_source();
    fixture.pack(&["src"], "src.zip");
    for (path, content) in [("out/src/main.rs", "mine"), ("out/src/other", "kept"), ("out/top", "kept")] {
        fs::create_dir_all(fixture.path(path).parent().unwrap()).unwrap();
        fs::write(fixture.path(path), content).unwrap();
    }
    let before = fixture.tree(".");
    let refused = fixture.unpack("src.zip", "out", false).unwrap_err();
    assert_eq!((refused.code, refused.path.as_deref()), (ErrorCode::AlreadyExists, Some("out/src/main.rs")));
    assert_eq!(fixture.tree("."), before);
    let unpacked = fixture.unpack("src.zip", "out", true).unwrap();
    let after = fixture.tree(".");
    assert_eq!(after[Path::new("out/src/main.rs")].as_deref(), Some(b"fn main() {}\r\n".as_slice()));
    assert_eq!(after[Path::new("out/src/other")].as_deref(), Some(b"kept".as_slice()));
    let undone = fixture.workspace.restore(&RestoreArgs::backup(unpacked.backup.unwrap())).unwrap();
    assert_eq!(fixture.tree("."), before);
    // The undo can be undone too, except that empty directories do not return.
    fixture.workspace.restore(&RestoreArgs::backup(undone.backup.unwrap())).unwrap();
    let files = |tree: Tree| tree.into_iter().filter(|(_, content)| content.is_some()).collect::<Vec<_>>();
    assert_eq!(files(fixture.tree(".")), files(after));
    // The packing of an archive can be undone too.
    let packed = fixture.pack(&["src"], "new/src.zip");
    fixture.workspace.restore(&RestoreArgs::backup(packed.backup.unwrap())).unwrap();
    assert!(!fixture.path("new").exists());
}

/// An archive of the maximum size fits in the memory of a call; one more byte is refused.
#[test]
fn limits_end_in_values_and_not_in_traps() {
    let fixture = Fixture::new();
    let zeros = vec![0; 10 << 20];
    let rest = vec![0; 4 << 20];
    let mut files: Vec<(String, &[u8])> = (0..6).map(|n| (format!("d/{n}"), zeros.as_slice())).collect();
    files.push(("d/rest".to_owned(), &rest));
    let all = |files: &[(String, &[u8])]| {
        archive(&files.iter().map(|(name, content)| (name.as_str(), *content)).collect::<Vec<_>>())
    };
    fs::write(fixture.path("most.zip"), all(&files)).unwrap();
    files.push(("e".to_owned(), b"1"));
    fs::write(fixture.path("more.zip"), all(&files)).unwrap();
    let before = fixture.tree(".");
    let refused = fixture.unpack("more.zip", ".", false).unwrap_err();
    assert_eq!(refused.code, ErrorCode::LimitExceeded, "{refused:?}");
    assert_eq!(fixture.tree("."), before);
    assert_eq!(fixture.unpack("most.zip", ".", false).unwrap().bytes, 64 << 20);
    assert_eq!(fixture.pack(&["d"], "again.zip").bytes, 64 << 20);
    fs::write(fixture.path("one more"), "1").unwrap();
    let refused = fixture.workspace.pack(&PackArgs::new(["d", "one more"], "over.zip")).unwrap_err();
    assert_eq!(refused.code, ErrorCode::LimitExceeded, "{refused:?}");
    let limits = Limits { max_files: 7, ..Limits::default() };
    let few =
        Workspace::builder().root(fixture.path(".")).policy(Policy { limits, ..Policy::default() }).no_state_dir();
    let refused = few.build().unwrap().unpack(&UnpackArgs::new("most.zip", "out")).unwrap_err();
    assert_eq!(refused.code, ErrorCode::LimitExceeded, "{refused:?}");
}

#[test]
fn nothing_leaves_the_workspace() {
    let fixture = Fixture::new();
    let outside = fixture.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, fixture.path("absolute")).unwrap();
    std::os::unix::fs::symlink("../outside", fixture.path("relative")).unwrap();
    let before = fixture.tree(".");
    for name in ["absolute/x", "relative/x", ".git/hooks/post-checkout", "a/.git/config"] {
        let bytes = archive(&[("fine", b"1"), (name, b"x")]);
        fs::write(fixture.path("in.zip"), bytes).unwrap();
        let refused = fixture.unpack("in.zip", ".", true).unwrap_err();
        assert!(matches!(refused.code, ErrorCode::OutsideWorkspace | ErrorCode::ReadOnly), "{name}: {refused:?}");
        assert!(refused.message.contains(name), "{refused:?}");
        fs::remove_file(fixture.path("in.zip")).unwrap();
        assert_eq!(fixture.tree("."), before, "{name}");
    }
    let refused = fixture.workspace.pack(&PackArgs::new(["absolute"], "a.zip")).unwrap_err();
    assert_eq!(refused.code, ErrorCode::OutsideWorkspace);
    assert!(fs::read_dir(&outside).unwrap().next().is_none());
}

/// Runs a program; returns `None` and prints the reason if this machine does not have it.
fn run(program: &str, arguments: &[&str], directory: &Path) -> Option<String> {
    match Command::new(program).args(arguments).current_dir(directory).output() {
        Ok(output) => {
            let reported =
                format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{program} {arguments:?}: {reported}");
            Some(reported)
        }
        Err(cause) => {
            println!("skipped: {program} cannot be run ({cause})");
            None
        }
    }
}

const PYTHON_READS: &str = "
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    assert archive.testzip() is None
    names = archive.namelist()
    assert names == sorted(names, key=lambda name: name.encode()), names
    assert all(info.date_time >= (1980, 1, 1, 0, 0, 0) for info in archive.infolist())
    archive.extractall(sys.argv[2])
";

const PYTHON_WRITES: &str = "
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as archive:
    for above, directories, files in os.walk(sys.argv[2]):
        for name in directories + files:
            path = os.path.join(above, name)
            if not os.path.islink(path):
                archive.write(path, os.path.relpath(path, sys.argv[2]))
    archive.writestr('stored', 'as it is', zipfile.ZIP_STORED)
";

#[test]
fn pythons_module_reads_and_writes_the_same() {
    let fixture = Fixture::with_source();
    fixture.pack(&["src"], "src.zip");
    if run("python3", &["-c", PYTHON_READS, "src.zip", "theirs"], &fixture.path(".")).is_none() {
        return;
    }
    assert_eq!(fixture.tree("theirs/src"), fixture.tree("src"));
    run("python3", &["-c", PYTHON_WRITES, "theirs.zip", "src"], &fixture.path("."));
    fixture.unpack("theirs.zip", "ours", false).unwrap();
    let mut expected = fixture.tree("src");
    expected.insert(PathBuf::from("stored"), Some(b"as it is".to_vec()));
    assert_eq!(fixture.tree("ours"), expected);
}

#[test]
fn the_usual_programs_read_and_write_the_same() {
    let fixture = Fixture::with_source();
    fixture.pack(&["src"], "src.zip");
    if run("unzip", &["-q", "src.zip", "-d", "theirs"], &fixture.path(".")).is_some() {
        assert_eq!(fixture.tree("theirs/src"), fixture.tree("src"));
    }
    // Without `--symlinks`, the archive would contain the targets of links as files.
    if run("zip", &["-q", "-r", "theirs.zip", "src", "-x", "src/link"], &fixture.path(".")).is_some() {
        fixture.unpack("theirs.zip", "ours", false).unwrap();
        assert_eq!(fixture.tree("ours/src"), fixture.tree("src"));
        run("zip", &["-q", "-r", "--symlinks", "links.zip", "src"], &fixture.path("."));
        let refused = fixture.unpack("links.zip", "links", false).unwrap_err();
        assert!(refused.message.contains("entry `src/link` is a symbolic link"), "{refused:?}");
    }
}
