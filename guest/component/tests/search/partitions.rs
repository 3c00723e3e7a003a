//! A search in partitions gives the same answer as a single search, page by page, regardless of scheduling.

use std::collections::VecDeque;

use paddock_ops::parallel::{coordinate, prepare_worker};
use paddock_ops::partitions::{PartitionResult, Worker};
use paddock_types::policy::Policy;
use paddock_types::request::{Glob, Grep, GrepOutput, Request};
use paddock_types::response::Response;
use paddock_vfs::Filesystem;
use paddock_vfs::memory::MemoryFs;
use paddock_workspace::Workspace;
use proptest::prelude::*;

use crate::support::{Random, glob, memory, parent, put, run_with, search};

/// Returns a tree with enough entries that the coordinator does not search it alone.
fn random_tree(random: &mut Random) -> MemoryFs {
    let fs = memory();
    let mut dirs = vec![String::new()];
    let most = [60, 300][random.below(2)];
    for index in 0..1 + random.below(most) {
        let above = dirs[random.below(dirs.len())].clone();
        dirs.push(format!("{above}{}{index}d/", random.pick(&["a", "b", "a-", "a.b", "zz", ".h"])));
    }
    for index in 0..700 + random.below(1_000) {
        let deepest = random.below(dirs.len());
        let dir = &dirs[random.below(1 + deepest)];
        put(
            &fs,
            &format!("{dir}{}{index}", random.pick(&["a", "b.txt", "x", ".s"])),
            random.pick(&["a\nb\n", "b", ""]).as_bytes(),
        );
    }
    for (index, dir) in dirs.iter().enumerate() {
        match random.below(12) {
            0 => put(&fs, &format!("{dir}.gitignore"), b"*7\n"),
            1 => put(&fs, &format!("{dir}.agentignore"), b"x*\n"),
            2 => {
                let path = format!("{dir}link{index}");
                let (dir, name) = parent(&fs, &path);
                fs.symlink(&dir, name, "a").unwrap();
            }
            _ => {}
        }
    }
    fs
}

/// Returns the answer of a coordinator with some workers that run in random order.
fn searched_in_partitions(fs: &MemoryFs, policy: &Policy, request: &Request, random: &mut Random) -> Response {
    let workspace = Workspace::open(fs, policy).unwrap();
    let mut coordinator = coordinate(&workspace, request).unwrap();
    if coordinator.is_over() {
        return coordinator.finish();
    }
    let (job, _) = coordinator.job();
    let mut workers: Vec<Box<dyn Worker + '_>> =
        (0..1 + random.below(3)).map(|_| prepare_worker(&workspace, &job).unwrap()).collect();
    let mut out: VecDeque<Result<PartitionResult, String>> = VecDeque::new();
    // A coordinator without further workers completes the search itself.
    let mut partitions = if random.below(4) == 0 { random.below(5) } else { usize::MAX };
    loop {
        let partition = if partitions > 0 && random.below(3) > 0 { coordinator.next_partition() } else { None };
        partitions -= usize::from(partition.is_some());
        let is_last = partition.is_none();
        // One worker searches its partitions in their order.
        let worker = random.below(2 * workers.len());
        out.extend(partition.map(|partition| match workers.get_mut(worker) {
            Some(worker) => Ok(worker.search_partition(&partition)),
            None => Err(partition),
        }));
        while out.len() > 3 || (is_last && !out.is_empty()) {
            let result = match out.pop_front().unwrap() {
                Ok(result) => Some(result),
                Err(_) if random.below(2) == 0 => None,
                Err(partition) => Some(prepare_worker(&workspace, &job).unwrap().search_partition(&partition)),
            };
            if coordinator.join(result) {
                return coordinator.finish();
            }
        }
        if is_last && (partitions == 0 || random.below(20) == 0) {
            return coordinator.finish();
        }
    }
}

fn reported(response: &Response) -> (serde_json::Value, Option<String>) {
    match response {
        Response::Glob(glob) => (serde_json::to_value(glob).unwrap(), glob.next_cursor.clone()),
        Response::Grep(glob) => (serde_json::to_value(glob).unwrap(), glob.next_cursor.clone()),
        other => panic!("{other:?}"),
    }
}

