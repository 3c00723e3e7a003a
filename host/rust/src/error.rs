//! Errors of the host itself. A failure that a tool reports is a value, [`crate::Outcome`].

use std::io;
use std::path::PathBuf;

/// Why a workspace could not be opened.
///
/// An error of the host. The message of the system or a parser is its [`source`](std::error::Error::source), not a part of
/// its own message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The builder was given no root.
    #[error("a workspace needs a root directory")]
    NoRoot,
    /// A root is not there, or is no directory.
    #[error("cannot open the root `{}`", path.display())]
    Root {
        /// As given to the builder.
        path: PathBuf,
        /// What the file system says.
        #[source]
        cause: io::Error,
    },
    /// A container that is not there, does not run, or cannot be looked into.
    #[error("cannot open the container `{name}`: {cause}")]
    Container {
        /// As given.
        name: String,
        /// What is wrong with it.
        cause: String,
    },
    /// A directory that cannot be copied into a workspace in memory.
    #[error("cannot mount `{}`: {cause}", path.display())]
    HostMount {
        /// As given to the builder.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// A guest path that is taken, or is no single name below `/`.
    #[error("cannot mount `{guest}`: {cause}")]
    Mount {
        /// As given to the builder.
        guest: String,
        /// What is wrong with it.
        cause: &'static str,
    },
    /// The policy's JSON does not parse, or has an unknown field.
    #[error("cannot read the policy")]
    Policy(#[from] serde_json::Error),
    /// A setting of the policy that contradicts another or can mean nothing.
    #[error("wrong policy: `{setting}`: {cause}")]
    Setting {
        /// Its name, such as `limits.max_lines`.
        setting: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// The builder was told a setting in two ways.
    #[error("contradicting settings: `{setting}` is said in two ways; say it once")]
    Conflict {
        /// Its name, such as `limits.max_lines`.
        setting: String,
    },
    /// A file, variable or argument that cannot be a level of the policy.
    #[error("{origin}: {cause}")]
    PolicySource {
        /// Which, and where in it: `/path/policy.yaml:12`.
        origin: String,
        /// The setting and what is wrong with it.
        cause: String,
    },
    /// An overlay cannot have that name, be kept, or be over these roots.
    #[error("cannot open the overlay `{name}`: {cause}", name = name.escape_debug())]
    Overlay {
        /// As given to the builder.
        name: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The state directory cannot be where it was asked for.
    #[error("cannot use the state directory")]
    State(#[source] io::Error),
    /// A file or directory of Paddock's own that could not be told from what tools may reach.
    #[error("cannot keep `{}` from tools", path.display())]
    Private {
        /// Its path.
        path: PathBuf,
        /// What the file system says.
        #[source]
        cause: io::Error,
    },
    /// The audit file cannot be there.
    #[error("cannot keep the audit in `{}`", path.display())]
    Audit {
        /// As given to the builder.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: io::Error,
    },
    /// The file for events cannot be there.
    #[error("cannot append events to `{}`", path.display())]
    Events {
        /// As given to the builder.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: io::Error,
    },
    /// The component does not load.
    #[error("cannot load the component: {0}")]
    Component(String),
}

impl Error {
    /// The message with those of its sources.
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
    fn what_the_system_says_is_the_source_and_said_once() {
        let cause = io::Error::from(io::ErrorKind::NotFound);
        let error = Error::Root { path: "/none".into(), cause };
        assert_eq!(error.to_string(), "cannot open the root `/none`");
        assert_eq!(error.source().unwrap().to_string(), "entity not found");
        assert_eq!(error.with_sources(), "cannot open the root `/none`: entity not found");
    }
}
