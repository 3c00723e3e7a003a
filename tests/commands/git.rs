//! Git: commands that read cause no refusals, and with `commands.git` a commit works, while everything in `.git` that
//! runs code later stays protected.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{Fixture, changes, stdout};

/// Settings of commands: the identity that a commit needs, because commands have no `~/.gitconfig`.
fn settings(git: bool) -> Value {
    let names = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    let environment: serde_json::Map<_, _> = names.map(|name| (name.to_owned(), json!("agent"))).into_iter().collect();
    json!({"git": git, "environment": environment})
}

/// Creates a workspace that is a repository with one commit.
fn repository(commands: Value) -> Fixture {
    let fixture = Fixture::with(commands);
    for line in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["-c", "user.name=p", "-c", "user.email=p@x", "commit", "-q", "-m", "first"],
    ] {
        assert!(Command::new("git").args(line).current_dir(fixture.root()).status().unwrap().success(), "{line:?}");
    }
    fixture
}

/// Returns the names and contents of everything in `.git` that decides what Git runs.
fn deciding(git: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(git).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let is_data = [
            "objects",
            "refs",
            "logs",
            "index",
            "HEAD",
            "COMMIT_EDITMSG",
            "ORIG_HEAD",
            "packed-refs",
            "AUTO_MERGE",
            "FETCH_HEAD",
        ]
        .contains(&name.as_str());
        if name == "config" || name == "HEAD" {
            files.push(format!("{name} {}", fs::read_to_string(&path).unwrap_or_default()));
        } else if !is_data && path.is_dir() {
            for below in fs::read_dir(&path).unwrap() {
                files.push(below.unwrap().path().display().to_string());
            }
        } else if !is_data {
            files.push(path.display().to_string());
        }
    }
    files.sort();
    files
}

#[test]
fn commands_that_read_cause_no_refusals() {
    for git in [false, true] {
        let fixture = repository(settings(git));
        fs::write(fixture.root().join("new"), "").unwrap();
        for line in [
            "git status",
            "git diff",
            "git diff --stat HEAD",
            "git log -p --stat",
            "git show",
            "git branch -a",
            "git stash list",
            "git blame a.txt",
            "git describe --always --dirty",
            "git grep one",
            "git ls-files",
        ] {
            // Git sees the file as changed, compares its content, and would then write the index with the new time.
            let status = Command::new("touch").args(["-d", "2001-01-01", "a.txt"]).current_dir(fixture.root()).status();
            assert!(status.unwrap().success());
            let ran = fixture.shell(line);
            assert_eq!(
                (&ran["refused"], &ran["notes"], &ran["exit_code"]),
                (&json!([]), &json!([]), &json!(0)),
                "{line}: {ran}"
            );
        }
    }
}

#[test]
fn a_commit_is_refused_without_the_setting_and_the_reason_is_named() {
    let fixture = repository(settings(false));
    let ran = fixture.shell("echo x >> a.txt; git commit -qam second");
    assert_ne!(ran["exit_code"], 0);
    assert!(ran["refused"].to_string().contains("`.git` is protected"), "{ran}");
    assert_eq!(changes(&ran), ["modified a.txt"]);
}

