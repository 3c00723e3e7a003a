//! Requests and responses of HTTP.
//!
//! | request | answer |
//! | --- | --- |
//! | `POST /mcp` | MCP over streamable HTTP, without sessions and without streams |
//! | `GET /tools?dialect=&format=` | the tools as JSON |
//! | `POST /call` with `{"tool", "arguments", "dialect"}` | the outcome of a call as JSON |
//! | `GET /healthz` | `ok` |
//!
//! `?dialect=` chooses the dialect of `/mcp`, too. Every request but those of `/healthz`, which tells nothing of the
//! workspace, first passes the checks of `Host`, `Origin` and the token: the probe of a scheduler has no token, and an
//! address as its host.

mod access;
mod config;
mod head;
mod mcp;
mod plain;
mod reply;

pub use config::Config;
pub use head::Head;
pub use plain::call_line;
pub use reply::Response;

use crate::envelope::MAX_MESSAGE_BYTES;
use crate::tools::Tools;
use head::Query;
use reply::Rejection;

/// Maximum length in bytes of the body of a request.
pub const MAX_BODY_BYTES: usize = MAX_MESSAGE_BYTES;

/// Why the body of a request could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The body is longer than the caller permits.
    TooLarge,
    /// The connection failed before the end of the body.
    Incomplete,
}

/// Reads the body of a request, of at most the given number of bytes.
pub type ReadBody<'b> = &'b mut dyn FnMut(usize) -> Result<Vec<u8>, BodyError>;

/// A server of tools over HTTP.
pub struct HttpServer<'t, T> {
    config: &'t Config,
    tools: &'t T,
}

impl<'t, T: Tools> HttpServer<'t, T> {
    /// Creates a server.
    pub fn new(config: &'t Config, tools: &'t T) -> Self {
        Self { config, tools }
    }

    /// Answers a request. The body is read only if the head permits the request.
    pub fn answer(&self, head: &Head<'_>, read: ReadBody<'_>) -> Response {
        self.routed(head, read).unwrap_or_else(Rejection::into_response)
    }

    fn routed(&self, head: &Head<'_>, read: ReadBody<'_>) -> Result<Response, Rejection> {
        head.check_size()?;
        let (path, query) = head.path_and_query();
        if path == "/healthz" {
            head.require_method("GET")?;
            return Ok(Response::text(200, "ok\n"));
        }
        access::check(self.config, head)?;
        match path {
            "/mcp" => {
                head.require_method("POST")?;
                let dialect = Query::parse(query, &["dialect"])?.take("dialect");
                mcp::answer(self.tools, dialect.as_deref().unwrap_or(&self.config.dialect), head, read)
            }
            "/call" => {
                head.require_method("POST")?;
                Query::parse(query, &[])?;
                plain::call(self.tools, &self.config.dialect, head, read)
            }
            "/tools" => {
                head.require_method("GET")?;
                plain::list(self.tools, &self.config.dialect, Query::parse(query, &["dialect", "format"])?)
            }
            _ => Err(Rejection::new(404, "not-found", "the resources are `/mcp`, `/tools`, `/call` and `/healthz`")),
        }
    }
}

/// Reads a body of JSON.
fn read_json(head: &Head<'_>, read: ReadBody<'_>) -> Result<Vec<u8>, Rejection> {
    head.require_json()?;
    let too_large =
        || Rejection::new(413, "too-large", format!("the body of a request may have at most {MAX_BODY_BYTES} bytes"));
    // The header may announce more than the client ever sends.
    if head.content_length()? > MAX_BODY_BYTES {
        return Err(too_large());
    }
    read(MAX_BODY_BYTES).map_err(|error| match error {
        BodyError::TooLarge => too_large(),
        BodyError::Incomplete => Rejection::bad_request("the body ended too early"),
    })
}

#[cfg(test)]
mod tests;
