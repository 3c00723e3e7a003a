//! The members of a message that decide where it goes.

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

/// The first protocol revision without sessions.
const STATELESS: &str = "2026-07-28";

/// The head of a message, or of each message of a batch.
pub(super) struct Head {
    messages: Vec<Message>,
    is_batch: bool,
}

#[derive(Default, Deserialize)]
struct Message {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Params,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    name: Option<String>,
    uri: Option<String>,
    #[serde(rename = "requestId")]
    request_id: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<String>,
    #[serde(rename = "progressToken")]
    progress_token: Option<Value>,
}

impl Head {
    /// Parses a body. Members with other types than those of the protocol are ignored: the MCP server answers them.
    pub(super) fn parse(body: &[u8]) -> Self {
        let is_batch = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        let values: Vec<Value> = match serde_json::from_slice(body) {
            Ok(Value::Array(values)) => values,
            Ok(value) => vec![value],
            Err(_) => Vec::new(),
        };
        let messages = values.into_iter().map(|value| match Message::deserialize(&value) {
            Ok(message) => message,
            Err(_) => Message {
                id: value.get("id").cloned(),
                method: value.get("method").and_then(Value::as_str).map(str::to_owned),
                params: Params::default(),
            },
        });
        Self { messages: messages.collect(), is_batch }
    }

    pub(super) fn is_batch(&self) -> bool {
        self.is_batch
    }

    /// Returns whether the body has a message that is answered. An empty batch is answered by an error.
    pub(super) fn is_request(&self) -> bool {
        self.messages.is_empty() || self.messages.iter().any(Message::is_request)
    }

    pub(super) fn is_initialize(&self) -> bool {
        !self.is_batch && self.method() == Some("initialize")
    }

    /// Returns whether the answer is a stream that stays open.
    pub(super) fn is_listen(&self) -> bool {
        !self.is_batch && self.method() == Some("subscriptions/listen")
    }

    /// Returns whether the request belongs to a protocol revision without sessions.
    pub(super) fn is_stateless(&self) -> bool {
        let version = |message: &Message| message.params.meta.protocol_version.clone();
        !self.is_batch && self.messages.first().and_then(version).is_some()
    }

    /// Returns the ids of the requests, as JSON.
    pub(super) fn ids(&self) -> impl Iterator<Item = String> {
        self.messages
            .iter()
            .filter(|message| message.is_request())
            .filter_map(|message| message.id.as_ref())
            .map(Value::to_string)
    }

    /// Returns the ids of the requests that the message cancels, as JSON.
    pub(super) fn cancelled(&self) -> impl Iterator<Item = String> {
        let cancels = |message: &&Message| message.method.as_deref() == Some("notifications/cancelled");
        self.messages
            .iter()
            .filter(cancels)
            .filter_map(|message| message.params.request_id.as_ref())
            .map(Value::to_string)
    }

    /// Returns the progress tokens of the requests, as JSON.
    pub(super) fn progress_tokens(&self) -> impl Iterator<Item = String> {
        self.messages.iter().filter_map(|message| message.params.meta.progress_token.as_ref()).map(Value::to_string)
    }

    /// Returns the answer to the message with an error.
    pub(super) fn error(&self, code: i32, message: &str) -> String {
        let id = self.messages.first().filter(|_| !self.is_batch).and_then(|message| message.id.clone());
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
    }

    /// Fails if a header that repeats a member of the message differs from the member: a proxy may have decided by the
    /// header. The revision without sessions requires these headers.
    pub(super) fn check_headers(&self, headers: &HeaderMap) -> Result<(), String> {
        let Some(message) = self.messages.first().filter(|_| !self.is_batch) else { return Ok(()) };
        let version = header(headers, "mcp-protocol-version")?;
        let own = message.params.meta.protocol_version.as_deref();
        let is_stateless = own.is_some() || version.as_deref().is_some_and(|version| version >= STATELESS);
        if !is_stateless || !message.is_request() {
            return Ok(());
        }
        compare("MCP-Protocol-Version", version.as_deref(), own)?;
        compare("Mcp-Method", header(headers, "mcp-method")?.as_deref(), message.method.as_deref())?;
        let named = match message.method.as_deref() {
            Some("tools/call" | "prompts/get") => message.params.name.as_deref(),
            Some("resources/read") => message.params.uri.as_deref(),
            _ => return Ok(()),
        };
        let name = header(headers, "mcp-name")?.map(|value| decode(&value)).transpose()?;
        compare("Mcp-Name", name.as_deref(), named)
    }

