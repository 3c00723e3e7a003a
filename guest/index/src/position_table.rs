//! Positions by hashes, in memory that does not hold the hashed keys.

/// Minimum number of slots.
const MIN_SLOTS: usize = 8;
/// A slot without a position.
const FREE: u32 = u32::MAX;

/// Positions by hashes. The caller compares the keys at these positions.
pub struct PositionTable {
    /// Each position is in the first free slot from that of its hash. At least a third of the slots are free.
    slots: Vec<u32>,
    /// For each position the last bits of its hash. With fewer bits, a caller with many tables would compare many keys.
    tags: Vec<u16>,
    len: usize,
}

impl PositionTable {
    /// Creates a table with room for a number of positions. A position takes 9 bytes.
    pub fn with_capacity(positions: usize) -> Self {
        let slots = (positions + positions.div_ceil(2)).max(MIN_SLOTS);
        Self { slots: vec![FREE; slots], tags: vec![0; slots], len: 0 }
    }

    /// Returns whether there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether there is no room for a further position.
    pub fn is_full(&self) -> bool {
        self.len * 3 >= self.slots.len() * 2
    }

    /// Adds a position, unless the table is full.
    pub fn insert(&mut self, hash: u32, position: u32) {
        if self.is_full() {
            return;
        }
        let Some(free) = self.places(hash).find(|place| self.slots.get(*place) == Some(&FREE)) else { return };
        if let (Some(slot), Some(tag)) = (self.slots.get_mut(free), self.tags.get_mut(free)) {
            (*slot, *tag) = (position, hash as u16);
            self.len += 1;
        }
    }

    /// Returns all positions that were added with a hash, and one in 65,536 of those that were added near them.
    pub fn find(&self, hash: u32) -> impl Iterator<Item = u32> {
        let slot = |place: usize| Some((*self.slots.get(place)?, *self.tags.get(place)?));
        let slots = self.places(hash).map_while(slot).take_while(|(position, _)| *position != FREE);
        slots.filter(move |(_, tag)| *tag == hash as u16).map(|(position, _)| position)
    }

    /// Returns the indices of all slots, from that of a hash.
    fn places(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let start = ((u64::from(hash) * self.slots.len() as u64) >> 32) as usize;
        (start..self.slots.len()).chain(0..start)
    }
}
