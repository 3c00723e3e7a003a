//! Builds the guest component and hands it to the library to embed.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sha2::{Digest, Sha256};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const TARGET: &str = "wasm32-wasip2";
const PROFILE: &str = "component";

fn main() -> ExitCode {
    match embed() {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            println!("cargo::error={}", cause.to_string().replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn embed() -> Result<()> {
    println!("cargo::rerun-if-env-changed=PADDOCK_COMPONENT");
    let component = match env::var_os("PADDOCK_COMPONENT") {
        Some(prebuilt) => {
            let prebuilt = PathBuf::from(prebuilt);
            println!("cargo::rerun-if-changed={}", prebuilt.display());
            prebuilt
        }
        None => build()?,
    };
    let bytes = std::fs::read(&component)
        .map_err(|cause| format!("cannot read the component `{}`: {cause}", component.display()))?;
    let name: String = Sha256::digest(&bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=PADDOCK_COMPONENT_NAME={name}");
    std::fs::write(Path::new(&env::var("OUT_DIR")?).join("paddock.wasm"), bytes)?;
    Ok(())
}

/// Builds the guest in a target directory of its own, since the outer cargo holds the lock of the usual one.
fn build() -> Result<PathBuf> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    for input in ["guest/src", "guest/Cargo.toml", "guest/policy", "guest/scan", "wit", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }
    install_target()?;
    let target_dir = Path::new(&env::var("OUT_DIR")?).join("guest");
    let mut cargo = clean(Command::new(env::var("CARGO")?));
    cargo.current_dir(&root).args(["build", "--quiet", "--package", "paddock-guest", "--lib"]);
    cargo.args(["--target", TARGET, "--profile", PROFILE]);
    if root.join("Cargo.lock").exists() {
        cargo.arg("--locked");
    }
    cargo.env("CARGO_TARGET_DIR", &target_dir).env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+simd128");
    run(&mut cargo)?;
    Ok(target_dir.join(TARGET).join(PROFILE).join("paddock_guest.wasm"))
}

fn install_target() -> Result<()> {
    let installed = Command::new(env::var("RUSTC")?).args(["--print", "target-libdir", "--target", TARGET]).output()?;
    if Path::new(String::from_utf8(installed.stdout)?.trim()).exists() {
        return Ok(());
    }
    run(Command::new("rustup").args(["target", "add", TARGET])).map_err(|cause| {
        format!("the component needs the Rust target {TARGET}; install it with `rustup target add {TARGET}` ({cause})")
            .into()
    })
}

/// Without what the outer cargo, or clippy as its wrapper, sets for its own compilation.
fn clean(mut cargo: Command) -> Command {
    let kept = ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_", "CARGO_MAKEFLAGS"];
    let wrappers = ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"];
    for (name, _) in env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        let cargo_own = name.starts_with("CARGO") && !kept.iter().any(|prefix| name.starts_with(prefix));
        if cargo_own || wrappers.contains(&name) {
            cargo.env_remove(name);
        }
    }
    cargo
}

fn run(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    let status = command.status().map_err(|cause| format!("cannot run {shown}: {cause}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed: {status}").into()) }
}