    fn method(&self) -> Option<&str> {
        self.messages.first().and_then(|message| message.method.as_deref())
    }
}

impl Message {
    fn is_request(&self) -> bool {
        self.id.is_some() && self.method.is_some()
    }
}

/// Returns the only value of a header.
fn header(headers: &HeaderMap, name: &str) -> Result<Option<String>, String> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), more) = (values.next(), values.next()) else { return Ok(None) };
    match (value.to_str(), more) {
        (Ok(value), None) => Ok(Some(value.to_owned())),
        _ => Err(format!("the header `{name}` has to have one value of visible ASCII characters")),
    }
}

fn compare(name: &str, header: Option<&str>, own: Option<&str>) -> Result<(), String> {
    match (header, own) {
        (Some(header), Some(own)) if header == own => Ok(()),
        (None, Some(_)) => Err(format!("the header `{name}` is missing")),
        (_, None) => Err(format!("the header `{name}` repeats a member that the message does not have")),
        (Some(_), Some(own)) => Err(format!("the header `{name}` differs from `{own}` in the message")),
    }
}

/// Decodes `=?base64?…?=`, the form of a value with other characters than visible ASCII.
fn decode(value: &str) -> Result<String, String> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) else {
        return Ok(value.to_owned());
    };
    let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.ok_or_else(|| "the header `Mcp-Name` is not Base64 of UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &str)], body: &Value) -> Result<(), String> {
        let mut map = HeaderMap::new();
        headers.iter().for_each(|(name, value)| drop(map.append(*name, value.parse().unwrap())));
        Head::parse(body.to_string().as_bytes()).check_headers(&map)
    }

    #[test]
    fn headers_repeat_the_message() {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": STATELESS});
        let call = json!({"id": 1, "method": "tools/call", "params": {"name": "grep", "_meta": meta}});
        let (version, method) = (("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"));
        assert_eq!(check(&[version, method, ("mcp-name", "grep")], &call), Ok(()));
        assert_eq!(check(&[version, method, ("mcp-name", "=?base64?Z3JlcA==?=")], &call), Ok(()));
        for headers in [
            &[][..],
            &[version, method],
            &[version, ("mcp-name", "grep")],
            &[method, ("mcp-name", "grep")],
            &[version, method, ("mcp-name", "glob")],
            &[version, method, ("mcp-name", "grep"), ("mcp-name", "grep")],
            &[version, ("mcp-method", "tools/list"), ("mcp-name", "grep")],
            &[("mcp-protocol-version", "2025-11-25"), method, ("mcp-name", "grep")],
        ] {
            assert!(check(headers, &call).is_err(), "{headers:?}");
        }
        assert!(check(&[version], &json!({"id": 1, "method": "tools/list"})).is_err());
        assert_eq!(check(&[], &json!({"id": 1, "method": "tools/list"})), Ok(()));
    }

    #[test]
    fn a_batch_is_a_request_if_one_message_is() {
        let head = |text: &str| Head::parse(text.as_bytes());
        assert!(head(r#" [{"id": 1, "method": "ping"}, {"method": "x"}]"#).is_request());
        assert!(!head(r#"[{"method": "x"}]"#).is_request() && head("[]").is_request());
        assert!(!head(r#"{"id": 1, "result": {}}"#).is_request());
        assert_eq!(
            head(r#"[{"id": 1, "method": "a"}, {"id": "1", "method": "b"}]"#).ids().collect::<Vec<_>>(),
            ["1", "\"1\""]
        );
    }
}
