//! Setup of the supervisor, from the first message to a running command.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use paddock_supervisor::protocol::{FromSupervisor, Start, ToSupervisor};
use paddock_supervisor::wire;
use rustix::io::Errno;

use crate::access_control::AccessControl;
use crate::changes::Changes;
use crate::confine::domain::{self, For};
use crate::confine::{self, Variant, filter, limits};
use crate::files::{KnownFiles, KnownLinks};
use crate::host_channel::HostChannel;
use crate::path_class::PathClasses;
use crate::requested_path::real_path;
use crate::sent_descriptors::SentDescriptors;
use crate::serve::{BrokenLinks, SyscallHandlers};
use crate::start::{self, NotStarted, Started, Streams};
use crate::supervise::Supervisor;
use crate::sys;
use crate::tree::Tree;
use crate::watch;

pub(crate) fn run() -> io::Result<()> {
    let socket = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
    let (start, requested, streams) = receive(&socket)?;
    let mut host = HostChannel::new(socket)?;
    match begin(&start, &requested, streams, &mut host) {
        Ok(supervisor) => supervisor.run(host),
        Err(NotStarted::Unsupported(missing)) => host.say_last(&FromSupervisor::Unsupported { missing }),
        Err(NotStarted::Failed(error)) => {
            let failed = FromSupervisor::Failed { error: error.to_string(), errno: error.raw_os_error() };
            host.say_last(&failed)
        }
    }
}

fn receive(socket: &UnixStream) -> io::Result<(Box<Start>, SentDescriptors, Streams)> {
    let mut requested = Vec::new();
    loop {
        match wire::receive(socket)? {
            (ToSupervisor::Descriptors, descriptors) => requested.extend(descriptors),
            (ToSupervisor::Start(start), streams) => {
                let streams = Streams::try_from(streams);
                return Ok((start, SentDescriptors::new(requested), streams.map_err(|_| io::ErrorKind::InvalidData)?));
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

fn begin(
    start: &Start,
    requested: &SentDescriptors,
    streams: Streams,
    host: &mut HostChannel,
) -> Result<Supervisor, NotStarted> {
    let failed = |error: Errno| NotStarted::Failed(error.into());
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(failed)?;
    limits::leave_no_core().map_err(failed)?;
    // The watch thread, which starts later, inherits this scheduling policy. It is set now because `confined` drops the
    // capability for it; without the capability, the watch runs as an ordinary thread.
    let _unprivileged = sys::go_first(true);
    let (started, tree, handlers) = if start.confine {
        confined(start, requested, streams, host)?
    } else {
        (start::start(start, requested, streams, None)?, Arc::new(Tree::new(false)), None)
    };
    let over_limit = Arc::new(AtomicBool::new(false));
    let supervisor = Supervisor::new(started.process, Arc::clone(&tree), Arc::clone(&over_limit), handlers);
    // The watch starts after `Supervisor::new` has blocked the signals: a thread that does not block them would receive
    // them.
    let supervisor = supervisor.map_err(failed)?;
    watch::begin(tree, over_limit, &start.limits).map_err(NotStarted::Failed)?;
    sys::go_first(false).map_err(failed)?;
    Ok(supervisor)
}

type Begun = (Started, Arc<Tree>, Option<SyscallHandlers>);

fn confined(
    start: &Start,
    requested: &SentDescriptors,
    streams: Streams,
    host: &mut HostChannel,
) -> Result<Begun, NotStarted> {
    let failed = |error: Errno| NotStarted::Failed(error.into());
    let by = confine::available().map_err(NotStarted::Unsupported)?;
    limits::drop_capabilities().map_err(failed)?;
    rustix::thread::set_no_new_privs(true).map_err(failed)?;
    let terminal = streams.first().filter(|_| start.terminal).map(OwnedFd::try_clone);
    let terminal = terminal.transpose().map_err(NotStarted::Failed)?;
    let name = terminal.as_ref().map(|it| real_path(it.as_fd())).transpose().map_err(failed)?;
    let path_classes = PathClasses::new(start, requested, name.as_deref()).map_err(failed)?;
    let own = |number: usize| requested.get(number).map_err(failed)?.try_clone().map_err(NotStarted::Failed);
    let (staging, lock) = (own(start.staging)?, start.lock.map(own).transpose()?.map(Arc::new));
    domain::enter(start, requested, For::Supervisor { terminal: name.as_deref() }).map_err(NotStarted::Unsupported)?;
    let programs_are_named = start.programs.is_some();
    let programs_are_checked = start.rules || programs_are_named;
    let variant = Variant { network: start.network, programs_are_checked, programs_are_named };
    let mut started = start::start(start, requested, streams, Some(filter::program(variant)))?;
    let listener = started.listener.take();
    let listener = listener.ok_or_else(|| NotStarted::Unsupported("a listener for seccomp".to_owned()))?;
    sys::wake_synchronously(listener.as_fd());
    host.say(&FromSupervisor::Confined { by }).map_err(NotStarted::Failed)?;
    let tree = Arc::new(Tree::new(confine::scopes_signals()));
    tree.note_group(started.process);
    let handlers = SyscallHandlers {
        access_control: AccessControl::new(path_classes, start),
        changes: Changes::new(staging, start.limits.max_stored_bytes),
        tree: Arc::clone(&tree),
        listener: Arc::new(listener),
        terminal,
        waiting: Arc::new(AtomicUsize::new(0)),
        max_file_bytes: start.limits.max_file_bytes,
        lock,
        opened: KnownFiles::default(),
        run: KnownFiles::default(),
        run_freely: KnownFiles::default(),
        links: KnownLinks::default(),
        broken_links: BrokenLinks::default(),
    };
    Ok((started, tree, Some(handlers)))
}
