//! A search by several guests returns the same bytes as a search by one guest.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use paddock::types::{ErrorCode, GlobArgs, GrepArgs};
use paddock::{CallOptions, Limits, Policy, Workspace};
use serde_json::{Value, json};

use super::alone;

/// Creates 3,000 files in directories of different depths, with all kinds of entries that a search leaves out.
fn tree(top: &Path) {
    for number in 0..3_000 {
        let dir = match number % 7 {
            0 => "a".to_owned(),
            1 => format!("b/{}", number % 5),
            2 => format!("b/{}/deep/er", number % 3),
            3 => "b.d".to_owned(),
            4 => format!("ignored/{}", number % 2),
            5 => format!("z/{}", number % 11),
            _ => ".hidden".to_owned(),
        };
        let dir = top.join(dir);
        fs::create_dir_all(&dir).unwrap();
        let text = match number % 50 {
            0 => "\0binary".to_owned(),
            1 => format!("needle {number}\n").repeat(40),
            _ => format!("line one of {number}\n{}\nthe end\n", if number % 9 == 0 { "a needle here" } else { "hay" }),
        };
        fs::write(dir.join(format!("f{number:04}.txt")), text).unwrap();
    }
    fs::write(top.join(".gitignore"), "ignored/1\n*7.txt\n").unwrap();
    fs::write(top.join("b/.agentignore"), "0/\n").unwrap();
    fs::write(top.join("latin1.txt"), b"caf\xe9 needle\n").unwrap();
    symlink("a", top.join("link")).unwrap();
}

fn workspace(top: &Path, threads: usize) -> Workspace {
    Workspace::builder().root(top).no_state_dir().threads(threads).build().unwrap()
}

/// Returns all pages of a search, in order. A page that the host ends on a busy machine is requested again.
fn pages(workspace: &Workspace, tool: &str, arguments: &Value) -> Vec<String> {
    let mut arguments = arguments.clone();
    let (mut pages, mut ended) = (Vec::new(), 0);
    loop {
        let outcome = workspace.call(tool, &arguments.to_string());
        if outcome.error.as_ref().is_some_and(|error| error.code == ErrorCode::LimitExceeded) {
            ended += 1;
            assert!(ended < 100, "{}", outcome.text);
            continue;
        }
        pages.push(serde_json::to_string(&outcome).unwrap());
        match &outcome.value()["next_cursor"] {
            Value::String(cursor) => arguments["cursor"] = cursor.clone().into(),
            _ => return pages,
        }
    }
}

#[test]
fn several_guests_answer_as_one() {
    let _alone = alone();
    let top = tempfile::tempdir().unwrap();
    tree(top.path());
    let (one, several) = (workspace(top.path(), 1), workspace(top.path(), 4));
    for arguments in [
        json!({"pattern": "needle", "limit": 10_000}),
        json!({"pattern": "needle", "limit": 333}),
        json!({"pattern": "needle", "output": "count", "limit": 10_000}),
        json!({"pattern": "needle", "output": "files", "limit": 97}),
        json!({"pattern": "needle", "output": "count", "limit": 10_000, "include_hidden": true, "include_ignored": true}),
        json!({"pattern": "needle", "context": 2, "limit": 250}),
        json!({"pattern": "one of \\d+\\nhay", "multiline": true, "limit": 1_000}),
        json!({"pattern": "n.edle", "max_per_file": 2, "limit": 150}),
        json!({"pattern": "needle", "glob": "b/**/*.txt", "limit": 10_000}),
        json!({"pattern": "(?i)NEEDLE|END$", "limit": 5_000}),
        json!({"pattern": "nothing has this", "limit": 10}),
        json!({"pattern": "café", "limit": 10}),
    ] {
        assert_eq!(pages(&one, "grep", &arguments), pages(&several, "grep", &arguments), "{arguments}");
    }
}

#[test]
fn names_are_found_by_several_guests_as_by_one() {
    let _alone = alone();
    let top = tempfile::tempdir().unwrap();
    tree(top.path());
    // Unusable rule files are reported once, whichever guest reads them.
    symlink("/nowhere", top.path().join("b/.ignore")).unwrap();
    symlink("/nowhere", top.path().join("z/1/.gitignore")).unwrap();
    let (one, several) = (workspace(top.path(), 1), workspace(top.path(), 4));
    for arguments in [
        json!({"pattern": "**", "limit": 10_000}),
        json!({"pattern": "**", "limit": 1_000}),
        json!({"pattern": "**", "limit": 777, "include_hidden": true, "include_ignored": true}),
        json!({"pattern": "*1.txt", "limit": 10_000}),
        json!({"pattern": "*1.txt", "limit": 61}),
        json!({"pattern": "b/**/*.txt", "limit": 10_000}),
        json!({"pattern": "z/*/*3.txt", "limit": 10_000}),
        json!({"pattern": "{a,z}/**", "limit": 10_000}),
        json!({"pattern": "f2999.txt", "limit": 1}),
        json!({"pattern": "nothing/has/this", "limit": 10}),
        json!({"pattern": "**", "limit": 2_000, "sort": "modified"}),
        json!({"pattern": "**", "path": "b", "limit": 300}),
    ] {
        assert_eq!(pages(&one, "glob", &arguments), pages(&several, "glob", &arguments), "{arguments}");
    }
}

