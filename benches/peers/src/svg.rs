//! A minimal SVG writer for the charts. The colours are of medium brightness, so that they are visible on light and
//! dark pages.
//!
//! The charts need rectangles, lines and texts; `plotters` is not worth its dependencies for them.

use std::fmt::Write;

/// Colour of texts and axes.
pub const INK: &str = "#7d8590";
/// Colour of the grid behind the data.
pub const GRID: &str = "#7d859040";

/// Alignment of a text at its point.
#[derive(Clone, Copy)]
pub enum Anchor {
    /// The text starts at the point.
    Start,
    /// The text is centred on the point.
    Middle,
    /// The text ends at the point.
    End,
}

/// A drawing.
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    /// Creates an empty picture with a title for screen readers.
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        let mut svg = Self { width, height, body: String::new() };
        svg.push(&format!("<title>{}</title>", escaped(title)));
        svg
    }

    /// Adds a straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, dashed: bool) {
        let dash = if dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let ends = format!("x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"", from.0, from.1, to.0, to.1);
        self.push(&format!("<line {ends} stroke=\"{colour}\"{dash}/>"));
    }

    /// Adds a bar.
    pub fn bar(&mut self, at: (f64, f64), size: (f64, f64), colour: &str) {
        let attributes =
            format!("x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"", at.0, at.1, size.0, size.1);
        self.push(&format!("<rect {attributes} rx=\"2\" fill=\"{colour}\"/>"));
    }

    /// Adds a line through marked points.
    pub fn path(&mut self, points: &[(f64, f64)], colour: &str) {
        let joined: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let joined = joined.join(" ");
        self.push(&format!("<polyline points=\"{joined}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"));
        for (x, y) in points {
            self.push(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"));
        }
    }

    /// Adds a text on one line.
    pub fn text(&mut self, at: (f64, f64), anchor: Anchor, colour: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let attributes = format!("x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\"", at.0, at.1);
        self.push(&format!("<text {attributes} fill=\"{colour}\">{}</text>", escaped(text)));
    }

    /// Returns the complete SVG document.
    pub fn finish(self) -> String {
        let (width, height) = (self.width, self.height);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n{}</svg>\n",
            self.body
        )
    }

    fn push(&mut self, element: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.body, "{element}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut svg = Svg::new(10.0, 10.0, "a & b");
        svg.text((1.0, 2.0), Anchor::End, INK, "x < y");
        let text = svg.finish();
        assert!(text.contains("a &amp; b") && text.contains("x &lt; y") && text.ends_with("</svg>\n"));
    }
}
