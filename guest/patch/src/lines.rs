//! The lines of a file that a patch is applied to.

/// The lines of a text. Lines end in LF or CRLF; in a text without LF, in CR.
pub struct Lines<'t> {
    text: &'t str,
    /// Offset of each line in bytes. 32 bits suffice, because texts are smaller than 4 GiB, and save memory for millions
    /// of lines.
    starts: Vec<u32>,
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'t> {
    /// The line without its ending.
    pub text: &'t str,
    /// `\n`, `\r\n`, `\r`, or empty at the end of a file.
    pub ending: &'t str,
}

impl<'t> Lines<'t> {
    /// Splits `text` into lines.
    pub fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let separator = if memchr::memchr(b'\n', bytes).is_none() { b'\r' } else { b'\n' };
        let mut starts = Vec::with_capacity(memchr::memchr_iter(separator, bytes).count() + 1);
        let ends = memchr::memchr_iter(separator, bytes).map(|end| end + 1);
        starts.extend(
            std::iter::once(0).chain(ends).filter(|start| *start < text.len()).filter_map(|at| u32::try_from(at).ok()),
        );
        Self { text, starts }
    }

    /// Returns the number of lines.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the offset of the line with this index, from 0; the end of the text if there is no such line.
    pub fn start(&self, index: usize) -> usize {
        self.starts.get(index).map_or(self.text.len(), |start| *start as usize)
    }

    /// Returns the line with this index, from 0.
    pub fn get(&self, index: usize) -> Option<Line<'t>> {
        if index >= self.count() {
            return None;
        }
        let whole = self.text.get(self.start(index)..self.start(index + 1))?;
        let text = match whole.strip_suffix('\n') {
            Some(line) => line.strip_suffix('\r').unwrap_or(line),
            None if self.count() == index + 1 && self.text.contains('\n') => whole,
            None => whole.strip_suffix('\r').unwrap_or(whole),
        };
        Some(Line { text, ending: whole.get(text.len()..)? })
    }

    /// Returns all lines, in order.
    pub fn iter(&self) -> impl Iterator<Item = Line<'t>> {
        (0..self.count()).filter_map(|index| self.get(index))
    }

    /// Returns the whole text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Returns whether the text has a last line without an ending.
    pub fn is_open(&self) -> bool {
        self.count().checked_sub(1).and_then(|last| self.get(last)).is_some_and(|line| line.ending.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<(&str, &str)> {
        Lines::new(text).iter().map(|line| (line.text, line.ending)).collect()
    }

    #[test]
    fn endings_belong_to_their_lines() {
        assert_eq!(split(""), []);
        assert_eq!(split("\n"), [("", "\n")]);
        assert_eq!(split("a\r\nb\n\r\nc"), [("a", "\r\n"), ("b", "\n"), ("", "\r\n"), ("c", "")]);
        assert_eq!(split("a\rb\n"), [("a\rb", "\n")]);
        assert_eq!(split("a\nb\r"), [("a", "\n"), ("b\r", "")]);
        assert_eq!(split("a\rb"), [("a", "\r"), ("b", "")]);
        assert_eq!(split("a\r\r"), [("a", "\r"), ("", "\r")]);
    }
}
