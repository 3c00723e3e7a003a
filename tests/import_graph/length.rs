//! Lengths of the product's source files.

use std::collections::BTreeMap;
use std::fs;

use super::{Graph, LAYERS, Module, collect, module_of, repository};

/// Maximum number of lines of a file, without the inline module of its tests.
const MAX_LINES: usize = 400;

/// Returns the number of lines before the inline module of tests.
fn lines(text: &str) -> usize {
    let lines: Vec<_> = text.lines().collect();
    let is_tests =
        |pair: &[&str]| pair[0].trim() == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{');
    lines.windows(2).position(is_tests).unwrap_or(lines.len())
}

#[test]
fn files_of_the_product_are_short() {
    let crates = LAYERS.iter().map(|name| format!("guest/{name}/src"));
    let hosts = [
        "host/rust/src",
        "host/rust/cli",
        "host/snapshots/src",
        "host/supervisor/src",
        "host/node/src",
        "host/python/src",
    ];
    let mut lengths = BTreeMap::new();
    for directory in crates.chain(hosts.map(str::to_owned)) {
        let graph = Graph::read(&directory);
        let top = repository().join(&directory);
        let mut files = Vec::new();
        collect(&top, &["rs", "js", "py"], &mut files);
        for file in files {
            let path = file.strip_prefix(&top).unwrap();
            let module: Module = module_of(path);
            let text = fs::read_to_string(&file).unwrap();
            let is_generated = text.lines().next().is_some_and(|line| line.contains("generated from `wit/`"));
            if !is_generated && !graph.is_of_tests(&module) {
                lengths.insert(format!("{directory}/{}", path.display()), lines(&text));
            }
        }
    }
    assert!(lengths.len() > 400, "{} files are read", lengths.len());
    lengths.retain(|_, length| *length > MAX_LINES);
    assert!(lengths.is_empty(), "files of more than {MAX_LINES} lines: {lengths:?}");
}

#[test]
fn lines_of_inline_tests_do_not_count() {
    assert_eq!(lines("use a;\n\n#[cfg(test)]\nmod tests {\n}\n"), 2);
    assert_eq!(lines("use a;\n\n#[cfg(test)]\nmod tests;\n"), 4);
    assert_eq!(lines("#[cfg(test)]\nuse a;\nfn b() {}\n"), 3);
}
