//! Descriptors that the host sends before a command starts.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

/// Descriptors that the host sent. The message that starts the command refers to them by index.
pub(crate) struct SentDescriptors(Vec<OwnedFd>);

impl SentDescriptors {
    pub(crate) fn new(descriptors: Vec<OwnedFd>) -> Self {
        Self(descriptors)
    }

    /// Returns the descriptor with an index.
    pub(crate) fn get(&self, index: usize) -> Result<&OwnedFd, Errno> {
        self.0.get(index).ok_or(Errno::BADF)
    }
}
