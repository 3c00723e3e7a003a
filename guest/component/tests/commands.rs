//! Access checks for commands and records of their changes, over an in-memory tree that stands for the host's.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Instant;

use paddock_dialects::{registry, schema};
use paddock_guest::commands::{answer, requested_command};
use paddock_guest::engine;
use paddock_ops::command::access::AccessChecker;
use paddock_ops::command::record::{Before, Recorded, record_changes};
use paddock_types::entry::{Kind, Time};
use paddock_types::error::{Code, Error, ErrorText};
use paddock_types::outcome::Outcome;
use paddock_types::policy::Policy;
use paddock_types::request::{Access, Command, History, Script};
use paddock_types::response::{Captured, Change, ChangeKind, Ran, Response};
use paddock_vfs::Filesystem;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::open_location::OpenLocation;
use paddock_workspace::Workspace;
use serde_json::{Value, json};

use tree::{Tree, tree_of};

mod tree;

/// Returns a policy with the workspace at `/home/me/project`, a sibling root that is read-only, and a root inside the
/// workspace.
fn policy(settings: Value) -> Policy {
    let mut whole = json!({
        "roots": [
            {"guest": "/workspace", "host": "/home/me/project"},
            {"guest": "/docs", "host": "/srv/docs", "access": "read-only"},
            {"guest": "/vendor", "host": "/home/me/project/vendor", "access": "read-only"},
        ],
        "host": {"records": true, "private": ["/home/me/project/.config/paddock"]},
    });
    for (name, value) in settings.as_object().unwrap() {
        whole[name] = value.clone();
    }
    Policy::parse(&whole.to_string(), "paddock").unwrap()
}

fn memory() -> MemoryFs {
    let roots = ["/workspace", "/docs", "/vendor", "/paddock-state"];
    MemoryFs::new(&roots, || Time { seconds: 1_700_000_000, nanoseconds: 0 }, 7)
}

/// Writes a file at a path of the n-th preopen.
fn put_in(fs: &MemoryFs, preopen: usize, path: &str, content: &str) {
    let mut dir = fs.preopens().remove(preopen).dir;
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    for part in above.split('/').filter(|part| !part.is_empty()) {
        let _ = fs.make_dir(&dir, part);
        dir = fs.open_dir(&dir, part).unwrap();
    }
    let _ = fs.unlink(&dir, name);
    OpenLocation { dir, name: name.to_owned() }.create(fs, &content.as_bytes().to_vec().into()).unwrap();
}

fn put(fs: &MemoryFs, path: &str, content: &str) {
    put_in(fs, 0, path, content);
}

/// Opens the location of a path in the workspace.
fn location(fs: &MemoryFs, path: &str) -> OpenLocation {
    let mut dir = fs.preopens().remove(0).dir;
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    for part in above.split('/').filter(|part| !part.is_empty()) {
        dir = fs.open_dir(&dir, part).unwrap();
    }
    OpenLocation { dir, name: name.to_owned() }
}

mod allows {
    use super::*;

    fn fixture() -> MemoryFs {
        let fs = memory();
        for (path, content) in [
            ("a.txt", "a"),
            ("src/main.rs", "fn main() {}"),
            (".agentignore", ".env\n/keys/\n"),
            (".gitignore", "target/\n*.log\n!keep.log\n"),
            ("deep/.agentignore", "*.pem\n!public.pem\n"),
            ("deep/below/x.txt", "x"),
            ("deep/.gitignore", "out\n"),
            (".git/config", "[core]"),
            ("keys/id", "secret"),
        ] {
            put(&fs, path, content);
        }
        put_in(&fs, 1, "guide.md", "guide");
        put_in(&fs, 2, "lib.c", "int x;");
        fs
    }

    /// Returns the reason of a refusal, and whether an ignore rule hides the path.
    fn verdict(fs: &MemoryFs, policy: &Policy, path: &str, access: Access, is_directory: bool) -> (String, bool) {
        let workspace = Workspace::open(fs, policy).unwrap();
        let verdict = AccessChecker::new(&workspace).verdict(path, access, is_directory);
        (verdict.refused.unwrap_or_default(), verdict.ignored)
    }

    #[track_caller]
    fn holds(settings: Value, cases: &[(&str, Access, bool, &str)]) {
        let (fs, policy) = (fixture(), policy(settings));
        let workspace = Workspace::open(&fs, &policy).unwrap();
        // An answer must not depend on the cached answers before it.
        let checker = AccessChecker::new(&workspace);
        for _ in 0..2 {
            for (path, access, is_directory, cause) in cases {
                let (alone, _) = verdict(&fs, &policy, path, *access, *is_directory);
                let together = checker.verdict(path, *access, *is_directory).refused.unwrap_or_default();
                assert_eq!(alone, together, "{path}");
                let fits = if cause.is_empty() { alone.is_empty() } else { alone.contains(cause) };
                assert!(fits, "{path} {access:?}: {alone:?}, and not {cause:?}");
            }
        }
    }

    use Access::{Change, Read};

