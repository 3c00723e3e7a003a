//! Syntax tree of a policy's text, with the line of every name and value.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Maximum depth of nested lists and tables.
const MAX_DEPTH: usize = 16;

/// A value and the line where it starts, counted from 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    /// A value that is neither a list nor a table.
    Scalar(Value),
    List(Vec<Node>),
    Table(Vec<Member>),
}

/// A name with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) value: Node,
}

/// An error in a text, with its line.
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
    /// Creates a table. Fails if a name occurs twice.
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

    /// Returns the value of a member of a table, or of an item of a list by its index.
    #[cfg(all(target_os = "linux", feature = "serve"))]
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match &self.content {
            Content::Scalar(_) => None,
            Content::List(items) => items.get(name.parse::<usize>().ok()?),
            Content::Table(members) => members.iter().find(|member| member.name == name).map(|member| &member.value),
        }
    }

    /// Returns the value without its lines.
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

/// Fails if lists and tables are nested too deeply. The outermost has depth 1.
pub(super) fn check_depth(depth: usize, line: usize) -> Result<(), Fault> {
    if depth > MAX_DEPTH {
        return Err(Fault::new(line, format!("more than {MAX_DEPTH} lists and tables in each other")));
    }
    Ok(())
}

/// Byte offsets of the line ends of a text.
pub(super) struct Lines<'a> {
    text: &'a str,
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, ends: memchr::memchr_iter(b'\n', text.as_bytes()).collect() }
    }

    /// Returns the line of a byte offset.
    pub(super) fn at(&self, offset: usize) -> usize {
        1 + self.ends.partition_point(|end| *end < offset)
    }

    /// Returns the line of `part`, which has to be a slice of the text.
    pub(super) fn of_part(&self, part: &str) -> usize {
        self.at(part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr()))
    }
}
