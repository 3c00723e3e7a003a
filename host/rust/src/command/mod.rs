//! Commands: what the component cannot do, since WASI has no processes.
//!
//! The component says what a call asks for, what a command may do at a path and what it changed; here it is run. A
//! command is a process of a supervisor of its own, the supervisor, which confines it to the roots (`host/supervisor`);
//! a WASI program is run by the engine that runs the component.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bindings::exports::paddock::files::commands::{Done, Ran, Request, RunArgs, Script, StartArgs, WriteArgs};
use crate::error::Error;
use crate::guests::Guests;
use crate::mount::Mount;
use crate::named_file::NamedFile;
use crate::options::CancelToken;
use crate::policy::{Commands as Policy, HardLinks};
use crate::roots::Roots;
use crate::types::{ErrorCode, ToolError};

pub(crate) mod authorizer;
mod capture;
#[cfg(target_os = "linux")]
mod command_task;
#[cfg(target_os = "linux")]
mod deadline;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod environment;
#[cfg(target_os = "linux")]
mod executables;
mod parse;
#[cfg(feature = "programs")]
mod program;
#[cfg(not(feature = "programs"))]
#[path = "no_programs.rs"]
mod program;
mod rules;
#[cfg(target_os = "linux")]
mod running;
mod scratch;
#[cfg(target_os = "linux")]
mod sessions;
mod spec;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod status;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod terminal;
mod undo_staging;

use capture::Caps;
use rules::Rules;
use scratch::Scratch;

/// Bytes of output that wait for a session's next reader, at its head and at its tail.
const WAITING: usize = 512 * 1024;

/// Bytes of a token, as the field counts them.
const TOKEN: u64 = 4;

/// How long output has to pause before a session's answer is given early: what comes in one piece is told in one.
const PAUSE: Duration = Duration::from_millis(50);

/// The commands of one workspace.
pub(crate) struct Commands {
    policy: Policy,
    /// Bytes that are kept of what one of them changes.
    kept_bytes: u64,
    rules: Rules,
    /// What a change does to a file that has other hard links.
    hard_links: HardLinks,
    /// Why none can run here, where that is so.
    unfit: Option<&'static str>,
    /// WASI programs by their names.
    programs: BTreeMap<String, NamedFile>,
    /// Where commands have what is temporary, as long as the workspace is open.
    scratch: Scratch,
    #[cfg(target_os = "linux")]
    system: system::System,
    /// What they may execute, where that is not whatever they may read.
    #[cfg(target_os = "linux")]
    executables: Option<executables::Executables>,
    #[cfg(target_os = "linux")]
    sessions: sessions::Sessions,
}

impl Commands {
    /// Those of a workspace by its policy, with all that they may have opened now; none where it does not enable them.
    /// Fails where a link in one of the roots decides what one of the policy's paths leads to.
    pub(crate) fn open(
        policy: &crate::policy::Policy,
        unfit: Option<&'static str>,
        roots: &[Mount],
    ) -> Result<Option<Self>, Error> {
        let own = policy.commands.clone();
        if !own.enabled {
            return Ok(None);
        }
        Ok(Some(Self {
            rules: Rules::new(&own.allow, &own.deny),
            hard_links: policy.hard_links,
            kept_bytes: if policy.backups.enabled { policy.backups.max_bytes } else { 0 },
            unfit,
            programs: program::open(&own, roots)?,
            scratch: if unfit.is_some() { Scratch::default() } else { Scratch::new(roots) },
            #[cfg(target_os = "linux")]
            system: system::System::open(&own, roots)?,
            #[cfg(target_os = "linux")]
            executables: executables::Executables::open(&own, roots)?,
            #[cfg(target_os = "linux")]
            sessions: sessions::Sessions::default(),
            policy: own,
        }))
    }

    /// The directory for what is temporary, which is closed to tools.
    pub(crate) fn scratch(&self) -> Option<PathBuf> {
        self.scratch.path()
    }
}

