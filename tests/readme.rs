//! The README and the guide: every command, path, link and setting in them works as written, and their pictures are
//! generated from the program's output.

mod chart;
mod commands;
mod facts;
mod links;
mod names;
mod pages;
mod recording;
mod session;
mod tour;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Returns the top directory of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs `paddock` with the arguments of `command` as a shell would, with single quotes and a redirected standard
/// input.
fn run(command: &str, directory: &Path) -> Output {
    let (command, stdin) = command.split_once(" < ").map_or((command, None), |(command, file)| (command, Some(file)));
    let mut paddock = Command::new(env!("CARGO_BIN_EXE_paddock"));
    paddock.args(words(command)).current_dir(directory).env("PADDOCK_STATE_DIR", directory.join("../state"));
    paddock.stdin(stdin.map_or_else(Stdio::null, |file| fs::File::open(directory.join(file)).expect(command).into()));
    paddock.env("XDG_CONFIG_HOME", directory.join("../none")).env_remove("PADDOCK_POLICY");
    paddock.output().unwrap()
}

/// Returns the arguments in `command`: words, and texts in single quotes.
fn words<'command>(command: &'command str) -> Vec<&'command str> {
    let part = |(index, part): (usize, &'command str)| {
        if index % 2 == 1 { vec![part] } else { part.split_whitespace().collect() }
    };
    command.split('\'').enumerate().flat_map(part).collect()
}

/// Creates the files that the commands of the README and the guide expect in the current directory.
fn project(directory: &Path) {
    fs::create_dir_all(directory.join("src")).unwrap();
    fs::write(directory.join("README.md"), pages::readme().text).unwrap();
    fs::write(directory.join("notes.txt"), "The colour is TODO.\n").unwrap();
    fs::write(directory.join("src/main.rs"), "fn main() {\n    let colour = \"red\";\n}\n").unwrap();
    let patch = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-The colour is TODO.\n+The color is red.\n";
    fs::write(directory.join("change.json"), serde_json::json!({ "patch": patch }).to_string()).unwrap();
}

/// Compares a generated text with the file at `path` in the repository, or writes the file with `BLESS=1`.
fn compare_or_bless(path: &str, generated: &str) {
    let file = repository().join(path);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, generated).unwrap();
    }
    let stored = fs::read_to_string(&file).unwrap_or_default();
    assert!(stored == generated, "{path} differs from what is made now; BLESS=1 writes it again");
}
