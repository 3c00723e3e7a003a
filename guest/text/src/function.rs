//! The function around a line, found by indentation and by the words at the start of lines. This works for languages
//! with braces, with indentation and with `end`, without a parser for any of them.

use std::ops::Range;

use crate::indent::{Indentation, continues};

/// Words before the name of a function.
const DEFINING: &[&str] = &["fn", "def", "defp", "func", "function", "fun", "sub", "proc", "procedure"];
/// Words that begin a statement or another definition, so that `word (…) {` is not a function.
const NOT_DEFINING: &[&str] = &[
    "assert",
    "await",
    "case",
    "catch",
    "class",
    "defer",
    "do",
    "elif",
    "else",
    "elsif",
    "enum",
    "except",
    "extends",
    "finally",
    "for",
    "foreach",
    "go",
    "guard",
    "if",
    "impl",
    "interface",
    "lock",
    "match",
    "mod",
    "module",
    "namespace",
    "new",
    "record",
    "return",
    "struct",
    "switch",
    "synchronized",
    "throw",
    "trait",
    "try",
    "union",
    "unless",
    "until",
    "using",
    "when",
    "while",
    "with",
    "yield",
];
/// Number of characters of a line that are enough to recognize functions.
pub const LINE_CHARS: usize = 500;
/// Maximum number of lines of a signature.
const MAX_SIGNATURE: usize = 200;
/// Starts of lines that belong to the definition below them: comments, attributes, decorators, templates.
const HEADERS: &[&str] = &["//", "/*", "*", "#", "@", "--", "template", "[["];
/// Starts of preprocessor lines, which stand at column 0 inside functions too.
const PREPROCESSOR: &[&str] = &["#if", "#el", "#end", "#define", "#undef", "#pragma", "#include", "#line"];

/// Lines of a file, with the indentation of each.
pub struct Source<'s> {
    /// Texts of the lines.
    pub lines: &'s [String],
    /// Indentation of each line.
    pub shapes: &'s [Indentation],
}

