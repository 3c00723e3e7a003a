//! Batches: lines with an array of messages, whose requests are answered by one array. Only the protocol revision
//! 2025-03-26 has them.

use std::collections::{HashMap, VecDeque};

use paddock_protocol::batch::MAX_COLLECTED_BYTES;
use rmcp::model::RequestId;
use serde_json::value::RawValue;

/// Number of a batch in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BatchNumber(u64);

/// Batches that were received and have not been answered.
#[derive(Default)]
pub(super) struct Batches {
    unfinished: HashMap<BatchNumber, Batch>,
    /// Batches of the requests in flight.
    requests: HashMap<RequestId, BatchNumber>,
    /// The batch whose messages are being handled, and its remaining messages.
    current: Option<(BatchNumber, VecDeque<Box<RawValue>>)>,
    next: u64,
    collected_bytes: usize,
}

#[derive(Default)]
struct Batch {
    /// Number of requests without an answer, and one more until all messages have been handled.
    open: usize,
    /// The answers so far, as JSON without the brackets of the array.
    answers: Vec<u8>,
}

/// A message of the current batch, or its end.
pub(super) enum Next {
    Message(Box<RawValue>, BatchNumber),
    End(BatchNumber),
}

impl Batches {
    /// Adds a batch, whose messages [`Self::next`] returns.
    pub(super) fn begin(&mut self, messages: Vec<Box<RawValue>>) {
        let number = BatchNumber(self.next);
        self.next += 1;
        self.unfinished.insert(number, Batch { open: 1, answers: Vec::new() });
        self.current = Some((number, messages.into()));
    }

    /// Removes and returns the next message of the current batch.
    pub(super) fn next(&mut self) -> Option<Next> {
        let (number, messages) = self.current.as_mut()?;
        let (number, message) = (*number, messages.pop_front());
        if message.is_none() {
            self.current = None;
        }
        Some(message.map_or(Next::End(number), |message| Next::Message(message, number)))
    }

    /// Returns whether a batch has messages that have not been handled.
    pub(super) fn is_unread(&self) -> bool {
        self.current.is_some()
    }

    /// Adds a request to a batch.
    pub(super) fn expect(&mut self, number: BatchNumber) {
        if let Some(batch) = self.unfinished.get_mut(&number) {
            batch.open += 1;
        }
    }

    /// Records that a request of a batch is in flight.
    pub(super) fn start(&mut self, id: RequestId, number: BatchNumber) {
        self.requests.insert(id, number);
    }

    /// Removes a request in flight that is answered or cancelled, and returns its batch, if it has one.
    pub(super) fn end(&mut self, id: &RequestId) -> Option<BatchNumber> {
        self.requests.remove(id)
    }

    /// Returns whether the collected answers leave room for the answer of a further request.
    pub(super) fn has_capacity(&self) -> bool {
        self.collected_bytes < MAX_COLLECTED_BYTES
    }

    /// Adds the answer to a request of a batch. Returns the line that answers the batch if this was the last one.
    pub(super) fn answer(&mut self, number: BatchNumber, answer: &[u8]) -> Option<Vec<u8>> {
        let batch = self.unfinished.get_mut(&number)?;
        batch.answers.push(if batch.answers.is_empty() { b'[' } else { b',' });
        let answer = answer.trim_ascii_end();
        batch.answers.extend_from_slice(answer);
        self.collected_bytes = self.collected_bytes.saturating_add(answer.len() + 1);
        self.close_one(number)
    }

    /// Ends a request of a batch that gets no answer, or the messages of the batch. Returns the line that answers the
    /// batch if nothing else was open and it has an answer.
    pub(super) fn close_one(&mut self, number: BatchNumber) -> Option<Vec<u8>> {
        let batch = self.unfinished.get_mut(&number)?;
        batch.open = batch.open.saturating_sub(1);
        if batch.open > 0 {
            return None;
        }
        let mut line = self.unfinished.remove(&number)?.answers;
        self.collected_bytes = self.collected_bytes.saturating_sub(line.len());
        if line.is_empty() {
            return None;
        }
        line.extend_from_slice(b"]\n");
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    /// Returns batches with one batch of `count` requests in flight, whose messages have all been handled.
    fn with_requests(count: i64) -> Batches {
        let mut batches = Batches::default();
        batches.begin((0..count).map(|_| RawValue::from_string("{}".to_owned()).unwrap()).collect());
        for number in 0..count {
            let Some(Next::Message(_, batch)) = batches.next() else { panic!("a message is missing") };
            batches.expect(batch);
            batches.start(id(number), batch);
        }
        batches
    }

    fn end_of_messages(batches: &mut Batches) -> Option<Vec<u8>> {
        let Some(Next::End(number)) = batches.next() else { panic!("the end is missing") };
        batches.close_one(number)
    }

    #[test]
    fn the_last_answer_completes_the_array() {
        let mut batches = with_requests(3);
        let first = batches.end(&id(1)).unwrap();
        assert_eq!(batches.answer(first, b"{\"id\":1}\n"), None);
        assert!(batches.is_unread() && end_of_messages(&mut batches).is_none() && !batches.is_unread());
        assert_eq!(batches.answer(first, b"{\"id\":0}"), None);
        // A cancelled request has no answer.
        let line = batches.close_one(first).unwrap();
        assert_eq!(line, b"[{\"id\":1},{\"id\":0}]\n");
        assert_eq!((batches.collected_bytes, batches.unfinished.len(), batches.end(&id(1))), (0, 0, None));
        assert_eq!(batches.answer(first, b"{}"), None);
    }

    #[test]
    fn a_batch_without_answers_is_not_answered() {
        let mut batches = Batches::default();
        batches.begin(vec![RawValue::from_string("{}".to_owned()).unwrap()]);
        assert!(matches!(batches.next(), Some(Next::Message(..))));
        assert_eq!(end_of_messages(&mut batches), None);
        assert!(batches.unfinished.is_empty() && batches.next().is_none());
    }

    #[test]
    fn the_collected_answers_are_bounded() {
        let mut batches = with_requests(3);
        let number = batches.end(&id(0)).unwrap();
        assert!(batches.has_capacity());
        batches.answer(number, &vec![b'x'; MAX_COLLECTED_BYTES]);
        assert!(!batches.has_capacity());
        end_of_messages(&mut batches);
        batches.close_one(number);
        assert!(batches.close_one(number).is_some() && batches.has_capacity());
    }
}
