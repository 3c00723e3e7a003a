//! File systems that set the time of the last change of a file's metadata at every change of the file.
//!
//! Others are left out, among them network file systems, which report times from a cache, `tmpfs`, which does not change
//! the times at a write through a memory map, and overlayfs, whose layers can be of any kind.

use std::fs::{self, File};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, fstat, fstatfs, major, openat, statx};

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
    Some(FILE_SYSTEMS.contains(&file_system) && !is_9p(device, &file))
}

/// Returns whether a file is on a mount of 9p, which reports the type of its server's file system as its own. If that cannot be
/// found out, returns true.
fn is_9p(device: u64, file: &OwnedFd) -> bool {
    // 9p has no device of its own, so that the kernel makes up a number.
    if major(device) != 0 {
        return false;
    }
    let stat = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok();
    let mount = stat.filter(|stat| stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).map(|stat| stat.stx_mnt_id);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mount.and_then(|mount| file_system(mount, &mounts)).is_none_or(|name| name == "9p")
}

/// Returns the name of the file system of a mount in a list of all mounts, in the format of `proc(5)`.
fn file_system(mount: u64, mounts: &str) -> Option<&str> {
    let id = mount.to_string();
    let mut mounts = mounts.lines().filter_map(|line| line.split_once(" - "));
    let (_, of_file_system) = mounts.find(|(of_mount, _)| of_mount.split(' ').next() == Some(&id))?;
    of_file_system.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_system_of_a_mount_is_found() {
        let mounts = "24 1 0:22 / / rw,relatime shared:1 - btrfs /dev/vda1 rw\n\
                      31 24 0:4660 / /share rw,relatime - 9p host rw,trans=virtio\n\
                      32 24 8:1 / /disk rw - ext4 /dev/sda1 rw\n";
        let names = [24, 31, 32, 3].map(|mount| file_system(mount, mounts));
        assert_eq!(names, [Some("btrfs"), Some("9p"), Some("ext4"), None]);
        let root = File::open("/").unwrap().into();
        assert!(!is_9p(rustix::fs::makedev(8, 1), &root));
    }

    #[test]
    fn a_file_of_a_listed_mount_has_a_file_system() {
        let proc = File::open("/proc/self").unwrap();
        let device = fstat(&proc).unwrap().st_dev;
        assert!(major(device) == 0 && !is_9p(device, &proc.into()));
    }
}
