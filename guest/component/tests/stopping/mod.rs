//! A file system with fault injection.

use std::cell::Cell;

use paddock_types::entry::Time;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Dir, Fault, File, Filesystem, FsResult, Listing, Open, Preopen, Stat};

/// Fails at the n-th call, and with `crash` at every later call too.
pub struct Stopping<'f> {
    pub inner: &'f MemoryFs,
    pub left: Cell<u64>,
    pub crash: bool,
    /// Change by another process before the n-th call, in place of a fault.
    pub meanwhile: Option<fn(&MemoryFs)>,
    /// Preopens in addition to those of the inner file system.
    pub also: Vec<Preopen>,
}

impl Stopping<'_> {
    fn step(&self) -> FsResult<()> {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        match left {
            0 if self.crash => Err(Fault::Io("crashed".to_owned())),
            1 => {
                self.left.set(if self.crash { 0 } else { u64::MAX });
                self.meanwhile.map(|happen| happen(self.inner)).ok_or(Fault::NoSpace)
            }
            _ => Ok(()),
        }
    }
}

macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($arg: $type),*) -> FsResult<$result> {
            self.step()?;
            self.inner.$name($($arg),*)
        })*
    };
}

impl Filesystem for Stopping<'_> {
    forward! {
        open_dir(dir: &Dir, name: &str) -> Dir;
        open_file(dir: &Dir, name: &str, mode: Open) -> File;
        list(dir: &Dir) -> Listing;
        stat(dir: &Dir, name: &str) -> Stat;
        stat_file(file: &File) -> Stat;
        stat_dir(dir: &Dir) -> Stat;
        is_same_dir(dir: &Dir, other: &Dir) -> bool;
        read_link(dir: &Dir, name: &str) -> String;
        read(file: &File, offset: u64, max: usize, into: &mut Vec<u8>) -> usize;
        set_size(file: &File, size: u64) -> ();
        sync_file(file: &File) -> ();
        sync_dir(dir: &Dir) -> ();
        make_dir(dir: &Dir, name: &str) -> ();
        link(dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> ();
        symlink(dir: &Dir, name: &str, target: &str) -> ();
        rename(dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> ();
        unlink(dir: &Dir, name: &str) -> ();
        remove_dir(dir: &Dir, name: &str) -> ();
        remove_tree(dir: &Dir, name: &str) -> ();
    }

    /// A failing write has written its first half.
    fn write(&self, file: &File, offset: u64, bytes: &[u8]) -> FsResult<()> {
        self.step().inspect_err(|fault| {
            if *fault == Fault::NoSpace {
                self.inner.write(file, offset, &bytes[..bytes.len() / 2]).unwrap();
            }
        })?;
        self.inner.write(file, offset, bytes)
    }

    fn preopens(&self) -> Vec<Preopen> {
        self.inner.preopens().into_iter().chain(self.also.clone()).collect()
    }

    fn random(&self) -> u64 {
        self.inner.random()
    }

    fn now(&self) -> Time {
        self.inner.now()
    }

    fn clock_ms(&self) -> u64 {
        self.inner.clock_ms()
    }
}
