//! A process as the host under test. It reads one call per line and writes one answer per line, like `paddock
//! batch`.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::json;

use super::attempts::TRAP;
use super::fixture::Fixture;
use super::subject::{Answer, Call, Subject};

/// A host that a command line starts.
pub struct Lines {
    command: Vec<String>,
    has_absolute_links: bool,
    process: Option<Process>,
    /// Whether the workspace had a policy of its own when the process started. A process reads the policy only
    /// then.
    had_policy: bool,
}

struct Process {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Lines {
    /// Creates a host from its command line. Spaces separate the words, and `{root}` and `{state}` stand for the
    /// directories. With `has_absolute_links`, the host has to follow links with an absolute target in the workspace;
    /// otherwise it has to refuse them.
    pub fn new(command: &str, has_absolute_links: bool) -> Self {
        let command = command.split_whitespace().map(str::to_owned).collect();
        Self { command, has_absolute_links, process: None, had_policy: false }
    }

    fn start(&self, fixture: &Fixture) -> io::Result<Process> {
        let words: Vec<_> = self.command.iter().map(|word| filled(word, fixture)).collect();
        let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("the command line is empty"))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or_else(|| io::Error::other("the process has no pipes"))?;
        Ok(Process { child, stdin, stdout: BufReader::new(stdout) })
    }
}

impl Subject for Lines {
    /// Keeps the process if neither the old nor the new workspace has a policy of its own.
    fn open(&mut self, fixture: &Fixture) -> Result<(), String> {
        let has_policy = has_policy(fixture).map_err(|cause| cause.to_string())?;
        if self.process.is_none() || has_policy || self.had_policy {
            self.process = None;
            let started = self.start(fixture);
            self.process =
                Some(started.map_err(|cause| format!("cannot start `{}`: {cause}", self.command.join(" ")))?);
            self.had_policy = has_policy;
        }
        Ok(())
    }

    fn has_absolute_links(&self) -> bool {
        self.has_absolute_links
    }

    /// No person is at the process.
    fn approves(&self) -> bool {
        false
    }

    fn call(&mut self, call: &Call<'_>) -> Answer {
        let answered = self.process.as_mut().map(|process| process.call(call));
        let answer = answered.unwrap_or_else(|| Err(io::Error::other("nothing is open")));
        answer.unwrap_or_else(|cause| {
            self.process = None;
            Answer::from(crate::Outcome::invalid_argument(format!("{TRAP}: no answer: {cause}")))
        })
    }
}

impl Process {
    fn call(&mut self, call: &Call<'_>) -> io::Result<Answer> {
        let line = json!({"dialect": call.dialect, "tool": call.tool, "arguments": call.arguments});
        writeln!(self.stdin, "{line}")?;
        let mut answer = String::new();
        self.stdout.read_line(&mut answer)?;
        Ok(Answer::from_json(&answer)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if the process has ended already.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

fn filled(word: &str, fixture: &Fixture) -> String {
    let word = word.replace("{root}", &fixture.root().to_string_lossy());
    word.replace("{state}", &fixture.state().to_string_lossy())
}

/// Returns whether the workspace has a policy of its own.
fn has_policy(fixture: &Fixture) -> io::Result<bool> {
    let mut entries = fixture.root().read_dir()?;
    entries.try_fold(false, |has_any, entry| {
        let name = entry?.file_name();
        Ok(has_any || name.to_string_lossy().starts_with(".paddock."))
    })
}
