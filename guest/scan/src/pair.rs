//! Search for a literal by its two rarest bytes, at many positions at a time. The whole literal is compared at
//! positions that have both bytes.

use crate::block::{Block, LANES};
use crate::frequency;

/// Number of positions that are tested together.
const STRIDE: usize = 4 * LANES;

/// Bytes of a literal among which the two are chosen.
const MAX_INDICES: usize = 256;

/// A literal of at least one byte.
pub struct Pair {
    needle: Vec<u8>,
    /// Offsets of the rarest byte and of the second rarest byte.
    first: usize,
    second: usize,
    blocks: (Block, Block),
}

impl Pair {
    /// Creates a searcher; `None` if the literal is empty.
    pub fn new(needle: Vec<u8>) -> Option<Self> {
        let rarity = |index: usize| needle.get(index).map_or(1.0, |byte| frequency(*byte));
        let rarest = |but: &dyn Fn(usize) -> bool| {
            let indices = (0..needle.len().min(MAX_INDICES)).filter(|index| !but(*index));
            indices.min_by(|a, b| rarity(*a).total_cmp(&rarity(*b)))
        };
        let first = rarest(&|_| false)?;
        let other = rarest(&|index| needle.get(index) == needle.get(first));
        let second = other.or_else(|| rarest(&|index| index == first)).unwrap_or(first);
        let block = |index: usize| needle.get(index).map(|byte| Block::of(*byte));
        Some(Self { blocks: (block(first)?, block(second)?), needle, first, second })
    }

    /// Returns the literal.
    pub fn needle(&self) -> &[u8] {
        &self.needle
    }

    /// Returns the first position of the literal from `at` on.
    pub fn find(&self, text: &[u8], at: usize) -> Option<usize> {
        let (firsts, seconds) = (text.get(at + self.first..)?, text.get(at + self.second..)?);
        let (firsts, seconds) = (firsts.as_chunks::<STRIDE>().0, seconds.as_chunks::<STRIDE>().0);
        let mut next = at;
        for (first, second) in firsts.iter().zip(seconds) {
            if self.may_be_in(first, second)
                && let Some(position) = (next..next + STRIDE).find(|at| self.is_at(text, *at))
            {
                return Some(position);
            }
            next += STRIDE;
        }
        // The rest is shorter than a stride plus the literal's bytes after the two rarest.
        (next..text.len()).find(|at| self.is_at(text, *at))
    }

    /// Returns whether one of the positions has both bytes.
    #[inline(always)]
    fn may_be_in(&self, first: &[u8; STRIDE], second: &[u8; STRIDE]) -> bool {
        let (firsts, seconds) = (first.as_chunks::<LANES>().0, second.as_chunks::<LANES>().0);
        let mut any = Block::of(0);
        for (first, second) in firsts.iter().zip(seconds) {
            let (first, second) = (Block::load(first), Block::load(second));
            any = any.or(first.equals(self.blocks.0).and(second.equals(self.blocks.1)));
        }
        any.any()
    }

    fn is_at(&self, text: &[u8], at: usize) -> bool {
        // Nearly all candidates fail at this fast check.
        text.get(at + self.first) == self.needle.get(self.first)
            && text.get(at..).is_some_and(|rest| rest.starts_with(&self.needle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_search_equals_a_plain_search(
            needle in prop::collection::vec(97u8..100, 1..8),
            text in prop::collection::vec(97u8..101, 0..300),
            at in 0usize..310,
        ) {
            let pair = Pair::new(needle.clone()).unwrap();
            let plain = (at..text.len()).find(|at| text[*at..].starts_with(&needle));
            prop_assert_eq!(pair.find(&text, at), plain);
        }

        #[test]
        fn it_finds_any_literal_anywhere(
            needle in prop::collection::vec(any::<u8>(), 1..40),
            before in prop::collection::vec(any::<u8>(), 0..200),
            after in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let pair = Pair::new(needle.clone()).unwrap();
            let text = [before, needle.clone(), after].concat();
            let plain = (0..text.len()).find(|at| text[*at..].starts_with(&needle));
            prop_assert_eq!(pair.find(&text, 0), plain);
        }
    }

    #[test]
    fn an_empty_literal_is_none() {
        assert!(Pair::new(Vec::new()).is_none());
    }
}
