//! The specifications that Paddock implements, line by line: before each test
//! stands what the specification says, with the number of its line.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]

mod tree;

mod seeds {
    mod anthropic;
    mod chorus;
    mod codex;
    mod dispatch;
    mod dotnet_prompt;
    mod lincona;
    mod mcp_filesystem;
    mod openai;
    mod schemas;
    mod support;
    mod trees;
    mod weakincentives;
}
