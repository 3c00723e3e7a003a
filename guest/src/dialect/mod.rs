//! Dialects: the only place that knows the names, units and shapes of JSON. A
//! dialect is a table of tools over the same operations.

use serde::Serialize;

use crate::error::{Code, Error, Result};
use crate::request::Request;
use crate::response::Response;

pub mod args;
pub mod paddock;
pub mod schema;
pub mod spec;
pub mod text;

use args::Args;
use spec::{ToolSpec, nearest};

/// Names, units and shapes for one set of tools.
pub struct Dialect {
    /// Its name.
    pub name: &'static str,
    /// Its tools, in the order in which they are listed.
    pub tools: &'static [ToolSpec],
    /// The answer as JSON in the dialect's shape.
    pub result: fn(&Response) -> String,
    /// The answer as text for the model.
    pub text: fn(&Response) -> String,
    /// A failure as JSON in the dialect's shape.
    pub error: fn(&Error) -> String,
}

/// A value of ours as JSON. Nothing in one can fail to be written.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Every dialect.
pub const DIALECTS: &[Dialect] = &[paddock::DIALECT];

impl Dialect {
    /// The dialect of that name.
    pub fn find(name: &str) -> Result<&'static Self> {
        DIALECTS.iter().find(|dialect| dialect.name == name).ok_or_else(|| {
            let names: Vec<_> = DIALECTS.iter().map(|dialect| format!("`{}`", dialect.name)).collect();
            Error::new(Code::UnknownDialect, format!("there is no dialect `{name}`"))
                .hint(format!("use one of {}", names.join(", ")))
        })
    }

    /// What a call of the tool `name` with `arguments`, a JSON object, asks for.
    pub fn request(&self, name: &str, arguments: &str) -> Result<Request> {
        let tool = self.tools.iter().find(|tool| tool.name == name).ok_or_else(|| self.unknown_tool(name))?;
        (tool.request)(&Args::decode(tool, arguments)?)
    }

    fn unknown_tool(&self, name: &str) -> Error {
        let names: Vec<_> = self.tools.iter().map(|tool| tool.name).collect();
        let error = Error::new(Code::UnknownTool, format!("there is no tool `{name}`"));
        match nearest(name, &names) {
            Some(near) => error.hint(format!("did you mean `{near}`? The tools are {}", names.join(", "))),
            None => error.hint(format!("the tools are {}", names.join(", "))),
        }
    }
}
