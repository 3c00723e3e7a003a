//! Start of the confined command.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use libc::sock_filter;
use paddock_supervisor::protocol::Start;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType,
};
use rustix::process::{Pid, Signal};

use crate::confine::domain::{self, For, Rules};
use crate::confine::limits;
use crate::notify;
use crate::notify::Reply;
use crate::sent_descriptors::SentDescriptors;
use crate::sys::{self, Forked};

/// The command's standard input, output and error.
pub(crate) type Streams = [OwnedFd; 3];

/// A running command.
pub(crate) struct Started {
    pub(crate) process: i32,
    /// Seccomp notification descriptor for the command's calls, if the command is confined.
    pub(crate) listener: Option<OwnedFd>,
}

/// Reason why the command was not started.
pub(crate) enum NotStarted {
    /// A step of the confinement failed.
    Unsupported(String),
    Failed(io::Error),
}

/// Message of the child process before it executes the command.
enum Word {
    /// The child is confined; carries its seccomp listener.
    Confined(OwnedFd),
    /// A step of the confinement failed.
    Unsupported(String),
    Failed(io::Error),
    /// The child has executed the command or has ended.
    Gone,
}

/// First byte of each message.
const CONFINED: u8 = b'c';
const UNSUPPORTED: u8 = b'u';
const FAILED: u8 = b'f';

/// Starts the command; `filter` is its seccomp filter, `None` if the command is not confined.
pub(crate) fn start(
    start: &Start,
    requested: &SentDescriptors,
    streams: Streams,
    filter: Option<Vec<sock_filter>>,
) -> Result<Started, NotStarted> {
    let failed = |error: Errno| NotStarted::Failed(error.into());
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(failed)?;
    let command = command(start, requested, streams, filter, theirs.try_clone().map_err(NotStarted::Failed)?);
    let mut command = command.map_err(NotStarted::Failed)?;
    match sys::fork().map_err(failed)? {
        Forked::Child => {
            // `exec` returns only if it failed.
            let error = command.exec().raw_os_error().unwrap_or(libc::EIO).to_string();
            let _unheard = send(theirs.as_fd(), FAILED, error.as_bytes(), None);
            sys::exit_child()
        }
        Forked::Parent(process) => {
            // The parent closes its copy of the other end. The child's copy closes on `exec`, and `begun` waits for
            // that.
            drop((command, theirs));
            Ok(Started { process, listener: begun(&ours)? })
        }
    }
}

/// Waits until the command begins and returns its seccomp listener if the command is confined.
///
/// Executing the command is a call that the filter may already send to the supervisor. It is the supervisor's own call,
/// so that the kernel continues it without a check.
fn begun(ours: &OwnedFd) -> Result<Option<OwnedFd>, NotStarted> {
    let mut listener: Option<OwnedFd> = None;
    loop {
        let mut waited = vec![PollFd::new(ours, PollFlags::IN)];
        waited.extend(listener.iter().map(|listener| PollFd::new(listener, PollFlags::IN)));
        rustix::io::retry_on_intr(|| poll(&mut waited, None)).map_err(|error| NotStarted::Failed(error.into()))?;
        let has_call = waited.get(1).is_some_and(|call| call.revents().contains(PollFlags::IN));
        match receive(ours.as_fd()) {
            None => {}
            Some(Word::Confined(opened)) => listener = Some(opened),
            Some(Word::Unsupported(missing)) => return Err(NotStarted::Unsupported(missing)),
            Some(Word::Failed(error)) => return Err(NotStarted::Failed(error)),
            // A call that waits now is the command's own, and is left to the main loop.
            Some(Word::Gone) => return Ok(listener),
        }
        if let Some(listener) = listener.as_ref().filter(|_| has_call)
            && let Ok(call) = sys::receive(listener.as_fd())
        {
            notify::answer(listener.as_fd(), call.id, Ok(Reply::Continue));
        }
    }
}

#[expect(unsafe_code, reason = "what is done before exec")]
fn command(
    start: &Start,
    requested: &SentDescriptors,
    streams: Streams,
    filter: Option<Vec<sock_filter>>,
    theirs: OwnedFd,
) -> io::Result<Command> {
    let mut argv = start.argv.iter();
    let program = argv.next().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let [input, output, error] = streams.map(Stdio::from);
    let mut command = Command::new(program);
    command.args(argv).env_clear();
    command.envs(start.env.iter().map(|(name, value)| (name, value)));
    command.stdin(input).stdout(output).stderr(error);
    let domain = filter.as_ref().map(|_| domain::rules(start, requested, For::Command)).transpose();
    let mut domain = domain.map_err(io::Error::other)?;
    let cwd = requested.get(start.cwd)?.try_clone()?;
    let start = start.clone();
    let supervisor = rustix::process::getpid();
    // SAFETY: the closure runs in a process with one thread, forked from a process with one thread, so that no other
    // thread holds a lock that the closure may need.
    unsafe {
        command.pre_exec(move || {
            prepare(&start, supervisor)?;
            rustix::process::fchdir(&cwd)?;
            let (Some(filter), Some(domain)) = (&filter, domain.take()) else { return Ok(()) };
            match confine(domain, filter) {
                Ok(listener) => send(theirs.as_fd(), CONFINED, b"", Some(listener.as_fd())),
                Err(missing) => {
                    send(theirs.as_fd(), UNSUPPORTED, missing.as_bytes(), None)?;
                    Err(io::Error::from(io::ErrorKind::Unsupported))
                }
            }
        });
    }
    Ok(command)
}

/// Sets up the session, signals and resource limits of every command, confined or not.
fn prepare(start: &Start, supervisor: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != Some(supervisor) {
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

fn send(socket: BorrowedFd<'_>, kind: u8, text: &[u8], descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut host = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<_> = descriptor.into_iter().collect();
    if !descriptors.is_empty() && !host.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let kind = [kind];
    let parts = [IoSlice::new(&kind), IoSlice::new(text)];
    rustix::net::sendmsg(socket, &parts, &mut host, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a message of the child, if there is one.
fn receive(socket: BorrowedFd<'_>) -> Option<Word> {
    let mut text = [0; 512];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut host = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut text)], &mut host, flags);
    let bytes = match received {
        Ok(received) => received.bytes,
        Err(Errno::AGAIN | Errno::INTR) => return None,
        Err(_) => return Some(Word::Gone),
    };
    let Some((kind, message)) = text.get(..bytes).and_then(<[u8]>::split_first) else { return Some(Word::Gone) };
    let message = String::from_utf8_lossy(message);
    let mut requested = host.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut requested) => requested.next(),
        _ => None,
    });
    Some(match (*kind, requested.next()) {
        (CONFINED, Some(listener)) => Word::Confined(listener),
        (FAILED, _) => Word::Failed(io::Error::from_raw_os_error(message.parse().unwrap_or(libc::EIO))),
        _ => Word::Unsupported(message.into_owned()),
    })
}