/// The failure of a call of a program that the policy does not name.
fn unknown_program(policy: &Policy, name: &str) -> ToolError {
    let known: Vec<_> = policy.programs.keys().map(|name| format!("`{name}`")).collect();
    let known = if known.is_empty() { "it names none".to_owned() } else { format!("it names {}", known.join(", ")) };
    ToolError::new(ErrorCode::NotFound, format!("the policy names no program `{name}`; {known}"))
        .hint("run one of those; the person who runs this can name more in `commands.programs`")
}

/// How a call is to be made, beside what it asks for.
pub(crate) struct How<'h> {
    pub(crate) guests: &'h Arc<Guests>,
    pub(crate) cancel: &'h CancelToken,
}

impl How<'_> {
    /// Whether the workspace is a container, whose own commands are run.
    fn is_contained(&self) -> bool {
        self.guests.roots.mounts.iter().any(|mount| mount.is_contained)
    }
}

impl Commands {
    /// Does what a request asks for.
    pub(crate) fn perform(&self, how: &How<'_>, request: &Request) -> Result<Done, ToolError> {
        if let Some(cause) = self.unfit {
            return Err(ToolError::new(ErrorCode::Denied, format!("cannot run commands: {cause}"))
                .hint("use the file tools; the person who runs this can open the directory itself for commands"));
        }
        match request {
            Request::Run(run) => self.run(how, run).map(Done::Ran),
            Request::Start(start) => self.start(how, start).map(Done::Ran),
            Request::Write(write) => self.write(how, write).map(Done::Ran),
            Request::Sessions => Ok(Done::Sessions(self.sessions())),
            Request::Kill(id) => self.kill(how, *id).map(Done::Ran),
        }
    }

    /// Runs something to its end: one of the policy's programs here, all else in a process.
    fn run(&self, how: &How<'_>, run: &RunArgs) -> Result<Ran, ToolError> {
        match &run.script {
            Script::Shell(line) => match self.program_line(how, line) {
                Some(words) => {
                    self.rules.check_program(&words)?;
                    self.run_program(how, run, &words)
                }
                None => self.run_process(how, run, self.words(&how.guests.roots, line)?),
            },
            Script::Python(code) => {
                let words = ["python3", "-c", code].map(str::to_owned);
                self.rules.check_program(&words)?;
                self.run_process(how, run, words.into())
            }
            Script::Program((name, arguments)) => {
                let words: Vec<_> = std::iter::once(name).chain(arguments).cloned().collect();
                self.rules.check_program(&words)?;
                self.run_program(how, run, &words)
            }
        }
    }

    /// The words of a line that is one command, and that a program.
    fn program_line(&self, how: &How<'_>, line: &str) -> Option<Vec<String>> {
        let names = |name: &str| !how.is_contained() && self.programs.contains_key(name);
        parse::plain_words(line).filter(|words| words.first().is_some_and(|name| names(name)))
    }

    fn run_program(&self, how: &How<'_>, run: &RunArgs, words: &[String]) -> Result<Ran, ToolError> {
        let [name, arguments @ ..] = words else {
            return Err(ToolError::new(ErrorCode::InvalidArgument, "no program"));
        };
        let time = self.time(run.timeout_ms);
        program::run(self, how, &spec::ProgramSpec { name, arguments, stdin: &run.stdin, workdir: &run.workdir, time })
    }

    /// The caps of a stream in a result that is not a session's.
    fn caps(&self) -> Caps {
        let whole = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        Caps { bytes: whole(self.policy.max_output_bytes), lines: whole(self.policy.max_output_lines) }
    }

    fn time(&self, wanted_ms: u64) -> Duration {
        Duration::from_millis(wanted_ms.min(self.policy.max_time_ms))
    }
}

#[cfg(target_os = "linux")]
impl Commands {
    fn run_process(&self, how: &How<'_>, run: &RunArgs, command: Vec<String>) -> Result<Ran, ToolError> {
        let asked = spec::CommandSpec {
            command,
            workdir: &run.workdir,
            terminal: None,
            input: !run.stdin.is_empty(),
            time: self.time(run.timeout_ms),
            room: self.caps().bytes,
        };
        let running = running::Running::start(self, how.guests, &asked)?;
        if !run.stdin.is_empty() {
            // What it does not read is not missed.
            drop(running.write(run.stdin.as_bytes(), true));
        }
        running.wait(how.cancel, None);
        running.taken(self.caps(), None)
    }

