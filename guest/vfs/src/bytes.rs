//! Reads and copies of open files in parts.

use paddock_types::digest::hex;
use sha2::{Digest, Sha256};

use crate::{Fault, File, Filesystem, FsResult, READ_SIZE};

/// Returns the SHA-256 of an open file in hexadecimal, in constant memory.
pub fn digest(fs: &dyn Filesystem, file: &File) -> FsResult<String> {
    let mut hash = Sha256::new();
    each_part(fs, file, 0, u64::MAX, |_, part| {
        hash.update(part);
        Ok(())
    })?;
    Ok(hex(&hash.finalize()))
}

/// Copies one open file to another in constant memory, and returns the number of bytes.
pub fn copy_bytes(fs: &dyn Filesystem, from: &File, to: &File) -> FsResult<u64> {
    each_part(fs, from, 0, u64::MAX, |offset, part| fs.write(to, offset, part))
}

/// Returns all bytes of an open file. Fails with [`Fault::TooLarge`] if the file has more than `max`.
pub fn read_up_to(fs: &dyn Filesystem, file: &File, max: u64) -> FsResult<Vec<u8>> {
    let mut bytes = Vec::new();
    while fs.read(file, bytes.len() as u64, READ_SIZE, &mut bytes)? > 0 {
        if bytes.len() as u64 > max {
            return Err(Fault::TooLarge);
        }
    }
    Ok(bytes)
}

/// Calls `take` with each part of `size` bytes of a file from `start`, and with the offset of the part. Returns the number
/// of bytes read.
pub fn each_part(
    fs: &dyn Filesystem,
    file: &File,
    start: u64,
    size: u64,
    mut take: impl FnMut(u64, &[u8]) -> FsResult<()>,
) -> FsResult<u64> {
    let (mut offset, mut part) = (0, Vec::with_capacity(READ_SIZE));
    loop {
        part.clear();
        let length = usize::try_from(size - offset).map_or(READ_SIZE, |rest| rest.min(READ_SIZE));
        if length == 0 || fs.read(file, start.saturating_add(offset), length, &mut part)? == 0 {
            return Ok(offset);
        }
        take(offset, &part)?;
        offset += part.len() as u64;
    }
}
