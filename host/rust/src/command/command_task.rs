//! The thread of a command. It reads the output, answers requests of the supervisor, ends the command at its time
//! limit, and records the changes.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_supervisor::protocol::{self, AccessQuestion, Ended, FromSupervisor, Kind, Verdict};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::Signal;

use super::authorizer::Authorizer;
use super::deadline::left;
use super::status::{End, Now, State};
use super::supervisor::Supervisor;
use super::undo_staging::{self, UndoStaging};
use crate::bindings::exports::paddock::files::commands::{Access, Before, Refused};
use crate::container::Processes;
use crate::temporary::Temporary;
use crate::types::{EntryKind, ErrorCode, ToolError};
use crate::wasi::mode::SET;

/// Grace period of a command after its time limit, and then of its supervisor.
const GRACE: Duration = Duration::from_millis(300);
const LAST_GRACE: Duration = Duration::from_secs(10);

/// Maximum time for which the end of a command waits for the removal of its home directory.
const REMOVED_WITHIN: Duration = Duration::from_secs(1);

/// End of the path of the lock that Git takes before it writes the index.
const INDEX_LOCK: &str = "/.git/index.lock";

const BUFFER: usize = 64 * 1024;

/// Indices of the descriptors for a kill and for the end in a container, after those for messages and output.
const KILL: usize = 3;
const CONTAINED: usize = 4;

pub(super) struct CommandTask {
    pub(super) state: Arc<State>,
    pub(super) supervisor: Supervisor,
    /// Standard output and standard error.
    pub(super) output: [Option<OwnedFd>; 2],
    pub(super) authorizer: Authorizer,
    pub(super) staging: UndoStaging,
    pub(super) home: Temporary,
    /// Whether only named programs can be executed.
    pub(super) names_programs: bool,
    /// Processes of the command in a container.
    pub(super) contained: Option<Processes>,
    pub(super) started: Instant,
    pub(super) deadline: Instant,
}

/// Progress of ending a command that was killed or has reached its time limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Runs,
    EndRequested,
    Killed,
}

/// Descriptors that are ready.
#[derive(Default)]
struct Ready {
    message: bool,
    output: [bool; 2],
    contained: bool,
}

impl CommandTask {
    pub(super) fn attend(mut self) {
        Supervisor::spare();
        let (mut stage, mut due, mut timed_out) = (Stage::Runs, self.deadline, false);
        let end = loop {
            let next_scan = self.contained.as_mut().and_then(Processes::admit);
            let ready = self.wait(next_scan.map_or(due, |next_scan| next_scan.min(due)), stage);
            // A command can always send requests or output, so its end is checked before both.
            let is_killed = self.state.killed.is_cancelled() && stage != Stage::Killed;
            if is_killed || Instant::now() >= due {
                timed_out |= stage == Stage::Runs && !is_killed;
                (stage, due) = match stage {
                    Stage::Killed => break failed("its supervisor did not end it in time"),
                    Stage::Runs if !is_killed => (Stage::EndRequested, self.request_end()),
                    _ => (Stage::Killed, self.kill()),
                };
            }
            if ready.contained
                && let Some(processes) = &mut self.contained
            {
                // The program of the container engine waits for every process that has its output open.
                processes.end();
            }
            for (stream, _) in ready.output.into_iter().enumerate().filter(|(_, is_ready)| *is_ready) {
                self.take(stream);
            }
            if ready.message
                && let Some(end) = self.hear(stage, due)
            {
                break end;
            }
        };
        if let Some(processes) = &mut self.contained {
            processes.end();
        }
        (0..self.output.len()).for_each(|stream| while self.take(stream) {});
        let after = self.started.elapsed();
        let end = End { after, timed_out: timed_out && end.failed.is_none(), ..end };
        // When the end is reported, no process and no file of the command remains, except files whose removal takes
        // long.
        let Self { state, supervisor, staging, home, .. } = self;
        drop((supervisor, staging));
        home.empty(Instant::now() + REMOVED_WITHIN);
        state.change(|now| now.end = Some(end));
    }