/// Compares every page of a single search with that of a search in partitions.
fn compare(fs: &MemoryFs, random: &mut Random, with: impl Fn(Option<String>) -> Request) {
    let mut policy = Policy::default();
    let is_limited = random.below(3) == 0;
    let is_short = random.below(3) == 0;
    let mut cursor = None;
    loop {
        if is_limited {
            policy.rules.limits.max_entries = 300 + random.below(1_500) as u64;
        }
        if is_short {
            policy.rules.limits.max_result_bytes = 1_000 + random.below(20_000);
        }
        let request = with(cursor);
        let (one, next) = reported(&run_with(fs, &policy, request.clone()).unwrap());
        assert_eq!(reported(&searched_in_partitions(fs, &policy, &request, random)).0, one);
        cursor = next;
        if cursor.is_none() {
            return;
        }
    }
}

/// Returns the number of partitions of a search, and the maximum number that are handed out at a time.
fn partitions(fs: &MemoryFs, request: &Request) -> (usize, usize) {
    let policy = Policy::default();
    let workspace = Workspace::open(fs, &policy).unwrap();
    let mut coordinator = coordinate(&workspace, request).unwrap();
    let mut worker = prepare_worker(&workspace, request).unwrap();
    let (mut count, mut most, mut out) = (0, 0, VecDeque::new());
    loop {
        out.extend(std::iter::from_fn(|| coordinator.next_partition()));
        most = most.max(out.len());
        let Some(partition) = out.pop_front() else { break };
        count += 1;
        coordinator.join(Some(worker.search_partition(&partition)));
    }
    let one = run_with(fs, &policy, request.clone()).unwrap();
    assert_eq!(reported(&coordinator.finish()), reported(&one));
    (count, most)
}

fn tree(files: usize, path: impl Fn(usize) -> String) -> MemoryFs {
    let fs = memory();
    (0..files).for_each(|index| put(&fs, &path(index), b""));
    fs
}

#[test]
fn the_rest_is_divided_wherever_its_entries_are() {
    let large_and_small = |index| match index {
        0..2_000 => format!("large/d{:02}/{index}", index / 100),
        _ => format!("small{index}/file"),
    };
    let trees = [
        tree(4_000, |index| index.to_string()),
        tree(4_000, |index| format!("only/one/{index}")),
        tree(4_000, |index| format!("only/one/d{:02}/{index}", index / 100)),
        tree(4_000, |index| format!("d{:02}/{index}", index / 1_000)),
        tree(2_010, large_and_small),
        tree(4_000, |index| format!("d{:02}/s{:03}/{index}", index / 200, index / 20)),
        tree(4_000, |index| format!("d{}/{index}", "/d".repeat(index / 200))),
        tree(4_000, |index| format!("d{index}/file")),
    ];
    // For names, it does not pay that a worker lists the same large directories again.
    let undivided_for_names = [0, 1, 6];
    for (number, fs) in trees.iter().enumerate() {
        let text = Request::Grep(Grep { limit: 10_000, ..search("nothing") });
        let names = Request::Glob(Glob { limit: 10_000, ..glob("**/nothing") });
        for (request, entries) in [(text, 256), (names, 1_024)] {
            let (count, most) = partitions(fs, &request);
            if matches!(request, Request::Glob(_)) && undivided_for_names.contains(&number) {
                assert_eq!(count, 0, "tree {number}");
                continue;
            }
            let files = if number == 4 { 2_010 } else { 4_000 };
            let needed = (files - 512) / entries;
            assert!(count >= needed && count <= 70 + 3 * needed && most >= 2, "tree {number}: {count}, {most}");
        }
    }
}

/// The last page of three concurrent partitions, where the last partition starts exactly at the limit of the search.
#[test]
fn a_limit_between_two_partitions_loses_nothing() {
    let fs = tree(9_900, |index| format!("d{:02}/{index:04}", index / 99));
    let mut policy = Policy::default();
    for entries in 690..710 {
        policy.rules.limits.max_entries = entries;
        let request = Request::Glob(Glob { limit: 10_000, directories: true, ..glob("**") });
        let workspace = Workspace::open(&fs, &policy).unwrap();
        let mut coordinator = coordinate(&workspace, &request).unwrap();
        let mut worker = prepare_worker(&workspace, &request).unwrap();
        let partitions: Vec<_> = std::iter::from_fn(|| coordinator.next_partition()).take(3).collect();
        let results: Vec<_> = partitions.iter().map(|partition| worker.search_partition(partition)).collect();
        for result in results {
            coordinator.join(Some(result));
        }
        assert_eq!(
            reported(&coordinator.finish()),
            reported(&run_with(&fs, &policy, request.clone()).unwrap()),
            "{entries}"
        );
    }
}

