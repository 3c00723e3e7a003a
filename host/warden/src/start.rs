//! Starting the command, confined.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use libc::sock_filter;
use paddock_warden::protocol::Start;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType,
};
use rustix::process::{Pid, Signal};

use crate::confine::domain::{self, For, Rules};
use crate::confine::limits;
use crate::setup::Given;
use crate::sys;

/// The command's standard input, output and error.
pub(crate) type Streams = [OwnedFd; 3];

/// A command that runs.
pub(crate) struct Started {
    pub(crate) process: i32,
    /// Where its calls come from, where it is confined.
    pub(crate) listener: Option<OwnedFd>,
}

/// Why none does.
pub(crate) enum NotStarted {
    /// Something that would confine it failed.
    Unsupported(String),
    Failed(io::Error),
}

/// Starts the command; `filter` is its system calls', where it is confined.
pub(crate) fn start(
    start: &Start,
    given: &Given,
    streams: Streams,
    filter: Option<Vec<sock_filter>>,
) -> Result<Started, NotStarted> {
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(|error| NotStarted::Failed(error.into()))?;
    let confined = filter.is_some();
    match spawn(start, given, streams, filter, theirs) {
        Ok(child) => {
            let listener = if confined { Some(receive(ours.as_fd()).map_err(NotStarted::Unsupported)?) } else { None };
            let process = i32::try_from(child.id()).unwrap_or(i32::MAX);
            Ok(Started { process, listener })
        }
        Err(error) => match receive(ours.as_fd()) {
            Err(missing) if !missing.is_empty() => Err(NotStarted::Unsupported(missing)),
            _ => Err(NotStarted::Failed(error)),
        },
    }
}

#[expect(unsafe_code, reason = "what is done between fork and exec")]
fn spawn(
    start: &Start,
    given: &Given,
    streams: Streams,
    filter: Option<Vec<sock_filter>>,
    theirs: OwnedFd,
) -> io::Result<Child> {
    let mut argv = start.argv.iter();
    let program = argv.next().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let [input, output, error] = streams.map(Stdio::from);
    let mut command = Command::new(program);
    command.args(argv).env_clear();
    command.envs(start.env.iter().map(|(name, value)| (name, value)));
    command.stdin(input).stdout(output).stderr(error);
    let domain = filter.as_ref().map(|_| domain::rules(start, given, For::Command)).transpose();
    let mut domain = domain.map_err(io::Error::other)?;
    let cwd = given.get(start.cwd)?.try_clone()?;
    let start = start.clone();
    let warden = rustix::process::getpid();
    // SAFETY: this process has one thread, so that nothing that the child may need is held by another one.
    unsafe {
        command.pre_exec(move || {
            prepare(&start, warden)?;
            rustix::process::fchdir(&cwd)?;
            let (Some(filter), Some(domain)) = (&filter, domain.take()) else { return Ok(()) };
            match confine(domain, filter) {
                Ok(listener) => send(theirs.as_fd(), b"", Some(listener.as_fd())),
                Err(missing) => {
                    send(theirs.as_fd(), missing.as_bytes(), None)?;
                    Err(io::Error::from(io::ErrorKind::Unsupported))
                }
            }
        });
    }
    command.spawn()
}

/// What every command has, confined or not.
fn prepare(start: &Start, warden: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != Some(warden) {
        return Err(io::Error::from(io::ErrorKind::BrokenPipe));
    }
    rustix::process::setsid()?;
    if start.terminal {
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
    }
    sys::reset_signals();
    sys::go_first(false)?;
    Ok(limits::set(&start.limits)?)
}

fn confine(domain: Rules, filter: &[sock_filter]) -> Result<OwnedFd, String> {
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("no_new_privs: {error}"))?;
    domain.enter()?;
    sys::install(filter).map_err(|error| format!("seccomp with a listener: {error}"))
}

fn send(socket: BorrowedFd<'_>, text: &[u8], descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<_> = descriptor.into_iter().collect();
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // One byte at least, since an empty message is none.
    let parts = [IoSlice::new(b" "), IoSlice::new(text)];
    rustix::net::sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The listener, or what is missing.
fn receive(socket: BorrowedFd<'_>) -> Result<OwnedFd, String> {
    let mut text = [0; 512];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut text)], &mut control, flags);
    let bytes = received.map_or(0, |it| it.bytes);
    let given = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut given) => given.next(),
        _ => None,
    });
    given.ok_or_else(|| String::from_utf8_lossy(text.get(..bytes).unwrap_or_default()).trim().to_owned())
}
