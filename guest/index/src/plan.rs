//! The trigrams that every text which an expression matches must contain.
//!
//! The expression is folded as the texts are, without its assertions, and then matches at least the folded forms of its
//! former matches. `regex-syntax` extracts the literals with which its matches, and those of its parts, begin and end.

use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};
use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition,
};

use crate::grams;

/// Maximum number of parts of a sequence that are examined, and number of parts after each that a literal can contain.
const MAX_PARTS: usize = 64;
const MAX_LITERAL_PARTS: usize = 16;
/// Maximum number of characters of a class that are alternatives, and of literals that are alternatives.
const MAX_CLASS: usize = 4;
const MAX_LITERALS: usize = 32;
/// Maximum number of trigrams of a literal, and of different trigrams of a plan. More would exclude no more files.
const MAX_LITERAL_GRAMS: usize = 12;
const MAX_GRAMS: usize = 96;
/// Maximum number of conditions that must all hold. More would exclude no more files.
const MAX_CONDITIONS: usize = 4 * MAX_GRAMS;
/// Maximum depth of nested parts.
const MAX_DEPTH: usize = 8;

/// A condition that every text with a match satisfies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Any text may match.
    Any,
    /// The text contains the trigram with this hash.
    Gram(u16),
    /// The text satisfies all conditions.
    All(Vec<Plan>),
    /// The text satisfies one of the conditions.
    One(Vec<Plan>),
}

impl Plan {
    /// Returns the plan of a search.
    pub fn of(expression: &Hir) -> Self {
        required(&folded(expression), 0).bounded()
    }

    /// Returns the plan with the conditions of the fewest trigrams, as many as the limit allows.
    fn bounded(self) -> Self {
        if self.grams().len() <= MAX_GRAMS {
            return self;
        }
        let Self::All(plans) = self else { return Self::Any };
        let sizes: Vec<usize> = plans.iter().map(|plan| plan.grams().len()).collect();
        let (mut fitting, mut count) = (Vec::new(), 0);
        for size in 1..=MAX_GRAMS {
            for (plan, _) in plans.iter().zip(&sizes).filter(|(_, own)| **own == size) {
                count += size;
                if count <= MAX_GRAMS {
                    fitting.push(plan.clone());
                }
            }
        }
        Self::all(fitting)
    }

    /// Returns the hashes of the plan in ascending order, each once.
    pub fn grams(&self) -> Vec<u16> {
        let mut grams = Vec::new();
        self.collect(&mut grams);
        grams.sort_unstable();
        grams.dedup();
        grams
    }

    fn collect(&self, grams: &mut Vec<u16>) {
        match self {
            Self::Any => {}
            Self::Gram(gram) => grams.push(*gram),
            Self::All(plans) | Self::One(plans) => plans.iter().for_each(|plan| plan.collect(grams)),
        }
    }

    /// Returns the groups of files that satisfy the plan, given the groups with each trigram. A trigram that is not in
    /// `rows` is in every group.
    pub fn groups(&self, count: usize, rows: &[(u16, NumberSet)]) -> NumberSet {
        match self {
            Self::Any => NumberSet::all(count),
            Self::Gram(gram) => {
                let row = rows.iter().find(|(of, _)| of == gram);
                row.map_or_else(|| NumberSet::all(count), |(_, groups)| groups.clone())
            }
            Self::All(plans) => plans.iter().fold(NumberSet::all(count), |mut groups, plan| {
                groups.combine(&plan.groups(count, rows), |own, other| own & other);
                groups
            }),
            Self::One(plans) => plans.iter().fold(NumberSet::none(count), |mut groups, plan| {
                groups.combine(&plan.groups(count, rows), |own, other| own | other);
                groups
            }),
        }
    }

    /// Returns the condition that all conditions hold, without some of them if there are too many.
    fn all(plans: Vec<Self>) -> Self {
        let mut parts = Vec::new();
        for plan in plans {
            match plan {
                Self::Any => {}
                Self::All(inner) => inner.into_iter().for_each(|plan| add(&mut parts, plan)),
                other => add(&mut parts, other),
            }
            parts.truncate(MAX_CONDITIONS);
        }
        if parts.len() > 1 { Self::All(parts) } else { parts.pop().unwrap_or(Self::Any) }
    }

