//! Numbers by the stamps of files. A call that uses an index of a million files reads all of their stamps, so that a file
//! takes 20 bytes.

use crate::segment::Stamp;

/// Minimum number of slots.
const MIN_SLOTS: usize = 8;

/// Numbers by the stamps of files.
pub struct FileTable {
    /// Each number is in the first free slot from that of its key. A fifth of the slots is free.
    slots: Vec<Slot>,
    len: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    key: Key,
    number: u32,
}

/// The first 96 bits of a stamp, which is a hash: two of a million files have equal ones with a probability of 2^-57.
type Key = [u32; 3];

/// A slot without a number.
const FREE: Slot = Slot { key: [0; 3], number: FileTable::NONE };

impl FileTable {
    /// A number that is not stored.
    pub const NONE: u32 = u32::MAX;

    /// Creates a table with room for a number of files. It grows if there are more.
    pub fn with_capacity(files: usize) -> Self {
        Self { slots: vec![FREE; (files + files / 4).max(MIN_SLOTS)], len: 0 }
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of a file.
    pub fn get(&self, stamp: &Stamp) -> Option<u32> {
        let slot = self.slots.get(self.position(key(stamp)))?;
        (slot.number != Self::NONE).then_some(slot.number)
    }

    /// Sets the number of a file, which is not [`Self::NONE`].
    pub fn insert(&mut self, stamp: &Stamp, number: u32) {
        if (self.len + 1) * 5 > self.slots.len() * 4 {
            self.grow();
        }
        self.put(Slot { key: key(stamp), number });
    }

    fn grow(&mut self) {
        let larger = Self::with_capacity(self.slots.len() * 3 / 2);
        let smaller = std::mem::replace(self, larger);
        smaller.slots.into_iter().filter(|slot| slot.number != Self::NONE).for_each(|slot| self.put(slot));
    }

    fn put(&mut self, new: Slot) {
        let position = self.position(new.key);
        if let Some(slot) = self.slots.get_mut(position) {
            self.len += usize::from(slot.number == Self::NONE);
            *slot = new;
        }
    }

    /// Returns the position of the slot with a key, or of the free slot for it.
    fn position(&self, key: Key) -> usize {
        let [first, ..] = key;
        let start = ((u64::from(first) * self.slots.len() as u64) >> 32) as usize;
        let is_end = |slot: &Slot| slot.number == Self::NONE || slot.key == key;
        let from = |start: usize| self.slots.get(start..)?.iter().position(is_end).map(|distance| start + distance);
        from(start).or_else(|| from(0)).unwrap_or(start)
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
