//! Which tools change something.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::catalog::bare;
use crate::watch::Call;

/// Whether a tool can change something, as it says itself. One that is not known changes nothing.
pub(crate) fn changes(dialect: &str, tool: &str) -> bool {
    static KNOWN: OnceLock<Mutex<HashMap<(String, String), bool>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    let name = (dialect.to_owned(), tool.to_owned());
    if let Some(changes) = known.lock().unwrap_or_else(PoisonError::into_inner).get(&name) {
        return *changes;
    }
    let told = bare().run(&Call::untold(false), async |guest, store| {
        guest.tools(&mut *store)?.call_changes(store, dialect, tool).await
    });
    // Nothing is kept of a tool that there is not: any number of names could be asked for.
    let Ok(Some(changes)) = told else { return false };
    *known.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert(changes)
}
