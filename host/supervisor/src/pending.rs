//! Calls that wait for the host's verdicts. Other calls go on meanwhile, as far as all that waits fits in its bounds.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::AsFd;

use libc::seccomp_notif;
use paddock_supervisor::protocol::{Ask, FromSupervisor, Verdict};
use rustix::io::Errno;

use crate::access_control::{Answer, Known, Question, Unresolved};
use crate::caller::Call;
use crate::host_channel::HostChannel;
use crate::notify::answer;
use crate::request::Request;
use crate::serve::SyscallHandlers;
use crate::sys;

/// How often a call may lead to more questions, while what it is about changes.
const MOST_ROUNDS: u32 = 64;
/// Questions that the host has at a time. More are asked as it answers.
const MOST_ASKED: usize = 64;
/// Calls that wait. More wait in the kernel, where they take nothing of this process's memory.
const MOST_CALLS: usize = 256;
/// Bytes of the questions of all of them, asked, answered and still to be asked. A call that finds no room waits until
/// others are done; one that has more by itself is refused.
const MOST_BYTES: usize = 24 << 20;

/// What waits.
#[derive(Default)]
pub(crate) struct Pending {
    /// By the number of their notification.
    calls: HashMap<u64, Waiting>,
    /// By the number of the question: whose it is.
    asked: HashMap<u64, (u64, Question)>,
    /// Questions still to be asked, each with whose it is.
    to_ask: VecDeque<(u64, Question)>,
    /// Bytes of the questions of all calls.
    bytes: usize,
    /// A call that is tried again when there is room for its questions. Nothing is begun before it.
    postponed: Option<Waiting>,
    /// The number of the next question.
    next: u64,
}

struct Waiting {
    call: Call,
    request: Request,
    known: Known,
    /// Questions without an answer.
    open: usize,
    rounds: u32,
    /// Bytes of all its questions.
    bytes: usize,
}

impl Pending {
    /// Whether a further call can be begun.
    pub(crate) fn has_room(&self) -> bool {
        self.postponed.is_none() && self.calls.len() < MOST_CALLS
    }

    /// Serves a call, or asks what has to be known for it.
    pub(crate) fn begin(
        &mut self,
        handlers: &mut SyscallHandlers,
        notification: &seccomp_notif,
        host: &mut HostChannel,
    ) -> io::Result<()> {
        let call = Call::new(notification);
        let request = Request::read(&call);
        // What was read is the caller's only if it is still there: its number may be another's by now.
        if !sys::still_waits(handlers.listener.as_fd(), call.id) {
            return Ok(());
        }
        match request {
            Ok(request) => {
                let waiting = Waiting { call, request, known: Known::new(), open: 0, rounds: 0, bytes: 0 };
                self.attempt(handlers, waiting, host)
            }
            Err(error) => {
                answer(handlers.listener.as_fd(), call.id, Err(error));
                Ok(())
            }
        }
    }

    /// Takes a verdict, and tries the call again that waited for it.
    pub(crate) fn answer(
        &mut self,
        handlers: &mut SyscallHandlers,
        verdict: Verdict,
        host: &mut HostChannel,
    ) -> io::Result<()> {
        let Some((id, question)) = self.asked.remove(&verdict.id) else { return Ok(()) };
        self.ask(host)?;
        let Some(waiting) = self.calls.get_mut(&id) else { return Ok(()) };
        waiting.known.insert(question, Answer { refused: verdict.refused, ignored: verdict.ignored });
        waiting.open = waiting.open.saturating_sub(1);
        if waiting.open > 0 {
            return Ok(());
        }
        let Some(waiting) = self.calls.remove(&id) else { return Ok(()) };
        self.again(handlers, waiting, host)?;
        match self.postponed.take() {
            Some(waiting) => self.again(handlers, waiting, host),
            None => Ok(()),
        }
    }

    /// Tries a call again, if its caller is still there.
    fn again(&mut self, handlers: &mut SyscallHandlers, waiting: Waiting, host: &mut HostChannel) -> io::Result<()> {
        if sys::still_waits(handlers.listener.as_fd(), waiting.call.id) {
            return self.attempt(handlers, waiting, host);
        }
        self.bytes -= waiting.bytes;
        Ok(())
    }

    fn attempt(
        &mut self,
        handlers: &mut SyscallHandlers,
        mut waiting: Waiting,
        host: &mut HostChannel,
    ) -> io::Result<()> {
        let id = waiting.call.id;
        let reply = match handlers.serve(&waiting.request, &waiting.call, &waiting.known) {
            Err(Unresolved::Ask(questions)) if waiting.rounds < MOST_ROUNDS => {
                let bytes: usize = questions.iter().map(Question::size).sum();
                if waiting.bytes + bytes > MOST_BYTES {
                    // By itself it has more than all together may have.
                    Err(Errno::NOBUFS)
                } else if self.bytes + bytes > MOST_BYTES {
                    // What was answered is asked again then: it could be other by that time.
                    self.bytes -= waiting.bytes;
                    self.postponed = Some(Waiting { known: Known::new(), bytes: 0, ..waiting });
                    return Ok(());
                } else {
                    (self.bytes, waiting.bytes) = (self.bytes + bytes, waiting.bytes + bytes);
                    (waiting.rounds, waiting.open) = (waiting.rounds + 1, questions.len());
                    self.calls.insert(id, waiting);
                    self.to_ask.extend(questions.into_iter().map(|question| (id, question)));
                    return self.ask(host);
                }
            }
            Err(Unresolved::Ask(_)) => Err(Errno::AGAIN),
            Err(Unresolved::Errno(error)) => Err(error),
            Ok(reply) => Ok(reply),
        };
        self.bytes -= waiting.bytes;
        answer(handlers.listener.as_fd(), id, reply);
        Ok(())
    }

    /// Asks the host, as many questions as it may have.
    fn ask(&mut self, host: &mut HostChannel) -> io::Result<()> {
        while self.asked.len() < MOST_ASKED {
            let Some((id, question)) = self.to_ask.pop_front() else { return Ok(()) };
            self.next += 1;
            let path = question.path.to_string_lossy().into_owned();
            let Question { root, access, is_directory, .. } = question;
            self.asked.insert(self.next, (id, question));
            host.say(&FromSupervisor::Ask(Ask { id: self.next, root, path, access, is_directory }))?;
        }
        Ok(())
    }
}