#[test]
fn a_repository_is_worked_with() {
    let fixture = repository(settings(true));
    let before = deciding(&fixture.root().join(".git"));
    for (line, printed) in [
        ("echo two >> a.txt; git add a.txt; git commit -qm second; git log --oneline | wc -l", "2\n"),
        ("git switch -qc topic; echo x > c; git add c; git commit -qm third; git branch --show-current", "topic\n"),
        ("git switch -q main; git merge -q --no-ff -m merged topic; cat c", "x\n"),
        ("echo y > c; git stash -q; cat c; git stash pop -q; cat c; git checkout -q c", "x\ny\n"),
        ("git tag -m note v1; git describe", "v1\n"),
        (
            "git pack-refs --all; git branch -q other; git update-ref -d refs/heads/other; git branch --list",
            "* main\n  topic\n",
        ),
        (
            "echo z > d; git add d; git commit -qm fourth d; git commit -q --amend -m fifth; git log -1 --format=%s",
            "fifth\n",
        ),
        ("git reset -q --hard HEAD~1; git revert -n HEAD -m 1; git status -s; git reset -q --hard", "D  c\n"),
        (
            "git cherry-pick topic~0 --allow-empty --keep-redundant-commits >/dev/null; git log -1 --format=%s",
            "third\n",
        ),
        ("git fetch -q . main:refs/remotes/other/main && git rev-parse -q --verify other/main >/dev/null", ""),
        ("git fsck --strict --no-dangling 2>&1; git status -s", ""),
    ] {
        let ran = fixture.shell(line);
        assert_eq!((stdout(&ran).as_str(), &ran["exit_code"]), (printed, &json!(0)), "{line}: {ran}");
        assert_eq!(ran["refused"], json!([]), "{line}: {ran}");
        assert!(!changes(&ran).iter().any(|change| change.contains(".git")), "{line}: {ran}");
    }
    let after = deciding(&fixture.root().join(".git"));
    assert_eq!(before, after);
    // The changes of files have a backup, and Git's data has its own history.
    let ran = fixture.shell("echo more >> a.txt; git commit -qam sixth");
    assert!(ran["ignored"].as_u64().unwrap() > 0 && changes(&ran) == ["modified a.txt"], "{ran}");
    fixture.ok("restore", json!({"backup": ran["backup"]}));
    assert_eq!(fixture.read("a.txt").unwrap(), "one\ntwo\n");
}

/// Lines that try to make Git run a program later, or to look for its settings elsewhere.
const ATTACKS: [&str; 33] = [
    "echo evil > .git/hooks/pre-commit",
    "echo evil > x; chmod +x x; mv x .git/hooks/post-commit",
    "cp .git/hooks/*.sample .git/hooks/pre-commit",
    "ln -s ../../x .git/hooks/pre-commit",
    "mv .git/hooks .git/h; mkdir .git/hooks",
    "mkdir -p h; mv h .git/hooks",
    "rm -rf .git/hooks; mkdir .git/hooks",
    "git config core.fsmonitor evil",
    "git config core.hooksPath .",
    "echo evil >> .git/config",
    "cp .git/config x; echo evil >> x; mv x .git/config",
    "cp .git/config x; echo evil >> x; mv -f x .git/config.lock; mv .git/config.lock .git/config",
    "ln -f a.txt .git/config",
    "ln .git/config alias; echo evil >> alias",
    "ln -sf ../a.txt .git/config",
    "rm .git/config",
    "truncate -s 0 .git/config",
    "echo evil > .git/config.worktree",
    "echo evil > .git/CONFIG",
    "echo '* filter=evil' > .git/info/attributes",
    "echo ../evil > .git/commondir",
    "echo ../evil > .git/gitdir",
    "mkdir -p .git/objects/info; echo /home > .git/objects/info/alternates",
    "echo /home > .git/objects/x; mv .git/objects/x .git/objects/info/alternates",
    "mkdir -p .git/modules/m/hooks; echo evil > .git/modules/m/hooks/pre-commit; echo evil > .git/modules/m/config",
    "git worktree add w; mkdir -p .git/worktrees/w; echo evil > .git/worktrees/w/config.worktree",
    "mkdir -p .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo",
    "mv .git g; mkdir .git; mv .git/hooks x",
    "mv .git/refs x; mv x .git/hooks",
    "mv .git/objects o; rmdir .git/refs",
    "echo > .gitmodules; echo evil > .vscode; mkdir .husky",
    "mkdir -p sub/.git/hooks; echo evil > sub/.git/config; git init -q sub",
    "exec 3<>.git/config; echo evil >&3; cd .git/refs && echo evil > ../hooks/x; cd ../logs && echo evil > ../config",
];

