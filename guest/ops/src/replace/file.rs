//! Reads the files of a replacement.

use paddock_text::encoding;
use paddock_vfs::{Dir, FsResult, Open, READ_SIZE};
use paddock_workspace::Workspace;

/// Content of a file, by kind.
pub enum Read {
    /// Text.
    Text(Vec<u8>),
    /// Bytes that are no text.
    Binary(Vec<u8>),
    /// A file over the limit, with its size or a part of it.
    TooLarge(u64),
}

/// Reads a file whole, unless it is over the limit for whole files.
pub fn read(workspace: &Workspace<'_>, dir: &Dir, name: &str) -> FsResult<Read> {
    let (fs, limit) = (workspace.fs, workspace.policy.limits.max_file_bytes);
    let file = fs.open_file(dir, name, Open::Read)?;
    let size = fs.stat_file(&file)?.size;
    if size > limit {
        return Ok(Read::TooLarge(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
    while fs.read(&file, bytes.len() as u64, READ_SIZE, &mut bytes)? > 0 {
        if bytes.len() as u64 > limit {
            return Ok(Read::TooLarge(bytes.len() as u64));
        }
    }
    Ok(if encoding::is_binary(&bytes) { Read::Binary(bytes) } else { Read::Text(bytes) })
}
