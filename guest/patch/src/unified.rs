//! The unified diff, in the formats of `diff -u` and git.
//!
//! `diffy` is linked for merges, and its parser is not used: its errors have a private kind and a byte offset, whereas
//! a caller here gets the line, the cause and the remedy. It does not correct wrong counts either.

use paddock_types::error::{Code, Error, Result};
use paddock_types::request::Matching;

use crate::{Cursor, FilePatch, Hunk, PatchLine, Row, RowKind, Where, formats, header, invalid, quoted};

/// Parses a unified diff. Lines before, between and after the parts of files, as in mails and commits, are skipped.
pub fn parse(mut cursor: Cursor<'_>, matching: Matching) -> Result<Vec<FilePatch<'_>>> {
    let mut files = Vec::new();
    while let Some(line) = cursor.peek() {
        if let Some(header) = header::parse(&mut cursor)? {
            let hunks = hunks(&mut cursor, matching)?;
            files.push(header.finish(hunks)?);
            continue;
        }
        if line.text.starts_with("@@ -") {
            return Err(
                invalid(line.number, "this hunk belongs to no file").hint("put `--- a/path` and `+++ b/path` above it")
            );
        }
        header::refuse_binary(line)?;
        cursor.next();
    }
    if files.is_empty() {
        return Err(formats(Error::new(Code::PatchInvalid, "cannot read the patch: it has no file header")));
    }
    Ok(files)
}

fn hunks<'p>(cursor: &mut Cursor<'p>, matching: Matching) -> Result<Vec<Hunk<'p>>> {
    let mut hunks = Vec::new();
    // Number of lines that the hunks so far add to the file, as a wrapping difference.
    let mut shift = 0_usize;
    loop {
        let behind = *cursor;
        cursor.skip_blank();
        let Some(line) = cursor.peek() else { break };
        if line.text.starts_with("@@") {
            cursor.next();
            let mut hunk = match matching {
                Matching::Corrected => corrected(cursor, line)?,
                _ => counted(cursor, line)?,
            };
            if hunk.old().next().is_none() && Counts::parse(line.text).is_some_and(|counts| counts.differ_by() != shift)
            {
                hunk.mistake = Some("the two line numbers of its header contradict each other");
            }
            shift = hunk.rows.iter().fold(shift, |shift, row| match row.kind {
                RowKind::Add => shift.wrapping_add(1),
                RowKind::Remove => shift.wrapping_sub(1),
                RowKind::Keep => shift,
            });
            hunks.push(hunk);
            continue;
        }
        if has_row(*cursor)? {
            let cause = match hunks.last() {
                Some(_) => "this line is beyond what the header of its hunk counts",
                None => "this line is before any hunk header",
            };
            return Err(invalid(line.number, cause)
                .hint("a hunk starts with `@@ -line,count +line,count @@`, and the counts have to be right"));
        }
        *cursor = behind;
        if matching == Matching::Corrected {
            refuse_interrupted(behind)?;
        }
        break;
    }
    Ok(hunks)
}

/// Refuses a line without a prefix that interrupts a hunk. Other text after a hunk is skipped.
fn refuse_interrupted(mut cursor: Cursor<'_>) -> Result<()> {
    let Some(first) = cursor.peek().filter(|line| line.text != SIGNATURE) else { return Ok(()) };
    while header::parse(&mut { cursor })?.is_none()
        && let Some(line) = cursor.next().filter(|line| !line.text.is_empty())
    {
        if line.number > first.number && line.text.starts_with(['+', '-']) {
            return Err(invalid(first.number, "this line of a hunk begins with none of ` `, `-` and `+`")
                .hint("a line of context begins with a space"));
        }
    }
    Ok(())
}

/// Two dashes and a space start the signature of a mail.
const SIGNATURE: &str = "-- ";

/// Returns whether the next line is a line of a hunk.
fn has_row(cursor: Cursor<'_>) -> Result<bool> {
    let Some(line) = cursor.peek() else { return Ok(false) };
    let is_part = line.text == SIGNATURE || header::parse(&mut { cursor })?.is_some();
    Ok(!is_part && line.text.starts_with(['+', '-', ' ', '\\']))
}

