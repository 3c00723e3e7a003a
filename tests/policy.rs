//! The policy: its layers, its three formats, and the workspace's file, which can only narrow it.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use paddock::types::ErrorCode;
use paddock::{Access, Layers, Workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A user with a home directory and a workspace.
struct User {
    _top: TempDir,
    home: PathBuf,
    workspace: PathBuf,
}

impl User {
    fn new() -> Self {
        let top = TempDir::new().unwrap();
        let path = top.path().canonicalize().unwrap();
        let user = Self { _top: top, home: path.join("home"), workspace: path.join("ws") };
        fs::create_dir_all(user.config()).unwrap();
        fs::create_dir(&user.workspace).unwrap();
        fs::write(user.workspace.join("a.txt"), "a\n".repeat(3_000)).unwrap();
        user
    }

    fn config(&self) -> PathBuf {
        self.home.join(".config/paddock")
    }

    /// Writes the user's policy.
    fn sets(&self, yaml: &str) -> &Self {
        fs::write(self.config().join("policy.yaml"), yaml).unwrap();
        self
    }

    /// Writes the policy in the workspace.
    fn project(&self, yaml: &str) -> &Self {
        fs::write(self.workspace.join(".paddock.yaml"), yaml).unwrap();
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.args(arguments).current_dir(&self.workspace).env_clear().env("HOME", &self.home);
        command.env("PADDOCK_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("policy-cache"));
        command.env("PADDOCK_STATE_DIR", self.home.join("state"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Makes a call and returns its result.
    fn call(&self, options: &[&str], tool: &str, arguments: Value) -> Value {
        let output = self.run(&[&["call"], options, &[tool, &arguments.to_string()]].concat());
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Makes a call and returns its error code, if it fails.
    fn code(&self, options: &[&str], tool: &str, arguments: Value) -> Option<String> {
        self.call(options, tool, arguments)["error"]["code"].as_str().map(str::to_owned)
    }

    /// Returns every setting with its value and origin.
    fn effective_settings(&self, options: &[&str]) -> Value {
        printed_settings(&mut self.command(&[&["policy", "show", "--json"], options].concat()))
    }

    /// Runs a command that must fail, and returns the message without the program's name.
    fn fails(&self, options: &[&str]) -> String {
        failure(&mut self.command(&[&["policy", "show"], options].concat()))
    }

    fn config_file(&self) -> String {
        self.config().join("policy.yaml").display().to_string()
    }

    fn project_file(&self) -> String {
        self.workspace.join(".paddock.yaml").display().to_string()
    }
}

fn printed_settings(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn failure(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    text.strip_prefix("paddock: ").expect(&text).trim_end().to_owned()
}

const MAX_LINES: &str = "limits.max_lines";

#[test]
fn each_layer_wins_over_the_one_before() {
    let user = User::new();
    fs::write(user.home.join("mine.toml"), "\n[limits]\nmax_lines = 1600\n").unwrap();
    let mine = user.home.join("mine.toml").display().to_string();
    let value_of = |command: &mut Command| {
        let settings = printed_settings(command);
        (settings[MAX_LINES]["value"].clone(), settings[MAX_LINES]["from"].clone())
    };
    let effective_settings = |options: &[&str]| user.command(&[&["policy", "show", "--json"], options].concat());
    assert_eq!(value_of(&mut effective_settings(&[])), (json!(2_000), json!(["built in"])));
    user.sets("limits:\n  max_lines: 1900\n");
    assert_eq!(value_of(&mut effective_settings(&[])), (json!(1_900), json!([format!("{}:2", user.config_file())])));
    user.project("# ours\nlimits: {max_lines: 1800}\n");
    assert_eq!(value_of(&mut effective_settings(&[])), (json!(1_800), json!([format!("{}:2", user.project_file())])));
    let env = |command: &mut Command| value_of(command.env("PADDOCK_POLICY", "\n{\"limits\": {\"max_lines\": 1700}}"));
    assert_eq!(env(&mut effective_settings(&[])), (json!(1_700), json!(["PADDOCK_POLICY:2"])));
    assert_eq!(env(&mut effective_settings(&["--policy", &mine])), (json!(1_600), json!([format!("{mine}:3")])));
    let set = &["--policy", mine.as_str(), "--set", "limits.max_lines=1500"];
    assert_eq!(env(&mut effective_settings(set)), (json!(1_500), json!(["--set"])));
    // Calls use the same value.
    let last =
        |options: &[&str]| user.call(options, "read_file", json!({"path": "a.txt"}))["result"]["end_line"].clone();
    assert_eq!((last(&[]), last(set)), (json!(1_800), json!(1_500)));
    let read_only = user.effective_settings(&["--set", "read_only=false", "--read-only"]);
    assert_eq!(read_only["read_only"], json!({"value": true, "from": ["--read-only"]}));
    // A layer without a setting does not change it.
    assert_eq!(user.effective_settings(set)["limits.max_files"], json!({"value": 1_000, "from": ["built in"]}));
}

#[test]
fn the_user_s_files_are_found_where_they_belong() {
    let user = User::new();
    let file = |name: &str| user.config().join(name);
    for (name, text) in [
        ("policy.yml", "read_only: true"),
        ("policy.toml", "read_only = true"),
        ("policy.json", "{\"read_only\": true}"),
    ] {
        fs::write(file(name), text).unwrap();
        assert_eq!(user.effective_settings(&[])["read_only"]["from"], json!([format!("{}:1", file(name).display())]));
        fs::remove_file(file(name)).unwrap();
    }
    let xdg = user.home.join("xdg");
    fs::create_dir_all(xdg.join("paddock")).unwrap();
    fs::write(xdg.join("paddock/policy.yaml"), "allow_protected: true").unwrap();
    user.sets("read_only: true");
    let settings = printed_settings(user.command(&["policy", "show", "--json"]).env("XDG_CONFIG_HOME", &xdg));
    assert_eq!((&settings["read_only"]["value"], &settings["allow_protected"]["value"]), (&json!(false), &json!(true)));
    fs::write(file("policy.toml"), "").unwrap();
    let both = format!("{}: `{}` exists too; keep one of them", file("policy.toml").display(), user.config_file());
    assert_eq!(user.fails(&[]), both);
}

#[test]
fn all_formats_give_the_same_policy() {
    let user = User::new();
    let yaml = "
mode: restricted
allowed_directories:
  - .
  - {path: sub, access: read-only}
readOnly: false
blocked_directories: [bin, ./obj]
allowedExtensions: [.md, '']
blocked_extensions:
  - .exe
hard_links: refuse
approval_policy: on-change
backups: {max_count: 5, maxDays: 2}
max_file_size: 10485759
max_files_per_operation: 0x10
limits:
  max_line_chars: 100
";
    let toml = "
mode = 'restricted'
allowed_directories = ['.', {path = 'sub', access = 'read-only'}]
readOnly = false
blocked_directories = ['bin', './obj']
allowedExtensions = ['.md', '']
blocked_extensions = ['.exe']
hard_links = 'refuse'
approval_policy = 'on-change'
backups.max_count = 5
backups.maxDays = 2
max_file_size = 10_485_759
max_files_per_operation = 0x10
[limits]
max_line_chars = 100
";
    let json = r#"{"fsMode": "restricted", "allowed_directories": [".", {"path": "sub", "access": "read-only"}],
"readOnly": false, "blocked_directories": ["bin", "./obj"], "allowedExtensions": [".md", ""],
"blocked_extensions": [".exe"], "hard_links": "refuse", "approval": "on-change",
"backups": {"max_count": 5, "maxDays": 2}, "maxFileSize": 10485759, "maxFilesPerOperation": 16,
"limits": {"max_line_chars": 100}}"#;
    let values = |name: &str, text: &str| -> Vec<(String, Value)> {
        let path = user.home.join(name);
        fs::write(&path, text).unwrap();
        let settings = user.effective_settings(&["--policy", path.to_str().unwrap()]);
        settings.as_object().unwrap().iter().map(|(name, setting)| (name.clone(), setting["value"].clone())).collect()
    };
    let from_yaml = values("p.yaml", yaml);
    assert_eq!(from_yaml, values("p.toml", toml));
    assert_eq!(from_yaml, values("p.json", json));
    let of = |name: &str| from_yaml.iter().find(|(known, _)| known == name).unwrap().1.clone();
    assert_eq!(of("limits.max_file_bytes"), 10_485_759);
    assert_eq!(of("limits.max_files"), 16);
    assert_eq!(of("approval"), "on-change");
    let sub = json!({"path": user.home.join("sub"), "access": "read-only"});
    assert_eq!(of("allowed_directories"), json!([user.home, sub]), "from the file's own directory");
}

#[test]
fn mistakes_are_reported_with_file_and_line() {
    let user = User::new();
    let path = user.home.join("p.yaml");
    let file = path.display().to_string();
    let file = file.as_str();
    for (text, line, message) in [
        ("read_onyl: true", 1, "`read_onyl`: there is no such setting; did you mean `read_only`?"),
        (
            "\nlimits:\n  max_line: 3",
            3,
            "`limits.max_line`: there is no such setting; did you mean `limits.max_lines`?",
        ),
        ("max_lines: 3", 1, "`max_lines`: there is no such setting; did you mean `limits.max_lines`?"),
        ("xyz: 3", 1, "`xyz`: there is no such setting"),
        ("narrowed: {}", 1, "`narrowed`: there is no such setting"),
        ("host: {private: []}", 1, "`host`: there is no such setting"),
        ("mode: restricted\nread_only: yes", 2, "`read_only`: invalid type: string \"yes\", expected a boolean"),
        ("limits:\n  max_lines: many\n", 2, "`limits.max_lines`: invalid type: string \"many\", expected u64"),
        ("limits: 3", 1, "`limits`: it is a table of settings"),
        ("mode: free", 1, "`mode`: unknown variant `free`, expected `restricted` or `unrestricted`"),
        (
            "allowed_directories:\n- a\n- {path: b, acess: read-only}",
            3,
            "`allowed_directories.1`: it is a path, or a table of `path` and `access`, which is `read-only` or `read-write`",
        ),
        (
            "blocked_directories:\n  - a\n  - 3",
            3,
            "`blocked_directories.1`: invalid type: integer `3`, expected a string",
        ),
        ("a: 1\nb: &b 2", 2, "anchors and aliases are not supported: repeat the value"),
        ("a: &a [x]\nb: *a", 1, "anchors and aliases are not supported: repeat the value"),
        ("read_only: true\nread_only: false", 2, "`read_only` is there twice, first in line 1"),
        ("read_only: true\nreadOnly: false", 2, "`read_only`: line 1 sets it already, as `read_only`"),
        (
            "max_file_size: 3\nlimits:\n  max_file_bytes: 4",
            3,
            "`limits.max_file_bytes`: line 1 sets it already, as `max_file_size`",
        ),
        (
            "approval: never\nrequire_confirmation_for_delete: true",
            2,
            "`require_confirmation_for_delete`: `true` contradicts `approval: never` in line 1",
        ),
        (
            "requireConfirmationForDelete: false\napproval: on-change",
            1,
            "`require_confirmation_for_delete`: `false` contradicts `approval: on-change` in line 2",
        ),
        ("\nlimits: {max_files: 0}", 2, "`limits.max_files`: must be at least 1"),
        ("blocked_extensions: [exe]", 1, "`blocked_extensions`: `exe` is not an extension; write it like `.md`"),
        (
            "allowed_extensions: [.a]\nblocked_extensions: [.A]",
            2,
            "`blocked_extensions`: `.A` is in `allowed_extensions` too",
        ),
        (
            "allowed_directories:\n- .\n- ${NONE}/a",
            3,
            "`allowed_directories`: `${NONE}/a`: the environment has no variable `NONE`",
        ),
        (
            "commands:\n  programs:\n    ok: a.wasm\n    jq: ${NONE}/jq.wasm",
            4,
            "`commands.programs`: `${NONE}/jq.wasm`: the environment has no variable `NONE`",
        ),
        (
            "commands: {enabled: true,\n programs: {../jq: a.wasm}}",
            2,
            "`commands.programs`: `../jq`: a program is called by 1 to 64 letters, digits, `-`, `_` and `.`, no `.` first",
        ),
        ("commands: {max_processes: 0}", 1, "`commands.max_processes`: must be at least 1"),
        (
            "commands: {environment: {A: 1}}",
            1,
            "`commands.environment.A`: invalid type: integer `1`, expected a string",
        ),
        ("blocked_directories: [\"${A\"]", 1, "`blocked_directories`: `${A`: `${` without `}`"),
        (
            "blocked_directories: [\"~/..\"]",
            1,
            "`blocked_directories`: `{home}/..` names nothing below the top of a root",
        ),
        ("\"a\\e[2J\\u202e\": 1", 1, "`a\\u{1b}[2J\\u{202e}`: there is no such setting"),
    ] {
        fs::write(&path, text).unwrap();
        let message = message.replace("{home}", user.home.to_str().unwrap());
        assert_eq!(user.fails(&["--policy", file]), format!("{file}:{line}: {message}"), "{text}");
    }
    let many = format!("blocked_directories: [{}]", "a,".repeat(1_001));
    fs::write(&path, many).unwrap();
    assert_eq!(
        user.fails(&["--policy", file]),
        format!("{file}:1: `blocked_directories`: it has more than 1000 items")
    );
    for (name, text, message) in [
        (
            "p.toml",
            "mode = 'restricted'\nread_onyl = true\n",
            "2: `read_onyl`: there is no such setting; did you mean `read_only`?",
        ),
        ("p.toml", "[limits]\nmax_lines = 1\nmax_lines = 2\n", "3: duplicate key"),
        (
            "p.json",
            "{\"limits\": {\n\"max_lines\": -1}}",
            "2: `limits.max_lines`: invalid value: integer `-1`, expected u64",
        ),
        (
            "p.json",
            "{\"mode\": \"restricted\",\n\"mode\": \"restricted\"}",
            "2: `mode` is there twice, first in line 1",
        ),
    ] {
        let path = user.home.join(name).display().to_string();
        fs::write(&path, text).unwrap();
        assert_eq!(user.fails(&["--policy", &path]), format!("{path}:{message}"));
    }
}

#[test]
fn arguments_and_the_environment_are_read_as_strictly() {
    let user = User::new();
    for (assignment, message) in [
        ("limits.max_line=3", "`limits.max_line`: there is no such setting; did you mean `limits.max_lines`?"),
        ("read_only", "`read_only` is not `NAME=VALUE`"),
        ("read_only=", "`read_only`: invalid type: null, expected a boolean"),
        (
            "read_only=true\nmode: unrestricted",
            "`read_only`: invalid type: string \"true mode: unrestricted\", expected a boolean",
        ),
        ("blocked_directories=[&a x]", "anchors and aliases are not supported: repeat the value"),
    ] {
        let failed = user.fails(&["--set", assignment]);
        assert!(failed.starts_with("--set: "), "{failed}");
        if !assignment.contains('\n') {
            assert_eq!(failed, format!("--set: {message}"), "{assignment}");
        }
    }
    let env = |text: &str| failure(user.command(&["policy", "show"]).env("PADDOCK_POLICY", text));
    assert_eq!(
        env("read_only: true\nmod: x"),
        "PADDOCK_POLICY:2: `mod`: there is no such setting; did you mean `mode`?"
    );
    assert_eq!(env("{\"roots\": []}"), "PADDOCK_POLICY:1: `roots`: there is no such setting");
    assert!(user.run(&["policy", "show", "--set", "blocked_directories=[a, b]"]).status.success());
    let unknown = user.run(&["policy", "show", "--dialect", "latin"]);
    assert_eq!(unknown.status.code(), Some(1), "no dialect, no policy");
}

#[test]
fn variables_and_the_home_stand_for_paths() {
    let user = User::new();
    fs::create_dir_all(user.home.join("own/shared")).unwrap();
    fs::write(user.home.join("own/shared/s.txt"), "s\n").unwrap();
    fs::create_dir(user.workspace.join("private")).unwrap();
    fs::write(user.workspace.join("private/p.txt"), "p\n").unwrap();
    let text = "allowed_directories: ['${OWN}/shared', '~/own']\nblocked_directories: ['${WS}/private']\n";
    user.sets(text);
    let mut command = user.command(&["policy", "show", "--json"]);
    let settings = printed_settings(command.env("OWN", "own").env("WS", &user.workspace));
    let relative = user.config().join("own/shared");
    assert_eq!(settings["allowed_directories"]["value"], json!([relative, user.home.join("own")]));
    let call = |tool: &str, path: &Path| -> Value {
        let mut command = user.command(&["call", tool, &json!({ "path": path }).to_string()]);
        let output = command.env("OWN", user.home.join("own")).env("WS", &user.workspace).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(call("read_file", &user.home.join("own/shared/s.txt"))["result"]["path"], "/shared/s.txt");
    assert_eq!(call("read_file", Path::new("private/p.txt"))["error"]["code"], "denied");
}

#[test]
fn paths_of_commands_start_at_the_file() {
    let user = User::new();
    user.sets(
        "commands:\n  enabled: true\n  readable: [~/data, data]\n  path: ['${OWN}/bin']\n  programs: {jq: wasm/jq.wasm}\n",
    );
    let settings = printed_settings(user.command(&["policy", "show", "--json"]).env("OWN", &user.home));
    let value = |name: &str| &settings[format!("commands.{name}").as_str()]["value"];
    assert_eq!(*value("enabled"), json!(true));
    assert_eq!(*value("readable"), json!([user.home.join("data"), user.config().join("data")]));
    assert_eq!(*value("path"), json!([user.home.join("bin")]));
    assert_eq!(*value("programs"), json!({"jq": user.config().join("wasm/jq.wasm")}));
    assert_eq!(*value("max_sessions"), json!(64));
}

#[test]
fn a_blocked_path_is_blocked_by_whichever_link_it_is_named() {
    let user = User::new();
    fs::create_dir(user.workspace.join("private")).unwrap();
    fs::write(user.workspace.join("private/p.txt"), "p\n").unwrap();
    symlink(&user.workspace, user.home.join("link")).unwrap();
    user.sets("blocked_directories: ['~/link/private']\n");
    let denied = Some("denied".to_owned());
    assert_eq!(user.code(&[], "read_file", json!({"path": "private/p.txt"})), denied);
    // If a link takes the blocked name, the rule applies to the name and to the target of the link.
    fs::rename(user.workspace.join("private"), user.workspace.join("public")).unwrap();
    symlink("public", user.workspace.join("private")).unwrap();
    for path in ["private/p.txt", "public/p.txt"] {
        assert_eq!(user.code(&[], "read_file", json!({ "path": path })), denied, "{path}");
    }
}

/// Settings: the user's value, the workspace's value, and the result.
const NARROWED: &[(&str, &str, &str, &str)] = &[
    ("read_only", "read_only: false", "read_only: true", "true"),
    ("mode", "mode: unrestricted", "mode: restricted", "\"restricted\""),
    ("allow_protected", "allow_protected: true", "allow_protected: false", "false"),
    ("hard_links", "hard_links: keep", "hard_links: break", "\"break\""),
    ("hard_links", "", "hard_links: refuse", "\"refuse\""),
    ("approval", "", "approval: on-delete", "\"on-delete\""),
    ("approval", "approval: on-delete", "approval: on-change", "\"on-change\""),
    ("approval", "", "require_confirmation_for_delete: true", "\"on-delete\""),
    ("approval", "approval: on-change", "require_confirmation_for_delete: true", "\"on-change\""),
    ("enable_audit_logging", "", "enable_audit_logging: true", "true"),
    ("blocked_directories", "blocked_directories: [a]", "blocked_directories: [b, a]", r#"["a","b"]"#),
    ("blocked_extensions", "blocked_extensions: [.a]", "blocked_extensions: []", r#"[".a"]"#),
    ("allowed_extensions", "", "allowed_extensions: [.a]", r#"[".a"]"#),
    ("allowed_extensions", "allowed_extensions: [.a, .b]", "allowed_extensions: [.b, .c]", r#"[".b"]"#),
    ("commands.git", "commands: {git: true}", "commands: {git: false}", "false"),
    ("limits.max_files", "limits: {max_files: 500}", "maxFilesPerOperation: 400", "400"),
];

#[test]
fn a_workspace_s_own_file_narrows() {
    for (setting, own, narrowing, value) in NARROWED {
        let user = User::new();
        let settings = user.sets(own).project(narrowing).effective_settings(&[]);
        assert_eq!(settings[setting]["value"].to_string(), **value, "{own} / {narrowing}");
    }
}

#[test]
fn a_workspace_s_own_file_widens_nothing() {
    for (own, widening, message) in [
        ("read_only: true", "read_only: false", "`read_only`: `false` would allow more than `true`, which is in force"),
        ("", "mode: unrestricted", "`mode`: `unrestricted` would allow more than `restricted`, which is in force"),
        ("", "allow_protected: true", "`allow_protected`: `true` would allow more than `false`, which is in force"),
        ("", "commands: {git: true}", "`commands.git`: `true` would allow more than `false`, which is in force"),
        ("", "hard_links: keep", "`hard_links`: `keep` would allow more than `break`, which is in force"),
        (
            "hard_links: refuse",
            "hard_links: break",
            "`hard_links`: `break` would allow more than `refuse`, which is in force",
        ),
        (
            "approval: on-change",
            "approval: on-delete",
            "`approval`: `on-delete` would allow more than `on-change`, which is in force",
        ),
        (
            "approval: on-delete",
            "require_confirmation_for_delete: false",
            "`approval`: `never` would allow more than `on-delete`, which is in force",
        ),
        (
            "enable_audit_logging: true",
            "enable_audit_logging: false",
            "`enable_audit_logging`: `false` would allow more than `true`, which is in force",
        ),
        (
            "allowed_extensions: [.a]",
            "allowed_extensions: []",
            "`allowed_extensions`: `[]` would allow more than `[.a]`, which is in force",
        ),
        (
            "allowed_extensions: [.a]",
            "allowed_extensions: [.b]",
            "`allowed_extensions`: nothing of `[.b]` is in `[.a]`, which is in force",
        ),
        ("", "limits: {max_files: 1001}", "`limits.max_files`: `1001` would allow more than `1000`, which is in force"),
        ("", "allowed_directories: [..]", "`allowed_directories`: it can only be set outside the workspace"),
        ("", "backups: {enabled: false}", "`backups`: it can only be set outside the workspace"),
        (
            "",
            "commands: {enabled: true}",
            "`commands.enabled`: `true` would allow more than `false`, which is in force",
        ),
        (
            "commands: {enabled: true}",
            "commands: {allow: [rm]}",
            "`commands.allow`: it can only be set outside the workspace",
        ),
        (
            "",
            "commands: {environment: {LD_PRELOAD: x.so}}",
            "`commands.environment`: it can only be set outside the workspace",
        ),
        (
            "",
            "commands: {programs: {jq: '~/jq.wasm'}}",
            "`commands.programs`: `~/jq.wasm`: neither `${NAME}` nor `~` is replaced in a file of the workspace",
        ),
        (
            "",
            "blocked_directories: ['${HOME}']",
            "`blocked_directories`: `${HOME}`: neither `${NAME}` nor `~` is replaced in a file of the workspace",
        ),
        (
            "",
            "allowed_directories: [{path: '~/x'}]",
            "`allowed_directories`: `~/x`: neither `${NAME}` nor `~` is replaced in a file of the workspace",
        ),
    ] {
        let user = User::new();
        let failed = user.sets(own).project(&format!("# ours\n\n{widening}\n")).fails(&[]);
        assert_eq!(failed, format!("{}:3: {message}", user.project_file()), "{own} / {widening}");
        // No command runs without the policy.
        let called = user.run(&["call", "stat", r#"{"path": "a.txt"}"#]);
        assert_eq!((called.status.code(), called.stdout.len()), (Some(3), 0));
    }
}

#[test]
fn a_dialect_s_own_settings_are_not_widened_either() {
    let user = User::new();
    user.project(
        "blocked_directories: [secrets]\nblocked_extensions: []\napproval: never\nenable_audit_logging: false\n",
    );
    let settings = user.effective_settings(&["--dialect", "dotnet-prompt"]);
    let built_in = "built in (dotnet-prompt)";
    let line = |line| format!("{}:{line}", user.project_file());
    for (setting, value, from) in [
        ("blocked_directories", json!(["bin", "obj", ".git", "node_modules", "secrets"]), json!([built_in, line(1)])),
        ("blocked_extensions", json!([".exe", ".dll", ".so", ".dylib"]), json!([built_in])),
        ("approval", json!("on-delete"), json!([built_in])),
        ("enable_audit_logging", json!(true), json!([built_in])),
        ("read_only", json!(false), json!(["built in"])),
    ] {
        assert_eq!(settings[setting], json!({"value": value, "from": from}), "{setting}");
    }
    for path in ["bin/b.txt", "secrets/s.txt", "x.exe"] {
        let file = user.workspace.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "x\n").unwrap();
        let read = user.call(&["--dialect", "dotnet-prompt"], "read_file", json!({ "file_path": path }));
        assert_eq!(read["ok"], false, "{path}: {read}");
    }
    let read = user.call(&["--dialect", "dotnet-prompt"], "read_file", json!({"file_path": "a.txt"}));
    assert_eq!(read["ok"], true, "{read}");
}

#[test]
fn the_person_s_own_word_comes_after_the_workspace_s() {
    let user = User::new();
    user.sets("blocked_directories: [a]\n")
        .project("read_only: true\nblocked_directories: [b]\nlimits: {max_lines: 5, max_files: 5}\n");
    let set = ["--set", "read_only=false", "--set", "blocked_directories=[c]", "--set", "limits={max_lines: 3000}"];
    let settings = user.effective_settings(&set);
    for (setting, value) in [
        ("read_only", json!(false)),
        ("blocked_directories", json!(["c"])),
        ("limits.max_lines", json!(3_000)),
        ("limits.max_files", json!(5)),
    ] {
        assert_eq!(settings[setting]["value"], value, "{setting}");
    }
    let write = json!({"path": "b.txt", "content": "b\n"});
    assert_eq!(user.code(&[], "write_file", write.clone()).as_deref(), Some("read-only"));
    assert_eq!(user.code(&set, "write_file", write), None);
}

#[test]
fn narrowing_holds_in_calls() {
    let user = User::new();
    for directory in ["a", "b", "c"] {
        fs::create_dir(user.workspace.join(directory)).unwrap();
        fs::write(user.workspace.join(directory).join("x.md"), "x\n").unwrap();
    }
    fs::write(user.workspace.join("x.rs"), "x\n").unwrap();
    user.sets("blocked_directories: [a]\n").project("blocked_directories: [./b]\nallowed_extensions: [.md]\n");
    for (path, code) in
        [("a/x.md", Some("denied")), ("b/x.md", Some("denied")), ("c/x.md", None), ("x.rs", Some("denied"))]
    {
        assert_eq!(user.code(&[], "read_file", json!({ "path": path })).as_deref(), code, "{path}");
    }
}

#[test]
fn a_workspace_s_file_is_a_small_regular_file() {
    let user = User::new();
    let file = user.workspace.join(".paddock.yaml");
    let message = || user.fails(&[]);
    let own = user.project_file();
    fs::write(user.home.join("elsewhere.yaml"), "read_only: true\n").unwrap();
    for target in ["../home/elsewhere.yaml", "a.txt", "nowhere", ".paddock.yaml"] {
        symlink(target, &file).unwrap();
        assert_eq!(message(), format!("{own}: a policy cannot be a symbolic link: put the file itself there"));
        fs::remove_file(&file).unwrap();
    }
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    let started = Instant::now();
    assert_eq!(message(), format!("{own}: it is not a regular file"));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(message(), format!("{own}: it is not a regular file"));
    fs::remove_dir(&file).unwrap();
    user.project(&"#".repeat((256 << 10) + 1));
    assert_eq!(message(), format!("{own}: it is larger than 256 KiB"));
    fs::write(&file, b"read_only: true\nmode: \xff\n").unwrap();
    assert_eq!(message(), format!("{own}:2: it is not UTF-8"));
    user.project(&format!("read_only: {}1{}", "[".repeat(17), "]".repeat(17)));
    assert_eq!(message(), format!("{own}:1: more than 16 lists and tables in each other"));
    user.project("read_only: true");
    let json = user.workspace.join(".paddock.json");
    fs::write(&json, "{}").unwrap();
    assert_eq!(message(), format!("{}: `{own}` exists too; keep one of them", json.display()));
}

#[test]
fn allowed_directories_are_roots_with_rights() {
    let user = User::new();
    for directory in ["shared", "templates", "other/shared", "config"] {
        fs::create_dir_all(user.home.join(directory)).unwrap();
        fs::write(user.home.join(directory).join("t.txt"), "t\n").unwrap();
    }
    let text = "allowed_directories:\n- ../shared\n- path: ../templates\n  access: read-only\n- ../other/shared\n";
    fs::write(user.home.join("config/p.yaml"), text).unwrap();
    let policy = user.home.join("config/p.yaml").display().to_string();
    let options = ["--policy", policy.as_str()];
    let read = |path: &Path| user.call(&options, "read_file", json!({ "path": path }))["result"]["path"].clone();
    assert_eq!(read(&user.home.join("shared/t.txt")), "/shared/t.txt");
    assert_eq!(read(&user.home.join("templates/t.txt")), "/templates/t.txt");
    assert_eq!(read(&user.home.join("other/shared/t.txt")), "/shared-2/t.txt");
    let write = |options: &[&str], path: &Path| user.code(options, "write_file", json!({"path": path, "content": ""}));
    assert_eq!(write(&options, Path::new("/shared/new.txt")), None);
    assert!(user.home.join("shared/new.txt").exists() && !user.home.join("other/shared/new.txt").exists());
    assert_eq!(write(&options, &user.home.join("templates/t.txt")).as_deref(), Some("read-only"));
    assert_eq!(write(&options, &user.home.join("config/t.txt")).as_deref(), Some("outside-workspace"));
    let all = [&options[..], &["--read-only"]].concat();
    assert_eq!(write(&all, &user.home.join("shared/t.txt")).as_deref(), Some("read-only"));
    fs::write(user.home.join("config/p.yaml"), "allowed_directories: [../none]\n").unwrap();
    let missing = user.run(&["call", "--policy", &policy, "stat"]);
    assert_eq!(missing.status.code(), Some(3));
}

#[test]
fn of_two_rights_on_one_directory_the_narrower_counts() {
    let user = User::new();
    let root = user.workspace.display().to_string();
    let write = |options: &[&str]| user.code(options, "write_file", json!({"path": "a.txt", "content": ""}));
    let read_only = format!("allowed_directories=[{{path: {root}, access: read-only}}]");
    assert_eq!(write(&["--set", &read_only]).as_deref(), Some("read-only"));
    let narrow = format!("{root}:ro");
    let wide = format!("allowed_directories=[{root}]");
    assert_eq!(write(&["--root", &narrow, "--set", &wide]).as_deref(), Some("read-only"));
    assert_eq!(write(&["--root", &root, "--root", &narrow]).as_deref(), Some("read-only"));
    assert_eq!(write(&["--set", &wide]), None);
}

#[test]
fn no_link_in_a_root_decides_which_directory_is_another_root() {
    let user = User::new();
    fs::create_dir_all(user.workspace.join("inside")).unwrap();
    fs::create_dir_all(user.home.join("secret/below")).unwrap();
    fs::write(user.home.join("secret/s.txt"), "s\n").unwrap();
    symlink(user.home.join("secret"), user.workspace.join("docs")).unwrap();
    symlink("inside", user.workspace.join("near")).unwrap();
    fs::write(user.workspace.join("p.yaml"), "allowed_directories: [docs/below]\n").unwrap();
    let allowed = format!("allowed_directories=[{}]", user.workspace.join("docs").display());
    for options in [&["--policy", "p.yaml"][..], &["--set", &allowed], &["--root", ".", "--root", "docs"]] {
        let message = failure(&mut user.command(&[&["call"], options, &["stat", r#"{"path": "a.txt"}"#]].concat()));
        assert!(message.contains("leads out of it"), "{options:?}: {message}");
    }
    let near = format!("allowed_directories=[{}]", user.workspace.join("near").display());
    assert_eq!(user.code(&["--set", &near], "stat", json!({"path": "a.txt"})), None);
    // A link outside of the workspace belongs to the user and is followed.
    symlink(user.home.join("secret"), user.home.join("mine")).unwrap();
    let mine = format!("allowed_directories=[{}]", user.home.join("mine").display());
    assert_eq!(user.code(&["--set", &mine], "read_file", json!({"path": "/secret/s.txt"})), None);
}

#[test]
fn a_root_in_another_keeps_its_rights_and_rules() {
    let user = User::new();
    fs::create_dir_all(user.workspace.join("lib/vendor/out")).unwrap();
    fs::write(user.workspace.join("lib/vendor/v.txt"), "v\n").unwrap();
    fs::write(user.workspace.join("lib/vendor/out/o.txt"), "o\n").unwrap();
    let vendor =
        format!("allowed_directories=[{{path: {}, access: read-only}}]", user.workspace.join("lib/vendor").display());
    let options = ["--set", vendor.as_str(), "--set", "blocked_directories=[./out]"];
    let code = |tool: &str, arguments: Value| user.code(&options, tool, arguments);
    for path in ["lib/vendor/v.txt", "/vendor/v.txt", "lib/vendor/new/n.txt"] {
        assert_eq!(code("write_file", json!({"path": path, "content": ""})).as_deref(), Some("read-only"), "{path}");
    }
    for path in ["lib/vendor", "lib"] {
        let arguments = json!({"path": path, "recursive": true});
        assert_eq!(code("delete", arguments).as_deref(), Some("read-only"), "{path}");
        let arguments = json!({"source": path, "destination": "elsewhere", "recursive": true});
        assert_eq!(code("move", arguments).as_deref(), Some("read-only"), "{path}");
    }
    for path in ["lib/vendor/out/o.txt", "/vendor/out/o.txt"] {
        assert_eq!(code("read_file", json!({ "path": path })).as_deref(), Some("denied"), "{path}");
    }
    assert_eq!(code("write_file", json!({"path": "lib/own.txt", "content": ""})), None);
}

#[test]
fn unrestricted_is_the_whole_file_system() {
    let user = User::new();
    let outside = user.home.join("o.txt");
    fs::write(&outside, "o\n").unwrap();
    let unrestricted = ["--set", "mode=unrestricted"];
    let read = user.call(&unrestricted, "read_file", json!({ "path": outside }));
    assert_eq!(read["result"]["path"], format!("/host{}", outside.display()), "{read}");
    let own = user.call(&unrestricted, "stat", json!({"path": user.workspace.join("a.txt")}));
    assert_eq!(own["result"]["path"], "a.txt", "the workspace comes first");
    let write = |options: &[&str]| user.code(options, "write_file", json!({"path": outside, "content": "p\n"}));
    assert_eq!(write(&unrestricted), None);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "p\n");
    let read_only = [&unrestricted[..], &["--read-only"]].concat();
    assert_eq!(write(&read_only).as_deref(), Some("read-only"));
    assert_eq!(write(&[]).as_deref(), Some("outside-workspace"));
    // A root keeps its rights, whatever path leads to it.
    let narrow = [&unrestricted[..], &["--root", ".:ro"]].concat();
    let path = format!("/host{}", user.workspace.join("a.txt").display());
    assert_eq!(user.code(&narrow, "write_file", json!({"path": path, "content": ""})).as_deref(), Some("read-only"));
    // Tools reach neither the memory and files of this program nor its policy.
    user.sets("mode: unrestricted\n");
    let state = user.home.join("state");
    for path in [Path::new("/proc/self/environ"), Path::new("/sys/kernel"), &state, &user.config().join("policy.yaml")]
    {
        assert_eq!(user.code(&[], "stat", json!({ "path": path })).as_deref(), Some("denied"), "{path:?}");
    }
}

/// The example of the `dotnet-prompt` specification, its absolute and parent paths below a directory of the test.
const DOTNET_PROMPT: &str = r#"# dotnet-prompt.yaml - Configure broader access when needed
tool_configuration:
  file_system:
    allowed_directories:
      - "."                           # Working directory (default)
      - "../shared-resources"         # Relative path to shared resources
      - "{top}/opt/templates"              # Absolute path for system templates
      - "${HOME}/dotnet-templates"    # Environment variable expansion
    blocked_directories:
      - "./bin"
      - "./obj"
      - "./.git"
      - "./node_modules"
    allowed_extensions:
      - ".cs"
      - ".json"
      - ".yaml"
      - ".md"
    blocked_extensions:
      - ".exe"
      - ".dll"
      - ".so"
    max_file_size: 10485760  # 10MB
    require_confirmation_for_delete: true
    enable_audit_logging: true
"#;

#[test]
fn the_configuration_of_dotnet_prompt_is_taken() {
    let user = User::new();
    let top = user.home.parent().unwrap();
    for directory in ["shared-resources", "opt/templates", "home/dotnet-templates", "ws/bin"] {
        fs::create_dir_all(top.join(directory)).unwrap();
        fs::write(top.join(directory).join("t.cs"), "t\n").unwrap();
    }
    let configuration =
        format!("provider: ours\nmodel: {{name: x}}\n{}", DOTNET_PROMPT.replace("{top}", top.to_str().unwrap()));
    fs::write(user.workspace.join("dotnet-prompt.yaml"), configuration).unwrap();
    let options = ["--policy", "dotnet-prompt.yaml"];
    let settings = user.effective_settings(&options);
    let file = user.workspace.join("dotnet-prompt.yaml");
    assert_eq!(settings["approval"], json!({"value": "on-delete", "from": [format!("{}:26", file.display())]}));
    assert_eq!(settings["limits.max_file_bytes"]["value"], 10_485_760);
    assert_eq!(settings["enable_audit_logging"]["value"], true);
    assert_eq!(settings["allowed_extensions"]["value"], json!([".cs", ".json", ".yaml", ".md"]));
    for directory in ["shared-resources", "opt/templates", "home/dotnet-templates"] {
        let path = top.join(directory).join("t.cs");
        assert_eq!(user.code(&options, "read_file", json!({ "path": path })), None, "{directory}");
    }
    for (path, code) in [("bin/t.cs", "denied"), ("a.txt", "denied"), ("dotnet-prompt.yaml", "denied")] {
        assert_eq!(user.code(&options, "read_file", json!({ "path": path })).as_deref(), Some(code), "{path}");
    }
}

#[test]
fn a_workspace_holds_nothing_that_changes_its_policy() {
    let user = User::new();
    user.project("read_only: false\n");
    fs::write(user.workspace.join("mine.yaml"), "limits: {max_lines: 7}\n").unwrap();
    symlink("mine.yaml", user.workspace.join("link.yaml")).unwrap();
    let options = ["--policy", "link.yaml"];
    let write = |path: &str| user.code(&options, "write_file", json!({"path": path, "content": "{}"}));
    for (path, code) in [
        (".paddock.yaml", "read-only"),
        (".paddock.json", "read-only"),
        (".PADDOCK.toml", "read-only"),
        ("mine.yaml", "denied"),
        ("MINE.yaml", "denied"),
        ("link.yaml", "denied"),
    ] {
        assert_eq!(write(path).as_deref(), Some(code), "{path}");
    }
    for (path, code) in [("link.yaml", "read-only"), ("mine.yaml", "denied"), (".paddock.yaml", "read-only")] {
        assert_eq!(user.code(&options, "delete", json!({ "path": path })).as_deref(), Some(code), "{path}");
        let away = json!({"source": path, "destination": "away"});
        assert!(user.code(&options, "move", away).is_some(), "{path}");
        let over = json!({"source": "a.txt", "destination": path, "overwrite": true});
        assert!(user.code(&options, "copy", over).is_some(), "{path}");
    }
    assert_eq!(user.code(&options, "read_file", json!({"path": ".paddock.yaml"})), None, "it may be looked at");
    assert_eq!(user.code(&options, "read_file", json!({"path": "mine.yaml"})).as_deref(), Some("denied"));
    let entries = user.call(&options, "list_dir", json!({"include_hidden": true}))["result"]["entries"].to_string();
    assert!(entries.contains("a.txt") && !entries.contains("mine.yaml"), "{entries}");
}

#[test]
fn a_home_that_is_the_workspace_keeps_the_user_s_policy() {
    let user = User::new();
    user.sets("limits: {max_lines: 7}\n");
    let home = user.home.display().to_string();
    let code = |tool: &str, arguments: Value| user.code(&["--root", &home], tool, arguments);
    for path in [".config/paddock/policy.yaml", ".config/paddock/policy.json", ".CONFIG/Paddock/x", ".config/paddock"] {
        let denied = Some("denied".to_owned());
        assert_eq!(code("write_file", json!({"path": path, "content": "{}"})), denied, "{path}");
        assert_eq!(code("read_file", json!({ "path": path })), denied, "{path}");
    }
    for source in [".config", ".config/paddock"] {
        assert!(
            code("move", json!({"source": source, "destination": "away", "recursive": true})).is_some(),
            "{source}"
        );
        assert!(code("delete", json!({"path": source, "recursive": true})).is_some(), "{source}");
    }
    assert_eq!(code("write_file", json!({"path": ".config/other/a", "content": ""})), None);
}

#[test]
fn no_user_s_policy_is_put_where_there_is_none() {
    let user = User::new();
    fs::remove_dir_all(user.home.join(".config")).unwrap();
    let home = user.home.display().to_string();
    let code = |tool: &str, arguments: Value| user.code(&["--root", &home], tool, arguments);
    let denied = Some("denied".to_owned());
    assert_eq!(code("write_file", json!({"path": ".config/paddock/policy.yaml", "content": "{}"})), denied);
    // A policy file that is created elsewhere cannot be moved or copied there, with its directory or through a link.
    assert_eq!(code("write_file", json!({"path": "forged/paddock/policy.yaml", "content": "{}"})), None);
    symlink("forged", user.home.join("link")).unwrap();
    for (tool, source) in [("move", "forged"), ("copy", "forged"), ("move", "link"), ("copy", "link")] {
        let arguments = json!({"source": source, "destination": ".config", "recursive": true});
        assert_eq!(code(tool, arguments), denied, "{tool} {source}");
    }
    assert_eq!(code("make_dir", json!({"path": ".config"})), None, "the directory alone is harmless");
}

#[test]
fn links_on_the_path_to_the_users_policy_cannot_be_changed() {
    let user = User::new();
    let dotfiles = user.home.join("dotfiles");
    fs::rename(user.home.join(".config"), &dotfiles).unwrap();
    symlink("dotfiles", user.home.join(".config")).unwrap();
    fs::write(dotfiles.join("paddock/policy.yaml"), "limits: {max_lines: 7}\n").unwrap();
    let home = user.home.display().to_string();
    let code = |tool: &str, arguments: Value| user.code(&["--root", &home], tool, arguments);
    let denied = Some("denied".to_owned());
    assert_eq!(code("read_file", json!({"path": ".config/paddock/policy.yaml"})), denied);
    assert_eq!(code("read_file", json!({"path": "dotfiles/paddock/policy.yaml"})), denied);
    assert_eq!(code("delete", json!({"path": ".config"})).as_deref(), Some("read-only"));
    assert_eq!(code("move", json!({"source": ".config", "destination": "x"})).as_deref(), Some("read-only"));
    assert_eq!(code("write_file", json!({"path": ".config/other", "content": ""})), None, "they may be followed");
}

#[test]
fn show_tells_every_setting_and_all_its_origins() {
    let user = User::new();
    user.sets("blocked_directories: [a]\nread_only: false\n");
    user.project("limits:\n  max_files: 10\nblocked_directories:\n- \"b\\e[2J\"\n");
    let output = user.run(&["policy", "show", "--set", "approval=on-change"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let (own, project) = (user.config_file(), user.project_file());
    let row = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name)).expect(name);
        line.split("  ").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        row("blocked_directories"),
        ["blocked_directories", r#"["a","b\u001b[2J"]"#, &format!("{own}:1, {project}:3")]
    );
    assert_eq!(row("read_only"), ["read_only", "false", &format!("{own}:2")]);
    assert_eq!(row("limits.max_files"), ["limits.max_files", "10", &format!("{project}:2")]);
    assert_eq!(row("approval"), ["approval", "on-change", "--set"]);
    assert_eq!(row("hard_links"), ["hard_links", "break", "built in"]);
    let schema: Value = serde_json::from_slice(&user.run(&["policy", "schema"]).stdout).unwrap();
    let settings = user.effective_settings(&[]);
    assert_eq!(text.lines().count(), settings.as_object().unwrap().len());
    for setting in settings.as_object().unwrap().keys() {
        let (table, name) = setting.split_once('.').map_or(("", setting.as_str()), |(table, name)| (table, name));
        let reference = schema["properties"][table]["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
        let within = reference.and_then(|path| schema.pointer(path)).unwrap_or(&schema);
        assert!(within["properties"][name]["description"].is_string(), "{setting}");
    }
}

#[test]
fn a_batch_and_the_server_have_the_layers_too() {
    let user = User::new();
    user.project("nonsense: true\n");
    for arguments in [&["batch"][..], &["mcp"], &["history"], &["restore", "a.txt"], &["call", "stat"]] {
        assert!(failure(&mut user.command(arguments)).contains("`nonsense`"), "{arguments:?}");
    }
}

#[test]
fn a_program_takes_the_layers_that_it_wants() {
    let user = User::new();
    let path = user.home.join("p.toml");
    fs::write(&path, "limits.max_lines = 3\n").unwrap();
    let layers = Layers::default().file(&path).unwrap().set("blocked_directories=[b]").unwrap();
    let build = |layers: &Layers| {
        let builder = Workspace::builder().root(&user.workspace).no_state_dir().policy_layers(layers).unwrap();
        builder.further_root(&user.home, Access::ReadOnly).build().unwrap()
    };
    let workspace = build(&layers);
    let read = workspace.call("read_file", r#"{"path": "a.txt"}"#);
    assert_eq!(read.value()["end_line"], 3);
    let own = workspace.call("read_file", r#"{"path": "/home/p.toml"}"#);
    assert_eq!(own.error.as_ref().map(|error| error.code), Some(ErrorCode::Denied), "{own:?}");
    let effective = layers.effective("paddock").unwrap();
    let lines = effective.iter().find(|setting| setting.name == MAX_LINES).unwrap();
    assert_eq!((&lines.value, &lines.origins), (&json!(3), &vec![format!("{}:1", path.display())]));
    let layers = layers.read_only().unwrap();
    let written = build(&layers).call("write_file", r#"{"path": "a.txt", "content": ""}"#);
    assert_eq!(written.error.map(|error| error.code), Some(ErrorCode::ReadOnly));
    let failed = Layers::default().set("mod=restricted").unwrap_err().to_string();
    assert_eq!(failed, "--set: `mod`: there is no such setting; did you mean `mode`?");
}
