//! Sessions: commands that continue to run between calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::running::Running;
use crate::bindings::exports::paddock::files::commands::Session;
use crate::types::{ErrorCode, ToolError};

/// Sessions by their numbers.
#[derive(Default)]
pub(super) struct Sessions(Mutex<Table>);

#[derive(Default)]
struct Table {
    open: BTreeMap<u32, Open>,
}

struct Open {
    running: Arc<Running>,
    command: String,
    used: Instant,
}

impl Sessions {
    /// Adds a command as the session `id`. If there are `max` sessions already, removes the least recently
    /// used one, preferably one whose command has ended.
    pub(super) fn add(&self, id: u32, running: Arc<Running>, command: &str, max: usize) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while table.open.len() >= max.max(1) {
            let oldest = table.open.iter().min_by_key(|(_, open)| (open.running.runs(), open.used));
            let Some(id) = oldest.map(|(id, _)| *id) else { break };
            table.open.remove(&id);
        }
        table.open.insert(id, Open { running, command: command.to_owned(), used: Instant::now() });
    }

    /// Returns the command of a session and marks the session as used now.
    pub(super) fn get(&self, id: u32) -> Result<Arc<Running>, ToolError> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match table.open.get_mut(&id) {
            Some(open) => {
                open.used = Instant::now();
                Ok(Arc::clone(&open.running))
            }
            None => {
                let open: Vec<_> = table.open.keys().map(u32::to_string).collect();
                let known =
                    if open.is_empty() { "there is none".to_owned() } else { format!("there are {}", open.join(", ")) };
                Err(ToolError::new(ErrorCode::NotFound, format!("there is no session {id}; {known}"))
                    .hint("a session is gone once its command has ended and its last output was read; start a new one"))
            }
        }
    }

    /// Removes a session. Its command is killed when the last reference is dropped.
    pub(super) fn remove(&self, id: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).open.remove(&id);
    }

    /// Removes all sessions and returns their commands.
    pub(super) fn take(&self) -> Vec<Arc<Running>> {
        let open = std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).open);
        open.into_values().map(|open| open.running).collect()
    }

    pub(super) fn list(&self) -> Vec<Session> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = |(id, open): (&u32, &Open)| Session {
            id: *id,
            command: open.command.clone(),
            age_ms: open.running.age_ms(),
            running: open.running.runs(),
        };
        table.open.iter().map(session).collect()
    }
}
