//! MCP over streamable HTTP, without sessions: each request is handled alone, and answered by JSON rather than by a stream.
//!
//! A client of an older revision that starts with `initialize` gets no session identifier, so that it sends its further
//! requests without one, with the revision in a header.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::head::Head;
use super::reply::{Rejection, Response};
use super::{ReadBody, read_json};
use crate::envelope::answer as rpc_answer;
use crate::message::{Message, Request, parse};
use crate::rpc_error::{RpcError, code};
use crate::server::{BATCHES, Lifecycle, REVISIONS, STATELESS, Server, missing_metadata, named_revision};
use crate::tools::Tools;

const REVISION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// Start and end of a header value in Base64.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// Answers a message.
pub(super) fn answer(
    tools: &impl Tools,
    dialect: &str,
    head: &Head<'_>,
    read: ReadBody<'_>,
) -> Result<Response, Rejection> {
    head.require_accepts_json()?;
    let body = read_json(head, read)?;
    let refused = |error: &RpcError| Ok(Response::json(400, rpc_answer(None, Err(error))));
    match parse(&body) {
        Message::Request(request) => Ok(answer_request(&Server::new(tools, dialect), &request, head)),
        Message::Notification => Ok(Response::empty(202)),
        Message::Response => refused(&RpcError::invalid_request("the server asks nothing, and accepts no responses")),
        Message::Batch(_) => refused(&RpcError::invalid_request(
            "batches are not supported over HTTP; send each message in a request of its own",
        )),
        Message::Invalid(error, id) => Ok(Response::json(400, rpc_answer(id.as_ref(), Err(&error)))),
    }
}

fn answer_request<T: Tools>(server: &Server<'_, T>, request: &Request, head: &Head<'_>) -> Response {
    let respond = |status, error: &RpcError| Response::json(status, rpc_answer(Some(&request.id), Err(error)));
    let lifecycle = match lifecycle(request, head) {
        Ok(lifecycle) => lifecycle,
        Err(error) => return respond(400, &error),
    };
    match server.result(request, &lifecycle) {
        Ok(result) => Response::json(200, rpc_answer(Some(&request.id), Ok(&result))),
        Err(error) => respond(status(&error, request, &lifecycle), &error),
    }
}

/// Returns what the headers tell of the client. Fails if they contradict the request: a proxy may act on them.
fn lifecycle(request: &Request, head: &Head<'_>) -> Result<Lifecycle, RpcError> {
    let header = single(head, REVISION)?;
    check_standard_headers(request, head, header)?;
    if request.method == "initialize" {
        let requested = request.params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        return match header {
            Some(header) if header != requested => Err(RpcError::invalid_request(format!(
                "MCP-Protocol-Version header ({header}) does not match initialize params.protocolVersion ({requested})"
            ))),
            _ => Ok(Lifecycle::Open),
        };
    }
    match (named_revision(request), header) {
        (Some(_), None) => Err(mismatch("request _meta protocolVersion requires MCP-Protocol-Version header")),
        (Some(named), Some(header)) if named != header => Err(mismatch(&format!(
            "MCP-Protocol-Version header ({header}) does not match request _meta protocolVersion ({named})"
        ))),
        (Some(_), Some(_)) => Ok(Lifecycle::Stateless),
        (None, Some(header)) if !REVISIONS.contains(&header) => {
            Err(RpcError::invalid_request(format!("Unsupported MCP-Protocol-Version: {header}")))
        }
        (None, Some(header)) if header >= STATELESS => Ok(Lifecycle::Stateless),
        (None, header) => Ok(Lifecycle::Initialized(header.unwrap_or(BATCHES).to_owned())),
    }
}

/// Checks the headers that repeat the method and the name of a request, which the stateless revision requires.
fn check_standard_headers(request: &Request, head: &Head<'_>, revision: Option<&str>) -> Result<(), RpcError> {
    if revision < Some(STATELESS) {
        return Ok(());
    }
    let method = &request.method;
    match single(head, METHOD)? {
        // A client names its revision in the headers only after `initialize`.
        None if method == "initialize" => return Ok(()),
        None => return Err(mismatch("missing required Mcp-Method header")),
        Some(header) if header != method => {
            return Err(mismatch(&format!("Mcp-Method header `{header}` does not match body method `{method}`")));
        }
        Some(_) => {}
    }
    let Some(expected) = request.params.get("name").and_then(Value::as_str).filter(|_| method == "tools/call") else {
        return Ok(());
    };
    let header = single(head, NAME)?;
    let header = header.ok_or_else(|| mismatch(&format!("missing required Mcp-Name header for `{method}`")))?;
    let name = decoded(header).ok_or_else(|| mismatch("Mcp-Name header is not valid Base64"))?;
    match name == expected {
        true => Ok(()),
        false => Err(mismatch(&format!("Mcp-Name header `{name}` does not match body value `{expected}`"))),
    }
}

/// Returns the value of a header that a request has at most once.
fn single<'h>(head: &Head<'h>, name: &'static str) -> Result<Option<&'h str>, RpcError> {
    head.value(name).map_err(|_| mismatch(&format!("the header `{name}` occurs twice, or is not text")))
}

fn decoded(header: &str) -> Option<String> {
    let (start, end) = ENCODED;
    match header.strip_prefix(start).and_then(|rest| rest.strip_suffix(end)) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(header.to_owned()),
    }
}

fn mismatch(message: &str) -> RpcError {
    RpcError::new(code::HEADER_MISMATCH, message)
}

/// Returns the status of an error. Revisions with `initialize` have errors with the status 200.
fn status(error: &RpcError, request: &Request, lifecycle: &Lifecycle) -> u16 {
    let is_described = *lifecycle == Lifecycle::Stateless || request.method == "server/discover";
    match error.code {
        _ if !is_described => 200,
        code::UNSUPPORTED_PROTOCOL_VERSION | code::HEADER_MISMATCH => 400,
        code::INVALID_PARAMS if !missing_metadata(request).is_empty() => 400,
        code::METHOD_NOT_FOUND => 404,
        _ => 200,
    }
}
