//! Literals that every match of an expression contains. A search locates them first, which is many times faster than
//! matching the expression.

use paddock_scan::{MAX_LITERALS, Pair, Teddy, frequency};
use regex_syntax::hir::literal::{ExtractKind, Extractor, Literal, Seq};
use regex_syntax::hir::{Hir, HirKind};

/// Maximum number of bytes of a literal in a set: longer literals would not be rarer.
const MAX_BYTES: usize = 8;
/// Maximum number of parts of an expression that are examined. An expression without letter case has one part a letter.
const MAX_PARTS: usize = 64;
/// Maximum estimated candidate rate at which the literal search is faster than the expression.
const MAX_FREQUENCY: f64 = 0.02;

/// A position at which a match is possible.
pub struct Literals {
    finder: Finder,
    /// Whether a literal is the whole match, and not only a part of it.
    is_match: bool,
    /// Whether all literals are ASCII, and so equal in every encoding.
    is_ascii: bool,
}

enum Finder {
    One(Pair),
    Many(Box<Teddy>),
}

impl Literals {
    /// Returns the rarest literals of which every match contains one; `None` if a search for them would not pay.
    pub fn of(hir: &Hir) -> Option<Self> {
        let rarest = candidates(hir).into_iter().filter_map(|seq| Some((estimated_frequency(&seq)?, seq)));
        let (estimated_frequency, seq) = rarest.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let has_assertions = !hir.properties().look_set().is_empty();
        let is_match = seq.is_exact() && !has_assertions && whole(hir).is_some_and(|whole| whole == seq);
        if estimated_frequency > MAX_FREQUENCY && !is_match {
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

    /// Returns the literal that equals every match, if there is one.
    pub fn only(&self) -> Option<&[u8]> {
        match &self.finder {
            Finder::One(pair) if self.is_match => Some(pair.needle()),
            _ => None,
        }
    }

    /// Returns whether a text without these literals has none of them in any other encoding either.
    pub fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// Returns a position in the first line from `at` on that contains a literal. If there is one literal, it starts
    /// there.
    pub fn find(&self, text: &[u8], at: usize) -> Option<usize> {
        match &self.finder {
            Finder::One(pair) => pair.find(text, at),
            Finder::Many(teddy) => teddy.find(text, at),
        }
    }
}

/// Sets of literals of which every match contains one.
fn candidates(hir: &Hir) -> Vec<Seq> {
    let mut candidates: Vec<Seq> = whole(hir).into_iter().collect();
    candidates.extend(fronts(hir));
    let mut extractor = Extractor::new();
    candidates.extend(cut(extractor.kind(ExtractKind::Suffix).extract(hir), ExtractKind::Suffix));
    if let HirKind::Concat(parts) = hir.kind() {
        for (index, part) in parts.iter().enumerate().skip(1).take(MAX_PARTS) {
            let next = parts.iter().skip(index).take(MAX_BYTES).cloned();
            candidates.extend(fronts(&Hir::concat(next.collect())));
            if let HirKind::Repetition(repetition) = part.kind()
                && repetition.min > 0
            {
                candidates.extend(fronts(&repetition.sub));
            }
        }
    }
    candidates
}

/// Returns every match of an expression, if the matches are a few literals.
fn whole(hir: &Hir) -> Option<Seq> {
    Some(Extractor::new().extract(hir)).filter(|seq| seq.is_exact() && seq.len().is_some_and(|n| n <= MAX_LITERALS))
}

fn fronts(hir: &Hir) -> Option<Seq> {
    cut(Extractor::new().extract(hir), ExtractKind::Prefix)
}

/// Shortens the literals so that the set is small.
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

/// Returns the estimated rate of positions at which a literal occurs; `None` if a literal is empty.
fn estimated_frequency(seq: &Seq) -> Option<f64> {
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
            let position = literals.find(text.as_bytes(), 0).unwrap();
            assert_eq!(text[..position].matches('\n').count(), line, "{text}");
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
    fn look_around_is_not_part_of_the_match() {
        assert!(of(r"\bneedle\b").unwrap().only().is_none());
        assert!(of("(?m)^needle").unwrap().only().is_none());
    }
}
