//! Lenient location of chunks, as Codex and V4A do it: the first location after the previous chunk, by an exact match if
//! there is one, otherwise by passes that ignore more and more of white space and punctuation.

use paddock_types::error::Detail;
use paddock_types::match_pass::Pass;
use paddock_types::request::Matching;

use crate::apply::{Applying, Failure};
use crate::locate::MAX_LOCATIONS;
use crate::nearest::numbers;
use crate::{Hunk, quoted};

impl Applying<'_> {
    /// Returns the first location of the old lines of a chunk, and the shorter chunk that applies there if the chunk
    /// applies only without a blank last line.
    pub(super) fn locate_lenient<'p>(
        &mut self,
        hunk: &Hunk<'p>,
        anchors: &[&str],
        at_end: bool,
    ) -> Result<(usize, Option<Hunk<'p>>), Failure> {
        let is_codex = self.matching == Matching::Codex;
        let applied = self.cursor;
        let mut last = None;
        for (index, anchor) in anchors.iter().filter(|anchor| !anchor.trim().is_empty()).enumerate() {
            let located_pass = match is_codex {
                true => self.first(&[anchor], self.cursor),
                // If there are several anchors, the first may be above the previous chunk.
                false => {
                    self.first_by(&[Pass::Exact, Pass::Trimmed], &[anchor], if index == 0 { 0 } else { self.cursor })
                }
            };
            match located_pass {
                Some((pass, position)) => {
                    last = Some((pass, *anchor));
                    self.cursor = self.cursor.max(position + 1);
                }
                None if !is_codex && anchors.len() == 1 => {}
                None => {
                    let cause = format!("its context {} is not there", quoted(anchor));
                    let detail = Some(Detail::NoContext((*anchor).to_owned()));
                    return Err(Failure { detail, ..self.not_found(hunk, &[anchor], &cause) });
                }
            }
        }
        let old = hunk.old_texts();
        if old.is_empty() {
            if at_end || (is_codex && anchors.is_empty()) {
                return Ok((self.lines.count(), None));
            }
            // In Codex, only the one anchor says where the lines belong.
            if let (Some((pass, anchor)), true) = (last, is_codex) {
                let positions = self.folded(pass).find(&[anchor], applied, MAX_LOCATIONS);
                if positions.len() > 1 {
                    self.cursor = applied;
                    let cause = format!("its anchor {} is at {}", quoted(anchor), numbers(&positions));
                    return Err(Failure::new(cause, "add lines of context"));
                }
            }
            return Ok((self.cursor, None));
        }
        let mut shorter = None;
        // In V4A, anchors do not limit where the end of the file is.
        let floor = if is_codex { self.cursor } else { applied };
        let mut located_pass = self.located(&old, at_end, floor);
        if located_pass.is_none() && (is_codex || !(at_end || self.lines.is_open())) {
            shorter = hunk.without_last_blank();
            located_pass = shorter.as_ref().and_then(|hunk| {
                let old = hunk.old_texts();
                // In V4A, the text after the final newline is a blank line.
                let last = self.lines.count().checked_sub(old.len()).filter(|last| *last >= self.cursor);
                match is_codex {
                    _ if old.is_empty() => Some((Pass::Exact, if is_codex { self.cursor } else { last? })),
                    true => self.located(&old, at_end, floor),
                    false => self.first(&old, last?),
                }
            });
        }
        let (pass, position) = located_pass.ok_or_else(|| {
            let lines = old.join("\n");
            let failure = self.not_found(hunk, &old, &format!("its old lines are not there:\n{lines}"));
            Failure { detail: Some(Detail::NoOldLines(lines)), ..failure }
        })?;
        self.change.pass = self.change.pass.max(pass);
        Ok((position, shorter))
    }

    /// Returns the first location of `old` from the cursor on. Codex applies a chunk that is marked as the end of the file
    /// only there.
    #[inline(never)]
    fn located(&self, old: &[&str], at_end: bool, floor: usize) -> Option<(Pass, usize)> {
        let last = self.lines.count().checked_sub(old.len()).filter(|last| at_end && *last >= floor);
        match last.and_then(|last| self.first(old, last)) {
            None if !at_end || self.matching != Matching::Codex => self.first(old, self.cursor),
            located_pass => located_pass,
        }
    }

    fn first(&self, old: &[&str], from: usize) -> Option<(Pass, usize)> {
        let passes: &[Pass] = match self.matching {
            Matching::Strict | Matching::Corrected => &[Pass::Exact],
            Matching::V4a => &[Pass::Exact, Pass::TrailingSpace, Pass::Trimmed],
            Matching::Codex => &Pass::ALL,
        };
        self.first_by(passes, old, from)
    }

    #[inline(never)]
    fn first_by(&self, passes: &[Pass], old: &[&str], from: usize) -> Option<(Pass, usize)> {
        passes.iter().find_map(|pass| {
            let position = self.folded(*pass).find(old, from, 1).first().copied()?;
            Some((*pass, position))
        })
    }
}

#[cfg(test)]
mod tests {
    use paddock_types::match_pass::Pass;
    use paddock_types::request::Matching;

    use crate::apply::change;
    use crate::{Action, parse};

