//! Expected results of a case: `result.json`, `expected/`, and in `expected.json` the parts of the tree that git cannot
//! store.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use similar::TextDiff;

use super::backend::{self, Backend, Observed};
use super::case::Case;
use super::tree::{self, Node, Tree};

/// A tree in the form of a case's folder.
#[derive(Default, PartialEq, Eq)]
struct RecordedTree {
    /// Regular files that git can store.
    plain: BTreeMap<String, Vec<u8>>,
    rest: Rest,
}

/// Content of `expected.json`.
#[derive(Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rest {
    /// Descriptions of links, empty directories, and files that git cannot store.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    entries: BTreeMap<String, String>,
    /// Modes of files that a call set or that are executable. Only a real directory has modes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    modes: BTreeMap<String, String>,
}

/// Maximum size of a file whose content is recorded, in bytes. A larger file is described.
const MAX_PLAIN_BYTES: usize = 16 * 1024;

/// Fails with a diff if the results or the tree are not as expected.
pub fn compare(case: &Case, observed: &Observed) -> Result<()> {
    let mut report = String::new();
    let expected = fs::read_to_string(case.folder.join("result.json"))
        .context("no result.json: write it with BLESS=1, then review it")?;
    let got = results(observed)?;
    if got != expected {
        write!(report, "\nresult.json (-expected +got):\n{}", diff(&expected, &got))?;
    }
    let mut expected = expected_tree(case)?;
    let got = recorded_tree(case, observed);
    if observed.modes.is_none() {
        expected.rest.modes.clear();
    }
    compare_maps(&mut report, &printable(&expected.plain), &printable(&got.plain))?;
    compare_maps(&mut report, &expected.rest.entries, &got.rest.entries)?;
    compare_maps(&mut report, &expected.rest.modes, &got.rest.modes)?;
    if expected != got && report.is_empty() {
        bail!("the trees differ in bytes that are no text");
    }
    if !report.is_empty() {
        bail!("{report}");
    }
    Ok(())
}

/// Records the results of a case.
pub fn bless(case: &Case) -> Result<()> {
    let mut observed = backend::run(case, case.first_backend()?)?;
    if !case.start.modes.is_empty() {
        observed.modes = backend::run(case, Backend::Directory)?.modes;
    }
    fs::write(case.folder.join("result.json"), results(&observed)?)?;
    let (files, rest) = (case.folder.join("expected"), case.folder.join("expected.json"));
    if files.exists() {
        fs::remove_dir_all(&files)?;
    }
    if rest.exists() {
        fs::remove_file(&rest)?;
    }
    let recorded_tree = recorded_tree(case, &observed);
    if recorded_tree == unchanged(case) {
        return Ok(());
    }
    if recorded_tree.rest != Rest::default() || recorded_tree.plain.is_empty() {
        fs::write(rest, serde_json::to_string_pretty(&recorded_tree.rest)? + "\n")?;
    }
    for (path, bytes) in &recorded_tree.plain {
        let path = files.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&files))?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

fn results(observed: &Observed) -> Result<String> {
    Ok(serde_json::to_string_pretty(&Value::Array(observed.outcomes.clone()))? + "\n")
}

fn expected_tree(case: &Case) -> Result<RecordedTree> {
    let (files, rest) = (case.folder.join("expected"), case.folder.join("expected.json"));
    if !files.exists() && !rest.exists() {
        return Ok(unchanged(case));
    }
    let rest = if rest.exists() { serde_json::from_str(&fs::read_to_string(rest)?)? } else { Rest::default() };
    Ok(RecordedTree { plain: plain_files(&files)?, rest })
}

fn plain_files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let tree = if folder.exists() { tree::read(folder)? } else { Tree::new() };
    let files = tree.into_iter().filter_map(|(path, node)| match node {
        Node::File(bytes) => Some((escaped(&path), bytes)),
        _ => None,
    });
    Ok(files.collect())
}

