//! A client of MCP servers over stdin and stdout.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::line_process::LineProcess;

const PROTOCOL: &str = "2025-06-18";

/// A server that has been initialized.
pub struct Server {
    process: LineProcess,
    last_id: u64,
}

impl Server {
    /// Starts a server and initializes the MCP session.
    pub fn start(name: &str, command: Command) -> Result<Self> {
        let mut server = Self { process: LineProcess::start(name, command)?, last_id: 0 };
        let client = json!({"name": "paddock-peers", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client});
        server.request("initialize", &hello)?;
        server.process.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(server)
    }

    /// Calls a tool. Returns the time from the first byte of the request to the last byte of the answer, and the
    /// unparsed answer.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Vec<u8>)> {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Returns the peak memory of the server in KiB.
    pub fn peak_kib(&self) -> Option<u64> {
        self.process.peak_kib()
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<(Duration, Vec<u8>)> {
        self.last_id += 1;
        let id = self.last_id;
        let line = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.process.request_line(line.as_bytes(), |answer| has_id(answer, id))
    }
}

/// Returns whether a line answers the request `id`. The id is near one of the ends of the line; a long line is not
/// parsed, because this code is part of the measured time.
fn has_id(line: &[u8], id: u64) -> bool {
    const NEAR: usize = 60;
    let wanted = format!("\"id\":{id}");
    let is_in = |part: &[u8]| {
        let part = String::from_utf8_lossy(part);
        part.match_indices(&wanted).any(|(at, _)| {
            let after = part.get(at + wanted.len()..).and_then(|rest| rest.chars().next());
            matches!(after, Some(',' | '}'))
        })
    };
    is_in(line.get(..NEAR).unwrap_or(line)) || is_in(line.get(line.len().saturating_sub(NEAR)..).unwrap_or_default())
}

/// Returns the `result` of a successful tool call.
pub fn result(answer: &[u8]) -> Result<Value> {
    let mut answer: Value = serde_json::from_slice(answer).context("an answer is no JSON")?;
    let failed = answer.pointer("/result/isError").and_then(Value::as_bool).unwrap_or(false);
    if failed || answer.get("error").is_some() {
        let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
        bail!("{}", crate::process::clipped(&text.map_or_else(|| answer.to_string(), str::to_owned)));
    }
    answer.get_mut("result").map(Value::take).context("an answer without a result")
}

/// Returns the text of a result.
pub fn text(result: &Value) -> Result<&str> {
    result.pointer("/content/0/text").and_then(Value::as_str).context("a result without text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_id_at_either_end() {
        let long = "x".repeat(200);
        assert!(has_id(format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"{long}\"}}\n").as_bytes(), 3));
        assert!(has_id(format!("{{\"result\":\"{long}\",\"jsonrpc\":\"2.0\",\"id\":3}}\n").as_bytes(), 3));
        assert!(!has_id(b"{\"jsonrpc\":\"2.0\",\"id\":31,\"result\":1}\n", 3));
        assert!(!has_id(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n", 3));
    }

    #[test]
    fn a_failed_tool_is_an_error() {
        assert!(result(br#"{"id":1,"result":{"isError":true,"content":[]}}"#).is_err());
        assert!(result(br#"{"id":1,"error":{"code":-1}}"#).is_err());
        let fine = result(br#"{"id":1,"result":{"content":[{"type":"text","text":"x"}]}}"#).unwrap();
        assert_eq!(text(&fine).unwrap(), "x");
    }
}
