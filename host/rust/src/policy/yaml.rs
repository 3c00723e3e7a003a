//! Reads YAML 1.2 with its core schema, without aliases, since they can expand a short text into a huge value.
//!
//! The events of `saphyr-parser` have positions, from which the line of each value is known. `serde` loses them.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Number, Value};

use super::node::{Content, Fault, Member, Node, check_depth};

/// Parses the only document of `text`. Returns `None` if it is empty.
pub(super) fn parse(text: &str) -> Result<Option<Node>, Fault> {
    let mut open: Vec<Open> = Vec::new();
    let mut whole = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| Fault::new(error.marker().line(), error.info()))?;
        let line = span.start.line();
        let finished_node = match event {
            Event::Alias(_) => return Err(anchored(line)),
            Event::Scalar(text, style, anchor, tag) => {
                check_plain(anchor, tag.is_some(), line)?;
                Some(Node { line, content: Content::Scalar(scalar(&text, style)) })
            }
            Event::SequenceStart(anchor, tag) => {
                check_plain(anchor, tag.is_some(), line)?;
                open.push(Open { line, inside: Inside::List(Vec::new()) });
                check_depth(open.len(), line)?;
                None
            }
            Event::MappingStart(anchor, tag) => {
                check_plain(anchor, tag.is_some(), line)?;
                open.push(Open { line, inside: Inside::Table(Vec::new(), None) });
                check_depth(open.len(), line)?;
                None
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(Open::close).transpose()?,
            Event::DocumentStart(_) if whole.is_some() => return Err(Fault::new(line, "a policy is one document")),
            Event::DocumentStart(_) | Event::DocumentEnd | Event::StreamStart | Event::StreamEnd | Event::Nothing => {
                None
            }
        };
        match (finished_node, open.last_mut()) {
            (Some(node), Some(around)) => around.add(node)?,
            (Some(node), None) => whole = Some(node),
            (None, _) => {}
        }
    }
    // A document that has only comments is an empty scalar.
    Ok(whole.filter(|node| node.content != Content::Scalar(Value::Null)))
}

/// A list or table whose end is not read yet.
struct Open {
    line: usize,
    inside: Inside,
}

enum Inside {
    List(Vec<Node>),
    /// The members, and the name whose value follows.
    Table(Vec<Member>, Option<(String, usize)>),
}

impl Open {
    fn add(&mut self, node: Node) -> Result<(), Fault> {
        match &mut self.inside {
            Inside::List(items) => items.push(node),
            Inside::Table(members, name) => match name.take() {
                Some((name, line)) => members.push(Member { name, line, value: node }),
                None => *name = Some(name_of(node)?),
            },
        }
        Ok(())
    }

    fn close(self) -> Result<Node, Fault> {
        match self.inside {
            Inside::List(items) => Ok(Node { line: self.line, content: Content::List(items) }),
            Inside::Table(members, _) => Node::table(self.line, members),
        }
    }
}

fn name_of(node: Node) -> Result<(String, usize), Fault> {
    match node.content {
        Content::Scalar(Value::String(name)) => Ok((name, node.line)),
        Content::Scalar(other) => Ok((other.to_string(), node.line)),
        Content::List(_) | Content::Table(_) => Err(Fault::new(node.line, "a name is a plain text")),
    }
}

fn check_plain(anchor: usize, tagged: bool, line: usize) -> Result<(), Fault> {
    match (anchor, tagged) {
        (0, false) => Ok(()),
        (0, true) => Err(Fault::new(line, "tags are not supported")),
        _ => Err(anchored(line)),
    }
}

fn anchored(line: usize) -> Fault {
    Fault::new(line, "anchors and aliases are not supported: repeat the value")
}

/// Returns the value of a scalar. An infinity or NaN becomes text, which is the wrong type for every number.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::from(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text => number(text).map_or_else(|| Value::from(text), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok().map(Number::from);
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let is_number = text.contains(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E'));
    if !is_number {
        return None;
    }
    let whole = text.parse::<u64>().map(Number::from).or_else(|_| text.parse::<i64>().map(Number::from));
    whole.ok().or_else(|| text.parse().ok().and_then(Number::from_f64))
}
