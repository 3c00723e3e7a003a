//! `interface commands`: commands that the host runs, and access checks for them.

use std::cell::Cell;

use paddock_dialects::call;
use paddock_ops::audit;
use paddock_ops::command::access::{AccessChecker, Verdict};
use paddock_ops::command::record::{Before, Recorded, record_changes};
use paddock_types::error::{Error, Result};
use paddock_types::request::{Access, Command, Script};
use paddock_types::response;
use paddock_types::response::Response;

use crate::commands::{answer, requested_command};
use crate::exports::bindings::exports::paddock::files::{commands, tools, types};
use crate::exports::convert::Convert;
use crate::exports::partitions::{leak, open_workspace};
use crate::exports::{ACCESSED_PATHS, Component, NO_DIALECT, into_outcome, keep_pending, with_fs};

/// Time limit in milliseconds for hashing the files that a command changed. Large files take long, and sparse files
/// take as long as their apparent size.
const RECORDING_MS: u64 = 5_000;

thread_local! {
    /// Access checker of this instance, created by the first check.
    static VERDICTS: Cell<Option<&'static AccessChecker<'static>>> = const { Cell::new(None) };
}

impl commands::Guest for Component {
    fn get_request(
        dialect: String,
        name: String,
        arguments: String,
    ) -> Option<std::result::Result<commands::Request, tools::Outcome>> {
        let requested_command =
            with_fs(&dialect, |fs, policy| Ok(requested_command(fs, policy, &dialect, &name, &arguments)));
        keep_pending(None);
        match requested_command {
            Ok(requested_command) => {
                Some(requested_command?.map(Convert::lower).map_err(|outcome| into_outcome(*outcome)))
            }
            Err(error) => Some(Err(into_outcome(call::failed(error)))),
        }
    }

    fn answer(
        dialect: String,
        name: String,
        arguments: String,
        request_result: std::result::Result<commands::RequestResult, types::Error>,
    ) -> tools::Outcome {
        let (request_result, changes) = match request_result {
            Ok(commands::RequestResult::Ran(mut ran)) => {
                let changes = std::mem::take(&mut ran.changes);
                (Ok(Response::Ran(ran.lower())), changes.lower())
            }
            Ok(commands::RequestResult::Sessions(sessions)) => {
                (Ok(Response::Sessions(response::Sessions { sessions: sessions.lower() })), Vec::new())
            }
            Err(error) => (Err(error.lower()), Vec::new()),
        };
        let call = (dialect.as_str(), name.as_str(), arguments.as_str());
        let outcome = with_fs(&dialect, |fs, policy| Ok(answer(fs, policy, call, request_result, changes)));
        into_outcome(outcome.unwrap_or_else(call::failed))
    }

    fn allows(path: String, access: commands::Access, is_directory: bool) -> commands::Verdict {
        let access = match access {
            commands::Access::Read => Access::Read,
            commands::Access::Change => Access::Change,
        };
        let verdict = match verdicts() {
            Ok(Some(verdicts)) => verdicts.verdict(&path, access, is_directory),
            Ok(None) => Verdict::refused("the workspace is in memory"),
            Err(error) => Verdict::refused(error.message()),
        };
        commands::Verdict { refused: verdict.refused, ignored: verdict.ignored }
    }

    fn record_changes(
        operation: String,
        before: Vec<commands::Before>,
    ) -> std::result::Result<commands::Recorded, types::Error> {
        let before: Vec<Before> = before.lower();
        let recorded = with_fs(NO_DIALECT, |fs, policy| {
            let mut workspace = paddock_ops::open(fs, policy, Access::Read)?;
            workspace.set_time_left_ms(RECORDING_MS);
            let recorded = record_changes(&workspace, &operation, &before)?;
            ACCESSED_PATHS.set(audit::changed_paths(policy, "run", &recorded.changes));
            Ok(recorded)
        });
        recorded.map(Convert::lower).map_err(Convert::lower)
    }
}

/// Returns the access checker of this instance; `None` for the memory backend, whose tree no command can see.
fn verdicts() -> Result<Option<&'static AccessChecker<'static>>> {
    if let Some(verdicts) = VERDICTS.get() {
        return Ok(Some(verdicts));
    }
    let Some(workspace) = open_workspace(NO_DIALECT, None)? else { return Ok(None) };
    let verdicts: &'static AccessChecker<'static> = leak(AccessChecker::new(workspace));
    VERDICTS.set(Some(verdicts));
    Ok(Some(verdicts))
}

impl Convert<commands::Request> for Command {
    fn lower(self) -> commands::Request {
        match self {
            Self::Run(run) => commands::Request::Run(commands::RunArgs {
                script: match run.script {
                    Script::Shell(line) => commands::Script::Shell(line),
                    Script::Python(code) => commands::Script::Python(code),
                    Script::Program(name, args) => commands::Script::Program((name, args)),
                },
                workdir: run.workdir,
                stdin: run.stdin,
                timeout_ms: run.timeout_ms,
                max_output_tokens: run.max_output_tokens,
            }),
            Self::Start(start) => commands::Request::Start(commands::StartArgs {
                command: start.command,
                workdir: start.workdir,
                terminal: start.terminal,
                input: start.input,
                size: start.size,
                yield_ms: start.yield_ms,
                max_output_tokens: start.max_output_tokens,
            }),
            Self::Write(input) => commands::Request::Write(commands::WriteArgs {
                session: input.session,
                chars: input.chars,
                eof: input.eof,
                size: input.size,
                yield_ms: input.yield_ms,
                max_output_tokens: input.max_output_tokens,
                offset: input.offset,
            }),
            Self::Sessions => commands::Request::Sessions,
            Self::Kill(session) => commands::Request::Kill(session),
        }
    }
}

impl Convert<response::Ran> for commands::Ran {
    fn lower(self) -> response::Ran {
        response::Ran {
            exit_code: self.exit_code,
            signal: self.signal,
            timed_out: self.timed_out,
            session: self.session,
            duration_ms: self.duration_ms,
            stdout: self.stdout.lower(),
            stderr: self.stderr.lower(),
            unread: self.unread.map(Convert::lower),
            confinement: self.confinement,
            changes: self.changes.lower(),
            total_changes: 0,
            ignored: self.ignored,
            backup: self.backup,
            refused: self.refused.lower(),
            notes: self.notes,
        }
    }
}

impl Convert<commands::Recorded> for Recorded {
    fn lower(self) -> commands::Recorded {
        commands::Recorded { changes: self.changes.lower(), backup: self.backup, notes: self.notes }
    }
}

impl Convert<Error> for types::Error {
    fn lower(self) -> Error {
        let error = Error { path: self.path, ..Error::new(self.code.lower(), self.message) };
        self.hint.into_iter().fold(error, Error::hint)
    }
}
