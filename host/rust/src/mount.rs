//! The directories that a guest can open.

use std::collections::HashSet;
use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::Arc;

use paddock_policy::{Access, Mode, Policy};
use wasmtime_wasi::filesystem::Dir;

use crate::directory::{Directory, Walk};
use crate::error::Error;

/// Guest path of the first root, the workspace itself.
pub(crate) const WORKSPACE: &str = "/workspace";

/// Guest path of the state directory.
pub(crate) const STATE: &str = "/paddock-state";

/// Guest path of an overlay's directory.
pub(crate) const OVERLAY: &str = "/paddock-overlay";

/// Name of the mount of the host's whole file system.
const HOST: &str = "host";

/// Request to mount a directory. Without a guest path, the mount is named after the directory.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) host: PathBuf,
    pub(crate) guest: Option<String>,
    pub(crate) access: Access,
    /// The directory itself, if the caller opened it; `host` then only serves messages.
    #[cfg(target_os = "linux")]
    pub(crate) opened: Option<Arc<File>>,
}

impl Wanted {
    /// Requests the directory at a path.
    pub(crate) fn at(host: PathBuf, guest: Option<String>, access: Access) -> Self {
        Self {
            host,
            guest,
            access,
            #[cfg(target_os = "linux")]
            opened: None,
        }
    }

    /// Requests a directory that is open already, for reading and writing.
    #[cfg(target_os = "linux")]
    pub(crate) fn open(directory: File, guest: String) -> Self {
        let opened = Some(Arc::new(directory));
        let host = opened.as_deref().map(way_to).unwrap_or_default();
        Self { host, guest: Some(guest), access: Access::ReadWrite, opened }
    }

    /// Returns a second path of the opened directory beside its real one: the absolute path that the caller gave, or the
    /// short path of a directory of macOS.
    fn alias(&self, directory: &Directory) -> Option<String> {
        let absolute = std::path::absolute(&self.host).ok()?;
        let has_parents = absolute.components().any(|component| component == Component::ParentDir);
        match !has_parents && absolute != directory.path() {
            true => absolute.to_str().map(str::to_owned),
            false if cfg!(target_os = "macos") => without_private(directory.path().to_str()?),
            false => None,
        }
    }

    /// Opens the directory. `mounts` are the roots that are open already.
    fn directory(&self, mounts: &[Mount]) -> Result<Directory, Error> {
        #[cfg(target_os = "linux")]
        if let Some(opened) = &self.opened {
            return check(&self.host, Directory::reopen(opened));
        }
        open_root(mounts, &self.host)
    }
}

/// Returns the short path of a directory of macOS, where `/tmp`, `/var` and `/etc` are links to directories of the same
/// names in `/private`. A model has paths of both kinds, since the system reports one and people write the other.
fn without_private(path: &str) -> Option<String> {
    let short = path.strip_prefix("/private")?;
    let top = short.strip_prefix('/')?.split('/').next()?;
    ["tmp", "var", "etc"].contains(&top).then(|| short.to_owned())
}

/// Returns the mounts of a guest for these roots and the policy. The first is the workspace.
pub(crate) fn all(roots: &[Wanted], policy: &Policy) -> Result<Vec<Mount>, Error> {
    let mut mounts: Vec<Mount> = Vec::with_capacity(roots.len());
    let named = roots.iter().filter_map(|root| root.guest.clone());
    let mut taken: HashSet<String> = named.chain([WORKSPACE, STATE, OVERLAY].map(str::to_owned)).collect();
    for root in roots {
        let Wanted { guest, access, .. } = root;
        if guest.is_some() && mounts.iter().any(|mount| Some(&mount.guest) == guest.as_ref()) {
            let guest = guest.clone().unwrap_or_default();
            return Err(Error::Mount { guest, cause: "two roots have that guest path" });
        }
        let directory = root.directory(&mounts)?;
        let guest = guest.clone().unwrap_or_else(|| free_name(&name_of(&directory), &mut taken));
        let alias = root.alias(&directory);
        mounts.push(Mount { alias, ..Mount::new(directory, &guest, *access)? });
    }
    if mounts.first().is_none_or(|first| first.guest != WORKSPACE) {
        return Err(Error::NoRoot);
    }
    for directory in &policy.allowed_directories {
        let (path, access) = directory.parts();
        let directory = open_root(&mounts, Path::new(path))?;
        add(&mut mounts, &mut taken, &name_of(&directory), directory, access)?;
    }
    if policy.mode == Mode::Unrestricted {
        let whole = open_root(&mounts, Path::new("/"))?;
        add(&mut mounts, &mut taken, HOST, whole, Access::ReadWrite)?;
    }
    settle_rights(&mut mounts, policy.read_only);
    Ok(mounts)
}