    #[test]
    fn access_checks_take_paths_as_results_show_them() {
        holds(
            json!({}),
            &[
                (".", Read, true, ""),
                ("a.txt", Read, false, ""),
                ("new/dir/file", Change, false, ""),
                ("/docs", Read, true, ""),
                ("/docs/guide.md", Read, false, ""),
                // Host paths and other absolute paths belong to no root.
                ("/home/me/project/a.txt", Read, false, "in no root"),
                ("/srv/docs/guide.md", Read, false, "in no root"),
                ("/docs2/guide.md", Read, false, "in no root"),
                ("/etc/passwd", Read, false, "in no root"),
                ("/", Read, true, "in no root"),
                ("", Read, true, "not a valid path"),
                ("../x", Read, false, "not a valid path"),
                ("./a.txt", Read, false, "not a valid path"),
                ("/docs/../a.txt", Read, false, "not a valid path"),
                ("src//a.txt", Read, false, "not a valid path"),
                ("src/", Read, true, "not a valid path"),
                ("a\\b", Read, false, "not a valid path"),
            ],
        );
    }

    #[test]
    fn commands_cannot_change_protected_paths() {
        holds(
            json!({}),
            &[
                ("/docs/guide.md", Change, false, "read-only"),
                ("/docs/new", Change, false, "read-only"),
                ("vendor/lib.c", Read, false, ""),
                ("vendor/lib.c", Change, false, "read-only"),
                ("vendor", Change, true, "read-only"),
                (".git/config", Read, false, ""),
                (".git/config", Change, false, "`.git` is protected"),
                ("src/.vscode", Change, true, "`.vscode` is protected"),
                (".AGENTIGNORE", Change, false, "is protected"),
                (".gitignore", Change, false, ""),
            ],
        );
        holds(
            json!({"allow_protected": true}),
            &[(".git/config", Change, false, ""), ("vendor/x", Change, false, "read-only")],
        );
        holds(json!({"read_only": true}), &[("a.txt", Change, false, "read-only"), ("a.txt", Read, false, "")]);
    }

    #[test]
    fn a_commit_changes_data_of_git_and_nothing_else_of_it() {
        let commands = json!({"commands": {"enabled": true, "git": true}});
        holds(
            commands.clone(),
            &[
                (".git/index.lock", Change, false, ""),
                (".git/objects/17/tmp_obj_x", Change, false, ""),
                (".git/HEAD", Change, false, ""),
                (".git/config", Change, false, "`.git` is protected"),
                (".git/hooks/pre-commit", Change, false, "`.git` is protected"),
                (".git/objects/info/alternates", Change, false, "`.git` is protected"),
                (".vscode/tasks.json", Change, false, "`.vscode` is protected"),
                (".git/refs/replace/17", Change, false, "`.git` is protected"),
                // The supervisor does not let `.git/HEAD` become invalid, because Git would then search for another
                // repository.
                ("HEAD", Change, false, ""),
                ("/docs/.git/index", Change, false, "read-only"),
            ],
        );
        let fs = fixture();
        assert_eq!(verdict(&fs, &policy(commands.clone()), ".git/index", Change, false), (String::new(), true));
        assert_eq!(verdict(&fs, &policy(commands), ".git/index", Read, false), (String::new(), false));
        // File tools must not change the data of Git.
        let call = json!({"path": ".git/index", "content": "x"}).to_string();
        let commands = json!({"commands": {"git": true}});
        let outcome = engine::call(&fs, &policy(commands), "paddock", "write_file", &call);
        assert!(outcome.error.is_some() && outcome.text.contains("`.git` is protected"), "{}", outcome.text);
    }

    #[test]
    fn hidden_paths_are_no_command_s_either() {
        let cause = "`.agentignore` keeps it";
        holds(
            json!({}),
            &[
                (".env", Read, false, cause),
                (".env", Change, false, cause),
                (".ENV", Read, false, cause),
                ("new/.env", Change, false, cause),
                ("keys", Read, true, cause),
                ("keys/id", Read, false, cause),
                ("keys/deeper/id", Change, false, cause),
                ("deep/x.pem", Read, false, cause),
                ("deep/below/x.pem", Read, false, cause),
                ("deep/public.pem", Read, false, ""),
                ("x.pem", Read, false, ""),
            ],
        );
    }

    #[test]
    fn rules_that_cannot_be_read_close_their_directory() {
        let (fs, policy) = (fixture(), policy(json!({})));
        put(&fs, "deep/.agentignore", "[\n");
        let (cause, _) = verdict(&fs, &policy, "deep/below/x.txt", Read, false);
        assert!(cause.contains("line 1 is not a valid rule"), "{cause}");
    }

    #[test]
    fn blocked_and_private_paths_are_refused() {
        holds(
            json!({"blocked_directories": ["bin", "./src/generated"], "blocked_extensions": [".exe"]}),
            &[
                ("a/bin/x", Read, false, "blocks that directory"),
                ("bin", Read, true, "blocks that directory"),
                ("src/generated/x", Change, false, "blocks that directory"),
                ("a.exe", Read, false, "with that extension"),
                ("b.EXE", Change, false, "with that extension"),
                ("d.exe", Change, true, ""),
                (".config/paddock/policy.yaml", Read, false, "belongs to the program"),
                // A link at this path, or a tree renamed to it, would replace the protected directory.
                (".config", Change, false, "an entry below"),
                (".config", Change, true, "an entry below"),
                ("src", Change, true, "an entry below"),
                ("src/main.rs", Change, false, ""),
            ],
        );
    }

