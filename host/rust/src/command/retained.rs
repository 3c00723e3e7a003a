//! Output that results left out, kept in memory for later calls of the same workspace.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::capture::{Caps, Rest, beginning};
use crate::bindings::exports::paddock::files::commands::{Captured, Ran, Unread};
use crate::types::{ErrorCode, ToolError};

/// Maximum size of all kept outputs of a workspace, in bytes.
const MAX_BYTES: usize = 8 << 20;

/// Maximum number of kept outputs of a workspace.
const MAX_OUTPUTS: usize = 32;

/// Time for which an output is kept.
const RETENTION: Duration = Duration::from_secs(30 * 60);

/// The kept outputs of a workspace, oldest first.
#[derive(Default)]
pub(super) struct Retained(Mutex<VecDeque<Output>>);

/// The complete output of one result.
struct Output {
    session: u32,
    /// Position of its first byte in the kept output of its session.
    start: u64,
    text: String,
    since: Instant,
    /// The result without its output.
    ran: Ran,
}

impl Output {
    fn end(&self) -> u64 {
        self.start + self.text.len() as u64
    }
}

impl Retained {
    /// Keeps the output of a result if a stream of it was cut, and names it in the result. `position` counts the bytes
    /// that were kept of the session, so that no position is used twice.
    pub(super) fn keep(&self, ran: &mut Ran, [out, err]: [Option<Rest>; 2], (session, position): (u32, &AtomicU64)) {
        let first = out.as_ref().map(|rest| rest.at);
        let mut text = out.map_or_else(|| ran.stdout.text.clone(), |rest| rest.text);
        if !ran.stderr.text.is_empty() {
            text.push_str(if text.is_empty() || text.ends_with('\n') { "" } else { "\n" });
            text.push_str("[stderr]\n");
        }
        let at = first.unwrap_or(text.len() + err.as_ref().map_or(0, |rest| rest.at));
        text.push_str(err.as_ref().map_or(&ran.stderr.text, |rest| &rest.text));
        let none = Captured { text: String::new(), bytes: 0, truncated: false, omitted: 0 };
        let own = Ran {
            stdout: none.clone(),
            stderr: none,
            changes: Vec::new(),
            ignored: 0,
            backup: None,
            refused: Vec::new(),
            notes: Vec::new(),
            ..ran.clone()
        };
        let mut outputs = self.outputs(Instant::now());
        let start = position.fetch_add(text.len() as u64, Ordering::Relaxed);
        outputs.push_back(Output { session, start, text, since: Instant::now(), ran: own });
        while outputs.len() > MAX_OUTPUTS || outputs.iter().map(|output| output.text.len()).sum::<usize>() > MAX_BYTES {
            outputs.pop_front();
        }
        drop(outputs);
        ran.unread = Some(Unread { session, offset: start + at as u64 });
    }

    /// Returns the kept output of a session from a position, within the limits.
    pub(super) fn page(&self, session: u32, offset: u64, caps: Caps) -> Result<Ran, ToolError> {
        let outputs = self.outputs(Instant::now());
        let holds = |output: &&Output| output.session == session && (output.start..output.end()).contains(&offset);
        let Some(output) = outputs.iter().find(holds) else {
            return Err(not_retained(session, offset, outputs.iter().filter(|output| output.session == session)));
        };
        let at = usize::try_from(offset - output.start).unwrap_or(usize::MAX);
        let at = output.text.floor_char_boundary(at);
        let rest = output.text.get(at..).unwrap_or_default();
        let page = beginning(rest, caps);
        let omitted = rest.len() - page.len();
        let unread = (omitted > 0).then(|| Unread { session, offset: output.start + (at + page.len()) as u64 });
        let stdout = Captured {
            text: page.to_owned(),
            bytes: output.text.len() as u64,
            truncated: omitted > 0,
            omitted: omitted as u64,
        };
        Ok(Ran { stdout, unread, ..output.ran.clone() })
    }

    /// Drops all outputs.
    pub(super) fn clear(&self) {
        self.outputs(Instant::now()).clear();
    }

    /// Returns the outputs that are not too old.
    fn outputs(&self, now: Instant) -> MutexGuard<'_, VecDeque<Output>> {
        let mut outputs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outputs.retain(|output| now.saturating_duration_since(output.since) < RETENTION);
        outputs
    }
}