/// Adds a directory that the policy allows. A directory that is mounted already keeps its guest path, and becomes
/// read-only if `access` is.
fn add(
    mounts: &mut Vec<Mount>,
    taken: &mut HashSet<String>,
    name: &str,
    directory: Directory,
    access: Access,
) -> Result<(), Error> {
    match mounts.iter_mut().find(|known| known.is_same(&directory)) {
        Some(known) if access == Access::ReadOnly => known.access = access,
        Some(_) => {}
        None => mounts.push(Mount::new(directory, &free_name(name, taken), access)?),
    }
    Ok(())
}

/// Opens the directory of a root.
fn open_root(mounts: &[Mount], host: &Path) -> Result<Directory, Error> {
    let walk = open_named(host, mounts.iter().map(|mount| &mount.directory));
    check(host, walk.and_then(Walk::end))
}

/// Returns the directory of a root. Fails if it did not open, or if its files are the kernel's own state.
fn check(host: &Path, directory: io::Result<Directory>) -> Result<Directory, Error> {
    let root = |cause| Error::Root { path: host.to_owned(), cause };
    let directory = directory.map_err(root)?;
    #[cfg(target_os = "linux")]
    if crate::kernel_files::check(&**directory.file()).is_err() {
        return Err(root(io::Error::other("its files are the kernel's own state")));
    }
    #[cfg(windows)]
    if is_on_network(&directory).map_err(root)? {
        return Err(root(io::Error::other("it is on a network share, where the runtime cannot change entries")));
    }
    Ok(directory)
}

/// Returns whether the directory is on a network share, also if its path begins with the letter of a drive. The runtime
/// would look for the entries of such a directory below the current directory of the process.
#[cfg(windows)]
fn is_on_network(directory: &Directory) -> io::Result<bool> {
    use std::path::Prefix;

    let path = directory.path().canonicalize()?;
    let Some(Component::Prefix(prefix)) = path.components().next() else { return Ok(true) };
    Ok(!matches!(prefix.kind(), Prefix::VerbatimDisk(_) | Prefix::Disk(_)))
}

/// Follows the path of a directory that a setting names: a root, a directory for commands, a directory of Paddock's
/// own. Fails if a link in one of the roots leads out of that root, since a program that can change the root would
/// then decide which directory the setting names.
pub(crate) fn open_named<'r>(path: &Path, roots: impl IntoIterator<Item = &'r Directory>) -> io::Result<Walk> {
    let walk = Walk::new(path)?;
    #[cfg(test)]
    if crate::fault_injection::is_without(crate::fault_injection::Check::Named) {
        return Ok(walk);
    }
    let Some(root) = roots.into_iter().find(|root| walk.leaves(root)) else { return Ok(walk) };
    let (root, end) = (root.path().display(), walk.path());
    let cause =
        format!("a symbolic link in the root `{root}` leads out of it; if that is meant, name `{}`", end.display());
    Err(io::Error::other(cause))
}

/// Follows the path of a file that Paddock itself writes and that no tool may read or change. Fails if the file
/// would be inside a root; nothing is created then.
pub(crate) fn open_outside(path: &Path, roots: &[Mount]) -> io::Result<(Walk, OsString)> {
    let path = std::path::absolute(path)?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("it names no file"));
    };
    let walk = open_named(parent, roots.iter().map(|root| &root.directory))?;
    if hold(roots, &walk.directory) {
        return Err(io::Error::other("it would be inside a root, where tools could read and change it"));
    }
    Ok((walk, name.to_owned()))
}

/// Returns whether a directory is one of the roots, or was inside one of them when it was opened.
pub(crate) fn hold(roots: &[Mount], directory: &Directory) -> bool {
    roots.iter().any(|root| directory.is_in(root.directory.identity()))
}

/// Makes all mounts of a directory read-only if one of them is. In a read-only workspace, makes every mount read-only.
fn settle_rights(mounts: &mut [Mount], read_only: bool) {
    let narrow = mounts.iter().filter(|mount| mount.access == Access::ReadOnly).map(|mount| mount.directory.identity());
    let narrow: HashSet<_> = narrow.collect();
    for mount in mounts.iter_mut().filter(|mount| read_only || narrow.contains(&mount.directory.identity())) {
        mount.access = Access::ReadOnly;
    }
}

