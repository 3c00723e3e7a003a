//! The documentation's table of all settings, generated from the schema.

use std::fmt::Write;

use serde_json::Value;

/// Returns a Markdown table with a row for every setting: its name, type, default and meaning.
pub fn table() -> String {
    let schema = super::schema();
    let mut table = "| setting | type | default | meaning |\n| --- | --- | --- | --- |\n".to_owned();
    let defs = schema.get("$defs").unwrap_or(&Value::Null);
    Rows { defs, within: "" }.write(&schema, &mut table);
    table
}

struct Rows<'a> {
    defs: &'a Value,
    within: &'a str,
}

impl Rows<'_> {
    fn write(&self, schema: &Value, table: &mut String) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let (within, resolved) = (self.within, self.resolved(property));
            let full = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
            if resolved["properties"].is_object() {
                Rows { defs: self.defs, within: &full }.write(resolved, table);
                continue;
            }
            let meaning = property["description"].as_str().unwrap_or_default().replace(['\n', '|'], " ");
            let (kind, default) = (self.kind(property), &property["default"]);
            // Writing to a string does not fail.
            let _ = writeln!(table, "| `{full}` | {kind} | `{}` | {meaning} |", rendered_value(default));
        }
    }

    /// Describes the possible values in words.
    fn kind(&self, schema: &Value) -> String {
        let schema = self.resolved(schema);
        let listed = |of: &Value| of.as_array().into_iter().flatten().map(|one| self.kind(one)).collect::<Vec<_>>();
        if let Some(value) = schema.get("const") {
            return format!("`{}`", rendered_value(value));
        }
        for choice in ["oneOf", "anyOf"] {
            if schema[choice].is_array() {
                return listed(&schema[choice]).join(", ");
            }
        }
        if schema["enum"].is_array() {
            let values = schema["enum"].as_array().into_iter().flatten();
            return values.map(|value| format!("`{}`", rendered_value(value))).collect::<Vec<_>>().join(", ");
        }
        match schema["type"].as_str() {
            Some("array") => format!("list: {}", self.kind(&schema["items"])),
            Some("integer") => "number".to_owned(),
            Some("object") if schema["additionalProperties"].is_object() => {
                format!("table: {}", self.kind(&schema["additionalProperties"]))
            }
            Some("object") => {
                let members = schema["properties"].as_object().into_iter().flatten();
                let members = members.map(|(name, member)| format!("`{name}`: {}", self.kind(member)));
                format!("{{{}}}", members.collect::<Vec<_>>().join("; "))
            }
            Some("boolean") => "`true`, `false`".to_owned(),
            Some(other) => other.to_owned(),
            None => "anything".to_owned(),
        }
    }

    /// Returns the definition that a reference names, or the schema itself if it is no reference.
    fn resolved<'v>(&'v self, schema: &'v Value) -> &'v Value {
        let name = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        name.map_or(schema, |name| self.defs.get(name).unwrap_or(&Value::Null))
    }
}

fn rendered_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
