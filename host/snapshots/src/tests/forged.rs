//! A store under an attacker's control.

use serde_json::{Value, json};

use super::*;
use crate::path::MAX_DEPTH;

/// Number of bytes of the object that forged manifests name, and its digest.
const CONTENT: &[u8] = b"content";

fn directory(path: &str) -> Value {
    json!({ "type": "directory", "path": path, "mode": 0o755, "modified": [1, 0] })
}

fn file(path: &str) -> Value {
    let digest = Digest::of(CONTENT).to_string();
    json!({ "type": "file", "path": path, "mode": 0o644, "modified": [1, 0], "size": CONTENT.len(), "sha256": digest })
}

fn link(path: &str, target: &str) -> Value {
    json!({ "type": "link", "path": path, "modified": [1, 0], "target": target })
}

fn with(mut entry: Value, field: &str, value: Value) -> Value {
    entry[field] = value;
    entry
}

impl Fixture {
    /// Returns a fixture whose store has the object that forged manifests name.
    async fn with_object() -> Self {
        let fixture = Self::new();
        fixture.write("a", CONTENT);
        fixture.snapshot("honest").await.unwrap();
        fixture
    }

    /// Stores a manifest with these entries and restores it. The totals are those of the entries.
    async fn restore_forged(&self, entries: &[Value]) -> Result<PathBuf> {
        let size = |entry: &Value| entry["size"].as_u64().unwrap_or_default();
        let bytes = entries.iter().map(size).fold(0, u64::wrapping_add);
        self.restore_lines(entries.len() as u64, bytes, entries.iter().map(Value::to_string)).await
    }

    async fn restore_lines(&self, entries: u64, bytes: u64, lines: impl Iterator<Item = String>) -> Result<PathBuf> {
        let header = json!({ "format": "paddock-snapshot", "version": 1, "created": "2026-01-01T00:00:00Z", "entries": entries, "bytes": bytes });
        let text: String = std::iter::once(header.to_string()).chain(lines).map(|line| line + "\n").collect();
        fs::write(self.path("store/snapshots/forged"), text).unwrap();
        self.restore("forged").await
    }
}

#[tokio::test]
async fn no_forged_manifest_leaves_anything() {
    let fixture = Fixture::with_object().await;
    let top = || directory("workspace");
    let long = format!("workspace/{}", "n".repeat(256));
    let cases = [
        ("parent", vec![top(), file("workspace/../escaped")]),
        ("tree is parent", vec![directory(".."), file("../escaped")]),
        ("absolute", vec![top(), file("/escaped")]),
        ("absolute, empty tree", vec![directory(""), file("/escaped")]),
        ("no tree", vec![file("workspace/a")]),
        ("file as tree", vec![file("workspace")]),
        ("link as tree", vec![link("workspace", "/tmp"), file("workspace/escaped")]),
        ("link, then below", vec![top(), link("workspace/l", "../.."), file("workspace/l/escaped")]),
        (
            "link, then a directory of its path",
            vec![top(), link("workspace/l", ".."), directory("workspace/l"), file("workspace/l/escaped")],
        ),
        ("link, then a file of its path", vec![top(), link("workspace/l", "../escaped"), file("workspace/l")]),
        ("directory, then a link of its path", vec![top(), directory("workspace/l"), link("workspace/l", "/")]),
        ("file, then below", vec![top(), file("workspace/a"), file("workspace/a/b")]),
        ("twice", vec![top(), file("workspace/a"), file("workspace/a")]),
        ("wrong order", vec![top(), file("workspace/b"), file("workspace/a")]),
        ("directory after its content", vec![top(), file("workspace/d/a"), directory("workspace/d")]),
        ("other tree's directory", vec![top(), directory("x"), file("workspace/a")]),
        ("NUL", vec![top(), file("workspace/a\0b")]),
        ("empty name", vec![top(), file("workspace//a")]),
        ("dot", vec![top(), file("workspace/./a")]),
        ("long name", vec![top(), file(&long)]),
        ("hexadecimal parent", vec![top(), with(file(""), "path", json!({ "hex": "776f726b73706163652f2e2e2f61" }))]),
        ("set-ID", vec![top(), with(file("workspace/a"), "mode", json!(0o4755))]),
        ("mode", vec![top(), with(file("workspace/a"), "mode", json!(-1))]),
        ("time", vec![top(), with(file("workspace/a"), "modified", json!([1, 1_000_000_000]))]),
        ("size", vec![top(), with(file("workspace/a"), "size", json!(8))]),
        (
            "size overflow",
            vec![
                top(),
                with(file("workspace/a"), "size", json!(u64::MAX)),
                with(file("workspace/b"), "size", json!(u64::MAX)),
            ],
        ),
        ("digest", vec![top(), with(file("workspace/a"), "sha256", json!(Digest::of(b"other").to_string()))]),
        ("digest as path", vec![top(), with(file("workspace/a"), "sha256", json!("../../../../../../etc/passwd"))]),
        (
            "digest in capitals",
            vec![top(), with(file("workspace/a"), "sha256", json!(Digest::of(CONTENT).to_string().to_uppercase()))],
        ),
        ("link without target", vec![top(), link("workspace/l", "")]),
        ("link with NUL", vec![top(), link("workspace/l", "a\0")]),
        ("long target", vec![top(), link("workspace/l", &"t".repeat(4097))]),
        ("unknown type", vec![top(), with(file("workspace/a"), "type", json!("device"))]),
        ("unknown field", vec![top(), with(file("workspace/a"), "owner", json!(0))]),
        ("no object", vec![json!(7)]),
        ("nothing", vec![]),
    ];
    for (name, entries) in cases {
        let error = fixture.restore_forged(&entries).await.expect_err(name);
        assert!(!message(&error).contains(char::is_control), "{name}: {error}");
        assert_eq!(fixture.leftovers(), [""; 0], "{name}: {error}");
    }
    // Control: the same entries without a forgery are restored.
    fixture.restore_forged(&[top(), file("workspace/a"), link("workspace/l", "/etc")]).await.unwrap();
    assert_eq!(fixture.leftovers(), ["restored"]);
}

