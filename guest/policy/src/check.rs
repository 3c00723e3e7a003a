//! Checks of a policy beyond names and types.

use crate::Policy;

/// A setting that contradicts another, or has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The setting's name, such as `limits.max_lines`.
    pub setting: &'static str,
    /// Description of the mistake.
    pub cause: String,
}

/// The largest number that every build of the component holds.
const MAX_WORD: u32 = u32::MAX;

impl Policy {
    /// Checks the policy. Fails with the first mistake.
    pub fn check(&self) -> Result<(), Contradiction> {
        let wrong = |setting, cause: String| Err(Contradiction { setting, cause });
        for (setting, extensions) in
            [("allowed_extensions", &self.allowed_extensions), ("blocked_extensions", &self.blocked_extensions)]
        {
            if let Some(odd) = extensions.iter().find(|extension| !is_extension(extension)) {
                return wrong(setting, format!("`{odd}` is not an extension; write it like `.md`"));
            }
        }
        let same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
        if let Some(both) =
            self.blocked_extensions.iter().find(|out| self.allowed_extensions.iter().any(|allowed| same(allowed, out)))
        {
            return wrong("blocked_extensions", format!("`{both}` is in `allowed_extensions` too"));
        }
        if let Some(odd) = self.blocked_directories.iter().find(|path| !names_something(path)) {
            return wrong("blocked_directories", format!("`{odd}` names nothing below the top of a root"));
        }
        self.check_limits()?;
        self.commands.check().map_err(|(setting, cause)| Contradiction { setting, cause })
    }

    fn check_limits(&self) -> Result<(), Contradiction> {
        let limits = &self.limits;
        let zero = [
            ("limits.max_lines", limits.max_lines == 0),
            ("limits.max_line_chars", limits.max_line_chars == 0),
            ("limits.max_result_bytes", limits.max_result_bytes == 0),
            ("limits.max_files", limits.max_files == 0),
            ("limits.max_entries", limits.max_entries == 0),
            ("limits.max_time_ms", limits.max_time_ms == 0),
        ];
        if let Some((setting, _)) = zero.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(Contradiction { setting, cause: "must be at least 1".to_owned() });
        }
        let wide = [
            ("limits.max_line_chars", u32::try_from(limits.max_line_chars).is_err()),
            ("limits.max_result_bytes", u32::try_from(limits.max_result_bytes).is_err()),
        ];
        match wide.into_iter().find(|(_, is_wide)| *is_wide) {
            Some((setting, _)) => Err(Contradiction { setting, cause: format!("must be at most {MAX_WORD}") }),
            None => Ok(()),
        }
    }
}

/// Returns whether a text is an extension: a dot with a name, or empty for files without an extension.
fn is_extension(text: &str) -> bool {
    text.is_empty() || text.strip_prefix('.').is_some_and(|name| !name.is_empty() && !name.contains(['/', '\\', '\0']))
}

/// Returns whether a blocked path contains a name, and no component that a resolved path never has.
fn names_something(path: &str) -> bool {
    let mut names = path.split('/').filter(|name| !name.is_empty() && *name != ".").peekable();
    names.peek().is_some() && names.all(|name| name != "..") && !path.contains(['\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn checked(settings: &Value) -> Result<(), Contradiction> {
        serde_json::from_value::<Policy>(settings.clone()).unwrap().check()
    }

    #[test]
    fn meaningful_settings_are_accepted() {
        for settings in [
            json!({}),
            json!({"allowed_extensions": ["", ".md", ".tar.gz"], "blocked_extensions": [".exe", ".m"]}),
            json!({"blocked_directories": ["bin", "./out", "a/b/", "/home/me", ".git", "..."]}),
            json!({"limits": {"max_lines": 1, "max_line_chars": u32::MAX, "max_result_bytes": u32::MAX, "max_files": 1,
                "max_entries": 1, "max_time_ms": 1, "max_file_bytes": 0, "max_depth": 0}}),
        ] {
            assert_eq!(checked(&settings), Ok(()), "{settings}");
        }
    }

    #[test]
    fn settings_without_effect_are_refused_by_name() {
        for extension in ["md", "*.md", ".", ".a/b", ".a\\b", ".a\0", " "] {
            for setting in ["allowed_extensions", "blocked_extensions"] {
                let wrong = checked(&json!({ setting: [".ok", extension] })).unwrap_err();
                assert_eq!(
                    (wrong.setting, wrong.cause.contains("is not an extension")),
                    (setting, true),
                    "{extension:?}"
                );
            }
        }
        let both = json!({"allowed_extensions": [".md", ".EXE"], "blocked_extensions": [".rs", ".exe"]});
        let wrong = checked(&both).unwrap_err();
        assert_eq!(
            (wrong.setting, wrong.cause.as_str()),
            ("blocked_extensions", "`.exe` is in `allowed_extensions` too")
        );
        for path in ["", ".", "/", "./", "..", "a/..", "../a", "a/../b", "a\\b", "a\0"] {
            let wrong = checked(&json!({"blocked_directories": ["ok", path]})).unwrap_err();
            assert_eq!(wrong.setting, "blocked_directories", "{path:?}");
        }
        assert_eq!(checked(&json!({"commands": {"max_processes": 0}})).unwrap_err().setting, "commands.max_processes");
    }

    #[test]
    fn a_limit_of_nothing_and_one_that_not_every_build_holds_are_refused() {
        for name in ["max_lines", "max_line_chars", "max_result_bytes", "max_files", "max_entries", "max_time_ms"] {
            let wrong = checked(&json!({"limits": { name: 0 }})).unwrap_err();
            assert_eq!(wrong.setting, format!("limits.{name}"));
            assert!(wrong.cause.contains("must be at least 1"), "{wrong:?}");
        }
        for name in ["max_line_chars", "max_result_bytes"] {
            let wrong = checked(&json!({"limits": { name: u64::from(MAX_WORD) + 1 }})).unwrap_err();
            assert_eq!(
                (wrong.setting, wrong.cause.as_str()),
                (&*format!("limits.{name}"), "must be at most 4294967295")
            );
        }
    }
}
