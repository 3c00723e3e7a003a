//! Numbers of lines that a patch adds and removes.

use paddock_text::encoding::is_binary;
use paddock_types::response::PatchAction;

use crate::apply_patch::{Planned, head};

/// Returns the numbers of lines that were added to a file and removed from it.
///
/// The hunks of a patch count relative to the content that they change. If that content was moved to or from another
/// path, the counts of the hunks are not those of the file at this path.
pub fn of(file: &Planned, action: PatchAction) -> (u64, u64) {
    let lines = |content: &Option<Vec<u8>>| content.as_deref().map_or(0, text_lines);
    match action {
        PatchAction::Delete => (0, lines(&file.old)),
        PatchAction::Add | PatchAction::Update if file.from.is_some() || file.is_replaced => {
            (lines(&file.new), lines(&file.old))
        }
        PatchAction::Add | PatchAction::Update | PatchAction::Move => (file.added, file.removed),
    }
}

/// Returns the number of lines of a text; 0 for binary content.
pub fn text_lines(bytes: &[u8]) -> u64 {
    if is_binary(head(bytes)) {
        return 0;
    }
    let newlines = memchr::memchr_iter(b'\n', bytes).count() as u64;
    newlines + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}
