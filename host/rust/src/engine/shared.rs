//! An engine that a caller configures and shares between workspaces.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::Config;

use super::{Runtime, pooled, set_required};
use crate::cache::Cache;
use crate::error::Error;
use crate::limits::GUESTS;

/// A wasmtime engine with the compiled component. Clones share it.
///
/// The workspaces of a process share one engine that is created at the first call. A process needs an engine of its own
/// to choose the cache directory, the number of concurrent calls or the settings of wasmtime, or to run components of
/// its own in the same engine:
///
/// ```
/// use paddock::{Engine, Workspace};
///
/// # let directory = tempfile::tempdir()?;
/// let engine = Engine::builder().cache_dir(directory.path().join("cache")).guests(16).build()?;
/// let workspace = Workspace::builder().root(directory.path()).no_state_dir().engine(&engine).build()?;
/// assert!(workspace.call("tree", "{}").ok);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Engine {
    pub(crate) runtime: Arc<Runtime>,
    cache: Cache,
}

impl Engine {
    /// Returns a builder with the settings of the shared engine.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Returns the engine of wasmtime, for modules and components of the caller. It interrupts code by epochs, so a
    /// store has to set an epoch deadline.
    pub fn wasmtime(&self) -> &wasmtime::Engine {
        &self.runtime.engine
    }

    /// Returns the path of the cache directory that the caller chose. Tools cannot reach it.
    pub(crate) fn cache_path(&self) -> Option<PathBuf> {
        self.cache.own_path()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("cache", &self.cache).finish_non_exhaustive()
    }
}

/// Builder of an [`Engine`].
#[derive(Clone, Default)]
pub struct EngineBuilder {
    config: Option<Config>,
    guests: Option<u32>,
    cache: CacheChoice,
}

#[derive(Clone, Debug, Default)]
enum CacheChoice {
    #[default]
    Users,
    At(PathBuf),
    Off,
}

impl EngineBuilder {
    /// Stores the compiled component in this directory, in place of the user's cache directory. `build` creates the
    /// directory, and fails if another user could write to it, because compiled code is executed as it is.
    #[must_use]
    pub fn cache_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cache = CacheChoice::At(directory.into());
        self
    }

    /// Stores no compiled code: `build` compiles the component, which takes about a second.
    #[must_use]
    pub fn no_cache(mut self) -> Self {
        self.cache = CacheChoice::Off;
        self
    }

    /// Sets the maximum number of guests at the same time: calls in progress, the threads of parallel searches, and
    /// workspaces in memory. Default: 512. [`EngineBuilder::config`] replaces this setting.
    #[must_use]
    pub fn guests(mut self, guests: u32) -> Self {
        self.guests = Some(guests);
        self
    }

    /// Sets the configuration of wasmtime, its allocation strategy included. Epoch interruption is switched on, since
    /// time limits and cancellation depend on it, and concurrency support is switched off.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = Some(config);
        self
    }

    /// Creates the engine, and compiles the component or loads it from the cache.
    ///
    /// # Errors
    ///
    /// [`Error::Cache`] if the cache directory cannot be used, [`Error::Component`] if wasmtime refuses the
    /// configuration.
    pub fn build(self) -> Result<Engine, Error> {
        let cache = match self.cache {
            CacheChoice::Users => Cache::Users,
            CacheChoice::At(path) => Cache::at(&path).map_err(|cause| Error::Cache { path, cause })?,
            CacheChoice::Off => Cache::Off,
        };
        let engine = match self.config {
            Some(mut config) => {
                set_required(&mut config);
                wasmtime::Engine::new(&config)
            }
            None => pooled(self.guests.unwrap_or(GUESTS)),
        };
        let runtime = engine.and_then(|engine| Runtime::new(engine, &cache));
        let runtime = runtime.map_err(|cause| Error::Component(Arc::from(cause.into_boxed_dyn_error())))?;
        Ok(Engine { runtime: Arc::new(runtime), cache })
    }
}

impl fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineBuilder")
            .field("guests", &self.guests)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}
