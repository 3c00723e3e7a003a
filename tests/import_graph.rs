//! The import graph of the source files: modules depend on each other in one direction.
//!
//! A module and its own descendants may refer to each other. The graph of files has no other cycle. The graph of
//! siblings, each with its descendants except tests, has no cycle either; tests may use any module above the tested
//! one.
//! The graph is read from the text: `use` declarations and paths that begin with `crate`, `self` or `super`. A name that a
//! module re-exports counts as an import of the re-exporting module and of the defining one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

mod diagram;
mod length;
mod source;

use source::{Import, Source};

/// Module path, `["wasi", "open"]` for `src/wasi/open.rs`; the crate's root is empty.
type Module = Vec<String>;

/// The modules of one source directory, and their imports.
struct Graph {
    modules: BTreeMap<Module, Source>,
}

/// Whether imports of tests count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tests {
    Counted,
    LeftOut,
}

impl Graph {
    fn read(directory: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory);
        let mut files = Vec::new();
        collect(&root, &["rs"], &mut files);
        Self::of(files.iter().map(|file| {
            let text = fs::read_to_string(file).unwrap();
            (module_of(file.strip_prefix(&root).unwrap()), text)
        }))
    }

    fn of(files: impl Iterator<Item = (Module, String)>) -> Self {
        let mut modules: BTreeMap<Module, Source> = BTreeMap::new();
        for (module, text) in files {
            let source = Source::read(&text);
            // A library and a binary are two roots.
            let module = modules.entry(module).or_default();
            module.imports.extend(source.imports);
            module.test_modules.extend(source.test_modules);
        }
        Self { modules }
    }

    /// Returns, for each module, the modules that it imports from.
    fn edges(&self, tests: Tests) -> BTreeMap<Module, BTreeSet<Module>> {
        let targets = |(module, source): (&Module, &Source)| {
            let mut modules = BTreeSet::new();
            for import in source.imports.iter().filter(|import| tests == Tests::Counted || !import.is_of_tests) {
                self.resolve(module, import, &mut modules, 8);
            }
            modules.remove(module);
            (module.clone(), modules)
        };
        let modules = self.modules.iter();
        modules.filter(|(module, _)| tests == Tests::Counted || !self.is_of_tests(module)).map(targets).collect()
    }

    /// Returns whether a module, or one that contains it, is compiled only for tests.
    fn is_of_tests(&self, module: &[String]) -> bool {
        module.split_last().is_some_and(|(name, parent)| {
            self.modules.get(parent).is_some_and(|parent| parent.test_modules.contains(name))
                || self.is_of_tests(parent)
        })
    }

    /// Adds the module that `import` names; if that module re-exports the name, also the defining module.
    fn resolve(&self, from: &Module, import: &Import, modules: &mut BTreeSet<Module>, depth: usize) {
        let Some(path) = self.absolute(from, import) else { return };
        let known = (0..=path.len()).rev().find(|&length| self.modules.contains_key(&path[..length])).unwrap();
        let module = path[..known].to_vec();
        if let (Some(name), Some(depth)) = (path.get(known), depth.checked_sub(1))
            && module != *from
        {
            for next in self.modules[&module].imports.iter().filter(|next| next.name() == Some(name)) {
                self.resolve(&module, next, modules, depth);
            }
        }
        modules.insert(module);
    }

    /// Returns the path from the root of the crate; `None` for another crate.
    fn absolute(&self, from: &Module, import: &Import) -> Option<Vec<String>> {
        let mut base: Vec<String> = from.iter().chain(&import.inside).cloned().collect();
        let mut rest = import.path.iter();
        match import.path.first()?.as_str() {
            "crate" => base = Vec::new(),
            "self" | "super" => {}
            first => {
                base.push(first.to_owned());
                // A path without a prefix names a child module or another crate.
                return self.modules.contains_key(&base).then(|| {
                    base.extend(import.path.iter().skip(1).cloned());
                    base
                });
            }
        }
        if matches!(import.path[0].as_str(), "crate" | "self") {
            rest.next();
        }
        for segment in rest {
            match segment.as_str() {
                "super" => drop(base.pop()),
                name => base.push(name.to_owned()),
            }
        }
        Some(base)
    }

    /// Cycles between files, without the edges between a module and its descendants.
    fn cycles_of_files(&self) -> Vec<Vec<String>> {
        let mut edges = self.edges(Tests::Counted);
        for (module, targets) in &mut edges {
            targets.retain(|target| !module.starts_with(target) && !target.starts_with(module));
        }
        cycles(&edges)
    }

    /// Cycles between siblings, each taken with everything below it.
    fn cycles_of_siblings(&self) -> Vec<Vec<String>> {
        let mut siblings: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, targets) in self.edges(Tests::LeftOut) {
            for target in targets {
                let common = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
                if common < module.len() && common < target.len() {
                    let from = siblings.entry(module[..=common].to_vec()).or_default();
                    from.insert(target[..=common].to_vec());
                }
            }
        }
        cycles(&siblings)
    }
}

