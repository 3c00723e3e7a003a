//! The Codex envelope: `*** Begin Patch`, one section for each file, `*** End Patch`.

use paddock_types::error::EnvelopeFault::{Header, Line, NoChunk, NoEnd, NoLines, NoSection};
use paddock_types::error::{Detail, EnvelopeFault, Error, Result};
use paddock_types::request::Matching;

use crate::{Action, Cursor, FilePatch, Hunk, PatchLine, Row, RowKind, Where, formats, invalid, quoted};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// Returns the sections of an envelope, without the markers and without a shell here-document around them. `None` if the
/// patch is not an envelope.
pub fn body(patch: &str) -> Result<Option<Cursor<'_>>> {
    let mut cursor = Cursor::new(patch);
    cursor.skip_blank();
    let Some(mut first) = cursor.next() else { return Ok(None) };
    let mut text = patch.trim_end();
    if let Some(word) = heredoc(first.text) {
        text = text.strip_suffix(word).unwrap_or(text).trim_end();
        cursor.skip_blank();
        let Some(line) = cursor.next() else { return Ok(None) };
        first = line;
    }
    if first.text.trim() != BEGIN {
        return Ok(None);
    }
    let last = text.rsplit_once('\n').map_or(text, |(_, last)| last);
    if last.trim() != END {
        let line = text.split('\n').count();
        return Err(formats(
            invalid(line, format!("the last line of the envelope has to be `{END}`")).detail(fault(line, NoEnd)),
        ));
    }
    let before = patch.len() - cursor.rest.len();
    cursor.rest = text.get(before..text.len() - last.len()).unwrap_or("");
    Ok(Some(cursor))
}

/// Returns the delimiter of the here-document that `line` starts.
fn heredoc(line: &str) -> Option<&str> {
    let line = line.trim();
    let word = line.strip_prefix("apply_patch").unwrap_or(line).trim_start().strip_prefix("<<")?;
    let word = word.trim_matches(['\'', '"']);
    Some(word).filter(|word| !word.is_empty() && word.chars().all(char::is_alphanumeric))
}

/// Parses the sections of an envelope. With [`Matching::Codex`] and [`Matching::V4a`], as in the originals: a blank line
/// is a line of a chunk, and a chunk may consist of context lines alone. Otherwise blank lines separate chunks and
/// sections. In Codex, a chunk has one `@@` line; otherwise `@@` lines can be stacked.
pub fn parse(mut cursor: Cursor<'_>, matching: Matching) -> Result<Vec<FilePatch<'_>>> {
    let is_exact = is_exact(matching);
    let start = cursor.number;
    let mut files = Vec::new();
    loop {
        skip_separators(&mut cursor, is_exact);
        let Some(line) = cursor.next() else { break };
        // Codex accepts a doubled last line, and nothing else after `*** End Patch`.
        if line.text.trim() == END && cursor.rest.trim().is_empty() {
            break;
        }
        files.push(section(&mut cursor, line, matching)?);
    }
    if files.is_empty() {
        return Err(formats(
            invalid(start, "the envelope has no section, so there is nothing to do").detail(fault(start, NoSection)),
        ));
    }
    Ok(files)
}

fn fault(line: usize, fault: EnvelopeFault) -> Detail {
    Detail::Envelope { line, fault }
}

/// Formats a line as messages quote it, without the quotes.
fn printable_line(line: &str) -> String {
    let quoted = quoted(line);
    quoted.strip_prefix('`').and_then(|line| line.strip_suffix('`')).map_or_else(|| quoted.clone(), str::to_owned)
}

fn is_exact(matching: Matching) -> bool {
    matches!(matching, Matching::Codex | Matching::V4a)
}

fn skip_separators(cursor: &mut Cursor<'_>, is_exact: bool) {
    if !is_exact {
        cursor.skip_blank();
    }
}

fn section<'p>(cursor: &mut Cursor<'p>, line: PatchLine<'p>, matching: Matching) -> Result<FilePatch<'p>> {
    let is_exact = is_exact(matching);
    let header = line.text.trim();
    let (path, action) = if let Some(path) = after(header, ADD, is_exact) {
        (path, Action::Add(added(cursor, line.number)))
    } else if let Some(path) = after(header, DELETE, is_exact) {
        (path, Action::Delete(None))
    } else if let Some(path) = after(header, UPDATE, is_exact) {
        (path, update(cursor, line.number, path, matching)?)
    } else {
        let cause = format!(
            "{} is not a section header: one of `{ADD} path`, `{DELETE} path`, `{UPDATE} path`",
            quoted(header)
        );
        return Err(invalid(line.number, cause)
            .detail(fault(line.number, Header(printable_line(header))))
            .hint("lines of an added file start with `+`, those of a chunk with ` `, `-` or `+`"));
    };
    Ok(FilePatch { path: named(path, line.number)?, line: line.number, action, mode: None })
}

/// Returns the path after a marker. Codex takes one blank between them, and further blanks as part of the path.
fn after<'l>(line: &'l str, marker: &str, is_exact: bool) -> Option<&'l str> {
    let rest = line.strip_prefix(marker)?;
    if is_exact { rest.strip_prefix(' ') } else { Some(rest.trim()) }
}

