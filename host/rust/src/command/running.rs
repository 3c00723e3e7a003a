//! A running or ended command: its input, its output and its result.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::authorizer::Authorizer;
use super::capture::{Caps, Rest};
use super::command_task::CommandTask;
use super::deadline::left;
use super::retained::Retained;
use super::spec::CommandSpec;
use super::start::Prepared;
use super::status::State;
use super::supervisor::Supervisor;
use super::{Commands, terminal};
use crate::bindings::exports::paddock::files::commands::{Captured, Ran, Recorded};
use crate::guests::Guests;
use crate::options::CancelToken;
use crate::types::{ErrorCode, ToolError};

/// Time that a write waits for the command to read earlier input.
const READS_WITHIN: Duration = Duration::from_secs(2);

/// Interval at which the cancellation token is checked.
const TICK: Duration = Duration::from_millis(10);

/// End of file, on a terminal.
const END_OF_FILE: &[u8] = b"\x04";

/// A command that runs or has ended. Dropping this value kills the command.
pub(super) struct Running {
    state: Arc<State>,
    input: Mutex<Option<OwnedFd>>,
    has_terminal: bool,
    started: Instant,
    /// Number of bytes of its output that were kept because results left out a part.
    retained_bytes: AtomicU64,
}

impl Running {
    /// Starts a command.
    pub(super) fn start(commands: &Commands, guests: &Arc<Guests>, spec: &CommandSpec<'_>) -> Result<Self, ToolError> {
        let fail = |cause: std::io::Error| ToolError::new(ErrorCode::Io, format!("cannot start the command: {cause}"));
        let (streams, ends) = Streams::open(spec).map_err(fail)?;
        let Prepared { launch, staging, home, contained } = Prepared::new(commands, &guests.roots, spec)?;
        let supervisor = Supervisor::start(&launch, &ends).map_err(fail)?;
        let names_programs = launch.start.programs.is_some();
        drop((ends, launch));
        let input = streams.input.as_ref().map(OwnedFd::try_clone).transpose().map_err(fail)?;
        let state = Arc::new(State::new(&guests.roots).map_err(fail)?);
        let authorizer = Authorizer::new(Arc::downgrade(guests), state.killed.clone());
        let started = Instant::now();
        let command_task = CommandTask {
            state: Arc::clone(&state),
            supervisor,
            output: [streams.stdout, streams.stderr],
            authorizer,
            staging,
            home,
            names_programs,
            contained,
            started,
            deadline: started + spec.time,
        };
        let spawned = thread::Builder::new().name("paddock command".to_owned()).spawn(|| command_task.attend());
        spawned.map_err(fail)?;
        Ok(Self {
            state,
            input: Mutex::new(input),
            has_terminal: spec.terminal.is_some(),
            started,
            retained_bytes: AtomicU64::new(0),
        })
    }

    pub(super) fn runs(&self) -> bool {
        self.state.now().end.is_none()
    }

