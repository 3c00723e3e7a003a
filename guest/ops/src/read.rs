//! Reads text from a file, by lines or as the block around a line, or bytes.

mod block;
pub(super) mod content;
mod delta;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use paddock_text::encoding;
use paddock_text::lines::{CHUNK, Lines, Source, start_of_last};
use paddock_text::page::{Layout, Page, page};
use paddock_types::digest::is_etag;
use paddock_types::error::{Code, Detail, Error, Result, Term};
use paddock_types::request::ReadMode;
use paddock_types::response::Response;
use paddock_types::{digest, phrase, request, response, time};
use paddock_workspace::Workspace;

use crate::operation::{ChangingOperation, Operation};
use crate::read::content::{Format, OpenContent};
use crate::recorder::Recorder;

const OPERATION: &str = "read";
/// Maximum number of bytes of a `base64` read, chosen so that the Base64 text is as long as other results.
const BASE64_BYTES: u64 = 38_400;

impl Operation for request::Read {
    fn name(&self) -> &'static str {
        "read"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        None
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Read)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Read(read) = response else { return };
        recorder.add(&read.path);
        let (bytes, lines) = extent(read);
        recorder.measure(bytes, lines);
    }
}

/// Reads text or bytes from a file.
pub fn run(workspace: &Workspace<'_>, args: &request::Read) -> Result<response::Read> {
    check(args)?;
    let requested_path = args.encoding.as_deref().map(encoding::by_label).transpose()?;
    let resolved = workspace.resolve(&args.path, OPERATION)?;
    let content = OpenContent::open(workspace, &resolved, OPERATION)?;
    let sample = content.sample()?;
    let format = content.format(&sample, requested_path);
    let max = args.max_bytes.map(|max| max.min(workspace.policy.limits.max_file_bytes));
    if let Some(max) = max.filter(|max| content.size() > *max) {
        let error = workspace.larger_than(&resolved, OPERATION, content.size(), max);
        let is_allowed = content.size() <= workspace.policy.limits.max_file_bytes;
        return Err(if is_allowed { error.hint(phrase![Term::MaxSize, " allows larger files"]) } else { error });
    }
    let sha256 = if args.checksum { Some(content.sha256()?) } else { None };
    let etag = match &sha256 {
        Some(sha256) if content.whole.is_some() => Some(digest::etag_of(sha256)),
        _ => content.etag(),
    };
    let mut result = response::Read {
        path: resolved.path.clone(),
        content: String::new(),
        start_line: 0,
        end_line: 0,
        total_lines: None,
        next_offset: None,
        truncated: false,
        encoding: "binary".to_owned(),
        bom: false,
        line_ending: "none",
        size: content.size(),
        modified: content.stat.modified.and_then(time::rfc3339),
        unchanged: etag.as_deref().zip(args.if_none_match.as_deref()).is_some_and(|(etag, own)| is_etag(etag, own)),
        etag,
        sha256,
        mime: content.mime(&sample, format).to_owned(),
        diff: None,
        is_open: false,
    };
    match (args.mode, format) {
        (ReadMode::Base64, _) => Reader { workspace, args, content: &content }.bytes(&mut result)?,
        (_, None) if result.unchanged => {}
        (_, None) => return Err(content.binary(&sample)),
        (_, Some(format)) => Reader { workspace, args, content: &content }.text(format, &mut result)?,
    }
    if let (ReadMode::Lines, Some(format)) = (args.mode, format)
        && let Some(diff) = delta::since(&content, format, args, &result)?
    {
        shorten(&mut result, diff);
    }
    Ok(result)
}

/// Replaces the content of the result by a diff.
fn shorten(result: &mut response::Read, diff: String) {
    result.content.clear();
    (result.start_line, result.end_line) = (0, 0);
    (result.next_offset, result.truncated) = (None, false);
    result.is_open = false;
    result.diff = Some(diff);
}