/// Returns the strongly connected components of more than one module, the largest first.
fn cycles(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<String>> {
    let reachable = |start: &Module| {
        let (mut visited, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(module) = open.pop() {
            for next in edges.get(module).into_iter().flatten() {
                if visited.insert(next) {
                    open.push(next);
                }
            }
        }
        visited
    };
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = edges.keys().map(|module| (module, reachable(module))).collect();
    let mut cycles_found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, visited) in &reach {
        let members = visited.iter().filter(|other| reach.get(**other).is_some_and(|back| back.contains(module)));
        let names: Vec<String> = members.map(|member| member.join("::")).collect();
        if names.len() > 1 {
            cycles_found.insert(names);
        }
    }
    let mut cycles_found: Vec<_> = cycles_found.into_iter().collect();
    cycles_found.sort_by_key(|members| std::cmp::Reverse(members.len()));
    cycles_found
}

/// Adds the files below a directory that have one of the extensions.
fn collect(directory: &Path, extensions: &[&str], files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, extensions, files);
        } else if path.extension().is_some_and(|extension| extensions.iter().any(|one| extension == *one)) {
            files.push(path);
        }
    }
}

fn module_of(file: &Path) -> Module {
    let path = file.with_extension("");
    let mut module: Module = path.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
    let is_root = module.len() == 1 && matches!(module[0].as_str(), "lib" | "main");
    if is_root || module.last().is_some_and(|name| name == "mod") {
        module.pop();
    }
    module
}

#[test]
fn the_files_of_a_crate_import_each_other_in_one_direction() {
    let guest = LAYERS.map(|name| format!("guest/{name}/src"));
    for package in ["host/rust/src", "host/rust/cli", "host/snapshots/src", "host/supervisor/src"]
        .into_iter()
        .chain(guest.iter().map(String::as_str))
    {
        let graph = Graph::read(package);
        let none = Vec::<Vec<String>>::new();
        assert_eq!((graph.cycles_of_files(), graph.cycles_of_siblings()), (none.clone(), none), "{package}");
    }
}

/// Crates of the guest in the order of their layers. `guest/component/src/lib.rs` describes them.
const LAYERS: [&str; 15] = [
    "policy",
    "scan",
    "index",
    "types",
    "text",
    "patch",
    "archive",
    "vfs",
    "search",
    "workspace",
    "ops",
    "dialects",
    "component",
    "protocol",
    "server",
];

/// Returns the top directory of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads the manifest of a crate of the guest and returns the crates of the guest that it depends on, build and test
/// dependencies left out.
fn dependencies(name: &str) -> Vec<String> {
    diagram::packages_in(&fs::read_to_string(repository().join(format!("guest/{name}/Cargo.toml"))).unwrap())
}

#[test]
fn the_crates_of_the_guest_are_layers() {
    let mut directories: Vec<_> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    directories.sort();
    let mut named = LAYERS.map(str::to_owned).to_vec();
    named.sort();
    assert_eq!(directories, named, "LAYERS names every crate");
    for (layer, name) in LAYERS.iter().enumerate() {
        for dependency in dependencies(name) {
            let below = LAYERS[..layer].contains(&dependency.as_str());
            assert!(below, "{name} depends on {dependency}, which is not below it");
        }
    }
    assert!(dependencies("ops").iter().any(|dependency| dependency == "workspace"), "manifests are read");
}

/// Control of the two tests above: a cycle is found, also through a re-exported name, and a parent that uses its own
/// children is not a cycle.
#[test]
fn a_cycle_is_found() {
    let graph = |sources: &[(&str, &str)]| {
        let module = |path: &str| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Graph::of(sources.iter().map(|(path, text)| (module(path), (*text).to_owned())))
    };
    let graph_with_cycle = graph(&[
        ("", "mod a; mod b; mod c;"),
        ("a", "use crate::b::B;"),
        ("b", "use crate::c::D;"),
        ("c", "mod d; pub use d::D;"),
        ("c::d", "use super::super::a::A; use super::C;"),
    ]);
    assert_eq!(graph_with_cycle.cycles_of_files(), [["a", "b", "c::d"]]);
    assert_eq!(graph_with_cycle.cycles_of_siblings(), [["a", "b", "c"]]);
    let none = graph(&[
        ("", "mod a; mod b;"),
        ("a", "mod e; use e::E; #[cfg(test)] mod tests { use crate::b::B; }"),
        ("a::e", "use super::A;"),
        ("b", "use crate::a::A;"),
    ]);
    assert_eq!(none.cycles_of_siblings(), Vec::<Vec<String>>::new());
}

/// The edges within cycles are printed by `cargo test --test integration import_graph::edges -- --ignored --nocapture`,
/// for the directory in `SOURCES`.
#[test]
#[ignore = "it checks nothing: it prints the edges, for whoever removes a cycle"]
fn edges_within_cycles() {
    let graph = Graph::read(&std::env::var("SOURCES").unwrap_or_else(|_| "host/rust/src".to_owned()));
    let files = graph.cycles_of_files();
    println!("files: {files:#?}\nsiblings: {:#?}", graph.cycles_of_siblings());
    for (module, targets) in graph.edges(Tests::LeftOut) {
        let module = module.join("::");
        for target in targets.iter().map(|target| target.join("::")) {
            println!("{module} -> {target}");
        }
    }
}
