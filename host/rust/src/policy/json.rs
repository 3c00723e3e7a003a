//! Reads JSON strictly, with serde_json. It does not report the lines of values, so each line is computed from the
//! position of the value in the text.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::node::{Content, Fault, Lines, Member, Node, check_depth};

/// Returns whether the whole text is JSON.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Parses `text`.
pub(super) fn parse(text: &str) -> Result<Option<Node>, Fault> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| fault(&error, 1))?;
    node(&Lines::of(text), raw, 1).map(Some)
}

fn node(lines: &Lines<'_>, raw: &RawValue, depth: usize) -> Result<Node, Fault> {
    let line = lines.of_part(raw.get());
    let wrong = |error: serde_json::Error| fault(&error, line);
    let content = match raw.get().as_bytes().first() {
        Some(b'{') => {
            check_depth(depth, line)?;
            let Members(members) = serde_json::from_str(raw.get()).map_err(wrong)?;
            let member = |(name, raw)| {
                let value = node(lines, raw, depth + 1)?;
                Ok(Member { name, line: value.line, value })
            };
            return Node::table(line, members.into_iter().map(member).collect::<Result<_, _>>()?);
        }
        Some(b'[') => {
            check_depth(depth, line)?;
            let items: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(wrong)?;
            Content::List(items.into_iter().map(|raw| node(lines, raw, depth + 1)).collect::<Result<_, _>>()?)
        }
        _ => Content::Scalar(serde_json::from_str(raw.get()).map_err(wrong)?),
    };
    Ok(Node { line, content })
}

/// The members of an object, including repeated names.
struct Members<'de>(Vec<(String, &'de RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// Converts an error of serde_json, for a text whose first line is `first`.
fn fault(error: &serde_json::Error, first: usize) -> Fault {
    let cause = error.to_string();
    let cause = cause.split(" at line ").next().unwrap_or(&cause);
    Fault::new(first + error.line().saturating_sub(1), cause)
}