impl Source<'_> {
    /// Returns the lines of the innermost named function around the line `anchor`: with `header` from the comments and
    /// attributes above it, to its last line. Returns `None` if no function is found. All are indices.
    pub fn function(&self, anchor: usize, header: bool) -> Option<Range<usize>> {
        let anchor = self.meant(anchor);
        let (mut head, mut columns) = (self.head(anchor), self.columns(anchor));
        loop {
            if let Some(opener) = self.opener(head) {
                let end = self.end(head, opener);
                if anchor < end && self.defines(head, opener) {
                    return Some(if header { self.header(head) } else { head }..end);
                }
                columns = self.columns(head);
            }
            head = self.head(self.enclosing(head, columns)?);
        }
    }

    fn body(&self, at: usize) -> &str {
        self.lines.get(at).map_or("", |line| line.trim())
    }

    fn columns(&self, at: usize) -> usize {
        self.shapes.get(at).map_or(0, Indentation::columns)
    }

    fn is_header(&self, at: usize) -> bool {
        HEADERS.iter().any(|start| self.body(at).starts_with(start)) && !self.is_preprocessor(at)
    }

    fn is_preprocessor(&self, at: usize) -> bool {
        PREPROCESSOR.iter().any(|start| self.body(at).starts_with(start))
    }

    /// Returns whether a line has no place in the nesting: a blank line, a comment, a preprocessor line, a label.
    fn is_outside(&self, at: usize) -> bool {
        let body = self.body(at);
        let is_label = self.columns(at) == 0 && body.strip_suffix(':').is_some_and(is_label);
        body.is_empty() || is_label || self.is_header(at) || self.is_preprocessor(at)
    }

    /// Returns the line whose function is requested: for a blank line one of its neighbours; for the comments,
    /// attributes and return type above a definition the first line of that definition.
    fn meant(&self, anchor: usize) -> usize {
        let is_text = |at: &usize| !self.body(*at).is_empty();
        let below = (anchor..self.lines.len()).find(is_text);
        let above = (0..anchor).rev().find(is_text);
        let anchor = match (above, below) {
            _ if is_text(&anchor) => anchor,
            (Some(above), Some(below)) if self.columns(above) >= self.columns(below) => below,
            (above, below) => above.or(below).unwrap_or(anchor),
        };
        let defined = (anchor..self.lines.len()).find(|at| !self.is_outside(*at) && !self.is_type(*at));
        defined.filter(|at| self.columns(*at) >= self.columns(anchor)).unwrap_or(anchor)
    }

    /// Returns whether a line is a return type above the name of a function, as in C.
    fn is_type(&self, at: usize) -> bool {
        let is_of_type = |it: char| it.is_alphanumeric() || "_*&<>: ".contains(it);
        let (body, below) = (self.body(at), self.body(at + 1));
        let names = below.split_once('(').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_of_type));
        let stands = self.columns(at) == self.columns(at + 1) && !body.is_empty() && !below.ends_with(';');
        stands && names && !body.ends_with(':') && !is_end(body) && body.chars().all(is_of_type)
    }

    /// Returns the first line of the statement that a line ends or continues.
    fn head(&self, at: usize) -> usize {
        let closes =
            |at: usize| continues(self.body(at)) || self.body(at).starts_with(['}', ')', ']']) || is_end(self.body(at));
        if !closes(at) {
            return at;
        }
        let columns = self.columns(at);
        let above = (0..at).rev().filter(|it| !self.is_outside(*it));
        above
            .take_while(|it| self.columns(*it) >= columns)
            .find(|it| self.columns(*it) == columns && !closes(*it))
            .unwrap_or(at)
    }

    /// Returns the nearest line above that is indented by less than `columns`.
    fn enclosing(&self, at: usize, columns: usize) -> Option<usize> {
        (0..at).rev().find(|it| !self.is_outside(*it) && self.columns(*it) < columns)
    }

    /// Returns the last line of the signature that begins at `head`: the line that opens the body.
    fn opener(&self, head: usize) -> Option<usize> {
        let columns = self.columns(head);
        let mut open = 0_i32;
        for at in head..self.lines.len().min(head + MAX_SIGNATURE) {
            let body = self.body(at);
            if at > head && self.columns(at) <= columns && !continues(body) && !self.is_outside(at) {
                return None;
            }
            open += balance(body);
            if open > 0 {
                continue;
            }
            if opens(body) || (at == head && !body.ends_with([';', ',']) && self.has_body_of_words(at)) {
                return Some(at);
            }
        }
        None
    }

    /// Returns whether a definition without a brace or colon has an indented body, as in Ruby and Lua.
    fn has_body_of_words(&self, head: usize) -> bool {
        let mut below = (head + 1..self.lines.len()).filter(|at| !self.body(*at).is_empty());
        has_definition(self.body(head)) && below.next().is_some_and(|at| self.columns(at) > self.columns(head))
    }

    /// Returns whether the signature is that of a function with a name.
    fn defines(&self, head: usize, opener: usize) -> bool {
        let signature: Vec<_> = (head..=opener).map(|at| self.body(at)).collect();
        let signature = signature.join(" ");
        let words = signature.split(|it: char| !(it.is_alphanumeric() || it == '_' || it == '$'));
        let mut words = words.filter(|word| !word.is_empty()).map(|word| NOT_DEFINING.contains(&word));
        let is_statement = words.next() == Some(true);
        if is_statement || balance(&signature) != 0 || signature.starts_with(['}', ')', ']', '.', '"', '\'']) {
            return false;
        }
        if has_definition(&signature) {
            return true;
        }
        // A modifier can stand before the word, as in `async with` and `public class`.
        if words.next() == Some(true) {
            return false;
        }
        let Some((before, _)) = signature.split_once('(') else { return false };
        let is_assigned = before.contains(" = ") || before.contains(": ");
        if signature.contains("=>") {
            return is_assigned && !before.contains("::");
        }
        let named = before.trim_end().ends_with(|it: char| it.is_alphanumeric() || "_>$~".contains(it));
        named && !is_assigned && signature.ends_with('{')
    }

    /// Returns the index after the last line of the function.
    fn end(&self, head: usize, opener: usize) -> usize {
        let columns = self.columns(head);
        let below = || (opener + 1)..self.lines.len();
        let closer = |at: &usize| self.columns(*at) == columns && self.body(*at).starts_with('}');
        if self.body(opener).ends_with('{') {
            return below().find(closer).map_or(self.lines.len(), |at| at + 1);
        }
        let after = below().find(|at| self.columns(*at) <= columns && !self.is_outside(*at));
        let end = after.map_or(self.lines.len(), |at| if is_end(self.body(at)) { at + 1 } else { at });
        // Comments and blank lines before the next definition belong to the next definition.
        let is_own = |at: &usize| {
            *at <= opener || (self.columns(*at) > columns && !self.body(*at).is_empty()) || is_end(self.body(*at))
        };
        (head..end).rev().find(is_own).map_or(end, |at| at + 1)
    }

    /// Returns the first line of the comments and attributes above `head`, and of a return type on a line of its own.
    fn header(&self, head: usize) -> usize {
        (0..head).rev().take_while(|at| self.is_header(*at) || self.is_type(*at)).last().unwrap_or(head)
    }
}

/// Returns whether a word before a colon can be a label.
fn is_label(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !NOT_DEFINING.contains(&name)
}

/// Returns whether a signature has a word that defines a function, and then a name or parameters.
fn has_definition(signature: &str) -> bool {
    let is_name = |it: char| it.is_alphanumeric() || "_.:$!?*".contains(it);
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let starts =
        signature.char_indices().map(|(at, _)| signature.split_at(at)).filter(|(before, _)| !before.ends_with(is_word));
    starts.flat_map(|(_, rest)| DEFINING.iter().filter_map(|word| rest.strip_prefix(word))).any(|rest| {
        let after = rest.trim_start().trim_start_matches(is_name).trim_start();
        rest.starts_with([' ', '(', '*', '<'])
            && (after.is_empty() || after.starts_with(['(', '<', '[', '{', '=', ':']))
    })
}

fn is_end(body: &str) -> bool {
    body.strip_prefix("end").is_some_and(|rest| !rest.starts_with(|it: char| it.is_alphanumeric() || it == '_'))
}

/// Returns whether a line ends by opening a body.
fn opens(body: &str) -> bool {
    body.ends_with(['{', ':']) || body.ends_with(" do")
}

/// Returns the number of parentheses that a line opens and does not close.
fn balance(body: &str) -> i32 {
    body.bytes().fold(0, |open, byte| match byte {
        b'(' => open + 1,
        b')' => open - 1,
        _ => open,
    })
}

#[cfg(test)]
mod tests;
