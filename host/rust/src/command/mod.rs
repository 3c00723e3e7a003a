//! Commands, which the component cannot run because WASI has no processes.
//!
//! The component decodes the call, authorizes accesses to paths, and records changes; this module runs the command.
//! Each command has its own supervisor process, which confines it to the roots (`host/supervisor`). A WASI program
//! runs in the engine of the component.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
#[cfg(target_os = "linux")]
use std::time::Instant;

#[cfg(target_os = "linux")]
use crate::bindings::exports::paddock::files::commands::StartArgs;
use crate::bindings::exports::paddock::files::commands::{Ran, Request, RequestResult, RunArgs, Script, WriteArgs};
use crate::error::Error;
use crate::guests::Guests;
use crate::mount::Mount;
use crate::named_file::NamedFile;
use crate::options::CancelToken;
use crate::policy::{Commands as Policy, HardLinks};
#[cfg(target_os = "linux")]
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
mod retained;
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

/// Maximum number of buffered bytes of an output stream, at the head and at the tail.
const WAITING: usize = 512 * 1024;

/// Estimated number of bytes of a token.
const TOKEN: u64 = 4;

/// Pause of the output after which an incomplete last line counts as a prompt for input.
#[cfg(target_os = "linux")]
const PROMPT_PAUSE: Duration = Duration::from_millis(250);

/// The commands of one workspace.
pub(crate) struct Commands {
    policy: Policy,
    /// Whether the policy lets tools and commands change protected paths.
    allow_protected: bool,
    /// Maximum number of bytes of backups for the changes of a command.
    stored_bytes: u64,
    rules: Rules,
    /// Treatment of changed files with further hard links.
    hard_links: HardLinks,
    /// Reason why no command can run on this host, if there is one.
    unfit: Option<&'static str>,
    /// WASI programs, by name.
    programs: BTreeMap<String, NamedFile>,
    /// Directory for temporary files of commands, which exists while the workspace is open.
    scratch: Scratch,
    retained: retained::Retained,
    /// Number of the last session.
    last_id: AtomicU32,
    #[cfg(target_os = "linux")]
    system: system::System,
    /// Files that commands may execute; `None` if they may execute every readable file.
    #[cfg(target_os = "linux")]
    executables: Option<executables::Executables>,
    #[cfg(target_os = "linux")]
    sessions: sessions::Sessions,
}

impl Commands {
    /// Opens all paths of the policy and returns the commands of a workspace; `None` if the policy does not enable
    /// commands. Fails if a link in a root decides where a path of the policy leads.
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
            allow_protected: policy.allow_protected,
            stored_bytes: if policy.backups.enabled { policy.backups.max_bytes } else { 0 },
            unfit,
            programs: program::open(&own, roots)?,
            scratch: if unfit.is_some() { Scratch::default() } else { Scratch::new(roots) },
            retained: retained::Retained::default(),
            last_id: AtomicU32::new(0),
            #[cfg(target_os = "linux")]
            system: system::System::open(&own, roots)?,
            #[cfg(target_os = "linux")]
            executables: executables::Executables::open(&own, roots)?,
            #[cfg(target_os = "linux")]
            sessions: sessions::Sessions::default(),
            policy: own,
        }))
    }

    /// Returns whether commands may change Git's data in an otherwise protected `.git`.
    fn changes_git_data(&self) -> bool {
        self.policy.git && !self.allow_protected
    }

    /// Returns the directory for temporary files, which tools cannot reach.
    pub(crate) fn scratch(&self) -> Option<PathBuf> {
        self.scratch.path()
    }
}

/// Returns the error of a call of a program that the policy does not name.
fn unknown_program(policy: &Policy, name: &str) -> ToolError {
    let known: Vec<_> = policy.programs.keys().map(|name| format!("`{name}`")).collect();
    let known = if known.is_empty() { "it names none".to_owned() } else { format!("it names {}", known.join(", ")) };
    ToolError::new(ErrorCode::NotFound, format!("the policy names no program `{name}`; {known}"))
        .hint("run one of those; the person who runs this can name more in `commands.programs`")
}

/// Context of a call.
pub(crate) struct How<'h> {
    pub(crate) guests: &'h Arc<Guests>,
    pub(crate) cancel: &'h CancelToken,
}

impl How<'_> {
    /// Returns whether the workspace is a container, in which commands run.
    fn is_contained(&self) -> bool {
        self.guests.roots.mounts.iter().any(|mount| mount.is_contained)
    }
}

impl Commands {
    /// Executes a request.
    pub(crate) fn perform(&self, how: &How<'_>, request: &Request) -> Result<RequestResult, ToolError> {
        if let Some(cause) = self.unfit {
            return Err(ToolError::new(ErrorCode::Denied, format!("cannot run commands: {cause}"))
                .hint("use the file tools; the person who runs this can open the directory itself for commands"));
        }
        match request {
            Request::Run(run) => self.run(how, run).map(RequestResult::Ran),
            Request::Start(start) => self.start(how, start).map(RequestResult::Ran),
            Request::Write(write) => match write.offset {
                Some(offset) => self.page(write, offset).map(RequestResult::Ran),
                None => self.write(how, write).map(RequestResult::Ran),
            },
            Request::Sessions => Ok(RequestResult::Sessions(self.sessions())),
            Request::Kill(id) => self.kill(how, *id).map(RequestResult::Ran),
        }
    }

    /// Runs a command to its end: a WASI program of the policy in this process, every other command in its own process.
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

    /// Returns the words of a line that is one command and names a WASI program.
    fn program_line(&self, how: &How<'_>, line: &str) -> Option<Vec<String>> {
        let names = |name: &str| !how.is_contained() && self.programs.contains_key(name);
        parse::plain_words(line).filter(|words| words.first().is_some_and(|name| names(name)))
    }