/// Refuses arguments that contradict each other.
fn check(args: &request::Read) -> Result<()> {
    let positive = [
        (Term::Offset, Some(args.offset)),
        (Term::Limit, args.limit),
        (Term::Tail, args.tail),
        (Term::AnchorLine, args.anchor_line),
    ];
    if let Some((name, _)) = positive.iter().find(|(_, value)| *value == Some(0)) {
        return Err(Error::argument(*name, "0 is too small").hint("counting starts at 1"));
    }
    if args.tail.is_some() && matches!(args.mode, ReadMode::Indentation | ReadMode::Function | ReadMode::Base64) {
        return Err(Error::argument(Term::Tail, "it is for the modes `lines` and `raw`").hint(phrase![
            "leave ",
            Term::Tail,
            " or ",
            Term::Mode,
            " out, or use ",
            Term::Offset,
            " and ",
            Term::Limit
        ]));
    }
    if args.anchor_line.is_some() && !matches!(args.mode, ReadMode::Indentation | ReadMode::Function) {
        return Err(Error::argument(Term::AnchorLine, "it is for the modes `function` and `indentation`")
            .hint(phrase!["set ", Term::Mode, " to `function` or `indentation`, or use ", Term::Offset]));
    }
    Ok(())
}

/// A read of an open file.
struct Reader<'r> {
    workspace: &'r Workspace<'r>,
    args: &'r request::Read,
    content: &'r OpenContent<'r>,
}

impl Reader<'_> {
    fn text(&self, format: Format, result: &mut response::Read) -> Result<()> {
        result.encoding = format.detected.encoding.name().to_owned();
        result.bom = format.detected.bom > 0;
        result.total_lines = self.content.count_lines(format)?;
        let whole_ending = self.content.line_ending(format);
        result.line_ending = whole_ending.map_or("none", |ending| ending.as_str());
        if result.unchanged {
            return Ok(());
        }
        let requested = self.args.tail.or(self.args.limit).unwrap_or(u64::MAX);
        let (page, next_offset) = match (self.args.mode, self.args.tail) {
            (ReadMode::Indentation | ReadMode::Function, _) => self.block(format)?,
            (_, Some(count)) => (self.last(format, count)?, None),
            (_, None) => self.range(format)?,
        };
        let is_short = next_offset.is_some() && page.end.saturating_sub(page.start) + 1 < requested;
        if self.args.unlimited && (is_short || page.cut) {
            let is_one_line = requested == 1 || page.content.len() as u64 > self.workspace.policy.limits.max_file_bytes;
            return Err(self.too_large(requested, is_one_line));
        }
        result.start_line = page.start;
        result.end_line = page.end;
        result.next_offset = next_offset;
        result.truncated = page.cut || next_offset.is_some();
        result.line_ending = whole_ending.unwrap_or(page.ending).as_str();
        result.is_open = page.is_open && result.total_lines.is_none_or(|total| total == page.end);
        result.content = page.content;
        Ok(())
    }

    /// Returns the lines from `offset` on.
    fn range(&self, format: Format) -> Result<(Page, Option<u64>)> {
        let before = self.args.offset - 1;
        let mut lines = self.content.lines(format);
        let skipped = lines.skip(before)?;
        let is_past_end = skipped < before || (before > 0 && lines.is_at_end()?);
        if is_past_end && !self.args.empty_past_end {
            return Err(self.past_the_end(Term::Offset, self.args.offset, skipped));
        }
        let page = page(&mut lines, self.args.offset, &self.layout(format))?;
        let next = page.more.then(|| page.end.saturating_add(1));
        Ok((page, next))
    }

    /// Returns the last `count` lines.
    fn last(&self, format: Format, count: u64) -> Result<Page> {
        let layout = self.layout(format);
        let count = count.min(layout.lines);
        let start = start_of_last(self.content, format.ender, format.detected.bom as u64, self.content.size(), count)?;
        let before = self.content.lines(format).until(start).skip(u64::MAX)?;
        let mut lines = Lines::from(self.content, format.ender, start);
        let mut page = page(&mut lines, before + 1, &Layout { lines: count, last: true, ..layout })?;
        let line_count = page.end.saturating_sub(page.start) + 1;
        page.cut |= page.start > 1 && self.args.tail.is_some_and(|requested_lines| requested_lines > line_count);
        Ok(page)
    }

    /// Returns the error for a line past the end, in the caller's line numbers.
    fn past_the_end(&self, argument: Term, line: u64, total: u64) -> Error {
        let first = self.args.first_line;
        let requested_line = line.saturating_add(first).saturating_sub(1);
        let max = (total + first).saturating_sub(1).max(first);
        let plural = if total == 1 { "" } else { "s" };
        Error::argument(argument, format!("{requested_line} is past the end: the file has {total} line{plural}"))
            .hint(phrase![format!("use a number up to {max}, or "), Term::Tail, " for the last lines"])
            .or_hint(format!("use a number up to {max}"))
            .detail(Detail::PastEnd { argument, total })
    }

    /// Returns the error for lines that are more text than a call may hold, of which one alone may be too much.
    fn too_large(&self, requested: u64, is_one_line: bool) -> Error {
        let max = self.workspace.policy.limits.max_file_bytes;
        let what = if requested == u64::MAX { "it is" } else { "the requested lines are" };
        let cause = format!("{what} more than {max} bytes of text, the maximum of one call");
        let error = Error::at(Code::TooLarge, OPERATION, &self.args.path, cause);
        if is_one_line {
            return error.hint(phrase![Term::SearchTool, " searches in it"]);
        }
        error
            .hint(phrase![Term::Limit, " or ", Term::Tail, " reads fewer lines"])
            .or_hint(phrase![Term::Limit, " reads fewer lines"])
            .or_hint(phrase![Term::PartTool, " reads a part of it"])
    }

    fn layout(&self, format: Format) -> Layout {
        let limits = &self.workspace.policy.limits;
        if self.args.unlimited {
            return Layout {
                lines: self.args.limit.unwrap_or(u64::MAX),
                line_chars: usize::MAX,
                bytes: usize::try_from(limits.max_file_bytes).unwrap_or(usize::MAX),
                raw: self.args.mode == ReadMode::Raw,
                last: false,
                encoding: format.detected.encoding,
            };
        }
        Layout {
            lines: match self.args.limit {
                Some(limit) if self.args.any_limit => limit,
                limit => limit.unwrap_or(u64::MAX).min(limits.max_lines),
            },
            line_chars: self.args.line_chars.unwrap_or(usize::MAX).min(limits.max_line_chars),
            bytes: limits.max_result_bytes,
            raw: self.args.mode == ReadMode::Raw,
            last: false,
            encoding: format.detected.encoding,
        }
    }

    /// Reads the bytes from `offset` on as Base64.
    fn bytes(&self, result: &mut response::Read) -> Result<()> {
        if result.unchanged {
            return Ok(());
        }
        let (size, offset) = (self.content.size(), self.args.offset);
        if offset > size.max(1) {
            let cause = format!("{offset} is past the end: the file has {size} bytes");
            return Err(Error::argument(Term::Offset, cause).hint(format!("use a number up to {}", size.max(1))));
        }
        // Three bytes are encoded as four characters.
        let max = match self.args.unlimited {
            true => self.workspace.policy.limits.max_file_bytes,
            false => (self.workspace.policy.limits.max_result_bytes as u64 / 4 * 3).max(3),
        };
        let requested = self.args.limit.unwrap_or(BASE64_BYTES);
        if self.args.unlimited && requested.min(size.saturating_sub(offset - 1)) > max {
            let cause = format!("it has {size} bytes, and one call returns at most {max}");
            return Err(Error::at(Code::TooLarge, OPERATION, &self.args.path, cause));
        }
        let count = requested.min(max);
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < count {
            let before = bytes.len();
            self.content.read(offset - 1 + before as u64, &mut bytes)?;
            if bytes.len() - before < CHUNK {
                break;
            }
        }
        bytes.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        let end = offset - 1 + bytes.len() as u64;
        if !bytes.is_empty() {
            (result.start_line, result.end_line) = (offset, end);
        }
        result.next_offset = (end < size && !bytes.is_empty()).then_some(end + 1);
        result.truncated = result.next_offset.is_some();
        result.content = STANDARD.encode(&bytes);
        Ok(())
    }
}