/// A worker that did not know that links are wanted would find only the links of the coordinator's own part.
#[test]
fn links_are_found_by_several_guests_as_by_one() {
    let _alone = alone();
    let top = tempfile::tempdir().unwrap();
    for number in 0..40 {
        let dir = top.path().join(format!("d{number:02}"));
        fs::create_dir(&dir).unwrap();
        (0..30).for_each(|file| fs::write(dir.join(format!("f{file:03}")), "").unwrap());
        symlink("f000", dir.join("link")).unwrap();
        symlink("/nowhere", dir.join("broken")).unwrap();
    }
    for (dialect, tool, arguments) in [
        ("mcp-filesystem", "search_files", json!({"path": ".", "pattern": "**/link"})),
        ("weakincentives", "glob", json!({"pattern": "*/link"})),
    ] {
        let [one, several] = [1, 4].map(|threads| {
            let options = CallOptions::dialect(dialect);
            workspace(top.path(), threads).call_with(tool, &arguments.to_string(), &options).text
        });
        assert_eq!(one.matches("/link").count(), 40, "{one}");
        assert_eq!(one, several, "{tool}");
    }
}

/// Each workspace in memory keeps a guest, and the number of guests of a process is limited.
#[test]
fn a_search_that_gets_no_worker_is_made_alone() {
    let _alone = alone();
    let top = tempfile::tempdir().unwrap();
    tree(top.path());
    let several = workspace(top.path(), 4);
    let arguments = json!({"pattern": "**", "limit": 10_000});
    let result_alone = pages(&several, "glob", &arguments);
    let mut workspaces: Vec<_> = std::iter::from_fn(|| Workspace::memory(Policy::default()).ok()).take(2_000).collect();
    assert!(workspaces.len() < 2_000, "no worker was ever refused");
    workspaces.pop();
    assert_eq!(pages(&several, "glob", &arguments), result_alone);
}

/// A limit on entries ends a walk at the same entry, whichever guest visits it.
#[test]
fn a_limit_of_entries_is_one_for_all_guests() {
    let _alone = alone();
    let top = tempfile::tempdir().unwrap();
    tree(top.path());
    let limits = Limits { max_entries: 1_234, ..Limits::default() };
    let workspace = |threads| {
        let policy = Policy { limits, ..Policy::default() };
        Workspace::builder().root(top.path()).no_state_dir().policy(policy).threads(threads).build().unwrap()
    };
    let arguments = json!({"pattern": "*3.txt", "limit": 10_000});
    let pages_of_one = pages(&workspace(1), "glob", &arguments);
    assert!(pages_of_one.len() > 1);
    assert_eq!(pages_of_one, pages(&workspace(4), "glob", &arguments));
}

#[test]
fn a_typed_search_is_partitioned_too() {
    let _alone = alone();
    let top = tempfile::tempdir().unwrap();
    tree(top.path());
    let arguments = GrepArgs { limit: 5_000, ..GrepArgs::new("needle") };
    let (one, several) = (workspace(top.path(), 1).grep(&arguments), workspace(top.path(), 4).grep(&arguments));
    assert_eq!(one.unwrap(), several.unwrap());
    let arguments = GlobArgs { limit: 5_000, exclude: vec!["z".to_owned()], directories: true, ..GlobArgs::new("**") };
    let (one, several) = (workspace(top.path(), 1).glob(&arguments), workspace(top.path(), 4).glob(&arguments));
    let result = one.unwrap();
    assert!(!result.paths.iter().any(|path| path == "b/0"));
    assert!(result.paths.iter().any(|path| path == "b/1"));
    assert!(!result.paths.iter().any(|path| path.starts_with("z/")));
    assert_eq!(result, several.unwrap());
    let broken = workspace(top.path(), 4).grep(&GrepArgs::new("(")).unwrap_err();
    assert_eq!(broken.code, ErrorCode::InvalidArgument);
}

