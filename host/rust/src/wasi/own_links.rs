//! Hard links that a guest created itself.

use std::collections::HashMap;

use rustix::fs::{AtFlags, Stat, statat};
use wasmtime_wasi::filesystem::Dir;

use crate::directory::Identity;

/// Hard links that a guest created to replace a file, by the identity of the file.
#[derive(Default)]
pub(crate) struct OwnLinks(HashMap<Identity, Vec<(Dir, String)>>);

impl OwnLinks {
    pub(super) fn add(&mut self, dir: &Dir, name: &str) {
        if let Ok(stat) = statat(&dir.dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            self.0.entry(identity(&stat)).or_default().push((dir.clone(), name.to_owned()));
        }
    }

    /// Returns the number of hard links of a file, without those that the guest created.
    pub(super) fn others(&self, stat: &Stat) -> u64 {
        let is_still = |(dir, name): &&(Dir, String)| {
            let there = statat(&dir.dir, name, AtFlags::SYMLINK_NOFOLLOW);
            there.is_ok_and(|there| identity(&there) == identity(stat))
        };
        let own = self.0.get(&identity(stat)).into_iter().flatten().filter(is_still).count();
        #[allow(clippy::useless_conversion, reason = "the type is narrower on some processors")]
        u64::from(stat.st_nlink).saturating_sub(own as u64)
    }
}

fn identity(stat: &Stat) -> Identity {
    Identity::new(stat.st_dev, stat.st_ino)
}
