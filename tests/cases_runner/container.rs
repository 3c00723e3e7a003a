//! The container that all cases of a run share.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use paddock::Container;
use tempfile::TempDir;

#[path = "../container/runc.rs"]
#[allow(
    dead_code,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "it is of the container's own tests, which use all of it"
)]
mod runc;

use runc::Running;

static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

struct Shared {
    running: Running,
    opened: Container,
}

/// Returns the reason why no case can run in a container here. Fails if `PADDOCK_TEST_CONTAINERS` requires containers.
pub fn unavailable() -> Result<Option<&'static str>> {
    if std::env::var_os("PADDOCK_TEST_CONTAINERS").is_none() {
        return Ok(Some("`PADDOCK_TEST_CONTAINERS` is not set"));
    }
    match runc::missing() {
        Some(missing) => bail!("PADDOCK_TEST_CONTAINERS is set, and {missing}"),
        None => Ok(None),
    }
}

/// Returns the container, and an empty directory in it by its path on this machine, which ends with the path in the
/// container.
pub fn directory() -> Result<(Container, TempDir)> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if shared.is_none() {
        let running = Running::start().context("no container")?;
        let opened = Container::open(&running.name())?;
        *shared = Some(Shared { running, opened });
    }
    let shared = shared.as_ref().context("no container")?;
    Ok((shared.opened.clone(), TempDir::with_prefix_in("case-", shared.running.root())?))
}

/// Ends the container if a case started it.
pub fn end() {
    drop(SHARED.lock().unwrap_or_else(PoisonError::into_inner).take());
}