fn named(path: &str, line: usize) -> Result<String> {
    match path {
        "" => Err(invalid(line, "the path is missing")),
        path => Ok(path.to_owned()),
    }
}

fn added<'p>(cursor: &mut Cursor<'p>, line: usize) -> Vec<Hunk<'p>> {
    let mut rows = Vec::new();
    while let Some(row) = cursor.peek().and_then(|line| line.row()).filter(|row| row.kind == RowKind::Add) {
        rows.push(row);
        cursor.next();
    }
    if rows.is_empty() { Vec::new() } else { vec![Hunk { position: Where::Line(0), line, rows, mistake: None }] }
}

fn update<'p>(cursor: &mut Cursor<'p>, header: usize, path: &str, matching: Matching) -> Result<Action<'p>> {
    let is_exact = is_exact(matching);
    let mut to = None;
    if let Some(line) = cursor.peek()
        && let Some(path) = after(if is_exact { line.text.trim_end() } else { line.text.trim() }, MOVE, is_exact)
    {
        to = Some(named(path, line.number)?);
        cursor.next();
    }
    let mut hunks = Vec::new();
    loop {
        skip_separators(cursor, is_exact);
        match cursor.peek() {
            Some(line) if !is_marker(line.text) => hunks.push(chunk(cursor, line.number, to.is_some(), matching)?),
            _ => break,
        }
    }
    if hunks.is_empty() && (is_exact || to.is_none()) {
        return Err(invalid(header, format!("`{UPDATE} {}` has no chunk", printable_line(path)))
            .detail(fault(header, NoChunk(printable_line(path))))
            .hint("put `@@` and lines that start with ` `, `-` or `+` below it"));
    }
    Ok(match to {
        Some(to) => Action::Move { to, hunks },
        None => Action::Update(hunks),
    })
}

/// Reads a chunk. In a move, it may consist of context lines alone.
fn chunk<'p>(cursor: &mut Cursor<'p>, line: usize, is_move: bool, matching: Matching) -> Result<Hunk<'p>> {
    let is_exact = is_exact(matching);
    let mut anchors = Vec::new();
    while let Some((line, anchor)) = cursor.peek().and_then(|line| Some((line.text, anchor(line.text, is_exact)?))) {
        // V4A compares white space at the end, too, before it ignores it.
        anchors.push(if matching == Matching::V4a { line.get(3..).unwrap_or_default() } else { anchor });
        cursor.next();
        if matching == Matching::Codex {
            break;
        }
    }
    // In V4A, even a bare `@@` after an anchor makes the anchor required.
    let is_stacked = matching == Matching::V4a && anchors.len() > 1;
    anchors.retain(|anchor| is_stacked || !anchor.trim().is_empty());
    let (rows, at_end) = rows(cursor, is_exact)?;
    let changes_nothing = !is_exact && !is_move && rows.iter().all(|row| row.kind == RowKind::Keep);
    if rows.is_empty() || changes_nothing {
        let cause = if rows.is_empty() { "the chunk has no lines" } else { "the chunk changes nothing" };
        let error = invalid(line, cause).hint("lines to remove start with `-`, lines to add with `+`");
        return Err(if rows.is_empty() { error.detail(fault(line, NoLines)) } else { error });
    }
    Ok(Hunk { position: Where::Search { anchors, at_end }, line, rows, mistake: None })
}

