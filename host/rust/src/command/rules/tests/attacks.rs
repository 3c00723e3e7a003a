//! Lines that run `rm` although its name is hidden, or is in an unusual place.

mod evaluated;
mod language;
mod programs;

/// Lines that must be refused if `rm` is denied.
pub(super) const REFUSED: &[&[&str]] = &[
    language::PLAIN,
    language::QUOTED,
    language::NAMED_BY_EXPANSION,
    language::READ_DIFFERENTLY,
    language::EXPANSIONS,
    language::HERE_DOCUMENTS,
    evaluated::ARITHMETIC,
    evaluated::TESTS,
    evaluated::VARIABLES,
    programs::SHELLS,
    programs::RUNNERS,
    programs::LINES,
    programs::BUILT_INS,
];
