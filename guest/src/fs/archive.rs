//! Archives (being written).

use crate::error::Result;
use crate::fs::memory::MemoryFs;

/// Replaces the tree by the archive's.
pub fn load(_memory: &MemoryFs, _archive: &[u8]) -> Result<()> {
    Ok(())
}

/// The tree as an archive.
pub fn snapshot(_memory: &MemoryFs) -> Result<Vec<u8>> {
    Ok(Vec::new())
}
