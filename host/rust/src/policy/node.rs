//! The tree that a policy's text is read into, with the line of every name and value.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Lists and tables in each other.
const MAX_DEPTH: usize = 16;

/// A value and the line where it starts, from 1.
#[derive(Debug, PartialEq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) content: Content,
}

#[derive(Debug, PartialEq)]
pub(super) enum Content {
    /// Neither a list nor an object.
    Scalar(Value),
    List(Vec<Node>),
    Table(Vec<Member>),
}

/// A name with its value.
#[derive(Debug, PartialEq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) value: Node,
}

/// A mistake in a text, with its line.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) cause: String,
}

impl Fault {
    pub(super) fn new(line: usize, cause: impl Into<String>) -> Self {
        Self { line, cause: cause.into() }
    }
}

impl Node {
    /// A table, in which each name is once.
    pub(super) fn table(line: usize, members: Vec<Member>) -> Result<Self, Fault> {
        let mut known: HashMap<&str, usize> = HashMap::with_capacity(members.len());
        for member in &members {
            if let Some(first) = known.insert(&member.name, member.line) {
                return Err(Fault::new(
                    member.line,
                    format!("`{}` is there twice, first in line {first}", member.name),
                ));
            }
        }
        Ok(Self { line, content: Content::Table(members) })
    }

    /// The value without its lines.
    pub(super) fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => Value::Array(items.iter().map(Self::value).collect()),
            Content::Table(members) => {
                let members = members.iter().map(|member| (member.name.clone(), member.value.value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }
}

/// Refuses lists and tables in each other without end; the outermost has depth 1.
pub(super) fn check_depth(depth: usize, line: usize) -> Result<(), Fault> {
    if depth > MAX_DEPTH {
        return Err(Fault::new(line, format!("more than {MAX_DEPTH} lists and tables in each other")));
    }
    Ok(())
}

/// Where the lines of a text end.
pub(super) struct Lines<'a> {
    text: &'a str,
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, ends: memchr::memchr_iter(b'\n', text.as_bytes()).collect() }
    }

    /// The line of a byte.
    pub(super) fn at(&self, offset: usize) -> usize {
        1 + self.ends.partition_point(|end| *end < offset)
    }

    /// The line of a part of the text itself.
    pub(super) fn of_part(&self, part: &str) -> usize {
        self.at(part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr()))
    }
}
