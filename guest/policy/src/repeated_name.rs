//! Names that an object of JSON has twice. `serde_json::Value` takes the last value of such a name, and other readers of
//! a call, such as a log or a proxy that approves calls, may take the first.

use std::collections::BTreeSet;

/// Returns the first name that an object in `json` has twice. The text has been parsed, so its syntax is right.
pub fn repeated_name(json: &str) -> Option<String> {
    let (mut objects, mut string, mut rest) = (Vec::new(), "", json);
    while let Some(at) = rest.find(['"', ':', '{', '}']) {
        let (token, after) = rest.get(at..)?.split_at_checked(1)?;
        rest = after;
        match token {
            "{" => objects.push(BTreeSet::new()),
            "}" => drop(objects.pop()),
            "\"" => {
                let end = string_end(after)?;
                (string, rest) = after.split_at_checked(end)?;
                rest = rest.get(1..)?;
            }
            // The string before a colon is a name.
            _ => {
                let name: String = serde_json::from_str(&format!("\"{string}\"")).ok()?;
                if !objects.last_mut()?.insert(name.clone()) {
                    return Some(name);
                }
            }
        }
    }
    None
}

/// Returns the offset of the quotation mark that ends the string whose content `rest` begins with.
fn string_end(rest: &str) -> Option<usize> {
    let mut is_escaped = false;
    rest.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_repeated_within_one_object_only() {
        for (json, repeated) in [
            (r#"{"a": 1, "a": 2}"#, Some("a")),
            (r#"{"a": {"b": 1}, "c": {"b": 2}, "b": [{"a": 1}, {"a": 2}]}"#, None),
            (r#"{"a": [{"b": {"c": {}}}, {"b": 1, "c": {"d": 1, "e": 2, "d": 3}}]}"#, Some("d")),
            (r#"{"path": 1, "p\u0061th": 2}"#, Some("path")),
            (r#"{"a\"": 1, "a\\": 2, "a": "\", \"a\": {"}"#, None),
            (r#"{"a": "{\"b\": 1, \"b\": 2}", "ö": "x:y", "": {}, " ": ":"}"#, None),
            (r#"{"": 1, "": 2}"#, Some("")),
            (r#"[{"a": 1}, "a:", ["a"], {"a": 1}]"#, None),
            ("7", None),
        ] {
            let _: serde_json::Value = serde_json::from_str(json).unwrap();
            assert_eq!(repeated_name(json).as_deref(), repeated, "{json}");
        }
    }

    #[test]
    fn many_names_take_linear_time() {
        let names: Vec<_> = (0..200_000).map(|number| format!("\"{number}\": \"{}\"", "\\\"".repeat(5))).collect();
        assert_eq!(repeated_name(&format!("{{{}}}", names.join(","))), None);
    }
}
