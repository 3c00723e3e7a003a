//! System calls that the supervisor makes for the command, one module for each kind.

mod execute;
mod existing_entry;
mod link;
mod make;
mod metadata;
mod open;
mod pipe;
mod processes;
mod remove;
mod rename;
mod replace;
mod truncate;
mod unshare;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::access_control::{AccessControl, Known, Unresolved};
use crate::caller::Call;
use crate::changes::Changes;
use crate::files::{KnownFiles, KnownLinks};
use crate::notify::Reply;
use crate::request::Request;
use crate::tree::Tree;

pub(crate) use unshare::BrokenLinks;

/// State that the handlers of all system calls share.
pub(crate) struct SyscallHandlers {
    pub(crate) access_control: AccessControl,
    pub(crate) changes: Changes,
    pub(crate) tree: Arc<Tree>,
    /// Seccomp notification descriptor, for calls and answers.
    pub(crate) listener: Arc<OwnedFd>,
    /// The command's terminal, if it has one.
    pub(crate) terminal: Option<OwnedFd>,
    /// Number of threads that wait for the other end of a pipe.
    pub(crate) waiting: Arc<AtomicUsize>,
    pub(crate) max_file_bytes: u64,
    /// Lock that makes the commands of one workspace change names one after the other.
    pub(crate) lock: Option<Arc<OwnedFd>>,
    /// Files in roots that the command has opened or created.
    pub(crate) opened: KnownFiles,
    /// Programs in roots that the command was allowed to run.
    pub(crate) run: KnownFiles,
    /// Programs outside the roots, which no rule applies to.
    pub(crate) run_freely: KnownFiles,
    /// Files in roots whose further names were all created by the command.
    pub(crate) links: KnownLinks,
    pub(crate) broken_links: BrokenLinks,
}

/// One attempt at a call, which is repeated when the host has answered its questions. No attempt changes anything
/// before all answers are known.
#[derive(Clone, Copy)]
pub(crate) struct Try<'a> {
    pub(crate) call: &'a Call,
    pub(crate) known: &'a Known,
}

/// The exclusive lock, held as long as this value exists.
struct Locked(Arc<OwnedFd>);

impl Locked {
    fn new(lock: &Arc<OwnedFd>) -> Result<Self, Errno> {
        rustix::io::retry_on_intr(|| flock(lock, FlockOperation::LockExclusive))?;
        Ok(Self(Arc::clone(lock)))
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // The lock is released when this process ends at the latest.
        let _held = flock(&self.0, FlockOperation::Unlock);
    }
}

impl SyscallHandlers {
    pub(crate) fn serve(&mut self, request: &Request, call: &Call, known: &Known) -> Result<Reply, Unresolved> {
        let this = Try { call, known };
        self.access_control.path_classes.refresh();
        let _locked = self.lock.as_ref().filter(|_| request.changes_names()).map(Locked::new).transpose()?;
        let savepoint = self.changes.savepoint();
        let reply = match request {
            Request::Open { requested_path, flags, mode } => self.open(this, requested_path, *flags, *mode),
            Request::Rename { from, to, flags } => self.rename(this, from, to, *flags),
            Request::Remove { requested_path, directory } => self.remove(this, requested_path, *directory),
            Request::MakeDirectory { requested_path, mode } => self.make_directory(this, requested_path, *mode),
            Request::MakeNode { requested_path, mode } => self.make_node(this, requested_path, *mode),
            Request::MakeLink { requested_path, target } => self.make_link(this, requested_path, target),
            Request::Link { from, to, follow } => self.link(this, from, to, *follow),
            Request::Metadata { requested_path, follow, change } => {
                self.change_metadata(this, requested_path, *follow, change)
            }
            Request::Truncate { requested_path, length } => self.truncate(this, requested_path, *length),
            Request::Execute { requested_path, follow } => self.execute(this, requested_path, *follow),
            Request::MemoryFile { name, flags } => Self::make_memory_file(name, *flags),
            Request::InternetSocket => {
                self.access_control.network_refused = true;
                Err(Errno::ACCESS.into())
            }
            Request::Process(process) => self.to_process(*process),
            Request::Group(group) => self.to_group(*group),
            Request::Enter { process, group } => self.enter_group(*process, *group),
        };
        if reply.is_err() {
            self.changes.roll_back(savepoint);
        }
        reply
    }
}
