//! The protocols of a server of tools: the Model Context Protocol over lines and over HTTP, and plain JSON. The crate makes
//! no input or output. Its callers pass messages and requests, and write the answers. The native server, whose messages the
//! `rmcp` library parses, uses the modules that are not about the answers to requests.
//!
//! - [`tools`]: the interface to the tools that are served, and the data that it passes.
//! - [`outcome`], [`formats`]: the outcome of a call and the list of tools as JSON.
//! - [`envelope`], [`rpc_error`]: the bounds on a JSON-RPC message, the errors of wrong messages, and answers.
//! - [`message`], [`params`]: one message and its parameters. [`request_id`]: the id in a message that is too long.
//! - [`batch`]: the errors of batches.
//! - [`server`]: the answers to the requests of the protocol, for the revisions that start with `initialize` and for the
//!   stateless revision 2026-07-28.
//! - [`lines`], [`session`]: messages as lines, and the session of one client over them.
//! - `http`, with the feature of this name: requests and responses of HTTP.
//!
//! The server has tools and nothing else: no resources, no elicitation, no progress, no log messages. A call that needs an
//! approval fails.

pub mod batch;
pub mod clients;
pub mod envelope;
pub mod formats;
#[cfg(feature = "http")]
pub mod http;
pub mod lines;
pub mod message;
mod one_line;
pub mod outcome;
pub mod params;
pub mod request_id;
pub mod rpc_error;
pub mod server;
pub mod session;
#[cfg(test)]
mod test_tools;
pub mod tools;
