//! Containers are of Linux.

use anyhow::Result;

pub fn unavailable() -> Result<Option<&'static str>> {
    Ok(Some("containers are of Linux"))
}

pub fn end() {}
