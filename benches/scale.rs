//! Costs by size: walks over trees of increasing size, and many workspaces at the same time in one process.
//! `benches/README.md` has the figures.
//!
//! `cargo bench --profile dist -p paddock-files --bench scale` goes up to 100,000 entries;
//! `PADDOCK_SCALE=1000000` in the environment continues to a million.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a bench that cannot run stops")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use paddock::{Limits, Workspace};
use serde_json::json;

#[allow(dead_code, reason = "no bench needs every tree")]
mod trees;

/// Memory limit of each guest in all measurements, in bytes.
const GUEST_BYTES: u64 = 64 << 20;
const WORKSPACES: usize = 64;
const SPAN: Duration = Duration::from_secs(2);

fn main() {
    let max_files = std::env::var("PADDOCK_SCALE").ok().and_then(|max_files| max_files.parse().ok()).unwrap_or(100_000);
    println!(
        "| entries | on disk | list, all sizes | glob, one match | grep, one match | most memory of the process |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    for entries in [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|entries| *entries <= max_files) {
        walks(entries);
    }
    many();
}

/// Measures a listing, a glob and a search of a whole tree, each as the median of five runs.
fn walks(entries: usize) {
    let tree = trees::entries(entries);
    let workspace = workspace(&tree);
    let calls = [
        ("list_dir", json!({"depth": 9, "limit": 200, "include_ignored": true})),
        ("glob", json!({"pattern": "**/last.txt", "limit": 100})),
        ("grep", json!({"pattern": "needle_in_haystack", "limit": 100})),
    ];
    let times = calls.map(|(tool, arguments)| {
        let mut times: Vec<Duration> = (0..5).map(|_| timed(&workspace, tool, &arguments.to_string())).collect();
        times.sort();
        format!("{:.1} ms", times[2].as_secs_f64() * 1e3)
    });
    println!("| {entries} | {} MB | {} | {} MB |", on_disk(&tree) >> 20, times.join(" | "), peak_kib() >> 10);
}

/// Measures calls in 64 concurrent workspaces, compared with calls in one workspace and with calls during long
/// searches.
fn many() {
    let texts = trees::texts();
    let workspaces: Vec<Workspace> = (0..WORKSPACES).map(|_| workspace(&texts)).collect();
    let one = throughput(&workspaces[..1]);
    let all = throughput(&workspaces);
    println!("\n| | |\n| --- | --- |");
    println!("| reads of 4 KB a second, one workspace, one thread | {one:.0} |");
    println!("| reads of 4 KB a second, {WORKSPACES} workspaces, a thread each | {all:.0} |");
    let alone = latencies(&workspaces[0], &[]);
    let tree = trees::source_tree();
    let searching: Vec<Workspace> = (1..WORKSPACES).map(|_| workspace(&tree)).collect();
    let with_searches = latencies(&workspaces[0], &searching);
    println!("| a read of 4 KB alone: median, 99 in 100 | {} |", percentiles(&alone));
    println!(
        "| a read of 4 KB beside {} searches of 150 MB: median, 99 in 100 | {} |",
        WORKSPACES - 1,
        percentiles(&with_searches)
    );
}

/// Returns the number of reads per second, with one thread per workspace.
fn throughput(workspaces: &[Workspace]) -> f64 {
    let (completed, started) = (AtomicU64::new(0), Instant::now());
    thread::scope(|scope| {
        for workspace in workspaces {
            scope.spawn(|| {
                while started.elapsed() < SPAN {
                    timed(workspace, "read_file", r#"{"path": "small.txt"}"#);
                    completed.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    completed.into_inner() as f64 / started.elapsed().as_secs_f64()
}

/// Returns the durations of reads while other workspaces search continuously.
fn latencies(workspace: &Workspace, searching: &[Workspace]) -> Vec<Duration> {
    let is_over = AtomicBool::new(false);
    let mut times = thread::scope(|scope| {
        for searcher in searching {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    timed(searcher, "grep", r#"{"pattern": "nowhere_to_be_found"}"#);
                }
            });
        }
        let times: Vec<Duration> =
            (0..300).map(|_| timed(workspace, "read_file", r#"{"path": "small.txt"}"#)).collect();
        is_over.store(true, Ordering::Relaxed);
        times
    });
    times.sort();
    times
}

fn percentiles(times: &[Duration]) -> String {
    format!(
        "{:.2} ms, {:.2} ms",
        times[times.len() / 2].as_secs_f64() * 1e3,
        times[times.len() * 99 / 100].as_secs_f64() * 1e3
    )
}

fn workspace(dir: &Path) -> Workspace {
    let limits = Limits { max_memory_bytes: GUEST_BYTES, max_time_ms: 120_000, ..Limits::default() };
    Workspace::builder().root(dir).no_state_dir().limits(limits).build().expect("the directory is there")
}

fn timed(workspace: &Workspace, tool: &str, arguments: &str) -> Duration {
    let started = Instant::now();
    let outcome = workspace.call(tool, arguments);
    assert!(outcome.ok, "{tool}: {}", outcome.text);
    started.elapsed()
}

/// Returns the bytes that the files and directories of a tree take on disk.
fn on_disk(top: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut dirs: Vec<PathBuf> = vec![top.to_owned()];
    let mut blocks = 0;
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).expect("the tree can be read").flatten() {
            let stat = entry.metadata().expect("it is there");
            blocks += stat.blocks();
            if stat.is_dir() {
                dirs.push(entry.path());
            }
        }
    }
    blocks * 512
}

/// Returns the peak memory of this process.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
