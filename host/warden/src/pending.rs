//! Calls that wait for the host's verdicts. Other calls go on meanwhile.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;

use libc::seccomp_notif;
use paddock_warden::protocol::{Ask, FromWarden, Verdict};

use crate::caller::Call;
use crate::control::Control;
use crate::guard::{Answer, Known, Question, Stop};
use crate::notify::answer;
use crate::request::Request;
use crate::serve::Desk;
use crate::sys;

/// How often a call may lead to more questions, while what it is about changes.
const MOST_ROUNDS: u32 = 64;

/// What waits.
#[derive(Default)]
pub(crate) struct Pending {
    /// By the number of their notification.
    calls: HashMap<u64, Waiting>,
    /// By the number of the question: whose it is.
    asked: HashMap<u64, (u64, Question)>,
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
}

impl Pending {
    /// Serves a call, or asks what has to be known for it.
    pub(crate) fn begin(
        &mut self,
        desk: &mut Desk,
        notification: &seccomp_notif,
        control: &mut Control,
    ) -> io::Result<()> {
        let call = Call::new(notification);
        let request = Request::read(&call);
        // What was read is the caller's only if it is still there: its number may be another's by now.
        if !sys::still_waits(desk.listener.as_fd(), call.id) {
            return Ok(());
        }
        match request {
            Ok(request) => {
                let waiting = Waiting { call, request, known: Known::new(), open: 0, rounds: 0 };
                self.attempt(desk, waiting, control)
            }
            Err(error) => {
                answer(desk.listener.as_fd(), call.id, Err(error));
                Ok(())
            }
        }
    }

    /// Takes a verdict, and tries the call again that waited for it.
    pub(crate) fn answer(&mut self, desk: &mut Desk, verdict: Verdict, control: &mut Control) -> io::Result<()> {
        let Some((id, question)) = self.asked.remove(&verdict.id) else { return Ok(()) };
        let Some(mut waiting) = self.calls.remove(&id) else { return Ok(()) };
        waiting.known.insert(question, Answer { refused: verdict.refused, ignored: verdict.ignored });
        waiting.open = waiting.open.saturating_sub(1);
        if waiting.open > 0 {
            self.calls.insert(id, waiting);
            return Ok(());
        }
        if !sys::still_waits(desk.listener.as_fd(), id) {
            return Ok(());
        }
        self.attempt(desk, waiting, control)
    }

    fn attempt(&mut self, desk: &mut Desk, mut waiting: Waiting, control: &mut Control) -> io::Result<()> {
        let id = waiting.call.id;
        let questions = match desk.serve(&waiting.request, &waiting.call, &waiting.known) {
            Err(Stop::Ask(questions)) if waiting.rounds < MOST_ROUNDS => questions,
            Err(Stop::Ask(_)) => {
                answer(desk.listener.as_fd(), id, Err(rustix::io::Errno::AGAIN));
                return Ok(());
            }
            Err(Stop::Errno(error)) => {
                answer(desk.listener.as_fd(), id, Err(error));
                return Ok(());
            }
            Ok(reply) => {
                answer(desk.listener.as_fd(), id, Ok(reply));
                return Ok(());
            }
        };
        waiting.rounds += 1;
        waiting.open = questions.len();
        for question in questions {
            self.next += 1;
            let path = question.path.to_string_lossy().into_owned();
            let ask = Ask { id: self.next, path, access: question.access, is_directory: question.is_directory };
            self.asked.insert(self.next, (id, question));
            control.say(&FromWarden::Ask(ask))?;
        }
        self.calls.insert(id, waiting);
        Ok(())
    }
}