fn not_retained<'o>(session: u32, offset: u64, known: impl Iterator<Item = &'o Output>) -> ToolError {
    let known: Vec<_> = known.map(|output| format!("{} to {}", output.start, output.end() - 1)).collect();
    let ranges = if known.is_empty() {
        "none of its output is kept".to_owned()
    } else {
        format!("kept are bytes {}", known.join(", "))
    };
    ToolError::new(
        ErrorCode::NotFound,
        format!("no left-out output of session {session} begins at byte {offset}; {ranges}"),
    )
    .hint("run the command again with its output in a file, and read the file")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Caps = Caps { bytes: usize::MAX, lines: usize::MAX };

    fn ran() -> Ran {
        let none = Captured { text: String::new(), bytes: 0, truncated: false, omitted: 0 };
        Ran {
            exit_code: Some(0),
            signal: None,
            timed_out: false,
            session: None,
            duration_ms: 7,
            stdout: none.clone(),
            stderr: none,
            unread: None,
            confinement: String::new(),
            changes: Vec::new(),
            ignored: 0,
            backup: None,
            refused: Vec::new(),
            notes: vec!["a note".to_owned()],
        }
    }

    /// Keeps an output of which `at` bytes were shown, and returns the position of the rest.
    fn keep(retained: &Retained, session: u32, position: &AtomicU64, text: &str, at: usize) -> u64 {
        let mut ran = ran();
        retained.keep(&mut ran, [Some(Rest { text: text.to_owned(), at }), None], (session, position));
        let unread = ran.unread.unwrap();
        assert_eq!(unread.session, session);
        unread.offset
    }

    #[test]
    fn pages_follow_one_another() {
        let (retained, position) = (Retained::default(), AtomicU64::new(0));
        let text: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let mut offset = keep(&retained, 3, &position, &text, "line 0\n".len());
        assert_eq!(offset, 7);
        let mut read = String::from("line 0\n");
        loop {
            let page = retained.page(3, offset, Caps { bytes: 50, lines: 9 }).unwrap();
            assert!(page.stdout.text.len() <= 50 && page.notes.is_empty() && page.exit_code == Some(0));
            read += &page.stdout.text;
            assert_eq!(page.stdout.omitted, (text.len() - read.len()) as u64);
            assert_eq!(page.stdout.bytes, text.len() as u64);
            match page.unread {
                Some(unread) => offset = unread.offset,
                None => break,
            }
        }
        assert_eq!(read, text);
        // The positions of the session's next output follow those of the previous one.
        let next = keep(&retained, 3, &position, "other", 1);
        assert_eq!(next, text.len() as u64 + 1);
        assert_eq!(retained.page(3, next, ALL).unwrap().stdout.text, "ther");
        assert_eq!(retained.page(3, 0, ALL).unwrap().stdout.text, text);
        for (session, offset) in [(3, next + 4), (4, 0)] {
            let error = retained.page(session, offset, ALL).unwrap_err();
            assert_eq!(error.code, ErrorCode::NotFound, "{error:?}");
        }
    }

    #[test]
    fn both_streams_are_one_text() {
        let retained = Retained::default();
        let mut cut = ran();
        cut.stdout.text = "out".to_owned();
        cut.stderr.text = "e[truncated]r".to_owned();
        let rests = [None, Some(Rest { text: "error".to_owned(), at: 1 })];
        retained.keep(&mut cut, rests, (1, &AtomicU64::new(0)));
        assert_eq!(retained.page(1, 0, ALL).unwrap().stdout.text, "out\n[stderr]\nerror");
        assert_eq!(retained.page(1, cut.unread.unwrap().offset, ALL).unwrap().stdout.text, "rror");
    }

    #[test]
    fn size_number_and_age_are_bounded() {
        let retained = Retained::default();
        for session in 0..100 {
            keep(&retained, session, &AtomicU64::new(0), "text", 1);
        }
        assert_eq!(retained.outputs(Instant::now()).len(), MAX_OUTPUTS);
        assert!(retained.page(99, 1, ALL).is_ok() && retained.page(0, 1, ALL).is_err(), "the oldest goes first");
        let large = "x".repeat(MAX_BYTES / 3);
        for session in 100..110 {
            keep(&retained, session, &AtomicU64::new(0), &large, 1);
            let bytes: usize = retained.outputs(Instant::now()).iter().map(|output| output.text.len()).sum();
            assert!(bytes <= MAX_BYTES);
        }
        assert!(retained.page(109, 1, ALL).is_ok());
        let later = Instant::now() + RETENTION;
        assert_eq!(retained.outputs(later).len(), 0);
        keep(&retained, 1, &AtomicU64::new(0), "text", 1);
        retained.clear();
        assert!(retained.page(1, 1, ALL).is_err());
    }
}
