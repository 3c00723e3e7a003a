//! Reads TOML.

use serde_json::{Number, Value};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::node::{Content, Fault, Lines, Member, Node, check_depth};

/// Parses `text`.
pub(super) fn parse(text: &str) -> Result<Option<Node>, Fault> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        let line = lines.at(error.span().map_or(0, |span| span.start));
        Fault::new(line, error.message().lines().collect::<Vec<_>>().join("; "))
    })?;
    table_node(&lines, table.get_ref(), 1, 1).map(Some)
}

fn table_node(lines: &Lines<'_>, table: &DeTable<'_>, line: usize, depth: usize) -> Result<Node, Fault> {
    check_depth(depth, line)?;
    let member = |(name, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let line = lines.at(name.span().start);
        let name: &std::borrow::Cow<'_, str> = name.get_ref();
        Ok(Member { name: name.to_string(), line, value: node(lines, value, line, depth)? })
    };
    let mut members = table.iter().map(member).collect::<Result<Vec<_>, Fault>>()?;
    members.sort_by_key(|member| member.line);
    Node::table(line, members)
}

/// Converts a value inside a table or list of depth `depth`. `line` is the line of its name, since a table that a
/// dotted name defines has no line of its own.
fn node(lines: &Lines<'_>, value: &Spanned<DeValue<'_>>, line: usize, depth: usize) -> Result<Node, Fault> {
    let own_line = lines.at(value.span().start);
    let content = match value.get_ref() {
        DeValue::Table(table) => return table_node(lines, table, line, depth + 1),
        DeValue::Array(items) => {
            check_depth(depth + 1, own_line)?;
            let item = |item: &Spanned<DeValue<'_>>| node(lines, item, lines.at(item.span().start), depth + 1);
            Content::List(items.iter().map(item).collect::<Result<_, _>>()?)
        }
        DeValue::String(text) => Content::Scalar(Value::from(text.as_ref())),
        DeValue::Boolean(on) => Content::Scalar(Value::Bool(*on)),
        DeValue::Integer(integer) => Content::Scalar(whole(integer, own_line)?),
        DeValue::Float(float) => {
            let number = float.as_str().parse().ok().and_then(Number::from_f64);
            let number = number.ok_or_else(|| Fault::new(own_line, "a number has to be finite"))?;
            Content::Scalar(Value::Number(number))
        }
        DeValue::Datetime(time) => Content::Scalar(Value::from(time.to_string())),
    };
    Ok(Node { line: own_line, content })
}

fn whole(integer: &DeInteger<'_>, line: usize) -> Result<Value, Fault> {
    let (digits, radix) = (integer.as_str(), integer.radix());
    let whole = u64::from_str_radix(digits, radix).map(Value::from);
    let whole = whole.or_else(|_| i64::from_str_radix(digits, radix).map(Value::from));
    whole.map_err(|_| Fault::new(line, format!("`{digits}` is too large a number")))
}
