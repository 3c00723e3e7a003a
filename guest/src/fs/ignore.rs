//! Ignore rules (being written).
use crate::error::Result;
use crate::fs::{Dir, Filesystem};

/// `.agentignore` rules from a root down to a directory.
#[derive(Clone, Default)]
pub struct Secrets {}

impl Secrets {
    /// Adds the rules of the directory `name`, which `dir` is.
    pub fn enter(&mut self, _name: &str, _dir: &Dir, _fs: &dyn Filesystem) -> Result<()> {
        Ok(())
    }
    /// Drops the rules of the last directory entered.
    pub fn leave(&mut self) {}
    /// Whether the rules keep `name`, an entry of the last directory entered, from every tool.
    pub fn denies(&self, _name: &str, _is_dir: bool) -> bool {
        false
    }
}
