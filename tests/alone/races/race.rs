//! Makes calls during swaps, and counts their results.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use paddock::{Outcome, Workspace};
use rustix::process::{Signal, set_parent_process_death_signal};

use super::arena::{Arena, CANARY, ONLY_OUTSIDE};
use super::calls::{self, Raced};
use super::swap::Swapper;
use crate::without::{openat2, without};

/// Environment variable with the number of attempts for `calls_in_child`.
pub const RACES_NOW: &str = "PADDOCK_RACES_NOW";
/// Environment variable with the total number of attempts, with and without `openat2`.
const WANTED: &str = "PADDOCK_RACES";
const QUICK: u64 = 200_000;

/// Time after which a call counts as hung. The call's own time limit is shorter.
const HUNG: Duration = Duration::from_secs(40);
/// Number of calls between two checks of the files. It is smaller than the number of retained backups, so that every
/// backup is checked.
const CHECKS_EVERY: u64 = 250;

/// Results of the attempts of an operation.
#[derive(Default)]
struct Row {
    calls: u64,
    attempts: u64,
    inside: u64,
    refused: u64,
    slowest: Duration,
}

/// Runs the control test, which shows that the races redirect a host that checks a path and then opens it.
pub fn checking_then_opening_is_redirected() {
    let arena = Arena::new();
    let _swapper = Swapper::start(&arena.top);
    let (root, path) = (arena.top.join("ws"), arena.top.join("ws/d/f"));
    let is_redirected = || {
        let checked = path.canonicalize().is_ok_and(|real| real.starts_with(&root));
        checked && fs::read(&path).is_ok_and(|bytes| bytes == CANARY.as_bytes())
    };
    assert!((0..QUICK).any(|_| is_redirected()), "the race is too slow to find anything");
}

/// Runs a race in a separate process.
pub fn in_child(is_without: bool) {
    let wanted = std::env::var(WANTED).map_or(QUICK, |text| text.parse().unwrap());
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", "races::calls_in_child", "--ignored", "--nocapture"]);
    command.env(RACES_NOW, (wanted / 2).to_string()).stdin(Stdio::null());
    if is_without {
        without(&mut command, openat2());
    }
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    print!("{printed}");
    let cause = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the process that raced ended with {}: {cause}", output.status);
    assert!(printed.contains("1 passed"), "the test has another name");
}

/// Makes `wanted` attempts. Ends the process with a failure if the result of an attempt is neither inside the workspace
/// nor a refusal.
pub fn run(wanted: u64) {
    // The parent process may be killed, and this process must end with it.
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let arena = Arena::new();
    let workspace = Workspace::builder().root(arena.top.join("ws")).state_dir(arena.top.join("state")).build().unwrap();
    let began = Instant::now();
    let now = watched(began);
    let (mut rows, mut attempts) = (BTreeMap::<_, Row>::new(), 0);
    let swapper = Swapper::start(&arena.top);
    for number in 0.. {
        if attempts >= wanted {
            break;
        }
        let raced = calls::call(number);
        let started = Instant::now();
        now.store(u64::try_from(began.elapsed().as_millis()).unwrap() + 1, Ordering::Relaxed);
        let outcome = workspace.call(raced.tool, &raced.arguments.to_string());
        now.store(0, Ordering::Relaxed);
        attempts += raced.attempts;
        rows.entry(raced.operation).or_default().count(&raced, &outcome, started.elapsed());
        if number % CHECKS_EVERY == 0 {
            arena.check_outside();
            arena.check_stored();
        }
    }
    drop(swapper);
    arena.check_outside();
    arena.check_stored();
    arena.check_inside();
    print(&rows, attempts, began.elapsed());
    for operation in ["read", "write", "patch", "copy", "move"] {
        let row = &rows[operation];
        assert!(row.inside > 0 && row.refused > 0, "nothing of `{operation}` was raced");
    }
    assert!(workspace.call("write_file", r#"{"path": "plain", "content": "after"}"#).ok, "it is not usable afterwards");
}

impl Row {
    fn count(&mut self, raced: &Raced, outcome: &Outcome, took: Duration) {
        let all = format!("{outcome:?}");
        let tells = all.contains(CANARY) || all.contains(ONLY_OUTSIDE);
        assert!(!tells && !all.contains("the component failed"), "{} {}: {all}", raced.tool, raced.arguments);
        let entries = outcome.value()["entries"].as_array().filter(|_| raced.tool == "read_files").cloned();
        let refused = match entries {
            Some(entries) if outcome.ok => {
                assert_eq!(entries.len() as u64, raced.attempts, "{all}");
                entries.iter().filter(|entry| entry.get("error").is_some_and(|error| !error.is_null())).count() as u64
            }
            _ if outcome.ok => 0,
            _ => raced.attempts,
        };
        self.calls += 1;
        self.attempts += raced.attempts;
        self.refused += refused;
        self.inside += raced.attempts - refused;
        self.slowest = self.slowest.max(took);
    }
}

fn print(rows: &BTreeMap<&str, Row>, attempts: u64, took: Duration) {
    println!(
        "{:<10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>10}",
        "", "calls", "attempts", "inside", "refused", "outside", "slowest"
    );
    for (operation, row) in rows {
        let Row { calls, attempts, inside, refused, slowest } = row;
        println!("{operation:<10} {calls:>10} {attempts:>10} {inside:>10} {refused:>10} {:>8} {slowest:>10.1?}", 0);
    }
    println!("{attempts} attempts in {:.0} s", took.as_secs_f64());
}

/// Starts a watchdog that ends the process if a call hangs. Returns the start of the current call, in milliseconds plus
/// one; 0 without a call.
fn watched(began: Instant) -> &'static AtomicU64 {
    static NOW: AtomicU64 = AtomicU64::new(0);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let started = NOW.load(Ordering::Relaxed);
            if started > 0 && began.elapsed() > Duration::from_millis(started) + HUNG {
                eprintln!("a call hangs");
                std::process::exit(3);
            }
        }
    });
    &NOW
}