    #[test]
    fn links_on_the_path_are_not_followed() {
        let (fs, policy) = (fixture(), policy(json!({})));
        let top = fs.preopens().remove(0).dir;
        fs.symlink(&top, "link", "src").unwrap();
        let (cause, _) = verdict(&fs, &policy, "link/main.rs", Read, false);
        assert_ne!(cause, "");
        assert_eq!(verdict(&fs, &policy, "link", Read, false).0, "", "the link itself");
        assert_ne!(verdict(&fs, &policy, "a.txt/x", Read, false).0, "", "a file on the way");
    }

    #[test]
    fn ignore_rules_are_those_of_a_walk() {
        let (fs, policy) = (fixture(), policy(json!({})));
        for (path, is_directory, ignored) in [
            ("target", true, true),
            ("target", false, false),
            ("target/debug/x", false, true),
            ("src/target/x", false, true),
            ("a.log", false, true),
            ("keep.log", false, false),
            ("src/new.log", false, true),
            ("deep/out", true, true),
            ("deep/out/x/y", false, true),
            ("out", true, false),
            ("none/below/a.log", false, true),
            ("a.txt", false, false),
            (".", true, false),
        ] {
            assert_eq!(verdict(&fs, &policy, path, Change, is_directory).1, ignored, "{path}");
        }
    }

    #[test]
    fn a_directory_that_comes_later_has_its_rules() {
        let (fs, policy) = (fixture(), policy(json!({})));
        let workspace = Workspace::open(&fs, &policy).unwrap();
        let verdicts = AccessChecker::new(&workspace);
        let path = "later/key.pem";
        assert_eq!(verdicts.verdict(path, Change, false).refused, None);
        put(&fs, "later/.agentignore", "*.pem\n");
        assert!(verdicts.verdict(path, Change, false).refused.is_some());
    }

    /// Measures the access check that a command needs for each file: `cargo test --release -p paddock-guest --test
    /// commands cost -- --nocapture` prints the time.
    #[test]
    fn asking_costs_little() {
        let (fs, policy) = (fixture(), policy(json!({"blocked_directories": ["node_modules"]})));
        for number in 0..10 {
            put(&fs, &format!("deep/below/{number}/x.txt"), "x");
        }
        let workspace = Workspace::open(&fs, &policy).unwrap();
        let verdicts = AccessChecker::new(&workspace);
        let paths: Vec<_> = (0..1_000).map(|number| format!("deep/below/{}/{number}.txt", number % 10)).collect();
        let started = Instant::now();
        let rounds = 20;
        for path in (0..rounds).flat_map(|_| &paths) {
            assert_eq!(verdicts.verdict(path, Change, false).refused, None);
        }
        let taken = started.elapsed();
        let calls = rounds * paths.len();
        println!("{:.0} verdicts a second", calls as f64 / taken.as_secs_f64());
        assert!(taken.as_micros() < 500 * calls as u128, "{taken:?} for {calls}");
    }
}

mod record {
    use super::*;

    /// A tree, the changes of a command to it, and the states that the host saves before the changes.
    struct Fixture {
        fs: MemoryFs,
        policy: Policy,
        before: Vec<Before>,
    }

    fn fixture() -> Fixture {
        let fs = memory();
        for (path, content) in
            [("a.txt", "one\n"), ("b.txt", "b\n"), ("d/c.txt", "c\n"), ("d/e/f.txt", "f\n"), (".agentignore", ".env\n")]
        {
            put(&fs, path, content);
        }
        let top = fs.preopens().remove(0).dir;
        fs.symlink(&top, "link", "a.txt").unwrap();
        Fixture { fs, policy: policy(json!({})), before: Vec::new() }
    }

    impl Fixture {
        /// Saves the state of a path, as a host does before the first change.
        fn before(&mut self, path: &str) -> &mut Self {
            let mut before = Before { path: path.to_owned(), ..Before::default() };
            let parent = path.rsplit_once('/').map(|(above, _)| location(&self.fs, above));
            let is_there = parent.is_none_or(|parent| self.fs.open_dir(&parent.dir, &parent.name).is_ok());
            if is_there {
                let location = location(&self.fs, path);
                if let Ok(stat) = self.fs.stat(&location.dir, &location.name) {
                    before.kind = Some(stat.kind);
                    before.target = self.fs.read_link(&location.dir, &location.name).ok();
                    if stat.kind == Kind::File {
                        let staged_file = format!("staging/run/{}", self.before.len());
                        put_in(&self.fs, 3, &staged_file, std::str::from_utf8(&self.tree()[path].1).unwrap());
                        before.staged_file = Some(staged_file);
                    }
                }
            }
            self.before.push(before);
            self
        }

        fn remove(&self, path: &str) {
            let location = location(&self.fs, path);
            paddock_vfs::copy_remove::remove(&self.fs, &location).unwrap();
        }

        fn tree(&self) -> Tree {
            tree_of(&self.fs)
        }

        fn record(&self) -> Recorded {
            self.try_record().unwrap()
        }

        fn try_record(&self) -> Result<Recorded, Error> {
            let before = self.tree();
            let workspace = Workspace::open(&self.fs, &self.policy).unwrap();
            let recorded = record_changes(&workspace, "run", &self.before);
            assert_eq!(self.tree(), before, "recording changes nothing");
            recorded
        }

        fn call(&self, tool: &str, arguments: Value) -> Outcome {
            engine::call(&self.fs, &self.policy, "paddock", tool, &arguments.to_string())
        }

        #[track_caller]
        fn restore(&self, arguments: Value) -> Value {
            let outcome = self.call("restore", arguments);
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
            serde_json::from_str(&outcome.result).unwrap()
        }
    }

