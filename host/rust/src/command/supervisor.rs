//! Processes of the supervisor, a small program that is embedded in this library. Each command has its own.

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

/// The supervisor program, compiled and deflated by the build script.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor.deflate"));

/// Time that a supervisor has to end its command and itself, first after its host is gone, then after a request to
/// terminate, before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of threads per process that the supervisor's limit allows.
const THREADS_EACH: u64 = 16;

/// A start message, with the directories and files to which it refers by index.
pub(super) struct Launch {
    pub(super) start: Start,
    pub(super) passed_files: Vec<Arc<File>>,
}

/// A process of the supervisor.
pub(super) struct Supervisor {
    child: Child,
    /// Descriptor of the process, which stays valid when its process id is reused.
    process: OwnedFd,
    pub(super) channel: UnixStream,
    /// Control group of all its processes, if this host may create one.
    group: Option<Cgroup>,
}

/// A supervisor that waits for the next command, because starting a supervisor takes longer than starting most
/// commands.
static SPARE: Mutex<Option<Supervisor>> = Mutex::new(None);

impl Supervisor {
    /// Sends a command to a supervisor, with these descriptors as standard input, output and error.
    pub(super) fn start(launch: &Launch, ends: &[OwnedFd; 3]) -> io::Result<Self> {
        let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Another process may have ended the spare supervisor.
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
        for some in launch.passed_files.chunks(wire::MAX_DESCRIPTORS) {
            let some: Vec<_> = some.iter().map(AsFd::as_fd).collect();
            wire::send(&self.channel, &ToSupervisor::Descriptors, &some)?;
        }
        let start = ToSupervisor::Start(Box::new(launch.start.clone()));
        wire::send(&self.channel, &start, &ends.each_ref().map(AsFd::as_fd))
    }

    /// Starts a spare supervisor for the next command if there is none.
    pub(super) fn spare() {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.is_none() {
            // If this fails, the next command starts its own supervisor and reports the error.
            *spare = Self::spawn().ok();
        }
    }

    fn spawn() -> io::Result<Self> {
        let (channel, theirs) = UnixStream::pair()?;
        let mut command = Command::new(program()?);
        command.env_clear().current_dir("/").stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let group = Cgroup::below("self");
        if let Some(entry) = group.as_ref().and_then(|group| group.entry().ok()) {
            enter(&mut command, entry);
        }
        let child = command.spawn()?;
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let process = pidfd_open(process, PidfdFlags::empty())?;
        Ok(Self { child, process, channel, group })
    }

    /// Returns the next message of the supervisor. Fails if the supervisor has ended.
    pub(super) fn receive(&self) -> io::Result<FromSupervisor> {
        wire::receive(&self.channel).map(|(message, _)| message)
    }

    pub(super) fn answer(&self, verdict: Verdict) -> io::Result<()> {
        wire::send(&self.channel, &ToSupervisor::Verdict(verdict), &[])
    }

    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        wire::send(&self.channel, &ToSupervisor::Signal { signal: signal.as_raw() }, &[])
    }

    /// Asks the supervisor to end its command.
    pub(super) fn kill(&self) -> io::Result<()> {
        wire::send(&self.channel, &ToSupervisor::Kill, &[])
    }

    /// Returns whether the supervisor ends within the given time.
    fn ends_within(&self, time: Duration) -> bool {
        let mut ended = [PollFd::new(&self.process, PollFlags::IN)];
        let until = Instant::now() + time;
        rustix::io::retry_on_intr(|| poll(&mut ended, Some(&left(until)))).is_ok_and(|count| count > 0)
    }
}

/// Makes the child process enter a control group before it executes the program.
#[expect(unsafe_code, reason = "what is done between fork and exec")]
fn enter(command: &mut Command, entry: File) {
    // SAFETY: the closure writes to an open descriptor and allocates nothing.
    unsafe {
        // If the group cannot be entered, the other layers of confinement still hold.
        command.pre_exec(move || (&entry).write(b"0").map(drop).or(Ok(())));
    }
}

impl Drop for Supervisor {
    /// Closes the channel, after which the supervisor ends its command and itself. If it does not end in time, asks it
    /// to terminate, and then kills the processes of its group.
    fn drop(&mut self) {
        drop(self.channel.shutdown(std::net::Shutdown::Both));
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

/// Returns whether this system can confine a command like this one. The result is cached.
pub(super) fn can_confine(launch: &Launch) -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    let attempt = || {
        let null = || File::open("/dev/null").map(OwnedFd::from);
        let start = Start { argv: vec!["/bin/true".to_owned()], terminal: false, ..launch.start.clone() };
        let nothing = Launch { start, passed_files: launch.passed_files.clone() };
        Supervisor::start(&nothing, &[null()?, null()?, null()?])?.receive()
    };
    *CAN.get_or_init(|| !matches!(attempt(), Ok(FromSupervisor::Unsupported { .. })))
}

/// Returns the path of the program, which is a memory file, so that no other process can change it.
fn program() -> io::Result<String> {
    static FILE: OnceLock<io::Result<OwnedFd>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        // The flag makes the file executable even if the system's default is not; older kernels do not know it.
        let memfd = memfd_create("paddock-supervisor", MemfdFlags::CLOEXEC | MemfdFlags::EXEC);
        let file = memfd.or_else(|_| memfd_create("paddock-supervisor", MemfdFlags::CLOEXEC))?;
        let mut file = File::from(file);
        let program =
            miniz_oxide::inflate::decompress_to_vec(PROGRAM).map_err(|cause| io::Error::other(cause.to_string()))?;
        file.write_all(&program)?;
        Ok(file.into())
    });
    match file {
        // The child resolves the path with its own descriptor, which closes when the program starts.
        Ok(file) => Ok(format!("/proc/self/fd/{}", file.as_raw_fd())),
        Err(cause) => Err(io::Error::new(cause.kind(), cause.to_string())),
    }
}
