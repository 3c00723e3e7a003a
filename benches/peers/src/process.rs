//! Runs of programs: time, output and peak memory.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use wait4::Wait4;

/// Result of a measured run.
pub struct Run {
    /// Time from the first sent byte, or the start of the process, to the last received byte.
    pub time: Duration,
    /// Outputs or answers, one element for each process or request.
    pub outputs: Vec<Vec<u8>>,
}

/// A program with its arguments.
#[derive(Clone)]
pub struct Invocation {
    program: PathBuf,
    args: Vec<OsString>,
    dir: PathBuf,
    env: Vec<(&'static str, OsString)>,
    stdin: Vec<u8>,
    may_find_nothing: bool,
}

impl Invocation {
    /// Creates an invocation of `program` in the directory `dir`.
    pub fn new(program: impl AsRef<Path>, dir: &Path) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            dir: dir.to_owned(),
            env: Vec::new(),
            stdin: Vec::new(),
            may_find_nothing: false,
        }
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    /// Sets the standard input, which must be small because all of it is written before the output is read.
    pub fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = bytes;
        self
    }

    /// Accepts exit status 1, which means that nothing was found.
    pub fn may_find_nothing(mut self) -> Self {
        self.may_find_nothing = true;
        self
    }

    /// Runs the program to its end. The output goes through a pipe, because some programs do less work for `/dev/null`.
    pub fn run(&self) -> Result<(Duration, Vec<u8>)> {
        let start = Instant::now();
        let mut command = self.command(&self.program);
        command.args(&self.args);
        let mut child = self.spawn(command)?;
        let mut output = Vec::new();
        child.stdout.take().context("no pipe")?.read_to_end(&mut output)?;
        let status = child.wait()?;
        let time = start.elapsed();
        let fine = status.success() || self.may_find_nothing && status.code() == Some(1);
        if !fine {
            let output_text = String::from_utf8_lossy(&output);
            bail!("{} ended with {status}: {}", self.program.display(), clipped(output_text.trim()));
        }
        Ok((time, output))
    }

    /// Returns the peak memory of a run in KiB.
    ///
    /// The system includes the memory of the parent at the fork. The parent is therefore a second, small process of
    /// this program; see [`report_peak`].
    pub fn peak_kib(&self) -> Result<u64> {
        let mut command = self.command(&std::env::current_exe()?);
        command.args(["peak", "--"]).arg(&self.program).args(&self.args);
        let mut child = self.spawn(command)?;
        let mut output = String::new();
        child.stdout.take().context("no pipe")?.read_to_string(&mut output)?;
        child.wait()?;
        output.trim().parse().with_context(|| format!("no peak memory of {}", self.program.display()))
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.dir).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    fn spawn(&self, mut command: Command) -> Result<Child> {
        let stdin = if self.stdin.is_empty() { Stdio::null() } else { Stdio::piped() };
        // Standard error is inherited, so that the user sees the program's errors.
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().with_context(|| format!("cannot run {}", self.program.display()))?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(&self.stdin)?;
        }
        Ok(child)
    }
}

/// Runs `command`, discards its output and prints its peak memory in KiB: the second process of
/// [`Invocation::peak_kib`].
pub fn report_peak(command: &[OsString]) -> Result<()> {
    let (program, args) = command.split_first().context("no command")?;
    let mut child = Command::new(program).args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut output = child.stdout.take().context("no pipe")?;
    std::io::copy(&mut output, &mut std::io::sink())?;
    println!("{}", child.wait4()?.rusage.maxrss / 1024);
    Ok(())
}

/// Returns the beginning of a long message.
pub fn clipped(text: &str) -> String {
    let mut short: String = text.chars().take(300).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
