//! Content of a file after its part of a patch. Bytes outside of the hunks do not change.

use paddock_text::document::Document;
use paddock_types::error::{Code, Error};
use paddock_types::match_pass::Pass;
use paddock_types::request::Matching;

use crate::apply::{Change, Reject};
use crate::nearest::AGAIN;
use crate::{Hunk, apply};

const OPERATION: &str = "patch";

/// A file after its hunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Number of lines added.
    pub added: u64,
    /// Number of lines removed.
    pub removed: u64,
    /// The most lenient matching pass that a hunk needed.
    pub pass: Pass,
    /// Corrected mistakes of hunk headers, each as a sentence.
    pub corrections: Vec<String>,
}

/// Applies the hunks to `bytes`, the content of the file that the patch calls `path`. Fails with an error for each hunk
/// that does not apply.
pub fn patched(path: &str, bytes: Vec<u8>, hunks: &[Hunk<'_>], matching: Matching) -> Result<Patched, Vec<Error>> {
    let document = Document::decode(bytes, None);
    let change = apply::change(&document.text, hunks, matching)
        .map_err(|rejects| rejects.into_iter().map(|reject| rejected(path, reject)).collect::<Vec<_>>())?;
    let bytes = document.splice(&change.splices).map_err(|loss| vec![loss.at(OPERATION, path)])?;
    let Change { added, removed, pass, corrections, .. } = change;
    Ok(Patched { bytes, added, removed, pass, corrections })
}

/// Checks that the hunks of a deletion remove all of `bytes`. Returns the number of lines removed.
pub fn emptied(path: &str, bytes: Vec<u8>, hunks: &[Hunk<'_>]) -> Result<u64, Vec<Error>> {
    let rest = patched(path, bytes, hunks, Matching::Strict)?;
    let left = Document::decode(rest.bytes, None).text.lines().count();
    if left > 0 {
        let cause = format!("the patch deletes the file, and {left} of its lines are not in the patch");
        return Err(vec![Error::at(Code::PatchRejected, OPERATION, path, cause).hint(
            "read the file, and make the patch again from its present content, or use `*** Delete File: path`",
        )]);
    }
    Ok(rest.removed)
}

fn rejected(path: &str, reject: Reject) -> Error {
    let cause = format!("hunk {} (patch line {}) does not apply: {}", reject.hunk, reject.line, reject.cause);
    let error = Error::at(Code::PatchRejected, OPERATION, path, cause);
    // The advice that most hunks share becomes a separate remark, so that several failures include it only once.
    let error = match reject.hint.strip_suffix(AGAIN).and_then(|location| location.strip_suffix("; ")) {
        Some(location) => error.hint(location).also_hint(AGAIN),
        None => error.hint(reject.hint),
    };
    reject.detail.into_iter().fold(error, Error::detail)
}
