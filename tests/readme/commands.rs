//! Commands in blocks of `sh`. They take too long or have too many effects to run here, but every option and path must
//! exist.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::names::PACKAGE;
use super::{pages, repository, run, words};

#[test]
fn every_shell_command_can_be_run() {
    let mut checked = 0;
    for page in pages::all() {
        for line in page.blocks_in("sh").iter().flat_map(|block| block.lines()) {
            check(line);
            checked += 1;
        }
    }
    assert!(checked >= 20, "{checked} commands");
}

fn check(line: &str) {
    let top = repository();
    match *words(line) {
        ["paddock", ..] => check_options(line.strip_prefix("paddock ").unwrap()),
        ["cargo", "run", "--release", "--", ..] => check_options(line.split_once(" -- ").unwrap().1),
        // `tests/packages/run` runs the commands of the packages.
        ["cargo", "test"] | ["npm", "install"] | ["npx" | "uvx", PACKAGE, "mcp", _] => {}
        ["cargo", "install" | "add", PACKAGE, ..] | ["npm" | "pip", "install", PACKAGE] => {}
        ["cargo", "install", "--path", path] | ["pip", "install", path] | ["cd", path] => {
            assert!(top.join(path).is_dir(), "{line}");
        }
        ["npm", "run", script] => {
            let package = fs::read_to_string(top.join("host/node/package.json")).unwrap();
            let package: Value = serde_json::from_str(&package).unwrap();
            assert!(package["scripts"][script].is_string(), "{line}");
        }
        _ => panic!("nothing checks `{line}`"),
    }
}

/// Makes the program parse the arguments; with `--help` at the end it does nothing else.
fn check_options(arguments: &str) {
    let temporary = tempfile::tempdir().unwrap();
    let output = run(&format!("{arguments} --help"), temporary.path());
    let help = String::from_utf8(output.stdout).unwrap();
    let cause = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && help.contains("Usage: "), "{arguments}: {cause}");
}

/// The settings of an MCP client start a server with options that exist.
#[test]
fn the_settings_of_a_client_are_a_command() {
    let blocks = pages::guide("mcp").blocks_in("json");
    assert!(!blocks.is_empty());
    for block in blocks {
        let settings: Value = serde_json::from_str(&block).unwrap();
        let server = &settings["mcpServers"]["paddock"];
        let arguments: Vec<_> = server["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!((&server["command"], arguments.first()), (&Value::from("paddock"), Some(&"mcp")));
        check_options(&arguments.join(" "));
    }
}

#[test]
fn the_first_command_finds_something() {
    let blocks = pages::readme().blocks_in("sh").concat();
    let line = blocks.lines().find_map(|line| line.strip_prefix("cargo run --release -- ")).unwrap();
    let output = run(line, &repository());
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    let files = outcome["result"]["files"].as_array().unwrap();
    assert!(files.iter().any(|file| file["path"] == "host/rust/cli/main.rs"), "{outcome}");
}

/// Without a name, `cargo run` runs the default binary of one package.
#[test]
fn cargo_run_is_this_program() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let metadata = cargo.current_dir(repository()).output().unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let runs: Vec<_> = packages.iter().filter_map(|package| package["default_run"].as_str()).collect();
    assert_eq!(runs, ["paddock"]);
}
