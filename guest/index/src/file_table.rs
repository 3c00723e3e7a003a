//! Numbers by the stamps of files and directories, in the memory of a call: 26 bytes for each of them.

use std::cell::Cell;

use crate::position_table::PositionTable;
use crate::segment::Stamp;

/// Numbers by stamps.
pub struct FileTable {
    /// The keys and numbers in the order in which they were inserted.
    files: Vec<(Key, u32)>,
    /// Their indices.
    positions: PositionTable,
    /// Index of the file that is requested next if they are requested in the order in which they were inserted.
    next: Cell<usize>,
}

/// The first 96 bits of a stamp, which is a hash: two of a million files have equal ones with a probability of 2^-57.
type Key = [u32; 3];

impl FileTable {
    /// Creates a table with room for a number of files. It grows if there are more.
    pub fn with_capacity(files: usize) -> Self {
        let positions = PositionTable::with_capacity(files);
        Self { files: Vec::with_capacity(files), positions, next: Cell::new(0) }
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the number of a file.
    pub fn get(&self, stamp: &Stamp) -> Option<u32> {
        let key = key(stamp);
        let next = self.next.get();
        let index = if self.has(next, key) { next } else { self.index(key)? };
        self.next.set(index + 1);
        Some(self.files.get(index)?.1)
    }

    /// Sets the number of a file.
    pub fn insert(&mut self, stamp: &Stamp, number: u32) {
        let key = key(stamp);
        if let Some(file) = self.index(key).and_then(|index| self.files.get_mut(index)) {
            file.1 = number;
            return;
        }
        if self.positions.is_full() {
            self.grow();
        }
        let [hash, ..] = key;
        self.positions.insert(hash, self.files.len() as u32);
        self.files.push((key, number));
    }

    fn grow(&mut self) {
        self.positions = PositionTable::with_capacity((self.files.len() * 2).max(1));
        for (index, ([hash, ..], _)) in self.files.iter().enumerate() {
            self.positions.insert(*hash, index as u32);
        }
    }

    fn index(&self, key: Key) -> Option<usize> {
        let [hash, ..] = key;
        self.positions.find(hash).map(|index| index as usize).find(|index| self.has(*index, key))
    }

    fn has(&self, index: usize, key: Key) -> bool {
        self.files.get(index).is_some_and(|(own, _)| *own == key)
    }
}

fn key(Stamp([lower, upper]): &Stamp) -> Key {
    // The last bits of the second number are the mode of the file.
    [(lower >> 32) as u32, *lower as u32, (upper >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn numbers_are_those_of_a_map() {
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed ^ (seed >> 29)
        };
        for capacity in [0, 100, 20_000] {
            let (mut table, mut map) = (FileTable::with_capacity(capacity), HashMap::new());
            for number in 0..10_000 {
                // Some stamps start alike, and some come twice.
                let stamp = Stamp([random() << (number % 40), (u64::from(number % 7) << 32) | (random() >> 36)]);
                for number in [number, number + 1] {
                    table.insert(&stamp, number);
                    map.insert(key(&stamp), number);
                }
                let other = Stamp([random(), random()]);
                assert_eq!(table.get(&other), map.get(&key(&other)).copied());
                assert_eq!((table.get(&stamp), table.len()), (map.get(&key(&stamp)).copied(), map.len()));
            }
        }
    }
}