#[test]
fn hooks_and_settings_stay_as_they_are() {
    let fixture = repository(settings(true));
    let git = fixture.root().join(".git");
    let before = deciding(&git);
    for line in ATTACKS {
        let ran = fixture.shell(line);
        assert_eq!(deciding(&git), before, "{line}: {ran}");
        assert!(git.join("refs").is_dir() && git.join("objects").is_dir(), "{line}");
        assert!(!git.join("objects/info/alternates").exists(), "{line}");
        for absent in [".gitmodules", ".vscode", ".husky", "sub/.git"] {
            assert!(!fixture.root().join(absent).exists(), "{line}: {absent}");
        }
        fixture.shell("rm -rf x h o g w alias sub");
    }
}

/// A person's Git writes to files such as `COMMIT_EDITMSG`, with content that a command can choose (`MERGE_MSG`).
#[test]
fn no_link_redirects_writes_of_git() {
    let fixture = repository(settings(true));
    let target = fixture.home.path().join("outside/secret");
    let target = target.display();
    for line in [
        format!("ln -sf {target} .git/COMMIT_EDITMSG"),
        "ln -sf config .git/COMMIT_EDITMSG".to_owned(),
        format!("ln -s {target} x; mv -f x .git/COMMIT_EDITMSG"),
        format!("ln -s {target} x; ln -Pf x .git/COMMIT_EDITMSG"),
        format!("ln -s {target} x; mv --exchange x .git/COMMIT_EDITMSG"),
        format!("rm -rf .git/logs/*; ln -s {target} .git/logs/HEAD"),
        format!("rm -rf .git/logs/*; mkdir l; ln -s {target} l/HEAD; mv -T l .git/logs"),
        format!("mv .git/logs/refs l; ln -s {target} l/x; mv l .git/logs/refs"),
        "mkfifo .git/FETCH_HEAD; mkfifo p; mv p .git/ORIG_HEAD".to_owned(),
        format!("python3 -c 'import os; os.symlink(\"{target}\", \".git/FETCH_HEAD\")'"),
    ] {
        fixture.shell(&line);
        let output =
            Command::new("find").arg(fixture.root().join(".git")).args(["-type", "l", "-o", "-type", "p"]).output();
        assert_eq!(String::from_utf8_lossy(&output.unwrap().stdout), "", "{line}");
        fixture.shell("rm -rf x l p");
    }
}

/// If the `HEAD` of `.git` is invalid, Git takes a directory above it for the repository, whose settings are ordinary files
/// there.
#[test]
fn head_stays_valid() {
    let fixture = repository(settings(true));
    let before = fixture.read(".git/HEAD").unwrap();
    for line in [
        "echo evil > .git/HEAD",
        "rm -f .git/HEAD",
        "mv .git/HEAD x",
        "mv a.txt .git/HEAD",
        "ln -f a.txt .git/HEAD",
        "truncate -s 0 .git/HEAD",
        "chmod 0 .git/HEAD",
        "echo evil > .git/HEAD.lock; mv .git/HEAD.lock .git/HEAD",
        "echo 'ref: refs/heads/main' > .git/HEAD.lock; mv --exchange .git/HEAD.lock .git/HEAD; rm -f .git/HEAD",
        // The command writes after the check through a descriptor that it opened before.
        "exec 3<>.git/HEAD.lock; echo 'ref: refs/heads/main' >&3; mv .git/HEAD.lock .git/HEAD; echo evil >&3",
    ] {
        fixture.shell(line);
        assert_eq!(fixture.read(".git/HEAD").as_deref(), Some(&*before), "{line}");
        fixture.shell("rm -f .git/HEAD.lock x; git checkout -q a.txt");
    }
    let ran = fixture.shell("echo evil > .git/HEAD.lock; mv .git/HEAD.lock .git/HEAD");
    assert!(ran["refused"].to_string().contains("has to name a branch or a commit"), "{ran}");
}

