//! Containers as workspaces: the root directory of a running container, held open through its first process.
//!
//! Process ids are reused, so the process is held by a descriptor. The descriptor is opened before the engine is
//! queried a second time: while the process lives, the id belongs to it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paddock_policy::{Access, Policy};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::directory::Directory;
use crate::error::Error;
use crate::kernel_files;
use crate::mount::{self, CLOSED_IN_CONTAINER, Mount, STATE};
use crate::types::{ErrorCode, ToolError};
use engine::ContainerInfo;
#[cfg(feature = "commands")]
pub(crate) use processes::Processes;

mod engine;
#[cfg(feature = "commands")]
mod exec;
mod inside;
#[cfg(feature = "commands")]
mod processes;
mod program;

/// A running container, held by its root directory.
///
/// The container is found through podman, docker or runc. When it stops or another container takes its place, calls
/// fail with `backend-gone`, and the container must be opened again.
///
/// ```no_run
/// use paddock::{Container, Workspace};
///
/// let container = Container::open("podman:web")?;
/// let workspace = Workspace::builder().container(&container).build()?;
/// workspace.call("read_file", r#"{"path": "/etc/os-release"}"#);
/// # Ok::<(), paddock::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Container {
    held: Arc<Held>,
    working_directory: Arc<File>,
    /// Path of the working directory in the container, without links.
    path: PathBuf,
}

#[derive(Debug)]
struct Held {
    info: ContainerInfo,
    process: Process,
    root: Arc<File>,
}

impl Container {
    /// Opens the container `name`: `podman:NAME`, `docker:NAME`, `runc:NAME`, or the name alone if exactly one engine
    /// has it.
    ///
    /// # Errors
    ///
    /// [`Error::Container`] if no engine or several engines know the name, if the container does not run,
    /// and if this user may not inspect its processes.
    pub fn open(name: &str) -> Result<Self, Error> {
        Self::try_open(name).map_err(|cause| Error::Container { name: name.to_owned(), cause })
    }

    fn try_open(name: &str) -> Result<Self, String> {
        let info = engine::find(name)?;
        let process = Process::hold(info.pid)?;
        // The second answer must be about the process that is held now, and not about an earlier process with the same
        // id.
        if engine::inspect(info.engine, &info.name)? != info {
            return Err("it was stopped or replaced meanwhile; try again".to_owned());
        }
        let root = Arc::new(process.root()?.into());
        let held = Held { info, process, root };
        let (working_directory, path) = held.open_directory(&held.info.working_directory)?;
        Ok(Self { held: Arc::new(held), working_directory, path })
    }

    /// Returns the same container with relative paths starting at `path`, an absolute path in the container, as with
    /// `podman exec --workdir`. Links are resolved in the container.
    ///
    /// # Errors
    ///
    /// [`Error::Container`] if the path is not a directory there, or is closed to tools.
    pub fn with_working_directory(&self, path: &str) -> Result<Self, Error> {
        self.at(path).map_err(|cause| Error::Container { name: self.name(), cause })
    }

    fn at(&self, path: &str) -> Result<Self, String> {
        if !path.starts_with('/') {
            return Err(format!("its working directory `{path}`: not an absolute path, such as `/{path}`"));
        }
        let (working_directory, path) = self.held.open_directory(path)?;
        Ok(Self { held: Arc::clone(&self.held), working_directory, path })
    }

    /// Returns the engine and the name, such as `podman:web`.
    pub fn name(&self) -> String {
        self.held.info.to_string()
    }

    /// Returns the directory in the container at which relative paths start, without links.
    pub fn working_directory(&self) -> &Path {
        &self.path
    }

    /// Returns a path of the working directory on this machine, valid while this value lives.
    pub(crate) fn way_in(&self) -> PathBuf {
        mount::way_to(&self.working_directory)
    }

    /// Returns an identity that no other working directory and no other container has, even one with the same name.
    pub(crate) fn identity(&self) -> PathBuf {
        let ContainerInfo { engine, identity, .. } = &self.held.info;
        // The state of a workspace names files relative to its working directory.
        let mut name = OsString::from(format!("container:{engine}:{identity}:"));
        name.push(&self.path);
        name.into()
    }

