//! A search for many literals at once, at many positions at a time.
//!
//! Each literal is identified by its three rarest consecutive bytes, and belongs to one of eight buckets. For three
//! bytes of the text, tables return for each half of a byte the buckets that have that byte at this position. Where all
//! lookups agree, the literals of those buckets are compared in full. This is the Teddy algorithm of Hyperscan, in the
//! 128-bit instructions of WebAssembly.

use crate::block::{Block, LANES, Table};
use crate::frequency;

/// Buckets, one for each bit of a byte.
const BUCKETS: usize = 8;
/// Number of bytes of a literal that the tables examine.
const FINGERPRINT_LEN: usize = 3;
/// Number of bytes that are loaded together.
const WINDOW: usize = 2 * LANES + FINGERPRINT_LEN - 1;
/// Maximum number of literals. With more, too many positions would be candidates.
pub const MAX_LITERALS: usize = 64;

/// Up to [`MAX_LITERALS`] literals, none of them empty.
pub struct Teddy {
    buckets: [Vec<Literal>; BUCKETS],
    /// Buckets by value, for each of the examined bytes.
    tables: [Byte; FINGERPRINT_LEN],
}

/// A literal, and the offset of its three rarest bytes, which are searched for.
struct Literal {
    literal: Vec<u8>,
    at: usize,
}

impl Teddy {
    /// Creates a searcher; `None` if a literal is empty, or if there are no literals or too many.
    pub fn new(literals: Vec<Vec<u8>>) -> Option<Self> {
        if literals.is_empty() || literals.len() > MAX_LITERALS || literals.iter().any(Vec::is_empty) {
            return None;
        }
        let mut buckets: [Vec<Literal>; BUCKETS] = Default::default();
        let mut fingerprints: Vec<Vec<u8>> = Vec::new();
        for literal in literals {
            let at = rarest(&literal);
            let fingerprint: Vec<u8> = literal.iter().skip(at).take(FINGERPRINT_LEN).copied().collect();
            // Literals with the same fingerprint share a bucket, and so add no false candidates.
            let group = fingerprints.iter().position(|known| *known == fingerprint).unwrap_or(fingerprints.len());
            if group == fingerprints.len() {
                fingerprints.push(fingerprint);
            }
            buckets.get_mut(group % BUCKETS)?.push(Literal { literal, at });
        }
        let tables = [0, 1, 2].map(|at| Byte::of(&fingerprints, at));
        Some(Self { buckets, tables })
    }

    /// Returns a position in the first literal from `at` on, in the order of the fingerprints.
    pub fn find(&self, text: &[u8], at: usize) -> Option<usize> {
        let mut next = at;
        while let Some(window) = text.get(next..).and_then(|rest| rest.first_chunk()) {
            if let Some(position) = self.find_in(window, text, next, at) {
                return Some(position);
            }
            next += 2 * LANES;
        }
        // The rest of the text, filled up with zeroes.
        let rest = text.get(next..).unwrap_or_default();
        let (mut window, mut more) = ([0; WINDOW], [0; WINDOW]);
        window.iter_mut().zip(rest).for_each(|(byte, source)| *byte = *source);
        more.iter_mut().zip(rest.get(2 * LANES..).unwrap_or_default()).for_each(|(byte, source)| *byte = *source);
        self.find_in(&window, text, next, at).or_else(|| self.find_in(&more, text, next + 2 * LANES, at))
    }

    /// Returns the first position in a window of the text that begins at `here`.
    #[inline(always)]
    fn find_in(&self, window: &[u8; WINDOW], text: &[u8], here: usize, from: usize) -> Option<usize> {
        let (first, second) = (self.candidates::<0, 1, 2>(window), self.candidates::<16, 17, 18>(window));
        if !first.or(second).any() {
            return None;
        }
        self.confirm(text, here, first, from).or_else(|| self.confirm(text, here + LANES, second, from))
    }

    /// Returns the buckets that may have a literal at each of sixteen positions.
    #[inline(always)]
    fn candidates<const A: usize, const B: usize, const C: usize>(&self, window: &[u8; WINDOW]) -> Block {
        let [a, b, c] = &self.tables;
        a.buckets(piece::<A>(window)).and(b.buckets(piece::<B>(window))).and(c.buckets(piece::<C>(window)))
    }

