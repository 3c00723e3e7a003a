//! Commands: what the component cannot do, since WASI has no processes.
//!
//! The component says what a call asks for, what a command may do at a path and what it changed; here it is run. A
//! command is a process of a supervisor of its own, the warden, which confines it to the roots (`host/warden`);
//! a WASI program is run by the engine that runs the component.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::bindings::exports::paddock::files::commands::{Done, Ran, Request, RunArgs, Script, StartArgs, WriteArgs};
use crate::options::CancelToken;
use crate::policy::Commands as Policy;
use crate::temporary::Temporary;
use crate::types::{ErrorCode, ToolError};
use crate::workspace::Inner;

#[cfg(target_os = "linux")]
mod attendant;
mod capture;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod environment;
pub(crate) mod judge;
mod parse;
mod program;
mod rules;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod sessions;
mod spool;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod terminal;
mod tool;
#[cfg(target_os = "linux")]
mod warden;

use capture::Caps;
use rules::Rules;

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
    /// Why none can run here, where that is so.
    unfit: Option<&'static str>,
    /// Where commands have their temporary files and their home, as long as the workspace is open.
    home: OnceLock<Option<Temporary>>,
    #[cfg(target_os = "linux")]
    sessions: sessions::Sessions,
}

impl Commands {
    /// Those of a workspace by its policy; none where it does not enable them.
    pub(crate) fn new(policy: &crate::policy::Policy, unfit: Option<&'static str>) -> Option<Self> {
        let own = policy.commands.clone();
        own.enabled.then(|| Self {
            rules: Rules::new(&own.allow, &own.deny),
            policy: own,
            kept_bytes: if policy.backups.enabled { policy.backups.max_bytes } else { 0 },
            unfit,
            home: OnceLock::new(),
            #[cfg(target_os = "linux")]
            sessions: sessions::Sessions::default(),
        })
    }
}

/// How a call is to be made, beside what it asks for.
pub(crate) struct How<'h> {
    pub(crate) workspace: &'h Arc<Inner>,
    pub(crate) cancel: &'h CancelToken,
}

/// What a process is to run.
enum Process<'p> {
    Shell(&'p str),
    Python(&'p str),
}

impl How<'_> {
    /// Whether the workspace is a container, whose own commands are run.
    fn is_contained(&self) -> bool {
        self.workspace.mounts.iter().any(|mount| mount.is_contained)
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
            Script::Shell(line) => {
                self.rules.check(line)?;
                match self.program_line(how, line) {
                    Some(words) => self.run_program(how, run, &words),
                    None => self.run_process(how, run, &Process::Shell(line)),
                }
            }
            Script::Python(code) => {
                self.rules.check_program(&["python3".to_owned()])?;
                self.run_process(how, run, &Process::Python(code))
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
        let names = |name: &str| !how.is_contained() && self.policy.programs.contains_key(name);
        parse::plain_words(line).filter(|words| words.first().is_some_and(|name| names(name)))
    }

    fn run_program(&self, how: &How<'_>, run: &RunArgs, words: &[String]) -> Result<Ran, ToolError> {
        let [name, arguments @ ..] = words else {
            return Err(ToolError::new(ErrorCode::InvalidArgument, "no program"));
        };
        let time = self.time(run.timeout_ms);
        program::run(self, how, &program::Asked { name, arguments, stdin: &run.stdin, workdir: &run.workdir, time })
    }

    /// The caps of a stream in a result that is not a session's.
    fn caps(&self) -> Caps {
        let whole = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        Caps { bytes: whole(self.policy.max_output_bytes), lines: whole(self.policy.max_output_lines) }
    }

    fn home(&self, workspace: &Inner) -> Result<PathBuf, ToolError> {
        let home = self.home.get_or_init(|| Temporary::outside(&workspace.mounts).ok());
        let path = home.as_ref().map(|home| home.directory().path().to_owned());
        path.ok_or_else(|| ToolError::new(ErrorCode::Io, "cannot make a temporary directory for commands"))
    }

    fn time(&self, wanted_ms: u64) -> Duration {
        Duration::from_millis(wanted_ms.min(self.policy.max_time_ms))
    }
}

#[cfg(target_os = "linux")]
impl Commands {
    fn run_process(&self, how: &How<'_>, run: &RunArgs, what: &Process<'_>) -> Result<Ran, ToolError> {
        let command = match what {
            Process::Shell(line) => vec![shell(how.workspace), "-c".to_owned(), (*line).to_owned()],
            Process::Python(code) => ["python3", "-c", code].map(str::to_owned).into(),
        };
        let asked = running::Asked {
            command,
            workdir: how.workspace.host_path(&run.workdir)?,
            terminal: None,
            input: !run.stdin.is_empty(),
            time: self.time(run.timeout_ms),
            room: self.caps().bytes,
        };
        let running = running::Running::start(self, how.workspace, asked)?;
        if !run.stdin.is_empty() {
            // What it does not read is not missed.
            drop(running.write(run.stdin.as_bytes(), true));
        }
        running.wait(how.cancel, None);
        running.taken(self.caps(), None)
    }

    fn start(&self, how: &How<'_>, start: &StartArgs) -> Result<Ran, ToolError> {
        self.rules.check(&start.command)?;
        let asked = running::Asked {
            command: vec![shell(how.workspace), "-c".to_owned(), start.command.clone()],
            workdir: how.workspace.host_path(&start.workdir)?,
            terminal: start.terminal.then_some(start.size),
            input: true,
            time: self.time(u64::MAX),
            room: WAITING,
        };
        let running = Arc::new(running::Running::start(self, how.workspace, asked)?);
        let most = usize::try_from(self.policy.max_sessions).unwrap_or(usize::MAX);
        let id = self.sessions.add(Arc::clone(&running), &start.command, most);
        self.poll(how, &running, id, start.yield_ms, start.max_output_tokens)
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

/// The shell of a workspace.
#[cfg(target_os = "linux")]
fn shell(workspace: &Inner) -> String {
    match workspace.container {
        Some(_) => "/bin/sh".to_owned(),
        None => system::shell().to_string_lossy().into_owned(),
    }
}
