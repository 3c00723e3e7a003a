//! Calls of tools that run commands. The component prepares the command before, and renders its result after.

use super::Workspace;
use crate::bindings::exports::paddock::files::commands::RequestResult;
use crate::call::Call;
use crate::command::{Commands, How};
use crate::options::CancelToken;
use crate::outcome::Outcome;
use crate::types::{ErrorCode, ToolError};

impl Workspace {
    /// Ends every session of commands with all its processes, and waits until their changes are recorded. Dropping
    /// the workspace also ends the sessions, without recording the changes.
    pub fn end_sessions(&self) {
        if let Some(commands) = &self.0.commands {
            commands.end();
        }
    }

    /// Calls a tool that runs a command.
    pub(super) fn command(
        &self,
        commands: &Commands,
        call: &Call<'_>,
        (dialect, tool, arguments): (&str, &str, &str),
    ) -> Result<Outcome, ToolError> {
        // The guest itself changes nothing, so it need not wait for calls that do.
        let read_call = Call { changing: false, options: call.options, watch: call.watch };
        let (answer, plan) = self.run_with_approval(
            &read_call,
            async |guest, store| guest.commands(&mut *store)?.call_get_request(store, dialect, tool, arguments).await,
            |answer| {
                answer.as_ref().and_then(|answer| answer.as_ref().err()).and_then(|outcome| outcome.error.as_ref())
            },
        )?;
        let request = match answer {
            Some(Ok(request)) => request,
            Some(Err(outcome)) => return Ok(Outcome { plan, ..Outcome::from(outcome) }),
            None => return Err(ToolError::new(ErrorCode::UnknownTool, format!("there is no tool `{tool}`"))),
        };
        let cancel = call.options.map_or_else(CancelToken::default, |options| options.cancel.clone());
        let result = commands.perform(&How { guests: &self.0.guests, cancel: &cancel }, &request);
        if let (Some(watch), Ok(RequestResult::Ran(ran))) = (call.watch, &result) {
            watch.output(ran);
        }
        // The result is reported even if the call was cancelled.
        let recorded = self.0.guests.run(&Call { options: None, ..read_call }, async |guest, store| {
            guest.commands(&mut *store)?.call_answer(store, dialect, tool, arguments, result.as_ref()).await
        })?;
        Ok(Outcome::from(recorded))
    }
}
