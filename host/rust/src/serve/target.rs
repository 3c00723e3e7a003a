//! The workspace that a request names.

use std::sync::Arc;

use super::config::TenantLimits;
use super::location::Location;
use super::narrowing::Narrowing;
use super::opened::Key;
use super::refusal::Refusal;
use super::served::Served;
use super::state_dirs::Origin;
use crate::directory::Directory;
use crate::policy::PolicyLayer;

/// Settings that a workspace and a template have.
pub(super) struct Source {
    pub(super) dialect: String,
    pub(super) policy: PolicyLayer,
    pub(super) limits: TenantLimits,
}

/// A workspace that was found by its name. Its directory stays open.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) files: Files,
    pub(super) source: Arc<Source>,
}

/// The files of a workspace that was found.
#[derive(Clone)]
pub(super) enum Files {
    Configured(Arc<Location>),
    OfTemplate(Directory),
}

/// The directory that becomes the root of a workspace, and its place among the open ones.
#[derive(Clone)]
pub(super) struct Located {
    /// The part of the workspace to which a token is limited.
    pub(super) inner: Option<Directory>,
    pub(super) key: Key,
}

/// The purpose for which a directory is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Calls that see all files of the workspace. Their searches have the index updated.
    Calls,
    /// Calls in an overlay, which has no index, and those with restrictions: callers to whom different files are hidden would
    /// make the index anew in turns, and holders of tokens for parts would have many indexes.
    UnindexedCalls,
    /// The completion of what was cut off in the directory itself, also if calls use an overlay of it.
    Recovery,
}

impl Target {
    /// Opens the part of the workspace to which a token is limited.
    pub(super) fn locate(&self, narrowing: &Narrowing) -> Result<Located, Refusal> {
        let inner = narrowing.path.as_ref().zip(self.directory()).map(|(path, root)| path.open(root)).transpose()?;
        let of_template = match &self.files {
            Files::OfTemplate(directory) => Some(directory),
            Files::Configured(_) => None,
        };
        // A directory that was replaced, or mounted in another way, is another workspace.
        let identity = inner
            .as_ref()
            .or(of_template)
            .map(|directory| (directory.identity().device(), directory.identity().inode(), directory.mount()));
        let key = Key { name: self.name.clone(), rest: format!("{identity:?}\n{}", narrowing.key()) };
        Ok(Located { inner, key })
    }

    /// Returns the directory of the workspace, if it is one of this machine.
    pub(super) fn directory(&self) -> Option<&Directory> {
        match &self.files {
            Files::OfTemplate(directory) => Some(directory),
            Files::Configured(location) => location.directory(),
        }
    }

    /// Returns the directory with the information whose it is.
    pub(super) fn origin(&self) -> Option<Origin<'_>> {
        let directory = self.directory()?;
        Some(match self.files {
            Files::OfTemplate(_) => Origin::Template(directory),
            Files::Configured(_) => Origin::Configured(directory),
        })
    }

    pub(super) fn overlay(&self) -> Option<&str> {
        match self.location()? {
            Location::Overlay(_, name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn container(&self) -> Option<&str> {
        match self.location()? {
            Location::Container(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn memory(&self) -> Option<&Arc<Served>> {
        match self.location()? {
            Location::Memory(served) => Some(served),
            _ => None,
        }
    }

    fn location(&self) -> Option<&Location> {
        match &self.files {
            Files::Configured(location) => Some(location),
            Files::OfTemplate(_) => None,
        }
    }
}
