//! A process that offers the tools, with one call per line or over MCP.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use serde_json::{Value, json};

pub struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    is_mcp: bool,
}

/// Outcome of a call: its result, or the text of its error.
pub type Answer = Result<Value, String>;

impl Client {
    /// Starts a process for the directory `work` in `home`, which also contains the state.
    pub fn start(home: &Path, is_mcp: bool) -> Self {
        Self::start_with(home, is_mcp, &["--root", "work"])
    }

    /// Starts a process with these options, whose paths are relative to `home`. `home` also contains the state, unless
    /// an option names another directory.
    pub fn start_with(home: &Path, is_mcp: bool, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.arg(if is_mcp { "mcp" } else { "batch" }).args(options).current_dir(home);
        command.env("PADDOCK_STATE_DIR", home.join("state")).env("XDG_CONFIG_HOME", home).env_remove("PADDOCK_POLICY");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Self { child, stdin, stdout, is_mcp };
        if is_mcp {
            let about = json!({"name": "test", "version": "1"});
            let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about});
            client.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
            client.receive().unwrap();
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    /// Makes a call. Returns `None` if the process has ended.
    pub fn try_call(&mut self, tool: &str, arguments: &Value) -> Option<Answer> {
        if !self.is_mcp {
            self.send(&json!({"tool": tool, "arguments": arguments}));
            let mut outcome = self.receive()?;
            let is_ok = outcome["ok"] == true;
            return Some(if is_ok { Ok(outcome["result"].take()) } else { Err(text(&outcome["error"]["message"])) });
        }
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
        let mut answer = loop {
            let message = self.receive()?;
            if message["id"] == 1 {
                break message;
            }
        };
        let result = &mut answer["result"];
        let is_ok = result["isError"] == false;
        Some(if is_ok { Ok(result["structuredContent"].take()) } else { Err(text(&result["content"][0]["text"])) })
    }

    pub fn call(&mut self, tool: &str, arguments: &Value) -> Answer {
        self.try_call(tool, arguments).expect("the process lives")
    }

    /// Makes one call after the other until the process is killed after `time`. Returns the number of calls that the
    /// process reported as successful.
    pub fn killed_after(mut self, time: Duration, mut next: impl FnMut() -> (&'static str, Value)) -> usize {
        let pid = Pid::from_child(&self.child);
        let killer = thread::spawn(move || {
            thread::sleep(time);
            // The process was not waited for yet, so the system cannot have reused its id.
            kill_process(pid, Signal::KILL).unwrap();
        });
        let mut calls = 0;
        loop {
            let (tool, arguments) = next();
            match self.try_call(tool, &arguments) {
                Some(answer) => drop(answer.unwrap()),
                None => break,
            }
            calls += 1;
        }
        killer.join().unwrap();
        calls
    }

    fn send(&mut self, message: &Value) {
        // The write fails if the process was killed.
        let _ = writeln!(self.stdin, "{message}");
    }

    fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        // A killed process may have written only a part of its last line.
        line.ends_with('\n').then(|| serde_json::from_str(&line).unwrap())
    }
}

fn text(of: &Value) -> String {
    of.as_str().unwrap().to_owned()
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
