//! Lines on standard error, which a thread writes. A standard error that nobody reads delays no request.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

/// Maximum number of lines that wait. Further ones are lost, and counted.
const MAX_LINES: usize = 1024;

/// Maximum time for which the end of the server waits for the lines before.
const FLUSH: Duration = Duration::from_millis(200);

/// Number of lines that were lost and not reported yet.
static LOST: AtomicU64 = AtomicU64::new(0);

enum Message {
    Line(String),
    /// Answers when all lines before are written.
    Flush(SyncSender<()>),
}

/// Writes a line to standard error. A closed standard error ends no request.
pub(in super::super) fn log(line: &str) {
    send(Message::Line(line.to_owned()));
}

/// Waits for the lines before, for a short time.
pub(super) fn flush() {
    let (sender, written) = sync_channel(1);
    send(Message::Flush(sender));
    let _ = written.recv_timeout(FLUSH);
}

fn send(message: Message) {
    static WRITER: OnceLock<SyncSender<Message>> = OnceLock::new();
    let writer = WRITER.get_or_init(|| {
        let (sender, messages) = sync_channel(MAX_LINES);
        // Without the thread, the receiver is dropped, and each line is lost.
        let _ = thread::Builder::new().name("paddock-log".to_owned()).spawn(move || write(&messages));
        sender
    });
    if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = writer.try_send(message) {
        LOST.fetch_add(1, Ordering::Relaxed);
    }
}

fn write(messages: &Receiver<Message>) {
    for message in messages {
        match message {
            Message::Line(line) => drop(writeln!(io::stderr(), "{line}")),
            Message::Flush(written) => drop(written.send(())),
        }
        let lost = LOST.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(io::stderr(), "paddock: {lost} lines of the log were lost, because nobody read them");
        }
    }
}