/// Reads a hunk whose header may have wrong counts or no line numbers. With right counts, blank lines at the end are
/// lines of the hunk.
fn corrected<'p>(cursor: &mut Cursor<'p>, header: PatchLine<'p>) -> Result<Hunk<'p>> {
    let mut ahead = *cursor;
    let strict = counted(cursor, header);
    let mut after = *cursor;
    after.skip_blank();
    if strict.is_ok() && !has_row(after)? {
        return strict;
    }
    let rows = uncounted(&mut ahead)?;
    let old = rows.iter().filter(|row| row.kind != RowKind::Add).count();
    let new = rows.iter().filter(|row| row.kind != RowKind::Remove).count();
    let (position, mistake) = match Counts::parse(header.text) {
        Some(counts) if (counts.old, counts.new) == (old, new) => return strict,
        // The place of an insertion without context could not be verified.
        Some(counts) if old > 0 || counts.old == 0 => (Where::Line(counts.line), "its header has wrong counts"),
        None if old > 0 => (Where::Search { anchors: Vec::new(), at_end: false }, "its header has no line numbers"),
        _ => return strict,
    };
    let is_short = Counts::parse(header.text).is_some_and(|counts| old < counts.old || new < counts.new);
    if !changes(&rows) || !ends_hunk(ahead, is_short)? {
        return strict;
    }
    check_open(&rows)?;
    *cursor = ahead;
    Ok(Hunk { position, line: header.number, rows, mistake: Some(mistake) })
}

/// Returns whether a hunk with wrong counts certainly ends here: at the end of the patch, before another hunk, or before
/// another file. If the hunk is shorter than its header says, `--- x` can also be the removed line `-- x`, and is taken
/// for a file only with a prefix of Git.
fn ends_hunk(mut cursor: Cursor<'_>, is_short: bool) -> Result<bool> {
    cursor.skip_blank();
    let Some(line) = cursor.peek() else { return Ok(true) };
    let is_header = line.text.starts_with("@@") || header::parse(&mut { cursor })?.is_some();
    if is_header {
        let is_git = ["--- a/", "--- /dev/null"].iter().any(|start| line.text.starts_with(start));
        return Ok(is_git || !is_short || !line.text.starts_with("--- "));
    }
    let is_fence = line.text.trim() == "```";
    cursor.next();
    cursor.skip_blank();
    Ok(is_fence && cursor.peek().is_none())
}

/// Reads lines of a hunk up to the next header, or the end of the patch. Blank lines at the end are left out.
fn uncounted<'p>(cursor: &mut Cursor<'p>) -> Result<Vec<Row<'p>>> {
    let mut rows = Vec::new();
    let mut ahead = *cursor;
    loop {
        let blanks = ahead;
        ahead.skip_blank();
        if !has_row(ahead)? {
            return Ok(rows);
        }
        let mut blank = blanks;
        while blank.peek().is_some_and(|line| Some(line.number) != ahead.peek().map(|line| line.number)) {
            rows.extend(blank.next().and_then(|line| line.row()));
        }
        if !open(&mut ahead, &mut rows) {
            let Some(row) = ahead.next().and_then(|line| line.row()) else { return Ok(rows) };
            rows.push(row);
        }
        *cursor = ahead;
    }
}

fn counted<'p>(cursor: &mut Cursor<'p>, header: PatchLine<'p>) -> Result<Hunk<'p>> {
    let counts = Counts::parse(header.text).ok_or_else(|| {
        invalid(header.number, format!("{} is not a hunk header", quoted(header.text))).hint(
            "it is `@@ -line,count +line,count @@`, with numbers; a patch without line numbers has to be \
             in the other format, which begins with `*** Begin Patch`",
        )
    })?;
    let (mut old, mut new) = (counts.old, counts.new);
    let mut rows: Vec<Row<'p>> = Vec::new();
    while old > 0 || new > 0 {
        let row = cursor.peek().and_then(|line| line.row());
        let fits = row.filter(|row| match row.kind {
            RowKind::Keep => old > 0 && new > 0,
            RowKind::Remove => old > 0,
            RowKind::Add => new > 0,
        });
        if let Some(row) = fits {
            old -= usize::from(row.kind != RowKind::Add);
            new -= usize::from(row.kind != RowKind::Remove);
            rows.push(row);
            cursor.next();
        } else if !open(cursor, &mut rows) {
            return Err(miscounted(cursor, header, &counts, (counts.old - old, counts.new - new)));
        }
    }
    open(cursor, &mut rows);
    check_rows(header, &rows)?;
    Ok(Hunk { position: Where::Line(counts.line), line: header.number, rows, mistake: None })
}

