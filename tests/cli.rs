//! The command line from outside: exit statuses, and one JSON object on standard output.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

struct Cli {
    workspace: TempDir,
    state: TempDir,
}

impl Cli {
    fn new() -> Self {
        let cli = Self { workspace: TempDir::new().unwrap(), state: TempDir::new().unwrap() };
        fs::write(cli.workspace.path().join("a.txt"), "one\ntwo\n").unwrap();
        cli
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.args(arguments).current_dir(&self.workspace).env("PADDOCK_STATE_DIR", self.state.path());
        // Nothing of the machine's own user may count.
        command.env("XDG_CONFIG_HOME", self.state.path().join("none")).env_remove("PADDOCK_POLICY");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn run_with(&self, arguments: &[&str], stdin: &[u8]) -> Output {
        let pipes = (Stdio::piped(), Stdio::piped());
        let mut child = self.command(arguments).stdin(pipes.0).stdout(pipes.1).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // The child stops reading while nobody reads its output.
        thread::scope(|scope| {
            scope.spawn(move || input.write_all(stdin).unwrap());
            child.wait_with_output().unwrap()
        })
    }

    /// Returns the exit status and the JSON object of a call.
    fn call(&self, arguments: &[&str]) -> (i32, Value) {
        reply(&self.run(&[&["call"], arguments].concat()))
    }
}

fn reply(output: &Output) -> (i32, Value) {
    let text = str::from_utf8(&output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    (output.status.code().unwrap(), serde_json::from_str(text).unwrap())
}

fn lines(output: &Output) -> Vec<Value> {
    str::from_utf8(&output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_call_prints_one_object_and_exits_with_0() {
    let (status, reply) = Cli::new().call(&["read_file", r#"{"path": "a.txt"}"#]);
    assert_eq!(status, 0, "{reply}");
    assert_eq!(reply["ok"], true);
    assert_eq!(reply["result"]["content"], "one\ntwo");
    assert_eq!(reply["text"], "1|one\n2|two\n[etag c3f9c8c283a2]");
    assert_eq!(reply["changes"], json!([]));
    assert_eq!(reply.as_object().unwrap().len(), 4);
}

#[test]
fn a_change_is_reported_and_made() {
    let cli = Cli::new();
    let (status, reply) = cli.call(&["write_file", r#"{"path": "new/b.txt", "content": "b\n"}"#]);
    assert_eq!(status, 0, "{reply}");
    assert_eq!(fs::read(cli.workspace.path().join("new/b.txt")).unwrap(), b"b\n");
    let changes = reply["changes"].as_array().unwrap();
    assert!(changes.contains(&json!({"kind": "created", "path": "new/b.txt", "size": 2})), "{reply}");
    let mut entries: Vec<_> = cli.state.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    entries.retain(|name| name != "locks");
    assert_eq!(entries.len(), 1, "the state directory is outside the workspace");
}

#[test]
fn a_failing_tool_exits_with_1_and_says_why() {
    let cli = Cli::new();
    for (arguments, code) in [
        (&["read_file", r#"{"path": "b.txt"}"#][..], "not-found"),
        (&["read_file", r#"{"path": "../b.txt"}"#], "outside-workspace"),
        (&["read_file", r#"{"path": "a.txt"#], "invalid-argument"),
        (&["read_file", r#"{"fyle": "a.txt"}"#], "invalid-argument"),
        (&["read_file", r#"{"path": 1}"#], "invalid-argument"),
        (&["read_file", r#"{"path": "a.txt", "offset": 0}"#], "invalid-argument"),
        (&["read_file", r#"{"path": "a.txt", "offset": 2, "tail": 1}"#], "invalid-argument"),
        (&["read_file", r#"[]"#], "invalid-argument"),
        (&["read_file"], "invalid-argument"),
        (&["read_fil", r#"{"path": "a.txt"}"#], "unknown-tool"),
        (&["--dialect", "latin", "read_file", "{}"], "unknown-dialect"),
    ] {
        let (status, reply) = cli.call(arguments);
        assert_eq!(status, 1, "{arguments:?} {reply}");
        assert_eq!(reply["ok"], false);
        assert_eq!(reply["error"]["code"], code, "{arguments:?} {reply}");
        let fields: Vec<&String> = reply["error"].as_object().unwrap().keys().collect();
        assert_eq!(fields, ["code", "message", "path", "hint"]);
        assert_eq!(reply.as_object().unwrap().keys().collect::<Vec<_>>(), ["ok", "error", "result", "text"]);
        assert_eq!(reply["result"], reply["error"], "the dialect's own form");
    }
}

/// A call that fails because a file is missing, in each dialect.
const MISSING: [(&str, &str, &str); 10] = [
    ("paddock", "read_file", r#"{"path": "b"}"#),
    ("dispatch", "read_file", r#"{"path": "b"}"#),
    ("dotnet-prompt", "read_file", r#"{"path": "b"}"#),
    ("chorus", "file.read", r#"{"path": "b"}"#),
    ("weakincentives", "read_file", r#"{"file_path": "b"}"#),
    ("lincona", "read_file", r#"{"path": "b"}"#),
    ("mcp-filesystem", "read_text_file", r#"{"path": "b"}"#),
    ("anthropic", "str_replace_based_edit_tool", r#"{"command": "view", "path": "b"}"#),
    ("codex", "read_file", r#"{"file_path": "b"}"#),
    ("openai", "apply_patch", r#"{"operation": {"type": "delete_file", "path": "b"}}"#),
];

#[test]
fn errors_have_the_same_members_in_every_dialect() {
    let cli = Cli::new();
    let dialects = paddock::dialects().unwrap();
    assert_eq!(MISSING.len(), dialects.len());
    for (dialect, tool, arguments) in MISSING {
        assert!(dialects.iter().any(|known| known == dialect));
        let wrong = r#"{"no_such_argument": [1]}"#;
        for (tool, arguments, codes) in [
            // `dispatch` and others have values for a missing file, but their envelope has the error too.
            (tool, arguments, &["not-found"][..]),
            (tool, wrong, &["invalid-argument"]),
            (tool, "{", &["invalid-argument"]),
            ("no_such_tool", "{}", &["unknown-tool"]),
        ] {
            let line =
                json!({"tool": tool, "arguments": serde_json::from_str::<Value>(arguments).ok(), "dialect": dialect});
            let (status, reply) = cli.call(&["--dialect", dialect, tool, arguments]);
            let mut replies = vec![reply];
            if arguments != "{" {
                replies.extend(lines(&cli.run_with(&["batch"], line.to_string().as_bytes())));
            }
            for reply in replies {
                let context = format!("{dialect} {tool} {arguments}: {reply}");
                assert_eq!((status, &reply["ok"]), (1, &json!(false)), "{context}");
                let members: Vec<&String> = reply["error"].as_object().expect(&context).keys().collect();
                assert_eq!(members, ["code", "message", "path", "hint"], "{context}");
                assert!(codes.contains(&reply["error"]["code"].as_str().unwrap()), "{context}");
                assert!(!reply["error"]["message"].as_str().unwrap().is_empty(), "{context}");
                assert!(!reply["text"].as_str().expect(&context).is_empty(), "{context}");
                assert!(!reply["result"].is_null(), "{context}");
            }
        }
    }
}

const COMBINED: &str = "anthropic,paddock:grep,glob,delete,move,restore";

#[test]
fn dialects_combine_in_every_command() {
    let cli = Cli::new();
    let editor = "str_replace_based_edit_tool";
    let names = [editor, "memory", "grep", "glob", "delete", "move", "restore"];
    for (format, pointer) in [
        ("mcp", "/{}/name"),
        ("openai", "/{}/function/name"),
        ("anthropic", "/{}/name"),
        ("gemini", "/0/functionDeclarations/{}/name"),
    ] {
        let listed: Value =
            serde_json::from_slice(&cli.run(&["tools", "--dialect", COMBINED, "--format", format]).stdout).unwrap();
        let name = |index: usize| listed.pointer(&pointer.replace("{}", &index.to_string()));
        let all: Vec<_> = (0..).map_while(name).collect();
        assert_eq!(all, names, "{format}");
    }
    let (status, moved) = cli.call(&["--dialect", COMBINED, "move", r#"{"source": "a.txt", "destination": "b.txt"}"#]);
    assert_eq!((status, &moved["ok"]), (0, &json!(true)), "{moved}");
    let stdin = [
        json!({"tool": editor, "arguments": {"command": "view", "path": "b.txt"}}),
        json!({"tool": "grep", "arguments": {"pattern": "two"}}),
        json!({"tool": "write_file", "arguments": {"path": "c.txt", "content": ""}}),
        json!({"tool": "read_file", "arguments": {"path": "b.txt"}, "dialect": "openai,paddock:read_file"}),
        json!({"tool": "read_file", "arguments": {"path": "b.txt"}, "dialect": "openai,paddock"}),
    ];
    let stdin: String = stdin.iter().map(|line| format!("{line}\n")).collect();
    let replies = lines(&cli.run_with(&["batch", "--dialect", COMBINED], stdin.as_bytes()));
    assert!(replies[0]["result"]["output"].as_str().unwrap().contains("2\ttwo"), "{}", replies[0]);
    assert!(replies[1]["text"].as_str().unwrap().contains("two"), "{}", replies[1]);
    assert_eq!(replies[2]["error"]["code"], "unknown-tool");
    assert_eq!(replies[3]["ok"], true, "{}", replies[3]);
    // Both have a tool `apply_patch`.
    assert_eq!(replies[4]["error"]["code"], "invalid-argument");
    let message = replies[4]["error"]["message"].as_str().unwrap();
    assert!(["`apply_patch`", "`openai`", "`paddock`"].iter().all(|name| message.contains(name)), "{message}");
    let (_, unknown) = reply(&cli.run(&["tools", "--dialect", "anthropic,paddok:grep"]));
    assert!(unknown["error"]["hint"].as_str().unwrap().contains("did you mean `paddock`?"), "{unknown}");
    assert!(!cli.workspace.path().join("c.txt").exists());
}

#[test]
fn the_traits_of_any_number_of_combinations_are_found() {
    // More combinations than a process caches.
    let cli = Cli::new();
    let tools = ["grep", "glob", "delete", "move", "restore", "copy", "stat"];
    let mut stdin = String::new();
    for number in 0..1_200_usize {
        let some: Vec<_> =
            tools.iter().enumerate().filter(|(at, _)| number >> at & 1 == 1).map(|(_, name)| *name).collect();
        let commas = if some.is_empty() { String::new() } else { format!(",{}", some.join(",")) };
        let twice = ["openai", "chorus", "codex:grep_files"].get(number >> 7).copied().unwrap_or("openai,chorus");
        let list = format!("paddock:write_file{commas},{twice}");
        let arguments = json!({"path": "n.txt", "content": number.to_string()});
        stdin += &format!("{}\n", json!({"tool": "write_file", "arguments": arguments, "dialect": list}));
    }
    let replies = lines(&cli.run_with(&["batch"], stdin.as_bytes()));
    assert!(replies.len() == 1_200 && replies.iter().all(|reply| reply["ok"] == true), "{:?}", replies.last());
    assert_eq!(fs::read_to_string(cli.workspace.path().join("n.txt")).unwrap(), "1199");
}

#[test]
fn wrong_usage_exits_with_2_and_prints_no_result() {
    let cli = Cli::new();
    for arguments in
        [&[][..], &["call"], &["call", "--nope", "stat"], &["cal"], &["tools", "--format", "x"], &["audit"]]
    {
        let output = cli.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
}

#[test]
fn a_failing_host_exits_with_3_and_prints_no_result() {
    let cli = Cli::new();
    fs::write(cli.workspace.path().join("policy.json"), r#"{"read_onyl": true}"#).unwrap();
    for arguments in [
        &["call", "--root", "missing", "stat"][..],
        &["call", "--root", "a.txt", "stat"],
        &["call", "--policy", "missing.json", "stat"],
        &["call", "--policy", "policy.json", "stat"],
        &["component", "-o", "missing/paddock.wasm"],
    ] {
        let output = cli.run(arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert!(output.stdout.is_empty() && output.stderr.starts_with(b"paddock: "), "{output:?}");
    }
}

#[test]
fn arguments_come_from_standard_input() {
    let cli = Cli::new();
    let (status, answer) = reply(&cli.run_with(&["call", "stat", "-"], br#"{"path": "a.txt"}"#));
    assert_eq!((status, &answer["result"]["size"]), (0, &json!(8)));
    let (status, answer) = reply(&cli.run_with(&["call", "stat", "-"], b"{\"path\": \"\xff\"}"));
    assert_eq!((status, &answer["error"]["code"]), (1, &json!("invalid-argument")));
}

#[test]
fn a_batch_answers_each_line_and_continues_after_an_invalid_one() {
    let cli = Cli::new();
    let stdin = br#"{"tool": "stat", "arguments": {"path": "a.txt"}}

not json
{"tool": "stat", "argument": {}}
{"tool": "write_file", "arguments": {"path": "b.txt", "content": ""}, "dialect": "paddock"}
{"tool": "stat", "arguments": {"path": "b.txt"}}"#;
    let output = cli.run_with(&["batch"], stdin);
    let replies = lines(&output);
    let ok: Vec<&Value> = replies.iter().map(|reply| &reply["ok"]).collect();
    assert_eq!(ok, [&json!(true), &json!(false), &json!(false), &json!(true), &json!(true)]);
    assert_eq!(replies[1]["error"]["code"], "invalid-argument");
    assert_eq!(output.status.code(), Some(1));
    let output = cli.run_with(&["batch"], br#"{"tool": "stat", "arguments": {"path": "a.txt"}}"#);
    assert_eq!((lines(&output).len(), output.status.code()), (1, Some(0)));
}

#[test]
fn a_read_only_workspace_stays_as_it_is() {
    let cli = Cli::new();
    let change = [r#"write_file"#, r#"{"path": "a.txt", "content": ""}"#];
    fs::write(cli.workspace.path().join("policy.json"), r#"{"read_only": true}"#).unwrap();
    for options in [&["--read-only"][..], &["--root", ".:ro"], &["--policy", "policy.json"]] {
        let (status, reply) = cli.call(&[options, &change[..]].concat());
        assert_eq!((status, &reply["error"]["code"]), (1, &json!("read-only")), "{options:?} {reply}");
    }
    assert_eq!(fs::read(cli.workspace.path().join("a.txt")).unwrap(), b"one\ntwo\n");
    assert_eq!(cli.state.path().read_dir().unwrap().count(), 0, "nothing to keep there");
}

#[test]
fn further_roots_have_a_name_and_their_own_rights() {
    let cli = Cli::new();
    let notes = cli.state.path().join("notes");
    fs::create_dir(&notes).unwrap();
    fs::write(notes.join("n.txt"), "n\n").unwrap();
    let root = format!("{}:ro", notes.display());
    let roots = ["--root", ".", "--root", root.as_str()];
    for path in ["/notes/n.txt", notes.join("n.txt").to_str().unwrap()] {
        let (status, reply) = cli.call(&[&roots[..], &["read_file", &json!({ "path": path }).to_string()]].concat());
        assert_eq!((status, &reply["result"]["path"]), (0, &json!("/notes/n.txt")), "{reply}");
    }
    let change = ["delete", r#"{"path": "/notes/n.txt"}"#];
    let (status, reply) = cli.call(&[&roots[..], &change[..]].concat());
    assert_eq!((status, &reply["error"]["code"]), (1, &json!("read-only")), "{reply}");
    assert!(notes.join("n.txt").exists());
}

#[test]
fn tools_come_in_each_interfaces_shape() {
    let cli = Cli::new();
    let tools = |format| -> Value {
        let output = cli.run(&["tools", "--format", format]);
        assert_eq!(output.status.code(), Some(0));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let mcp = tools("mcp");
    assert_eq!(mcp[0]["name"], "read_file");
    assert_eq!(mcp[0]["annotations"]["readOnlyHint"], true);
    assert_eq!(mcp[0]["inputSchema"]["type"], "object");
    assert_eq!(mcp[0]["outputSchema"]["type"], "object");
    let schema = &mcp[0]["inputSchema"];
    assert_eq!(&tools("openai")[0]["function"]["parameters"], schema);
    assert_eq!(&tools("anthropic")[0]["input_schema"], schema);
    assert_eq!(&tools("gemini")[0]["functionDeclarations"][0]["parametersJsonSchema"], schema);
    let unknown = cli.run(&["tools", "--dialect", "latin"]);
    assert_eq!(reply(&unknown).1["error"]["code"], "unknown-dialect");
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn the_component_is_written_out() {
    let cli = Cli::new();
    assert_eq!(cli.run(&["component", "-o", "paddock.wasm"]).status.code(), Some(0));
    assert_eq!(fs::read(cli.workspace.path().join("paddock.wasm")).unwrap(), paddock::component());
    assert_eq!(cli.run(&["component"]).stdout, paddock::component());
}

#[test]
fn help_has_examples_and_completions_name_the_commands() {
    let cli = Cli::new();
    for command in ["call", "batch", "tools", "mcp", "component", "completions", "policy"] {
        let help = String::from_utf8(cli.run(&[command, "--help"]).stdout).unwrap();
        assert!(help.contains("Example"), "{command}: {help}");
        let has_dialects = ["call", "batch", "tools", "mcp"].contains(&command);
        assert_eq!(help.contains("anthropic,paddock:grep,glob"), has_dialects, "{command}: {help}");
    }
    assert!(cli.run(&["--version"]).stdout.starts_with(b"paddock 0."));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = String::from_utf8(cli.run(&["completions", shell]).stdout).unwrap();
        assert!(script.contains("batch") && script.contains("component"), "{shell}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let cli = Cli::new();
    let mut child = cli.command(&["tools"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty());
}

#[test]
fn a_history_says_that_it_has_more() {
    let cli = Cli::new();
    for path in ["1", "2", "3"] {
        assert_eq!(cli.call(&["write_file", &json!({"path": path, "content": "x"}).to_string()]).0, 0);
    }
    for (limit, more) in [("2", "paddock: there are changes before these: `--limit 4` lists more\n"), ("3", "")] {
        let history = cli.run(&["history", "--limit", limit]);
        assert_eq!(str::from_utf8(&history.stdout).unwrap().lines().count().to_string(), limit);
        assert_eq!(str::from_utf8(&history.stderr).unwrap(), more);
    }
}