/// Creates two files whose search takes longer than the time of one page. They are in another partition than the files
/// before them in walk order.
fn slow_tree(top: &Path) {
    for number in 0..318 {
        fs::write(top.join(format!("a{number:03}.txt")), "nothing\n").unwrap();
    }
    fs::write(top.join("b1.txt"), "needle\n").unwrap();
    fs::write(top.join("b2.txt"), "needle\n").unwrap();
    for name in ["c.txt", "d.txt"] {
        fs::File::create(top.join(name)).unwrap().set_len(8 << 30).unwrap();
        let mut text = fs::OpenOptions::new().write(true).open(top.join(name)).unwrap();
        std::io::Write::write_all(&mut text, &b"text\n".repeat(2_000)).unwrap();
    }
}

#[test]
fn a_full_page_does_not_wait_for_workers() {
    let _alone = alone();
    let top = tempfile::tempdir().unwrap();
    slow_tree(top.path());
    let started = Instant::now();
    let outcome = workspace(top.path(), 4).call("grep", r#"{"pattern": "needle", "limit": 1, "output": "files"}"#);
    assert_eq!(outcome.value()["files"][0]["path"], "b1.txt");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn matches_before_the_time_limit_are_returned() {
    let _alone = alone();
    let top = tempfile::tempdir().unwrap();
    slow_tree(top.path());
    let limits = Limits { max_time_ms: 1_000, ..Limits::default() };
    let hurried = Workspace::builder().root(top.path()).no_state_dir().threads(4).limits(limits).build().unwrap();
    let started = Instant::now();
    let outcome = hurried.call("grep", r#"{"pattern": "needle", "output": "files"}"#);
    assert!(started.elapsed() < Duration::from_millis(1_100), "{:?}", started.elapsed());
    let result = outcome.value();
    assert_eq!(result["files"].as_array().map(Vec::len), Some(2), "{}", outcome.text);
    assert!(result["next_cursor"].is_string());
}

#[test]
fn a_cancelled_search_ends_in_every_guest() {
    let _alone = alone();
    let top = tempfile::tempdir().unwrap();
    slow_tree(top.path());
    let workspace = workspace(top.path(), 4);
    // The first call may compile the component.
    assert!(workspace.call("stat", r#"{"path": "."}"#).ok);
    let options = CallOptions::default();
    let cancel = options.cancel.clone();
    let waiting = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        cancel.cancel();
        Instant::now()
    });
    let outcome = workspace.call_with("grep", r#"{"pattern": "nowhere"}"#, &options);
    let ended = Instant::now();
    assert_eq!(outcome.error.unwrap().code, ErrorCode::Cancelled);
    assert!(ended - waiting.join().unwrap() < Duration::from_millis(500));
}

#[test]
fn a_search_that_runs_out_of_time_can_be_continued() {
    let _alone = alone();
    let top = tempfile::tempdir().unwrap();
    tree(top.path());
    let arguments = json!({"pattern": "needle", "output": "count", "limit": 10_000});
    let all = pages(&workspace(top.path(), 1), "grep", &arguments);
    let limits = Limits { max_time_ms: 60, ..Limits::default() };
    let hurried = Workspace::builder().root(top.path()).no_state_dir().threads(4).limits(limits).build().unwrap();
    let counts = |pages: &[String]| {
        let pages = pages.iter().map(|page| serde_json::from_str::<Value>(page).unwrap());
        pages
            .flat_map(|page| page["result"]["files"].as_array().unwrap_or_else(|| panic!("{page}")).clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(&pages(&hurried, "grep", &arguments)), counts(&all));
}

/// A short call returns quickly while other workspaces run long searches on many more threads than there are processors.
#[test]
fn a_short_call_waits_for_no_search() {
    let _alone = alone();
    let top = tempfile::tempdir().unwrap();
    slow_tree(top.path());
    let limits = Limits { max_time_ms: 1_500, ..Limits::default() };
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        for _ in 0..16 {
            let builder = Workspace::builder().root(top.path()).no_state_dir().limits(limits);
            let searching = builder.build().unwrap();
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    searching.call("grep", r#"{"pattern": "nowhere"}"#);
                }
            });
        }
        let reading = workspace(top.path(), 4);
        let times = (0..40).map(|_| {
            let started = Instant::now();
            assert!(reading.call("read_file", r#"{"path": "b1.txt"}"#).ok);
            started.elapsed()
        });
        let times = times.collect();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        times
    });
    times.sort();
    assert!(times[20] < Duration::from_millis(500), "{times:?}");
}
