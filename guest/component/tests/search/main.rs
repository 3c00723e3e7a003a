//! Walks and searches, compared with git, with naive implementations, and page by page with the complete result.

#[cfg(test)]
mod cursors;
#[cfg(test)]
mod git;
#[cfg(test)]
mod grep;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod index;
#[cfg(test)]
mod partitions;
#[cfg(test)]
mod support;
