//! The supervisor that each command gets: a small program of its own, embedded in this library.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use paddock_supervisor::protocol::{FromSupervisor, Start, ToSupervisor, Verdict};
use paddock_supervisor::wire;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::deadline::left;
use crate::cgroup::Cgroup;

/// The program, as the build made it.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor"));

/// How long a supervisor may take to end its command and itself before it is told to, and then before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// Threads that a command may have for each process, as its supervisor counts them.
const THREADS_EACH: u64 = 16;

/// A command to be run, with the directories and files that its start refers to by number.
pub(super) struct Launch {
    pub(super) start: Start,
    pub(super) given: Vec<Arc<File>>,
}

/// A supervisor with its command.
pub(super) struct Supervisor {
    child: Child,
    /// The process itself, however its number is used.
    process: OwnedFd,
    pub(super) budget: UnixStream,
    /// All of its processes, where this host may make a group.
    group: Option<Cgroup>,
}

/// One that waits for a command: starting it takes longer than starting most commands.
static SPARE: Mutex<Option<Supervisor>> = Mutex::new(None);

impl Supervisor {
    /// Has one start the command, with these descriptors as its standard input, output and error.
    pub(super) fn start(launch: &Launch, ends: &[OwnedFd; 3]) -> io::Result<Self> {
        let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The spare one may have been ended by whoever looks after processes.
        if let Some(spare) = spare.filter(|spare| spare.send(launch, ends).is_ok()) {
            return Ok(spare);
        }
        let supervisor = Self::spawn()?;
        supervisor.send(launch, ends)?;
        Ok(supervisor)
    }

    fn send(&self, launch: &Launch, ends: &[OwnedFd; 3]) -> io::Result<()> {
        if let Some(group) = &self.group {
            let limits = &launch.start.limits;
            group.limit_tasks(limits.max_processes.saturating_mul(THREADS_EACH));
            group.limit_memory(limits.max_memory_bytes);
        }
        for some in launch.given.chunks(wire::MAX_DESCRIPTORS) {
            let some: Vec<_> = some.iter().map(AsFd::as_fd).collect();
            wire::send(&self.budget, &ToSupervisor::Descriptors, &some)?;
        }
        let start = ToSupervisor::Start(Box::new(launch.start.clone()));
        wire::send(&self.budget, &start, &ends.each_ref().map(AsFd::as_fd))
    }

    /// Makes sure that the next command finds one.
    pub(super) fn spare() {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.is_none() {
            // Where there is none, the next command starts its own, and says why it cannot.
            *spare = Self::spawn().ok();
        }
    }

    fn spawn() -> io::Result<Self> {
        let (budget, theirs) = UnixStream::pair()?;
        let mut command = Command::new(program()?);
        command.env_clear().current_dir("/").stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let group = Cgroup::below("self");
        if let Some(entry) = group.as_ref().and_then(|group| group.entry().ok()) {
            enter(&mut command, entry);
        }
        let child = command.spawn()?;
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let process = pidfd_open(process, PidfdFlags::empty())?;
        Ok(Self { child, process, budget, group })
    }

    /// What it says next. Fails where it is gone.
    pub(super) fn receive(&self) -> io::Result<FromSupervisor> {
        wire::receive(&self.budget).map(|(message, _)| message)
    }

    pub(super) fn answer(&self, verdict: Verdict) -> io::Result<()> {
        wire::send(&self.budget, &ToSupervisor::Verdict(verdict), &[])
    }

    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        wire::send(&self.budget, &ToSupervisor::Signal { signal: signal.as_raw() }, &[])
    }

    /// Has it end its command.
    pub(super) fn kill(&self) -> io::Result<()> {
        wire::send(&self.budget, &ToSupervisor::Kill, &[])
    }

    /// Whether it ended by then.
    fn ends_within(&self, time: Duration) -> bool {
        let mut ended = [PollFd::new(&self.process, PollFlags::IN)];
        let until = Instant::now() + time;
        rustix::io::retry_on_intr(|| poll(&mut ended, Some(&left(until)))).is_ok_and(|count| count > 0)
    }
}

/// Has the program enter a control group before it begins.
#[expect(unsafe_code, reason = "what is done between fork and exec")]
fn enter(command: &mut Command, entry: File) {
    // SAFETY: it writes to a descriptor that is open, and allocates nothing.
    unsafe {
        // A group that cannot be entered is one wall less, not none.
        command.pre_exec(move || (&entry).write(b"0").map(drop).or(Ok(())));
    }
}

impl Drop for Supervisor {
    /// Without its host it ends its command, and then itself. Where it does not, its parent is told to end both, and
    /// then whatever is in its group is killed.
    fn drop(&mut self) {
        drop(self.budget.shutdown(std::net::Shutdown::Both));
        for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
            if let Some(signal) = signal {
                let _gone = pidfd_send_signal(&self.process, signal);
            }
            if self.ends_within(PATIENCE) {
                break;
            }
        }
        if let Some(group) = &self.group {
            let _gone = group.kill();
        }
        drop(self.child.wait());
    }
}

/// Whether this system can confine commands like that one; found out once.
pub(super) fn can_confine(launch: &Launch) -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    let attempt = || {
        let null = || File::open("/dev/null").map(OwnedFd::from);
        let start = Start { argv: vec!["/bin/true".to_owned()], terminal: false, ..launch.start.clone() };
        let nothing = Launch { start, given: launch.given.clone() };
        Supervisor::start(&nothing, &[null()?, null()?, null()?])?.receive()
    };
    *CAN.get_or_init(|| !matches!(attempt(), Ok(FromSupervisor::Unsupported { .. })))
}

/// Where the program is: in memory, so that nobody else can have written it.
fn program() -> io::Result<String> {
    static FILE: OnceLock<io::Result<OwnedFd>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        // Executable where the system would make it not so; older ones do not know that flag.
        let made = memfd_create("paddock-supervisor", MemfdFlags::CLOEXEC | MemfdFlags::EXEC);
        let file = made.or_else(|_| memfd_create("paddock-supervisor", MemfdFlags::CLOEXEC))?;
        let mut file = File::from(file);
        file.write_all(PROGRAM)?;
        Ok(file.into())
    });
    match file {
        // Descriptors are the child's own by then, and this one closes as the program starts.
        Ok(file) => Ok(format!("/proc/self/fd/{}", file.as_raw_fd())),
        Err(cause) => Err(io::Error::new(cause.kind(), cause.to_string())),
    }
}
