//! The list of the component's imports is the list of its permissions.

use std::path::Path;
use std::sync::LazyLock;

use wasmtime::Engine;
use wasmtime::component::Component;

/// The component, whose compilation takes most of the time of these tests.
static COMPILED: LazyLock<(Engine, Component)> = LazyLock::new(|| {
    let engine = Engine::default();
    let component = Component::new(&engine, paddock::component()).unwrap();
    (engine, component)
});

#[test]
fn the_component_imports_these_interfaces_and_nothing_else() {
    let (engine, component) = &*COMPILED;
    let imports: Vec<String> = component.component_type().imports(engine).map(|(name, _)| name.to_owned()).collect();
    let mut unversioned: Vec<&str> = imports.iter().map(|name| name.split_once('@').unwrap().0).collect();
    unversioned.sort_unstable();
    let expected = [
        "wasi:cli/environment",
        "wasi:cli/exit",
        "wasi:cli/stderr",
        "wasi:cli/stdin",
        "wasi:cli/stdout",
        "wasi:cli/terminal-input",
        "wasi:cli/terminal-output",
        "wasi:cli/terminal-stderr",
        "wasi:cli/terminal-stdin",
        "wasi:cli/terminal-stdout",
        "wasi:clocks/monotonic-clock",
        "wasi:clocks/wall-clock",
        "wasi:filesystem/preopens",
        "wasi:filesystem/types",
        "wasi:io/error",
        "wasi:io/poll",
        "wasi:io/streams",
        "wasi:random/insecure-seed",
        "wasi:random/random",
    ];
    assert_eq!(unversioned, expected);
    assert!(imports.iter().all(|name| name.contains("@0.2.")), "{imports:?}");
}

#[test]
fn the_component_exports_the_worlds_interfaces() {
    let (engine, component) = &*COMPILED;
    let exports: Vec<String> = component.component_type().exports(engine).map(|(name, _)| name.to_owned()).collect();
    let interfaces = ["types", "files", "search", "tools", "session", "approval", "partitions", "commands", "index"];
    let expected = interfaces.map(|name| format!("paddock:files/{name}@0.1.0"));
    assert_eq!(exports, expected);
}

#[test]
fn the_component_names_no_directory_of_the_machine_that_built_it() {
    let component = paddock::component();
    let sources = Path::new("registry").join("src").display().to_string();
    for directory in [sources.as_str(), env!("CARGO_MANIFEST_DIR")] {
        let position = component.windows(directory.len()).position(|bytes| bytes == directory.as_bytes());
        assert_eq!(position, None, "{directory}");
    }
}

#[test]
fn the_component_is_small() {
    // The debug build of the tests embeds the same component as a release. Each dialect takes some 25 KB of it, undoing
    // 100 KB, archives 144 KB, policy, approval and records 150 KB, overlays 63 KB, replacing and changes 100 KB,
    // trees in memory 32 KB, taking over an overlay 153 KB, what outlasts a power failure 4 KB, speed 90 KB, the search
    // index 68 KB, roots in roots and permission bits 15 KB.
    assert!(paddock::component().len() <= 3_840_000, "{} bytes", paddock::component().len());
}