    /// Waits until a descriptor is ready, the command must be killed, or its time limit is reached.
    fn wait(&self, due: Instant, stage: Stage) -> Ready {
        let message = (0, self.supervisor.channel.as_fd());
        let streams =
            self.output.iter().enumerate().filter_map(|(at, stream)| Some((at + 1, stream.as_ref()?.as_fd())));
        let kill = Some((KILL, self.state.wake.as_fd())).filter(|_| stage != Stage::Killed);
        let contained = self.contained.as_ref().and_then(|processes| Some((CONTAINED, processes.first()?)));
        let (at, mut fds): (Vec<_>, Vec<_>) = std::iter::once(message)
            .chain(streams)
            .chain(kill)
            .chain(contained)
            .map(|(at, fd)| (at, PollFd::from_borrowed_fd(fd, PollFlags::IN)))
            .unzip();
        let mut ready = Ready::default();
        // An interrupted wait is repeated.
        if poll(&mut fds, Some(&left(due))).is_ok() {
            for at in at.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty()).map(|(at, _)| at) {
                match at.checked_sub(1).and_then(|stream| ready.output.get_mut(stream)) {
                    Some(output) => *output = true,
                    None => {
                        ready.message |= at == 0;
                        ready.contained |= at == CONTAINED;
                    }
                }
            }
        }
        ready
    }

    /// Reads a stream. Returns whether more output may follow.
    fn take(&mut self, stream: usize) -> bool {
        let Some(slot) = self.output.get_mut(stream) else { return false };
        let Some(open) = slot.as_ref() else { return false };
        let mut buffer = [0; BUFFER];
        match rustix::io::read(open, &mut buffer) {
            Ok(count) if count > 0 => {
                let bytes = buffer.get(..count).unwrap_or_default();
                self.state.change(|now| {
                    let Now { stdout, stderr, .. } = now;
                    if stream == 0 { stdout } else { stderr }.push(bytes);
                    now.spoke = Instant::now();
                });
                true
            }
            Err(Errno::INTR) => true,
            Err(Errno::AGAIN) => false,
            // A terminal that no process has open returns an error.
            _ => {
                *slot = None;
                false
            }
        }
    }

    /// Handles one message of the supervisor. Returns the end of the command if the message reports it. After a kill,
    /// no request is answered.
    fn hear(&mut self, stage: Stage, due: Instant) -> Option<End> {
        match self.supervisor.receive() {
            Ok(FromSupervisor::Confined { by }) => {
                self.state.change(|now| now.confinement = by);
                None
            }
            Ok(FromSupervisor::Question(_)) if stage == Stage::Killed => None,
            Ok(FromSupervisor::Question(question)) => {
                let verdict = self.authorize(&question, due);
                // The next wait notices a supervisor that has ended.
                drop(self.supervisor.answer(verdict));
                None
            }
            Ok(FromSupervisor::Unsupported { missing }) => Some(unsupported(&missing)),
            Ok(FromSupervisor::Failed { error, errno }) => Some(not_started(&error, errno, self.names_programs)),
            Ok(FromSupervisor::Ended(ended)) => Some(self.ended(ended)),
            Err(_) => Some(failed("its supervisor was ended, and the command with it")),
        }
    }

    fn authorize(&mut self, question: &AccessQuestion, due: Instant) -> Verdict {
        let access = match question.access {
            protocol::Access::Read => Access::Read,
            protocol::Access::Change => Access::Change,
        };
        let verdict = self.authorizer.allows((question.root, &question.path), access, question.is_directory, due);
        Verdict { id: question.id, refused: verdict.refused, ignored: verdict.ignored }
    }

    fn request_end(&mut self) -> Instant {
        if let Some(processes) = &mut self.contained {
            processes.end();
        }
        drop(self.supervisor.signal(Signal::TERM));
        Instant::now() + GRACE
    }

    fn kill(&mut self) -> Instant {
        if let Some(processes) = &mut self.contained {
            processes.end();
        }
        drop(self.supervisor.kill());
        Instant::now() + LAST_GRACE
    }

    fn ended(&self, ended: Ended) -> End {
        let mut notes = Vec::new();
        let mut recorded = None;
        if !ended.before.is_empty() {
            let before: Result<Vec<_>, _> = ended.before.into_iter().map(|before| self.before(before)).collect();
            match before.and_then(|before| self.authorizer.record(&before)) {
                Ok(record) => recorded = Some(record),
                Err(error) => notes.push(format!("its changes could not be recorded: {}", error.message)),
            }
        }
        notes.extend(undo_staging::not_stored(&ended.not_stored));
        notes.extend(undo_staging::broken(&ended.broken_links, ended.broken_links_count));
        let mut refused = ended.refused;
        let more = ended.refused_count.saturating_sub(refused.len() as u64);
        if ended.exit_code == Some(0) {
            // Git commands that only read try to lock the index, and work without the lock if they cannot.
            refused.retain(|refused| !refused.path.ends_with(INDEX_LOCK));
        }
        if more > 0 {
            notes.push(format!("{more} more paths were refused"));
        }
        if ended.unrecorded > 0 {
            notes.push(format!("{} more changes are neither listed nor backed up", ended.unrecorded));
        }
        if ended.network_refused {
            notes.push("it has no access to the network: the policy does not set `commands.network`".to_owned());
        }
        notes.extend(ended.stopped.map(|cause| format!("it was ended: {cause}")));
        let refused = refused.into_iter().map(|refused| Refused { path: refused.path, cause: refused.cause });
        End {
            exit_code: ended.exit_code,
            signal: ended.signal.map(signal_name),
            recorded,
            ignored: ended.ignored,
            refused: refused.collect(),
            notes,
            ..End::default()
        }
    }

    fn before(&self, before: protocol::Before) -> Result<Before, ToolError> {
        let staged_file = before.staged_file.and_then(|file| self.staging.state_path(&file));
        let kind = match before.kind {
            Kind::Absent => None,
            Kind::File => Some(EntryKind::File),
            Kind::Directory => Some(EntryKind::Directory),
            Kind::Symlink => Some(EntryKind::Link),
            Kind::Other => Some(EntryKind::Other),
        };
        let path = self.authorizer.rendered_path(before.root, &before.path)?;
        let mode = matches!(before.kind, Kind::File | Kind::Directory).then_some(before.mode & SET);
        Ok(Before { path, kind, target: before.target, staged_file, mode })
    }
}