    /// Returns the alternative of conditions; `Any` if there are too many. Without conditions, the expression matches
    /// nothing; the plan is then not used, because nothing depends on the speed of such a search.
    fn one(plans: impl IntoIterator<Item = Self>) -> Self {
        let mut parts = Vec::new();
        for plan in plans {
            match plan {
                Self::Any => return Self::Any,
                Self::One(inner) => inner.into_iter().for_each(|plan| add(&mut parts, plan)),
                other => add(&mut parts, other),
            }
            // Their trigrams would be too many.
            if parts.len() > MAX_GRAMS {
                return Self::Any;
            }
        }
        if parts.len() > 1 { Self::One(parts) } else { parts.pop().unwrap_or(Self::Any) }
    }
}

/// Adds a condition that is not there yet.
fn add(parts: &mut Vec<Plan>, plan: Plan) {
    if !parts.contains(&plan) {
        parts.push(plan);
    }
}

/// A set of numbers below a bound: groups of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberSet {
    words: Vec<u64>,
}

impl NumberSet {
    /// Creates an empty set of numbers below `bound`.
    pub fn none(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)] }
    }

    /// Creates the set of all numbers below `bound`.
    pub fn all(bound: usize) -> Self {
        let mut words = vec![u64::MAX; bound.div_ceil(64)];
        if let Some(last) = words.last_mut() {
            *last >>= bound.wrapping_neg() % 64;
        }
        Self { words }
    }

    /// Adds a number below the bound.
    pub fn insert(&mut self, number: usize) {
        if let Some(word) = self.words.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    /// Returns whether the set contains a number.
    pub fn contains(&self, number: usize) -> bool {
        self.words.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Returns how many numbers are in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns whether no number is in the set.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn combine(&mut self, other: &Self, combine: impl Fn(u64, u64) -> u64) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word = combine(*word, *other);
        }
    }
}

/// Returns the condition of a folded expression.
fn required(expression: &Hir, depth: usize) -> Plan {
    let mut plans = vec![literals(expression, ExtractKind::Prefix), literals(expression, ExtractKind::Suffix)];
    if depth > MAX_DEPTH {
        return Plan::all(plans);
    }
    match expression.kind() {
        HirKind::Concat(parts) => {
            for (index, part) in parts.iter().enumerate().take(MAX_PARTS) {
                let following = Hir::concat(parts.iter().skip(index).take(MAX_LITERAL_PARTS).cloned().collect());
                plans.push(literals(&following, ExtractKind::Prefix));
                plans.push(required(part, depth + 1));
            }
        }
        HirKind::Alternation(parts) => {
            plans.push(Plan::one(parts.iter().map(|part| required(part, depth + 1))));
        }
        HirKind::Repetition(repetition) if repetition.min > 0 => plans.push(required(&repetition.sub, depth + 1)),
        _ => {}
    }
    Plan::all(plans)
}

/// Returns the condition that a text contains one of the literals with which the matches of an expression begin or end.
fn literals(expression: &Hir, kind: ExtractKind) -> Plan {
    let mut extractor = Extractor::new();
    extractor.kind(kind).limit_class(MAX_CLASS).limit_total(MAX_LITERALS);
    let literals: Seq = extractor.extract(expression);
    let Some(literals) = literals.literals() else { return Plan::Any };
    Plan::one(literals.iter().map(|literal| contains(literal.as_bytes())))
}

/// Returns the condition that a text contains a folded literal.
fn contains(literal: &[u8]) -> Plan {
    // Trigrams in equal distances are as selective as all of them.
    let step = literal.len().div_ceil(MAX_LITERAL_GRAMS).max(1);
    Plan::all(grams::of(literal).step_by(step).map(Plan::Gram).collect())
}

/// Returns the expression for folded text, without assertions and groups.
fn folded(expression: &Hir) -> Hir {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0.iter().map(|byte| grams::fold(*byte)).collect::<Vec<_>>()),
        HirKind::Class(class) => Hir::class(folded_class(class)),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(folded(&repetition.sub));
            Hir::repetition(Repetition { sub, ..repetition.clone() })
        }
        HirKind::Capture(capture) => folded(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(folded).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(folded).collect()),
    }
}

