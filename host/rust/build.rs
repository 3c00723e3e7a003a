//! Builds the files that the library embeds: the guest component, and on Linux the supervisor of commands.
//!
//! In the repository, both are built from source. The published crate contains the built component and copies of the
//! other files in `packed/`, which the script `pack` writes; the source of the supervisor is the crate
//! `paddock-files-supervisor`.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sha2::{Digest, Sha256};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const TARGET: &str = "wasm32-wasip2";
const PROFILE: &str = "component";

/// The highest level of zlib. It makes the component a third of its size, and the supervisor half of it.
const DEFLATE_LEVEL: u8 = 9;

fn main() -> ExitCode {
    match set_sources().and_then(|()| embed_component()).and_then(|()| embed_supervisor()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            println!("cargo::error={}", cause.to_string().replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

/// Returns the top directory of the repository, or `None` in the published crate. The published crate uses none of the
/// directories above it, which can belong to another user, as below `/tmp`, or contain files of an agent. It is told by
/// its manifest, into which cargo writes the inherited values when it packs the crate. `packed/` alone does not tell it,
/// because the script `pack` leaves that directory in the repository.
fn repository() -> Result<Option<PathBuf>> {
    let directory = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let inherits_values = std::fs::read_to_string(directory.join("Cargo.toml"))?.contains("version.workspace = true");
    let is_published = !inherits_values && directory.join("packed/paddock.wasm").exists();
    let top = directory.join("../..");
    Ok((!is_published && top.join("guest/component/Cargo.toml").exists()).then_some(top))
}

/// Tells the source code where the WIT and the escape suite are: `packed` is set in the published crate.
fn set_sources() -> Result<()> {
    println!("cargo::rustc-check-cfg=cfg(packed)");
    let escapes = match repository()? {
        Some(top) => top.join("tests/escapes"),
        None => {
            println!("cargo::rustc-cfg=packed");
            packed()?.join("escapes")
        }
    };
    println!("cargo::rustc-env=PADDOCK_ESCAPES={}", escapes.display());
    Ok(())
}

fn packed() -> Result<PathBuf> {
    Ok(Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("packed"))
}

fn embed_component() -> Result<()> {
    println!("cargo::rerun-if-env-changed=PADDOCK_COMPONENT");
    let component = match env::var_os("PADDOCK_COMPONENT") {
        Some(prebuilt) => {
            let prebuilt = PathBuf::from(prebuilt);
            println!("cargo::rerun-if-changed={}", prebuilt.display());
            prebuilt
        }
        None if repository()?.is_none() => packed()?.join("paddock.wasm"),
        None => build_component()?,
    };
    let bytes = std::fs::read(&component)
        .map_err(|cause| format!("cannot read the component `{}`: {cause}", component.display()))?;
    let name: String = Sha256::digest(&bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=PADDOCK_COMPONENT_NAME={name}");
    write_deflated("paddock.wasm", &without_names(&bytes)?)
}

/// Writes a file with the extension `deflate`, which the library embeds.
fn write_deflated(name: &str, bytes: &[u8]) -> Result<()> {
    let file = Path::new(&env::var("OUT_DIR")?).join(format!("{name}.deflate"));
    std::fs::write(file, miniz_oxide::deflate::compress_to_vec(bytes, DEFLATE_LEVEL))?;
    Ok(())
}

/// Returns the component without its debug names, which no runtime reads and which no linker option omits.
fn without_names(component: &[u8]) -> Result<Vec<u8>> {
    const HEADER: usize = 8;
    const NAME: &[u8] = b"\x0ecomponent-name";
    let (header, mut rest) = component.split_at_checked(HEADER).ok_or("the component has no header")?;
    let mut out = header.to_vec();
    while let Some((&kind, after)) = rest.split_first() {
        let (size, body) = number(after).ok_or("the component ends in a section")?;
        let (body, next) = body.split_at_checked(size).ok_or("the component ends in a section")?;
        let is_names = kind == 0 && body.starts_with(NAME);
        if !is_names {
            out.extend(rest.iter().take(rest.len() - next.len()));
        }
        rest = next;
    }
    Ok(out)
}

/// Reads an unsigned LEB128 number, and returns it with the remaining bytes.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
    let (number, rest) = bytes.split_at_checked(length)?;
    let add = |value: usize, byte: &u8| Some((value << 7) | usize::from(byte & 0x7f));
    Some((number.iter().rev().try_fold(0, add)?, rest))
}

/// Builds the supervisor if the target is Linux and the feature `commands` is enabled.
fn embed_supervisor() -> Result<()> {
    if env::var("CARGO_CFG_TARGET_OS")? != "linux" || env::var_os("CARGO_FEATURE_COMMANDS").is_none() {
        return Ok(());
    }
    let target = env::var("TARGET")?;
    let what = ["--bin", "paddock-supervisor"];
    let built = match repository()? {
        Some(_) => {
            let inputs = ["host/supervisor/src", "host/supervisor/Cargo.toml"];
            build("paddock-files-supervisor", &inputs, &target, &what)?
        }
        None => build_packed_supervisor(&target, &what)?,
    };
    write_deflated("supervisor", &std::fs::read(built.join("paddock-supervisor"))?)
}

/// Builds the supervisor from the source of its published crate, which is a dependency of this one. The copy has no lock
/// file, and cargo is offline: the packages that it uses are those that were downloaded for the crate as a dependency.
fn build_packed_supervisor(target: &str, what: &[&str]) -> Result<PathBuf> {
    let published = PathBuf::from(env::var("DEP_PADDOCK_SUPERVISOR_DIRECTORY")?);
    let copy = Path::new(&env::var("OUT_DIR")?).join("supervisor-source");
    copy_directory(&published.join("src"), &copy.join("src"))?;
    std::fs::copy(published.join("build.rs"), copy.join("build.rs"))?;
    let manifest = std::fs::read_to_string(published.join("Cargo.toml"))?;
    std::fs::write(copy.join("Cargo.toml"), without_tests(&manifest) + SUPERVISOR_PROFILE)?;
    let target_dir = copy.join("target");
    let mut cargo = clean(Command::new(env::var("CARGO")?));
    cargo.current_dir(&copy).args(["build", "--quiet", "--offline", "--release", "--target", target]).args(what);
    cargo.env("CARGO_TARGET_DIR", &target_dir);
    run(&mut cargo)?;
    Ok(target_dir.join(target).join("release"))
}

/// The end of the manifest: a workspace of its own, and the profile `component` of the repository.
const SUPERVISOR_PROFILE: &str = "
[workspace]

[profile.release]
lto = \"fat\"
codegen-units = 1
panic = \"abort\"
strip = true
opt-level = \"s\"
";

/// Returns a manifest as cargo publishes it without the dependencies of tests, which need not be downloaded.
fn without_tests(manifest: &str) -> String {
    let mut is_of_tests = false;
    let mut text = String::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_of_tests =
                line.contains("dev-dependencies") || line.starts_with("[[test]]") || line.starts_with("[[example]]");
        }
        if !is_of_tests {
            text += line;
            text += "\n";
        }
    }
    text
}

fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The crates of the component, in `guest/`. Changes of their tests do not trigger a build.
const CRATES: [&str; 13] = [
    "archive",
    "component",
    "dialects",
    "index",
    "ops",
    "patch",
    "policy",
    "scan",
    "search",
    "text",
    "types",
    "vfs",
    "workspace",
];

fn build_component() -> Result<PathBuf> {
    install_target()?;
    let crates = CRATES.iter().flat_map(|name| [format!("guest/{name}/src"), format!("guest/{name}/Cargo.toml")]);
    let inputs: Vec<String> = crates.chain(["wit".to_owned()]).collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let built = build("paddock-guest", &inputs, TARGET, &["--lib"])?;
    Ok(built.join("paddock_guest.wasm"))
}

/// Builds a package, and returns the directory of its artifacts. The target directory is one that the outer cargo does
/// not lock, and that all profiles and feature sets of this package share, since they embed the same files.
fn build(package: &str, inputs: &[&str], target: &str, what: &[&str]) -> Result<PathBuf> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    for input in inputs.iter().chain(&[".cargo/config.toml", "Cargo.toml", "Cargo.lock"]) {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }
    let target_dir = shared_dir()?;
    let mut cargo = clean(Command::new(env::var("CARGO")?));
    cargo.current_dir(&root).args(["build", "--quiet", "--package", package]).args(what);
    cargo.args(["--target", target, "--profile", PROFILE]).args(without_source_directories(target)?);
    if root.join("Cargo.lock").exists() {
        cargo.arg("--locked");
    }
    cargo.env("CARGO_TARGET_DIR", &target_dir);
    run(&mut cargo)?;
    Ok(target_dir.join(target).join(PROFILE))
}

