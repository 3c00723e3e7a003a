//! The specifications that Paddock implements, line by line: before each test
//! stands what the specification says, with the number of its line.

mod anthropic;
mod chorus;
mod codex;
mod cuts;
mod dispatch;
mod dotnet_prompt;
mod lincona;
mod mcp_filesystem;
mod openai;
mod roots;
mod schemas;
mod support;
mod trees;
mod weakincentives;
