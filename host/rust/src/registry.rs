//! Registration of a workspace's tools in a registry of the caller.

use std::collections::BTreeMap;

use crate::options::CallOptions;
use crate::outcome::Outcome;
use crate::types::{Tool, ToolError};
use crate::workspace::Workspace;

/// A registry of tools, such as an agent framework has.
pub trait Registry {
    /// Adds a tool. The registry decides whether the tool replaces another one of the same name.
    fn register(&mut self, tool: RegisteredTool);
}

/// A tool of one workspace in one dialect: its description, and a way to call it.
#[derive(Clone, Debug)]
pub struct RegisteredTool {
    /// Name, description, schemas and annotations of the tool.
    pub tool: Tool,
    dialect: String,
    workspace: Workspace,
}

impl RegisteredTool {
    /// Calls the tool with its arguments, a JSON object. A failure is an outcome too.
    pub fn call(&self, arguments: &str) -> Outcome {
        self.workspace.call_with(&self.tool.name, arguments, &CallOptions::dialect(self.dialect.clone()))
    }
}

/// Adds every tool that `dialect` has in `workspace` to `registry`, in the order of [`Workspace::tools`].
///
/// # Errors
///
/// `unknown-dialect` if no dialect has this name; nothing is added then.
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

/// Tools by name. A tool replaces another one of the same name.
impl Registry for BTreeMap<String, RegisteredTool> {
    fn register(&mut self, tool: RegisteredTool) {
        self.insert(tool.tool.name.clone(), tool);
    }
}