fn check_rows(header: PatchLine<'_>, rows: &[Row<'_>]) -> Result<()> {
    check_open(rows)?;
    if !changes(rows) {
        return Err(invalid(header.number, "the hunk changes nothing")
            .hint("lines to remove start with `-`, lines to add with `+`"));
    }
    Ok(())
}

fn changes(rows: &[Row<'_>]) -> bool {
    rows.iter().any(|row| row.kind != RowKind::Keep)
}

/// Reads `\ No newline at end of file` if it comes next.
fn open(cursor: &mut Cursor<'_>, rows: &mut [Row<'_>]) -> bool {
    let is_marker = cursor.peek().is_some_and(|line| line.text.starts_with("\\ "));
    match rows.last_mut() {
        Some(row) if is_marker && !row.open => {
            row.open = true;
            cursor.next();
            true
        }
        _ => false,
    }
}

/// Checks that a line without a newline is the last line of its side.
fn check_open(rows: &[Row<'_>]) -> Result<()> {
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.open) {
        let after = rows.get(index + 1..).unwrap_or_default();
        let goes_on =
            |other: &Row<'_>| row.kind == RowKind::Keep || other.kind == RowKind::Keep || other.kind == row.kind;
        if after.iter().any(goes_on) {
            return Err(invalid(row.number + 1, "`\\ No newline at end of file` is before the end of its side"));
        }
    }
    Ok(())
}

fn miscounted(cursor: &Cursor<'_>, header: PatchLine<'_>, counts: &Counts, actual: (usize, usize)) -> Error {
    let cause = format!(
        "the hunk header counts {} old and {} new lines, but the hunk has {} and {}",
        counts.old, counts.new, actual.0, actual.1
    );
    let stopped = match cursor.peek() {
        Some(line) => format!("before line {}, {}", line.number, quoted(line.text)),
        None => "before the end of the patch".to_owned(),
    };
    invalid(header.number, format!("{cause} {stopped}"))
        .hint("count the lines that start with ` ` and `-` as old, those with ` ` and `+` as new")
}

/// Numbers of a hunk header. The line number of the new side follows from the others and from the earlier hunks.
struct Counts {
    line: usize,
    old: usize,
    new_line: usize,
    new: usize,
}

impl Counts {
    fn parse(header: &str) -> Option<Self> {
        let (ranges, _section) = header.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let ((line, old), (new_line, new)) = (range(old)?, range(new)?);
        // Line 0 is valid only for a hunk without old lines.
        (line > 0 || old == 0).then_some(Self { line, old, new_line, new })
    }

    /// Returns how many lines earlier hunks add according to an insertion, which is below the line that it states.
    fn differ_by(&self) -> usize {
        self.new_line.wrapping_sub(self.line).wrapping_sub(1)
    }
}

/// Returns the line that the header of a hunk states for the old lines, without its `@@ ` at the start.
pub fn stated_line(header: &str) -> Option<usize> {
    Counts::parse(&format!("@@ {header}")).map(|counts| counts.line)
}

