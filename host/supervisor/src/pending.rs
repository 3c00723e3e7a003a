//! Calls that wait for verdicts of the host. Other calls proceed in the meantime, within limits on the number and
//! memory of the waiting calls.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::AsFd;

use libc::seccomp_notif;
use paddock_supervisor::protocol::{AccessQuestion, FromSupervisor, Verdict};
use rustix::io::Errno;

use crate::access_control::{Answer, Known, Question, Unresolved};
use crate::caller::Call;
use crate::host_channel::HostChannel;
use crate::notify::answer;
use crate::request::Request;
use crate::serve::SyscallHandlers;
use crate::sys;

/// Maximum number of times that a call may lead to questions. Each retry can raise new questions if the files change.
const MAX_ROUNDS: u32 = 64;
/// Maximum number of unanswered questions at a time. Further questions are sent as the host answers.
const MAX_OPEN_QUESTIONS: usize = 64;
/// Maximum number of waiting calls. Further calls wait in the kernel, where they take no memory of this process.
const MAX_CALLS: usize = 256;
/// Maximum memory of the questions of all waiting calls, in bytes: unanswered, answered and unsent. A call whose
/// questions do not fit is postponed until others are done; a call whose questions alone exceed the limit is refused.
const MAX_BYTES: usize = 24 << 20;

/// Calls that wait for the host.
#[derive(Default)]
pub(crate) struct Pending {
    /// Waiting calls, by the id of their notification.
    calls: HashMap<u64, Waiting>,
    /// Unanswered questions by their id, each with the id of its call.
    open_questions: HashMap<u64, (u64, Question)>,
    /// Unsent questions, each with the id of its call.
    unsent_questions: VecDeque<(u64, Question)>,
    /// Memory of the questions of all calls, in bytes.
    bytes: usize,
    /// A call that is retried when there is memory for its questions. No further call is begun before it.
    postponed: Option<Waiting>,
    /// Id of the latest question.
    next: u64,
}

struct Waiting {
    call: Call,
    request: Request,
    known: Known,
    /// Number of unanswered questions.
    open: usize,
    rounds: u32,
    /// Memory of all questions of this call, in bytes.
    bytes: usize,
}

impl Pending {
    /// Returns whether a further call can begin.
    pub(crate) fn has_capacity(&self) -> bool {
        self.postponed.is_none() && self.calls.len() < MAX_CALLS
    }

    /// Serves a call, or asks the host the questions on which it depends.
    pub(crate) fn begin(
        &mut self,
        handlers: &mut SyscallHandlers,
        notification: &seccomp_notif,
        host: &mut HostChannel,
    ) -> io::Result<()> {
        let call = Call::new(notification);
        let request = Request::read(&call);
        // The request was read from the caller's memory only if the caller still waits: another thread may have the
        // caller's id by now.
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

    /// Processes a verdict, and retries the call that waited for it once all its questions are answered.
    pub(crate) fn answer(
        &mut self,
        handlers: &mut SyscallHandlers,
        verdict: Verdict,
        host: &mut HostChannel,
    ) -> io::Result<()> {
        let Some((id, question)) = self.open_questions.remove(&verdict.id) else { return Ok(()) };
        self.send_questions(host)?;
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

    /// Retries a call if its caller still waits.
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
            Err(Unresolved::NeedsAnswers(questions)) if waiting.rounds < MAX_ROUNDS => {
                let bytes: usize = questions.iter().map(Question::size).sum();
                if waiting.bytes + bytes > MAX_BYTES {
                    // The questions of this call alone exceed the limit for all calls.
                    Err(Errno::NOBUFS)
                } else if self.bytes + bytes > MAX_BYTES {
                    // The answers are dropped and asked for again later, because they could be different by then.
                    self.bytes -= waiting.bytes;
                    self.postponed = Some(Waiting { known: Known::new(), bytes: 0, ..waiting });
                    return Ok(());
                } else {
                    (self.bytes, waiting.bytes) = (self.bytes + bytes, waiting.bytes + bytes);
                    (waiting.rounds, waiting.open) = (waiting.rounds + 1, questions.len());
                    self.calls.insert(id, waiting);
                    self.unsent_questions.extend(questions.into_iter().map(|question| (id, question)));
                    return self.send_questions(host);
                }
            }
            Err(Unresolved::NeedsAnswers(_)) => Err(Errno::AGAIN),
            Err(Unresolved::Errno(error)) => Err(error),
            Ok(reply) => Ok(reply),
        };
        self.bytes -= waiting.bytes;
        answer(handlers.listener.as_fd(), id, reply);
        Ok(())
    }

    /// Sends questions to the host, up to the limit of unanswered ones.
    fn send_questions(&mut self, host: &mut HostChannel) -> io::Result<()> {
        while self.open_questions.len() < MAX_OPEN_QUESTIONS {
            let Some((id, question)) = self.unsent_questions.pop_front() else { return Ok(()) };
            self.next += 1;
            let path = question.path.to_string_lossy().into_owned();
            let Question { root, access, is_directory, .. } = question;
            self.open_questions.insert(self.next, (id, question));
            host.say(&FromSupervisor::Question(AccessQuestion { id: self.next, root, path, access, is_directory }))?;
        }
        Ok(())
    }
}
