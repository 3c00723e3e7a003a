//! A power failure at any point of a change, of its recovery, and of the recovery's recovery. Synced data exists, all
//! other changes may be lost, and the next call finds the old tree or produces the new one. A reported change is never
//! lost.
//!
//! `PADDOCK_STATES=20000000 cargo test --release -p paddock-guest --test durability -- --nocapture` explores that many
//! states.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{HashSet, VecDeque};

use paddock_types::policy::{Backend, Policy};

use disk::{Disk, Event};
use scenarios::{PREOPENS, Scenario, called, policies, prepare, read_everything, run, scenarios, tree_in};
use tree::{Tree, tree_of};

mod disk;
mod scenarios;
mod tree;

/// Default number of states to explore.
const STATES: u64 = 150_000;
/// Maximum nesting of recoveries.
const MAX_DEPTH: u32 = 2;
/// Maximum number of unsynced changes for which every combination is tried.
const MAX_COMBINED: usize = 6;

#[test]
fn a_power_failure_at_any_point_leaves_the_old_tree_or_the_new_one() {
    let min_states = std::env::var("PADDOCK_STATES").map_or(STATES, |states| states.parse().unwrap());
    let jobs: Vec<_> =
        policies().into_iter().flat_map(|policy| scenarios().into_iter().map(move |it| (policy.clone(), it))).collect();
    let mut searches: Vec<_> = jobs.iter().map(|(policy, scenario)| Search::new(policy, scenario)).collect();
    println!("{:<9} {:<6} {:<33} {:>7} {:>10} {:>9}", "backend", "modes", "scenario", "points", "states", "distinct");
    // First every failure of every change; then failures of recoveries up to the requested number, the same number for
    // each change.
    searches.iter_mut().for_each(|search| search.explore(u64::MAX, 0));
    while sum(&searches, |search| search.states) < min_states && searches.iter().any(|search| !search.ahead.is_empty())
    {
        let round = min_states / searches.len() as u64 / 10;
        searches.iter_mut().for_each(|search| search.explore(search.states + round, MAX_DEPTH));
    }
    searches.iter().for_each(Search::tell);
    let (points, states) = (sum(&searches, |search| search.points), sum(&searches, |search| search.states));
    let distinct = sum(&searches, |search| search.visited_states.len() as u64);
    println!("{points} points of failure, {states} states, {distinct} of them distinct");
    assert!(states >= min_states || searches.iter().all(|search| search.ahead.is_empty()), "{states}");
}

fn sum(searches: &[Search<'_>], count: fn(&Search<'_>) -> u64) -> u64 {
    searches.iter().map(count).sum()
}

/// Exploration of the states that a failure of one change can leave.
struct Search<'s> {
    policy: &'s Policy,
    scenario: &'s Scenario,
    old: Tree,
    new: Tree,
    ahead: VecDeque<Run>,
    visited_states: HashSet<(u64, bool)>,
    points: u64,
    states: u64,
}

/// A change or a recovery that fails at some point.
struct Run {
    /// Number of recoveries before this one.
    depth: u32,
    /// State of the disk at the start.
    start: Disk,
    events: Vec<Event>,
    /// Whether the change has been reported as done: before the end of the run, and at its end.
    is_reported: (bool, bool),
}

impl<'s> Search<'s> {
    fn new(policy: &'s Policy, scenario: &'s Scenario) -> Self {
        let start = Disk::new(&PREOPENS);
        prepare(&start);
        let start = start.settled();
        let finished = start.settled();
        let outcome = run(&finished, policy, scenario);
        assert!(outcome.error.is_none(), "{}: {:?}", scenario.name, outcome.error);
        let (old, new) = (tree_in(&start, policy), tree_in(&finished, policy));
        assert_ne!(old, new, "{}", scenario.name);
        let change =
            Run { depth: 0, start: start.with_nodes_of(&finished), events: finished.log(), is_reported: (false, true) };
        Self {
            policy,
            scenario,
            old,
            new,
            ahead: VecDeque::from([change]),
            visited_states: HashSet::new(),
            points: 0,
            states: 0,
        }
    }

