//! The program of these tests, and a workspace that has it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::fixture::{Fixture, stdout};

/// Returns the program as a component of `wasi:cli/command`, and as a module of preview 1 if that can be built.
pub fn tools() -> impl Iterator<Item = &'static Path> {
    static TOOLS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        let component = build("wasm32-wasip2").unwrap_or_else(|cause| panic!("{cause}"));
        let module = build("wasm32-wasip1").map_err(|cause| eprintln!("not tried as a module: {cause}"));
        [component].into_iter().chain(module.ok()).collect()
    });
    TOOLS.iter().map(PathBuf::as_path)
}

fn build(target: &str) -> Result<PathBuf, String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target_dir = repository.join("target/programs");
    // Cargo does not run under Wine; `.ci/platforms` has built the program.
    let built = target_dir.join(target).join("release/tool.wasm");
    if cfg!(windows) {
        return if built.exists() { Ok(built) } else { Err(format!("no `{}`", built.display())) };
    }
    // The target may not be installed. If the build fails, the error contains the output of rustup too.
    let rustup = Command::new("rustup").args(["target", "add", target]).output();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "--quiet", "--target", target, "--target-dir"]).arg(&target_dir);
    cargo.current_dir(repository.join("tests/programs/tool")).env_remove("RUSTFLAGS").env_remove("RUSTC_WRAPPER");
    let ran = cargo.output().map_err(|cause| cause.to_string())?;
    match ran.status.success() {
        true => Ok(built),
        false => Err(format!("{}{rustup:?}", String::from_utf8_lossy(&ran.stderr))),
    }
}

/// Creates a workspace with the program and these settings of the policy and of `commands`.
pub fn fixture_under(tool: &Path, policy: Value, mut commands: Value) -> Fixture {
    commands["programs"] = json!({ "tool": tool });
    Fixture::under(policy, commands)
}

pub fn fixture(tool: &Path) -> Fixture {
    fixture_under(tool, json!({}), json!({}))
}

/// Runs steps of the program, and returns the result.
#[track_caller]
pub fn tool(fixture: &Fixture, steps: &[&str]) -> Value {
    let args: Vec<_> = steps.join(" -- ").split(' ').map(str::to_owned).collect();
    fixture.ok("run_program", json!({ "name": "tool", "args": args }))
}

/// Runs steps that must succeed, and returns the output.
#[track_caller]
pub fn printed(fixture: &Fixture, steps: &[&str]) -> String {
    let ran = tool(fixture, steps);
    assert_eq!((&ran["exit_code"], &ran["stderr"]["text"]), (&json!(0), &json!("")), "{steps:?}: {ran}");
    stdout(&ran)
}

/// Runs steps that must fail, and returns their errors.
#[track_caller]
pub fn failures(fixture: &Fixture, steps: &[&str]) -> Vec<String> {
    let ran = tool(fixture, steps);
    let failures: Vec<_> = ran["stderr"]["text"].as_str().unwrap().lines().map(str::to_owned).collect();
    assert_eq!(failures.len(), steps.len(), "{ran}");
    failures.iter().map(|line| line.rsplit(' ').next().unwrap_or_default().to_owned()).collect()
}