/// Returns the number of bytes and lines that were returned to the caller.
pub(super) fn extent(read: &response::Read) -> (u64, Option<u64>) {
    let line_count = read.line_count();
    if let Some(diff) = &read.diff {
        return (diff.len() as u64, None);
    }
    if read.encoding == "binary" { (line_count, None) } else { (read.content.len() as u64, Some(line_count)) }
}

#[cfg(test)]
mod tests {
    use paddock_types::error::Code;
    use paddock_types::policy::Policy;
    use paddock_types::request::Read;
    use paddock_workspace::fixture;

    use super::*;

    fn small(max_file_bytes: u64) -> Policy {
        let mut policy = Policy::default();
        policy.limits.max_file_bytes = max_file_bytes;
        policy
    }

    fn read_with(bytes: &[u8], policy: &Policy, change: impl FnOnce(&mut Read)) -> Result<response::Read> {
        let mut args = Read::lines("a.txt", 1, None);
        change(&mut args);
        fixture::with(&[("a.txt", bytes)], policy, |workspace| run(workspace, &args))
    }

    fn read(bytes: &[u8], change: impl FnOnce(&mut Read)) -> Result<response::Read> {
        read_with(bytes, &Policy::default(), change)
    }

    #[test]
    fn a_page() {
        let result = read(b"one\r\ntwo\r\nthree", |args| args.limit = Some(2)).unwrap();
        assert_eq!((result.content.as_str(), result.start_line, result.end_line), ("one\ntwo", 1, 2));
        assert_eq!((result.total_lines, result.next_offset, result.truncated), (Some(3), Some(3), true));
        assert_eq!((result.encoding.as_str(), result.line_ending, result.bom), ("UTF-8", "crlf", false));
        assert_eq!((result.size, result.mime.as_str()), (15, "text/plain"));
        assert_eq!(result.modified.as_deref(), Some("2023-11-14T22:13:20Z"));
        assert_eq!(result.etag, Some(paddock_types::digest::etag(b"one\r\ntwo\r\nthree")));
        let last = read(b"one\r\ntwo\r\nthree", |args| args.offset = 3).unwrap();
        assert_eq!((last.content.as_str(), last.next_offset, last.truncated), ("three", None, false));
    }

