//! The directories that a guest gets.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::error::Error;
use crate::policy::{self, Access, Mode, Policy, Trail};

/// The guest path of the first root, the workspace itself.
pub(crate) const WORKSPACE: &str = "/workspace";

/// The guest path of the state directory.
pub(crate) const STATE: &str = "/paddock-state";

/// The guest path of an overlay's directory.
pub(crate) const OVERLAY: &str = "/paddock-overlay";

/// The guest name of the whole file system.
const HOST: &str = "host";

/// A directory that a guest is to get; without a guest path, at one of its own name.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) host: PathBuf,
    pub(crate) guest: Option<String>,
    pub(crate) access: Access,
}

/// The directories that a guest gets by these roots and the policy: the workspace first.
pub(crate) fn all(roots: &[Wanted], policy: &Policy) -> Result<Vec<Mount>, Error> {
    let mut mounts: Vec<Mount> = Vec::with_capacity(roots.len());
    let named = roots.iter().filter_map(|root| root.guest.clone());
    let mut taken: HashSet<String> = named.chain([WORKSPACE, STATE, OVERLAY].map(str::to_owned)).collect();
    for Wanted { host, guest, access } in roots {
        if guest.is_some() && mounts.iter().any(|mount| Some(&mount.guest) == guest.as_ref()) {
            let guest = guest.clone().unwrap_or_default();
            return Err(Error::Mount { guest, cause: "two roots have that guest path" });
        }
        check_way(&mounts, host)?;
        let guest = guest.clone().unwrap_or_else(|| free_name(&name_of(host), &mut taken));
        mounts.push(Mount::new(host, &guest, *access)?);
    }
    if mounts.first().is_none_or(|first| first.guest != WORKSPACE) {
        return Err(Error::NoRoot);
    }
    for directory in &policy.allowed_directories {
        let (path, access) = directory.parts();
        let host = Path::new(path);
        add(&mut mounts, &mut taken, host, &name_of(host), access)?;
    }
    if policy.mode == Mode::Unrestricted {
        add(&mut mounts, &mut taken, Path::new("/"), HOST, Access::ReadWrite)?;
    }
    settle_rights(&mut mounts, policy.read_only);
    Ok(mounts)
}

/// Adds what the policy allows. What is there already keeps its guest path, and may have lost a right.
fn add(
    mounts: &mut Vec<Mount>,
    taken: &mut HashSet<String>,
    host: &Path,
    name: &str,
    access: Access,
) -> Result<(), Error> {
    check_way(mounts, host)?;
    let mount = Mount::new(host, "/unnamed", access)?;
    match mounts.iter_mut().find(|known| known.host == mount.host) {
        Some(known) if access == Access::ReadOnly => known.access = access,
        Some(_) => {}
        None => mounts.push(Mount { guest: free_name(name, taken), ..mount }),
    }
    Ok(())
}

/// Refuses a directory to which a link inside a root leads out of it: what is in a root must not say what else is one.
fn check_way(mounts: &[Mount], host: &Path) -> Result<(), Error> {
    let way = policy::trail(host);
    let leads_out = |mount: &&Mount| {
        !way.end.starts_with(&mount.host) && way.links.iter().any(|link| link.starts_with(&mount.host))
    };
    let Some(mount) = mounts.iter().find(leads_out) else { return Ok(()) };
    let (root, end) = (mount.host.display(), way.end.display());
    let cause = format!("a symbolic link in the root `{root}` leads out of it; if that is meant, name `{end}`");
    Err(Error::Root { path: host.to_owned(), cause: io::Error::other(cause) })
}

/// Of two roots that are one directory, neither may do more than the other; in a read-only workspace, none may change anything.
fn settle_rights(mounts: &mut [Mount], read_only: bool) {
    let narrow = mounts.iter().filter(|mount| mount.access == Access::ReadOnly).map(|mount| mount.host.clone());
    let narrow: HashSet<_> = narrow.collect();
    for mount in mounts.iter_mut().filter(|mount| read_only || narrow.contains(&mount.host)) {
        mount.access = Access::ReadOnly;
    }
}

/// Where a system shows its processes, this one's memory among them, and itself: no files that a tool could want.
pub(crate) fn of_the_kernel() -> impl Iterator<Item = PathBuf> {
    ["/proc", "/sys"].into_iter().filter(|_| cfg!(target_os = "linux")).map(PathBuf::from)
}

/// What is closed to tools in a container: where it shows its processes, the system and devices.
pub(crate) fn closed_in_container() -> Vec<Trail> {
    CLOSED_IN_CONTAINER.map(|path| Trail { links: Vec::new(), end: path.into() }).into()
}

/// By their paths in it.
pub(crate) const CLOSED_IN_CONTAINER: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The directory's own name.
fn name_of(directory: &Path) -> String {
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    real.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The guest path of that name, numbered where another root has it already.
fn free_name(name: &str, taken: &mut HashSet<String>) -> String {
    let numbered = (2u32..).map(|number| format!("/{name}-{number}"));
    let free = std::iter::once(format!("/{name}")).chain(numbered).find(|guest| taken.insert(guest.clone()));
    free.unwrap_or_else(|| format!("/{name}"))
}

/// One directory and its guest path.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    /// Its path on this machine, or in the container that it is in.
    pub(crate) host: PathBuf,
    pub(crate) guest: String,
    pub(crate) access: Access,
    /// The directory itself, where it is in a container.
    pub(crate) opened: Option<Arc<File>>,
}

impl Mount {
    /// Fails where `host` is no directory, or `guest` no single name below `/`.
    pub(crate) fn new(host: &Path, guest: &str, access: Access) -> Result<Self, Error> {
        let root = |cause| Error::Root { path: host.to_owned(), cause };
        let real = host.canonicalize().map_err(root)?;
        if !real.is_dir() {
            return Err(root(io::ErrorKind::NotADirectory.into()));
        }
        let name = guest.strip_prefix('/').unwrap_or_default();
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\', '\0']) {
            return Err(Error::Mount { guest: guest.to_owned(), cause: "a guest path is `/` and one name" });
        }
        if guest == STATE || guest == OVERLAY {
            return Err(Error::Mount { guest: guest.to_owned(), cause: "it is the state directory's" });
        }
        Ok(Self { host: real, guest: guest.to_owned(), access, opened: None })
    }

    /// The same directory to look at alone.
    pub(crate) fn read_only(&self) -> Self {
        Self { access: Access::ReadOnly, ..self.clone() }
    }

    /// Hands the directory to a guest, with no right that it is not to have.
    pub(crate) fn preopen(&self, wasi: &mut WasiCtxBuilder) -> wasmtime::Result<()> {
        let rights = match self.access {
            Access::ReadOnly => FsPerms::ReadOnly,
            Access::ReadWrite => FsPerms::ReadWrite,
        };
        let way = self.opened.as_ref().map_or_else(|| self.host.clone(), |opened| way_to(opened));
        wasi.preopened_dir(way, &self.guest, rights).map(|_| ())
    }

    /// Whether it is in a container.
    pub(crate) fn is_contained(&self) -> bool {
        self.opened.is_some()
    }
}

/// Where an open directory is found: a link that leads to the descriptor, whatever path that was opened by.
pub(crate) fn way_to(directory: &File) -> PathBuf {
    #[cfg(unix)]
    let number = std::os::fd::AsRawFd::as_raw_fd(directory);
    #[cfg(windows)]
    let number = std::os::windows::io::AsRawHandle::as_raw_handle(directory).addr();
    PathBuf::from(format!("/proc/self/fd/{number}"))
}
