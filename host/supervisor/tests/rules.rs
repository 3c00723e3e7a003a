//! The host's rules about paths in the roots apply to commands.
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
use std::time::{Duration, Instant};

use paddock_supervisor::protocol::{Access, Ask, Verdict};
use support::{Fixture, Outcome, Start, begin, run_with};

/// Refuses all access to `secret*`, and changes to `locked` and everything in it.
fn authorize(ask: &Ask) -> Verdict {
    let mut names = ask.path.rsplit('/');
    let secret = names.next().is_some_and(|it| it.starts_with("secret"));
    let locked = ask.access == Access::Change && ask.path.split('/').any(|it| it == "locked");
    let refused = (secret || locked).then(|| "the rules say so".to_owned());
    Verdict { refused, ..Verdict::default() }
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("secret.txt", "hidden\n");
    fixture.write("open.txt", "open\n");
    fixture.write("dir/secret", "hidden\n");
    fixture.write("locked/file", "locked\n");
    fixture
}

fn ruled(fixture: &Fixture, script: &str) -> Outcome {
    run_with(Start { rules: true, ..fixture.shell(script) }, authorize)
}

#[test]
fn secrets_stay_secret() {
    for script in [
        "cat secret.txt",
        "cat ./dir/../secret.txt",
        "cp secret.txt copy",
        "mv secret.txt other; cat other",
        "ln secret.txt other; cat other",
        "ln -s secret.txt other; cat other",
        "tar cf t.tar secret.txt && tar xOf t.tar",
        "sed -i s/hidden/shown/ secret.txt",
        "sed -n p secret.txt",
        "cat < secret.txt",
        "echo x > secret.txt",
        "echo x >> secret.txt",
        "rm -f secret.txt",
        "truncate -s 0 secret.txt",
        "touch secret.txt",
        "chmod 777 secret.txt",
        "mv open.txt secret.txt",
        "mv dir other; cat other/secret",
        "mkdir secrets",
        "echo x > secret-new",
        "exec 3< secret.txt; cat <&3",
        "cat /proc/self/cwd/secret.txt",
        "cd dir && cat secret",
        "mkfifo secret-pipe",
    ] {
        let fixture = fixture();
        let outcome = ruled(&fixture, script);
        assert_ne!(outcome.ended.exit_code, Some(0), "{script}: {outcome:#?}");
        assert!(!outcome.stdout.contains("hidden"), "{script}: {outcome:#?}");
        assert_eq!(fs::read_to_string(fixture.root.join("secret.txt")).unwrap(), "hidden\n", "{script}");
        assert_eq!(fs::read_to_string(fixture.root.join("dir/secret")).unwrap(), "hidden\n", "{script}");
        assert_eq!(outcome.ended.refused_count as usize, outcome.ended.refused.len(), "{script}");
        assert!(outcome.ended.refused.iter().any(|it| it.cause == "the rules say so"), "{script}: {outcome:#?}");
    }
}

#[test]
fn what_is_locked_is_read() {
    let fixture = fixture();
    assert_eq!(ruled(&fixture, "cat locked/file").succeeded().stdout, "locked\n");
    for script in
        ["echo x > locked/file", "echo x > locked/new", "mv locked other", "ln locked/file f", "mv dir locked/d"]
    {
        let outcome = ruled(&fixture, script);
        assert_ne!(outcome.ended.exit_code, Some(0), "{script}: {outcome:#?}");
        assert_eq!(fs::read_to_string(fixture.root.join("locked/file")).unwrap(), "locked\n", "{script}");
    }
}

#[test]
fn a_verdict_on_reading_is_asked_once() {
    let fixture = fixture();
    let outcome = ruled(&fixture, "cat open.txt open.txt; cat open.txt").succeeded();
    assert_eq!(outcome.stdout, "open\nopen\nopen\n");
    let asked = outcome.asked.iter().filter(|it| it.path == fixture.inside("open.txt"));
    assert_eq!(asked.count(), 1, "{:#?}", outcome.asked);
}

#[test]
fn many_questions_do_not_stall() {
    let fixture = fixture();
    for index in 0..3000 {
        fixture.write(&format!("many/{index:050}"), "x");
    }
    let outcome = ruled(&fixture, "mv many more && ls more | wc -l").succeeded();
    assert_eq!(outcome.stdout.trim(), "3000");
    assert_eq!(outcome.ended.before.len(), 6002);
}

#[test]
fn other_calls_go_on_while_one_waits() {
    let fixture = fixture();
    let script = "cat open.txt & for i in 1 2 3; do cat /usr/bin/env > /dev/null; done; echo > $TMPDIR/done; wait";
    let running = begin(Start { rules: true, ..fixture.shell(script) });
    let done = fixture.temporary.join("done");
    let mut waited = false;
    let outcome = running.finish(|ask| {
        if ask.path.ends_with("open.txt") {
            let begun = Instant::now();
            while !done.exists() && begun.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(5));
            }
            waited = done.exists();
        }
        authorize(ask)
    });
    assert!(waited, "{outcome:#?}");
    assert_eq!(outcome.succeeded().stdout, "open\n");
}
