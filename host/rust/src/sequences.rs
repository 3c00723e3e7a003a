//! Random sequences of tool calls, commands and acts of another process, in random configurations: roots inside
//! roots, Paddock's own directories and directories of settings inside roots, links that lead out of the roots. The
//! tests assert that no sequence reads or changes files outside, that no tool or command moves a root, and that no
//! result shows files of Paddock's own.
//!
//! `PADDOCK_SEQUENCES=100000 cargo test --release -p paddock-files --all-features --lib sequences -- --nocapture` runs
//! the long form. A failure reports its seed; `PADDOCK_SEED=N` runs only that sequence and prints it.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fault_injection::{Check, without};
use crate::policy::Access;
use crate::{Outcome, Workspace};

mod fixture;
mod steps;

use fixture::{Config, Fixture};
use steps::Step;

/// Number of sequences in a quick run, and maximum number that each fault injection test tries until one of them
/// detects the disabled check.
const QUICK: u64 = 300;
const CONTROL_SEQUENCES: u64 = 10_000;

/// Maximum number of steps of a sequence.
const STEPS: u64 = 12;

#[test]
fn no_sequence_leads_out() {
    if let Some(seed) = number("PADDOCK_SEED") {
        return sequence(seed, true).unwrap_or_else(|violation| panic!("{violation}"));
    }
    let (count, started) = (number("PADDOCK_SEQUENCES").unwrap_or(QUICK), Instant::now());
    let next = AtomicU64::new(number("PADDOCK_FIRST").unwrap_or(0));
    let end = next.load(Ordering::Relaxed) + count;
    let all = thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let work = || {
            let mut counts = Counts::default();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end {
                    return counts;
                }
                match run(seed, false, true) {
                    Ok(counts_of_one) => counts.add(&counts_of_one),
                    Err(violation) => panic!("seed {seed}: {violation}"),
                }
            }
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let mut counts = Counts::default();
    all.iter().for_each(|counts_of_one| counts.add(counts_of_one));
    println!("{count} sequences in {:?}: {counts:?}", started.elapsed());
    // A generator whose calls all fail would detect nothing.
    assert!(counts.succeeded * 4 > counts.calls && counts.commands > 0 && counts.others > 0, "{counts:?}");
}

#[test]
fn roots_that_are_opened_by_path_are_found_out() {
    detects_missing(Check::Held);
}

#[test]
fn roots_that_tools_can_move_are_found_out() {
    detects_missing(Check::Pin);
}

#[test]
fn opening_private_files_is_detected_by_sequences() {
    detects_missing(Check::Identity);
}

#[test]
fn settings_that_links_decide_are_found_out() {
    detects_missing(Check::Named);
}

/// Fails if no sequence detects that the check is disabled.
fn detects_missing(check: Check) {
    for seed in 0..CONTROL_SEQUENCES {
        // Without commands, which take a hundred times as long; these checks concern the file tools.
        if let Err(violation) = without(check, || run(seed, false, false)) {
            println!("{check:?}: found by sequence {seed}: {violation}");
            return;
        }
    }
    panic!("{check:?}: nothing was found in {CONTROL_SEQUENCES} sequences");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn sequence(seed: u64, is_verbose: bool) -> Result<(), String> {
    run(seed, is_verbose, true).map(drop)
}

/// Number of actions, to show that a run really did something.
#[derive(Clone, Debug, Default)]
struct Counts {
    calls: u64,
    succeeded: u64,
    commands: u64,
    others: u64,
    refused_configurations: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.succeeded += other.succeeded;
        self.commands += other.commands;
        self.others += other.others;
        self.refused_configurations += other.refused_configurations;
    }
}

/// Runs the sequence of a seed. The error describes the violation that it detected.
fn run(seed: u64, is_verbose: bool, has_commands: bool) -> Result<Counts, String> {
    let mut random = Random::new(seed);
    let mut fixture = Fixture::new(&mut random, has_commands);
    let mut counts = Counts::default();
    let Some(workspace) = fixture.open() else {
        return fixture.check().map(|()| Counts { refused_configurations: 1, ..counts });
    };
    if is_verbose {
        println!("{:#?}", fixture.config);
    }
    for _ in 0..random.below(STEPS) + 1 {
        let step = Step::any(&mut random, &fixture.config).at(&fixture);
        if is_verbose {
            println!("{step:?}");
        }
        let roots = fixture.roots();
        match &step {
            Step::Call(tool, arguments) => {
                let outcome = workspace.call(tool, &arguments.to_string());
                counts.calls += 1;
                counts.succeeded += u64::from(outcome.ok);
                counts.commands += u64::from(*tool == "shell");
                if is_verbose {
                    println!("    {}", outcome.text);
                }
                fixture.shows_nothing(&outcome).map_err(|violation| format!("{step:?}: {violation}"))?;
                if fixture.roots() != roots {
                    return Err(format!("{step:?}: a root was moved"));
                }
            }
            Step::Other(act) => {
                counts.others += 1;
                act.perform(&fixture);
            }
        }
        fixture.check().map_err(|violation| format!("{step:?}: {violation}"))?;
    }
    drop(workspace);
    fixture.check().map(|()| counts)
}

/// Random numbers, the same for the same seed: SplitMix64.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, max: u64) -> u64 {
        self.next() % max
    }

    fn one_of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len() as u64) as usize]
    }

    fn is_one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}
