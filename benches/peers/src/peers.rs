//! The programs that paddock is compared with: found on the machine, or installed below `target/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::directories;

const RIPGREP: &str = "15.2.0";
const FD: &str = "10.5.0";
const RUST_MCP: &str = "0.4.5";
const REFERENCE: &str = "2026.8.31";
const REFERENCE_PACKAGE: &str = "@modelcontextprotocol/server-filesystem";

/// A program that can be run.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Path of the program.
    pub program: PathBuf,
    /// Version that the program prints.
    pub version: String,
}

/// Installed peers.
#[derive(Default)]
pub struct Peers {
    /// ripgrep.
    pub rg: Option<Peer>,
    /// fd.
    pub fd: Option<Peer>,
    /// GNU grep.
    pub grep: Option<Peer>,
    /// GNU find.
    pub find: Option<Peer>,
    /// GNU sed.
    pub sed: Option<Peer>,
    /// git, for `git apply`.
    pub git: Option<Peer>,
    /// patch.
    pub patch: Option<Peer>,
    /// Node, for the plain script and the reference server.
    pub node: Option<Peer>,
    /// Python, for the plain script.
    pub python: Option<Peer>,
    /// The entry file of the reference MCP server, which Node runs.
    pub reference: Option<Peer>,
    /// rust-mcp-filesystem.
    pub rust_mcp: Option<Peer>,
    /// Names of the peers that are missing, each with the reason.
    pub missing: Vec<(&'static str, String)>,
}

impl Peers {
    /// Finds the installed peers and installs missing ones. The first builds take minutes.
    pub fn prepare() -> Result<Self> {
        let mut peers = Self::default();
        let root = directories::installed()?;
        peers.rg = peers.keep("ripgrep", cargo(&root, "ripgrep", "rg", RIPGREP));
        peers.fd = peers.keep("fd", cargo(&root, "fd-find", "fd", FD));
        peers.rust_mcp =
            peers.keep("rust-mcp-filesystem", cargo(&root, "rust-mcp-filesystem", "rust-mcp-filesystem", RUST_MCP));
        peers.grep = peers.keep("grep", system("grep"));
        peers.find = peers.keep("find", system("find"));
        peers.sed = peers.keep("sed", system("sed"));
        peers.git = peers.keep("git", system("git"));
        peers.patch = peers.keep("patch", system("patch"));
        // `node` on the `PATH` may be the launcher of a version manager, whose start-up time would be measured too. The
        // program is asked for its own path instead.
        peers.node = peers.keep("node", interpreter("node", "-p", "process.execPath"));
        peers.python = peers.keep("python", interpreter("python3", "-c", "import sys; print(sys.executable)"));
        let reference = if peers.node.is_some() { npm(&root) } else { Err(anyhow::anyhow!("it needs node")) };
        peers.reference = peers.keep("reference MCP server", reference);
        Ok(peers)
    }

    /// Returns the names and versions of the peers, for the report.
    pub fn versions(&self) -> Vec<(&'static str, String)> {
        let each = [
            ("ripgrep", &self.rg),
            ("fd", &self.fd),
            ("grep", &self.grep),
            ("find", &self.find),
            ("sed", &self.sed),
            ("git", &self.git),
            ("patch", &self.patch),
            ("node", &self.node),
            ("python", &self.python),
            ("reference MCP server", &self.reference),
            ("rust-mcp-filesystem", &self.rust_mcp),
        ];
        each.into_iter().filter_map(|(name, peer)| Some((name, peer.as_ref()?.version.clone()))).collect()
    }

    fn keep(&mut self, name: &'static str, peer: Result<Peer>) -> Option<Peer> {
        match peer {
            Ok(peer) => Some(peer),
            Err(cause) => {
                eprintln!("NOT HERE: {name} takes no part: {cause:#}");
                self.missing.push((name, format!("{cause:#}")));
                None
            }
        }
    }
}

/// Finds a program on the `PATH`.
pub fn system(name: &str) -> Result<Peer> {
    let version = output_of(Command::new(name).arg("--version"))?;
    Ok(Peer { program: name.into(), version })
}

fn interpreter(name: &str, flag: &str, asks_itself: &str) -> Result<Peer> {
    let program = output_of(Command::new(name).args([flag, asks_itself]))?;
    let version = output_of(Command::new(&program).arg("--version"))?;
    Ok(Peer { program: program.into(), version })
}

fn cargo(root: &Path, package: &str, binary: &str, version: &str) -> Result<Peer> {
    let program = root.join("bin").join(binary);
    let installed_version = output_of(Command::new(&program).arg("--version")).unwrap_or_default();
    if !installed_version.contains(version) {
        eprintln!("installing {package} {version}");
        let mut command = Command::new("cargo");
        command.args(["install", "--locked", "--root"]).arg(root).args([package, "--version", version]);
        // The command runs outside of the repository, whose settings must not affect the peer.
        command.current_dir(std::env::temp_dir());
        run(&mut command)?;
    }
    let version = output_of(Command::new(&program).arg("--version"))?;
    Ok(Peer { program, version })
}

fn npm(root: &Path) -> Result<Peer> {
    let prefix = root.join("npm");
    let package = prefix.join("node_modules").join(REFERENCE_PACKAGE);
    if installed_version(&package).as_deref() != Some(REFERENCE) {
        eprintln!("installing {REFERENCE_PACKAGE} {REFERENCE}");
        let mut command = Command::new("npm");
        command.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&prefix);
        run(command.arg(format!("{REFERENCE_PACKAGE}@{REFERENCE}")))?;
    }
    let version = installed_version(&package).context("npm installed nothing")?;
    Ok(Peer { program: package.join("dist/index.js"), version: format!("{REFERENCE_PACKAGE} {version}") })
}

fn installed_version(package: &Path) -> Option<String> {
    let manifest = fs::read_to_string(package.join("package.json")).ok()?;
    let manifest: serde_json::Value = serde_json::from_str(&manifest).ok()?;
    Some(manifest.get("version")?.as_str()?.to_owned())
}

/// Builds Paddock with the profile of released binaries.
pub fn build_paddock() -> Result<PathBuf> {
    let mut command = Command::new("cargo");
    run(command.args(["build", "--profile", "dist", "--bin", "paddock"]).current_dir(directories::repository()))?;
    Ok(directories::repository().join("target/dist/paddock"))
}

/// Returns the first line of a program's output.
pub fn output_of(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next().map(str::trim) {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => bail!("{} says nothing", command.get_program().display()),
    }
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_owned();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot run {}", program.display()))?;
    if !status.success() {
        bail!("{} ended with {status}", program.display());
    }
    Ok(())
}
