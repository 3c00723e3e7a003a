//! Commands in a container: run by its engine, and ended here.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::Container;
use super::engine::Engine;
use crate::hex::hex;

/// The variable in the environment of a command's processes by which they are known.
const MARK: &str = "PADDOCK_COMMAND";

/// How often what was found is ended, and others looked for: a process can fork while it is looked for.
const ROUNDS: usize = 64;

/// A command in a container.
pub(crate) struct Contained {
    /// What is run here, and runs it there.
    pub(crate) command: Vec<String>,
    pub(crate) mark: Mark,
}

/// What the processes of one command in a container have in common.
pub(crate) struct Mark(String);

impl Container {
    /// A command in the container's directory `workdir`, on a terminal or not, with these variables.
    pub(crate) fn command(
        &self,
        command: &[String],
        workdir: &Path,
        terminal: bool,
        environment: &[(String, String)],
    ) -> Contained {
        let engine = self.held.found.engine;
        let mut nonce = [0; 16];
        // Without random numbers it is known by the process and when it was made, as far as that goes.
        let is_random = getrandom::fill(&mut nonce).is_ok();
        let mark = if is_random { hex(&nonce) } else { format!("{}-{:p}", std::process::id(), &nonce) };
        let mark = format!("{MARK}={mark}");
        let directory = if engine == Engine::Runc { "--cwd" } else { "--workdir" };
        let mut arguments = vec![engine.program().to_owned(), "exec".to_owned()];
        match (engine, terminal) {
            (Engine::Runc, false) => {}
            (Engine::Runc, true) => arguments.push("--tty".to_owned()),
            (_, false) => arguments.push("--interactive".to_owned()),
            (_, true) => arguments.extend(["--interactive", "--tty"].map(str::to_owned)),
        }
        let variables = environment.iter().map(|(name, value)| format!("{name}={value}")).chain([mark.clone()]);
        arguments.extend(variables.flat_map(|variable| ["--env".to_owned(), variable]));
        arguments.extend([directory.to_owned(), workdir.to_string_lossy().into_owned(), self.held.found.name.clone()]);
        arguments.extend(command.iter().cloned());
        Contained { command: arguments, mark: Mark(mark) }
    }
}

impl Mark {
    /// Ends every process that has it: those that the engine's own program does not end with itself.
    pub(crate) fn end(&self) {
        for _ in 0..ROUNDS {
            if !self.end_those_there() {
                return;
            }
        }
    }

    /// Whether there was any.
    fn end_those_there(&self) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let mut found = false;
        for pid in ids.filter_map(Pid::from_raw) {
            // Held before it is looked at, so that no other can be taken for it.
            let Ok(held) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            let has_mark = fs::read(format!("/proc/{pid}/environ")).is_ok_and(|variables| {
                variables.split(|byte| *byte == 0).any(|variable| variable == self.0.as_bytes())
            });
            found |= has_mark && pidfd_send_signal(held, Signal::KILL).is_ok();
        }
        found
    }
}
