//! From the first message to a command that runs.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use paddock_warden::protocol::{FromWarden, Start, ToWarden};
use paddock_warden::wire;
use rustix::process::DumpableBehavior;

use crate::area::Areas;
use crate::changes::Changes;
use crate::confine::domain::{self, For};
use crate::confine::{self, filter, limits};
use crate::control::Control;
use crate::guard::Guard;
use crate::place::real_path;
use crate::serve::Desk;
use crate::start::{self, NotStarted, Streams};
use crate::supervise::Supervisor;
use crate::sys;
use crate::tree::Tree;

/// Where the command's own standard input takes the socket's place.
const FIRST_FREE: u32 = 3;

pub(crate) fn run() -> io::Result<()> {
    sys::close_from(FIRST_FREE)?;
    let socket = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
    let (message, streams) = wire::receive(&socket)?;
    let (ToWarden::Start(start), Ok(streams)) = (message, Streams::try_from(streams)) else {
        return Err(io::Error::from(io::ErrorKind::InvalidData));
    };
    let mut control = Control::new(socket)?;
    match begin(&start, streams, &mut control) {
        Ok(supervisor) => supervisor.run(control),
        Err(NotStarted::Unsupported(missing)) => control.say_last(&FromWarden::Unsupported { missing }),
        Err(NotStarted::Failed(error)) => {
            let failed = FromWarden::Failed { error: error.to_string(), errno: error.raw_os_error() };
            control.say_last(&failed)
        }
    }
}

fn begin(start: &Start, streams: Streams, control: &mut Control) -> Result<Supervisor, NotStarted> {
    let failed = |error: rustix::io::Errno| NotStarted::Failed(error.into());
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(failed)?;
    // The user's other processes do not look into this one.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed)?;
    limits::leave_no_core().map_err(failed)?;
    let terminal = streams.first().filter(|_| start.terminal);
    let terminal =
        terminal.map(AsFd::as_fd).map(|it| it.try_clone_to_owned().map_err(NotStarted::Failed)).transpose()?;
    let tree = Tree::new(&start.limits);
    if !start.confine {
        let started = start::start(start, streams, None)?;
        return Supervisor::new(started.process, tree).map_err(failed);
    }
    let by = confine::available().map_err(NotStarted::Unsupported)?;
    limits::drop_capabilities().map_err(failed)?;
    rustix::thread::set_no_new_privs(true).map_err(failed)?;
    let name = terminal.as_ref().map(|it| real_path(it.as_fd())).transpose().map_err(failed)?;
    let areas = Areas::new(start, name.as_deref());
    domain::enter(start, For::Warden { terminal: name.as_deref() }).map_err(NotStarted::Unsupported)?;
    let filter = filter::program(start.network);
    let started = start::start(start, streams, Some(filter))?;
    control.say(&FromWarden::Confined { by }).map_err(NotStarted::Failed)?;
    let desk = desk(start, areas, tree, terminal, started.listener);
    let mut desk = desk?;
    desk.tree.note_group(started.process);
    Supervisor::confined(started.process, desk).map_err(failed)
}

fn desk(
    start: &Start,
    areas: Areas,
    tree: Tree,
    terminal: Option<OwnedFd>,
    listener: Option<OwnedFd>,
) -> Result<Desk, NotStarted> {
    let listener = listener.ok_or_else(|| NotStarted::Unsupported("a listener for seccomp".to_owned()))?;
    sys::wake_synchronously(listener.as_fd());
    Ok(Desk {
        guard: Guard::new(areas, start.rules),
        changes: Changes::new(PathBuf::from(&start.spool), start.limits.max_kept_bytes),
        tree,
        listener: Arc::new(listener),
        terminal,
        waiting: Arc::new(AtomicUsize::new(0)),
        most_file_bytes: start.limits.max_file_bytes,
        signals_are_scoped: confine::scopes_signals(),
    })
}
