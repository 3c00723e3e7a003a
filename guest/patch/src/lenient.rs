//! Lenient location of chunks, as Codex and V4A do it: the first location after the previous chunk, by an exact match if
//! there is one, otherwise by passes that ignore more and more of white space and punctuation.

use paddock_types::error::Detail;
use paddock_types::match_pass::Pass;
use paddock_types::request::Matching;

use crate::apply::{Applying, Failure};
use crate::{Hunk, quoted};

impl Applying<'_> {
    /// Returns the first location of the old lines of a chunk.
    pub(super) fn sought_loosely(&mut self, hunk: &Hunk<'_>, anchors: &[&str], at_end: bool) -> Result<usize, Failure> {
        let count = self.lines.count();
        let mut from = self.cursor;
        for anchor in anchors {
            match self.first(&[anchor], from) {
                Some((_, place)) => from = place + 1,
                None if self.matching == Matching::V4a => {}
                None => {
                    let cause = format!("its context {} is not there", quoted(anchor));
                    let detail = Some(Detail::NoContext((*anchor).to_owned()));
                    return Err(Failure { detail, ..self.not_found(hunk, &[anchor], &cause) });
                }
            }
        }
        let old: Vec<_> = hunk.old().map(|row| row.text).collect();
        if old.is_empty() {
            return Ok(if anchors.is_empty() || at_end { count } else { from });
        }
        let last = count.checked_sub(old.len()).filter(|last| at_end && *last >= from);
        let found = match last.and_then(|last| self.first(&old, last)) {
            // Codex applies a chunk that is marked as the end of the file only there.
            None if !at_end || self.matching != Matching::Codex => self.first(&old, from),
            found => found,
        };
        let (pass, place) = found.ok_or_else(|| {
            let lines = old.join("\n");
            let failure = self.not_found(hunk, &old, &format!("its old lines are not there:\n{lines}"));
            Failure { detail: Some(Detail::NoOldLines(lines)), ..failure }
        })?;
        self.change.pass = self.change.pass.max(pass);
        Ok(place)
    }

    fn first(&self, old: &[&str], from: usize) -> Option<(Pass, usize)> {
        let passes: &[Pass] = match self.matching {
            Matching::Strict | Matching::Corrected => &[Pass::Exact],
            Matching::V4a => &[Pass::Exact, Pass::TrailingSpace, Pass::Trimmed],
            Matching::Codex => &Pass::ALL,
        };
        passes.iter().find_map(|pass| {
            let place = self.folded(*pass).find(old.iter().copied(), from, 1).first().copied()?;
            Some((*pass, place))
        })
    }
}

#[cfg(test)]
mod tests {
    use paddock_types::match_pass::Pass;
    use paddock_types::request::Matching;

    use crate::apply::change;
    use crate::{Action, parse_strictly as parse};

    fn apply(text: &str, chunk: &str, matching: Matching) -> Result<(String, Pass), String> {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{chunk}\n*** End Patch");
        let files = parse(&patch).unwrap();
        let Action::Update(hunks) = &files[0].action else { panic!() };
        let change = change(text, hunks, matching).map_err(|reject| reject.cause)?;
        let mut result = text.to_owned();
        for splice in change.splices.iter().rev() {
            result.replace_range(splice.range.clone(), &splice.text);
        }
        Ok((result, change.pass))
    }

    #[test]
    fn the_first_place_counts_and_the_pass_is_told() {
        let codex = |text, chunk| apply(text, chunk, Matching::Codex).unwrap();
        assert_eq!(codex("a\nb\na\n", "@@\n-a\n+x"), ("x\nb\na\n".to_owned(), Pass::Exact));
        assert_eq!(codex("a  \nb\n", "@@\n-a\n+x"), ("x\nb\n".to_owned(), Pass::TrailingSpace));
        assert_eq!(codex("\ta\nb\n", "@@\n a\n-b\n+x"), ("\ta\nx\n".to_owned(), Pass::Trimmed));
        assert_eq!(codex("“q”\n", "@@\n-\"q\"\n+x"), ("x\n".to_owned(), Pass::Punctuation));
        assert_eq!(codex("f\na\ng\na\n", "@@ g\n-a\n+x").0, "f\na\ng\nx\n");
        assert_eq!(codex("a\nb\na", "@@\n-a\n+x\n*** End of File").0, "a\nb\nx\n");
    }

    #[test]
    fn an_anchor_that_is_nowhere() {
        assert!(apply("a\n", "@@ gone\n-a\n+x", Matching::Codex).unwrap_err().contains("`gone`"));
        assert_eq!(apply("a\n", "@@ gone\n-a\n+x", Matching::V4a).unwrap().0, "x\n");
        assert!(apply("“q”\n", "@@\n-\"q\"\n+x", Matching::V4a).is_err());
    }

    #[test]
    fn the_final_newline() {
        assert_eq!(apply("a\nb", "@@\n-a\n+x", Matching::V4a).unwrap().0, "x\nb");
        assert_eq!(apply("a\nb", "@@\n-b\n+x", Matching::V4a).unwrap().0, "a\nx");
        assert_eq!(apply("a\nb", "@@\n-b\n+x", Matching::Codex).unwrap().0, "a\nx\n");
    }
}
