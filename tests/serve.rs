//! The server over real sockets.

mod attacks;
mod audit;
mod biscuit;
mod calls;
mod client;
mod guide;
mod jwt;
mod limits;
mod mcp;
mod mcp_client;
mod metrics;
pub mod parts;
mod resources;
mod secrets;
mod sessions;
mod shutdown;
mod status;
mod token_command;
mod tokens;
mod traces;
