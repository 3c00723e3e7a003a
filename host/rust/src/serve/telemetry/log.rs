//! The log: a line of JSON for each request, on standard error.

use std::time::SystemTime;

use serde::Serialize;

use super::stderr::log;

/// A line of the log.
#[derive(Serialize)]
pub(super) struct Line<'l> {
    pub(super) method: &'l str,
    /// The path without the query.
    pub(super) path: &'l str,
    pub(super) workspace: Option<&'l str>,
    pub(super) holder: Option<&'l str>,
    pub(super) status: u16,
    /// Outcome of the last call that has ended before the answer began: `ok`, or the code of its failure.
    pub(super) outcome: Option<&'l str>,
    pub(super) duration_ms: u64,
    /// Identifier of the trace, if there is one.
    pub(super) trace_id: Option<String>,
}

#[derive(Serialize)]
struct Timed<'l> {
    time: String,
    event: &'static str,
    #[serde(flatten)]
    line: Line<'l>,
}

impl Line<'_> {
    /// Writes the line to standard error, as one JSON object.
    pub(super) fn write(self) {
        let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        if let Ok(line) = serde_json::to_string(&Timed { time, event: "request", line: self }) {
            log(&line);
        }
    }
}
