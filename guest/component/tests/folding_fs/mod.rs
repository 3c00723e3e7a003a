//! A file system that finds an entry by several names, as those of macOS and Windows do.

use paddock_types::entry::Time;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Dir, File, Filesystem, FsResult, Listing, Open, Preopen, Stat};

/// Ignores letter case and normalization, and has short names with `~1`.
pub struct Folding<'f>(&'f MemoryFs, fn(&str) -> FsResult<()>);

/// Returns the form in which names are compared. The tests use no other letter with a mark than `é`.
fn folded(name: &str) -> String {
    name.replace(['é', 'É'], "e\u{301}").to_lowercase()
}

/// Returns the short name of an entry.
fn short(name: &str) -> String {
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).take(6).collect();
    format!("{letters}~1").to_lowercase()
}

impl<'f> Folding<'f> {
    /// Returns a file system that calls `check` with each name before it looks for the entry.
    pub fn with(inner: &'f MemoryFs, check: fn(&str) -> FsResult<()>) -> Self {
        Self(inner, check)
    }

    /// Returns the stored name of the entry that `name` finds, or `name` if there is no such entry.
    fn own(&self, dir: &Dir, name: &str) -> FsResult<String> {
        (self.1)(name)?;
        let wanted = folded(name);
        let mut entries = self.0.list(dir)?.entries.into_iter().map(|entry| entry.name);
        Ok(entries.find(|own| folded(own) == wanted || short(own) == wanted).unwrap_or_else(|| name.to_owned()))
    }
}

macro_rules! by_name {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, dir: &Dir, name: &str, $($arg: $type),*) -> FsResult<$result> {
            self.0.$name(dir, &self.own(dir, name)?, $($arg),*)
        })*
    };
}

macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($arg: $type),*) -> $result {
            self.0.$name($($arg),*)
        })*
    };
}

impl Filesystem for Folding<'_> {
    by_name! {
        open_dir() -> Dir;
        open_file(mode: Open) -> File;
        stat() -> Stat;
        read_link() -> String;
        make_dir() -> ();
        symlink(target: &str) -> ();
        unlink() -> ();
        remove_dir() -> ();
        remove_tree() -> ();
    }

    forward! {
        preopens() -> Vec<Preopen>;
        list(dir: &Dir) -> FsResult<Listing>;
        stat_file(file: &File) -> FsResult<Stat>;
        stat_dir(dir: &Dir) -> FsResult<Stat>;
        is_same_dir(dir: &Dir, other: &Dir) -> FsResult<bool>;
        read(file: &File, offset: u64, max: usize, into: &mut Vec<u8>) -> FsResult<usize>;
        write(file: &File, offset: u64, bytes: &[u8]) -> FsResult<()>;
        set_size(file: &File, size: u64) -> FsResult<()>;
        sync_file(file: &File) -> FsResult<()>;
        sync_dir(dir: &Dir) -> FsResult<()>;
        random() -> u64;
        now() -> Time;
        clock_ms() -> u64;
    }

    fn link(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        self.0.link(dir, &self.own(dir, name)?, to_dir, &self.own(to_dir, to)?)
    }

    /// Renames an entry. Another name of the same entry becomes its stored name; another entry at the new name is
    /// replaced.
    fn rename(&self, dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()> {
        let (from, taken) = (self.own(dir, name)?, self.own(to_dir, to)?);
        if self.0.is_same_dir(dir, to_dir)? && from == taken {
            return self.0.rename(dir, &from, to_dir, to);
        }
        self.0.rename(dir, &from, to_dir, &taken)
    }
}