    /// Explores the pending runs until `states` states were visited.
    fn explore(&mut self, states: u64, max_depth: u32) {
        while self.states < states
            && let Some(run) = self.ahead.pop_front_if(|run| run.depth <= max_depth)
        {
            for end in 0..=run.events.len() {
                self.points += 1;
                let events = &run.events[..end];
                let is_reported = if end == run.events.len() { run.is_reported.1 } else { run.is_reported.0 };
                let unsynced = Disk::unsynced(events);
                for lost in combinations(&unsynced) {
                    self.state(&run, is_reported, &run.start.after(events, |at| lost.contains(&at), None), || {
                        format!("{:#?} without {lost:?}", events)
                    });
                    let torn = unsynced.iter().rfind(|at| !lost.contains(at)).filter(|at| is_write(&events[**at]));
                    if let Some(torn) = torn {
                        self.state(
                            &run,
                            is_reported,
                            &run.start.after(events, |at| lost.contains(&at), Some(*torn)),
                            || format!("{events:#?} without {lost:?}, torn at {torn}"),
                        );
                    }
                }
            }
        }
    }

    /// Checks the state that a failure left, and queues its recovery.
    fn state(&mut self, run: &Run, is_reported: bool, left: &Disk, story: impl Fn() -> String) {
        self.states += 1;
        if !self.visited_states.insert((left.digest(), is_reported)) {
            return;
        }
        let (policy, name) = (self.policy, self.scenario.name);
        let recovered = left.settled();
        let outcome = called(&recovered, policy, "stat", r#"{"path": "."}"#);
        let at = || format!("{name}, {policy:?}, level {}\n{}", run.depth, story());
        assert!(outcome.error.is_none(), "{:?}: {}", outcome.error, at());
        let after = tree_in(&recovered, policy);
        if after != self.new && (is_reported || after != self.old) {
            panic!(
                "neither old{} nor new: {:#?} {}",
                if is_reported { ", which was too late," } else { "" },
                difference(&after, &self.new),
                at()
            );
        }
        if policy.backend == Backend::Overlay {
            assert!(tree_of(&recovered) == self.old, "the base was changed: {}", at());
        }
        let events = recovered.log();
        if run.depth < MAX_DEPTH && !events.is_empty() {
            let start = left.with_nodes_of(&recovered);
            self.ahead.push_back(Run { depth: run.depth + 1, start, events, is_reported: (is_reported, is_reported) });
        }
        read_everything(&recovered, policy);
        assert!(tree_in(&recovered, policy) == after, "{}", at());
    }

    fn tell(&self) {
        let (backend, modes) = (format!("{:?}", self.policy.backend), self.policy.host.carries_modes);
        let (name, visited_states) = (self.scenario.name, self.visited_states.len());
        println!("{backend:<9} {modes:<6} {name:<33} {:>7} {:>10} {visited_states:>9}", self.points, self.states);
    }
}

/// Returns the entries that exist in only one tree or differ between them.
fn difference(left: &Tree, right: &Tree) -> Vec<String> {
    let reported = |sign: &'static str, from: &Tree, other: &Tree| {
        let own = from.iter().filter(|(path, node)| other.get(*path) != Some(node));
        own.map(|(path, (kind, bytes))| format!("{sign} {path} {kind:?} {:?}", String::from_utf8_lossy(bytes)))
            .collect::<Vec<_>>()
    };
    [reported("has", left, right), reported("lacks", right, left)].concat()
}

fn is_write(event: &Event) -> bool {
    matches!(event, Event::Change(disk::Change::Write { .. }))
}

/// Returns sets of changes to lose: all combinations of a few changes; otherwise each suffix, all but one, and each one
/// or two alone.
fn combinations(unsynced: &[usize]) -> Vec<Vec<usize>> {
    if unsynced.len() <= MAX_COMBINED {
        let chosen =
            |bits: u32| unsynced.iter().enumerate().filter(move |(at, _)| bits >> at & 1 == 1).map(|(_, it)| *it);
        return (0..1_u32 << unsynced.len()).map(|bits| chosen(bits).collect()).collect();
    }
    let all = 0..unsynced.len();
    let suffixes = all.clone().map(|from| unsynced[from..].to_vec());
    let but_one = all.clone().map(|count| [&unsynced[..count], &unsynced[count + 1..]].concat());
    let pairs = all.clone().flat_map(|one| (one..unsynced.len()).map(move |two| (one, two)));
    let few = pairs.map(|(one, two)| if one == two { vec![unsynced[one]] } else { vec![unsynced[one], unsynced[two]] });
    [Vec::new()].into_iter().chain(suffixes).chain(but_one).chain(few).collect()
}