    /// Returns the first of sixteen positions at which a literal occurs that does not begin before `from`.
    #[inline(never)]
    fn confirm(&self, text: &[u8], here: usize, candidates: Block, from: usize) -> Option<usize> {
        for (lane, mut buckets) in candidates.bytes().into_iter().enumerate() {
            while buckets != 0 {
                let bucket = self.buckets.get(buckets.trailing_zeros() as usize)?;
                if bucket.iter().any(|known| known.is_at(text, here + lane, from)) {
                    return Some(here + lane);
                }
                buckets &= buckets - 1;
            }
        }
        None
    }
}

impl Literal {
    fn is_at(&self, text: &[u8], candidate: usize, from: usize) -> bool {
        let start = candidate.checked_sub(self.at).filter(|start| *start >= from);
        let rest = start.and_then(|start| text.get(start..));
        rest.is_some_and(|rest| rest.first() == self.literal.first() && rest.starts_with(&self.literal))
    }
}

/// Returns the offset of the rarest bytes of a literal.
fn rarest(literal: &[u8]) -> usize {
    let likelihood = |bytes: &[u8]| bytes.iter().map(|byte| frequency(*byte)).product::<f64>();
    let windows = literal.windows(FINGERPRINT_LEN).enumerate();
    windows.min_by(|a, b| likelihood(a.1).total_cmp(&likelihood(b.1))).map_or(0, |(at, _)| at)
}

/// Buckets by the value of the first, second or third byte of the fingerprints.
struct Byte {
    low: Table,
    high: Table,
}

impl Byte {
    /// Creates the tables for byte `at` of the fingerprints. A shorter fingerprint matches any byte.
    fn of(fingerprints: &[Vec<u8>], at: usize) -> Self {
        let (mut low, mut high) = (Table::default(), Table::default());
        for (group, fingerprint) in fingerprints.iter().enumerate() {
            let bucket = 1 << (group % BUCKETS);
            match fingerprint.get(at) {
                Some(byte) => {
                    low.add(byte & 0x0f, bucket);
                    high.add(byte >> 4, bucket);
                }
                None => (0..16).for_each(|half| {
                    low.add(half, bucket);
                    high.add(half, bucket);
                }),
            }
        }
        Self { low, high }
    }

    /// Returns, for each of these bytes, the buckets with a fingerprint that has it.
    #[inline(always)]
    fn buckets(&self, bytes: Block) -> Block {
        bytes.low().pick(&self.low).and(bytes.high().pick(&self.high))
    }
}

/// Returns sixteen bytes of a window.
#[inline(always)]
fn piece<const AT: usize>(window: &[u8; WINDOW]) -> Block {
    let (_, rest) = window.split_at(AT);
    rest.first_chunk().map_or(Block::of(0), Block::load)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the first line from `at` on that has a literal.
    fn line(text: &[u8], at: usize) -> usize {
        text[..at].iter().filter(|byte| **byte == b'\n').count()
    }

    fn plain(literals: &[Vec<u8>], text: &[u8], at: usize) -> Option<usize> {
        (at..text.len()).find(|at| literals.iter().any(|literal| text[*at..].starts_with(literal)))
    }

    proptest! {
        #[test]
        fn it_finds_the_line_that_a_plain_search_finds(
            literals in prop::collection::vec(prop::collection::vec(97u8..101, 1..6), 1..64),
            text in prop::collection::vec(prop_oneof![96u8..104, Just(b'\n')], 0..200),
            at in 0usize..210,
        ) {
            let teddy = Teddy::new(literals.clone()).unwrap();
            let (position, expected) = (teddy.find(&text, at), plain(&literals, &text, at));
            prop_assert_eq!(position.map(|at| line(&text, at)), expected.map(|at| line(&text, at)));
        }

        #[test]
        fn it_finds_bytes_of_every_value(
            literals in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..9), 1..20),
            before in prop::collection::vec(any::<u8>(), 0..100),
            which in any::<prop::sample::Index>(),
        ) {
            let teddy = Teddy::new(literals.clone()).unwrap();
            let text = [before, which.get(&literals).clone()].concat();
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
