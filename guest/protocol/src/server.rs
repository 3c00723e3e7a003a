//! Answers to the requests of the protocol.
//!
//! A request of the stateless revision 2026-07-28 has its revision and the capabilities of the client in `_meta`. The
//! requests of older revisions belong to a session that starts with `initialize`; of such a session, the server needs only
//! the revision, which HTTP repeats in a header.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::formats::{Format, List};
use crate::message::Request;
use crate::rpc_error::{RpcError, code};
use crate::tools::{DIALECT, Outcome, Tools};

/// Revisions of the protocol, oldest first.
pub const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", STATELESS];
/// The first revision without `initialize`.
pub const STATELESS: &str = "2026-07-28";
/// The only revision that has batches, and that of a client over HTTP that names none.
pub const BATCHES: &str = "2025-03-26";
/// The newest revision that starts with `initialize`.
const NEWEST_WITH_INITIALIZE: &str = "2025-11-25";

/// Members of `_meta` in a request of the stateless revision.
const META_REVISION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Time in milliseconds for which a client may cache the list of tools, which does not change while the server runs.
pub const TOOLS_TTL_MS: u64 = 3_600_000;

/// Instructions for the model: for any dialect, and for the `paddock` dialect.
const ANY_DIALECT: &str = "\
File tools confined to one workspace. Paths are relative to it and use `/`. \
A result that was cut short says so; an error says what would work instead.";
const INSTRUCTIONS: &str = "\
File tools confined to one workspace. Paths are relative to it and use `/`. \
Find with `grep`, `glob` and `list_dir`, read a page with `read_file`, then change text with `edit_file` \
or several files at once with `apply_patch` or `replace`. A result that was cut short says which argument continues it; \
an error says what would work instead.";

/// The properties of the client that the server knows before a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// The client has not chosen between `initialize` and the stateless revision.
    #[default]
    Open,
    /// The client and the server have agreed on this revision by `initialize`.
    Initialized(String),
    /// The client describes itself in each request.
    Stateless,
}

/// A server of the tools of one dialect.
pub struct Server<'t, T> {
    tools: &'t T,
    dialect: &'t str,
}

impl<'t, T: Tools> Server<'t, T> {
    /// Creates a server.
    pub fn new(tools: &'t T, dialect: &'t str) -> Self {
        Self { tools, dialect }
    }

    /// Returns the dialect of the tools.
    pub fn dialect(&self) -> &'t str {
        self.dialect
    }

    /// Returns the result of a request.
    ///
    /// # Errors
    ///
    /// The error with which the request is answered.
    pub fn result(&self, request: &Request, lifecycle: &Lifecycle) -> Result<Box<RawValue>, RpcError> {
        let Request { method, params, .. } = request;
        if method == "initialize" {
            return raw(&self.initialized(params));
        }
        let is_early_ping = *lifecycle == Lifecycle::Open && method == "ping";
        let revision = if is_early_ping { BATCHES } else { revision_of(request, lifecycle)? };
        let is_stateless = revision >= STATELESS;
        match method.as_str() {
            "ping" if !is_stateless => raw(&json!({})),
            "server/discover" => raw(&self.discovered()),
            "tools/list" => self.listed(is_stateless),
            "tools/call" => self.called(params, is_stateless),
            _ => Err(RpcError::new(code::METHOD_NOT_FOUND, method)),
        }
    }

    fn initialized(&self, params: &Map<String, Value>) -> Value {
        let requested = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        json!({
            "protocolVersion": agreed_revision(requested),
            "capabilities": capabilities(),
            "serverInfo": server_info(),
            "instructions": instructions(self.dialect),
        })
    }

    fn discovered(&self) -> Value {
        json!({
            "resultType": "complete",
            "supportedVersions": REVISIONS,
            "capabilities": capabilities(),
            "instructions": instructions(self.dialect),
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": server_info()},
        })
    }

    fn listed(&self, is_stateless: bool) -> Result<Box<RawValue>, RpcError> {
        let tools = self.tools.describe(self.dialect);
        let tools = tools.map_err(|error| RpcError::new(code::INTERNAL_ERROR, Outcome::failed(error).text))?;
        let listed = Listed {
            result_type: is_stateless.then_some("complete"),
            tools: Format::Mcp.list(&tools).map_err(|cause| RpcError::new(code::INTERNAL_ERROR, cause.to_string()))?,
            ttl_ms: TOOLS_TTL_MS,
            cache_scope: "public",
        };
        raw(&listed)
    }

    fn called(&self, params: &Map<String, Value>, is_stateless: bool) -> Result<Box<RawValue>, RpcError> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let arguments = params.get("arguments").filter(|arguments| !arguments.is_null());
        let arguments = arguments.map_or_else(|| "{}".to_owned(), Value::to_string);
        let outcome = self.tools.call(self.dialect, name, &arguments);
        if let Some(error) = outcome.error.as_ref().filter(|error| error.code == "unknown-tool") {
            let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            return Err(RpcError::invalid_params(format!("unknown tool: {name}{hint}")));
        }
        raw(&Called::new(&outcome, is_stateless))
    }
}

