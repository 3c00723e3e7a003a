//! File systems that set the time of the last change of a file's metadata at every change of the file.
//!
//! Others are left out, among them network file systems, which report times from a cache, `tmpfs`, which does not change
//! the times at a write through a memory map, and overlayfs, whose layers can be of any kind.

use std::fs::File;

use rustix::fs::{Mode, OFlags, fstat, fstatfs, openat};

/// `linux/magic.h`: ext2 to ext4, XFS, Btrfs, F2FS, bcachefs, ZFS.
const FILE_SYSTEMS: [i64; 6] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1];

/// Devices that have been checked, and whether their file system is one of [`FILE_SYSTEMS`].
#[derive(Debug, Default)]
pub(super) struct StampedDevices(Vec<(u64, bool)>);

impl StampedDevices {
    /// Returns whether the file system with the file `name`, which is on `device`, is one of [`FILE_SYSTEMS`].
    pub(super) fn contain(&mut self, device: u64, dir: &File, name: &str) -> bool {
        if let Some((_, is_stamped)) = self.0.iter().find(|(known, _)| *known == device) {
            return *is_stamped;
        }
        let Some(is_stamped) = is_stamped(device, dir, name) else { return false };
        self.0.push((device, is_stamped));
        is_stamped
    }
}

/// Returns `None` if the file is no longer on the device.
fn is_stamped(device: u64, dir: &File, name: &str) -> Option<bool> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(dir, name, flags, Mode::empty()).ok()?;
    if fstat(&file).ok()?.st_dev != device {
        return None;
    }
    let file_system = fstatfs(&file).ok()?.f_type;
    #[allow(clippy::useless_conversion, reason = "the type is narrower on some processors")]
    let file_system = i64::from(file_system) & 0xffff_ffff;
    Some(FILE_SYSTEMS.contains(&file_system))
}
