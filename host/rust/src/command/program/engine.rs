//! The engine of all programs of the process, and a cache of compiled programs.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER as ADAPTER,
};
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};
use wasmtime_wasi::p2::bindings::CommandPre;
use wit_component::ComponentEncoder;

use super::state::State;
use super::{files, paths};
use crate::cache::Cache;
use crate::clock::{Clock, Ticking};
use crate::hex::hex;
use crate::named_file::NamedFile;
use crate::regular::Refused;
use crate::types::{ErrorCode, ToolError};
use crate::{engine, wasi};

/// Maximum size of a program, in bytes.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// First bytes of a component, and of a core module.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// Resources that all programs of the process share.
pub(super) struct Runtime {
    pub(super) engine: Engine,
    linker: Linker<State>,
    clock: Arc<Clock>,
    known: Mutex<HashMap<PathBuf, Known>>,
}

/// A compiled program and its source file.
struct Known {
    size: u64,
    modified: Option<SystemTime>,
    program: CommandPre<State>,
}

/// Returns the runtime of the process, created for the first program.
pub(super) fn runtime() -> Result<&'static Runtime, ToolError> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| Runtime::new().map_err(|cause| format!("{cause:#}")));
    runtime.as_ref().map_err(|cause| ToolError::new(ErrorCode::Io, format!("cannot run programs here: {cause}")))
}

impl Runtime {
    /// Creates an engine without a memory pool: a program may need much memory, and few programs run at the same time.
    fn new() -> wasmtime::Result<Self> {
        let engine = Engine::new(&engine::config())?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        wasi::check_names(&mut linker)?;
        linker.allow_shadowing(true);
        let mut types = linker.instance(wasi::TYPES)?;
        paths::add_to_linker(&mut types)?;
        files::add_to_linker(&mut types)?;
        files::add_preopens_to_linker(&mut linker.instance(wasi::PREOPENS)?)?;
        let clock = Clock::start(engine.clone())?;
        Ok(Self { engine, linker, clock, known: Mutex::default() })
    }

    /// Makes programs check their time limit until the result is dropped.
    pub(super) fn tick(&self) -> Ticking<'_> {
        self.clock.tick()
    }

    /// Returns the program in a file, compiled again if the file has changed.
    pub(super) fn program(&self, name: &str, named: &NamedFile) -> Result<CommandPre<State>, ToolError> {
        let path = named.path();
        let unreadable = |cause| refused(name, &format!("cannot read `{}`: {cause}", path.display()));
        let mut file = named.open().map_err(|refused| unreadable(why(refused)))?;
        let meta = file.metadata().map_err(|cause| unreadable(cause.to_string()))?;
        let (size, modified) = (meta.len(), meta.modified().ok());
        let is_same = |known: &&Known| known.size == size && known.modified == modified;
        if let Some(known) = self.known().get(&path).filter(is_same) {
            return Ok(known.program.clone());
        }
        let bytes = read(&mut file).map_err(unreadable)?;
        let program = self.compile(&bytes).map_err(|cause| refused(name, &format!("{cause:#}")))?;
        self.known().insert(path.clone(), Known { size, modified, program: program.clone() });
        Ok(program)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compile(&self, bytes: &[u8]) -> wasmtime::Result<CommandPre<State>> {
        let name = hex(&Sha256::digest(bytes));
        let component = Cache::Users.compiled(&self.engine, &name, || match bytes {
            bytes if bytes.starts_with(COMPONENT) => Component::new(&self.engine, bytes),
            bytes if bytes.starts_with(MODULE) => Component::new(&self.engine, adapted(bytes)?),
            _ => wasmtime::bail!("it is no WebAssembly"),
        })?;
        CommandPre::new(self.linker.instantiate_pre(&component)?)
    }
}

fn read(file: &mut File) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|cause| cause.to_string())?;
    match bytes.len() as u64 > MAX_BYTES {
        true => Err(format!("it has more than {MAX_BYTES} bytes")),
        false => Ok(bytes),
    }
}

/// Converts a module of WASI preview 1 to a component, with wasmtime's adapter.
fn adapted(module: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let encoder = ComponentEncoder::default().module(module).and_then(|encoder| encoder.adapter(ADAPTER_NAME, ADAPTER));
    let encoded = encoder.and_then(|encoder| encoder.validate(true).encode());
    encoded.map_err(|cause| wasmtime::format_err!("{cause:#}"))
}

fn why(refused: Refused) -> String {
    match refused {
        Refused::Link | Refused::NotRegular => "it is not a regular file".to_owned(),
        Refused::Io(cause) => cause.to_string(),
    }
}

fn refused(name: &str, cause: &str) -> ToolError {
    ToolError::new(ErrorCode::InvalidArgument, format!("cannot run the program `{name}`: {cause}")).hint(
        "a program is a component of `wasi:cli/command` 0.2, or a module of WASI preview 1; the person who runs this \
         names its file in the policy's `commands.programs`",
    )
}
