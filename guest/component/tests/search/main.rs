//! Walks and searches, against git, against plain re-implementations, and page against whole.

#[cfg(test)]
mod cursors;
#[cfg(test)]
mod git;
#[cfg(test)]
mod grep;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod shares;
#[cfg(test)]
mod support;
