//! Errors of replacements that are too large.

use paddock_search::replacer::Excess;
use paddock_types::error::{Code, Error, Term};
use paddock_types::phrase;

use super::{MAX_MATCHES, OPERATION};

/// Returns the error of a file with too many matches, or of one that would be too large, over `limit` bytes.
pub fn too_much(path: &str, excess: Excess, limit: usize) -> Error {
    let (code, cause) = match excess {
        Excess::Matches => (Code::LimitExceeded, format!("it has more than {MAX_MATCHES} matches")),
        Excess::Bytes => {
            (Code::TooLarge, format!("it would have more than {limit} bytes, the maximum for a whole file"))
        }
    };
    Error::at(code, OPERATION, path, cause).hint(phrase![
        "nothing was changed; make the pattern match less, or leave the file out by ",
        Term::Glob,
        " or ",
        Term::Path
    ])
}

/// Returns the error of a replacement of too much for one call.
pub fn narrower(cause: &str) -> Error {
    Error::new(Code::LimitExceeded, cause).hint(phrase![
        "nothing was changed; narrow it by ",
        Term::Path,
        " or ",
        Term::Glob,
        ", and replace part by part"
    ])
}
