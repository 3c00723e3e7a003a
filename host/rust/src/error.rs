//! Errors of the host itself. A failure that a tool reports is a value, [`crate::Outcome`].

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::types::ToolError;

/// The reason why a workspace could not be opened.
///
/// An error of the host. The message of the system or of the parser of the policy is its
/// [`source`](std::error::Error::source). Variants whose `cause` is text have it in their own message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The builder has no root.
    #[error("a workspace needs a root directory")]
    NoRoot,
    /// A root does not exist or is not a directory.
    #[error("cannot open the root `{}`", path.display())]
    Root {
        /// Value that the builder got.
        path: PathBuf,
        /// Error of the file system.
        #[source]
        cause: io::Error,
    },
    /// A container does not exist, does not run, or cannot be inspected.
    #[error("cannot open the container `{name}`: {cause}")]
    Container {
        /// Value that the caller gave.
        name: String,
        /// Cause of the error.
        cause: String,
    },
    /// A directory cannot be copied into a workspace in memory.
    #[error("cannot mount `{}`", path.display())]
    HostMount {
        /// Value that the builder got.
        path: PathBuf,
        /// Failure of the copy.
        #[source]
        cause: Failure,
    },
    /// A guest path is taken, or is not `/` and one name.
    #[error("cannot mount `{guest}`: {cause}")]
    Mount {
        /// Value that the builder got.
        guest: String,
        /// Cause of the error.
        cause: &'static str,
    },
    /// The JSON of the policy does not parse, or has an unknown field.
    #[error("cannot read the policy")]
    Policy(#[from] serde_json::Error),
    /// A setting of the policy contradicts another setting, or has no meaning.
    #[error("wrong policy: `{setting}`: {cause}")]
    Setting {
        /// Name of the setting, such as `limits.max_lines`.
        setting: &'static str,
        /// Cause of the error.
        cause: String,
    },
    /// The builder got two different values of a setting.
    #[error("contradicting settings: `{setting}` has two values; set it once")]
    Conflict {
        /// Name of the setting, such as `limits.max_lines`.
        setting: String,
    },
    /// A variable of the guest's environment has a name that is reserved for the host.
    #[error("cannot set the variable `{name}` of the guest: names that start with `PADDOCK_` are reserved")]
    Variable {
        /// Name that the builder got.
        name: String,
    },
    /// A file, variable or argument cannot be a layer of the policy.
    #[error("{origin}: {cause}")]
    PolicySource {
        /// The source and the position in it: `/path/policy.yaml:12`.
        origin: String,
        /// The setting and the cause of the error.
        cause: String,
    },
    /// An overlay cannot have this name, be stored, or belong to these roots.
    #[error("cannot open the overlay `{name}`: {cause}", name = name.escape_debug())]
    Overlay {
        /// Value that the builder got.
        name: String,
        /// Cause of the error.
        cause: String,
    },
    /// The state directory cannot be at the requested path.
    #[error("cannot use the state directory")]
    State(#[source] io::Error),
    /// A private file or directory of Paddock could not be identified, so tools might reach it.
    #[error("cannot identify the private path `{}`", path.display())]
    Private {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the file system.
        #[source]
        cause: io::Error,
    },
    /// The audit file cannot be at this path.
    #[error("cannot write the audit log to `{}`", path.display())]
    Audit {
        /// Value that the builder got.
        path: PathBuf,
        /// Cause of the error.
        #[source]
        cause: io::Error,
    },
    /// The event file cannot be at this path.
    #[error("cannot append events to `{}`", path.display())]
    Events {
        /// Value that the builder got.
        path: PathBuf,
        /// Cause of the error.
        #[source]
        cause: io::Error,
    },
    /// The directory for compiled code cannot be used.
    #[error("cannot store compiled code in `{}`", path.display())]
    Cache {
        /// Value that the builder got.
        path: PathBuf,
        /// Cause of the error.
        #[source]
        cause: io::Error,
    },
    /// The component cannot be loaded.
    #[error("cannot load the component")]
    Component(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

/// A failure of a call, as the source of an error. Its text is the message of the failure.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Failure(pub ToolError);

impl Error {
    /// Returns the message with the messages of its sources.
    pub(crate) fn with_sources(&self) -> String {
        let sources = std::iter::successors(std::error::Error::source(self), |cause| cause.source());
        sources.fold(self.to_string(), |message, cause| format!("{message}: {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn the_system_message_is_the_source_and_appears_once() {
        let cause = io::Error::from(io::ErrorKind::NotFound);
        let error = Error::Root { path: "/none".into(), cause };
        assert_eq!(error.to_string(), "cannot open the root `/none`");
        assert_eq!(error.source().unwrap().to_string(), "entity not found");
        assert_eq!(error.with_sources(), "cannot open the root `/none`: entity not found");
    }
}
