//! Benchmarks of single calls through the library, most of them in a fresh sandbox, and of searches compared with
//! ripgrep on one thread. `benches/README.md` has the figures.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a bench that cannot run stops")]

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use paddock::{Policy, Workspace};
use serde_json::json;

#[allow(dead_code, reason = "no bench needs every tree")]
mod trees;

criterion_group!(benches, calls, reads, changes, listings, searches, commands, start);
criterion_main!(benches);

fn calls(criterion: &mut Criterion) {
    let persistent = Workspace::memory(Policy::default()).expect("the component loads");
    let fresh = workspace(&trees::texts());
    let mut group = criterion.benchmark_group("call");
    group.bench_function("instantiate", |bench| bench.iter(|| black_box(paddock::dialects()).expect("there is one")));
    // The component refuses an unknown tool before it opens anything, so the call measures the sandbox and the call
    // itself.
    group.bench_function("empty, kept instance", |bench| bench.iter(|| persistent.call("none", "{}")));
    group.bench_function("empty, fresh sandbox", |bench| bench.iter(|| fresh.call("none", "{}")));
}

fn reads(criterion: &mut Criterion) {
    let texts = trees::texts();
    let workspace = workspace(&texts);
    let mut group = criterion.benchmark_group("read");
    group.bench_function("4 KB", |bench| bench.iter(|| ok(&workspace, "read_file", &json!({"path": "small.txt"}))));
    let small = texts.join("small.txt");
    group
        .bench_function("4 KB, std::fs", |bench| bench.iter(|| black_box(std::fs::read(&small)).expect("it is there")));
    let page = json!({"path": "large.txt", "offset": 1_599_000, "limit": 100});
    slow(&mut group).bench_function("page at the end of 100 MB", |bench| {
        bench.iter(|| ok(&workspace, "read_file", &page));
    });
    let tail = json!({"path": "large.txt", "tail": 100});
    group.bench_function("tail of 100 MB", |bench| bench.iter(|| ok(&workspace, "read_file", &tail)));
}

fn changes(criterion: &mut Criterion) {
    let dir = trees::scratch("changes");
    let workspace = workspace(&dir);
    let text = "fn one() {}\n".repeat(300) + "let value = 1;\n" + &"fn two() {}\n".repeat(300);
    for number in 0..10 {
        std::fs::write(dir.join(format!("file{number}.rs")), &text).expect("target/ can be written");
    }
    let turned = [("value = 1", "value = 2"), ("value = 2", "value = 1")];
    let mut group = criterion.benchmark_group("change");
    slow(&mut group);
    let mut turn = turned.iter().cycle();
    group.bench_function("edit", |bench| {
        bench.iter(|| {
            let (old, new) = turn.next().expect("a cycle has no end");
            let edits = json!([{"old_text": old, "new_text": new}]);
            ok(&workspace, "edit_file", &json!({"path": "file0.rs", "edits": edits}));
        });
    });
    std::fs::write(dir.join("file0.rs"), &text).expect("target/ can be written");
    let mut turn = turned.iter().cycle();
    group.bench_function("ten-file patch", |bench| {
        bench.iter(|| {
            let (old, new) = turn.next().expect("a cycle has no end");
            let files = (0..10).map(|n| format!("*** Update File: file{n}.rs\n@@\n-let {old};\n+let {new};\n"));
            let patch = format!("*** Begin Patch\n{}*** End Patch\n", files.collect::<String>());
            ok(&workspace, "apply_patch", &json!({ "patch": patch }));
        });
    });
}

fn listings(criterion: &mut Criterion) {
    let workspace = workspace(&trees::wide_dir());
    let mut group = criterion.benchmark_group("list");
    slow(&mut group);
    let all = json!({"limit": 10_000});
    group.bench_function("10,000 entries", |bench| bench.iter(|| ok(&workspace, "list_dir", &all)));
}

fn searches(criterion: &mut Criterion) {
    let tree = trees::source_tree();
    let workspace = workspace(&tree);
    let mut group = criterion.benchmark_group("grep 20,000 files, 150 MB");
    slow(&mut group);
    for (name, pattern) in [
        ("rare literal", "needle_in_haystack"),
        ("no match", "nowhere_to_be_found"),
        ("classes", "fn [a-z]+_[a-z]+_config"),
        ("common literal, counted", "buffer"),
    ] {
        let arguments = json!({"pattern": pattern, "output": "count", "limit": 10_000});
        group.bench_function(format!("{name}, paddock"), |bench| bench.iter(|| ok(&workspace, "grep", &arguments)));
        if has_ripgrep() {
            group.bench_function(format!("{name}, rg -j1"), |bench| bench.iter(|| ripgrep(&tree, pattern)));
        }
    }
}

fn start(criterion: &mut Criterion) {
    let texts = trees::texts();
    let mut group = criterion.benchmark_group("start");
    slow(&mut group);
    group.bench_function("paddock call read_file, start to exit", |bench| {
        bench.iter(|| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
            command.args(["call", "read_file", r#"{"path": "small.txt"}"#]).current_dir(&texts);
            assert!(command.stdout(Stdio::null()).status().expect("the binary runs").success());
        });
    });
}

#[cfg(target_os = "linux")]
fn commands(criterion: &mut Criterion) {
    let mut policy = Policy::default();
    policy.commands.enabled = true;
    let dir = trees::scratch("commands");
    let builder = Workspace::builder().root(&dir).state_dir(trees::scratch("state")).policy(policy);
    let workspace = builder.build().expect("the directory is there");
    let mut group = criterion.benchmark_group("command");
    group.bench_function("true, plain", |bench| {
        // The same shell and language as those of a confined command.
        let spawn = || Command::new("/bin/bash").args(["-c", "true"]).env("LANG", "C.UTF-8").output();
        bench.iter(|| spawn().expect("there is a shell"));
    });
    group.bench_function("true, confined", |bench| bench.iter(|| ok(&workspace, "shell", &json!({"command": "true"}))));
}

/// Does nothing, because only Linux confines commands.
#[cfg(not(target_os = "linux"))]
fn commands(_criterion: &mut Criterion) {}

fn workspace(dir: &Path) -> Workspace {
    let state = trees::scratch("state");
    Workspace::builder().root(dir).state_dir(state).build().expect("the directory is there")
}

fn ok(workspace: &Workspace, tool: &str, arguments: &serde_json::Value) {
    let outcome = workspace.call(tool, &arguments.to_string());
    assert!(outcome.ok, "{tool}: {}", outcome.text);
    black_box(outcome);
}

fn has_ripgrep() -> bool {
    Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn ripgrep(tree: &Path, pattern: &str) {
    let mut command = Command::new("rg");
    command.args(["-j1", "--count", "--regexp", pattern, "."]).current_dir(tree);
    // ripgrep ends with exit status 1 if it finds no match.
    assert!(command.stdout(Stdio::null()).status().expect("rg runs").code().is_some_and(|code| code < 2));
}

fn slow<'g, 'c>(
    group: &'g mut criterion::BenchmarkGroup<'c, criterion::measurement::WallTime>,
) -> &'g mut criterion::BenchmarkGroup<'c, criterion::measurement::WallTime> {
    group.sample_size(10).measurement_time(Duration::from_secs(5))
}