/// Returns the paths where Linux shows its processes, including the memory of this one, and the system: no tool
/// needs these files.
pub(crate) fn of_the_kernel() -> impl Iterator<Item = PathBuf> {
    ["/proc", "/sys"].into_iter().filter(|_| cfg!(target_os = "linux")).map(PathBuf::from)
}

/// Paths in a container that are closed to tools: its processes, the system and the devices.
pub(crate) const CLOSED_IN_CONTAINER: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Returns the last name of the directory's path.
fn name_of(directory: &Directory) -> String {
    let name = directory.path().file_name();
    name.map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Returns the guest path of that name, with a number appended if another root has the name already.
fn free_name(name: &str, taken: &mut HashSet<String>) -> String {
    let numbered = (2u32..).map(|number| format!("/{name}-{number}"));
    let free = std::iter::once(format!("/{name}")).chain(numbered).find(|guest| taken.insert(guest.clone()));
    free.unwrap_or_else(|| format!("/{name}"))
}

/// A directory and its guest path.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    pub(crate) directory: Directory,
    pub(crate) guest: String,
    pub(crate) access: Access,
    /// Whether the directory is in a container.
    pub(crate) is_contained: bool,
    /// The absolute path by which the caller named the directory, if it is not the directory's real path.
    pub(crate) alias: Option<String>,
}

impl Mount {
    /// Creates the mount of a root. Fails if `guest` is not `/` and one name, or if Paddock reserves the path.
    pub(crate) fn new(directory: Directory, guest: &str, access: Access) -> Result<Self, Error> {
        let name = guest.strip_prefix('/').unwrap_or_default();
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\', '\0']) {
            return Err(Error::Mount { guest: guest.to_owned(), cause: "a guest path is `/` and one name" });
        }
        if guest == STATE || guest == OVERLAY {
            return Err(Error::Mount { guest: guest.to_owned(), cause: "it is the state directory's" });
        }
        Ok(Self { directory, guest: guest.to_owned(), access, is_contained: false, alias: None })
    }

    /// Creates the mount of a directory of Paddock's own.
    pub(crate) fn own(directory: Directory, guest: &str) -> Self {
        Self { directory, guest: guest.to_owned(), access: Access::ReadWrite, is_contained: false, alias: None }
    }

    /// Returns the same mount, read-only.
    pub(crate) fn read_only(&self) -> Self {
        Self { access: Access::ReadOnly, ..self.clone() }
    }

    /// Returns the directory as the guest gets it, with the rights of this mount only. Fails if the directory was
    /// deleted: a new directory of the same name is not the one that the workspace was opened on.
    pub(crate) fn preopen(&self) -> io::Result<(Dir, String)> {
        #[cfg(test)]
        if crate::fault_injection::is_without(crate::fault_injection::Check::Held) {
            let now = Directory::open(self.host()).unwrap_or_else(|_| self.directory.clone());
            return Ok((now.for_guest(self.access), self.guest.clone()));
        }
        if self.directory.is_deleted() {
            return Err(io::Error::other("it was deleted"));
        }
        Ok((self.directory.for_guest(self.access), self.guest.clone()))
    }

    /// Returns the path of the directory when the workspace was opened: on this machine, or in its container.
    pub(crate) fn host(&self) -> &Path {
        self.directory.path()
    }

    fn is_same(&self, directory: &Directory) -> bool {
        self.directory.identity() == directory.identity()
    }
}

/// Returns the path of the link in `/proc` that leads to an open directory, even if the directory was moved.
#[cfg(target_os = "linux")]
pub(crate) fn way_to(directory: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(directory)))
}

#[cfg(test)]
mod tests {
    use super::without_private;

    #[test]
    fn directories_of_macos_have_two_names() {
        for (path, short) in [
            ("/private/tmp/ws", Some("/tmp/ws")),
            ("/private/var/folders/x", Some("/var/folders/x")),
            ("/private/etc", Some("/etc")),
            ("/private/tmpfiles", None),
            ("/private", None),
            ("/privatetmp", None),
            ("/Users/me/private/tmp", None),
        ] {
            assert_eq!(without_private(path).as_deref(), short, "{path}");
        }
    }
}
