//! `paddock token`: tokens for callers of `paddock serve`.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use paddock::serve::{SigningKey, hash, narrow};

/// Number of random bytes of a new token.
const TOKEN_BYTES: usize = 32;

/// Maximum size of a key or token in bytes that is read.
const MAX_READ: u64 = 64 << 10;

/// Create and narrow tokens for callers of `paddock serve`
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paddock token new
  paddock token key issuer.key
  paddock token issue issuer.key 'workspace(\"notes\"); holder(\"alice\");' > alice.token
  paddock token narrow 'path(\"docs\"); read_only(true);' < alice.token > reader.token

Whoever holds a signed token can narrow it, without the key and without the server. The guide's page `server.md` lists
the facts.")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Print a new random token, and its hash for the configuration of the server
    New,
    /// Write a new private key to a file, and print the public key for the configuration of the server
    Key {
        /// File to create
        file: PathBuf,
    },
    /// Print a token that the key has signed
    Issue {
        /// File with the private key
        key: PathBuf,
        /// Facts, of which at least one is `workspace("NAME");`. Further ones: `holder("NAME");` and those of `narrow`
        facts: String,
    },
    /// Print the token of standard input with a further restriction
    Narrow {
        /// Facts: `workspace("NAME");`, `path("DIRECTORY");`, `read_only(true);`, `dialect("NAME");`, `tools(["NAME"]);`,
        /// `policy("JSON");`, `calls(NUMBER);`, `bytes(NUMBER);`, `expires(2030-01-31T12:00:00Z);`
        facts: String,
    },
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let printed = match &args.action {
        Action::New => new_token()?,
        Action::Key { file } => new_key(file).with_context(|| format!("cannot write `{}`", file.display()))?,
        Action::Issue { key, facts } => {
            let file = std::fs::File::open(key).with_context(|| format!("cannot open `{}`", key.display()))?;
            SigningKey::from_hex(&read(file)?)?.issue(facts)?
        }
        Action::Narrow { facts } => narrow(&read(std::io::stdin().lock())?, facts)?,
    };
    writeln!(std::io::stdout(), "{printed}")?;
    Ok(ExitCode::SUCCESS)
}

fn new_token() -> anyhow::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let token = format!("pdk_{digits}");
    Ok(format!("token: {token}\nsha256: {}", hash(&token)))
}

/// Writes a new key to a file that only its owner can read.
fn new_key(file: &Path) -> anyhow::Result<String> {
    let key = SigningKey::generate();
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    writeln!(file, "{}", key.to_hex())?;
    file.sync_all()?;
    Ok(format!("public_key: {}", key.public_hex()))
}

fn read(from: impl Read) -> anyhow::Result<String> {
    let mut text = String::new();
    from.take(MAX_READ).read_to_string(&mut text)?;
    Ok(text.trim().to_owned())
}
