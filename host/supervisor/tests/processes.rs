//! No process is left, however a command and the processes that it started end.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use paddock_supervisor::protocol::{FromSupervisor, Limits, ToSupervisor, Verdict};
use support::{Fixture, Start, begin, processes_with, run, within_a_second};

/// Returns a duration for `sleep` that no other process uses.
fn unused(number: u32) -> String {
    format!("{}.{number}", 10_000 + std::process::id())
}

fn nothing_left(text: &str) {
    assert!(within_a_second(|| processes_with(text).is_empty()), "left: {:?}", processes_with(text));
}

#[test]
fn background_processes_end_with_the_command() {
    for confine in [true, false] {
        let fixture = Fixture::new();
        let time = unused(1);
        let script = format!(
            "sleep {time} & (sleep {time} &) ; setsid sleep {time} & (setsid sh -c 'sleep {time}' &); sleep 0.1; echo end"
        );
        let begun = Instant::now();
        let outcome = run(Start { confine, ..fixture.shell(&script) }).succeeded();
        assert_eq!(outcome.stdout, "end\n");
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(processes_with(&time), [0; 0]);
    }
}

#[test]
fn a_signal_reaches_the_group_and_a_kill_everything() {
    let fixture = Fixture::new();
    let running = begin(fixture.shell("trap 'echo caught; exit 3' TERM; echo > ready; while :; do sleep 0.01; done"));
    assert!(within_a_second(|| fixture.root.join("ready").exists()));
    running.say(&ToSupervisor::Signal { signal: libc::SIGTERM });
    let outcome = running.finish(|_| Verdict::default());
    assert_eq!((outcome.ended.exit_code, outcome.stdout.as_str()), (Some(3), "caught\n"));

    let time = unused(2);
    let fixture = Fixture::new();
    let script = format!("trap '' TERM INT HUP; setsid sleep {time} & echo > ready; while :; do sleep {time}; done");
    let running = begin(fixture.shell(&script));
    assert!(within_a_second(|| fixture.root.join("ready").exists()));
    running.say(&ToSupervisor::Signal { signal: libc::SIGTERM });
    std::thread::sleep(Duration::from_millis(50));
    running.say(&ToSupervisor::Kill);
    let outcome = running.finish(|_| Verdict::default());
    assert_eq!(outcome.ended.signal, Some(libc::SIGKILL));
    assert_eq!(processes_with(&time), [0; 0]);
}

#[test]
fn a_fork_bomb_ends() {
    for script in [
        "f() { f | f & f; }; f",
        "f() { setsid sh -c \"$1\" x \"$1\" & }; f 'f() { setsid sh -c \"$1\" x \"$1\" & }; f \"$1\"; f \"$1\"; wait'",
    ] {
        let fixture = Fixture::new();
        let limits = Limits { max_processes: 50, ..Limits::default() };
        let running = begin(Start { limits, ..fixture.shell(&format!("({script}) & read end")) });
        let begun = Instant::now();
        // The command's input stays open, so that only the supervisor can end it.
        let input = running.input.as_ref().unwrap().try_clone().unwrap();
        let outcome = running.finish(|_| Verdict::default());
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        drop(input);
        assert!(outcome.ended.stopped.is_some(), "{outcome:#?}");
        assert_eq!(outcome.ended.signal, Some(libc::SIGKILL));
        let in_root = |process: &i32| fs::read_link(format!("/proc/{process}/cwd")).is_ok_and(|it| it == fixture.root);
        assert_eq!(processes_with("sh").iter().filter(|it| in_root(it)).count(), 0);
    }
}

/// A signal that arrives while `fork` waits for the supervisor would make it fail.
#[test]
fn forks_succeed_while_children_end() {
    let fixture = Fixture::new();
    let script = "i=0; while [ $i -lt 400 ]; do /bin/true & /bin/true | /bin/true; i=$((i+1)); done; wait; echo $i";
    assert_eq!(run(fixture.shell(script)).succeeded().stdout, "400\n");
}

#[test]
fn threads_are_counted_too() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("not run: python3 is not installed");
        return;
    }
    let script = "import threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(5,)).start()";
    let fixture = Fixture::new();
    let limits = Limits { max_processes: 3, ..Limits::default() };
    let outcome = run(Start { limits, ..fixture.command(&["python3", "-c", script]) });
    assert!(outcome.ended.stopped.is_some(), "{outcome:#?}");
}

#[test]
fn endless_output_ends_with_a_kill() {
    let fixture = Fixture::new();
    let running = begin(fixture.shell("yes"));
    std::thread::sleep(Duration::from_millis(50));
    running.say(&ToSupervisor::Kill);
    assert_eq!(running.finish(|_| Verdict::default()).ended.signal, Some(libc::SIGKILL));
}

/// Environment variable that makes this test program a host that is killed; `all_ends_when_the_host_is_killed` sets it.
const HOST: &str = "PADDOCK_SUPERVISOR_TEST_HOST";

#[test]
fn all_ends_when_the_host_is_killed() {
    if let Ok(time) = std::env::var(HOST) {
        let fixture = Fixture::new();
        let script = format!("(setsid sleep {time} &); sleep {time} & echo started; sleep {time}");
        let running = begin(fixture.shell(&script));
        assert!(matches!(running.started(), FromSupervisor::Confined { .. }));
        std::thread::sleep(Duration::from_secs(100));
    }
    let time = unused(3);
    let name = "all_ends_when_the_host_is_killed";
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(HOST, &time)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert!(within_a_second(|| processes_with(&time).len() >= 4), "{:?}", processes_with(&time));
    host.kill().unwrap();
    host.wait().unwrap();
    nothing_left(&time);
}

#[test]
fn the_command_dies_with_the_supervisor() {
    let fixture = Fixture::new();
    let time = unused(4);
    let mut running = begin(fixture.command(&["sleep", &time]));
    assert!(matches!(running.started(), FromSupervisor::Confined { .. }));
    assert!(within_a_second(|| processes_with(&time).len() == 1));
    running.supervisor.kill().unwrap();
    running.supervisor.wait().unwrap();
    nothing_left(&time);
}

#[test]
fn a_closed_input_and_no_reader() {
    let fixture = Fixture::new();
    let (input, output) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    let (socket, mut supervisor) = support::supervisor();
    drop((input.1, output.0));
    let streams = [OwnedFd::from(input.0), OwnedFd::from(output.1.try_clone().unwrap()), OwnedFd::from(output.1)];
    let start = fixture.shell("cat; yes");
    let borrowed = [0, 1, 2].map(|index: usize| std::os::fd::AsFd::as_fd(&streams[index]));
    support::send_start(&socket, &start, &borrowed);
    let last =
        std::iter::from_fn(|| paddock_supervisor::wire::receive::<FromSupervisor>(&socket).ok()).last().unwrap().0;
    assert!(matches!(last, FromSupervisor::Ended(ended) if ended.exit_code == Some(128 + libc::SIGPIPE)));
    assert!(supervisor.wait().unwrap().success());
}
