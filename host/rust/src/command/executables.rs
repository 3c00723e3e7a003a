//! The files that a command may execute if the policy has a list of allowed commands.
//!
//! Rules on command lines do not confine programs that run other programs. The kernel therefore grants the right to
//! execute only for the programs that the rules name, and for the files that are needed to load them. The kernel
//! requires this right for the loader of a program too; the supervisor prevents commands from running a loader by its
//! own name, because a loader runs any readable file.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader};

use super::system;
use crate::directory::{Directory, Identity};
use crate::error::Error;
use crate::mount::Mount;
use crate::named_file::NamedFile;
use crate::policy::Commands;

/// Number of bytes at the start of a program that can name its interpreter.
const HEAD: u64 = 64 * 1024;

/// Maximum number of nested interpreters, as in the kernel.
const MAX_INTERPRETERS: usize = 4;

/// Directories and files of programs that the policy lets commands execute, in addition to those that its rules name.
pub(super) struct Executables {
    directories: Vec<Directory>,
    files: Vec<NamedFile>,
}

impl Executables {
    /// Returns `None` if the policy has no list of allowed commands: then every readable file can be executed. Fails
    /// if a link in a root leads out of the root to a directory of the policy.
    pub(super) fn open(policy: &Commands, roots: &[Mount]) -> Result<Option<Self>, Error> {
        if policy.allow.is_empty() {
            return Ok(None);
        }
        let mut own = Self { directories: Vec::new(), files: Vec::new() };
        for path in &policy.executables {
            let fail = |cause| Error::Setting { setting: "commands.executables", cause: format!("`{path}`: {cause}") };
            let named = NamedFile::new(Path::new(path), roots).map_err(fail)?;
            match named.directory() {
                Ok(directory) => own.directories.push(directory),
                Err(_) => own.files.push(named),
            }
        }
        Ok(Some(own))
    }

    /// Returns the existing files that a command may execute.
    pub(super) fn now(&self, policy: &Commands, roots: &[Mount]) -> Allowed {
        let mut finder =
            ExecutableFinder { policy, roots, known: HashSet::new(), loaders: HashSet::new(), files: Vec::new() };
        self.files.iter().filter_map(|file| file.open().ok()).for_each(|file| finder.add(file, 0));
        let names = policy.allow.iter().filter_map(|rule| rule.split_whitespace().next());
        names.for_each(|name| finder.add_named(name, 0));
        let directories = self.directories.iter().map(|directory| Arc::clone(directory.file()));
        Allowed {
            files: directories.chain(finder.files).collect(),
            loaders: finder.loaders.difference(&finder.known).copied().collect(),
        }
    }
}

/// Programs that a command may execute.
pub(super) struct Allowed {
    /// Files, and directories with everything below them.
    pub(super) files: Vec<Arc<File>>,
    /// Loaders of other programs among the files, which no setting names.
    pub(super) loaders: Vec<Identity>,
}

struct ExecutableFinder<'f> {
    policy: &'f Commands,
    roots: &'f [Mount],
    /// Programs, and interpreters of scripts.
    known: HashSet<Identity>,
    /// ELF interpreters.
    loaders: HashSet<Identity>,
    files: Vec<Arc<File>>,
}