/// A worker stops at a directory that it has not listed; its part does not certainly fit on the page, so that the coordinator
/// searches it again.
#[test]
fn a_directory_between_two_ranges_is_counted_once() {
    let mut policy = Policy::default();
    policy.rules.limits.max_result_bytes = 1_000;
    let request = Request::Grep(Grep { glob: Some("*.txt".to_owned()), ..search("needle") });
    // In one of these trees, the entry at which the worker stops is a directory.
    for files in 300..303 {
        let fs = tree(files, |index| format!("a/f{index:03}.txt"));
        put(&fs, "m/0.txt", format!("needle {}\n", "y".repeat(1_500)).as_bytes());
        for number in 0..6_000 {
            put(&fs, &format!("m/d{number:05}/f"), b"x\n");
            let path = format!("m/d{number:05}/.gitignore");
            let (dir, name) = parent(&fs, &path);
            fs.symlink(&dir, name, "nowhere").unwrap();
        }
        put(&fs, "z/z.txt", b"needle\n");
        let one = run_with(&fs, &policy, request.clone()).unwrap();
        let workspace = Workspace::open(&fs, &policy).unwrap();
        let mut coordinator = coordinate(&workspace, &request).unwrap();
        let mut worker = prepare_worker(&workspace, &request).unwrap();
        while let Some(partition) = coordinator.next_partition() {
            coordinator.join(Some(worker.search_partition(&partition)));
        }
        assert_eq!(reported(&coordinator.finish()), reported(&one));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn of_names(seed: u64, limit in prop_oneof![20_u32..400, Just(10_000)], hidden: bool, ignored: bool, directories: bool) {
        let mut random = Random(seed);
        let fs = random_tree(&mut random);
        let pattern = *["**", "*.txt*", "**/a*", "a*/**", "**/*7", "nothing"].get(random.below(6)).unwrap();
        compare(&fs, &mut random, |cursor| {
            let args = Glob { limit, include_hidden: hidden, include_ignored: ignored, directories, cursor, ..glob(pattern) };
            Request::Glob(args)
        });
    }

    #[test]
    fn of_text(seed: u64, limit in prop_oneof![20_u32..400, Just(10_000)], shape in 0_usize..3) {
        let mut random = Random(seed);
        let fs = random_tree(&mut random);
        let output = [GrepOutput::Content, GrepOutput::Files, GrepOutput::Count][shape];
        compare(&fs, &mut random, |cursor| Request::Grep(Grep { limit, output, cursor, ..search("a|^b$") }));
    }
}

/// A command of the agent exchanges directories between the walk of the coordinator and the search of a worker.
#[test]
fn no_worker_reads_what_the_rules_of_an_exchanged_directory_hide() {
    for is_above in [false, true] {
        let fs = memory();
        for number in 0..200 {
            put(&fs, &format!("a/f{number}"), b"text\n");
        }
        for (path, text) in
            [("z/in/shown", "text\n"), ("z/in/hidden", "text\n"), ("y/in/shown", "text\n"), ("y/in/hidden", "secret\n")]
        {
            put(&fs, path, text.as_bytes());
        }
        put(&fs, "other", b"");
        let (rules, text) =
            if is_above { ("y/.agentignore", "in/hidden\n") } else { ("y/in/.agentignore", "hidden\n") };
        put(&fs, rules, text.as_bytes());
        let policy = Policy::default();
        let request = Request::Grep(search("secret"));
        let workspace = Workspace::open(&fs, &policy).unwrap();
        let mut coordinator = coordinate(&workspace, &request).unwrap();
        let (job, _) = coordinator.job();
        let mut worker = prepare_worker(&workspace, &job).unwrap();
        let partitions: Vec<_> = std::iter::from_fn(|| coordinator.next_partition()).collect();
        assert!(!partitions.is_empty());
        let top = fs.preopens().remove(0).dir;
        for (from, to) in [("z", "aside"), ("y", "z"), ("aside", "y")] {
            fs.rename(&top, from, &top, to).unwrap();
        }
        for partition in partitions {
            let result = worker.search_partition(&partition);
            coordinator.join(Some(result));
        }
        let (answer, _) = reported(&coordinator.finish());
        assert!(!answer.to_string().contains("secret"), "{answer}");
    }
}
