//! The regular expression of a search: linear in the text whatever the pattern.
//!
//! A search by lines runs over a whole buffer at once, so that the engine can skip from one candidate to the next.
//! The expression is rewritten so that it cannot match a line ending (see `within_lines`), and so finds the same
//! matches as a search line by line. If every match contains a literal, only the lines with these literals are
//! matched.
//!
//! `grep-regex` does the same, but searches for inner literals by a second regex, without the vectors of
//! `paddock_scan`.

use paddock_text::lines::{line_end, line_start};
use paddock_types::error::{Error, Result, Term};
use paddock_types::phrase;
use paddock_types::request::{Grep, LetterCase};
use regex_automata::meta::{BuildError, Cache, Config, Regex};
use regex_automata::util::syntax;
use regex_automata::{Input, Span};
use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, LookSet,
};

use crate::literals::Literals;
use crate::smart_case;

/// Maximum number of bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 64 * 1024;
/// Maximum number of bytes of a compiled pattern, and of the cached states of a search.
const MAX_PROGRAM_BYTES: usize = 10 * 1024 * 1024;
const CACHE_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of nested groups, because the parser is recursive.
const MAX_NESTING: u32 = 200;

/// A compiled pattern with its search cache.
pub struct Matcher {
    regex: Regex,
    cache: Cache,
    literals: Option<Literals>,
    multiline: bool,
    /// Whether matches depend on characters that are not ASCII, whose bytes depend on the encoding.
    pub needs_utf8: bool,
}

impl Matcher {
    /// Compiles the pattern of a search.
    pub fn new(args: &Grep) -> Result<Self> {
        let hir = expression(args, Groups::Dropped)?;
        let regex = compile(&hir, false)?;
        let (cache, literals) = (regex.create_cache(), Literals::of(&hir));
        Ok(Self { regex, cache, literals, multiline: args.multiline, needs_utf8: is_beyond_ascii(&hir) })
    }

    /// Returns the first match in `text` from `at` on. Assertions see the text before `at`.
    pub fn find(&mut self, text: &[u8], at: usize) -> Option<Span> {
        let Some(literals) = &self.literals else { return self.find_within(text, at, text.len()) };
        let mut candidate = literals.find(text, at)?;
        if let Some(only) = literals.only() {
            return Some(Span { start: candidate, end: candidate + only.len() });
        }
        if self.multiline {
            return self.find_within(text, at, text.len());
        }
        loop {
            let (start, end) = (line_start(text, candidate).max(at), line_end(text, candidate));
            if let Some(span) = self.find_within(text, start, end) {
                return Some(span);
            }
            candidate = self.literals.as_ref()?.find(text, end + 1)?;
        }
    }

    fn find_within(&mut self, text: &[u8], at: usize, end: usize) -> Option<Span> {
        if at > end {
            return None;
        }
        let input = Input::new(text).range(at..end);
        Some(self.regex.search_with(&mut self.cache, &input)?.span())
    }

    /// Returns whether a text can contain a match in its encoding. False is certain.
    pub fn may_match(&self, text: &[u8]) -> bool {
        self.literals.as_ref().is_none_or(|literals| !literals.is_ascii() || literals.find(text, 0).is_some())
    }
}

/// Treatment of capture groups.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Groups {
    /// Groups do not capture, so that a search can skip more text.
    Dropped,
    /// Groups capture, and a match consists of whole characters.
    Retained,
}

/// Returns the expression of a search. Without `multiline`, it matches no line ending.
pub fn expression(args: &Grep, groups: Groups) -> Result<Hir> {
    if args.pattern.is_empty() {
        return Err(Error::argument(Term::Pattern, "it is empty")
            .hint(phrase![Term::FindTool, " finds files by name, `^` matches every line"])
            .or_hint("`^` matches every line"));
    }
    if args.pattern.len() > MAX_PATTERN_BYTES {
        return Err(Error::argument(Term::Pattern, format!("it is longer than {MAX_PATTERN_BYTES} bytes")));
    }
    let hir = parse(args, groups == Groups::Retained)?;
    if args.multiline {
        return Ok(hir);
    }
    within_lines(hir, groups).ok_or_else(|| {
        Error::argument(Term::Pattern, "it matches a line ending, and a search goes line by line")
            .hint(phrase!["set ", Term::Multiline, " to match across lines"])
            .or_hint("search for one of the lines")
    })
}

/// Compiles an expression, for UTF-8 text or for any bytes.
pub fn compile(hir: &Hir, is_utf8: bool) -> Result<Regex> {
    let config =
        Config::new().utf8_empty(is_utf8).nfa_size_limit(Some(MAX_PROGRAM_BYTES)).hybrid_cache_capacity(CACHE_BYTES);
    Regex::builder().configure(config).build_from_hir(hir).map_err(|error| refuse_build(&error))
}