    fn start(&self, how: &How<'_>, start: &StartArgs) -> Result<Ran, ToolError> {
        let asked = spec::CommandSpec {
            command: self.words(&how.guests.roots, &start.command)?,
            workdir: &start.workdir,
            terminal: start.terminal.then_some(start.size),
            input: true,
            time: self.time(u64::MAX),
            room: WAITING,
        };
        let running = Arc::new(running::Running::start(self, how.guests, &asked)?);
        let max = usize::try_from(self.policy.max_sessions).unwrap_or(usize::MAX);
        let id = self.sessions.add(Arc::clone(&running), &start.command, max);
        self.poll(how, &running, id, start.yield_ms, start.max_output_tokens)
    }

    /// What is executed for a line, if rules let it be: a shell that reads it; or, where the policy lists what is allowed
    /// and no shell is in that list, the one program that it names.
    fn words(&self, roots: &Roots, line: &str) -> Result<Vec<String>, ToolError> {
        let Some(shell) = self.shell(roots) else {
            let words = parse::plain_words(line).ok_or_else(|| self.rules.needs_shell(line))?;
            self.rules.check_program(&words)?;
            return Ok(words);
        };
        self.rules.check(line)?;
        Ok(vec![shell, "-c".to_owned(), line.to_owned()])
    }

    /// The shell that reads lines. None where the policy lists what is allowed, and no shell by its name alone.
    fn shell(&self, roots: &Roots) -> Option<String> {
        match (self.policy.allow.is_empty(), &roots.container) {
            (true, Some(_)) => Some("/bin/sh".to_owned()),
            (true, None) => Some(system::shell().to_string_lossy().into_owned()),
            (false, _) => system::SHELLS.iter().find(|shell| self.rules.allows(shell)).map(|shell| (*shell).to_owned()),
        }
    }

    fn write(&self, how: &How<'_>, write: &WriteArgs) -> Result<Ran, ToolError> {
        let running = self.sessions.get(write.session)?;
        if let Some(size) = write.size {
            running.resize(size)?;
        }
        running.write(write.chars.as_bytes(), write.eof)?;
        self.poll(how, &running, write.session, write.yield_ms, write.max_output_tokens)
    }

    /// Waits for output or the end, and takes what there is. A session that has ended is forgotten then.
    fn poll(
        &self,
        how: &How<'_>,
        running: &running::Running,
        id: u32,
        yield_ms: u64,
        tokens: u64,
    ) -> Result<Ran, ToolError> {
        running.wait(how.cancel, Some((Instant::now() + Duration::from_millis(yield_ms), PAUSE)));
        let bytes = usize::try_from(tokens.saturating_mul(TOKEN)).unwrap_or(usize::MAX).min(2 * WAITING);
        let ran = running.taken(Caps { bytes, lines: usize::MAX }, Some(id));
        if ran.as_ref().map_or(true, |ran| ran.session.is_none()) {
            self.sessions.remove(id);
        }
        ran
    }

    fn sessions(&self) -> Vec<crate::bindings::exports::paddock::files::commands::Session> {
        self.sessions.list()
    }

    fn kill(&self, how: &How<'_>, id: u32) -> Result<Ran, ToolError> {
        let running = self.sessions.get(id)?;
        running.kill();
        running.wait(how.cancel, None);
        self.sessions.remove(id);
        running.taken(Caps { bytes: 2 * WAITING, lines: usize::MAX }, None)
    }

    /// Ends every session, and waits until what they changed is recorded.
    pub(crate) fn end(&self) {
        let all = self.sessions.take();
        all.iter().for_each(|running| running.kill());
        all.iter().for_each(|running| running.wait(&CancelToken::default(), None));
    }
}
