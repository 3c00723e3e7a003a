//! The block of lines around a line, by indentation alone, which works for any indented language.

use std::ops::Range;

/// Number of columns of a tab, and of one level.
const INDENT_WIDTH: usize = 4;

/// Indentation of a line, and whether the line is blank or a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indentation {
    indent: usize,
    blank: bool,
    comment: bool,
    continues: bool,
}

impl Indentation {
    /// Reads the indentation of a line. The start of the line is enough.
    pub fn of(line: &str) -> Self {
        let body = line.trim_start();
        let indent_bytes = line.len() - body.len();
        let indent = line.bytes().take(indent_bytes).map(|byte| if byte == b'\t' { INDENT_WIDTH } else { 1 }).sum();
        let comment = ["#", "//", "--"].iter().any(|comment_prefix| body.starts_with(comment_prefix));
        Self { indent, blank: body.is_empty(), comment, continues: continues(body.trim_end()) }
    }

    /// Number of columns of white space at the start.
    pub fn columns(&self) -> usize {
        self.indent
    }
}

/// Extent of a block.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of enclosing levels; 0 for all.
    pub max_levels: u32,
    /// Whether to include blocks of the same level.
    pub include_siblings: bool,
    /// Whether to include comment lines above the block.
    pub include_header: bool,
    /// Whether to include all lines of a signature. Without this, the block begins at the nearest line of the outermost
    /// level, as in Codex, which may be the last line of the signature.
    pub whole_signatures: bool,
    /// Maximum number of lines.
    pub max_lines: usize,
}

/// A block of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Indices of the lines.
    pub lines: Range<usize>,
    /// Whether the block has more lines than the maximum.
    pub cut: bool,
}

/// Returns the block around the line `anchor`. The block grows by one line up and one line down in turn, as long as
/// the lines are indented at least as much as the outermost requested level. Of the lines at that level, only the
/// first line in each direction belongs to the block; with whole signatures, nothing above it does but comments.
pub fn block(shapes: &[Indentation], anchor: usize, options: &Options) -> Block {
    let indents = effective(shapes);
    let own = indents.get(anchor).copied().unwrap_or(0);
    let levels = usize::try_from(options.max_levels).unwrap_or(usize::MAX);
    let min = if levels == 0 { 0 } else { own.saturating_sub(levels.saturating_mul(INDENT_WIDTH)) };
    let indent = |at: usize| indents.get(at).copied();
    let continues = |at: usize| options.whole_signatures && shapes.get(at).is_some_and(|shape| shape.continues);
    let edge = |at: usize| indent(at) == Some(min) && !options.include_siblings && !continues(at);
    let is_header = |at: usize| options.include_header && shapes.get(at).is_some_and(|shape| shape.comment);

    let mut lines = anchor..anchor.saturating_add(1).min(shapes.len());
    let (mut up, mut down) = (true, true);
    // The first line of a signature at the outermost level has no block above it.
    let is_followed = indent(anchor + 1) > Some(own) || continues(anchor + 1);
    let (mut edge_above, mut edge_below) = (options.whole_signatures && edge(anchor) && is_followed, false);
    let mut cut = false;
    while up || down {
        let above = lines.start.checked_sub(1).filter(|at| up && indent(*at) >= Some(min));
        up = above.is_some_and(|at| !edge_above || if edge(at) { is_header(at) } else { !options.whole_signatures });
        if up && lines.len() >= options.max_lines {
            cut = true;
            break;
        }
        if let Some(at) = above.filter(|_| up) {
            edge_above |= edge(at);
            lines.start = at;
        }
        let below = Some(lines.end).filter(|at| down && indent(*at) >= Some(min));
        down = below.is_some_and(|at| !edge(at) || !edge_below);
        if down && lines.len() >= options.max_lines {
            cut = true;
            break;
        }
        if let Some(at) = below.filter(|_| down) {
            edge_below |= edge(at);
            lines.end = at + 1;
        }
    }
    Block { lines: trim(shapes, lines), cut }
}

/// Returns whether a line without its indentation continues a signature that began on a line above: `) -> T {`, `where`,
/// `{`.
pub(crate) fn continues(body: &str) -> bool {
    if body == "{" || body == "where" || body.starts_with("where ") {
        return true;
    }
    let rest = body.trim_start_matches([')', ']', '}', '>']);
    let closers = body.get(..body.len() - rest.len()).unwrap_or_default();
    let has_parenthesis = closers.contains([')', ']', '>']) || (closers == "}" && rest.starts_with(':'));
    has_parenthesis && !rest.is_empty() && !rest.starts_with([';', ',', '.', '?']) && !body.ends_with([';', ','])
}

