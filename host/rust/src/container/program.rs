//! Runs the command-line client of a container engine, with a limit on time and output.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of a program.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of bytes of output.
const MAX_BYTES: u64 = 4 << 20;
/// Interval at which the end of the program is checked.
const INTERVAL: Duration = Duration::from_millis(2);
/// Maximum number of characters of an error message.
const COMPLAINT_CHARS: usize = 300;

/// Result of a program.
#[derive(Debug)]
pub(super) enum Ended {
    /// No program of that name is on the `PATH`.
    Missing,
    /// Success, with the standard output.
    Well(Vec<u8>),
    /// Failure, with the error message in one line.
    Badly(String),
}

/// Runs `program` with `arguments`. Fails if the program cannot be started or exceeds a limit.
pub(super) fn run(program: &str, arguments: &[&str]) -> Result<Ended, String> {
    let fail = |cause: &dyn std::fmt::Display| format!("`{program}`: {cause}");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Ended::Missing),
        Err(cause) => return Err(fail(&cause)),
    };
    let (printed, complaint) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let until = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => thread::sleep(INTERVAL),
            Ok(None) => {
                // The program may have ended in the meantime.
                let _ = child.kill();
                let _ = child.wait();
                return Err(fail(&format!("no answer within {} s", PATIENCE.as_secs())));
            }
            Err(cause) => return Err(fail(&cause)),
        }
    };
    // A process that the program started may still hold the other end.
    let take = |from: Receiver<Vec<u8>>| from.recv_timeout(until.saturating_duration_since(Instant::now()));
    let printed = take(printed).map_err(|_| fail(&"its output does not end"))?;
    if printed.len() as u64 > MAX_BYTES {
        return Err(fail(&format!("it prints more than {MAX_BYTES} bytes")));
    }
    if status.success() {
        return Ok(Ended::Well(printed));
    }
    let complaint = take(complaint).unwrap_or_default();
    let complaint = String::from_utf8_lossy(&complaint);
    let line = complaint.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it failed");
    Ok(Ended::Badly(line.chars().filter(|c| !c.is_control()).take(COMPLAINT_CHARS).collect()))
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // The output before a failure is used; more output than the limit is refused.
            let _ = pipe.take(MAX_BYTES + 1).read_to_end(&mut bytes);
        }
        // After the time limit, no receiver waits for the output.
        let _ = sender.send(bytes);
    });
    receiver
}
