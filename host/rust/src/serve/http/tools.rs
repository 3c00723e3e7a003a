//! The tools as plain JSON.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::telemetry::Direction;
use super::reply::{Rejection, json_response};
use super::{Admitted, Inner};
use crate::{CallOptions, Outcome, ToolFormat};

/// Query of the list of tools.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    dialect: Option<String>,
    format: Option<String>,
}

/// Body of a call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallBody<'b> {
    tool: String,
    #[serde(borrow)]
    arguments: Option<&'b RawValue>,
    dialect: Option<String>,
}

/// Lists the tools of a workspace.
pub(super) async fn list(
    State(app): State<Arc<Inner>>,
    Path(workspace): Path<String>,
    query: Result<Query<ListQuery>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Result<Response<Body>, Rejection> {
    let admitted = Admitted::new(app, workspace, &headers)?;
    let Query(query) = query.map_err(|cause| Rejection::bad_request(cause.body_text()))?;
    let format: ToolFormat =
        query.format.as_deref().map_or(Ok(ToolFormat::default()), str::parse).map_err(Rejection::bad_request)?;
    let dialect = admitted.dialect(query.dialect.as_deref())?;
    let running = admitted.begin()?;
    let served = admitted.open(Some(&running)).await?;
    let described = tokio::task::spawn_blocking(move || served.workspace.tools(&dialect)).await;
    let lost = |cause: &dyn std::fmt::Display| {
        Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, "io", format!("the list was lost: {cause}"))
    };
    let tools = described.map_err(|cause| lost(&cause))?.map_err(|error| Rejection::not_found(error.message))?;
    let body = format.render(&tools).map_err(|cause| lost(&cause))?;
    admitted.spend(Direction::Sent, body.len());
    Ok(json_response(StatusCode::OK, body))
}

/// Calls a tool. The failure of a tool is an answer with the status 200, like its result.
pub(super) async fn call(
    State(app): State<Arc<Inner>>,
    Path(workspace): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response<Body>, Rejection> {
    let admitted = Admitted::new(app, workspace, &headers)?;
    check_content_type(&headers)?;
    admitted.check()?;
    // A client that is slow to send its body takes no capacity for calls.
    let (body, _slots) = admitted.body(body).await?;
    let call = parse(&body)?;
    let arguments = call.arguments.map_or("{}", RawValue::get).to_owned();
    if !arguments.starts_with('{') {
        return Err(Rejection::bad_request("`arguments` has to be an object"));
    }
    let dialect = admitted.dialect(call.dialect.as_deref())?;
    let running = admitted.begin()?;
    let served = admitted.open(Some(&running)).await?;
    // If the client disconnects, this future is dropped, which cancels the call.
    let options = CallOptions { listener: Some(admitted.record.listener()), ..CallOptions::dialect(dialect) };
    let outcome: Outcome = served.workspace.call_async(&call.tool, &arguments, options).await;
    let body = serde_json::to_string(&outcome).map_err(|cause| {
        Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, "io", format!("the result cannot be written: {cause}"))
    })?;
    admitted.spend(Direction::Sent, body.len());
    Ok(json_response(StatusCode::OK, body))
}

fn parse(body: &[u8]) -> Result<CallBody<'_>, Rejection> {
    let wrong = |cause: &dyn std::fmt::Display| {
        Rejection::bad_request(format!("the body has to be {{\"tool\": NAME, \"arguments\": {{…}}}}: {cause}"))
    };
    // The parser would take the members from an array too.
    match body.trim_ascii_start().starts_with(b"{") {
        true => serde_json::from_slice(body).map_err(|cause| wrong(&cause)),
        false => Err(wrong(&"it is no object")),
    }
}

/// Fails if the body is not plain JSON. A page of the web can send other types without asking the server first.
fn check_content_type(headers: &HeaderMap) -> Result<(), Rejection> {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_plain = headers.get_all(header::CONTENT_ENCODING).iter().all(|encoding| encoding == "identity");
    match is_plain && media_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => {
            let message = "the body has to be `application/json`, without `Content-Encoding`";
            Err(Rejection::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid-argument", message))
        }
    }
}
