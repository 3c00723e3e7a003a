//! The cache of the compiled component. On Linux the file is mapped into memory at the next start, without unpacking,
//! hashing or copying.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::directory::{Deferred, Directory, Walk, private_file};
#[cfg(target_os = "linux")]
use crate::mount::way_to;
use crate::user_directories;

/// The directory for compiled code.
#[derive(Clone, Debug, Default)]
pub(crate) enum Cache {
    /// The user's cache directory. Without one, each start compiles.
    #[default]
    Users,
    /// A directory of the caller's choice.
    At(Directory),
    /// No directory: each start compiles.
    Off,
}

impl Cache {
    /// Opens the directory at `path`, and creates it if necessary.
    ///
    /// # Errors
    ///
    /// The error of the system, or `PermissionDenied` if another user could write to the directory.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let directory = Deferred::new(Walk::new(path)?)?.create()?;
        if !is_safe(&directory.metadata()?) {
            let cause = "another user could write to it, or owns it";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, cause));
        }
        Ok(Self::At(directory))
    }

    /// Returns the path of the caller's directory.
    pub(crate) fn own_path(&self) -> Option<PathBuf> {
        match self {
            Self::At(directory) => Some(directory.path().to_owned()),
            Self::Users | Self::Off => None,
        }
    }

    /// Returns the component that `compile` makes, from the cache if it has a file of this unique name.
    pub(crate) fn compiled(
        &self,
        engine: &Engine,
        name: &str,
        compile: impl FnOnce() -> wasmtime::Result<Component>,
    ) -> wasmtime::Result<Component> {
        let (Some(cache), name) = (self.directory(), file_name(engine, name)) else { return compile() };
        if let Some(known) = load(engine, cache, &name) {
            return Ok(known);
        }
        let component = compile()?;
        // A failure to write the cache is ignored: the next start tries again.
        let _ = component.serialize().map_err(io::Error::other).and_then(|compiled| keep(cache, &name, &compiled));
        Ok(component)
    }

    fn directory(&self) -> Option<&Directory> {
        match self {
            Self::Users => users_directory(),
            Self::At(directory) => Some(directory),
            Self::Off => None,
        }
    }
}

fn load(engine: &Engine, cache: &Directory, name: &str) -> Option<Component> {
    let file = cache.open_file(name, private_file().write(false).read(true)).ok()?;
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    if !is_safe(&metadata) {
        return None;
    }
    deserialize(engine, file).ok()
}

/// Maps the file through its descriptor, because another file may have the name by now.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "only this user can have written the file, and what this user runs it could replace")]
fn deserialize(engine: &Engine, file: File) -> wasmtime::Result<Component> {
    // Safety: `load` has checked the owner and the mode of the file.
    unsafe { Component::deserialize_file(engine, way_to(&file)) }
}

/// Reads the file through its descriptor, because another file may have the name by now. Only Linux has a path by
/// which the runtime could map the open file, and Wine 8 does not map it with the right to execute.
#[cfg(not(target_os = "linux"))]
#[expect(unsafe_code, reason = "only this user can have written the file, and what this user runs it could replace")]
fn deserialize(engine: &Engine, mut file: File) -> wasmtime::Result<Component> {
    let mut compiled = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut compiled)?;
    // Safety: `load` has checked the owner and the mode of the file.
    unsafe { Component::deserialize(engine, compiled) }
}

/// Writes the file atomically, because another process may read it at any time.
fn keep(cache: &Directory, name: &str, compiled: &[u8]) -> io::Result<()> {
    let new = format!("{name}.{}.new", std::process::id());
    let opened = cache.open_file(&new, private_file().create_new(true));
    let written = opened.and_then(|mut file: File| file.write_all(compiled));
    let result = written.and_then(|()| cache.entries().rename(&new, cache.entries(), name));
    if result.is_err() {
        let _ = cache.entries().remove_file(&new);
    }
    result
}

/// Returns a name that is unique for the component, the build of the runtime and the type of processor.
fn file_name(engine: &Engine, name: &str) -> String {
    struct Sum(Sha256);
    impl std::hash::Hasher for Sum {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            self.0.clone().finalize().iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        }
    }
    let mut sum = Sum(Sha256::new());
    std::hash::Hash::hash(&engine.precompile_compatibility_hash(), &mut sum);
    format!("{name}-{:016x}.cwasm", std::hash::Hasher::finish(&sum))
}

/// Returns the user's cache directory, created if necessary and held until the process ends. `None` if another user
/// could write to it.
fn users_directory() -> Option<&'static Directory> {
    static DIRECTORY: OnceLock<Option<Directory>> = OnceLock::new();
    let open = || {
        let directory =
            Deferred::new(Walk::new(&user_directories::cache()?).ok()?).and_then(|cache| cache.create()).ok()?;
        let metadata = directory.metadata().ok()?;
        is_safe(&metadata).then_some(directory)
    };
    DIRECTORY.get_or_init(open).as_ref()
}

/// Returns whether only this user can have changed the file.
#[cfg(unix)]
fn is_safe(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0
}

#[cfg(not(unix))]
fn is_safe(_meta: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The empty component: its eight bytes of preamble.
    fn compiled(engine: &Engine) -> Vec<u8> {
        Component::new(engine, b"\0asm\x0d\0\x01\0").unwrap().serialize().unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn a_cache_writable_by_others_is_not_loaded() {
        let (engine, dir) = (Engine::default(), tempfile::tempdir().unwrap());
        let (cache, file) = (Directory::open(dir.path()).unwrap(), dir.path().join("a.cwasm"));
        fs::write(&file, compiled(&engine)).unwrap();
        for (mode, is_loaded) in [(0o600, true), (0o644, true), (0o622, false), (0o602, false)] {
            fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(load(&engine, &cache, "a.cwasm").is_some(), is_loaded, "{mode:o}");
        }
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink("a.cwasm", dir.path().join("link.cwasm")).unwrap();
        assert!(load(&engine, &cache, "link.cwasm").is_none());
    }

    #[test]
    fn a_compiled_component_is_cached_and_loaded() {
        let (engine, dir) = (Engine::default(), tempfile::tempdir().unwrap());
        let (cache, name) = (Directory::open(dir.path()).unwrap(), file_name(&engine, "none"));
        let compiled = compiled(&engine);
        keep(&cache, &name, &compiled).unwrap();
        assert!(load(&engine, &cache, &name).is_some());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        // A truncated file is not trusted, and the component is compiled again.
        fs::write(dir.path().join(&name), &compiled[..compiled.len() / 2]).unwrap();
        assert!(load(&engine, &cache, &name).is_none());
    }
}
