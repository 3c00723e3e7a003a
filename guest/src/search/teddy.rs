//! Many literals searched for at once, sixteen places at a time.
//!
//! Each literal belongs to one of eight buckets. For the first bytes of a place,
//! a table tells by each half of a byte which buckets have a literal with that
//! byte there; what all tables agree on is compared in full. This is the Teddy
//! algorithm of Hyperscan, in the 128-bit instructions that WebAssembly has.

mod block;

use block::{Block, LANES, Table};

/// Buckets, one for each bit of a byte.
const BUCKETS: usize = 8;
/// Bytes of a literal that the tables look at.
const MAX_LOOK: usize = 3;
/// Literals beyond which too many places would look like one.
pub const MAX_LITERALS: usize = 64;

/// Up to [`MAX_LITERALS`] literals, none of them empty.
pub struct Teddy {
    literals: Vec<Vec<u8>>,
    /// Which literals a bucket has, first ones first.
    buckets: [Vec<usize>; BUCKETS],
    /// For each byte that is looked at, the buckets by its low and its high half.
    tables: Vec<(Table, Table)>,
}

impl Teddy {
    /// None where a literal is empty, or where there are none or too many.
    pub fn new(literals: Vec<Vec<u8>>) -> Option<Self> {
        let shortest = literals.iter().map(Vec::len).min()?;
        if shortest == 0 || literals.len() > MAX_LITERALS {
            return None;
        }
        let look = shortest.min(MAX_LOOK);
        let mut buckets: [Vec<usize>; BUCKETS] = Default::default();
        let mut fronts: Vec<&[u8]> = Vec::new();
        for (index, literal) in literals.iter().enumerate() {
            let front = literal.get(..look)?;
            // Literals that begin alike share a bucket, and so add nothing to what looks like one.
            let group = fronts.iter().position(|known| *known == front).unwrap_or(fronts.len());
            if group == fronts.len() {
                fronts.push(front);
            }
            buckets.get_mut(group % BUCKETS)?.push(index);
        }
        let tables = (0..look).map(|at| tables(&fronts, at)).collect();
        Some(Self { literals, buckets, tables })
    }

    /// The first place from `at` on where a literal is, with the first literal of those there.
    pub fn find(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        match self.tables.as_slice() {
            [a] => self.find_by(text, at, [a]),
            [a, b] => self.find_by(text, at, [a, b]),
            [a, b, c] => self.find_by(text, at, [a, b, c]),
            _ => None,
        }
    }

    fn find_by<const LOOK: usize>(
        &self,
        text: &[u8],
        mut at: usize,
        tables: [&(Table, Table); LOOK],
    ) -> Option<(usize, usize)> {
        while let Some(window) = text.get(at..at + LANES + LOOK - 1) {
            let mut here = Block::ones();
            for (look, (low, high)) in tables.iter().enumerate() {
                let bytes = Block::load(window, look);
                here = here.and(bytes.low().pick(low)).and(bytes.high().pick(high));
            }
            if let Some(found) = here.any().then(|| self.confirm(text, at, here)).flatten() {
                return Some(found);
            }
            at += LANES;
        }
        (at..text.len()).find_map(|at| self.compare(text, at, u8::MAX))
    }

    /// The first of sixteen places where a literal really is.
    #[cold]
    fn confirm(&self, text: &[u8], at: usize, here: Block) -> Option<(usize, usize)> {
        let lanes = here.bytes();
        lanes
            .iter()
            .enumerate()
            .filter(|(_, buckets)| **buckets != 0)
            .find_map(|(lane, buckets)| self.compare(text, at + lane, *buckets))
    }

    /// The first literal of some buckets that is at a place.
    fn compare(&self, text: &[u8], at: usize, buckets: u8) -> Option<(usize, usize)> {
        let rest = text.get(at..)?;
        let named = self.buckets.iter().enumerate().filter(|(bucket, _)| buckets >> bucket & 1 == 1);
        let there = named.flat_map(|(_, literals)| literals).copied();
        let there = there.filter(|index| self.literals.get(*index).is_some_and(|literal| rest.starts_with(literal)));
        Some((at, there.min()?))
    }

    /// The literal at an index that [`Self::find`] gave.
    pub fn literal(&self, index: usize) -> &[u8] {
        self.literals.get(index).map(Vec::as_slice).unwrap_or_default()
    }
}

fn tables(fronts: &[&[u8]], at: usize) -> (Table, Table) {
    let (mut low, mut high) = (Table::default(), Table::default());
    for (group, front) in fronts.iter().enumerate() {
        let (bucket, byte) = (1 << (group % BUCKETS), front.get(at).copied().unwrap_or_default());
        low.add(byte & 0x0f, bucket);
        high.add(byte >> 4, bucket);
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(literals: &[Vec<u8>], text: &[u8], at: usize) -> Option<(usize, usize)> {
        (at..text.len()).find_map(|at| {
            let there = literals.iter().position(|literal| text[at..].starts_with(literal))?;
            Some((at, there))
        })
    }

    proptest! {
        #[test]
        fn it_finds_what_a_plain_search_finds(
            literals in prop::collection::vec(prop::collection::vec(97u8..101, 1..6), 1..64),
            text in prop::collection::vec(96u8..104, 0..200),
            at in 0usize..210,
        ) {
            let teddy = Teddy::new(literals.clone()).unwrap();
            prop_assert_eq!(teddy.find(&text, at), plain(&literals, &text, at));
        }

        #[test]
        fn it_finds_bytes_of_every_value(
            literals in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..4), 1..20),
            before in prop::collection::vec(any::<u8>(), 0..100),
            which in any::<prop::sample::Index>(),
        ) {
            let teddy = Teddy::new(literals.clone()).unwrap();
            let text = [before, which.get(&literals).clone()].concat();
            prop_assert_eq!(teddy.find(&text, 0), plain(&literals, &text, 0));
            prop_assert!(teddy.find(&text, 0).is_some());
        }
    }

    #[test]
    fn it_takes_no_empty_literal_and_not_too_many() {
        assert!(Teddy::new(vec![]).is_none());
        assert!(Teddy::new(vec![b"a".to_vec(), vec![]]).is_none());
        assert!(Teddy::new(vec![b"a".to_vec(); MAX_LITERALS + 1]).is_none());
    }
}