/// Returns the name of a signal.
fn signal_name(number: i32) -> String {
    let named = Signal::from_named_raw(number).map(|signal| format!("{signal:?}").replace('"', ""));
    named.map_or_else(|| format!("signal {number}"), |name| format!("SIG{}", name.trim_start_matches("Signal::")))
}

fn failed(cause: &str) -> End {
    let error = ToolError::new(ErrorCode::Io, format!("cannot run the command: {cause}"));
    End { failed: Some(error), ..End::default() }
}

fn not_started(cause: &str, number: Option<i32>, names_programs: bool) -> End {
    let mut end = failed(cause);
    let is_refused = number.is_some_and(|number| Errno::from_raw_os_error(number) == Errno::ACCESS);
    if names_programs && is_refused {
        let hint = "use a program that `commands.allow` names; the person who runs this can name what it needs in \
                    `commands.executables`";
        end.failed = end.failed.map(|error| error.hint(hint));
    }
    end
}

fn unsupported(missing: &str) -> End {
    let message = format!("cannot confine commands here: {missing}");
    let error = ToolError::new(ErrorCode::Denied, message).hint(
        "use the file tools; the person who runs this can set `commands.unconfined`, and commands then have all rights of theirs",
    );
    End { failed: Some(error), ..End::default() }
}