/// Returns the indentation of each line. A blank line has that of the previous line.
fn effective(shapes: &[Indentation]) -> Vec<usize> {
    let mut before = 0;
    shapes
        .iter()
        .map(|shape| {
            if !shape.blank {
                before = shape.indent;
            }
            before
        })
        .collect()
}

/// Removes blank lines at both ends.
fn trim(shapes: &[Indentation], lines: Range<usize>) -> Range<usize> {
    let blank = |at: &usize| shapes.get(*at).is_some_and(|shape| shape.blank);
    let start = lines.clone().find(|at| !blank(at));
    let end = lines.clone().rev().find(|at| !blank(at));
    match (start, end) {
        (Some(start), Some(end)) => start..end + 1,
        _ => lines,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "\
use a;

// About f.
fn f() {
    if x {
        one();

        two();
    }
    other();
}

fn g() {
    three();
}";

    fn take(anchor: usize, options: Options) -> (usize, usize, bool) {
        let shapes: Vec<_> = CODE.lines().map(Indentation::of).collect();
        let block = block(&shapes, anchor - 1, &options);
        (block.lines.start + 1, block.lines.end, block.cut)
    }

    const ALL: Options = Options {
        max_levels: 0,
        include_siblings: false,
        include_header: true,
        whole_signatures: false,
        max_lines: 100,
    };

    #[test]
    fn levels() {
        assert_eq!(take(6, ALL), (3, 11, false));
        assert_eq!(take(6, Options { include_header: false, ..ALL }), (4, 11, false));
        assert_eq!(take(6, Options { max_levels: 1, ..ALL }), (5, 9, false));
        assert_eq!(take(6, Options { max_levels: 1, include_siblings: true, ..ALL }), (5, 10, false));
        assert_eq!(take(6, Options { include_siblings: true, ..ALL }), (1, 15, false));
        assert_eq!(take(14, ALL), (13, 15, false));
    }

    #[test]
    fn limits() {
        assert_eq!(take(6, Options { max_lines: 3, ..ALL }), (5, 6, true));
        assert_eq!(take(6, Options { max_lines: 1, ..ALL }), (6, 6, true));
        assert_eq!(take(15, Options { max_lines: 9, max_levels: u32::MAX, ..ALL }).1, 15);
        assert_eq!(block(&[], 0, &ALL), Block { lines: 0..0, cut: false });
    }

    #[test]
    fn tabs_are_four_columns() {
        assert_eq!(
            Indentation::of("\t  # x"),
            Indentation { indent: 6, blank: false, comment: true, continues: false }
        );
        assert!(Indentation::of(" \t").blank);
    }

    #[test]
    fn signatures_of_several_lines() {
        let block_of = |code: &str, anchor: usize, options: Options| {
            let shapes: Vec<_> = code.lines().map(Indentation::of).collect();
            let lines = block(&shapes, anchor - 1, &options).lines;
            (lines.start + 1, lines.end)
        };
        let whole = Options { max_levels: 1, whole_signatures: true, ..ALL };
        let rust = "impl A {\n    fn a() {}\n\n    fn f(\n        &mut self,\n    ) -> B {\n        one();\n    }\n\n    fn g() {}\n}\n";
        assert_eq!(block_of(rust, 7, whole), (4, 8));
        assert_eq!(block_of(rust, 5, whole), (4, 8));
        assert_eq!(block_of(rust, 7, Options { whole_signatures: false, ..whole }), (5, 8));
        let bounds = "fn f<T>(\n    x: T,\n) -> B\nwhere\n    T: C,\n{\n    one();\n}\nfn g() {}\n";
        assert_eq!(block_of(bounds, 7, whole), (1, 8));
        let python = "x = 1\n\ndef f(\n    a,\n):\n    one()\n\ny = 2\n";
        assert_eq!(block_of(python, 6, whole), (3, 8));
        let c = "int f(int a,\n      int b)\n{\n    one();\n}\nint x;\n";
        assert_eq!(block_of(c, 4, whole), (1, 5));
        let class =
            "def f(\n    a,\n):\n    return a\n\n\nclass C:\n    def m(self,\n          x):\n        return x\n";
        assert_eq!(block_of(class, 10, Options { max_levels: 0, ..whole }), (7, 10));
        assert_eq!(block_of(class, 10, whole), (8, 10));
        let head = "fn f() {\n    a();\n}\n// G.\nfn g<T>()\nwhere\n    T: A,\n{\n    b();\n}\nfn h() {}\n";
        for anchor in 5..=9 {
            assert_eq!(block_of(head, anchor, Options { max_levels: 0, ..whole }), (4, 10), "{anchor}");
        }
        // A call that ends at this level is not a signature.
        let call = "fn f() {\n    one(\n        2,\n    ).unwrap();\n    three();\n}\n";
        assert_eq!(block_of(call, 5, Options { max_levels: 0, ..whole }), (1, 6));
    }
}
