//! Descriptions of containers by podman, docker and runc.
//!
//! The programs are called because runc has no API, and a rootless podman often no socket, which `bollard` would need.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::program::{Ended, run};
use crate::regular::{self, Refused};

/// Maximum length of a name in bytes, longer than in any engine.
const MAX_NAME_BYTES: usize = 255;
/// Maximum size of a bundle's configuration, in bytes.
const MAX_CONFIG_BYTES: u64 = 4 << 20;

/// A container engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Podman,
    Docker,
    Runc,
}

/// A running container, as its engine describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContainerInfo {
    pub(super) engine: Engine,
    pub(super) name: String,
    /// Identity, unique among all containers of the engine.
    pub(super) identity: String,
    /// Id of its first process.
    pub(super) pid: i32,
    /// Configured working directory of its commands.
    pub(super) working_directory: String,
}

/// Finds a container by name: in the engine named before `:`, otherwise in the one engine that has it.
pub(super) fn find(name: &str) -> Result<ContainerInfo, String> {
    if let Some((engine, name)) = name.split_once(':') {
        let known = || Engine::ALL.map(|engine| format!("`{engine}`")).join(", ");
        let engine = Engine::ALL.into_iter().find(|known| known.program() == engine);
        return inspect(engine.ok_or_else(|| format!("the engine has to be one of {}", known()))?, name);
    }
    check(name)?;
    let mut known_containers = Vec::new();
    let mut complaints = Vec::new();
    for engine in Engine::ALL {
        match query(engine, name) {
            Ok(EngineAnswer::Known(known)) => known_containers.push((engine, known)),
            Ok(EngineAnswer::Unknown(complaint)) | Err(complaint) => complaints.push(format!("{engine}: {complaint}")),
            Ok(EngineAnswer::NoEngine) => complaints.push(format!("{engine}: not installed")),
        }
    }
    match known_containers.as_slice() {
        [] => Err(format!("no engine knows it ({})", complaints.join("; "))),
        [_] => known_containers.remove(0).1.running(),
        several => {
            let names: Vec<_> = several.iter().map(|(engine, _)| format!("`{engine}:{name}`")).collect();
            Err(format!("several engines have one of that name; say which: {}", names.join(", ")))
        }
    }
}

/// Returns the container `name` of an engine.
pub(super) fn inspect(engine: Engine, name: &str) -> Result<ContainerInfo, String> {
    check(name)?;
    match query(engine, name)? {
        EngineAnswer::Known(known) => known.running(),
        EngineAnswer::Unknown(complaint) => Err(format!("{engine}: {complaint}")),
        EngineAnswer::NoEngine => Err(format!("there is no `{engine}` on the PATH")),
    }
}

/// Checks that a name is valid in an engine and is no option.
fn check(name: &str) -> Result<(), String> {
    let first = name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-+".contains(&byte);
    if first && name.bytes().all(plain) && name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    Err("a name is letters, digits, `_`, `.`, `-` and `+`, a letter or digit first".to_owned())
}

enum EngineAnswer {
    Known(Known),
    /// The engine does not know the container; with its error message.
    Unknown(String),
    NoEngine,
}

/// A container, running or not.
struct Known {
    info: ContainerInfo,
    state: String,
}

impl Known {
    fn running(self) -> Result<ContainerInfo, String> {
        match self.state.as_str() {
            "running" => Ok(self.info),
            state => Err(format!("it does not run: {} says `{}`", self.info.engine, state.escape_debug())),
        }
    }
}

fn query(engine: Engine, name: &str) -> Result<EngineAnswer, String> {
    let arguments: &[&str] = match engine {
        Engine::Podman | Engine::Docker => &["container", "inspect", name],
        Engine::Runc => &["state", name],
    };
    let answer = match run(engine.program(), arguments)? {
        Ended::Missing => return Ok(EngineAnswer::NoEngine),
        Ended::Badly(complaint) => return Ok(EngineAnswer::Unknown(complaint)),
        Ended::Well(answer) => answer,
    };
    let known = match engine {
        Engine::Podman | Engine::Docker => inspected(engine, name, &answer)?,
        Engine::Runc => bundled(name, &answer)?,
    };
    Ok(EngineAnswer::Known(known))
}

/// Parses the result of `podman container inspect` or `docker container inspect`, a list with one entry.
fn inspected(engine: Engine, name: &str, answer: &[u8]) -> Result<Known, String> {
    let [Inspected { id, state, config }] = parse::<[Inspected; 1]>(engine, answer)?;
    let name = name.to_owned();
    let info = ContainerInfo { engine, name, identity: id, pid: state.pid, working_directory: config.working_dir };
    Ok(Known { info, state: state.status })
}

/// Parses the result of `runc state`, and reads the working directory from the configuration in the bundle.
fn bundled(name: &str, answer: &[u8]) -> Result<Known, String> {
    let engine = Engine::Runc;
    let State { pid, status, bundle, created } = parse(engine, answer)?;
    let path = Path::new(&bundle).join("config.json");
    let config = read(&path).map_err(|cause| format!("`{}`: {cause}", path.display()))?;
    let Bundle { process } = parse(engine, &config)?;
    let identity = format!("{name}@{created}");
    let info = ContainerInfo { engine, name: name.to_owned(), identity, pid, working_directory: process.cwd };
    Ok(Known { info, state: status })
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let file: File = regular::open(path, &regular::options()).map_err(|refused| match refused {
        Refused::Link | Refused::NotRegular => "it is not a regular file".to_owned(),
        Refused::Io(cause) => cause.to_string(),
    })?;
    let mut bytes = Vec::new();
    file.take(MAX_CONFIG_BYTES).read_to_end(&mut bytes).map_err(|cause| cause.to_string())?;
    Ok(bytes)
}

fn parse<T: DeserializeOwned>(engine: Engine, answer: &[u8]) -> Result<T, String> {
    serde_json::from_slice(answer).map_err(|cause| format!("the output of {engine} cannot be parsed: {cause}"))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    id: String,
    state: InspectedState,
    config: InspectedConfig,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct InspectedState {
    status: String,
    pid: i32,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct InspectedConfig {
    #[serde(default)]
    working_dir: String,
}

#[derive(Deserialize)]
struct State {
    pid: i32,
    status: String,
    bundle: String,
    created: String,
}

#[derive(Deserialize)]
struct Bundle {
    process: BundleProcess,
}

#[derive(Deserialize)]
struct BundleProcess {
    cwd: String,
}

impl Engine {
    const ALL: [Self; 3] = [Self::Podman, Self::Docker, Self::Runc];

    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
            Self::Runc => "runc",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.program())
    }
}

impl fmt::Display for ContainerInfo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.engine, self.name)
    }
}