fn folded_class(class: &Class) -> Class {
    match class {
        Class::Unicode(class) => {
            let ranges = class.iter().flat_map(|range| {
                let ascii = (range.start()..=range.end()).take_while(char::is_ascii).filter_map(|character| {
                    let folded = char::from(grams::fold(u8::try_from(character).ok()?));
                    Some(ClassUnicodeRange::new(folded, folded))
                });
                let rest = ClassUnicodeRange::new(range.start().max('\u{80}'), range.end().max('\u{80}'));
                ascii.chain((!range.end().is_ascii()).then_some(rest))
            });
            Class::Unicode(ClassUnicode::new(ranges.collect::<Vec<_>>()))
        }
        Class::Bytes(class) => {
            let bytes = class.iter().flat_map(|range| range.start()..=range.end());
            let ranges = bytes.map(grams::fold).map(|folded| ClassBytesRange::new(folded, folded));
            Class::Bytes(ClassBytes::new(ranges.collect::<Vec<_>>()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(pattern: &str) -> Plan {
        Plan::of(&regex_syntax::parse(pattern).unwrap())
    }

    /// Returns a text that does not depend on the order of conditions.
    fn normal(plan: &Plan) -> String {
        let (name, plans) = match plan {
            Plan::Any | Plan::Gram(_) => return format!("{plan:?}"),
            Plan::All(plans) => ("All", plans),
            Plan::One(plans) => ("One", plans),
        };
        let mut plans: Vec<_> = plans.iter().map(normal).collect();
        plans.sort();
        format!("{name}({})", plans.join(" "))
    }

    #[track_caller]
    fn check(pattern: &str, expected: &Plan) {
        assert_eq!(normal(&plan(pattern)), normal(expected), "{pattern}");
    }

    fn of_text(text: &str) -> Plan {
        contains(text.as_bytes())
    }

    #[test]
    fn a_literal_is_required_in_any_case() {
        check("Needle_in", &of_text("needle_in"));
        check("(?i)needle_in", &of_text("needle_in"));
        check(r"\bneedle$", &of_text("needle"));
        check("(?m)^a\tb\r\nc", &of_text("a b  c"));
    }

    #[test]
    fn letters_with_other_forms_are_alternatives() {
        let long_s =
            Plan::one(vec![of_text("ask"), of_text("a\u{17f}k"), of_text("as\u{212a}"), of_text("a\u{17f}\u{212a}")]);
        check("(?i)ask", &long_s);
    }

    #[test]
    fn alternatives_and_parts() {
        check("abc|xyz", &Plan::one(vec![of_text("abc"), of_text("xyz")]));
        check("abcd.*wxyz", &Plan::all(vec![of_text("abcd"), of_text("wxyz")]));
        check("x*abcd[0-9]+wxy+", &Plan::all(vec![of_text("abcd"), of_text("wxy")]));
        let admits = |pattern: &str, text: &str| {
            let own: Vec<u16> = grams::of(text.as_bytes()).collect();
            let row = |gram| (gram, if own.contains(&gram) { NumberSet::all(1) } else { NumberSet::none(1) });
            let plan = plan(pattern);
            plan.groups(1, &plan.grams().into_iter().map(row).collect::<Vec<_>>()).contains(0)
        };
        assert!(admits("(?:abc|def)+x?", "xxdef") && !admits("(?:abc|def)+x?", "ab ef"));
        assert!(admits("(abc.*def|ghi)", "abcdef") && admits("(abc.*def|ghi)", "ghi"));
        assert!(!admits("(abc.*def|ghi)", "abc") && !admits("(abc.*def|ghi)", "def"));
    }

    #[test]
    fn nothing_is_required() {
        for pattern in ["", ".", "a", "ab", "[a-z]+", "abc|x", "(?:abc)?", "(?:abc)*", r"\w{3}", "[a&&b]", "(?s).*"] {
            assert_eq!(plan(pattern), Plan::Any, "{pattern}");
        }
        let many: Vec<String> = (0..500).map(|number| format!("word{number}")).collect();
        assert!(plan(&many.join("|")).grams().len() <= MAX_GRAMS);
    }

    #[test]
    fn a_large_expression_is_planned_quickly() {
        let started = std::time::Instant::now();
        let long = "some words and more of them ".repeat(2_000);
        let words: Vec<String> = (0..8_500).map(|number| format!("w{number:05}")).collect();
        let words = words.join("|");
        let nested = format!("(?:{})", format!("(?:{}).*", &long[..800]).repeat(40)).repeat(2);
        for pattern in [
            &long,
            &format!("(?i){long}"),
            &"(?:a|b?c){1,9}".repeat(400),
            &"(?:".repeat(90),
            &words,
            &format!("(?:{words}).*needle_in"),
            &nested,
        ] {
            let Ok(hir) = regex_syntax::parse(pattern) else { continue };
            Plan::of(&hir);
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
    }
}
