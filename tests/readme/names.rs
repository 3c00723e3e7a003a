//! The names of the packages: `paddock` belongs to other projects on the registries of Rust, npm and Python.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::repository;

/// The name of the package in all three registries.
pub(super) const PACKAGE: &str = "paddock-files";

/// Texts that come before the name of a package, and the name that has to follow.
const BEFORE_NAMES: [(&str, &str); 18] = [
    ("cargo add ", PACKAGE),
    ("cargo install ", PACKAGE),
    ("npm install ", PACKAGE),
    ("npm i ", PACKAGE),
    ("npx ", PACKAGE),
    ("npx -y ", PACKAGE),
    ("npx --yes ", PACKAGE),
    // The same in the settings of an MCP client.
    ("\"-y\", \"", PACKAGE),
    ("from '", PACKAGE),
    ("from \"", PACKAGE),
    ("pip install ", PACKAGE),
    ("pipx run ", PACKAGE),
    ("uvx ", PACKAGE),
    ("uv add ", PACKAGE),
    ("uv tool install ", PACKAGE),
    ("python -m ", "paddock_files"),
    ("from ", "paddock_files"),
    ("import ", "paddock_files"),
];

/// Returns the wrong names in `text`, each with the text before it.
fn wrong_names(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (before, name) in BEFORE_NAMES {
        for (at, _) in text.match_indices(before) {
            let word = &text[at + before.len()..];
            let end = word.find(|c: char| !c.is_alphanumeric() && !"-_".contains(c)).unwrap_or(word.len());
            let is_sentence =
                matches!(before, "from " | "import ") && !text[..at].trim_end_matches(' ').ends_with('\n');
            // The module that starts the native program or the Python host is in the same distribution.
            let is_launcher = before == "import " && &word[..end] == "paddock_files_launcher";
            if word.starts_with("paddock") && &word[..end] != name && !is_sentence && !is_launcher {
                wrong.push(format!("{before}{}", &word[..end]));
            }
        }
    }
    wrong
}

fn check(path: &Path, checked: &mut usize) {
    if path.is_dir() {
        let generated =
            ["target", "node_modules", "component", "build", "dist", "packed", "cases", "__pycache__", ".git"];
        if !generated.iter().any(|name| path.ends_with(name)) || path.ends_with("guest/component") {
            fs::read_dir(path).unwrap().for_each(|entry| check(&entry.unwrap().path(), checked));
        }
        return;
    }
    // Scripts have no extension.
    let kinds = ["html", "js", "json", "md", "mjs", "py", "rs", "sh", "svg", "toml", "ts", "yaml", "yml"];
    let is_text = path.extension().is_none_or(|of| kinds.iter().any(|kind| of == *kind));
    if is_text && !path.ends_with("tests/readme/names.rs") {
        let text = fs::read_to_string(path).unwrap_or_default();
        assert_eq!(wrong_names(&text), Vec::<String>::new(), "{}", path.display());
        *checked += 1;
    }
}

#[test]
fn no_text_names_the_package_of_another_project() {
    let mut checked = 0;
    check(&repository(), &mut checked);
    assert!(checked >= 500, "{checked} files");
}

/// Control of the test above.
#[test]
fn a_wrong_name_is_found() {
    assert_eq!(wrong_names("`pip install paddock`, then\nimport paddock"), ["pip install paddock", "import paddock"]);
    for wrong in ["npx -y paddock", "npx --yes paddock", "\"-y\", \"paddock", "uv add paddock"] {
        assert_eq!(wrong_names(&format!("{wrong} mcp, {wrong}\", {wrong}-files")), [wrong; 2]);
    }
    assert_eq!(wrong_names("npx paddock-files mcp DIR; an import paddock has\nimport paddock_files"), [""; 0]);
}

#[test]
fn the_manifests_have_the_name() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    let npm: Value = serde_json::from_str(&read("host/node/package.json")).unwrap();
    assert_eq!(npm["name"], PACKAGE);
    for manifest in ["host/python/pyproject.toml", "host/rust/Cargo.toml"] {
        assert!(read(manifest).contains(&format!("\nname = \"{PACKAGE}\"\n")), "{manifest}");
    }
}

/// A crate is published if the published ones depend on it, and no other is.
#[test]
fn few_crates_are_published() {
    let mut published: Vec<_> = ["guest", "host", "benches", "tests"]
        .iter()
        .flat_map(|directory| fs::read_dir(repository().join(directory)).unwrap())
        .filter_map(|entry| fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).ok())
        .filter(|manifest| !manifest.contains("\npublish = false\n"))
        .map(|manifest| manifest.split('"').nth(1).unwrap().to_owned())
        .collect();
    published.sort();
    assert_eq!(
        published,
        [
            PACKAGE,
            "paddock-files-policy",
            "paddock-files-protocol",
            "paddock-files-snapshots",
            "paddock-files-supervisor"
        ]
    );
}
