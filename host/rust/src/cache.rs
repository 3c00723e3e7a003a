//! The compiled component, kept on disk as it is mapped into memory: nothing is
//! unpacked, hashed or copied at the next start.

use std::env;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

/// The component of these bytes: from the cache, or compiled and put there. Without a place to keep it, each start compiles.
pub(crate) fn component(engine: &Engine, bytes: &[u8], name: &str) -> wasmtime::Result<Component> {
    compiled(engine, name, || Component::new(engine, bytes))
}

/// The same of what `compile` makes; the name tells that from all others.
pub(crate) fn compiled(
    engine: &Engine,
    name: &str,
    compile: impl FnOnce() -> wasmtime::Result<Component>,
) -> wasmtime::Result<Component> {
    let Some(path) = directory().map(|dir| dir.join(file_name(engine, name))) else {
        return compile();
    };
    if let Some(known) = load(engine, &path) {
        return Ok(known);
    }
    let component = compile()?;
    // A cache that cannot be written is none: the next start tries again.
    let _ = component.serialize().map_err(io::Error::other).and_then(|compiled| keep(&path, &compiled));
    Ok(component)
}

fn load(engine: &Engine, path: &Path) -> Option<Component> {
    let is_own = fs::symlink_metadata(path).is_ok_and(|file| file.is_file() && is_safe(&file));
    if !is_own {
        return None;
    }
    #[expect(
        unsafe_code,
        reason = "only this user can have written the file, and what this user runs it could replace"
    )]
    let loaded = unsafe { Component::deserialize_file(engine, path) };
    loaded.ok()
}

/// Writes the whole file or nothing: another process may read it at any time.
fn keep(path: &Path, compiled: &[u8]) -> io::Result<()> {
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.write(true).create_new(true).open(&new).and_then(|mut file| file.write_all(compiled));
    let kept = written.and_then(|()| fs::rename(&new, path));
    if kept.is_err() {
        let _ = fs::remove_file(&new);
    }
    kept
}

/// One name for each component, build of the runtime and kind of processor.
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

/// The user's own cache directory, made if need be. None where somebody else could write to it.
pub(crate) fn directory() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let dir = absolute("PADDOCK_CACHE_DIR")
        .or_else(|| absolute("XDG_CACHE_HOME").map(|cache| cache.join("paddock")))
        .or_else(|| env::home_dir().map(|home| home.join(".cache/paddock")))?;
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(&dir).ok()?;
    fs::symlink_metadata(&dir).ok().filter(|meta| meta.is_dir() && is_safe(meta)).map(|_| dir)
}

/// Whether nobody but this user can have changed it.
#[cfg(unix)]
fn is_safe(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0
}

#[cfg(not(unix))]
fn is_safe(_meta: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_can_write_is_not_loaded() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.cwasm");
        fs::write(&file, "not compiled").unwrap();
        for (mode, is_own) in [(0o600, true), (0o644, true), (0o622, false), (0o602, false)] {
            fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(is_safe(&fs::metadata(&file).unwrap()), is_own, "{mode:o}");
        }
        assert!(load(&Engine::default(), &file).is_none());
    }

    #[test]
    fn a_component_is_kept_and_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::default();
        let path = dir.path().join(file_name(&engine, "none"));
        // The empty component: eight bytes that say what it is.
        let compiled = Component::new(&engine, b"\0asm\x0d\0\x01\0").unwrap().serialize().unwrap();
        keep(&path, &compiled).unwrap();
        assert!(load(&engine, &path).is_some());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        // A file that was cut short is compiled again, not trusted.
        fs::write(&path, &compiled[..compiled.len() / 2]).unwrap();
        assert!(load(&engine, &path).is_none());
    }
}