/// Writes an index with the entries of this script's arguments, each with the content of `payload`.
const FORGE: &str = r#"
import hashlib, struct, subprocess, sys
object = bytes.fromhex(subprocess.check_output(["git", "hash-object", "-w", "payload"], text=True).strip())
entries = b""
for name in sorted(name.encode() for name in sys.argv[1:]):
    entry = bytes(24) + struct.pack(">IIII", 0o100755, 0, 0, 0) + object + struct.pack(">H", len(name)) + name
    entries += entry + bytes(8 - len(entry) % 8)
content = b"DIRC" + struct.pack(">II", 2, len(sys.argv) - 1) + entries
open(".git/index.lock", "wb").write(content + hashlib.sha1(content).digest())
"#;

/// Git writes to each path of the index when a person discards changes, and does not check the paths.
#[test]
fn the_index_leads_to_no_path_that_a_command_could_not_change() {
    let fixture = repository(settings(true));
    fs::write(fixture.root().join("forge.py"), FORGE).unwrap();
    fs::write(fixture.root().join("payload"), "#!/bin/sh\ntouch evil\n").unwrap();
    fs::write(fixture.root().join(".agentignore"), "secret\n").unwrap();
    let index = fs::read(fixture.root().join(".git/index")).unwrap();
    let outside = fixture.home.path().join("planted");
    let outside = outside.to_str().unwrap();
    for path in [
        ".git/hooks/post-checkout",
        ".GIT/hooks/post-checkout",
        "sub/.git/config",
        "../planted",
        outside,
        "a/../../planted",
        ".vscode/tasks.json",
        "secret",
    ] {
        for end in
            ["mv .git/index.lock .git/index", "cat .git/index.lock > .git/index", "ln -f .git/index.lock .git/index"]
        {
            let ran = fixture.shell(&format!("python3 forge.py {path} && {end}"));
            assert_ne!(ran["exit_code"], 0, "{path}: {ran}");
            assert_eq!(fs::read(fixture.root().join(".git/index")).unwrap(), index, "{path}, {end}: {ran}");
            fixture.shell("rm -f .git/index.lock");
        }
    }
    let status = Command::new("git").args(["checkout", "-q", "--", "."]).current_dir(fixture.root()).status();
    assert!(status.unwrap().success());
    assert!(!fixture.home.path().join("planted").exists() && !fixture.root().join("evil").exists());
    // The same index with an ordinary path is accepted.
    let ran = fixture.shell("python3 forge.py a.txt && mv .git/index.lock .git/index && git ls-files");
    assert_eq!((stdout(&ran).as_str(), &ran["exit_code"]), ("a.txt\n", &json!(0)), "{ran}");
    // A flag of the index that hides changes from `git status` is refused.
    let ran = fixture.shell("git reset -q; git update-index --assume-unchanged a.txt");
    assert!(ran["refused"].to_string().contains("shows no change"), "{ran}");
}

/// Otherwise a person could see something else in a commit than the commit contains.
#[test]
fn objects_are_not_replaced() {
    let fixture = repository(settings(true));
    let ran = fixture.shell("echo x > b; git add b; git commit -qm second; git replace HEAD HEAD~1");
    assert!(ran["exit_code"] != 0 && !fixture.root().join(".git/refs/replace").exists(), "{ran}");
    let line = "git pack-refs --all; (cat .git/packed-refs; echo $(git rev-parse HEAD) refs/replace/$(git rev-parse HEAD~1)) > .git/packed-refs.lock; mv .git/packed-refs.lock .git/packed-refs";
    let ran = fixture.shell(line);
    assert!(ran["refused"].to_string().contains("refs/replace"), "{ran}");
    assert!(!fixture.read(".git/packed-refs").unwrap().contains("replace"));
}