    #[test]
    fn an_empty_file() {
        let result = read(b"", |_| ()).unwrap();
        assert_eq!((result.content.as_str(), result.start_line, result.end_line), ("", 0, 0));
        assert_eq!((result.total_lines, result.line_ending, result.truncated), (Some(0), "none", false));
        assert_eq!(read(b"", |args| args.mode = ReadMode::Base64).unwrap().content, "");
        assert_eq!(read(b"", |args| args.tail = Some(3)).unwrap().end_line, 0);
    }

    #[test]
    fn encodings() {
        let result = read(b"\xff\xfea\0\r\0\n\0\xe4\0", |_| ()).unwrap();
        assert_eq!((result.content.as_str(), result.encoding.as_str(), result.bom), ("a\nä", "UTF-16LE", true));
        assert_eq!(result.line_ending, "crlf");
        let result = read(b"\xcf\xf0\xe8", |args| args.encoding = Some("windows-1251".to_owned())).unwrap();
        assert_eq!((result.content.as_str(), result.encoding.as_str()), ("При", "windows-1251"));
        assert_eq!(
            read(b"", |args| args.encoding = Some("klingon".to_owned())).unwrap_err().code,
            Code::InvalidArgument
        );
    }

    #[test]
    fn binary_is_refused_with_a_hint() {
        let error = read(b"\x89PNG\r\n\x1a\n\0\0", |_| ()).unwrap_err();
        assert_eq!(error.code, Code::BinaryFile);
        assert_eq!(error.message(), "cannot read `a.txt`: it is binary: 10 bytes of image/png");
        assert!(error.hint_text().unwrap().contains("base64"));
        let result = read(b"\0\x01\x02\x03", |args| {
            args.mode = ReadMode::Base64;
            args.offset = 2;
            args.limit = Some(2);
        })
        .unwrap();
        assert_eq!((result.content.as_str(), result.start_line, result.end_line), ("AQI=", 2, 3));
        assert_eq!((result.next_offset, result.encoding.as_str(), result.total_lines), (Some(4), "binary", None));
    }

    #[test]
    fn wrong_arguments() {
        let wrong: [fn(&mut Read); 9] = [
            |args| args.offset = 0,
            |args| args.limit = Some(0),
            |args| args.tail = Some(0),
            |args| args.offset = 4,
            |args| args.offset = u64::MAX,
            |args| (args.mode, args.tail) = (ReadMode::Base64, Some(1)),
            |args| (args.mode, args.offset) = (ReadMode::Base64, 6),
            |args| args.anchor_line = Some(1),
            |args| (args.mode, args.anchor_line) = (ReadMode::Indentation, Some(4)),
        ];
        for (index, change) in wrong.into_iter().enumerate() {
            assert_eq!(read(b"a\nb\n\n", change).unwrap_err().code, Code::InvalidArgument, "{index}");
        }
        let error = read(b"a\nb", |args| args.offset = 9).unwrap_err();
        assert_eq!(error.message(), "argument `offset`: 9 is past the end: the file has 2 lines");
    }

