//! Answers whose structured content is the component's own JSON, as it is: the
//! protocol's library is given a mark in its place, and the mark is replaced on
//! the way out. A large result is so neither parsed nor written a second time.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use memchr::memmem;
use serde_json::{Value, json};
use tokio::io::AsyncWrite;

/// What a mark starts and ends with. No text can hold it: a quote in a string of JSON is escaped.
const MARK: &str = r#"{"$paddock":""#;
const MARK_END: &[u8] = br#""}"#;

/// JSON that waits to be written, by the number of its mark.
#[derive(Clone, Default)]
pub(super) struct Marks(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    next: u64,
    json: HashMap<u64, String>,
}

impl Marks {
    /// A mark that will be written as `json`.
    pub(super) fn put(&self, json: String) -> Value {
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.json.insert(number, json);
        json!({ "$paddock": number.to_string() })
    }

    /// Appends `message` to `out`, with JSON for every mark in it.
    fn replace(&self, mut message: &[u8], out: &mut Vec<u8>) {
        let mut waiting = self.lock();
        while !waiting.json.is_empty()
            && let Some(at) = memmem::find(message, MARK.as_bytes())
            && let Some((before, rest)) = message.split_at_checked(at)
            && let Some(number) = rest.get(MARK.len()..)
            && let Some(length) = memmem::find(number, MARK_END)
            && let Some((number, after)) = number.split_at_checked(length)
        {
            out.extend_from_slice(before);
            let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
            match number.and_then(|number: u64| waiting.json.remove(&number)) {
                Some(json) => out.extend_from_slice(json.as_bytes()),
                None => out.extend_from_slice(b"null"),
            }
            message = after.get(MARK_END.len()..).unwrap_or_default();
        }
        out.extend_from_slice(message);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes messages, each given in one piece, with JSON for their marks.
pub(super) struct Splice<W> {
    marks: Marks,
    inner: W,
    buffer: Vec<u8>,
    written: usize,
}

impl<W> Splice<W> {
    pub(super) fn new(marks: Marks, inner: W) -> Self {
        Self { marks, inner, buffer: Vec::new(), written: 0 }
    }
}

impl<W: AsyncWrite + Unpin> Splice<W> {
    fn drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.buffer.get(self.written..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut self.inner).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.written += written,
            }
        }
        self.buffer.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Splice<W> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.drain(context))?;
        let this = &mut *self;
        this.marks.replace(message, &mut this.buffer);
        Poll::Ready(Ok(message.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.drain(context))?;
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.drain(context))?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(marks: &Marks, message: &Value) -> String {
        let mut out = Vec::new();
        marks.replace(message.to_string().as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_mark_is_written_as_what_it_stands_for() {
        let marks = Marks::default();
        let (first, second) = (marks.put(r#"{"b":1}"#.to_owned()), marks.put("[2]".to_owned()));
        let message = json!({"result": {"one": first, "two": second, "text": "x"}});
        assert_eq!(written(&marks, &message), r#"{"result":{"one":{"b":1},"two":[2],"text":"x"}}"#);
        assert!(marks.lock().json.is_empty());
    }

    #[test]
    fn a_text_that_looks_like_a_mark_stays_a_text() {
        let marks = Marks::default();
        let mark = marks.put("true".to_owned());
        let message = json!({"a": r#"{"$paddock":"0"}"#, "b": mark});
        let shown: Value = serde_json::from_str(&written(&marks, &message)).unwrap();
        assert_eq!(shown, json!({"a": r#"{"$paddock":"0"}"#, "b": true}));
    }
}
