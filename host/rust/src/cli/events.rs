//! `--events`: what happens, as JSON lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use paddock::Event;

/// A listener that appends each event to `file`, which is for its owner alone where it is new.
pub(super) fn to(file: &Path) -> anyhow::Result<impl Fn(&Event) + Send + Sync + 'static> {
    let sink = if file == Path::new("-") { None } else { Some(open(file)?) };
    let name = file.display().to_string();
    Ok(move |event: &Event| {
        if let Err(cause) = write(sink.as_ref(), event) {
            // Standard error may be what cannot be written.
            let _ = writeln!(io::stderr(), "paddock: cannot write an event to `{name}`: {cause}");
        }
    })
}

fn open(file: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.append(true).create(true).open(file).with_context(|| format!("cannot open `{}`", file.display()))
}

/// Writes a line at once, so that lines of several threads and processes stay apart.
fn write(sink: Option<&File>, event: &Event) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    match sink {
        Some(mut file) => file.write_all(&line),
        None => io::stderr().lock().write_all(&line),
    }
}
