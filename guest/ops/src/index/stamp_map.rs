//! Numbers by the stamps of files.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use paddock_index::segment::Stamp;

/// A number for each stamp.
pub type StampMap = HashMap<Stamp, u32, BuildHasherDefault<StampHasher>>;

/// A hasher for stamps, which are hashes already.
#[derive(Default)]
pub struct StampHasher(u64);

impl Hasher for StampHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 ^= number;
    }
}