/// Some file systems have such times. Others set the time that is nearest.
#[tokio::test]
async fn the_first_and_the_last_time_are_harmless() {
    let fixture = Fixture::with_object().await;
    for seconds in [i64::MIN, i64::MAX] {
        let time = json!([seconds, 999_999_999]);
        let entries = [directory("workspace"), file("workspace/a"), link("workspace/l", "x")];
        let entries = entries.map(|entry| with(entry, "modified", time.clone()));
        let restored = fixture.restore_forged(&entries).await.unwrap();
        assert_eq!(fs::read(restored.join("a")).unwrap(), CONTENT);
        fs::remove_dir_all(restored).unwrap();
    }
}

#[tokio::test]
async fn the_totals_have_to_be_those_of_the_entries() {
    let fixture = Fixture::with_object().await;
    let lines = || [directory("workspace"), file("workspace/a")].map(|entry| entry.to_string()).into_iter();
    for (entries, bytes) in [(1, 7), (3, 7), (2, 8), (2, 0), (u64::MAX, 7), (2, u64::MAX)] {
        assert!(fixture.restore_lines(entries, bytes, lines()).await.is_err(), "{entries} {bytes}");
    }
    // A manifest that was cut.
    let manifest = fs::read(fixture.path("store/snapshots/honest")).unwrap();
    for end in 0..manifest.len() {
        fs::write(fixture.path("store/snapshots/forged"), &manifest[..end]).unwrap();
        assert!(fixture.restore("forged").await.is_err(), "{end}");
    }
    assert_eq!(fixture.leftovers(), [""; 0]);
}

#[tokio::test]
async fn bounds_are_checked_before_anything_is_written() {
    let fixture = Fixture::with_object().await;
    // One object of 7 bytes, as 1,000 files: 7,000 bytes.
    let files = (0..1000).map(|number| file(&format!("workspace/{number:04}")));
    let bomb: Vec<_> = std::iter::once(directory("workspace")).chain(files).collect();
    fixture.restore_forged(&bomb).await.unwrap();
    fs::remove_dir_all(fixture.path("restored")).unwrap();
    for limits in [Limits { max_bytes: 6_999, ..Limits::default() }, Limits { max_entries: 1_000, ..Limits::default() }]
    {
        let error = fixture.restore_with("forged", &limits, None).await.unwrap_err();
        assert!(matches!(error, Error::Limit { .. }), "{error}");
        assert_eq!(fixture.leftovers(), [""; 0]);
    }
    // The object of a declared size of 1 TiB.
    let large = with(file("workspace/a"), "size", json!(1_u64 << 40));
    let error = fixture.restore_forged(&[directory("workspace"), large]).await.unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
    // A million entries and one.
    let lines = std::iter::once(directory("workspace"))
        .chain((0..1_000_000).map(|number| directory(&format!("workspace/{number:07}"))));
    let error = fixture.restore_lines(1_000_001, 0, lines.map(|line| line.to_string())).await.unwrap_err();
    assert!(matches!(error, Error::Limit { limit: 1_000_000, .. }), "{error}");
    // The first line does not have to be right for the others to be bounded.
    let lines = std::iter::once(directory("workspace"))
        .chain((0..1000).map(|number| directory(&format!("workspace/{number:07}"))));
    let error = fixture.restore_lines(10, 0, lines.map(|line| line.to_string())).await.unwrap_err();
    assert!(message(&error).contains("line 12"), "{error}");
    assert_eq!(fixture.leftovers(), [""; 0]);
}

#[tokio::test]
async fn a_manifest_of_too_many_bytes_is_not_read() {
    let fixture = Fixture::with_object().await;
    let file = fs::File::create(fixture.path("store/snapshots/forged")).unwrap();
    file.set_len(crate::manifest::MAX_BYTES + 1).unwrap();
    let error = fixture.restore("forged").await.unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
}