    fn reported(recorded: &Recorded) -> Vec<(ChangeKind, &str)> {
        recorded.changes.iter().map(|change| (change.kind, change.path.as_str())).collect()
    }

    use ChangeKind::{Created, Deleted, Modified};

    #[test]
    fn files_directories_and_links_come_back_as_they_were() {
        let mut fixture = fixture();
        let old = fixture.tree();
        for path in ["a.txt", "b.txt", "d", "d/c.txt", "d/e", "d/e/f.txt", "link", "new", "new/x.txt", "other"] {
            fixture.before(path);
        }
        put(&fixture.fs, "a.txt", "two\n");
        fixture.remove("b.txt");
        fixture.remove("d");
        fixture.remove("link");
        put(&fixture.fs, "new/x.txt", "x\n");
        let top = fixture.fs.preopens().remove(0).dir;
        fixture.fs.symlink(&top, "link", "new/x.txt").unwrap();
        fixture.fs.symlink(&top, "other", "a.txt").unwrap();
        let changed = fixture.tree();

        let recorded = fixture.record();
        let expected = [
            (Modified, "a.txt"),
            (Deleted, "b.txt"),
            (Deleted, "d"),
            (Deleted, "d/c.txt"),
            (Deleted, "d/e"),
            (Deleted, "d/e/f.txt"),
            (Modified, "link"),
            (Created, "new"),
            (Created, "new/x.txt"),
            (Created, "other"),
        ];
        assert_eq!(reported(&recorded), expected);
        assert_eq!(recorded.changes[0].size, Some(4));
        assert_eq!(recorded.notes, [""; 0]);

        let workspace = Workspace::open(&fixture.fs, &fixture.policy).unwrap();
        let history = paddock_ops::history::run(&workspace, &History { limit: 10 }).unwrap();
        assert_eq!(
            (history.entries[0].operation.as_str(), history.entries[0].backup.clone().into()),
            ("run", recorded.backup.clone())
        );
        let undone = fixture.restore(json!({"backup": recorded.backup}));
        assert_eq!(fixture.tree(), old);
        fixture.restore(json!({"backup": undone["backup"]}));
        assert_eq!(fixture.tree(), changed, "the undoing can be undone");
    }

    #[test]
    fn an_entry_whose_kind_changed_is_restored() {
        let mut fixture = fixture();
        let old = fixture.tree();
        for path in ["a.txt", "a.txt/x", "b.txt", "d", "d/c.txt", "d/e", "d/e/f.txt", "link"] {
            if path != "a.txt/x" {
                fixture.before(path);
            }
        }
        fixture.before.push(Before { path: "a.txt/x".to_owned(), ..Before::default() });
        let top = fixture.fs.preopens().remove(0).dir;
        for path in ["a.txt", "b.txt", "d", "link"] {
            fixture.remove(path);
        }
        put(&fixture.fs, "a.txt/x", "a file is a directory now\n");
        fixture.fs.symlink(&top, "b.txt", "a.txt").unwrap();
        put(&fixture.fs, "d", "a directory is a file now\n");
        put(&fixture.fs, "link", "a link is a file now\n");
        let recorded = fixture.record();
        let expected = [
            (Deleted, "a.txt"),
            (Created, "a.txt"),
            (Created, "a.txt/x"),
            (Deleted, "b.txt"),
            (Created, "b.txt"),
            (Deleted, "d"),
            (Created, "d"),
            (Deleted, "d/c.txt"),
            (Deleted, "d/e"),
            (Deleted, "d/e/f.txt"),
            (Deleted, "link"),
            (Created, "link"),
        ];
        assert_eq!(reported(&recorded), expected);
        fixture.restore(json!({"backup": recorded.backup}));
        assert_eq!(fixture.tree(), old);
    }

    #[test]
    fn one_path_comes_back_alone() {
        let mut fixture = fixture();
        let old = fixture.tree();
        fixture.before("a.txt").before("d/c.txt").before("d/e").before("d/e/f.txt");
        put(&fixture.fs, "a.txt", "two\n");
        put(&fixture.fs, "d/c.txt", "2\n");
        fixture.remove("d/e");
        fixture.record();
        fixture.restore(json!({"path": "d"}));
        let mut expected = old.clone();
        expected.insert("a.txt".to_owned(), (Kind::File, b"two\n".to_vec()));
        assert_eq!(fixture.tree(), expected);
        fixture.restore(json!({"path": "a.txt"}));
        assert_eq!(fixture.tree(), old);
    }

    #[test]
    fn an_equal_state_is_not_a_change() {
        let mut fixture = fixture();
        fixture.before("a.txt").before("d").before("d/c.txt").before("link").before("none").before("no/thing");
        put(&fixture.fs, "a.txt", "one\n");
        let recorded = fixture.record();
        assert_eq!(recorded, Recorded::default());
    }

    #[test]
    fn of_one_path_the_first_word_counts() {
        let mut fixture = fixture();
        fixture.before("a.txt");
        put(&fixture.fs, "a.txt", "two\n");
        fixture.before("a.txt");
        put(&fixture.fs, "a.txt", "three\n");
        let recorded = fixture.record();
        assert_eq!(reported(&recorded), [(Modified, "a.txt")]);
        fixture.restore(json!({"backup": recorded.backup}));
        assert_eq!(fixture.tree()["a.txt"].1, b"one\n");
    }

