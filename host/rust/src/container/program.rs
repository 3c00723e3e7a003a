//! An engine's program, run with a list of arguments and a limit on time and output.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of what it says.
const MAX_BYTES: u64 = 4 << 20;
/// How often it is looked at.
const INTERVAL: Duration = Duration::from_millis(2);
/// Characters of a complaint that are passed on.
const COMPLAINT_CHARS: usize = 300;

/// How a program ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// There is none of that name on the `PATH`.
    Missing,
    /// What it printed.
    Well(Vec<u8>),
    /// What it complained of, in one line.
    Badly(String),
}

/// Runs `program` with `arguments`. Fails where it cannot be run, takes too long or says too much.
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
                // Gone between the two is as good.
                let _ = child.kill();
                let _ = child.wait();
                return Err(fail(&format!("no answer within {} s", PATIENCE.as_secs())));
            }
            Err(cause) => return Err(fail(&cause)),
        }
    };
    // Something that it started may still hold the other end.
    let take = |from: Receiver<Vec<u8>>| from.recv_timeout(until.saturating_duration_since(Instant::now()));
    let printed = take(printed).map_err(|_| fail(&"its output does not end"))?;
    if printed.len() as u64 > MAX_BYTES {
        return Err(fail(&format!("it says more than {MAX_BYTES} bytes")));
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
            // What came before a failure counts; more than the limit is refused.
            let _ = pipe.take(MAX_BYTES + 1).read_to_end(&mut bytes);
        }
        // Nobody waits for it any more where the time is up.
        let _ = sender.send(bytes);
    });
    receiver
}
