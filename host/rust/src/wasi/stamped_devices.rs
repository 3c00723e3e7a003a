//! File systems that set the time of the last change of a file's metadata at every change of the file.
//!
//! Others are left out, among them network file systems, which report times from a cache, `tmpfs`, which does not change
//! the times at a write through a memory map, and overlayfs, whose layers can be of any kind.

use std::fs::{self, File};

use rustix::fs::{Mode, OFlags, fstat, fstatfs, major, minor, openat};

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
    Some(FILE_SYSTEMS.contains(&file_system) && !is_9p(device))
}

/// Returns whether a device is a mount of 9p, which reports the type of its server's file system as its own. If that cannot be
/// found out, returns true.
fn is_9p(device: u64) -> bool {
    // 9p has no device of its own, so that the kernel makes up a number.
    major(device) == 0 && fs::read_to_string("/proc/self/mountinfo").map_or(true, |mounts| is_9p_in(device, &mounts))
}

/// Returns whether a device is a mount of 9p in a list of all mounts, in the format of `proc(5)`.
fn is_9p_in(device: u64, mounts: &str) -> bool {
    let number = format!("{}:{}", major(device), minor(device));
    let is_of_device = |mount: &str| mount.split(' ').nth(2) == Some(&number);
    let mut mounts = mounts.lines().filter_map(|line| line.split_once(" - "));
    mounts.any(|(mount, file_system)| is_of_device(mount) && file_system.starts_with("9p "))
}

#[cfg(test)]
mod tests {
    use rustix::fs::makedev;

    use super::*;

    #[test]
    fn mounts_of_9p_are_found() {
        let mounts = "24 1 0:22 / / rw,relatime shared:1 - btrfs /dev/vda1 rw\n\
                      31 24 0:4660 / /share rw,relatime - 9p host rw,trans=virtio\n\
                      32 24 8:1 / /disk rw - ext4 /dev/sda1 rw\n";
        let is_9p = |minor| is_9p_in(makedev(0, minor), mounts);
        assert_eq!([22, 4660, 4661].map(is_9p), [false, true, false]);
        assert!(!is_9p_in(makedev(8, 1), mounts));
    }
}