/// Returns the text after `@@`.
fn anchor(line: &str, is_exact: bool) -> Option<&str> {
    let anchor = line.trim_end().strip_prefix("@@")?;
    if anchor.is_empty() { Some(anchor) } else { anchor.strip_prefix(' ').or(Some(anchor).filter(|_| !is_exact)) }
}

fn rows<'p>(cursor: &mut Cursor<'p>, is_exact: bool) -> Result<(Vec<Row<'p>>, bool)> {
    let mut rows = Vec::new();
    let mut solid = 0;
    while let Some(line) = cursor.peek() {
        if line.text.trim_end() == END_OF_FILE {
            cursor.next();
            cursor.skip_blank();
            // Codex accepts no chunk without `@@` after the end of the file.
            let next =
                cursor.peek().filter(|line| is_exact && !is_marker(line.text) && anchor(line.text, true).is_none());
            return next.map_or(Ok((rows, true)), |line| Err(stray(line)));
        }
        if anchor(line.text, is_exact).is_some() || is_marker(line.text) {
            break;
        }
        rows.push(line.row().ok_or_else(|| stray(line))?);
        cursor.next();
        if !line.text.is_empty() {
            solid = rows.len();
        }
    }
    if !is_exact {
        // Empty lines after a chunk separate it from the next chunk; within a chunk they are lines of the file.
        rows.truncate(solid);
    }
    Ok((rows, false))
}

/// Returns the error of a line that is not a line of a chunk.
fn stray(line: PatchLine<'_>) -> Error {
    invalid(line.number, format!("{} does not start with ` `, `-` or `+`", quoted(line.text)))
        .detail(fault(line.number, Line(printable_line(line.text))))
        .hint("start a line that stays with a blank, one to remove with `-`, one to add with `+`")
}

fn is_marker(line: &str) -> bool {
    line.starts_with("***")
}

#[cfg(test)]
mod tests {
    use paddock_types::error::{Code, Error};

    use crate::{Action, FilePatch, Hunk, RowKind, Where, parse_strictly as parse};

