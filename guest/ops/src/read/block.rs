//! Reading of the lines around an anchor line: a block by its indentation, or a function.

use paddock_text::codec;
use paddock_text::function;
use paddock_text::indent::{self, Block, Indentation};
use paddock_text::lines::Lines;
use paddock_text::page::{Layout, Page, page};
use paddock_types::error::{Error, Result, Term};
use paddock_types::phrase;
use paddock_types::request::ReadMode;

use super::Reader;
use super::content::Format;

/// Lines of a file around an anchor line.
struct Window {
    /// Number of the first line, 1-based.
    first: u64,
    /// Index of the anchor line.
    anchor: usize,
    /// Start of each line, in bytes.
    starts: Vec<u64>,
    shapes: Vec<Indentation>,
    /// Text of each line, cut; empty for a block by its indentation.
    texts: Vec<String>,
    /// Whether the file has more lines below.
    more: bool,
}

impl Reader<'_> {
    /// Returns the block or function around the anchor line. It lies within `limit` lines of the anchor.
    pub(super) fn block(&self, format: Format) -> Result<(Page, Option<u64>)> {
        let layout = self.layout(format);
        let window = self.window(format, &layout)?;
        let block = match self.args.mode {
            ReadMode::Function => self.function(&window, &layout)?,
            _ => self.indented(&window, &layout),
        };
        let start = window.starts.get(block.lines.start).copied().unwrap_or(0);
        let count = block.lines.len() as u64;
        let has_lines_below = window.more || block.lines.end < window.starts.len();
        let number = window.first + block.lines.start as u64;
        let mut lines = Lines::from(self.content, format.ender, start);
        let mut page = page(&mut lines, number, &Layout { lines: count, ..layout })?;
        page.cut |= block.cut;
        let has_more = page.end + 1 < number + count || (block.cut && has_lines_below);
        let next = has_more.then(|| page.end + 1);
        Ok((page, next))
    }

    fn window(&self, format: Format, layout: &Layout) -> Result<Window> {
        let anchor = self.args.anchor_line.unwrap_or(self.args.offset);
        let argument = if self.args.anchor_line.is_some() { Term::AnchorLine } else { Term::Offset };
        let first = anchor.saturating_sub(layout.lines).max(1);
        let mut lines = self.content.lines(format);
        let mut total = lines.skip(first - 1)?;
        let (mut shapes, mut starts, mut texts, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        while total >= first - 1 && total < anchor.saturating_add(layout.lines) {
            let Some(line) = lines.next(layout.line_chars.saturating_mul(4), &mut bytes)? else { break };
            let text = codec::decode(&bytes, layout.encoding);
            shapes.push(Indentation::of(&text));
            if self.args.mode == ReadMode::Function {
                texts.push(text.chars().take(function::LINE_CHARS).collect());
            }
            starts.push(line.start);
            total += 1;
        }
        if total < anchor {
            return Err(self.past_the_end(argument, anchor, total));
        }
        let anchor = usize::try_from(anchor - first).unwrap_or(0);
        Ok(Window { first, anchor, starts, shapes, texts, more: !lines.is_at_end()? })
    }

    fn indented(&self, window: &Window, layout: &Layout) -> Block {
        let options = indent::Options {
            max_levels: self.args.max_levels,
            include_siblings: self.args.include_siblings,
            include_header: self.args.include_header,
            whole_signatures: self.args.whole_signatures,
            max_lines: usize::try_from(layout.lines).unwrap_or(usize::MAX),
        };
        indent::block(&window.shapes, window.anchor, &options)
    }

    fn function(&self, window: &Window, layout: &Layout) -> Result<Block> {
        let source = function::Source { lines: &window.texts, shapes: &window.shapes };
        let Some(lines) = source.function(window.anchor, self.args.include_header) else {
            let line = window.first + window.anchor as u64;
            return Err(Error::argument(
                Term::Mode,
                format!("line {line} is in no function that could be recognized within {} lines", layout.lines),
            )
            .hint(phrase![
                "set ",
                Term::Mode,
                " to `indentation` for the block around the line, or use ",
                Term::Offset,
                " and ",
                Term::Limit
            ]));
        };
        let max = usize::try_from(layout.lines).unwrap_or(usize::MAX);
        let cut = lines.len() > max || (window.more && lines.end == window.starts.len());
        Ok(Block { lines: lines.start..lines.end.min(lines.start.saturating_add(max)), cut })
    }
}
