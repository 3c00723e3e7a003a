//! The subject of a failure as data, for dialects whose models know a fixed text for it.

use crate::error::Term;

/// The subject of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The requested line is past the end of the file.
    PastEnd {
        /// Argument that requires it.
        argument: Term,
        /// Lines of the file.
        total: u64,
    },
    /// A text occurs several times in a file. The value lists the first lines of the occurrences, as many as the
    /// message lists.
    Occurrences(String),
    /// The entry is a directory, and a file is required.
    IsDirectory,
    /// The path does not exist, and the hint names similar paths.
    SimilarPaths,
    /// The file that a patch changes does not exist.
    NoFileToPatch,
    /// The file does not contain the context of a hunk.
    NoContext(String),
    /// The file does not contain the old lines of a hunk.
    NoOldLines(String),
    /// Several parts of a patch do not apply: the requested path of each, and its subject.
    Failures(Vec<(String, Detail)>),
    /// A failure that has no other subject: its message.
    Message(String),
    /// An envelope of a patch cannot be parsed.
    Envelope {
        /// The line of the patch.
        line: usize,
        /// The mistake.
        fault: EnvelopeFault,
    },
}

/// A mistake in the envelope of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvelopeFault {
    /// The last line of the patch is missing.
    NoEnd,
    /// The patch changes nothing.
    NoSection,
    /// The line is not the header of a section.
    Header(String),
    /// The section of the file has no chunk.
    NoChunk(String),
    /// A chunk has no lines.
    NoLines,
    /// The line of a chunk has no valid prefix.
    Line(String),
}