#[tokio::test]
async fn the_deepest_tree_is_restored_and_removed() {
    let fixture = Fixture::with_object().await;
    let entries: Vec<_> = (0..MAX_DEPTH).map(|depth| directory(&format!("workspace{}", "/d".repeat(depth)))).collect();
    fixture.restore_forged(&entries).await.unwrap();
    fs::remove_dir_all(fixture.path("restored")).unwrap();
    let mut entries: Vec<_> = entries.into_iter().map(|entry| with(entry, "mode", json!(0))).collect();
    entries.truncate(200);
    // Directories without permissions, and a file at the end that has no object.
    entries.push(with(file("workspace/e"), "sha256", json!(Digest::of(b"none").to_string())));
    assert!(fixture.restore_forged(&entries).await.is_err());
    assert_eq!(fixture.leftovers(), [""; 0]);
}

/// A directory without permissions is removed too if the last step fails.
#[tokio::test]
async fn a_tree_without_permissions_is_removed() {
    let fixture = Fixture::with_object().await;
    let entries = ["workspace", "workspace/d", "workspace/d/e"].map(|path| with(directory(path), "mode", json!(0)));
    fixture.restore_lines(3, 0, entries.iter().map(Value::to_string)).await.unwrap();
    fs::remove_dir(fixture.path("restored")).unwrap_err();
    let mode = |path, mode| fs::set_permissions(fixture.path(path), PermissionsExt::from_mode(mode)).unwrap();
    assert_eq!(fs::metadata(fixture.path("restored")).unwrap().mode() & 0o777, 0);
    mode("restored", 0o700);
    mode("restored/d", 0o700);
    fs::remove_dir_all(fixture.path("restored")).unwrap();
    let destination = Destination::open(&fixture.path("restored")).unwrap();
    drop(stage(&fixture.store, "forged", destination, &Limits::default(), None).await.unwrap());
    assert_eq!(fixture.leftovers(), [""; 0]);
}

#[tokio::test]
async fn damaged_objects_are_found() {
    let fixture = Fixture::with_object().await;
    let object = fixture.object(CONTENT);
    let attempt = async |name: &str| {
        let error = tokio::time::timeout(Duration::from_secs(10), fixture.restore("honest"))
            .await
            .expect(name)
            .expect_err(name);
        assert_eq!(fixture.leftovers(), [""; 0], "{name}: {error}");
        message(&error)
    };
    for (name, content) in [("other", "CONTENT"), ("shorter", "conten"), ("longer", "contents"), ("empty", "")] {
        fs::write(&object, content).unwrap();
        let error = attempt(name).await;
        assert!(error.starts_with("cannot restore `a`: its object `objects/"), "{error}");
    }
    fs::remove_file(&object).unwrap();
    assert!(attempt("missing").await.contains("is missing"));
    fs::create_dir(&object).unwrap();
    attempt("directory").await;
    fs::remove_dir(&object).unwrap();
    symlink("/etc/passwd", &object).unwrap();
    attempt("link").await;
    fs::remove_file(&object).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &object, rustix::fs::FileType::Fifo, rustix::fs::Mode::from(0o644), 0)
        .unwrap();
    assert!(attempt("FIFO").await.contains("not a regular file"));
}

#[tokio::test]
async fn an_expected_digest_finds_a_replaced_snapshot() {
    let fixture = Fixture::with_object().await;
    let honest = Digest::of(&fs::read(fixture.path("store/snapshots/honest")).unwrap());
    fixture.write("b", "another");
    fixture.snapshot("other").await.unwrap();
    fs::copy(fixture.path("store/snapshots/other"), fixture.path("store/snapshots/honest")).unwrap();
    let error = fixture.restore_with("honest", &Limits::default(), Some(honest)).await.unwrap_err();
    assert!(matches!(error, Error::Digest { .. }), "{error}");
    assert_eq!(fixture.leftovers(), [""; 0]);
}

/// On a file system that folds case, two names can be one entry: the second is an error, and replaces nothing.
#[tokio::test]
async fn names_that_differ_in_case_never_replace_each_other() {
    let fixture = Fixture::with_object().await;
    let entries = [directory("workspace"), file("workspace/A"), file("workspace/a")];
    let restored = fixture.restore_forged(&entries).await.unwrap();
    assert_eq!(fs::read_dir(restored).unwrap().count(), 2, "this file system tells them apart");
    // The same as on the other file systems: an entry of the name is there already.
    let (top, tree) = (fixture.path("top"), crate::path::SnapshotPath::tree(TREE));
    fs::create_dir(&top).unwrap();
    let writer = crate::writer::Writer::new(&Dir::open_ambient_dir(&top, ambient_authority()).unwrap()).unwrap();
    let create = |value: Value| writer.create(&serde_json::from_value(value).unwrap());
    create(directory("workspace")).unwrap();
    let outside = fixture.path("outside");
    fs::write(&outside, "outside").unwrap();
    symlink(&outside, top.join("workspace/a")).unwrap();
    assert!(create(directory("workspace/a")).is_err() && create(link("workspace/a", "x")).is_err());
    let writer = std::sync::Arc::new(writer);
    let entry = serde_json::from_value(file("workspace/a")).unwrap();
    assert!(crate::writer::restore_file(fixture.store.clone(), writer, entry).await.is_err());
    assert_eq!(fs::read_to_string(outside).unwrap(), "outside");
    assert_eq!(tree.to_string(), ".");
}
