//! The tools as plain JSON, in the shapes of the command line.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::head::{Head, Query};
use super::reply::{Rejection, Response};
use super::{ReadBody, read_json};
use crate::envelope::MAX_MESSAGE_BYTES;
use crate::formats::Format;
use crate::tools::{Outcome, Tools};

/// A call, as the body of a request or as a line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call<'c> {
    tool: String,
    #[serde(borrow)]
    arguments: Option<&'c RawValue>,
    dialect: Option<String>,
}

/// Lists the tools.
pub(super) fn list(tools: &impl Tools, dialect: &str, mut query: Query) -> Result<Response, Rejection> {
    let format = query.take("format").map_or(Ok(Format::default()), |name| name.parse());
    let format = format.map_err(Rejection::bad_request)?;
    let listed = tools.describe(query.take("dialect").as_deref().unwrap_or(dialect));
    let listed = listed.map_err(|error| Rejection::new(404, "not-found", error.message))?;
    let body = format.render_line(&listed);
    let failed = |cause| Rejection::new(500, "io", format!("the list cannot be written: {cause}"));
    Ok(Response::json(200, body.map_err(failed)?))
}

/// Calls a tool. The failure of a tool is an answer with the status 200, like its result.
pub(super) fn call(
    tools: &impl Tools,
    dialect: &str,
    head: &Head<'_>,
    read: ReadBody<'_>,
) -> Result<Response, Rejection> {
    let body = read_json(head, read)?;
    let outcome = made(tools, dialect, &body).map_err(|cause| {
        Rejection::bad_request(format!("the body has to be {{\"tool\": NAME, \"arguments\": {{…}}}}: {cause}"))
    })?;
    Ok(Response::json(200, outcome.to_json()))
}

/// Returns the outcome of a call that is one line: `{"tool", "arguments", "dialect"}`. A line that is no call is a call
/// with wrong arguments.
pub fn call_line(tools: &impl Tools, dialect: &str, line: &[u8]) -> Outcome {
    if line.len() > MAX_MESSAGE_BYTES {
        return Outcome::invalid_argument(format!("a line may have at most {MAX_MESSAGE_BYTES} bytes"));
    }
    made(tools, dialect, line).unwrap_or_else(|cause| {
        Outcome::invalid_argument(format!("a line is {{\"tool\", \"arguments\", \"dialect\"}}: {cause}"))
    })
}

fn made(tools: &impl Tools, dialect: &str, call: &[u8]) -> serde_json::Result<Outcome> {
    let call: Call<'_> = serde_json::from_slice(call)?;
    let arguments = call.arguments.map_or("{}", RawValue::get);
    Ok(tools.call(call.dialect.as_deref().unwrap_or(dialect), &call.tool, arguments))
}
