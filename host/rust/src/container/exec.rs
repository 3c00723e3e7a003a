//! Commands in a container, run by its engine.

use std::path::Path;

use super::Container;
use super::engine::Engine;
use super::processes::Processes;

/// A command in a container.
pub(crate) struct Contained {
    /// Command line of the engine's client, which runs the command in the container.
    pub(crate) command: Vec<String>,
    pub(crate) processes: Processes,
}

impl Container {
    /// Returns a command in the container's directory `workdir`, with or without a terminal, with these variables.
    pub(crate) fn command(
        &self,
        command: &[String],
        workdir: &Path,
        terminal: bool,
        environment: &[(String, String)],
    ) -> Contained {
        let engine = self.held.info.engine;
        let processes = Processes::new(&self.held);
        let directory = if engine == Engine::Runc { "--cwd" } else { "--workdir" };
        let mut arguments = vec![engine.program().to_owned(), "exec".to_owned()];
        match (engine, terminal) {
            (Engine::Runc, false) => {}
            (Engine::Runc, true) => arguments.push("--tty".to_owned()),
            (_, false) => arguments.push("--interactive".to_owned()),
            (_, true) => arguments.extend(["--interactive", "--tty"].map(str::to_owned)),
        }
        let variables =
            environment.iter().map(|(name, value)| format!("{name}={value}")).chain([processes.tag().to_owned()]);
        arguments.extend(variables.flat_map(|variable| ["--env".to_owned(), variable]));
        arguments.extend([directory.to_owned(), workdir.to_string_lossy().into_owned(), self.held.info.name.clone()]);
        arguments.extend(processes.held_back(command));
        Contained { command: arguments, processes }
    }
}
