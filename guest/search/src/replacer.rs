//! Replaces the matches of a pattern in a text, by a literal text or by a template with capture groups.

use paddock_text::document::Splice;
use paddock_text::find;
use paddock_types::error::{Error, Result, Term, printable};
use paddock_types::phrase;
use paddock_types::request::Grep;
use regex_automata::meta::{Cache, Regex};
use regex_automata::util::captures::Captures;
use regex_automata::util::interpolate;
use regex_automata::util::iter::Searcher;
use regex_automata::{Input, PatternID};

use crate::matcher::{Groups, compile, expression};

/// Maximum number of group names that an error lists.
const MAX_NAMES: usize = 20;

/// A compiled pattern and the replacement of its matches.
pub struct Replacer {
    regex: Regex,
    cache: Cache,
    captures: Captures,
    replacement: String,
    /// Whether the replacement is a template.
    expands: bool,
}

/// The reason why not all matches of a text are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// The text has more matches than the limit.
    Matches,
    /// The new text is longer than the limit.
    Bytes,
}

impl Replacer {
    /// Compiles the pattern of a search, and checks that the pattern has the groups that the replacement names.
    pub fn new(args: &Grep, replacement: &str) -> Result<Self> {
        let regex = compile(&expression(args, Groups::Retained)?, true)?;
        let (cache, captures) = (regex.create_cache(), regex.create_captures());
        let expands = !args.fixed && replacement.contains('$');
        let replacer = Self { regex, cache, captures, replacement: replacement.to_owned(), expands };
        match expands.then(|| replacer.unknown_group()).flatten() {
            Some(name) => Err(replacer.refuse_group(&name)),
            None => Ok(replacer),
        }
    }

    /// Returns the replacements in `text`, in order, with the line endings of the text for `\n`.
    ///
    /// Matches do not overlap, and an empty match does not directly follow another match. The position after the last
    /// line ending has no match, as in a search. Fails above `max` matches, or `max_bytes` bytes of new text.
    pub fn splices(&mut self, text: &str, max: usize, max_bytes: usize) -> std::result::Result<Vec<Splice>, Excess> {
        let mut searcher = Searcher::new(Input::new(text));
        let (mut splices, mut bytes) = (Vec::new(), 0_usize);
        while let Ok(Some(hit)) = searcher.try_advance(|input| {
            self.regex.search_captures_with(&mut self.cache, input, &mut self.captures);
            Ok(self.captures.get_match())
        }) {
            let range = hit.range();
            if range.is_empty() && range.end == text.len() && (text.is_empty() || text.ends_with('\n')) {
                break;
            }
            let new = find::localize(text, &range, &self.expanded(text)).into_owned();
            bytes = bytes.saturating_add(new.len());
            if bytes > max_bytes {
                return Err(Excess::Bytes);
            }
            if splices.len() == max {
                return Err(Excess::Matches);
            }
            splices.push(Splice { range, text: new });
        }
        Ok(splices)
    }

    /// Returns the replacement of the last match.
    fn expanded(&self, text: &str) -> String {
        if !self.expands {
            return self.replacement.clone();
        }
        let mut new = String::with_capacity(self.replacement.len());
        self.captures.interpolate_string_into(text, &self.replacement, &mut new);
        new
    }

    /// Returns a group that the replacement names and the pattern does not have.
    fn unknown_group(&self) -> Option<String> {
        let groups = self.regex.group_info();
        let (numbers, names) = (std::cell::Cell::new(None), std::cell::RefCell::new(None));
        let number = |index: usize, _: &mut String| {
            if index >= groups.group_len(PatternID::ZERO) {
                numbers.set(numbers.get().or(Some(index)));
            }
        };
        let name = |name: &str| {
            let known = groups.to_index(PatternID::ZERO, name);
            if known.is_none() {
                names.borrow_mut().get_or_insert_with(|| name.to_owned());
            }
            known
        };
        interpolate::string(&self.replacement, number, name, &mut String::new());
        names.into_inner().or_else(|| numbers.get().map(|index| index.to_string()))
    }

    fn refuse_group(&self, unknown: &str) -> Error {
        let groups = self.regex.group_info();
        let group_name = |(index, name): (usize, Option<&str>)| match name {
            Some(name) => format!("`${{{}}}`", printable(name)),
            None if index == 0 => "`$0` (the whole match)".to_owned(),
            None => format!("`${index}`"),
        };
        let names: Vec<_> = groups.pattern_names(PatternID::ZERO).enumerate().take(MAX_NAMES).map(group_name).collect();
        let more = if groups.group_len(PatternID::ZERO) > MAX_NAMES { " and more" } else { "" };
        let follows = match unknown.trim_start_matches(|c: char| c.is_ascii_digit()) {
            rest if rest.is_empty() || rest.len() == unknown.len() => String::new(),
            rest => {
                let number = unknown.strip_suffix(rest).unwrap_or_default();
                format!("; for group {number} before `{}` write `${{{number}}}{}`", printable(rest), printable(rest))
            }
        };
        Error::argument("replacement", format!("the pattern has no group `{}`", printable(unknown)))
            .hint(format!("there are {}{more}{follows}; `$$` is a dollar sign", names.join(", ")))
            .also_hint(phrase!["with ", Term::Fixed, " every character is itself"])
    }
}

#[cfg(test)]
mod tests {
    use paddock_types::error::Code;

    use super::*;

