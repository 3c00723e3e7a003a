//! What every match of an expression has in it: a search looks for that first,
//! since literals are found many times faster than an expression is matched.

use paddock_scan::{MAX_LITERALS, Pair, Teddy, frequency};
use regex_syntax::hir::literal::{ExtractKind, Extractor, Literal, Seq};
use regex_syntax::hir::{Hir, HirKind};

/// Bytes of a literal that is one of several: more would make them no rarer.
const MAX_BYTES: usize = 8;
/// Parts of an expression that are looked at for literals: one of letters in any case has a part for each.
const MAX_PARTS: usize = 64;
/// The share of places that may look like a match for a look at literals to pay.
const MAX_SHARE: f64 = 0.02;

/// A position at which a match can be.
pub struct Literals {
    finder: Finder,
    /// What is found is a match, and not just what a match has in it.
    is_match: bool,
    /// No byte of it is beyond ASCII, so that it is the same in every encoding.
    is_ascii: bool,
}

enum Finder {
    One(Pair),
    Many(Box<Teddy>),
}

impl Literals {
    /// The rarest literals of which every match has one, if there are any worth looking for.
    pub fn of(hir: &Hir) -> Option<Self> {
        let rarest = candidates(hir).into_iter().filter_map(|seq| Some((share(&seq)?, seq)));
        let (share, seq) = rarest.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let has_looks = !hir.properties().look_set().is_empty();
        let is_match = seq.is_exact() && !has_looks && whole(hir).is_some_and(|whole| whole == seq);
        if share > MAX_SHARE && !is_match {
            return None;
        }
        let literals: Vec<Vec<u8>> = seq.literals()?.iter().map(|literal| literal.as_bytes().to_vec()).collect();
        let is_ascii = literals.iter().all(|literal| literal.is_ascii());
        let finder = match <[Vec<u8>; 1]>::try_from(literals) {
            Ok([one]) => Finder::One(Pair::new(one)?),
            Err(several) => Finder::Many(Box::new(Teddy::new(several)?)),
        };
        Some(Self { finder, is_match, is_ascii })
    }

    /// The literal that is all of each match, if there is one.
    pub fn only(&self) -> Option<&[u8]> {
        match &self.finder {
            Finder::One(pair) if self.is_match => Some(pair.needle()),
            _ => None,
        }
    }

    /// Whether a text that has none of them has none in any other encoding of it either.
    pub fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// A place in the first line from `at` on that has one; where there is only one, the place where it starts.
    pub fn find(&self, text: &[u8], at: usize) -> Option<usize> {
        match &self.finder {
            Finder::One(pair) => pair.find(text, at),
            Finder::Many(teddy) => teddy.find(text, at),
        }
    }
}

/// Sets of literals of which every match has one.
fn candidates(hir: &Hir) -> Vec<Seq> {
    let mut found: Vec<Seq> = whole(hir).into_iter().collect();
    found.extend(fronts(hir));
    let mut extractor = Extractor::new();
    found.extend(cut(extractor.kind(ExtractKind::Suffix).extract(hir), ExtractKind::Suffix));
    if let HirKind::Concat(parts) = hir.kind() {
        for (index, part) in parts.iter().enumerate().skip(1).take(MAX_PARTS) {
            let next = parts.iter().skip(index).take(MAX_BYTES).cloned();
            found.extend(fronts(&Hir::concat(next.collect())));
            if let HirKind::Repetition(repetition) = part.kind()
                && repetition.min > 0
            {
                found.extend(fronts(&repetition.sub));
            }
        }
    }
    found
}

/// All that an expression can match, uncut, where that is a few literals.
fn whole(hir: &Hir) -> Option<Seq> {
    Some(Extractor::new().extract(hir)).filter(|seq| seq.is_exact() && seq.len().is_some_and(|n| n <= MAX_LITERALS))
}

fn fronts(hir: &Hir) -> Option<Seq> {
    cut(Extractor::new().extract(hir), ExtractKind::Prefix)
}

/// The literals short enough to be few.
fn cut(mut seq: Seq, kind: ExtractKind) -> Option<Seq> {
    for bytes in (1..=MAX_BYTES).rev() {
        match kind {
            ExtractKind::Suffix => seq.keep_last_bytes(bytes),
            _ => seq.keep_first_bytes(bytes),
        }
        seq.dedup();
        if seq.len()? <= MAX_LITERALS {
            return Some(seq);
        }
    }
    None
}

/// The share of places at which one of the literals is likely to be. None where a place may have nothing.
fn share(seq: &Seq) -> Option<f64> {
    let literals = seq.literals().filter(|literals| !literals.is_empty())?;
    literals
        .iter()
        .map(|literal: &Literal| match literal.as_bytes() {
            [] => None,
            bytes => Some(bytes.iter().map(|byte| frequency(*byte)).product::<f64>()),
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pattern: &str) -> Option<Literals> {
        Literals::of(&regex_syntax::parse(pattern).unwrap())
    }

    #[test]
    fn a_plain_text_is_its_own_match() {
        let literals = of("needle_in").unwrap();
        assert_eq!(literals.only(), Some(b"needle_in".as_slice()));
        assert!(literals.is_ascii());
        assert_eq!(literals.find(b"a needle_in a", 0), Some(2));
        assert_eq!(literals.find(b"a needle_in a", 3), None);
    }

    #[test]
    fn alternatives_are_all_looked_for() {
        let literals = of("sam|samwise|frodo").unwrap();
        assert!(literals.only().is_none());
        for (text, line) in [("by samwise", 0), ("by frodo, samwise", 0), ("by\nfrodo\nsam", 1), ("-\n-\nsam", 2)] {
            let found = literals.find(text.as_bytes(), 0).unwrap();
            assert_eq!(text[..found].matches('\n').count(), line, "{text}");
        }
        assert!(literals.find(b"by someone else", 0).is_none());
    }

    #[test]
    fn the_rarest_part_is_looked_for() {
        let literals = of("fn [a-z_]+_unchecked").unwrap();
        assert!(literals.only().is_none());
        assert_eq!(literals.find(b"fn one() fn get_unchecked()", 0), Some(15));
        assert!(of("[a-z]+").is_none());
        assert!(of("x?y*").is_none());
        assert!(of(".").is_none());
    }

    #[test]
    fn letter_case_makes_several_of_one() {
        let literals = of("(?i)needle_in_haystack").unwrap();
        assert!(literals.only().is_none());
        assert!(literals.find(b"some NeEdLe_In_HaYsTaCk", 0).is_some());
        assert!(literals.find(b"something else", 0).is_none());
    }

    #[test]
    fn an_expression_of_many_parts_takes_no_longer() {
        let started = std::time::Instant::now();
        let long = "some words and more of them ".repeat(2_000);
        assert!(of(&format!("(?i){long}")).is_some());
        assert!(of(&long).is_some());
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
    }

    #[test]
    fn what_is_looked_around_for_is_no_match_yet() {
        assert!(of(r"\bneedle\b").unwrap().only().is_none());
        assert!(of("(?m)^needle").unwrap().only().is_none());
    }
}
