//! The subject of a failure as data, for dialects that render a text of their own, which their models know.

use crate::error::Term;

/// The subject of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A line was asked for that is past the end.
    PastEnd {
        /// Argument that requires it.
        argument: Term,
        /// Lines of the file.
        total: u64,
    },
    /// A text is in several places of a file: the lines at which they start, as many as are listed.
    Occurrences(String),
    /// The entry is a directory, and a file is required.
    IsDirectory,
    /// A patch changes a file that is not there.
    NoFileToPatch,
    /// The context of a hunk is not in the file.
    NoContext(String),
    /// The old lines of a hunk are not in the file.
    NoOldLines(String),
    /// Several parts of a patch do not apply: the requested path of each, and its subject.
    Failures(Vec<(String, Detail)>),
    /// A failure that has no other subject: its message.
    Message(String),
    /// A patch in an envelope cannot be read.
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
    /// This is no header of a section.
    Header(String),
    /// The section of the file has no chunk.
    NoChunk(String),
    /// A chunk has no lines.
    NoLines,
    /// This line of a chunk does not start as one.
    Line(String),
}
