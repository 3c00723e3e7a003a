//! The unified diff, plain and as git writes it.

use super::{Cursor, FilePatch, Hunk, PatchLine, Row, RowKind, Where, formats, header, invalid, quoted};
use crate::error::{Code, Error, Result};

/// Parses a unified diff. Lines before, between and after the files' parts, as
/// mails and commits have them, are passed over.
pub fn parse(mut cursor: Cursor<'_>) -> Result<Vec<FilePatch<'_>>> {
    let mut files = Vec::new();
    while let Some(line) = cursor.peek() {
        if let Some(header) = header::parse(&mut cursor)? {
            let hunks = hunks(&mut cursor)?;
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
        return Err(formats(Error::new(Code::PatchInvalid, "cannot read the patch: no file's part begins in it")));
    }
    Ok(files)
}

fn hunks<'p>(cursor: &mut Cursor<'p>) -> Result<Vec<Hunk<'p>>> {
    let mut hunks = Vec::new();
    loop {
        let behind = *cursor;
        cursor.skip_blank();
        let Some(line) = cursor.peek() else { break };
        if line.text.starts_with("@@") {
            cursor.next();
            hunks.push(hunk(cursor, line)?);
            continue;
        }
        // Two dashes and a blank begin the signature of a mail.
        let is_part = header::parse(&mut { *cursor })?.is_some() || line.text == "-- ";
        if !is_part && line.text.starts_with(['+', '-', ' ', '\\']) {
            let cause = match hunks.last() {
                Some(_) => "this line is beyond what the header of its hunk counts",
                None => "this line stands before any hunk header",
            };
            return Err(invalid(line.number, cause)
                .hint("a hunk starts with `@@ -line,count +line,count @@`, and the counts have to be right"));
        }
        *cursor = behind;
        break;
    }
    Ok(hunks)
}

fn hunk<'p>(cursor: &mut Cursor<'p>, header: PatchLine<'p>) -> Result<Hunk<'p>> {
    let counts = Counts::parse(header.text).ok_or_else(|| {
        invalid(header.number, format!("{} is no hunk header", quoted(header.text))).hint(
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
    check_open(&rows)?;
    if rows.iter().all(|row| row.kind == RowKind::Keep) {
        return Err(invalid(header.number, "the hunk changes nothing")
            .hint("lines to remove start with `-`, lines to add with `+`"));
    }
    Ok(Hunk { place: Where::Line(counts.line), line: header.number, rows })
}

/// Takes `\ No newline at end of file`, where it is next.
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

/// A line without newline is the last of its side.
fn check_open(rows: &[Row<'_>]) -> Result<()> {
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.open) {
        let after = rows.get(index + 1..).unwrap_or_default();
        let goes_on =
            |other: &Row<'_>| row.kind == RowKind::Keep || other.kind == RowKind::Keep || other.kind == row.kind;
        if after.iter().any(goes_on) {
            return Err(invalid(row.number + 1, "`\\ No newline at end of file` stands before the end of its side"));
        }
    }
    Ok(())
}

fn miscounted(cursor: &Cursor<'_>, header: PatchLine<'_>, counts: &Counts, found: (usize, usize)) -> Error {
    let cause = format!(
        "the hunk header counts {} old and {} new lines, and {} and {} were there",
        counts.old, counts.new, found.0, found.1
    );
    let stopped = match cursor.peek() {
        Some(line) => format!("before line {}, {}", line.number, quoted(line.text)),
        None => "before the end of the patch".to_owned(),
    };
    invalid(header.number, format!("{cause} {stopped}"))
        .hint("count the lines that start with ` ` and `-` as old, those with ` ` and `+` as new")
}

/// The numbers of a hunk header that matter; the new line number follows from them.
struct Counts {
    line: usize,
    old: usize,
    new: usize,
}

impl Counts {
    fn parse(header: &str) -> Option<Self> {
        let (ranges, _section) = header.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let ((line, old), (_, new)) = (range(old)?, range(new)?);
        // Only where there are no old lines may they stand after line 0.
        (line > 0 || old == 0).then_some(Self { line, old, new })
    }
}

fn range(text: &str) -> Option<(usize, usize)> {
    let number = |text: &str| Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok();
    match text.split_once(',') {
        Some((line, count)) => Some((number(line)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}
