//! The description of a command to be run.

use std::time::Duration;

/// A command that is to be run.
#[cfg(target_os = "linux")]
pub(super) struct CommandSpec<'a> {
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// The directory, as results show it.
    pub(super) workdir: &'a str,
    /// On a terminal of these columns and rows.
    pub(super) terminal: Option<(u16, u16)>,
    /// Whether something can be written to it.
    pub(super) input: bool,
    /// Time until it is ended.
    pub(super) time: Duration,
    /// Bytes of each stream that are held at its head, and at its tail.
    pub(super) room: usize,
}

/// A WASI program that is to be run.
#[cfg_attr(not(feature = "programs"), expect(dead_code, reason = "no program runs without the feature `programs`"))]
pub(super) struct ProgramSpec<'a> {
    /// As the policy names it.
    pub(super) name: &'a str,
    pub(super) arguments: &'a [String],
    pub(super) stdin: &'a str,
    /// The directory, as results show it.
    pub(super) workdir: &'a str,
    /// Time until it is ended.
    pub(super) time: Duration,
}