    /// Returns the mounts of a guest: the working directory as the workspace, and the whole container for absolute
    /// paths, both at their paths in the container.
    pub(crate) fn mounts(&self, policy: &Policy) -> Result<Vec<Mount>, Error> {
        let refuse = |cause: &str| Err(Error::Container { name: self.name(), cause: cause.to_owned() });
        if !policy.allowed_directories.is_empty() {
            return refuse("`allowed_directories` of the policy are this machine's; `--set allowed_directories=[]`");
        }
        if policy.mode == paddock_policy::Mode::Unrestricted {
            return refuse("`mode: unrestricted` is of this machine's files; `--set mode=restricted`");
        }
        let Some(path) = self.path.to_str() else { return refuse("the path of its working directory is not UTF-8") };
        let access = if policy.read_only { Access::ReadOnly } else { Access::ReadWrite };
        let mount = |path: &str, opened: &File| {
            let opened = opened.try_clone().and_then(|opened| Directory::from_file(opened, path.into()));
            let directory = opened.map_err(|cause| Error::Container { name: self.name(), cause: cause.to_string() })?;
            Ok(Mount { directory, guest: path.to_owned(), access, is_contained: true, alias: None })
        };
        let whole = (path != ROOT).then(|| mount(ROOT, &self.held.root));
        [mount(path, &self.working_directory)].into_iter().chain(whole).collect()
    }

    /// Fails if the process through which the root was opened has ended.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        if self.held.process.lives() {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorCode::BackendGone,
            format!("the container `{}` has stopped or was replaced", self.name()),
        )
        .hint("calls are no longer possible; the person who runs this has to start the container and Paddock again"))
    }
}

const ROOT: &str = "/";

impl Held {
    /// Opens a directory for calls, and returns its path without links.
    fn open_directory(&self, path: &str) -> Result<(Arc<File>, PathBuf), String> {
        let (directory, path) = inside::open(&self.root, path)?;
        let checked = kernel_files::check(&*self.root).and_then(|()| kernel_files::check(&directory));
        checked.map_err(|cause| format!("its directory `{}`: {cause}", path.display()))?;
        if CLOSED_IN_CONTAINER.iter().any(|closed| path.starts_with(closed)) || path == Path::new(STATE) {
            return Err(format!("its working directory `{}` is closed to tools", path.display()));
        }
        Ok((Arc::new(directory.into()), path))
    }
}

/// A process, held by a descriptor.
#[derive(Debug)]
struct Process {
    pid: Pid,
    handle: OwnedFd,
}

impl Process {
    fn hold(pid: i32) -> Result<Self, String> {
        let pid =
            Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw).ok_or("the engine reports no process of it")?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|cause| format!("its process {pid}: {cause}"))?;
        Ok(Self { pid, handle })
    }

    /// Returns whether the process still runs; false if this is unknown.
    fn lives(&self) -> bool {
        let mut events = [PollFd::new(&self.handle, PollFlags::IN)];
        poll(&mut events, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
    }

    /// Opens the root directory of the process.
    fn root(&self) -> Result<OwnedFd, String> {
        let path = format!("/proc/{}/root", self.pid);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, &path, flags, Mode::empty()).map_err(|cause| cannot_open(&path, cause.into()))?;
        if !self.lives() {
            return Err("it stopped meanwhile".to_owned());
        }
        let own = openat(CWD, "/", flags, Mode::empty()).map_err(|cause| cannot_open("/", cause.into()))?;
        if identity(&root)? == identity(&own)? {
            return Err("its root directory is this machine's own".to_owned());
        }
        Ok(root)
    }
}

fn cannot_open(path: &str, cause: io::Error) -> String {
    let hint = match cause.kind() {
        io::ErrorKind::PermissionDenied => "; run as the user who started it, or as root",
        _ => "",
    };
    format!("`{path}`: {cause}{hint}")
}

fn identity(directory: impl AsFd) -> Result<(u64, u64), String> {
    let stat = fstat(directory).map_err(|cause| io::Error::from(cause).to_string())?;
    Ok((stat.st_dev, stat.st_ino))
}
