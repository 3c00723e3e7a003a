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

use paddock_supervisor::protocol::{Access, AccessQuestion, Verdict};
use support::{Fixture, Outcome, Start, begin, run, run_with};

/// Refuses all access to `secret*`, and changes to `locked` and everything in it.
fn authorize(question: &AccessQuestion) -> Verdict {
    let mut names = question.path.rsplit('/');
    let is_hidden = names.next().is_some_and(|it| it.starts_with("secret"));
    let locked = question.access == Access::Change && question.path.split('/').any(|it| it == "locked");
    let refused = (is_hidden || locked).then(|| "the rules say so".to_owned());
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
fn hidden_paths_stay_hidden() {
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
fn read_only_paths_can_be_read() {
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
    let questions = outcome.questions.iter().filter(|it| it.path == fixture.inside("open.txt"));
    assert_eq!(questions.count(), 1, "{:#?}", outcome.questions);
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
fn other_calls_continue_while_one_waits() {
    let fixture = fixture();
    let script = "cat open.txt & for i in 1 2 3; do cat /usr/bin/env > /dev/null; done; echo > $TMPDIR/done; wait";
    let running = begin(Start { rules: true, ..fixture.shell(script) });
    let end_file = fixture.temporary.join("done");
    let mut waited = false;
    let outcome = running.finish(|question| {
        if question.path.ends_with("open.txt") {
            let begun = Instant::now();
            while !end_file.exists() && begun.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(5));
            }
            waited = end_file.exists();
        }
        authorize(question)
    });
    assert!(waited, "{outcome:#?}");
    assert_eq!(outcome.succeeded().stdout, "open\n");
}

/// Refuses to change `.git` itself.
fn authorize_data(question: &AccessQuestion) -> Verdict {
    let refused = (question.access == Access::Change && question.path == ".git").then(|| "it is protected".to_owned());
    Verdict { refused, ..Verdict::default() }
}

/// Programs of a person write to files in `.git`, and would write through a link that a command has put there.
#[test]
fn only_plain_files_are_put_into_git() {
    let fixture = Fixture::new();
    let outside = fixture.outside("file");
    fs::write(&outside, "outside\n").unwrap();
    fixture.write(".git/refs/main", "1\n");
    fixture.write("tree/link", "");
    for script in [
        format!("ln -s {outside} .git/COMMIT_EDITMSG"),
        format!("ln -s {outside} .git/refs/x"),
        format!("ln -s {outside} x; mv x .git/COMMIT_EDITMSG"),
        format!("ln -s {outside} x; mv -f x .git/refs/main"),
        format!("ln -s {outside} x; ln -P x .git/COMMIT_EDITMSG"),
        format!("ln -s {outside} x; mv --exchange x .git/refs/main"),
        format!("ln -s {outside} tree/main; mv tree .git/logs"),
        format!("mv .git/refs tree/refs; ln -s {outside} tree/refs/x; mv tree/refs .git/refs"),
        "mkfifo .git/FETCH_HEAD".to_owned(),
        "mkfifo x; mv x .git/FETCH_HEAD".to_owned(),
    ] {
        let start = Start {
            rules: true,
            git_data: true,
            ..fixture.shell(&format!("{script}; test -z \"$(find .git -type l -o -type p)\""))
        };
        let outcome = run_with(start, |_| Verdict::default());
        assert_eq!(outcome.ended.exit_code, Some(0), "{script}: {}", outcome.stderr);
        let _removed = fs::remove_file(fixture.root.join("tree/refs/x"));
        let _moved = fs::rename(fixture.root.join("tree/refs"), fixture.root.join(".git/refs"));
        let _removed = fs::remove_file(fixture.root.join("tree/main"));
        let _removed = fs::remove_file(fixture.root.join("x"));
    }
    let script =
        "mkdir .git/logs; echo 2 > .git/x; mv .git/x .git/refs/main; ln .git/refs/main .git/y; ln -s a b; mv b c";
    let start = Start { rules: true, git_data: true, ..fixture.shell(script) };
    run_with(start, |_| Verdict::default()).succeeded();
    // Git tries to remove `.git` after its last reference.
    let start = Start { rules: true, git_data: true, ..fixture.shell("rmdir .git 2>&1") };
    let outcome = run_with(start, authorize_data);
    assert!(outcome.stdout.contains("not empty"), "{}", outcome.stdout);
    assert!(!outcome.ended.refused.iter().any(|refused| refused.path.ends_with(".git")), "{:?}", outcome.ended.refused);
    // If the host lets the command change everything, links are possible.
    let start = Start { rules: true, ..fixture.shell("ln -s a .git/link && test -L .git/link") };
    run_with(start, |_| Verdict::default()).succeeded();
}

#[test]
fn a_refusal_names_an_alternative() {
    let fixture = Fixture::new();
    let outside = fixture.outside("new");
    let outcome = run(fixture.shell(&format!("touch {outside}; echo x > /usr/x")));
    for path in [outside.as_str(), "/usr/x"] {
        let refused = outcome.ended.refused.iter().find(|refused| refused.path == path);
        let cause = refused.map_or("", |refused| refused.cause.as_str());
        assert!(cause.ends_with("; write to the workspace or `$TMPDIR`"), "{path}: {:?}", outcome.ended.refused);
    }
    let mut start = fixture.shell(&format!("touch {outside}"));
    start.roots[0].writable = false;
    let outcome = run(start);
    let cause = outcome.ended.refused.last().map_or("", |refused| refused.cause.as_str());
    assert!(cause.ends_with("; write to `$TMPDIR`"), "{:?}", outcome.ended.refused);
    assert!(!outcome.ended.network_refused);
    let connects = "exec 3<>/dev/tcp/127.0.0.1/9";
    assert!(run(fixture.command(&["bash", "-c", connects])).ended.network_refused);
    let start = Start { network: true, ..fixture.command(&["bash", "-c", connects]) };
    assert!(!run(start).ended.network_refused);
}
