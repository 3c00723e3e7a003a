//! Containers in a build without the feature `containers`: the types have no values.

#[cfg(feature = "commands")]
use std::os::fd::BorrowedFd;
#[cfg(feature = "commands")]
use std::path::Path;
use std::path::PathBuf;
#[cfg(feature = "commands")]
use std::time::Instant;

use crate::error::Error;
use crate::mount::Mount;
use crate::policy::Policy;
use crate::types::ToolError;

/// A container that serves as a workspace.
#[derive(Clone, Debug)]
pub(crate) enum Container {}

impl Container {
    pub(crate) fn name(&self) -> String {
        match *self {}
    }

    pub(crate) fn identity(&self) -> PathBuf {
        match *self {}
    }

    pub(crate) fn mounts(&self, _: &Policy) -> Result<Vec<Mount>, Error> {
        match *self {}
    }

    pub(crate) fn check(&self) -> Result<(), ToolError> {
        match *self {}
    }

    #[cfg(feature = "commands")]
    pub(crate) fn command(&self, _: &[String], _: &Path, _: bool, _: &[(String, String)]) -> Contained {
        match *self {}
    }
}

/// A command in a container.
#[cfg(feature = "commands")]
pub(crate) struct Contained {
    pub(crate) command: Vec<String>,
    pub(crate) processes: Processes,
}

/// The processes of one command in a container.
#[cfg(feature = "commands")]
pub(crate) struct Processes(Container);

#[cfg(feature = "commands")]
impl Processes {
    pub(crate) fn admit(&mut self) -> Option<Instant> {
        match self.0 {}
    }

    pub(crate) fn first(&self) -> Option<BorrowedFd<'_>> {
        match self.0 {}
    }

    pub(crate) fn end(&mut self) {
        match self.0 {}
    }
}