    fn ok(patch: &str) -> Vec<FilePatch<'_>> {
        parse(patch).unwrap()
    }

    #[track_caller]
    fn fails(patch: &str, message: &str) -> Error {
        let error = parse(patch).unwrap_err();
        assert_eq!(error.code, Code::PatchInvalid);
        assert!(error.message().contains(message), "{}", error.message());
        error
    }

    fn texts<'p>(hunk: &Hunk<'p>) -> Vec<(RowKind, &'p str)> {
        hunk.rows.iter().map(|row| (row.kind, row.text)).collect()
    }

    #[test]
    fn every_kind_of_section() {
        let patch = "*** Begin Patch\n*** Add File: a/new.txt\n+one\n+\n*** Delete File: old\n\n*** Update File: u\n\
                     @@ fn f\n one\n-two\n+2\n\n@@\n+end\n*** End of File\n*** Update File: m\n*** Move to: dir/n\n@@\n-x\n*** End Patch";
        let files = ok(patch);
        let paths: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.line)).collect();
        assert_eq!(paths, [("a/new.txt", 2), ("old", 5), ("u", 7), ("m", 16)]);
        let Action::Add(hunks) = &files[0].action else { panic!() };
        assert_eq!(texts(&hunks[0]), [(RowKind::Add, "one"), (RowKind::Add, "")]);
        assert_eq!(files[1].action, Action::Delete(None));
        let Action::Update(hunks) = &files[2].action else { panic!() };
        assert_eq!(texts(&hunks[0]), [(RowKind::Keep, "one"), (RowKind::Remove, "two"), (RowKind::Add, "2")]);
        assert_eq!(hunks[0].position, Where::Search { anchors: vec!["fn f"], at_end: false });
        assert_eq!(hunks[1].position, Where::Search { anchors: vec![], at_end: true });
        assert_eq!((hunks[1].line, hunks[1].rows[0].number), (13, 14));
        let Action::Move { to, hunks } = &files[3].action else { panic!() };
        assert_eq!((to.as_str(), hunks.len()), ("dir/n", 1));
    }

    #[test]
    fn padding_and_here_documents_are_removed() {
        let sections = "*** Begin Patch  \n  *** Delete File:  a b  \n *** End Patch ";
        for patch in [
            format!("\n{sections}\n\n"),
            format!("<<'EOF'\n{sections}\nEOF\n"),
            format!("apply_patch <<\"END\"\n{sections}\nEND"),
            sections.replace('\n', "\r\n"),
        ] {
            assert_eq!(ok(&patch)[0].path, "a b", "{patch}");
        }
    }

    #[test]
    fn empty_added_files_and_stacked_anchors() {
        assert_eq!(ok("*** Begin Patch\n*** Add File: e\n*** End Patch")[0].action, Action::Add(Vec::new()));
        let files = ok("*** Begin Patch\n*** Update File: u\n@@ class A\n@@   def f\n-x\n*** End Patch");
        let Action::Update(hunks) = &files[0].action else { panic!() };
        assert_eq!(hunks[0].position, Where::Search { anchors: vec!["class A", "  def f"], at_end: false });
    }

    #[test]
    fn codex_takes_less_around_sections_and_more_in_chunks() {
        use paddock_types::request::Matching;
        let of =
            |body: &str| crate::parse(&format!("*** Begin Patch\n{body}\n*** End Patch"), Matching::Codex).map(|_| ());
        for body in [
            "*** Update File: f\n@@\n a",
            "*** Update File: f\n\n@@ \n-a",
            "*** Update File: f\n@@\n-a\n*** End of File\n\n@@\n+b",
            "  *** Add File: f\n+a\n *** Delete File: g",
            "*** Add File: f\n+a\n*** End Patch",
        ] {
            assert_eq!(of(body), Ok(()), "{body}");
        }
        for body in [
            "\n*** Delete File: f",
            "*** Delete File: f\n\n*** Delete File: g",
            "*** Delete File:f",
            "*** Add File: f\n*** End Patch\n*** Delete File: g",
            "*** Update File: f\n*** Move to: g",
            "*** Update File: f\n@@ a\n@@ b\n-c",
            "*** Update File: f\n@@x\n-c",
            "*** Update File: f\n@@\n-a\n*** End of File\n-b",
        ] {
            assert!(of(body).is_err(), "{body}");
        }
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        let error = fails("", "the patch is empty");
        assert!(error.hint_text().unwrap().contains("*** Begin Patch"));
        fails("*** Begin Patch\n*** End Patch\n", "line 2: the envelope has no section");
        fails(
            "*** Begin Patch\n*** Delete File: a\n",
            "line 2: the last line of the envelope has to be `*** End Patch`",
        );
        fails("*** Begin Patch", "has to be `*** End Patch`");
        fails(
            "*** Begin Patch\n*** Rename File: a\n*** End Patch",
            "line 2: `*** Rename File: a` is not a section header",
        );
        fails("*** Begin Patch\n*** Add File:\n+a\n*** End Patch", "line 2: the path is missing");
        fails("*** Begin Patch\n*** Add File: f\n+a\nb\n*** End Patch", "line 4: `b` is not a section header");
        fails("*** Begin Patch\n*** Update File: f\n*** End Patch", "line 2: `*** Update File: f` has no chunk");
        fails("*** Begin Patch\n*** Update File: f\n@@\n*** End Patch", "line 3: the chunk has no lines");
        fails("*** Begin Patch\n*** Update File: f\n@@\n a\n*** End Patch", "line 3: the chunk changes nothing");
        fails("*** Begin Patch\n*** Update File: f\n@@\n-a\nb\n*** End Patch", "line 5: `b` does not start with");
        fails("hello\nworld\n", "it has no file header");
    }
}
