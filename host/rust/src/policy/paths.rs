//! Paths in a policy: what stands for something else in them, and where they lead.

use std::collections::VecDeque;
use std::env::{self, VarError};
use std::path::{Component, Path, PathBuf};

use super::source::printable;

/// Links that one path may go through, as on Linux.
const MAX_LINKS: usize = 40;

/// Whether something in `text` stands for something else.
pub(super) fn stands_for_other(text: &str) -> bool {
    text.contains("${") || is_home(text)
}

fn is_home(text: &str) -> bool {
    text == "~" || text.starts_with("~/")
}

/// `text` with every `${NAME}` replaced by that environment variable, and a leading `~` by the user's directory.
pub(super) fn expand(text: &str) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    if is_home(text) {
        let home = env::home_dir().and_then(|home| home.into_os_string().into_string().ok());
        expanded.push_str(&home.ok_or("`~` stands for nothing: the user has no directory")?);
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

/// `path` from the directory `base`, without `.` in it.
pub(super) fn absolute(base: &Path, path: &str) -> Result<String, String> {
    let absolute = std::path::absolute(base.join(path)).map_err(|cause| cause.to_string())?;
    absolute.into_os_string().into_string().map_err(|path| format!("`{}` is not UTF-8", path.display()))
}

/// Where a path leads, as far as it exists.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Trail {
    /// The links on the way: where each of them is.
    pub(crate) links: Vec<PathBuf>,
    /// The path without links.
    pub(crate) end: PathBuf,
}

/// Follows `path`.
pub(crate) fn trail(path: &Path) -> Trail {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut trail = Trail::default();
    let mut ahead: VecDeque<PathBuf> = parts(&path).collect();
    while let Some(part) = ahead.pop_front() {
        if part.as_os_str() == ".." {
            trail.end.pop();
            continue;
        }
        let next = trail.end.join(&part);
        match next.read_link() {
            Ok(target) if trail.links.len() < MAX_LINKS => {
                trail.links.push(next);
                // An absolute target starts anew, as `join` does.
                parts(&target).collect::<Vec<_>>().into_iter().rev().for_each(|part| ahead.push_front(part));
            }
            _ => trail.end = next,
        }
    }
    trail
}

fn parts(path: &Path) -> impl Iterator<Item = PathBuf> {
    let named = path.components().filter(|part| !matches!(part, Component::CurDir));
    named.map(|part| PathBuf::from(part.as_os_str()))
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

    #[cfg(unix)]
    #[test]
    fn a_trail_tells_every_link_on_it() {
        use std::os::unix::fs::symlink;

        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("real/config")).unwrap();
        symlink("real", top.join("one")).unwrap();
        symlink(top.join("one/../real/config"), top.join("two")).unwrap();
        symlink("loop", top.join("loop")).unwrap();
        let found = trail(&top.join("two/./paddock/policy.yaml"));
        assert_eq!(found.end, top.join("real/config/paddock/policy.yaml"));
        assert_eq!(found.links, [top.join("two"), top.join("one")]);
        assert_eq!(trail(&top.join("loop/a")).links.len(), MAX_LINKS, "a loop ends");
        assert_eq!(trail(&top.join("none/../a")).end, top.join("a"));
    }
}
