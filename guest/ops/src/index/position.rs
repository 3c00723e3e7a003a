//! The position of a pass between its parts.

/// Position of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Index of the root.
    pub root: usize,
    /// Path below the root up to which files were visited.
    pub path: String,
    /// Sum of the hashes of the rules so far that hide files.
    pub rules: u64,
    /// For each file of the index at the start of the pass and each that the pass added with new entries, its name and the
    /// number of its entries that were found.
    pub found: Vec<(String, usize)>,
}

impl Position {
    /// Returns the position as a text for the caller.
    pub fn text(&self) -> String {
        let found: String = self.found.iter().map(|(name, found)| format!("{name}:{found},")).collect();
        // The path is last, because it can contain any character.
        format!("{} {} {found} {}", self.root, self.rules, self.path)
    }

    /// Reads a position that [`Self::text`] has written.
    pub fn parse(text: &str) -> Option<Self> {
        let (root, rest) = text.split_once(' ')?;
        let (rules, rest) = rest.split_once(' ')?;
        let (found, path) = rest.split_once(' ')?;
        let of_segment = |entry: &str| {
            let (name, found) = entry.split_once(':')?;
            Some((name.to_owned(), found.parse().ok()?))
        };
        let found = found.split_terminator(',').map(of_segment).collect::<Option<_>>()?;
        Some(Self { root: root.parse().ok()?, path: path.to_owned(), rules: rules.parse().ok()?, found })
    }
}

#[cfg(test)]
mod tests {
    use super::Position;

    #[test]
    fn a_position_is_read_as_it_was_written() {
        let found = vec![("0a.segment".to_owned(), 7), ("0b.segment".to_owned(), 123)];
        for position in [Position::default(), Position { root: 2, path: "a b/c, \n:d".to_owned(), rules: 7, found }] {
            assert_eq!(Position::parse(&position.text()), Some(position));
        }
        for text in ["", "0", "x 0  a", "0 x  a", "0 0 x a", "0  a"] {
            assert_eq!(Position::parse(text), None, "{text}");
        }
    }
}