    #[test]
    fn not_files() {
        let code = |path: &str| {
            let files: &[(&str, &[u8])] = &[("d/", b""), ("l -> ../x", b"")];
            fixture::with(files, &Policy::default(), |workspace| run(workspace, &Read::lines(path, 1, None)))
                .unwrap_err()
                .code
        };
        assert_eq!(["d", "l", "x"].map(code), [Code::NotAFile, Code::OutsideWorkspace, Code::NotFound]);
    }

    #[test]
    fn the_last_lines() {
        let result = read(b"a\nb\nc\n", |args| args.tail = Some(2)).unwrap();
        assert_eq!((result.content.as_str(), result.start_line, result.end_line), ("b\nc", 2, 3));
        assert_eq!((result.next_offset, result.truncated), (None, false));
        let raw = read(b"a\nb\nc", |args| (args.tail, args.mode) = (Some(9), ReadMode::Raw)).unwrap();
        assert_eq!((raw.content.as_str(), raw.start_line, raw.truncated), ("a\nb\nc", 1, false));
    }

    #[test]
    fn over_the_whole_file_limit_ranges_are_read() {
        let text = (1..=200_000).map(|line| format!("line {line}\n")).collect::<String>();
        let result = read_with(text.as_bytes(), &small(1000), |args| args.offset = 199_999).unwrap();
        assert_eq!((result.content.as_str(), result.next_offset), ("line 199999\nline 200000", None));
        assert_eq!((result.total_lines, result.etag, result.line_ending), (None, None, "lf"));
        let result = read_with(text.as_bytes(), &small(1000), |args| args.tail = Some(1)).unwrap();
        assert_eq!((result.content.as_str(), result.start_line), ("line 200000", 200_000));
        let error = read_with(text.as_bytes(), &small(1000), |args| args.offset = 200_001).unwrap_err();
        assert!(error.message().ends_with("the file has 200000 lines"));
        let middle = |args: &mut Read| {
            args.mode = ReadMode::Base64;
            args.offset = 100_000;
            args.limit = Some(3);
        };
        let result = read_with(text.as_bytes(), &small(1000), middle).unwrap();
        assert_eq!(STANDARD.decode(result.content).unwrap(), text.as_bytes()[99_999..100_002]);
        let whole =
            |args: &mut Read| (args.mode, args.unlimited, args.limit) = (ReadMode::Base64, true, Some(u64::MAX));
        let error = read_with(text.as_bytes(), &small(1000), whole).unwrap_err();
        assert!(
            error.code == Code::TooLarge && error.message().ends_with("one call returns at most 1000"),
            "{error:?}"
        );
    }

    #[test]
    fn a_block() {
        let code = b"use a;\n\nfn f() {\n    if x {\n        y();\n    }\n}\n";
        let result = read(code, |args| {
            args.mode = ReadMode::Indentation;
            args.anchor_line = Some(5);
            args.max_levels = 1;
        })
        .unwrap();
        assert_eq!(result.content, "    if x {\n        y();\n    }");
        assert_eq!((result.start_line, result.end_line, result.next_offset, result.truncated), (4, 6, None, false));
    }

    #[test]
    fn a_function() {
        let code = b"use a;\n\n// Adds.\nfn f(\n    a: u8,\n) -> u8 {\n    if a > 0 {\n        g();\n    }\n    a\n}\n\nstruct S;\n";
        let around = |line: u64, limit: Option<u64>| {
            read(code, |args| (args.mode, args.anchor_line, args.limit) = (ReadMode::Function, Some(line), limit))
        };
        for line in 3..=11 {
            let result = around(line, None).unwrap();
            assert_eq!(
                (result.start_line, result.end_line, result.next_offset, result.truncated),
                (3, 11, None, false)
            );
        }
        let part = around(8, Some(6)).unwrap();
        assert_eq!((part.start_line, part.end_line, part.next_offset, part.truncated), (3, 8, Some(9), true));
        for line in [1, 13] {
            let error = around(line, None).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
            let cause =
                format!("argument `mode`: line {line} is in no function that could be recognized within 2000 lines");
            assert!(error.to_string().contains(&cause), "{error}");
        }
    }

    #[test]
    fn an_etag_that_still_fits() {
        let etag = paddock_types::digest::etag(b"a\n");
        let result = read(b"a\n", |args| args.if_none_match = Some(etag.clone())).unwrap();
        assert_eq!((result.content.as_str(), result.unchanged, result.total_lines), ("", true, Some(1)));
        assert!(!read(b"b\n", |args| args.if_none_match = Some(etag)).unwrap().unchanged);
    }
}
