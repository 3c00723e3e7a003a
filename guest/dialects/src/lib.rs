//! Dialects: the only code that knows names, units and shapes of JSON. A dialect is a table of tools over the shared
//! operations.

pub mod anthropic;
pub mod args;
pub mod argument_names;
pub mod call;
pub mod chorus;
pub mod codex;
pub mod commands;
pub mod dialect;
pub mod dispatch;
pub mod dotnet_prompt;
pub mod lenient_args;
pub mod lincona;
pub mod line_numbers;
pub mod mcp_filesystem;
pub mod openai;
pub mod paddock;
pub mod param;
pub mod registry;
pub mod schema;
pub mod text;
pub mod weakincentives;