    fn run_program(&self, how: &How<'_>, run: &RunArgs, words: &[String]) -> Result<Ran, ToolError> {
        let [name, arguments @ ..] = words else {
            return Err(ToolError::new(ErrorCode::InvalidArgument, "no program"));
        };
        let time = self.time(run.timeout_ms);
        program::run(
            self,
            how,
            &spec::ProgramSpec {
                name,
                arguments,
                stdin: &run.stdin,
                workdir: &run.workdir,
                time,
                max_output_tokens: run.max_output_tokens,
            },
        )
    }

    /// Returns output that earlier results left out.
    fn page(&self, write: &WriteArgs, offset: u64) -> Result<Ran, ToolError> {
        let ran = self.retained.page(write.session, offset, caps_of(write.max_output_tokens))?;
        Ok(Ran { session: ran.session.filter(|id| self.has_session(*id)), ..ran })
    }

    /// Returns the number of the next session.
    fn next_id(&self) -> u32 {
        self.last_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Returns the limits of a stream in a result without a session, of which the caller may request another number of
    /// tokens than the policy has.
    fn caps(&self, tokens: Option<u64>) -> Caps {
        if let Some(tokens) = tokens {
            return caps_of(tokens);
        }
        let whole = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        Caps { bytes: whole(self.policy.max_output_bytes), lines: whole(self.policy.max_output_lines) }
    }

    fn time(&self, wanted_ms: u64) -> Duration {
        Duration::from_millis(wanted_ms.min(self.policy.max_time_ms))
    }
}

/// Returns the limits of a stream for a number of tokens.
fn caps_of(tokens: u64) -> Caps {
    let bytes = usize::try_from(tokens.saturating_mul(TOKEN)).unwrap_or(usize::MAX).min(2 * WAITING);
    Caps { bytes, lines: usize::MAX }
}

#[cfg(target_os = "linux")]
impl Commands {
    fn run_process(&self, how: &How<'_>, run: &RunArgs, command: Vec<String>) -> Result<Ran, ToolError> {
        let spec = spec::CommandSpec {
            command,
            workdir: &run.workdir,
            terminal: None,
            input: !run.stdin.is_empty(),
            time: self.time(run.timeout_ms),
        };
        let running = running::Running::start(self, how.guests, &spec)?;
        if !run.stdin.is_empty() {
            // A command that does not read its input is not an error.
            drop(running.write(run.stdin.as_bytes(), true));
        }
        running.wait(how.cancel, None);
        running.taken(self.caps(run.max_output_tokens), None, (&self.retained, || self.next_id()))
    }

    fn start(&self, how: &How<'_>, start: &StartArgs) -> Result<Ran, ToolError> {
        let spec = spec::CommandSpec {
            command: self.words(&how.guests.roots, &start.command)?,
            workdir: &start.workdir,
            terminal: start.terminal.then_some(start.size),
            input: start.input || start.terminal,
            time: self.time(u64::MAX),
        };
        let running = Arc::new(running::Running::start(self, how.guests, &spec)?);
        let max = usize::try_from(self.policy.max_sessions).unwrap_or(usize::MAX);
        let id = self.next_id();
        self.sessions.add(id, Arc::clone(&running), &start.command, max);
        self.poll(how, &running, id, start.yield_ms, start.max_output_tokens)
    }

    /// Returns the program for a line that the rules allow: a shell; or the program that the line names, if the
    /// policy lists allowed commands and no shell is among them.
    fn words(&self, roots: &Roots, line: &str) -> Result<Vec<String>, ToolError> {
        let Some(shell) = self.shell(roots) else {
            let words = parse::plain_words(line).ok_or_else(|| self.rules.needs_shell(line))?;
            self.rules.check_program(&words)?;
            return Ok(words);
        };
        self.rules.check(line)?;
        Ok(vec![shell, "-c".to_owned(), line.to_owned()])
    }

    /// Returns the shell that reads lines; `None` if the policy lists allowed commands and allows no shell by its name
    /// alone.
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

    /// Waits until the time is over, or the command ends or asks for input, and returns the output. Removes the session
    /// if its command has ended.
    fn poll(
        &self,
        how: &How<'_>,
        running: &running::Running,
        id: u32,
        yield_ms: u64,
        tokens: u64,
    ) -> Result<Ran, ToolError> {
        running.wait(how.cancel, Some(Instant::now() + Duration::from_millis(yield_ms)));
        let ran = running.taken(caps_of(tokens), Some(id), (&self.retained, || id));
        if ran.as_ref().map_or(true, |ran| ran.session.is_none()) {
            self.sessions.remove(id);
        }
        ran
    }

    fn has_session(&self, id: u32) -> bool {
        self.sessions.list().iter().any(|session| session.id == id)
    }

    fn sessions(&self) -> Vec<crate::bindings::exports::paddock::files::commands::Session> {
        self.sessions.list()
    }

    fn kill(&self, how: &How<'_>, id: u32) -> Result<Ran, ToolError> {
        let running = self.sessions.get(id)?;
        running.kill();
        running.wait(how.cancel, None);
        self.sessions.remove(id);
        running.taken(caps_of(u64::MAX), None, (&self.retained, || id))
    }

    /// Ends every session, and waits until its changes are recorded.
    pub(crate) fn end(&self) {
        self.retained.clear();
        let all = self.sessions.take();
        all.iter().for_each(|running| running.kill());
        all.iter().for_each(|running| running.wait(&CancelToken::default(), None));
    }
}
