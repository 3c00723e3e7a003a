//! A program that uses the published crate: it edits a file and reads it.

use paddock::Workspace;
use paddock::types::EditArgs;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workspace = Workspace::open(std::env::args().nth(1).ok_or("no directory")?)?;
    workspace.edit(&EditArgs::new("notes.txt", "colour", "color"))?;
    let outcome = workspace.call("read_file", r#"{"path": "notes.txt"}"#);
    println!("{}", outcome.text);
    Ok(())
}