fn unchanged(case: &Case) -> RecordedTree {
    let modes = case.start.modes.clone();
    recorded_tree(case, &Observed { outcomes: Vec::new(), tree: case.start.tree.clone(), modes: Some(modes) })
}

fn recorded_tree(case: &Case, observed: &Observed) -> RecordedTree {
    let mut tree = RecordedTree::default();
    for (path, node) in &observed.tree {
        match node {
            Node::File(bytes) if is_plain(path) && bytes.len() <= MAX_PLAIN_BYTES => {
                tree.plain.insert(escaped(path), bytes.clone());
            }
            Node::Directory if has_entries(&observed.tree, path) => {}
            node => {
                tree.rest.entries.insert(escaped(path), described(node, case.start.tree.get(path)));
            }
        }
    }
    for (path, mode) in observed.modes.iter().flatten() {
        if case.start.modes.contains_key(path) || mode & 0o111 != 0 {
            tree.rest.modes.insert(escaped(path), format!("{mode:04o}"));
        }
    }
    tree
}

fn described(node: &Node, before: Option<&Node>) -> String {
    match node {
        Node::Directory => "empty directory".to_owned(),
        Node::Link(target) => format!("link to {target}"),
        Node::Fifo => "FIFO".to_owned(),
        Node::File(_) | Node::Sparse(_) if before == Some(node) => "as before".to_owned(),
        Node::Sparse(size) => format!("{size} bytes"),
        Node::File(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if bytes.len() <= MAX_PLAIN_BYTES => format!("text: {text}"),
            _ => {
                let digest = Sha256::digest(bytes);
                let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{} bytes, sha256 {hex}", bytes.len())
            }
        },
    }
}

fn has_entries(tree: &Tree, directory: &[u8]) -> bool {
    let below = [directory, b"/"].concat();
    tree.range(below.clone()..).next().is_some_and(|(path, _)| path.starts_with(&below))
}

/// Returns whether git can store a file of this name on every system and does not interpret it.
pub fn is_plain(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').all(|name| {
        let lower = name.to_ascii_lowercase();
        let usual = name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-+ ".contains(byte));
        let taken = lower.starts_with(b".git") || lower.starts_with(b"git~") || lower == b"node_modules";
        let taken = taken || is_device(&lower);
        usual && !taken && !name.ends_with(b" ") && !name.ends_with(b".")
    })
}

/// Returns whether the name is a device on Windows, where a part after a dot is ignored.
fn is_device(lower: &[u8]) -> bool {
    let stem = lower.split(|byte| *byte == b'.').next().unwrap_or_default();
    let numbered = stem.len() == 4 && (stem.starts_with(b"com") || stem.starts_with(b"lpt"));
    numbered || [&b"con"[..], b"prn", b"aux", b"nul"].contains(&stem)
}

/// Returns a path in the form of `expected.json`.
fn escaped(path: &[u8]) -> String {
    std::str::from_utf8(path).map_or_else(|_| path.escape_ascii().to_string(), str::to_owned)
}

fn printable(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, String> {
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap_or_else(|_| bytes.escape_ascii().to_string());
    files.iter().map(|(path, bytes)| (path.clone(), text(bytes))).collect()
}

fn compare_maps(
    report: &mut String,
    expected: &BTreeMap<String, String>,
    got: &BTreeMap<String, String>,
) -> Result<()> {
    for (path, text) in expected {
        match got.get(path) {
            None => write!(report, "\ngone: {path}\n")?,
            Some(other) if other != text => {
                write!(report, "\n{path} (-expected +got):\n{}", diff(text, other))?;
            }
            Some(_) => {}
        }
    }
    for (path, text) in got.iter().filter(|(path, _)| !expected.contains_key(*path)) {
        write!(report, "\nnot expected: {path}\n{text}\n")?;
    }
    Ok(())
}

fn diff(expected: &str, got: &str) -> String {
    TextDiff::from_lines(expected, got).unified_diff().context_radius(2).to_string()
}
