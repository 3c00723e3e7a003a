//! Traits of a tool, as the component describes them.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::call::Call;
use crate::catalog::bare;

/// Maximum number of tools whose traits are cached.
const MAX_KNOWN: usize = 1_024;

/// Traits of a tool: how a call of it can affect the workspace. All are false for an unknown tool.
#[derive(Clone, Copy, Default)]
pub(crate) struct ToolTraits {
    /// Whether the tool can change files.
    pub(crate) changes: bool,
    /// Whether the tool runs commands, in a workspace that enables commands.
    pub(crate) runs: bool,
}

impl ToolTraits {
    /// Returns the traits of a tool of a dialect. The component is asked once for each tool of the process.
    pub(crate) fn of(dialect: &str, tool: &str) -> Self {
        static KNOWN: OnceLock<Mutex<HashMap<(String, String), ToolTraits>>> = OnceLock::new();
        let known = KNOWN.get_or_init(Mutex::default);
        let name = (dialect.to_owned(), tool.to_owned());
        if let Some(traits) = known.lock().unwrap_or_else(PoisonError::into_inner).get(&name) {
            return *traits;
        }
        // Traits of unknown tools are not cached, because callers can invent any number of names.
        let Some(traits) = Self::query(dialect, tool) else { return Self::default() };
        // Callers can combine dialects in any number of ways.
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_KNOWN {
            known.insert(name, traits);
        }
        traits
    }

    fn query(dialect: &str, tool: &str) -> Option<Self> {
        let query = bare().run(&Call::unwatched(false), async |guest, store| {
            let changes = guest.tools(&mut *store)?.call_changes(&mut *store, dialect, tool).await?;
            let command = guest.commands(&mut *store)?.call_get_request(store, dialect, tool, "{}").await?;
            Ok(changes.map(|changes| Self { changes, runs: command.is_some() }))
        });
        query.ok().flatten()
    }
}
