//! A directory in the form for the host and in that for guests, with one descriptor for both: a server holds thousands of
//! directories open.

use std::fs::File;
use std::io;
use std::ops::Deref;

use cap_std::fs::Dir;
use wasmtime_wasi::filesystem::Dir as GuestDir;
use wasmtime_wasi::{FsPerms, OpenMode};

pub(super) struct OneDescriptor {
    host: HostForm,
    guest: GuestDir,
}

/// The form for the host. It does not own the descriptor, which the form for guests closes.
#[cfg(unix)]
type HostForm = std::mem::ManuallyDrop<Dir>;

/// On Windows, the form for the host has a handle of its own.
#[cfg(not(unix))]
type HostForm = Dir;

impl OneDescriptor {
    pub(super) fn new(dir: Dir) -> io::Result<Self> {
        let guest = dir.into_std_file();
        let host = host_form(&guest)?;
        let guest = GuestDir::new(guest, FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE, true);
        Ok(Self { host, guest })
    }

    pub(super) fn guest(&self) -> &GuestDir {
        &self.guest
    }
}

impl Deref for OneDescriptor {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        &self.host
    }
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "the value never closes the descriptor, and exists only together with its owner")]
#[expect(clippy::unnecessary_wraps, reason = "on Windows, the handle is duplicated")]
fn host_form(owner: &File) -> io::Result<HostForm> {
    use std::os::fd::{AsRawFd, FromRawFd};

    // SAFETY: the descriptor is open.
    let borrowed = unsafe { File::from_raw_fd(owner.as_raw_fd()) };
    Ok(HostForm::new(Dir::from_std_file(borrowed)))
}

#[cfg(not(unix))]
fn host_form(owner: &File) -> io::Result<HostForm> {
    Ok(Dir::from_std_file(owner.try_clone()?))
}
