//! Descriptions of commands and programs before they run.

use std::time::Duration;

/// A command to run.
#[cfg(target_os = "linux")]
pub(super) struct CommandSpec<'a> {
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// Working directory, in the form of results.
    pub(super) workdir: &'a str,
    /// Columns and rows of the terminal, if the command gets one.
    pub(super) terminal: Option<(u16, u16)>,
    /// Whether the command has a standard input that can be written.
    pub(super) input: bool,
    /// Time limit.
    pub(super) time: Duration,
}

/// A WASI program to run.
#[cfg_attr(not(feature = "programs"), expect(dead_code, reason = "no program runs without the feature `programs`"))]
pub(super) struct ProgramSpec<'a> {
    /// Name in the policy.
    pub(super) name: &'a str,
    pub(super) arguments: &'a [String],
    pub(super) stdin: &'a str,
    /// Working directory, in the form of results.
    pub(super) workdir: &'a str,
    /// Time limit.
    pub(super) time: Duration,
    /// Maximum output of each stream in the result, if the caller states one.
    pub(super) max_output_tokens: Option<u64>,
}