/// Returns the instructions for a model that has the tools of this dialect.
pub fn instructions(dialect: &str) -> &'static str {
    if dialect == DIALECT { INSTRUCTIONS } else { ANY_DIALECT }
}

/// Returns the revision on which `initialize` agrees.
pub fn agreed_revision(requested: &str) -> &str {
    let is_known = requested != STATELESS && REVISIONS.contains(&requested);
    if is_known { requested } else { NEWEST_WITH_INITIALIZE }
}

/// Returns the revision that a request names in `_meta`.
pub fn named_revision(request: &Request) -> Option<&str> {
    request.params.get("_meta")?.get(META_REVISION)?.as_str()
}

/// Returns the revision of a request that is not `initialize`.
fn revision_of<'r>(request: &'r Request, lifecycle: &'r Lifecycle) -> Result<&'r str, RpcError> {
    let named = named_revision(request);
    let agreed = match lifecycle {
        Lifecycle::Initialized(revision) => Some(revision.as_str()),
        Lifecycle::Open | Lifecycle::Stateless => None,
    };
    if let Some(named) = named.filter(|named| !REVISIONS.contains(named)) {
        return Err(unsupported(named));
    }
    let describes_itself = agreed.is_none() || request.method == "server/discover" || named >= Some(STATELESS);
    if describes_itself {
        let missing = missing_metadata(request);
        if !missing.is_empty() {
            let fields = missing.join(", ");
            let message = format!("request _meta is missing or has malformed required fields: {fields}");
            return Err(RpcError::invalid_params(message));
        }
    }
    match named.or(agreed) {
        Some(revision) if REVISIONS.contains(&revision) => Ok(if describes_itself { STATELESS } else { revision }),
        Some(revision) => Err(unsupported(revision)),
        None => Ok(STATELESS),
    }
}

/// Returns the members of `_meta` that a request of the stateless revision needs and does not have.
pub fn missing_metadata(request: &Request) -> Vec<&'static str> {
    let meta = |name: &str| request.params.get("_meta").and_then(|meta| meta.get(name));
    let is_revision_missing = !meta(META_REVISION).is_some_and(Value::is_string);
    let are_capabilities_missing = !meta(META_CAPABILITIES).is_some_and(Value::is_object);
    let missing = [(META_REVISION, is_revision_missing), (META_CAPABILITIES, are_capabilities_missing)];
    missing.into_iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| name).collect()
}

fn unsupported(requested: &str) -> RpcError {
    let data = Some(json!({"requested": requested, "supported": REVISIONS}));
    RpcError { data, ..RpcError::new(code::UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version") }
}

fn capabilities() -> Value {
    json!({"tools": {}})
}

fn server_info() -> Value {
    json!({"name": "paddock", "title": "Paddock", "version": env!("CARGO_PKG_VERSION")})
}

fn raw(result: &impl Serialize) -> Result<Box<RawValue>, RpcError> {
    to_raw_value(result).map_err(|cause| RpcError::new(code::INTERNAL_ERROR, cause.to_string()))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'t> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    tools: List<'t>,
    ttl_ms: u64,
    cache_scope: &'static str,
}

/// Result of a call. A failure has no structured content, because that would have to match the output schema.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Called {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    content: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Box<RawValue>>,
    is_error: bool,
}

impl Called {
    fn new(outcome: &Outcome, is_stateless: bool) -> Self {
        let is_error = outcome.error.is_some();
        let text = || to_raw_value(&json!([{"type": "text", "text": outcome.text}])).unwrap_or_default();
        Self {
            result_type: is_stateless.then_some("complete"),
            content: blocks(outcome).unwrap_or_else(text),
            structured_content: (!is_error).then(|| outcome.raw_result()),
            is_error,
        }
    }
}

/// Returns the content blocks (images, sounds, resources) of a result without a text of its own.
fn blocks(outcome: &Outcome) -> Option<Box<RawValue>> {
    if outcome.error.is_some() || !outcome.text.is_empty() {
        return None;
    }
    let result: Value = serde_json::from_str(&outcome.result).ok()?;
    let content = result.get("content").filter(|content| content.is_array())?;
    to_raw_value(content).ok()
}

#[cfg(test)]
mod tests;
