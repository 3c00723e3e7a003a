//! Numbers by the stamps of files. A call that uses an index of a million files reads all of their stamps, so that a file
//! takes 24 bytes.

use std::cell::Cell;

use crate::segment::Stamp;

/// Minimum number of slots.
const MIN_SLOTS: usize = 8;
/// A slot without a file.
const FREE: u32 = u32::MAX;

/// Numbers by the stamps of files.
pub struct FileTable {
    /// The files in the order in which they were inserted.
    files: Vec<(Key, u32)>,
    /// For each file its index, in the first free slot from that of its key. At least half of the slots are free.
    slots: Vec<u32>,
    /// Index of the file that is requested next if they are requested in the order in which they were inserted.
    next: Cell<usize>,
}

/// The first 96 bits of a stamp, which is a hash: two of a million files have equal ones with a probability of 2^-57.
type Key = [u32; 3];

impl FileTable {
    /// Creates a table with room for a number of files. It grows if there are more.
    pub fn with_capacity(files: usize) -> Self {
        let slots = vec![FREE; (files * 2).max(MIN_SLOTS)];
        Self { files: Vec::with_capacity(files), slots, next: Cell::new(0) }
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
        let is_next = self.files.get(self.next.get()).is_some_and(|(next, _)| *next == key);
        let index = if is_next { self.next.get() } else { self.slot(key).1? };
        self.next.set(index + 1);
        Some(self.files.get(index)?.1)
    }

    /// Sets the number of a file.
    pub fn insert(&mut self, stamp: &Stamp, number: u32) {
        let key = key(stamp);
        let (slot, index) = self.slot(key);
        if let Some(file) = index.and_then(|index| self.files.get_mut(index)) {
            file.1 = number;
            return;
        }
        self.fill(slot, self.files.len());
        self.files.push((key, number));
        if self.files.len() * 2 > self.slots.len() {
            self.grow();
        }
    }

    fn grow(&mut self) {
        self.slots = vec![FREE; self.slots.len() * 2];
        for index in 0..self.files.len() {
            let Some((key, _)) = self.files.get(index) else { return };
            let (slot, _) = self.slot(*key);
            self.fill(slot, index);
        }
    }

    fn fill(&mut self, slot: usize, index: usize) {
        if let (Some(slot), Ok(index)) = (self.slots.get_mut(slot), u32::try_from(index)) {
            *slot = index;
        }
    }

    /// Returns the slot of a key and the index of its file; without this file, the slot for it.
    fn slot(&self, key: Key) -> (usize, Option<usize>) {
        let [first, ..] = key;
        let start = ((u64::from(first) * self.slots.len() as u64) >> 32) as usize;
        let slots = self.slots.iter().enumerate();
        for (slot, index) in slots.clone().skip(start).chain(slots.take(start)) {
            if *index == FREE {
                return (slot, None);
            }
            if self.files.get(*index as usize).is_some_and(|(own, _)| *own == key) {
                return (slot, Some(*index as usize));
            }
        }
        (start, None)
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
