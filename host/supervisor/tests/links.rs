//! Changes of files that have other hard links, which may be outside the roots.
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
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use paddock_supervisor::protocol::HardLinks;
use support::{Fixture, Outcome, Start, run};

/// Scripts that change a file `f`.
const CHANGES: [&str; 10] = [
    "echo x > f",
    "echo x >> f",
    "exec 3<> f; echo x >&3",
    "truncate -s 1 f",
    "dd if=/dev/zero of=f bs=1 count=1 conv=notrunc 2>&1",
    "chmod 600 f",
    "touch -d @1 f",
    "exec 3< f; touch -d @1 /proc/self/fd/3",
    "ln f g; echo x >> g",
    "mv f g; echo x >> g",
];

/// Returns a fixture in whose root `f` is a hard link to a file outside.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fs::write(fixture.outside.join("shared"), "old\n").unwrap();
    fs::set_permissions(fixture.outside.join("shared"), PermissionsExt::from_mode(0o4751)).unwrap();
    fs::hard_link(fixture.outside.join("shared"), fixture.root.join("f")).unwrap();
    fixture
}

fn with(hard_links: HardLinks, fixture: &Fixture, script: &str) -> Outcome {
    run(Start { hard_links, ..fixture.shell(script) })
}

/// Returns content, mode and modification time of the file outside. The number of its links may change.
fn outside(fixture: &Fixture) -> (String, u32, i64) {
    let is = fs::metadata(fixture.outside.join("shared")).unwrap();
    (fs::read_to_string(fixture.outside.join("shared")).unwrap(), is.mode(), is.mtime())
}

#[test]
fn changes_are_refused() {
    for script in CHANGES {
        let fixture = fixture();
        let before = outside(&fixture);
        let outcome = with(HardLinks::Refuse, &fixture, script);
        assert_ne!(outcome.ended.exit_code, Some(0), "{script}: {outcome:#?}");
        assert_eq!(outside(&fixture), before, "{script}");
        let has_cause = outcome.ended.refused.iter().any(|refused| refused.cause.contains("hard links"));
        assert!(has_cause, "{script}: {outcome:#?}");
    }
    let fixture = fixture();
    let outcome = with(HardLinks::Refuse, &fixture, "cat f; mv f g; cp g h; echo x >> h; rm g; cat h").succeeded();
    assert_eq!(outcome.stdout, "old\nold\nx\n");
}

#[test]
fn changes_are_made_to_a_copy() {
    for script in CHANGES {
        let fixture = fixture();
        let before = outside(&fixture);
        let outcome = with(HardLinks::Break, &fixture, script).succeeded();
        assert_eq!(outside(&fixture), before, "{script}");
        assert_eq!(outcome.ended.broken_links_count, 1, "{script}: {outcome:#?}");
        let changed = ["g", "f"].map(|name| fixture.root.join(name)).into_iter().find(|path| path.exists()).unwrap();
        let is = fs::metadata(&changed).unwrap();
        let differs = fs::read_to_string(&changed).unwrap() != "old\n" || is.mode() & 0o777 != 0o751 || is.mtime() == 1;
        assert!(differs && is.nlink() == 1 && is.mode() & 0o6000 == 0, "{script}: {is:?}");
        let names = fs::read_dir(&fixture.root).unwrap().count();
        assert_eq!(names, if script.starts_with("ln") { 2 } else { 1 }, "{script}");
    }
    let fixture = fixture();
    let outcome = with(HardLinks::Break, &fixture, "echo new >> f").succeeded();
    assert_eq!(fs::read_to_string(fixture.root.join("f")).unwrap(), "old\nnew\n");
    assert_eq!(fs::metadata(fixture.root.join("f")).unwrap().mode() & 0o7777, 0o751);
    assert_eq!(fixture.staged_content(outcome.before(fixture.root.join("f")).unwrap()).unwrap(), "old\n");
    assert_eq!(outcome.ended.broken_links, [fixture.inside("f")]);
}

#[test]
fn names_that_the_command_made_are_one_file() {
    for hard_links in [HardLinks::Refuse, HardLinks::Break, HardLinks::Keep] {
        let fixture = Fixture::new();
        fixture.write("own", "own\n");
        let script = "echo made > a; ln a b; echo more >> b; ln own c; echo more >> c; chmod 600 own; ln b d; echo last >> d; cat a own";
        let outcome = with(hard_links, &fixture, script).succeeded();
        assert_eq!(outcome.stdout, "made\nmore\nlast\nown\nmore\n", "{hard_links:?}: {outcome:#?}");
        assert_eq!(outcome.ended.broken_links_count, 0);
        let outcome = with(
            hard_links,
            &fixture,
            "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x && git gc -q",
        );
        assert_eq!(outcome.ended.exit_code, Some(0), "{hard_links:?}: {outcome:#?}");
    }
    let fixture = fixture();
    with(HardLinks::Keep, &fixture, "echo x >> f; chmod 600 f").succeeded();
    assert_eq!(outside(&fixture).0, "old\nx\n", "the attempts above would do it");
}