impl ExecutableFinder<'_> {
    /// Finds a program by name, in directories outside of the roots: in a root, an agent could create another program
    /// with that name.
    fn add_named(&mut self, name: &str, depth: usize) {
        if name.contains('/') {
            return;
        }
        let candidates = system::path(self.policy).map(|directory| Path::new(directory).join(name));
        let program = candidates.filter_map(|path| self.open_outside_roots(&path)).find(is_executable);
        if let Some(program) = program {
            self.add(program, depth);
        }
    }

    /// Adds a program, and the files that the kernel executes to run it.
    fn add(&mut self, mut program: File, depth: usize) {
        if depth > MAX_INTERPRETERS || !Identity::of_file(&program).is_ok_and(|identity| self.known.insert(identity)) {
            return;
        }
        let mut head = Vec::new();
        // A file that cannot be read names no interpreter.
        let _ = program.by_ref().take(HEAD).read_to_end(&mut head);
        self.files.push(Arc::new(program));
        match head.strip_prefix(b"#!") {
            Some(rest) => self.add_interpreter(rest, depth),
            None => {
                let loader = loader(&head).and_then(|path| self.open_outside_roots(&path));
                loader.into_iter().for_each(|loader| self.add_loader(loader));
            }
        }
    }

    /// Adds the ELF interpreter of a program, which has no interpreter itself.
    fn add_loader(&mut self, loader: File) {
        if Identity::of_file(&loader).is_ok_and(|identity| self.loaders.insert(identity)) {
            self.files.push(Arc::new(loader));
        }
    }

    /// Adds the interpreter in the first line of a script; if it is `env`, also the program that `env` runs.
    fn add_interpreter(&mut self, rest: &[u8], depth: usize) {
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let Ok(line) = std::str::from_utf8(line) else { return };
        let mut words = line.split_whitespace();
        let Some(interpreter) = words.next().map(Path::new) else { return };
        if let Some(file) = self.open_outside_roots(interpreter) {
            self.add(file, depth + 1);
        }
        if interpreter.file_name().is_some_and(|name| name == "env")
            && let Some(name) = words.find(|word| !word.starts_with('-') && !word.contains('='))
        {
            self.add_named(name, depth + 1);
        }
    }

    fn open_outside_roots(&self, path: &Path) -> Option<File> {
        system::open(path, self.roots)
    }
}

fn is_executable(file: &File) -> bool {
    file.metadata().is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
}

/// Returns the loader that an ELF file for this system names.
fn loader(head: &[u8]) -> Option<PathBuf> {
    let header = FileHeader64::<Endianness>::parse(head).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, head).ok()?;
    let path = segments.iter().find_map(|segment| segment.interpreter(endian, head).ok().flatten())?;
    Some(std::ffi::OsStr::from_bytes(path).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOADER: &str =
        if cfg!(target_arch = "x86_64") { "/lib64/ld-linux-x86-64.so.2" } else { "/lib/ld-linux-aarch64.so.1" };

    #[test]
    fn a_program_names_its_loader() {
        let program = std::fs::read("/bin/sh").unwrap();
        let head = program.get(..program.len().min(64 * 1024)).unwrap();
        let loader = loader(head).unwrap();
        assert!(loader.is_absolute() && loader.exists(), "{loader:?}");
        assert_eq!(super::loader(b"#!/bin/sh\n"), None);
        assert_eq!(super::loader(head.get(..40).unwrap()), None);
    }

    #[test]
    fn a_script_brings_its_interpreter_and_a_root_no_program() {
        let top = tempfile::tempdir().unwrap();
        let (bin, root) = (top.path().join("bin"), top.path().join("ws"));
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(root.join("bin")).unwrap();
        for (path, text) in [(bin.join("tool"), "#!/usr/bin/env -S A=1 sh -e\n"), (root.join("bin/own"), "#!/bin/sh\n")]
        {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let roots =
            [Mount::new(Directory::open(&root).unwrap(), "/workspace", crate::policy::Access::ReadWrite).unwrap()];
        let path = [bin, root.join("bin")].map(|path| path.to_str().unwrap().to_owned());
        let policy =
            Commands { allow: vec!["tool -x".to_owned(), "own".to_owned()], path: path.into(), ..Commands::default() };
        let Allowed { files, loaders } = Executables::open(&policy, &roots).unwrap().unwrap().now(&policy, &roots);
        let is_there = |path: &Path| {
            let wanted = Identity::of_file(&File::open(path).unwrap()).unwrap();
            files.iter().any(|file| Identity::of_file(file).unwrap() == wanted)
        };
        assert!(is_there(&top.path().join("bin/tool")) && is_there(Path::new("/usr/bin/env")));
        assert!(is_there(Path::new("/bin/sh")) && !is_there(&root.join("bin/own")));
        assert!(files.len() <= 4, "the tool, env, sh and their loader: {files:?}");
        assert_eq!(loaders.len(), 1, "env and sh have the same");
        let executables = vec![LOADER.to_owned()];
        let policy = Commands { executables, ..policy };
        let named = Executables::open(&policy, &roots).unwrap().unwrap().now(&policy, &roots);
        assert!(named.loaders.is_empty() || !Path::new(LOADER).exists(), "it is named: {:?}", named.loaders);
    }
}
