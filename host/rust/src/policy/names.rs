//! Names of settings, and the alternative names that a policy may use.

use std::sync::OnceLock;

use paddock_policy::Policy;
use serde_json::Value;

/// Names that other programs use for a setting, and its name in Paddock.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("max_file_size", "limits.max_file_bytes"),
    ("max_files_per_operation", "limits.max_files"),
    ("fs_mode", "mode"),
    ("approval_policy", "approval"),
];

/// Name of a flag that sets a part of `approval`.
const CONFIRM: &str = "require_confirmation_for_delete";

/// Meaning of a name in a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The setting of this full name, such as `limits.max_lines`.
    Setting(String),
    /// A table of settings, such as `limits`.
    Table(String),
    /// `approval`, as a lower bound for calls that delete.
    Confirm,
}

/// Returns the meaning of `name` in the table `within`, which is empty for the outermost one. Returns `None` if the
/// name is unknown.
pub(super) fn meaning(within: &str, name: &str) -> Option<Meaning> {
    let plain = snake_case(name);
    let full = join(within, &plain);
    if tables().contains(&full) {
        return Some(Meaning::Table(full));
    }
    if settings().iter().any(|(known, _)| *known == full) {
        return Some(Meaning::Setting(full));
    }
    match (within, plain.as_str()) {
        ("", CONFIRM) => Some(Meaning::Confirm),
        ("", other) => {
            let own = OTHER_NAMES.iter().find(|(known, _)| *known == other);
            own.map(|(_, full)| Meaning::Setting((*full).to_owned()))
        }
        _ => None,
    }
}

/// Returns the known name that is most similar to `name` in the table `within`, if one is similar enough.
pub(super) fn nearest(within: &str, name: &str) -> Option<&'static str> {
    let wanted = join(within, &snake_case(name));
    let last = |name: &str| name.rsplit('.').next().map(str::to_owned).unwrap_or_default();
    let others = OTHER_NAMES.iter().map(|(other, _)| *other).chain([CONFIRM]);
    let known = settings().iter().map(|(name, _)| name.as_str()).chain(tables().iter().map(String::as_str));
    // A correct name in the wrong table scores as high as a misspelt name in the correct one.
    let score = |known: &str| {
        let own = strsim::jaro_winkler(&last(&wanted), &last(known));
        strsim::jaro_winkler(&wanted, known).max(own)
    };
    let scored = known.chain(others).map(|known| (score(known), known)).filter(|(score, _)| *score > 0.8);
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

/// Returns every setting by its full name, with its built-in value, in the order of the documentation.
pub(super) fn settings() -> &'static [(String, Value)] {
    static SETTINGS: OnceLock<Vec<(String, Value)>> = OnceLock::new();
    SETTINGS.get_or_init(|| flat(&Policy::default()))
}

/// Returns every setting of `policy` by its full name.
pub(super) fn flat(policy: &Policy) -> Vec<(String, Value)> {
    let members = |value: Value| match value {
        Value::Object(members) => members,
        _ => serde_json::Map::new(),
    };
    let all = members(serde_json::to_value(policy).unwrap_or_default());
    let each = all.into_iter().flat_map(|(name, value)| match value {
        Value::Object(inner) => inner.into_iter().map(|(inner, value)| (join(&name, &inner), value)).collect(),
        value => vec![(name, value)],
    });
    each.collect()
}

/// Returns the names of the tables of settings.
fn tables() -> &'static [String] {
    static TABLES: OnceLock<Vec<String>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut tables: Vec<_> =
            settings().iter().filter_map(|(name, _)| name.split_once('.')).map(|(table, _)| table.to_owned()).collect();
        tables.dedup();
        tables
    })
}

fn join(within: &str, name: &str) -> String {
    if within.is_empty() { name.to_owned() } else { format!("{within}.{name}") }
}

/// Converts `maxFileSize` to `max_file_size`.
pub(super) fn snake_case(name: &str) -> String {
    if name.contains('_') || name.starts_with(|c: char| c.is_ascii_uppercase()) {
        return name.to_owned();
    }
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_be_written_as_other_programs_do() {
        let setting = |name: &str| Some(Meaning::Setting(name.to_owned()));
        for (within, name, meant) in [
            ("", "read_only", setting("read_only")),
            ("", "readOnly", setting("read_only")),
            ("", "maxFileSize", setting("limits.max_file_bytes")),
            ("", "max_files_per_operation", setting("limits.max_files")),
            ("", "fsMode", setting("mode")),
            ("", "requireConfirmationForDelete", Some(Meaning::Confirm)),
            ("", "limits", Some(Meaning::Table("limits".to_owned()))),
            ("limits", "maxLines", setting("limits.max_lines")),
            ("limits", "max_file_size", None),
            ("", "max_lines", None),
            ("", "ReadOnly", None),
            ("", "limits.maxLines", setting("limits.max_lines")),
        ] {
            assert_eq!(meaning(within, name), meant, "{within} {name}");
        }
    }

    #[test]
    fn an_unknown_name_is_reported_with_the_nearest_name() {
        for (within, name, near) in [
            ("", "read_onyl", Some("read_only")),
            ("", "readonly", Some("read_only")),
            ("", "max_lines", Some("limits.max_lines")),
            ("limits", "max_line", Some("limits.max_lines")),
            ("", "aproval", Some("approval")),
            ("", "blocked_dirs", Some("blocked_directories")),
            ("", "require_confirmation_for_deletes", Some(CONFIRM)),
            ("", "xyz", None),
        ] {
            assert_eq!(nearest(within, name), near, "{within} {name}");
        }
    }
}
