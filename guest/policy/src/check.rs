//! What no policy may say, however its names and types are right.

use crate::Policy;

/// A setting that contradicts another or can mean nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The setting's name, such as `limits.max_lines`.
    pub setting: &'static str,
    /// What is wrong with it.
    pub cause: String,
}

/// The largest number that every build of the component holds.
const MAX_WORD: u32 = u32::MAX;

impl Policy {
    /// What is wrong with the policy, first things first.
    pub fn check(&self) -> Result<(), Contradiction> {
        let wrong = |setting, cause: String| Err(Contradiction { setting, cause });
        for (setting, extensions) in
            [("allowed_extensions", &self.allowed_extensions), ("blocked_extensions", &self.blocked_extensions)]
        {
            if let Some(odd) = extensions.iter().find(|extension| !is_extension(extension)) {
                return wrong(setting, format!("`{odd}` is no extension; they look like `.md`"));
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
            return Err(Contradiction { setting, cause: "nothing could be done with 0".to_owned() });
        }
        let wide = [
            ("limits.max_line_chars", u32::try_from(limits.max_line_chars).is_err()),
            ("limits.max_result_bytes", u32::try_from(limits.max_result_bytes).is_err()),
        ];
        match wide.into_iter().find(|(_, is_wide)| *is_wide) {
            Some((setting, _)) => Err(Contradiction { setting, cause: format!("the most is {MAX_WORD}") }),
            None => Ok(()),
        }
    }
}

/// A dot with a name, or nothing for files without one.
fn is_extension(text: &str) -> bool {
    text.is_empty() || text.strip_prefix('.').is_some_and(|name| !name.is_empty() && !name.contains(['/', '\\', '\0']))
}

/// Whether a blocked path has a name in it, and nothing that is never in a resolved path.
fn names_something(path: &str) -> bool {
    let mut names = path.split('/').filter(|name| !name.is_empty() && *name != ".").peekable();
    names.peek().is_some() && names.all(|name| name != "..") && !path.contains(['\\', '\0'])
}