fn parse(args: &Grep, is_utf8: bool) -> Result<Hir> {
    let escaped;
    let pattern = if args.fixed {
        escaped = regex_syntax::escape(&args.pattern);
        escaped.as_str()
    } else {
        args.pattern.as_str()
    };
    let fold = match args.letter_case {
        LetterCase::Sensitive => false,
        LetterCase::Insensitive => true,
        LetterCase::Smart => smart_case::folds(pattern),
    };
    let config = syntax::Config::new().multi_line(true).crlf(true).utf8(is_utf8).case_insensitive(fold);
    let hir = syntax::parse_with(pattern, &config.nest_limit(MAX_NESTING)).map_err(|error| refuse_syntax(&error))?;
    if !args.word {
        return Ok(hir);
    }
    // Half boundaries: only the characters outside of the match count, so that the match itself may begin or end with
    // a character that is not part of a word.
    Ok(Hir::concat(vec![Hir::look(Look::WordStartHalfUnicode), hir, Hir::look(Look::WordEndHalfUnicode)]))
}

fn refuse_syntax(error: &regex_syntax::Error) -> Error {
    use regex_syntax::ast::ErrorKind;
    let (cause, at) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span().start.offset),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span().start.offset),
        _ => ("it does not parse".to_owned(), 0),
    };
    let refused = Error::argument(Term::Pattern, format!("{cause}, at byte {at}"));
    match error {
        regex_syntax::Error::Parse(error) => match error.kind() {
            ErrorKind::UnsupportedLookAround => refused.hint(
                "the engine is linear-time and has no look-around: match more than is needed, use `\\b`, or search twice",
            ),
            ErrorKind::UnsupportedBackreference => {
                refused.hint("the engine is linear-time and has no back-references: write out what repeats")
            }
            _ => refused
                .hint("escape special characters by `\\`")
                .also_hint(phrase![Term::Fixed, " searches for plain text"]),
        },
        _ => refused.hint("classes are `\\d`, `\\w`, `\\s`, `[a-z]`, `[[:alpha:]]`, or `\\p{Lu}` and its like"),
    }
}

fn refuse_build(error: &BuildError) -> Error {
    match error.size_limit() {
        Some(_) => Error::argument(Term::Pattern, format!("compiled, it is larger than {MAX_PROGRAM_BYTES} bytes"))
            .hint("use smaller repetition counts, or ASCII classes such as `[0-9]` for `\\d`"),
        None => Error::argument(Term::Pattern, "it cannot be compiled"),
    }
}

/// Rewrites the expression so that it matches no line ending: classes lose `\n` and `\r`, and `\A` and `\z` match the
/// ends of a line. `None` if the expression requires a line feed.
fn within_lines(hir: Hir, groups: Groups) -> Option<Hir> {
    let within_lines = |hir| within_lines(hir, groups);
    Some(match hir.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => return None,
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(without_endings(class)?),
        HirKind::Look(Look::Start | Look::StartLF) => Hir::look(Look::StartCRLF),
        HirKind::Look(Look::End | Look::EndLF) => Hir::look(Look::EndCRLF),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Repetition(repetition) => {
            let sub = within_lines((*repetition.sub).clone())?;
            Hir::repetition(repetition.with(sub))
        }
        HirKind::Capture(capture) if groups == Groups::Dropped => within_lines(*capture.sub)?,
        HirKind::Capture(mut capture) => {
            capture.sub = Box::new(within_lines(*capture.sub)?);
            Hir::capture(capture)
        }
        HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(within_lines).collect::<Option<_>>()?),
        HirKind::Alternation(parts) => Hir::alternation(parts.into_iter().map(within_lines).collect::<Option<_>>()?),
    })
}

/// Returns whether the expression depends on characters that are not ASCII. Bytes, as in `(?-u:\xff)`, are not characters.
fn is_beyond_ascii(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Class(Class::Bytes(_)) => false,
        HirKind::Look(look) => LookSet::singleton(*look).contains_word_unicode(),
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0).is_ok_and(|text| !text.is_ascii()),
        HirKind::Class(Class::Unicode(class)) => !class.is_ascii(),
        HirKind::Repetition(repetition) => is_beyond_ascii(&repetition.sub),
        HirKind::Capture(capture) => is_beyond_ascii(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(is_beyond_ascii),
    }
}

/// Removes line endings from the class; `None` if nothing is left.
fn without_endings(class: Class) -> Option<Class> {
    match class {
        Class::Unicode(mut class) => {
            let was_empty = class.ranges().is_empty();
            let endings = [ClassUnicodeRange::new('\n', '\n'), ClassUnicodeRange::new('\r', '\r')];
            class.difference(&ClassUnicode::new(endings));
            (was_empty || !class.ranges().is_empty()).then_some(Class::Unicode(class))
        }
        Class::Bytes(mut class) => {
            let was_empty = class.ranges().is_empty();
            class
                .difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n'), ClassBytesRange::new(b'\r', b'\r')]));
            (was_empty || !class.ranges().is_empty()).then_some(Class::Bytes(class))
        }
    }
}