    #[test]
    fn later_changes_of_other_processes_stay() {
        let mut fixture = fixture();
        fixture.before("a.txt").before("new.txt");
        put(&fixture.fs, "a.txt", "two\n");
        put(&fixture.fs, "new.txt", "new\n");
        let recorded = fixture.record();
        put(&fixture.fs, "new.txt", "somebody's\n");
        let outcome = fixture.call("restore", json!({"backup": recorded.backup}));
        assert_eq!(outcome.error.unwrap().code, Code::ChangedSinceRead);
        assert_eq!(fixture.tree()["a.txt"].1, b"two\n", "all or nothing");
    }

    #[test]
    fn files_that_were_not_stored_are_reported_by_name() {
        let mut fixture = fixture();
        fixture.before("a.txt").before("b.txt");
        fixture.before[0].staged_file = None;
        fixture.before.push(Before {
            path: "away".to_owned(),
            kind: Some(Kind::Link),
            target: Some("/etc/passwd".to_owned()),
            staged_file: None,
            mode: None,
        });
        put(&fixture.fs, "a.txt", "two\n");
        fixture.remove("b.txt");
        let recorded = fixture.record();
        assert_eq!(reported(&recorded), [(Modified, "a.txt"), (Deleted, "away"), (Deleted, "b.txt")]);
        assert_eq!(recorded.notes, ["the earlier content of `a.txt`, `away` is in no backup"]);
        fixture.restore(json!({"backup": recorded.backup}));
        let tree = fixture.tree();
        assert_eq!(
            (tree["a.txt"].1.as_slice(), tree["b.txt"].1.as_slice()),
            (
                &b"two
"[..],
                &b"b
"[..]
            )
        );
    }

    #[test]
    fn limits_of_backups_hold() {
        let mut small = fixture();
        small.policy.backups.max_bytes = 3;
        small.before("a.txt");
        put(&small.fs, "a.txt", "two\n");
        let recorded = small.record();
        assert_eq!((recorded.backup, recorded.changes.len()), (None, 1));
        assert_eq!(recorded.notes, ["no backup: the old content has 4 bytes, and backups hold at most 3"]);
        let mut off = fixture();
        off.policy.backups.enabled = false;
        off.before("a.txt");
        put(&off.fs, "a.txt", "two\n");
        let recorded = off.record();
        assert_eq!((recorded.backup, recorded.changes.len(), recorded.notes.len()), (None, 1, 0));
    }

    #[test]
    fn staged_files_are_in_the_state_directory() {
        for path in
            ["../workspace/b.txt", "/workspace/b.txt", "", "staging/../x", "./x", "staging", "staging/run/0/x", "a\\b"]
        {
            let mut fixture = fixture();
            fixture.before("a.txt");
            fixture.before[0].staged_file = Some(path.to_owned());
            put(&fixture.fs, "a.txt", "two\n");
            assert_eq!(fixture.try_record().unwrap_err().code, Code::InvalidPath, "{path}");
        }
        let mut fixture = fixture();
        fixture.before("a.txt");
        let state = fixture.fs.preopens().remove(3).dir;
        fixture.fs.symlink(&state, "link", "staging/run/0").unwrap();
        fixture.before[0].staged_file = Some("link".to_owned());
        assert_eq!(fixture.try_record().unwrap_err().code, Code::InvalidPath);
        fixture.before[0].staged_file = Some("staging/run/9".to_owned());
        put(&fixture.fs, "a.txt", "two\n");
        assert_eq!(fixture.record().notes, ["the earlier content of `a.txt` is in no backup"], "one that is not there");
    }

    #[test]
    fn paths_lie_in_a_root_and_are_not_hidden() {
        for path in ["/etc/passwd", "/home/me/project/a.txt", ".", "/docs", "../x"] {
            let mut fixture = fixture();
            fixture.before.push(Before { path: path.to_owned(), ..Before::default() });
            assert_eq!(fixture.try_record().unwrap_err().code, Code::OutsideWorkspace, "{path}");
        }
        let mut fixture = fixture();
        fixture.before(".env");
        put(&fixture.fs, ".env", "secret");
        let recorded = fixture.record();
        assert_eq!((recorded.changes.len(), recorded.backup), (0, None));
        assert_eq!(recorded.notes, ["1 path(s) that rules keep from every tool are left out"]);
    }

    #[test]
    fn a_link_in_place_of_a_directory_leads_nowhere() {
        let mut fixture = fixture();
        fixture.before("d/c.txt");
        fixture.remove("d");
        put(&fixture.fs, "elsewhere/c.txt", "not that one\n");
        let top = fixture.fs.preopens().remove(0).dir;
        fixture.fs.symlink(&top, "d", "elsewhere").unwrap();
        assert_eq!(reported(&fixture.record()), [(Deleted, "d/c.txt")]);
    }
}

mod calls {
    use super::*;