/// Returns the directory `embedded` in the target directory of the outer cargo. This script is below it, in
/// `PROFILE/build/PACKAGE`, for whatever target the library is compiled. If cargo has another layout, the directory has its
/// tag.
fn shared_dir() -> Result<PathBuf> {
    let script = env::current_exe()?;
    let is_in_profile = script.ancestors().nth(2).is_some_and(|path| path.ends_with("build"));
    let is_tagged = |path: &&Path| path.join("CACHEDIR.TAG").exists();
    let tagged = || script.ancestors().find(is_tagged).or(script.parent());
    let dir = if is_in_profile { script.ancestors().nth(4) } else { tagged() };
    Ok(dir.ok_or("the build script is in no directory")?.join("embedded"))
}

/// Returns the arguments by which panic messages name the source files of other packages without the directory in which
/// cargo keeps them. The artifacts have the same bytes on every machine then, and do not name the user who built them.
fn without_source_directories(target: &str) -> Result<[String; 2]> {
    let default_home = || env::home_dir().map(|home| home.join(".cargo"));
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(default_home);
    let mut flags = Vec::new();
    // Without this directory, cargo has its packages from elsewhere, such as a vendored copy.
    for registry in cargo_home.iter().flat_map(|home| std::fs::read_dir(home.join("registry/src"))).flatten() {
        // A string in Rust's notation is one in TOML's.
        flags.push(format!("{:?}", format!("--remap-path-prefix={}=", registry?.path().display())));
    }
    flags.sort();
    Ok(["--config".to_owned(), format!("target.{target}.rustflags=[{}]", flags.join(", "))])
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

/// Removes the environment variables that the outer cargo, or clippy as its wrapper, sets for its own compilation.
fn clean(mut cargo: Command) -> Command {
    let prefixes = ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_", "CARGO_MAKEFLAGS"];
    let wrappers = ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"];
    for (name, _) in env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        let cargo_own = name.starts_with("CARGO") && !prefixes.iter().any(|prefix| name.starts_with(prefix));
        if cargo_own || wrappers.contains(&name) {
            cargo.env_remove(name);
        }
    }
    // The supervisor has the linker of its target, which may be another than this machine's.
    if let (Some(linker), Ok(target)) = (env::var_os("RUSTC_LINKER"), env::var("TARGET")) {
        cargo.env(format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_")), linker);
    }
    cargo
}

fn run(command: &mut Command) -> Result<()> {
    let command_line = format!("{command:?}");
    let status = command.status().map_err(|cause| format!("cannot run {command_line}: {cause}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command_line} failed: {status}").into()) }
}
