//! A process that serves many requests: one request per line on standard input, one answer per line on standard output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Number of bytes in one read from the pipe.
const BUFFER: usize = 1 << 20;

/// A running process that answers each line with a line.
pub struct LineProcess {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl LineProcess {
    /// Starts `command`. Error messages call the process `name`.
    pub fn start(name: &str, mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let stdin = child.stdin.take();
        let stdout = BufReader::with_capacity(BUFFER, child.stdout.take().context("no pipe")?);
        Ok(Self { name: name.to_owned(), child, stdin, stdout })
    }

    /// Sends a line, which ends with its line feed.
    pub fn send(&mut self, line: &[u8]) -> Result<()> {
        let pipe = self.stdin.as_mut().context("closed")?;
        pipe.write_all(line).and_then(|()| pipe.flush()).with_context(|| format!("{} has ended", self.name))
    }

    /// Returns the next line for which `is_wanted` returns true, and skips other messages of the server.
    pub fn receive(&mut self, is_wanted: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>> {
        loop {
            let mut line = Vec::new();
            if self.stdout.read_until(b'\n', &mut line)? == 0 {
                bail!("{} ended without an answer", self.name);
            }
            if is_wanted(&line) {
                return Ok(line);
            }
        }
    }

    /// Returns the answer to a line, and the time from the first written byte to the last read byte.
    pub fn request_line(&mut self, line: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> Result<(Duration, Vec<u8>)> {
        let start = Instant::now();
        self.send(line)?;
        let answer = self.receive(is_wanted)?;
        Ok((start.elapsed(), answer))
    }

    /// Returns the peak memory of the process in KiB, if the system reports it.
    pub fn peak_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().trim_end_matches("kB").trim().parse().ok()
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        // Most servers end when their standard input is closed. A server that does not is killed after 500 ms.
        self.stdin = None;
        let patience = Instant::now() + Duration::from_millis(500);
        while Instant::now() < patience {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
