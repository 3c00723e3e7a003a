//! `--events`, `--audit` and `paddock audit`, as processes.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::*;

struct Cli {
    directory: TempDir,
    state: TempDir,
}

impl Cli {
    fn new() -> Self {
        let (directory, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(directory.path().join("a.txt"), "one\n").unwrap();
        Self { directory, state }
    }

    fn file(&self, name: &str) -> String {
        self.state.path().join(name).to_str().unwrap().to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.args(arguments).current_dir(self.directory.path()).env("PADDOCK_STATE_DIR", self.state.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn events_are_appended_a_line_each() {
    let cli = Cli::new();
    let file = cli.file("events.jsonl");
    for _ in 0..2 {
        let output = cli.run(&["call", "--events", &file, "write_file", r#"{"path": "n", "content": "secret words"}"#]);
        assert_eq!((output.status.code(), stdout(&output).lines().count()), (Some(0), 1));
    }
    let text = fs::read_to_string(&file).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["start", "file-written", "end", "start", "end"]);
    assert!(!text.contains("secret words") && events[0]["call"] != events[3]["call"]);
    let output = cli.run(&["call", "--events", "-", "stat", r#"{"path": "n"}"#]);
    assert_eq!(stdout(&output).lines().count(), 1);
    assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 2);
    let output = cli.run(&["call", "--events", "/nowhere/x", "stat", "{}"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn processes_keep_one_chain() {
    let cli = Cli::new();
    let file = cli.file("audit.jsonl");
    let children: Vec<_> = (0..3)
        .map(|process| {
            let mut batch = cli.command(&["batch", "--audit", &file]);
            let mut child = batch.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            for call in 0..20 {
                let arguments = json!({"path": format!("{process}-{call}"), "content": "x"});
                writeln!(stdin, "{}", json!({"tool": "write_file", "arguments": arguments})).unwrap();
            }
            child
        })
        .collect();
    assert!(children.into_iter().all(|mut child| child.wait().unwrap().success()));
    let report = paddock::audit::verify(&file, None).unwrap();
    assert_eq!((report.records, report.problem, report.notes), (120, None, vec![]));
}

#[test]
fn verify_reports_the_result_by_its_exit_status() {
    let cli = Cli::new();
    let file = cli.file("audit.jsonl");
    for path in ["a.txt", "b.txt"] {
        cli.run(&["call", "--audit", &file, "read_file", &json!({ "path": path }).to_string()]);
    }
    let verify = |more: &[&str]| cli.run(&[&["audit", "verify", &file], more].concat());
    let whole = verify(&[]);
    assert_eq!(whole.status.code(), Some(0), "{whole:?}");
    let output = stdout(&whole);
    let head = output.trim_end().strip_prefix("2 records, head ").unwrap();
    assert_eq!(verify(&["--head", head]).status.code(), Some(0));
    assert_eq!(verify(&["--head", &"0".repeat(64)]).status.code(), Some(1));

    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("a.txt", "c.txt", 1)).unwrap();
    let broken = verify(&[]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(stdout(&broken).contains("line 1") && stdout(&broken).contains("altered"), "{broken:?}");
    assert_eq!(cli.run(&["audit", "verify", &cli.file("none")]).status.code(), Some(3));
    assert_eq!(cli.run(&["audit", "verify"]).status.code(), Some(2));
    assert_eq!(cli.run(&["audit", "show", &cli.file("none")]).status.code(), Some(3));
}

#[test]
fn show_prints_calls_for_people_and_records_for_programs() {
    let cli = Cli::new();
    let file = cli.file("audit.jsonl");
    fs::write(cli.directory.path().join(".agentignore"), ".env\n").unwrap();
    for (tool, arguments) in [
        ("write_file", json!({"path": "n", "content": "x"})),
        ("read_file", json!({"path": "forged\n  99  line"})),
        ("read_file", json!({"path": ".env"})),
    ] {
        cli.run(&["call", "--audit", &file, tool, &arguments.to_string()]);
    }
    let output = stdout(&cli.run(&["audit", "show", &file]));
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 3, "{output}");
    assert!(
        lines[0].contains("ok") && lines[0].contains("paddock/write_file") && lines[0].ends_with("  n"),
        "{output}"
    );
    assert!(lines[1].contains("not-found") && lines[1].contains(r"forged\n  99"), "{output}");
    assert!(lines[2].contains("denied") && lines[2].ends_with("(1 not shown)"), "{output}");
    assert_eq!(stdout(&cli.run(&["audit", "show", "--limit", "1", &file])).lines().count(), 1);

    let json = stdout(&cli.run(&["audit", "show", "--json", &file]));
    assert_eq!(json, fs::read_to_string(&file).unwrap());

    // The process ended during this call.
    let start = json.lines().next().unwrap();
    fs::write(cli.file("cut.jsonl"), format!("{start}\n")).unwrap();
    assert!(stdout(&cli.run(&["audit", "show", &cli.file("cut.jsonl")])).contains("no end"));
}

#[test]
fn an_audit_that_cannot_be_written_is_the_hosts_failure() {
    let cli = Cli::new();
    let output = cli.run(&["call", "--audit", "audit.jsonl", "stat", r#"{"path": "."}"#]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("inside a root"));
    assert!(!cli.directory.path().join("audit.jsonl").exists());
}