    pub(super) fn age_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Waits for the end of the command. With `until`, also returns at that time, and when the command asks for input.
    /// Without it, cancelling the wait ends the command.
    pub(super) fn wait(&self, cancel: &CancelToken, until: Option<Instant>) {
        let mut now = self.state.now();
        let mut is_killed = false;
        while now.end.is_none() {
            match until {
                None if cancel.is_cancelled() && !is_killed => {
                    is_killed = true;
                    self.kill();
                }
                Some(until) if cancel.is_cancelled() || Instant::now() >= until || now.is_at_prompt() => return,
                _ => {}
            }
            let waited = self.state.changed.wait_timeout(now, TICK);
            now = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the output since the last call, and the result if the command has ended. `session` is the session of a
    /// command that still runs. Output beyond the limits goes to `retained`, under the number `id`.
    pub(super) fn taken(
        &self,
        caps: Caps,
        session: Option<u32>,
        (retained, id): (&Retained, impl FnOnce() -> u32),
    ) -> Result<Ran, ToolError> {
        let (mut ran, rests) = self.result(caps, session)?;
        if rests.iter().any(Option::is_some) {
            retained.keep(&mut ran, rests, (id(), &self.retained_bytes));
        }
        Ok(ran)
    }

    fn result(&self, caps: Caps, session: Option<u32>) -> Result<(Ran, [Option<Rest>; 2]), ToolError> {
        let mut now = self.state.now();
        let runs = now.end.is_none();
        let ((stdout, out), (stderr, err)) = (now.stdout.take(caps, runs), now.stderr.take(caps, runs));
        let confinement = now.confinement.clone();
        let Some(end) = &now.end else {
            return Ok((ran(self.started.elapsed(), stdout, stderr, confinement, session), [out, err]));
        };
        if let Some(failed) = &end.failed {
            return Err(failed.clone());
        }
        let recorded =
            end.recorded.clone().unwrap_or_else(|| Recorded { changes: Vec::new(), backup: None, notes: Vec::new() });
        let ran = Ran {
            exit_code: end.exit_code,
            signal: end.signal.clone(),
            timed_out: end.timed_out,
            changes: recorded.changes,
            backup: recorded.backup,
            ignored: end.ignored,
            refused: end.refused.clone(),
            notes: recorded.notes.into_iter().chain(end.notes.iter().cloned()).collect(),
            ..ran(end.after, stdout, stderr, confinement, None)
        };
        Ok((ran, [out, err]))
    }

    /// Writes to the standard input of the command. Fails if the command does not read it in time or has ended.
    pub(super) fn write(&self, bytes: &[u8], eof: bool) -> Result<(), ToolError> {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = input.as_ref() else {
            return match bytes.is_empty() && !eof {
                true => Ok(()),
                false => Err(closed("its standard input was closed")),
            };
        };
        let end = if eof && self.has_terminal { END_OF_FILE } else { b"" };
        for bytes in [bytes, end] {
            let written = write_within(open, bytes);
            if written < bytes.len() && self.runs() {
                return Err(closed(&format!("it reads nothing: {written} of {} bytes were written", bytes.len())));
            }
        }
        if eof && !self.has_terminal {
            *input = None;
        }
        Ok(())
    }

    /// Changes the size of the command's terminal.
    pub(super) fn resize(&self, size: (u16, u16)) -> Result<(), ToolError> {
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        match input.as_ref().filter(|_| self.has_terminal) {
            Some(terminal) => terminal::resize(terminal, size).map_err(|cause| closed(&cause.to_string())),
            None => {
                Err(ToolError::new(ErrorCode::InvalidArgument, "the session has no terminal whose size could change")
                    .hint("leave the size out, or start the command with a terminal"))
            }
        }
    }

    /// Kills all processes of the command. The command's thread then records the changes.
    pub(super) fn kill(&self) {
        self.state.kill();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

fn ran(after: Duration, stdout: Captured, stderr: Captured, confinement: String, session: Option<u32>) -> Ran {
    Ran {
        exit_code: None,
        signal: None,
        timed_out: false,
        session,
        duration_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
        stdout,
        stderr,
        unread: None,
        confinement,
        changes: Vec::new(),
        ignored: 0,
        backup: None,
        refused: Vec::new(),
        notes: Vec::new(),
    }
}

fn closed(cause: &str) -> ToolError {
    ToolError::new(ErrorCode::Io, format!("cannot write to the command: {cause}"))
        .hint("read its output with an empty write first, or end the session and start another")
}

/// Writes until all bytes are written or `READS_WITHIN` is over, and returns the number of written bytes.
fn write_within(to: &OwnedFd, bytes: &[u8]) -> usize {
    let until = Instant::now() + READS_WITHIN;
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match rustix::io::write(to, rest) {
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                if poll(&mut [PollFd::from_borrowed_fd(to.as_fd(), PollFlags::OUT)], Some(&left(until))) == Ok(0) {
                    break;
                }
            }
            Err(_) => break,
        }
    }
    written
}

/// This process's ends of a command's streams.
struct Streams {
    input: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

impl Streams {
    /// Opens the streams. Also returns the command's ends of standard input, output and error.
    fn open(spec: &CommandSpec<'_>) -> std::io::Result<(Self, [OwnedFd; 3])> {
        if let Some(size) = spec.terminal {
            let (own, theirs) = terminal::open(size)?;
            rustix::io::ioctl_fionbio(&own, true)?;
            let ends = [theirs.try_clone()?, theirs.try_clone()?, theirs];
            return Ok((Self { input: Some(own.try_clone()?), stdout: Some(own), stderr: None }, ends));
        }
        let (stdout, out) = std::io::pipe()?;
        let (stderr, err) = std::io::pipe()?;
        let (stdout, stderr) = (OwnedFd::from(stdout), OwnedFd::from(stderr));
        [&stdout, &stderr].into_iter().try_for_each(|own| rustix::io::ioctl_fionbio(own, true))?;
        let (stdin, input) = match spec.input {
            true => {
                let (stdin, input) = std::io::pipe()?;
                let input = OwnedFd::from(input);
                rustix::io::ioctl_fionbio(&input, true)?;
                (OwnedFd::from(stdin), Some(input))
            }
            false => (std::fs::File::open("/dev/null")?.into(), None),
        };
        Ok((Self { input, stdout: Some(stdout), stderr: Some(stderr) }, [stdin, out.into(), err.into()]))
    }
}
