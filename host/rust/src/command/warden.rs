//! The supervisor that each command gets: a small program of its own, embedded in this library.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use paddock_warden::protocol::{FromWarden, Start, ToWarden, Verdict};
use paddock_warden::wire;
use rustix::fs::{MemfdFlags, memfd_create};

/// The program, as the build made it.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/warden"));

/// A warden with its command.
pub(super) struct Warden {
    child: Child,
    pub(super) control: UnixStream,
}

/// One that waits for a command: starting it takes longer than starting most commands.
static SPARE: Mutex<Option<Warden>> = Mutex::new(None);

impl Warden {
    /// Has one start the command, with these descriptors as its standard input, output and error.
    pub(super) fn start(start: Start, ends: &[OwnedFd; 3]) -> io::Result<Self> {
        let start = ToWarden::Start(Box::new(start));
        let ends = ends.each_ref().map(AsFd::as_fd);
        let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The spare one may have been ended by whoever looks after processes.
        if let Some(spare) = spare.filter(|spare| wire::send(&spare.control, &start, &ends).is_ok()) {
            return Ok(spare);
        }
        let warden = Self::spawn()?;
        wire::send(&warden.control, &start, &ends)?;
        Ok(warden)
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
        let (control, theirs) = UnixStream::pair()?;
        let mut command = Command::new(program()?);
        command.env_clear().current_dir("/").stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { child: command.spawn()?, control })
    }

    /// What it says next. Fails where it is gone.
    pub(super) fn receive(&self) -> io::Result<FromWarden> {
        wire::receive(&self.control).map(|(message, _)| message)
    }

    pub(super) fn answer(&self, verdict: Verdict) -> io::Result<()> {
        wire::send(&self.control, &ToWarden::Verdict(verdict), &[])
    }

    pub(super) fn signal(&self, signal: rustix::process::Signal) -> io::Result<()> {
        wire::send(&self.control, &ToWarden::Signal { signal: signal.as_raw() }, &[])
    }
}

impl Drop for Warden {
    /// Without its host it ends its command, and then itself.
    fn drop(&mut self) {
        drop(self.control.shutdown(std::net::Shutdown::Both));
        drop(self.child.wait());
    }
}

/// Whether this system can confine commands like that one; found out once.
pub(super) fn can_confine(start: &Start) -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    let attempt = || {
        let null = || File::open("/dev/null").map(OwnedFd::from);
        let nothing = Start { argv: vec!["/bin/true".to_owned()], terminal: false, ..start.clone() };
        Warden::start(nothing, &[null()?, null()?, null()?])?.receive()
    };
    *CAN.get_or_init(|| !matches!(attempt(), Ok(FromWarden::Unsupported { .. })))
}

/// Has a warden end its command.
pub(super) fn kill(control: &UnixStream) -> io::Result<()> {
    wire::send(control, &ToWarden::Kill, &[])
}

/// Where the program is: in memory, so that nobody else can have written it.
fn program() -> io::Result<String> {
    static FILE: OnceLock<io::Result<OwnedFd>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        // Executable where the system would make it not so; older ones do not know that flag.
        let made = memfd_create("paddock-warden", MemfdFlags::CLOEXEC | MemfdFlags::EXEC);
        let file = made.or_else(|_| memfd_create("paddock-warden", MemfdFlags::CLOEXEC))?;
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