fn range(text: &str) -> Option<(usize, usize)> {
    let number = |text: &str| Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok();
    match text.split_once(',') {
        Some((line, count)) => Some((number(line)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use paddock_types::error::{Code, Error};
    use paddock_types::request::Matching;

    use crate::{Action, FilePatch, RowKind, Where, parse_strictly as parse};

    const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";

    fn corrected(patch: &str) -> Result<Vec<FilePatch<'_>>, Error> {
        crate::parse(patch, Matching::Corrected)
    }

    #[test]
    fn a_hunk_with_wrong_counts_is_read_whole_or_refused() {
        let file = "--- a/f\n+++ b/f\n";
        for (hunk, ending) in [
            ("@@ -1,9 +1,9 @@\n a\n-b\n+c\n", ""),
            ("@@ -1 +1 @@\n a\n-b\n+c\n", "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n"),
        ] {
            for after in ["", "\n", "```\n", "@@ -20 +20 @@\n-x\n+y\n", "diff --git a/e b/e\nnew file mode 100644\n"] {
                let patch = format!("{file}{hunk}{after}{}", if after.starts_with(['`', 'd']) { "" } else { ending });
                let files = corrected(&patch).unwrap();
                let Action::Update(hunks) = &files[0].action else { panic!("{patch}") };
                assert_eq!(hunks[0].rows.len(), 3, "{patch}");
            }
        }
        for (rows, why) in [
            // A context line lacks its space, and the counts are right for all five lines.
            ("@@ -1,4 +1,5 @@\n a\n+X\n b\nc\n-d\n+D\n", "counts 4 old and 5 new lines, but the hunk has 2 and 3"),
            ("@@ -1,3 +1,3 @@\n a\n-b\n+B\nc\n", "counts 3 old"),
            // The counts are right, and more lines follow the line without a prefix.
            ("@@ -1,2 +1,3 @@\n a\n+X\n b\nc\n-d\n+D\n", "line 7: this line of a hunk begins with none of"),
            ("@@ -1,3 +1,3 @@\n a\n-b\n+B\n-- \n", "counts 3 old"),
            // A removed comment of SQL and an added line look like the header of a file.
            ("@@ -1,4 +1,4 @@\n a\n--- x\n+++ x\n@@ -9 +9 @@\n-b\n+c\n", "counts 4 old"),
        ] {
            let error = corrected(&format!("{file}{rows}")).unwrap_err();
            assert!(error.message().contains(why), "{rows}: {}", error.message());
        }
    }

    fn one(patch: &str) -> FilePatch<'_> {
        let mut files = parse(patch).unwrap();
        assert_eq!(files.len(), 1);
        files.remove(0)
    }

    #[track_caller]
    fn fails(patch: &str, message: &str) -> Error {
        let error = parse(patch).unwrap_err();
        assert_eq!(error.code, Code::PatchInvalid);
        assert!(error.message().contains(message), "{}", error.message());
        error
    }

    #[test]
    fn several_files_between_the_lines_of_a_mail() {
        let patch = format!(
            "From 1234\nSubject: x\n---\n a | 2 +-\n\ndiff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n{HUNK}\
             --- b\t2026-01-01 10:00\n+++ b\t2026-01-01 11:00\n{HUNK}\nIndex: c\n=====\n--- c.orig\n+++ c\n{HUNK}-- \n2.39\n```\n"
        );
        let files = parse(&patch).unwrap();
        let paths: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.line)).collect();
        assert_eq!(paths, [("a", 6), ("b", 13), ("c", 21)]);
    }

    #[test]
    fn prefixes_of_git_are_stripped_and_no_others() {
        let path = |old: &str, new: &str| one(&format!("--- {old}\n+++ {new}\n{HUNK}")).path;
        assert_eq!(path("a/src/x", "b/src/x"), "src/x");
        assert_eq!(path("i/x", "w/x"), "x");
        assert_eq!(path("src/x", "src/x"), "src/x");
        assert_eq!(path("a/x", "a/x"), "a/x");
        assert_eq!(path("a/my file\t", "b/my file\t"), "my file");
        assert_eq!(path("\"a/t\\tq\\\"\\303\\244\"", "\"b/t\\tq\\\"\\303\\244\""), "t\tq\"ä");
        assert_eq!(one(&format!("diff --git b/x b/x\n--- b/x\n+++ b/x\n{HUNK}")).path, "b/x");
        fails(&format!("--- x\n+++ y\n{HUNK}"), "line 1: the two sides are different files, `x` and `y`");
        fails(&format!("--- \"a\\9\"\n+++ \"a\\9\"\n{HUNK}"), "line 1: `\"a\\9\"` is not a quoted path");
        fails(&format!("--- \"a\\377\"\n+++ \"a\\377\"\n{HUNK}"), "line 1: the path is not UTF-8");
    }

    #[test]
    fn creation_and_deletion() {
        let added = one("--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n");
        assert_eq!(added.path, "new");
        let Action::Add(hunks) = &added.action else { panic!() };
        assert!(hunks[0].rows[1].open && !hunks[0].rows[0].open);
        let script = one(
            "diff --git a/run b/run\nnew file mode 100755\nindex 000..123\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+a\n",
        );
        assert_eq!(script.mode.as_deref(), Some("100755"));
        let empty = one("diff --git a/d/e b/d/e\nnew file mode 100644\nindex 0000000..e69de29\n");
        assert_eq!((empty.path.as_str(), &empty.action, &empty.mode), ("d/e", &Action::Add(Vec::new()), &None));
        let gone = one("diff --git a/e b/e\ndeleted file mode 100644\nindex e69de29..0000000\n");
        assert_eq!(gone.action, Action::Delete(Some(Vec::new())));
        let deleted = one("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
        assert!(matches!(deleted.action, Action::Delete(Some(hunks)) if hunks.len() == 1));
        fails("--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "line 4: a new file has only lines that start with `+`");
        fails("--- a/x\n+++ /dev/null\n@@ -1,2 +1 @@\n-a\n b\n", "line 5: a deleted file has only");
        fails("--- /dev/null\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "both sides are `/dev/null`");
    }

    #[test]
    fn renames_modes_and_copies() {
        let pure = one("diff --git a/x b/y z\nsimilarity index 100%\nrename from x\nrename to y z\n");
        assert_eq!((pure.path.as_str(), &pure.action), ("x", &Action::Move { to: "y z".to_owned(), hunks: vec![] }));
        let patch = format!("diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n{HUNK}");
        assert!(matches!(one(&patch).action, Action::Move { to, hunks } if to == "y" && hunks.len() == 1));
        let mode = one("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n");
        assert_eq!((&mode.action, mode.mode.as_deref()), (&Action::Update(vec![]), Some("100755")));
        fails("diff --git a/x b/y\ncopy from x\ncopy to y\n", "line 2: copies are not supported");
        fails("diff --git a/x b/x\nnew file mode 120000\n", "line 2: symbolic links cannot be patched");
        fails("diff --git a/x b/x\nindex 1..2 160000\n", "line 2: submodules cannot be patched");
        fails("diff --git a/x b/x\nGIT binary patch\nliteral 1\n", "line 2: binary files cannot be patched");
        fails("Binary files a/x and b/x differ\n", "line 1: binary files cannot be patched");
        fails("diff --git a/x b/x\nindex 1..2 100644\n", "line 1: there is no hunk for `x`");
    }

    #[test]
    fn counts_may_be_left_out_and_blanks_lost() {
        let file = one("--- a/x\n+++ b/x\n@@ -3,3 +3,2 @@ fn f() {\n a\n\n-b\n@@ -9 +8,0 @@\n-c\n");
        let Action::Update(hunks) = &file.action else { panic!() };
        assert_eq!((&hunks[0].position, &hunks[1].position), (&Where::Line(3), &Where::Line(9)));
        assert_eq!((hunks[0].rows[1].kind, hunks[0].rows[1].text), (RowKind::Keep, ""));
    }

    #[test]
    fn counts_have_to_be_right() {
        let with = |hunk: &str| format!("--- a/x\n+++ b/x\n{hunk}");
        let few = "line 3: the hunk header counts 2 old and 1 new lines, but the hunk has 1 and 1 before the end of the patch";
        fails(&with("@@ -1,2 +1 @@\n-a\n+b\n"), few);
        fails(&with("@@ -1 +1 @@\n-a\n+b\n+c\n"), "line 6: this line is beyond what the header of its hunk counts");
        fails(&with("@@ -1,3 +1,3 @@\n-a\n+b\n@@ -9 +9 @@\n-a\n+b\n"), "before line 6, `@@ -9 +9 @@`");
        fails(&with("@@ -1 +1 @@\n-a\n+b\n\n+c\n"), "line 7: this line is beyond");
        fails(&with("+b\n"), "line 3: this line is before any hunk header");
        fails(&with("@@ fn f @@\n-a\n"), "line 3: `@@ fn f @@` is not a hunk header");
        fails(&with("@@ -0,1 +1 @@\n-a\n+b\n"), "is not a hunk header");
        fails(&with("@@ -99999999999999999999 +1 @@\n-a\n+b\n"), "is not a hunk header");
        fails(&with("@@ -1 +1 @@\n a\n"), "line 3: the hunk changes nothing");
        fails(&with("@@ -1,2 +1,2 @@\n-a\n\\ No newline at end of file\n+b\n c\n"), "line 5: `\\ No newline");
        fails("--- a/x\n@@ -1 +1 @@\n-a\n+b\n", "line 2: a `---` line has to be followed");
        fails("@@ -1 +1 @@\n-a\n+b\n", "line 1: this hunk belongs to no file");
    }

    /// Only its line number says where an insertion without context belongs.
    #[test]
    fn an_insertion_whose_two_line_numbers_contradict_each_other_is_reported() {
        let mistakes = |hunks: &str| {
            let patch = format!("--- a/x\n+++ b/x\n{hunks}");
            let files = corrected(&patch).unwrap();
            let Action::Update(hunks) = &files[0].action else { panic!() };
            hunks.iter().map(|hunk| hunk.mistake.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(mistakes("@@ -9,0 +26 @@\n+a\n"), [true]);
        assert_eq!(mistakes("@@ -9,0 +9 @@\n+a\n"), [true]);
        assert_eq!(mistakes("@@ -9,0 +10,2 @@\n+a\n+b\n"), [false]);
        assert_eq!(mistakes("@@ -0,0 +1 @@\n+a\n@@ -9,0 +11 @@\n+b\n@@ -20 +22 @@\n-c\n+d\n"), [false; 3]);
        assert_eq!(mistakes("@@ -1,2 +0,0 @@\n-a\n-b\n@@ -9,0 +8 @@\n+c\n@@ -12,0 +13 @@\n+d\n"), [false, false, true]);
        // The old lines of other hunks are verified.
        assert_eq!(mistakes("@@ -9 +26 @@\n-a\n+b\n"), [false]);
    }

    #[test]
    fn wrong_counts_are_corrected() {
        let hunks = |patch: &'static str| {
            let files = crate::parse(patch, Matching::Corrected).unwrap();
            let Action::Update(hunks) = &files[0].action else { panic!() };
            let texts = |hunk: &crate::Hunk<'_>| hunk.rows.iter().map(|row| row.text.to_owned()).collect::<Vec<_>>();
            hunks.iter().map(|hunk| (texts(hunk), hunk.position.clone(), hunk.mistake)).collect::<Vec<_>>()
        };
        let with = |hunk: &str| format!("--- a/x\n+++ b/x\n{hunk}").leak();
        let wrong = Some("its header has wrong counts");
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(hunks(with("@@ -1,2 +1 @@\n-a\n+b\n")), [(words(&["a", "b"]), Where::Line(1), wrong)]);
        assert_eq!(
            hunks(with("@@ -1 +1 @@\n-a\n+b\n\n+c\n\n")),
            [(words(&["a", "b", "", "c"]), Where::Line(1), wrong)]
        );
        let two = hunks(with("@@ -1,3 +1,3 @@\n-a\n+b\n@@ -9 +9 @@\n-a\n+b\n"));
        assert_eq!(two, [(words(&["a", "b"]), Where::Line(1), wrong), (words(&["a", "b"]), Where::Line(9), None)]);
        let none = hunks(with("@@ fn f @@\n-a\n"));
        assert_eq!(none[0].2, Some("its header has no line numbers"));
        // The header of the next file and the signature of a mail end a hunk.
        let files = "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39\n";
        assert_eq!(crate::parse(files, Matching::Corrected).unwrap().len(), 2);
        // Lines that look like the header of a file.
        for (counts, cause) in [
            ("@@ -1,2 +1,2 @@", "line 7: this line is beyond what the header of its hunk counts"),
            ("@@ -1,9 +1,9 @@", "line 3: the hunk header counts 9 old and 9 new lines, but the hunk has 3 and 3"),
        ] {
            let patch = with(&format!("{counts}\n a\n--- old\n+++ new\n b\n"));
            let error = crate::parse(patch, Matching::Corrected).unwrap_err();
            assert!(error.message().contains(cause), "{}", error.message());
        }
        // The place of an insertion without context cannot be verified.
        for patch in ["@@ -3 +3,2 @@\n+b\n", "@@\n+b\n", "@@ -1,2 +1,2 @@\n a\n"] {
            assert_eq!(crate::parse(with(patch), Matching::Corrected).unwrap_err().code, Code::PatchInvalid, "{patch}");
        }
    }
}
