//! Putting a workspace's tools into a registry of the caller's.

use std::collections::BTreeMap;

use crate::options::CallOptions;
use crate::outcome::Outcome;
use crate::types::{Tool, ToolError};
use crate::workspace::Workspace;

/// A registry of tools, such as an agent framework has.
pub trait Registry {
    /// Takes in a tool. One of the same name is replaced, or kept: the registry's own rule holds.
    fn register(&mut self, tool: RegisteredTool);
}

/// A tool of one workspace in one dialect: what it is, and how to call it.
#[derive(Clone)]
pub struct RegisteredTool {
    /// Its name, description, schemas and hints.
    pub tool: Tool,
    dialect: String,
    workspace: Workspace,
}

impl RegisteredTool {
    /// Calls it with its arguments, a JSON object. A failure is an outcome too.
    pub fn call(&self, arguments: &str) -> Outcome {
        self.workspace.call_with(&self.tool.name, arguments, &CallOptions::dialect(self.dialect.clone()))
    }
}

/// Puts every tool of `dialect` on `workspace` into `registry`, in the order in which they are listed.
///
/// Fails with `unknown-dialect` where there is none of that name; then nothing is put in.
///
/// ```
/// use std::collections::BTreeMap;
/// use paddock::{Policy, RegisteredTool, Workspace};
///
/// let workspace = Workspace::memory(Policy::default())?;
/// let mut registry: BTreeMap<String, RegisteredTool> = BTreeMap::new();
/// paddock::register(&workspace, "dispatch", &mut registry)?;
/// let outcome = registry["create_file"].call(r#"{"path": "a.txt", "content": "hello\n"}"#);
/// assert!(outcome.ok);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn register(workspace: &Workspace, dialect: &str, registry: &mut impl Registry) -> Result<(), ToolError> {
    for tool in workspace.tools(dialect)? {
        registry.register(RegisteredTool { tool, dialect: dialect.to_owned(), workspace: workspace.clone() });
    }
    Ok(())
}

impl Registry for Vec<RegisteredTool> {
    fn register(&mut self, tool: RegisteredTool) {
        self.push(tool);
    }
}

/// By name; a tool replaces one of the same name.
impl Registry for BTreeMap<String, RegisteredTool> {
    fn register(&mut self, tool: RegisteredTool) {
        self.insert(tool.tool.name.clone(), tool);
    }
}
