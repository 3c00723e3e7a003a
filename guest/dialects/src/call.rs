//! A call in a dialect: decodes the arguments and renders the outcome.

use std::rc::Rc;

use paddock_ops::audit;
use paddock_types::error::{Error, ErrorText, Result};
use paddock_types::outcome::Outcome;
use paddock_types::request::Request;
use paddock_types::response::{ReadOutcome, Response};
use paddock_types::time::rfc3339_seconds;
use paddock_workspace::Workspace;

use crate::args::Args;
use crate::dialect::Names;
use crate::dialect::answer::CallContext;
use crate::dialect::failed_call::FailedCall;
use crate::dialect::toolset::{Tool, Toolset};
use crate::{paddock, registry};

/// A call whose arguments match its tool.
pub struct Call {
    /// Tools of the caller.
    pub tools: Rc<Toolset>,
    tool: Tool,
    args: Args,
    /// Decoded request.
    pub request: Request,
}

impl Call {
    /// Decodes a call of the tool `name` with `arguments`, a JSON object. `dialect` is the name of a dialect or a list,
    /// as [`registry::find`] takes it. `has_commands` returns whether the caller has the tools that run commands, for
    /// the list of tools in the error of an unknown one.
    ///
    /// # Errors
    ///
    /// The outcome that reports an unknown dialect or tool, or invalid arguments.
    pub fn decode(
        dialect: &str,
        name: &str,
        arguments: &str,
        has_commands: &dyn Fn() -> bool,
    ) -> std::result::Result<Self, Box<Outcome>> {
        let tools = Rc::new(registry::find(dialect).map_err(|error| Box::new(self::failed(error)))?);
        let Some(tool) = tools.entry(name) else {
            let error = ErrorText::from(tools.unknown_tool(name, has_commands()));
            let failure = tools.first().unwrap_or(&paddock::DIALECT).failure;
            let reported = failure(&FailedCall { tool: None, args: None, error: &error });
            return Err(Box::new(Outcome::reported(reported, Some(error), Vec::new())));
        };
        let failed = |args: Option<&Args>, error: Error| {
            let error = error.in_names(&Names::of(&tools, tool));
            let reported = (tool.dialect.failure)(&FailedCall { tool: Some(tool.spec), args, error: &error });
            Box::new(Outcome::reported(reported, Some(error), Vec::new()))
        };
        let args = Args::decode(tool.spec.name, tool.spec.params, arguments).map_err(|error| failed(None, error))?;
        let request = (tool.spec.request)(&args).map_err(|error| failed(Some(&args), error))?;
        Ok(Self { tools, tool, args, request })
    }

    /// Returns the directory of the workspace that contains all paths of the tool, if the tool has one.
    pub fn confined_to(&self) -> Option<&'static str> {
        let of_tool = |(tool, _): &&(&str, &str)| *tool == self.tool.spec.name;
        self.tool.dialect.confined.iter().find(of_tool).map(|(_, directory)| *directory)
    }

    fn names(&self) -> Names {
        Names::of(&self.tools, self.tool)
    }

    /// Renders the outcome of the call. The changes are taken from the workspace.
    pub fn outcome(&self, workspace: Option<&Workspace<'_>>, answer: Result<Response>) -> Outcome {
        let accessed_paths = workspace.and_then(|workspace| audit::accessed_paths(workspace, &self.request, &answer));
        let context = CallContext {
            args: &self.args,
            roots: workspace.map(|workspace| workspace.roots.as_slice()).unwrap_or_default(),
            now: workspace.and_then(|workspace| rfc3339_seconds(workspace.fs.now())),
            random: workspace.map_or(0, |workspace| workspace.fs.random()),
            names: self.names(),
        };
        let answer = (self.tool.spec.answer)(&context, answer.map(|response| in_names(response, &context.names)));
        let changes = workspace.map(Workspace::take_changes).unwrap_or_default();
        let outcome = match answer {
            Ok(mut reported) => {
                let error = reported.error.take().map(|error| error.in_names(&self.names()));
                Outcome::reported(reported, error, changes)
            }
            Err(error) => {
                let error = error.in_names(&self.names());
                let failed = FailedCall { tool: Some(self.tool.spec), args: Some(&self.args), error: &error };
                Outcome::reported((self.tool.dialect.failure)(&failed), Some(error), changes)
            }
        };
        Outcome { accessed_paths, ..outcome }
    }
}

/// Replaces the terms in errors that a response contains by the names of the caller.
fn in_names(mut response: Response, names: &Names) -> Response {
    if let Response::ReadMany(many) = &mut response {
        for entry in &mut many.entries {
            if let ReadOutcome::Error(error) = &mut entry.outcome {
                error.fix_names(names);
            }
        }
    }
    response
}

/// Returns the outcome of a call that failed before its dialect was known.
pub fn failed(error: Error) -> Outcome {
    let error = ErrorText::from(error);
    let reported = (paddock::DIALECT.failure)(&FailedCall { tool: None, args: None, error: &error });
    Outcome::reported(reported, Some(error), Vec::new())
}
