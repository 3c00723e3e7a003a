//! The specifications that Paddock implements, line by line. A comment before each test has the requirement and its
//! line number.

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
