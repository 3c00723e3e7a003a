//! The thread whose system call the supervisor serves: its arguments, memory, directories and descriptors.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use libc::seccomp_notif;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::sys;

/// Maximum length of a path in bytes, including the terminating NUL.
const PATH_MAX: usize = 4096;
const PAGE: u64 = 4096;

/// A system call that waits for the supervisor.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// Id of the notification, used to answer the call.
    pub(crate) id: u64,
    /// Id of the calling thread.
    pub(crate) task: i32,
    pub(crate) number: libc::c_long,
    arguments: [u64; 6],
}

impl Call {
    pub(crate) fn new(notification: &seccomp_notif) -> Self {
        Self {
            id: notification.id,
            task: notification.pid.cast_signed(),
            number: notification.data.nr.into(),
            arguments: notification.data.args,
        }
    }

    /// Returns an argument with all 64 bits: an address or a length.
    pub(crate) fn word(&self, index: usize) -> u64 {
        self.arguments.get(index).copied().unwrap_or(0)
    }

    /// Returns an argument that is an `int` to the kernel, which ignores the upper half.
    pub(crate) fn int(&self, index: usize) -> i32 {
        self.bits(index).cast_signed()
    }

    /// Returns an argument that is an `unsigned int` to the kernel.
    pub(crate) fn bits(&self, index: usize) -> u32 {
        u32::try_from(self.word(index) & 0xffff_ffff).unwrap_or(0)
    }

    /// Reads the path whose address is in an argument, without the terminating NUL.
    pub(crate) fn path(&self, index: usize) -> Result<CString, Errno> {
        let mut address = self.word(index);
        let mut path = Vec::new();
        while path.len() < PATH_MAX {
            // A read ends at the end of the page at the latest, because the next page may not be mapped.
            let length = usize::try_from(PAGE - address % PAGE).map_err(|_| Errno::FAULT)?.min(PATH_MAX - path.len());
            let mut part = vec![0; length.min(256)];
            let read = sys::read_memory(self.task, address, &mut part)?;
            part.truncate(read);
            if let Some(end) = part.iter().position(|it| *it == 0) {
                part.truncate(end);
                path.append(&mut part);
                return CString::new(path).map_err(|_| Errno::INVAL);
            }
            if read == 0 {
                return Err(Errno::FAULT);
            }
            address = address.wrapping_add(u64::try_from(read).map_err(|_| Errno::FAULT)?);
            path.append(&mut part);
        }
        Err(Errno::NAMETOOLONG)
    }

    /// Reads `COUNT` integers whose address is in an argument; returns `None` for a null pointer.
    pub(crate) fn integers<const COUNT: usize>(&self, index: usize) -> Result<Option<[i64; COUNT]>, Errno> {
        if self.word(index) == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0; 8 * COUNT];
        if sys::read_memory(self.task, self.word(index), &mut bytes)? != bytes.len() {
            return Err(Errno::FAULT);
        }
        let mut integers = [0; COUNT];
        for (integer, bytes) in integers.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *integer = i64::from_ne_bytes(*bytes);
        }
        Ok(Some(integers))
    }

    /// Opens the directory of a descriptor, or the working directory for `AT_FDCWD`.
    pub(crate) fn directory(&self, descriptor: i32) -> Result<OwnedFd, Errno> {
        if descriptor == libc::AT_FDCWD { self.link("cwd") } else { self.descriptor(descriptor) }
    }

    /// Opens the file behind a descriptor of the caller.
    pub(crate) fn descriptor(&self, descriptor: i32) -> Result<OwnedFd, Errno> {
        self.link(&format!("fd/{descriptor}")).map_err(|error| if error == Errno::NOENT { Errno::BADF } else { error })
    }

    /// Opens the target of one of the caller's magic links in `/proc`.
    pub(crate) fn link(&self, name: &str) -> Result<OwnedFd, Errno> {
        let path = format!("/proc/{}/{name}", self.task);
        rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    }

    /// Returns the value of a field in the caller's `/proc/TID/status`.
    pub(crate) fn status(&self, name: &str) -> Result<String, Errno> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.task)).map_err(|_| Errno::SRCH)?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|it| it.trim().to_owned()).ok_or(Errno::SRCH)
    }

    /// Returns the id of the thread's process.
    pub(crate) fn process(&self) -> Result<i32, Errno> {
        self.status("Tgid")?.parse().map_err(|_| Errno::SRCH)
    }

    pub(crate) fn umask(&self) -> Result<Mode, Errno> {
        u32::from_str_radix(&self.status("Umask")?, 8).map(Mode::from_raw_mode).map_err(|_| Errno::SRCH)
    }
}
