//! Events as JSON lines, appended to a file or printed to standard error.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::directory::private_file;
use crate::error::Error;
use crate::events::{Event, Listener};
use crate::mount::{self, Mount};

/// Value that selects standard error in place of a file.
const STANDARD_ERROR: &str = "-";

/// Opens the file, which must lie outside of the roots; only the owner can read a new file. Returns a listener that
/// appends each event, and the path if it is a file.
pub(crate) fn open(path: &Path, roots: &[Mount]) -> Result<(Listener, Option<PathBuf>), Error> {
    let refuse = |cause| Error::Events { path: path.to_owned(), cause };
    let name = path.display().to_string();
    let (sink, path) = match path == Path::new(STANDARD_ERROR) {
        true => (None, None),
        false => {
            let (walk, name) = mount::open_outside(path, roots).map_err(refuse)?;
            let path = walk.path().join(&name);
            let directory = walk.end().map_err(refuse)?;
            let file = directory.open_file(name, private_file().append(true).create(true)).map_err(refuse)?;
            (Some(file), Some(path))
        }
    };
    let append = move |event: &Event| {
        if let Err(cause) = write(sink.as_ref(), event) {
            // Standard error itself may not be writable.
            let _ = writeln!(io::stderr(), "paddock: cannot write an event to `{name}`: {cause}");
        }
    };
    Ok((Listener(std::sync::Arc::new(append)), path))
}

/// Writes a line in one call, so that lines of several threads and processes do not mix.
fn write(sink: Option<&File>, event: &Event) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    match sink {
        Some(mut file) => file.write_all(&line),
        None => io::stderr().lock().write_all(&line),
    }
}