    fn replaced(args: &Grep, replacement: &str, text: &str) -> String {
        let splices = Replacer::new(args, replacement).unwrap().splices(text, 1_000, 10_000).unwrap();
        let mut out = text.to_owned();
        splices.iter().rev().for_each(|splice| out.replace_range(splice.range.clone(), &splice.text));
        out
    }

    fn lines(pattern: &str, replacement: &str, text: &str) -> String {
        replaced(&Grep::of(pattern.to_owned()), replacement, text)
    }

    fn across(pattern: &str, replacement: &str, text: &str) -> String {
        replaced(&Grep { multiline: true, ..Grep::of(pattern.to_owned()) }, replacement, text)
    }

    #[test]
    fn groups_by_number_and_name() {
        assert_eq!(lines(r"(\w+) (?P<last>\w+)", "$last, ${1}x $$1 $0", "ab cd\n"), "cd, abx $1 ab cd\n");
        assert_eq!(lines(r"a(b)?", "[$1]", "a ab"), "[] [b]");
        let fixed = Grep { fixed: true, ..Grep::of("$1.".to_owned()) };
        assert_eq!(replaced(&fixed, "$2${x}", "$1. $1x"), "$2${x} $1x");
    }

    #[test]
    fn a_missing_group_is_reported_with_the_existing_groups() {
        let refused = |pattern: &str, replacement: &str| {
            let error = Replacer::new(&Grep::of(pattern.to_owned()), replacement).err().unwrap();
            assert_eq!(error.code, Code::InvalidArgument);
            (error.message(), error.hint_text().unwrap())
        };
        let (message, hint) = refused("(a)(?<word>b)", "$word $wrod");
        assert_eq!(message, "argument `replacement`: the pattern has no group `wrod`");
        assert!(hint.starts_with("there are `$0` (the whole match), `$1`, `${word}`;"), "{hint}");
        assert!(refused("(a)", "$1st").1.contains("for group 1 before `st` write `${1}st`"));
        assert!(refused("a", "$1").0.ends_with("no group `1`"));
        assert!(refused("a", "$0$2").0.ends_with("no group `2`"));
    }

    /// Replaces as the `regex` crate does, except at the position after the last line ending, which is not a line.
    #[test]
    fn empty_matches() {
        assert_eq!(lines("x*", "-", "abxc"), "-a-b-c-");
        assert_eq!(lines("^", "> ", "a\n\nb\n"), "> a\n> \n> b\n");
        assert_eq!(lines("$", ";", "a\r\nb"), "a;\r\nb;");
        assert_eq!(lines("(?:)", "-", "é"), "-é-");
    }

    #[test]
    fn lines_and_their_endings() {
        assert_eq!(lines(r"\s+", " ", "a\t \r\n b\r\n"), "a \r\n b\r\n");
        assert_eq!(lines("a", "1\n2", "a\r\nb\r\n"), "1\r\n2\r\nb\r\n");
        assert_eq!(across(r"a\r?\nb", "b\na", "a\r\nb\r\n"), "b\r\na\r\n");
        assert_eq!(across("(?s)<.*?>", "", "x<a\nb>y"), "xy");
        assert_eq!(Replacer::new(&Grep::of("a\nb".to_owned()), "").err().unwrap().code, Code::InvalidArgument);
    }

    #[test]
    fn letter_case() {
        use paddock_types::request::LetterCase;
        let any = Grep { letter_case: LetterCase::Insensitive, ..Grep::of("colour".to_owned()) };
        assert_eq!(replaced(&any, "color", "Colour COLOUR"), "color color");
    }

    #[test]
    fn whole_words() {
        let word =
            |pattern: &str, text: &str| replaced(&Grep { word: true, ..Grep::of(pattern.to_owned()) }, "<$0>", text);
        assert_eq!(word("get", "get getter forget get_ (get)"), "<get> getter forget get_ (<get>)");
        assert_eq!(word("get|getter", "getter"), "<getter>");
        assert_eq!(word("caf", "caf café caf\u{301}"), "<caf> café caf\u{301}");
        assert_eq!(word("größe", "größe größer Übergröße"), "<größe> größer Übergröße");
        // A pattern may begin or end with characters that are not part of a word.
        assert_eq!(word(r"\$a", "$a b$a ($a) $ab"), "<$a> b$a (<$a>) $ab");
        assert_eq!(word(r"-2", "x -2 x-2 -21"), "x <-2> x-2 -21");
        assert_eq!(word(r"f\(\)", "f() f()x xf() f().y"), "<f()> f()x xf() <f()>.y");
        assert_eq!(word(r"(?i)GET", "get Getter"), "<get> Getter");
        let fixed = Grep { word: true, fixed: true, ..Grep::of("a.b|".to_owned()) };
        assert_eq!(replaced(&fixed, "$", "a.b| a.b|c xa.b| aab|"), "$ a.b|c xa.b| aab|");
        let across = Grep { word: true, multiline: true, ..Grep::of("a\nb".to_owned()) };
        assert_eq!(replaced(&across, "-", "a\nb\nxa\nb\na\nbc\n"), "-\nxa\nb\na\nbc\n");
    }

    #[test]
    fn replacements_above_the_limits_fail() {
        let mut replacer = Replacer::new(&Grep::of("a".to_owned()), "bb").unwrap();
        assert_eq!(replacer.splices("aaa", 2, 100).unwrap_err(), Excess::Matches);
        assert_eq!(replacer.splices("aaa", 3, 5).unwrap_err(), Excess::Bytes);
        assert_eq!(replacer.splices("aaa", 3, 6).unwrap().len(), 3);
    }
}
