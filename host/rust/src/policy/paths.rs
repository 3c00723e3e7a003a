//! Paths in a policy, with the variables that they may contain.

use std::env::{self, VarError};
use std::path::Path;

use super::source::printable;

/// Returns whether `text` contains a variable, or starts with `~`.
pub(super) fn stands_for_other(text: &str) -> bool {
    text.contains("${") || is_home(text)
}

fn is_home(text: &str) -> bool {
    text == "~" || text.starts_with("~/")
}

/// Returns `text` with every `${NAME}` replaced by that environment variable, and a leading `~` by the user's home
/// directory.
pub(super) fn expand(text: &str) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    if is_home(text) {
        let home = env::home_dir().and_then(|home| home.into_os_string().into_string().ok());
        expanded.push_str(&home.ok_or("cannot expand `~`: the user has no home directory")?);
        rest = text.get(1..).unwrap_or_default();
    }
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or("`${` without `}`")?;
        let value = env::var(name).map_err(|cause| match cause {
            VarError::NotPresent => format!("the environment has no variable `{}`", printable(name)),
            VarError::NotUnicode(_) => format!("the environment's variable `{}` is not UTF-8", printable(name)),
        })?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Returns `path` as an absolute path, resolved from the directory `base`, without `.` components.
pub(super) fn absolute(base: &Path, path: &str) -> Result<String, String> {
    let absolute = std::path::absolute(base.join(path)).map_err(|cause| cause.to_string())?;
    absolute.into_os_string().into_string().map_err(|path| format!("`{}` is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_the_home_are_replaced_once() {
        let home = env::home_dir().unwrap().into_os_string().into_string().unwrap();
        let path = env::var("PATH").unwrap();
        for (text, expanded) in [
            ("~", home.clone()),
            ("~/a", format!("{home}/a")),
            ("a~/b", "a~/b".to_owned()),
            ("~me/a", "~me/a".to_owned()),
            ("${PATH}/a", format!("{path}/a")),
            ("/x/${PATH}${PATH}", format!("/x/{path}{path}")),
            ("$PATH/{PATH}", "$PATH/{PATH}".to_owned()),
        ] {
            assert_eq!(expand(text).unwrap(), expanded, "{text}");
        }
        assert_eq!(expand("/x/${NO SUCH}/y").unwrap_err(), "the environment has no variable `NO SUCH`");
        assert_eq!(expand("/x/${PATH").unwrap_err(), "`${` without `}`");
    }
}