    const DIALECTS: &[(&str, &str, &str)] = &[
        ("paddock", "shell", r#"{"command": "ls"}"#),
        ("lincona", "shell", r#"{"command": "ls"}"#),
        ("codex", "exec_command", r#"{"cmd": "ls"}"#),
        ("weakincentives", "shell_execute", r#"{"command": ["ls"]}"#),
        ("weakincentives", "evaluate_python", r#"{"code": "1"}"#),
    ];

    fn enabled() -> Policy {
        policy(json!({"commands": {"enabled": true, "max_time_ms": 90_000}}))
    }

    fn fixture() -> MemoryFs {
        let fs = memory();
        put(&fs, "src/main.rs", "fn main() {}");
        put(&fs, ".agentignore", "secret/\n");
        put(&fs, "secret/x", "x");
        fs
    }

    fn decode_command(policy: &Policy, dialect: &str, tool: &str, arguments: &str) -> Result<Command, ErrorText> {
        let requested_command = requested_command(&fixture(), policy, dialect, tool, arguments).unwrap();
        requested_command.map_err(|outcome| outcome.error.unwrap())
    }

    #[test]
    fn without_permission_nothing_is_requested() {
        for (dialect, tool, arguments) in DIALECTS {
            let error = decode_command(&policy(json!({})), dialect, tool, arguments).unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (Code::Denied, "commands are not enabled"));
            let outcome = engine::call(&fixture(), &policy(json!({})), dialect, tool, arguments);
            assert_eq!(outcome.error.unwrap().message, "commands are not enabled", "{dialect}");
            let outcome = engine::call(&fixture(), &enabled(), dialect, tool, arguments);
            assert_eq!(outcome.error.unwrap().message, "this host runs no commands", "{dialect}");
        }
    }

    #[test]
    fn other_tools_request_no_command() {
        for (dialect, tool) in [("paddock", "read_file"), ("paddock", "none"), ("none", "shell"), ("dispatch", "shell")]
        {
            assert!(requested_command(&fixture(), &enabled(), dialect, tool, "{}").is_none(), "{dialect} {tool}");
        }
    }

    #[test]
    fn a_command_runs_where_tools_can_list_and_no_longer_than_it_may() {
        let run = |arguments: Value| decode_command(&enabled(), "paddock", "shell", &arguments.to_string());
        let Ok(Command::Run(usual)) = run(json!({"command": "ls"})) else { panic!() };
        assert_eq!((usual.workdir.as_str(), usual.timeout_ms), (".", 60_000));
        let far = json!({"command": "ls", "workdir": "src/../src", "timeout_ms": 3_600_000});
        let Ok(Command::Run(far)) = run(far) else { panic!() };
        assert_eq!((far.workdir.as_str(), far.timeout_ms), ("src", 90_000));
        for (workdir, code) in [
            ("..", Code::OutsideWorkspace),
            ("/etc", Code::OutsideWorkspace),
            ("secret", Code::Denied),
            ("src/main.rs", Code::NotADirectory),
            ("none", Code::NotFound),
        ] {
            let error = run(json!({"command": "ls", "workdir": workdir})).unwrap_err();
            assert_eq!((error.code, error.path.as_deref()), (code, Some(workdir)));
            let outcome = requested_command(
                &fixture(),
                &enabled(),
                "lincona",
                "shell",
                &json!({"command": "ls", "workdir": workdir}).to_string(),
            );
            let reported: Value = serde_json::from_str(&outcome.unwrap().unwrap_err().result).unwrap();
            assert_eq!(reported["error"], "FsViolationError", "{workdir}");
        }
    }

    #[test]
    fn every_command_needs_approval() {
        for approval in ["on-delete", "on-change"] {
            let policy = policy(json!({"approval": approval, "commands": {"enabled": true}}));
            for (tool, arguments, needs_approval) in [
                ("shell", json!({"command": "rm -r src"}), true),
                ("exec_command", json!({"command": "sh"}), true),
                ("write_stdin", json!({"session_id": 1, "chars": "rm -r src\n"}), true),
                ("write_stdin", json!({"session_id": 1, "eof": true}), true),
                ("write_stdin", json!({"session_id": 1}), false),
                ("list_sessions", json!({}), false),
                ("kill_session", json!({"session_id": 1}), false),
                ("run_program", json!({"name": "jq", "stdin": "{}"}), true),
            ] {
                let error = decode_command(&policy, "paddock", tool, &arguments.to_string()).err();
                assert_eq!(error.is_some(), needs_approval, "{tool} {arguments}");
                let Some(error) = error else { continue };
                assert_eq!(error.code, Code::ApprovalRequired);
                let plan = error.plan.unwrap();
                assert!(plan.summary.contains(" command") || plan.summary.contains("program"), "{}", plan.summary);
            }
        }
    }

    fn captured(text: &str) -> Captured {
        Captured { text: text.to_owned(), bytes: text.len() as u64, ..Captured::default() }
    }

    fn tell(dialect: &str, tool: &str, arguments: Value, ran: Ran) -> (Outcome, Value) {
        let change = Change { kind: ChangeKind::Created, path: "out.txt".to_owned(), to: None, size: Some(3) };
        let arguments = arguments.to_string();
        let call = (dialect, tool, arguments.as_str());
        let outcome = answer(&fixture(), &enabled(), call, Ok(Response::Ran(ran)), vec![change]);
        let value = serde_json::from_str(&outcome.result).unwrap();
        (outcome, value)
    }

    fn failed() -> Ran {
        Ran {
            exit_code: Some(1),
            duration_ms: 1_204,
            stdout: captured("out\n"),
            stderr: captured("err\n"),
            ..Ran::default()
        }
    }

    #[test]
    fn a_status_is_a_result_with_output_and_changes() {
        let (outcome, value) = tell("paddock", "shell", json!({"command": "x"}), failed());
        assert!(outcome.error.is_none());
        assert_eq!(outcome.text, "out\n[stderr]\nerr\n[exit code 1 after 1.2 s]\n[created out.txt]");
        assert_eq!(
            (&value["exit_code"], &value["stdout"]["text"], &value["total_changes"]),
            (&json!(1), &json!("out\n"), &json!(1))
        );
        assert_eq!(outcome.changes.len(), 1);
        let accessed_paths = outcome.accessed_paths.unwrap();
        assert_eq!(
            (accessed_paths.operation, accessed_paths.paths, accessed_paths.bytes),
            ("run", vec!["out.txt".to_owned()], 3)
        );
        assert_eq!(accessed_paths.written.len(), 1);

        let (outcome, value) = tell("lincona", "shell", json!({"command": "x"}), failed());
        assert!(outcome.error.is_none());
        assert_eq!((&value["error"], &value["stdout"]), (&json!("CommandFailedError"), &json!("out\n")));
        assert_eq!((&value["files_touched"], &value["bytes_written"]), (&json!(1), &json!(3)));
    }

    #[test]
    fn a_timeout_is_reported_with_the_output() {
        let late = || Ran { timed_out: true, exit_code: None, signal: Some("SIGKILL".to_owned()), ..failed() };
        let (outcome, value) = tell("lincona", "shell", json!({"command": "x", "timeout_ms": 1_000}), late());
        assert_eq!(outcome.error.unwrap().code, Code::LimitExceeded);
        assert_eq!(
            (&value["error"], &value["stdout"], &value["status"]),
            (&json!("CommandTimeoutError"), &json!("out\n"), &json!("error"))
        );
        assert_eq!(outcome.changes.len(), 1, "its changes stay reported");
        let (outcome, value) = tell("paddock", "shell", json!({"command": "x"}), late());
        assert!(outcome.error.is_none() && outcome.text.contains("[its time was up: ended after 1.2 s]"));
        assert_eq!(value["timed_out"], true);
        let (outcome, value) = tell("weakincentives", "shell_execute", json!({"command": ["x"]}), late());
        assert!(outcome.error.is_none());
        assert_eq!((&value["value"]["exit_code"], &value["value"]["timed_out"]), (&json!(124), &json!(true)));
        assert_eq!(value["message"], "`shell_execute` exceeded the configured timeout.");
        let (outcome, value) = tell("weakincentives", "evaluate_python", json!({"code": "x"}), late());
        assert_eq!(outcome.error.unwrap().code, Code::LimitExceeded);
        assert_eq!((&value["success"], &value["value"]["stderr"]), (&json!(false), &json!("Execution timed out.")));
    }

    #[test]
    fn codex_gets_messages_in_its_words() {
        let running = Ran { session: Some(42), exit_code: None, duration_ms: 1_002, ..failed() };
        let (outcome, value) = tell("codex", "exec_command", json!({"cmd": "x"}), running);
        let lines: Vec<_> = outcome.text.lines().collect();
        assert!(lines[0].starts_with("Chunk ID: ") && lines[0].len() == 16, "{}", lines[0]);
        let expected = [
            "Wall time: 1.0020 seconds",
            "Process running with session ID 42",
            "Original token count: 2",
            "Output:",
            "out",
            "[stderr]",
            "err",
            "[created out.txt]",
        ];
        assert_eq!(lines[1..], expected);
        assert_eq!((&value["session_id"], &value["wall_time_seconds"]), (&json!(42), &json!(1.002)));
        let (outcome, value) = tell("codex", "write_stdin", json!({"session_id": 42}), failed());
        assert!(outcome.text.contains("Process exited with code 1\n"), "{}", outcome.text);
        assert_eq!((&value["exit_code"], value.get("session_id")), (&json!(1), None));
    }

    #[test]
    fn codex_waits_within_its_bounds() {
        let wait = |tool: &str, arguments: Value| match decode_command(
            &policy(json!({"commands": {"enabled": true}})),
            "codex",
            tool,
            &arguments.to_string(),
        ) {
            Ok(Command::Start(start)) => start.yield_ms,
            Ok(Command::Write(input)) => input.yield_ms,
            other => panic!("{other:?}"),
        };
        assert_eq!(wait("exec_command", json!({"cmd": "x"})), 10_000);
        assert_eq!(wait("exec_command", json!({"cmd": "x", "yield_time_ms": 1})), 250);
        assert_eq!(wait("exec_command", json!({"cmd": "x", "yield_time_ms": 60_000})), 30_000);
        assert_eq!(wait("write_stdin", json!({"session_id": 1})), 5_000);
        assert_eq!(wait("write_stdin", json!({"session_id": 1, "yield_time_ms": 900_000})), 300_000);
        assert_eq!(wait("write_stdin", json!({"session_id": 1, "chars": "x", "yield_time_ms": 900_000})), 30_000);
        let shelled = json!({"cmd": "echo 'a'", "shell": "/bin/bash", "tty": true});
        let Ok(Command::Start(start)) = decode_command(&enabled(), "codex", "exec_command", &shelled.to_string())
        else {
            panic!()
        };
        assert_eq!((start.command.as_str(), start.terminal), (r"exec /bin/bash -lc 'echo '\''a'\'''", true));
    }

    #[test]
    fn weakincentives_runs_words_and_not_a_line() {
        let arguments =
            json!({"command": ["grep", "a b", "$HOME"], "env": {"lang": "C"}, "stdin": "x", "timeout_seconds": 0.5});
        let Ok(Command::Run(run)) =
            decode_command(&enabled(), "weakincentives", "shell_execute", &arguments.to_string())
        else {
            panic!()
        };
        assert_eq!(run.script, Script::Shell("LANG=C grep 'a b' '$HOME'".to_owned()));
        assert_eq!((run.stdin.as_str(), run.timeout_ms), ("x", 1_000));
        for odd in [
            json!({"command": []}),
            json!({"command": [""]}),
            json!({"command": "ls"}),
            json!({"command": ["ls"], "env": {"A=B; rm": "x"}}),
            json!({"command": ["ls"], "env": {"A": 1}}),
            json!({"command": ["ls"], "timeout_seconds": -1}),
            json!({"command": ["ls"], "timeout_seconds": "one"}),
        ] {
            let error = decode_command(&enabled(), "weakincentives", "shell_execute", &odd.to_string()).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument, "{odd}");
        }
        let Ok(Command::Run(run)) =
            decode_command(&enabled(), "weakincentives", "evaluate_python", r#"{"code": "print(1)"}"#)
        else {
            panic!()
        };
        assert_eq!((run.script, run.timeout_ms), (Script::Python("print(1)".to_owned()), 5_000));
    }

    #[test]
    fn a_terminal_has_both_its_sizes() {
        let write = |arguments: Value| decode_command(&enabled(), "paddock", "write_stdin", &arguments.to_string());
        assert!(write(json!({"session_id": 1, "columns": 80})).is_err());
        let Ok(Command::Write(input)) = write(json!({"session_id": 1, "columns": 100, "rows": 40})) else { panic!() };
        assert_eq!(input.size, Some((100, 40)));
        let Ok(Command::Start(start)) =
            decode_command(&enabled(), "paddock", "exec_command", r#"{"cmd": "sh", "rows": 50}"#)
        else {
            panic!()
        };
        assert_eq!((start.size, start.terminal), ((80, 50), true));
    }

    #[test]
    fn a_command_that_the_host_refuses_fails_in_the_dialect() {
        let error = || Error::new(Code::Denied, "the rule `rm` forbids `rm -r src`");
        let call = ("lincona", "shell", r#"{"command": "rm -r src"}"#);
        let outcome = answer(&fixture(), &enabled(), call, Err(error()), Vec::new());
        assert_eq!(outcome.error, Some(error().into()));
        let reported: Value = serde_json::from_str(&outcome.result).unwrap();
        assert_eq!(reported["error"], "CommandFailedError");
    }

    #[test]
    fn names_are_unique_and_listed_where_commands_are_enabled() {
        for dialect in paddock_dialects::registry::DIALECTS {
            let mut names: Vec<_> = dialect.all().map(|tool| tool.name).collect();
            let tools = registry::find(dialect.name).unwrap();
            let (all, usual) = (names.len(), tools.listed(false).len());
            assert_eq!((tools.listed(true).len(), all - usual), (all, dialect.commands.len()));
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{}", dialect.name);
            assert!(dialect.commands.iter().all(|tool| tool.traits.runs()), "{}", dialect.name);
        }
        let listed =
            |name: &str| registry::find(name).unwrap().listed(false).iter().any(|tool| tool.spec.traits.runs());
        assert!(listed("lincona"), "its specification lists them always");
        assert!(!listed("paddock") && !listed("codex") && !listed("weakincentives"));
    }

    /// Every member of a result is in its schema, and every required member is present.
    #[test]
    fn results_fit_their_schemas() {
        for (dialect, tool, arguments) in RENDERED_CALLS {
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            for ran in [
                failed(),
                Ran { session: Some(3), exit_code: None, ..failed() },
                Ran { signal: Some("SIGKILL".to_owned()), exit_code: None, ..failed() },
            ] {
                let (_, value) = tell(dialect, tool, arguments.clone(), ran);
                let spec = registry::find(dialect).unwrap().tool(tool).unwrap();
                fits(&serde_json::from_str(&schema::result(&spec.output)).unwrap(), &value, tool);
            }
        }
    }

    fn fits(schema: &Value, value: &Value, name: &str) {
        let (Some(properties), Some(members)) = (schema["properties"].as_object(), value.as_object()) else { return };
        for (member, value) in members {
            fits(properties.get(member).unwrap_or_else(|| panic!("{name}: {member}")), value, member);
        }
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(members.contains_key(required.as_str().unwrap()), "{name}: {required}");
        }
    }

    const RENDERED_CALLS: &[(&str, &str, &str)] = &[
        ("paddock", "shell", r#"{"command": "x"}"#),
        ("paddock", "exec_command", r#"{"command": "x"}"#),
        ("paddock", "kill_session", r#"{"session_id": 3}"#),
        ("paddock", "run_program", r#"{"name": "jq"}"#),
        ("lincona", "shell", r#"{"command": "x"}"#),
        ("lincona", "write_stdin", r#"{"session_id": 3}"#),
        ("codex", "exec_command", r#"{"cmd": "x"}"#),
        ("codex", "write_stdin", r#"{"session_id": 3}"#),
        ("weakincentives", "shell_execute", r#"{"command": ["x"], "capture_output": false}"#),
        ("weakincentives", "evaluate_python", r#"{"code": "x"}"#),
    ];
}