    fn apply(text: &str, chunk: &str, matching: Matching) -> Result<(String, Pass), String> {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{chunk}\n*** End Patch");
        let files = parse(&patch, matching).unwrap();
        let Action::Update(hunks) = &files[0].action else { panic!() };
        let change = change(text, hunks, matching).map_err(|rejects| rejects[0].cause.clone())?;
        let mut result = text.to_owned();
        for splice in change.splices.iter().rev() {
            result.replace_range(splice.range.clone(), &splice.text);
        }
        Ok((result, change.pass))
    }

    #[test]
    fn the_first_location_counts_and_the_pass_is_reported() {
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
    fn an_anchor_of_added_lines_occurs_once() {
        let text = "def a():\n    pass\n\ndef b():\n    pass\n\ndef a():\n    pass\n";
        let codex = |chunk| apply(text, chunk, Matching::Codex).map(|(text, _)| text);
        let refused = codex("@@ def a():\n+    x = 1").unwrap_err();
        assert_eq!(refused, "its anchor `def a():` is at lines 1 and 7");
        assert_eq!(codex("@@   pass\n+    x = 1").unwrap_err(), "its anchor `  pass` is at lines 2, 5 and 8");
        assert_eq!(codex("@@ def b():\n+    x = 1").unwrap(), text.replace("b():\n", "b():\n    x = 1\n"));
        // An earlier chunk or a context line tells the places apart.
        let last = format!("{}    x = 1\n    pass\n", text.strip_suffix("    pass\n").unwrap());
        assert_eq!(codex("@@\n def b():\n@@ def a():\n+    x = 1").unwrap(), last);
        assert_eq!(
            codex("@@ def a():\n     pass\n+    x = 1").unwrap(),
            text.replacen("pass\n", "pass\n    x = 1\n", 1)
        );
        assert_eq!(codex("@@ def a():\n+end\n*** End of File").unwrap(), format!("{text}end\n"));
    }

    #[test]
    fn a_blank_last_line_may_be_missing() {
        let codex = |text, chunk| apply(text, chunk, Matching::Codex).map(|(text, _)| text);
        assert_eq!(codex("a\nb\n", "@@\n-b\n+B\n").as_deref(), Ok("a\nB\n"));
        assert_eq!(codex("a\nb\n", "@@\n \n+x").as_deref(), Ok("\nx\na\nb\n"));
        assert_eq!(codex("a\nb\n", "@@\n b\n \n+x\n+").as_deref(), Ok("a\nb\n\nx\n"));
        assert_eq!(codex("\n", "@@\n \n-").as_deref(), Ok(""));
        assert_eq!(codex("a\nb\n", "@@ a\n-\n+x\n+").as_deref(), Ok("a\nx\nb\n"));
        assert!(codex("a\nb\n", "@@\n-b\n+B\n\n").is_err());
        let v4a = |text, chunk| apply(text, chunk, Matching::V4a).map(|(text, _)| text);
        assert_eq!(v4a("a\nb\n", "@@\n-b\n \n+B").as_deref(), Ok("a\n\nB\n"));
        assert_eq!(v4a("a\n", "@@\n \n+b").as_deref(), Ok("a\n\nb\n"));
        assert!(v4a("a\nb\n", "@@\n a\n \n+B").is_err());
        assert!(v4a("a", "@@\n a\n \n+B").is_err());
    }

    #[test]
    fn anchors_of_v4a() {
        let v4a = |text, chunk| apply(text, chunk, Matching::V4a).map(|(text, _)| text);
        let text = "class T\n  f\n    pass\n  g\n    pass\n";
        let twice = "@@ class T\n@@   f\n-    pass\n+    1\n@@ class T\n@@   g\n-    pass\n+    2";
        assert_eq!(v4a(text, twice).as_deref(), Ok("class T\n  f\n    1\n  g\n    2\n"));
        assert!(v4a(text, "@@ class T\n@@ h\n-    pass").unwrap_err().contains("`h`"));
        assert!(v4a(text, "@@ class X\n@@   f\n-    pass").is_err());
        assert!(v4a(text, "@@ class X\n@@\n-    pass").is_err());
        assert!(v4a(text, "@@ class T\n@@\n-    pass").is_ok());
        assert_eq!(v4a("a\nb\n", "@@\n+x\n@@ a\n+y\n@@\n+z").as_deref(), Ok("x\na\ny\nz\nb\n"));
    }

    #[test]
    fn added_lines_take_the_ending_of_the_first_line() {
        let codex = |text, chunk| apply(text, chunk, Matching::Codex).unwrap().0;
        assert_eq!(codex("a\r\nb\nc\r\n", "@@\n-b\n+B"), "a\r\nB\r\nc\r\n");
        assert_eq!(codex("a\nb\r\n", "@@\n b\n+B"), "a\nb\r\nB\n");
        assert_eq!(codex("a\r\nb\nc", "@@\n+d"), "a\r\nb\nc\r\nd\r\n");
    }

    #[test]
    fn the_final_newline() {
        assert_eq!(apply("a\nb", "@@\n-a\n+x", Matching::V4a).unwrap().0, "x\nb");
        assert_eq!(apply("a\nb", "@@\n-b\n+x", Matching::V4a).unwrap().0, "a\nx");
        assert_eq!(apply("a\nb", "@@\n-b\n+x", Matching::Codex).unwrap().0, "a\nx\n");
    }
}
