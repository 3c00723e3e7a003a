//! Restrictions of a workspace for the holder of a token.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;

use serde_json::Value;

use super::refusal::Refusal;
use crate::directory::{Directory, found};
use crate::error::Error;
use crate::options::DIALECT;
use crate::policy::{Layers, PolicyLayer};

/// Maximum length of a path in bytes, as of the name of a file: a directory gets the path as its name.
const MAX_PATH: usize = 255;

/// Character in place of `/` in such a name. No path contains it.
const SEPARATOR: &str = "@";

/// Maximum number of paths of one workspace that became roots since the start of the server. Each has a state directory
/// with backups, which stays.
const MAX_PATHS: usize = 256;

/// Name of the files whose patterns hide paths below their directory from tools.
const AGENT_IGNORE: &str = ".agentignore";

/// Dialect whose defaults block directories.
const BLOCKING_DIALECT: &str = "dotnet-prompt";

/// Restrictions of a workspace.
#[derive(Clone, Debug, Default)]
pub(super) struct Narrowing {
    /// The directory that becomes the root.
    pub(super) path: Option<InnerPath>,
    /// Settings that narrow the policy.
    pub(super) policy: Vec<PolicyLayer>,
}

/// A path of a directory in a workspace, from the root. Each name consists of ASCII letters, digits, spaces, `.`, `_` and
/// `-`, and starts with a letter, a digit, `_` or `-`, so that no name is hidden, protected, or another spelling of one
/// that is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct InnerPath(String);

/// Paths that became roots, by the names of their workspaces.
#[derive(Default)]
pub(super) struct InnerRoots(HashMap<String, HashSet<InnerPath>>);

impl InnerRoots {
    /// Adds a path. Fails if the workspace has too many. `existing` returns the paths that became roots before the server
    /// started.
    pub(super) fn add(
        &mut self,
        workspace: &str,
        path: &InnerPath,
        existing: impl FnOnce() -> Result<HashSet<InnerPath>, Refusal>,
    ) -> Result<(), Refusal> {
        let paths = match self.0.entry(workspace.to_owned()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(existing()?),
        };
        if !paths.contains(path) && paths.len() >= MAX_PATHS {
            let cause =
                format!("tokens have limited the workspace to {MAX_PATHS} other paths, each with a state directory");
            return Err(Refusal::Narrowing(cause));
        }
        paths.insert(path.clone());
        Ok(())
    }
}

impl Narrowing {
    pub(super) fn is_empty(&self) -> bool {
        self.path.is_none() && self.policy.is_empty()
    }

    /// Returns a text that differs from that of any other narrowing.
    pub(super) fn key(&self) -> String {
        let path = self.path.as_ref().map(InnerPath::as_str).unwrap_or_default();
        let policy = self.policy.iter().map(|layer| Value::Object(layer.settings().clone()));
        format!("{path}\n{}", Value::Array(policy.collect()))
    }
}

impl InnerPath {
    /// Parses a path. `.` and the empty path are the root itself, `None`.
    pub(super) fn parse(path: &str) -> Result<Option<Self>, String> {
        let path = path.trim_end_matches('/');
        if path.is_empty() || path == "." {
            return Ok(None);
        }
        if path.len() <= MAX_PATH && path.split('/').all(is_plain) {
            return Ok(Some(Self(path.to_owned())));
        }
        Err("the path of a token has at most 255 bytes, and consists of names with letters, digits, ` `, `.`, `_` and `-`, of which none starts with `.` or a space"
            .to_owned())
    }

    /// Returns the name of a directory for this path.
    pub(super) fn to_name(&self) -> String {
        self.0.replace('/', SEPARATOR)
    }

    /// Returns the path for which a directory has this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::parse(&name.replace(SEPARATOR, "/")).ok()?
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the narrower of two paths; `None` if neither contains the other.
    pub(super) fn inner(self, other: Self) -> Option<Self> {
        let contains = |outer: &Self, inner: &Self| {
            inner.0.strip_prefix(&outer.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match (contains(&self, &other), contains(&other, &self)) {
            (true, _) => Some(other),
            (_, true) => Some(self),
            _ => None,
        }
    }

    /// Returns whether one of two paths contains the other in some file system, which may ignore the case of names.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.0.split('/').zip(other.0.split('/')).all(|(one, other)| one.eq_ignore_ascii_case(other))
    }

    /// Opens the directory below `root` for a token. Fails if a file above it hides paths, which would not be hidden below
    /// the directory as a root.
    pub(super) fn open(&self, root: &Directory) -> Result<Directory, Refusal> {
        let check = |above: &Directory| {
            let found = above.entries().symlink_metadata(AGENT_IGNORE);
            if found.is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound) {
                return Ok(());
            }
            let cause = format!("a token cannot be limited to `{}`: `{AGENT_IGNORE}` above it hides paths", self.0);
            Err(Refusal::Narrowing(cause))
        };
        self.descend(root, check)?.ok_or_else(|| {
            Refusal::Narrowing(format!("the path `{}` of the token is no directory of the workspace", self.0))
        })
    }

    /// Opens the directory below `root` for the server itself; `None` if it does not exist.
    pub(super) fn find(&self, root: &Directory) -> Result<Option<Directory>, Refusal> {
        self.descend(root, |_| Ok(()))
    }

    /// Opens the directory below `root`, name by name and without links; `None` if it does not exist. Checks each directory
    /// above it.
    fn descend(
        &self,
        root: &Directory,
        check: impl Fn(&Directory) -> Result<(), Refusal>,
    ) -> Result<Option<Directory>, Refusal> {
        let mut directory = root.clone();
        for name in self.0.split('/') {
            check(&directory)?;
            let failed = |cause| Refusal::Failed(Error::Root { path: directory.path().join(name), cause });
            let Some(below) = found(directory.subdirectory(OsStr::new(name))).map_err(failed)? else {
                return Ok(None);
            };
            directory = below;
        }
        Ok(Some(directory))
    }

    /// Fails if the policy opens further directories, or blocks a path from the root or this one: the rule would not apply
    /// to the directory as a root.
    pub(super) fn check_policy(&self, layers: &Layers) -> Result<(), Refusal> {
        for dialect in [DIALECT, BLOCKING_DIALECT] {
            let settings = layers.effective(dialect).map_err(Refusal::Failed)?;
            let items = |name: &str| {
                let value = settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.clone());
                match value {
                    Some(Value::Array(items)) => items,
                    _ => Vec::new(),
                }
            };
            let is_own = |name: &str| self.0.split('/').any(|own| own.eq_ignore_ascii_case(name));
            // An absolute path is blocked under any root.
            let applies =
                |path: &str| !path.starts_with('/') && (path.trim_end_matches('/').contains('/') || is_own(path));
            let blocks = items("blocked_directories").iter().filter_map(Value::as_str).any(applies);
            let is_unrestricted =
                settings.iter().any(|setting| setting.name == "mode" && setting.value != "restricted");
            if blocks || is_unrestricted || !items("allowed_directories").is_empty() {
                return Err(Refusal::Narrowing(format!(
                    "a token cannot be limited to `{}`: the policy of the workspace allows further directories, or blocks paths from its root",
                    self.0
                )));
            }
        }
        Ok(())
    }
}

fn is_plain(name: &str) -> bool {
    let is_start = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    name.bytes().next().is_some_and(is_start) && name.bytes().all(|byte| is_start(byte) || matches!(byte, b'.' | b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> InnerPath {
        InnerPath::parse(text).unwrap().unwrap()
    }

    #[test]
    fn a_path_has_plain_names() {
        for (text, parsed) in [("docs", "docs"), ("a/b.c/d e/", "a/b.c/d e")] {
            assert_eq!(path(text).as_str(), parsed);
        }
        assert!(["", ".", "/"].iter().all(|text| InnerPath::parse(text).unwrap().is_none()));
        let long = "a".repeat(MAX_PATH + 1);
        for text in
            ["..", "a/../b", "/a", "a//b", ".git", "a/.git/b", "GIT~1", "a\\b", "a\0", "\u{200c}.git", " a", &long]
        {
            assert!(InnerPath::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_path_has_a_name_as_a_directory() {
        for text in ["docs", "a/b.c/d e", &"a".repeat(MAX_PATH)] {
            let name = path(text).to_name();
            assert!(!name.contains('/') && InnerPath::from_name(&name) == Some(path(text)), "{name}");
        }
        assert!(["..", "@", ".git", "a@..", "a@@b"].iter().all(|name| InnerPath::from_name(name).is_none()));
    }

    #[test]
    fn the_narrower_of_two_paths_is_in_force() {
        let inner = |one: &str, other: &str| path(one).inner(path(other)).map(|path| path.as_str().to_owned());
        assert_eq!(inner("a", "a/b").as_deref(), Some("a/b"));
        assert_eq!(inner("a/b", "a").as_deref(), Some("a/b"));
        assert_eq!(inner("a", "a").as_deref(), Some("a"));
        assert_eq!(inner("a", "ab"), None);
        assert_eq!(inner("a/b", "a/c"), None);
    }

    #[test]
    fn the_number_of_paths_of_a_workspace_is_bounded() {
        let mut roots = InnerRoots::default();
        assert_eq!(
            (0..1000)
                .filter(|number| roots.add("a", &path(&number.to_string()), || Ok(HashSet::new())).is_ok())
                .count(),
            MAX_PATHS
        );
        let mut is_added = |workspace: &str, name: &str, existing: usize| {
            let existing = || Ok((0..existing).map(|number| path(&number.to_string())).collect());
            roots.add(workspace, &path(name), existing).is_ok()
        };
        assert!(is_added("a", "0", 0) && is_added("b", "999", 0));
        // Paths of an earlier server count.
        assert!(is_added("c", "7", MAX_PATHS) && !is_added("c", "new", 0));
    }

    #[test]
    fn rules_from_the_root_do_not_end_at_a_path() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("/etc", home.path().join("link")).unwrap();
        let root = Directory::open(home.path()).unwrap();
        let under = |settings: Value| {
            let layer = PolicyLayer::of_token("test", settings.as_object().unwrap().clone()).unwrap();
            path("a/b").check_policy(&Layers::default().with(&layer).unwrap())
        };
        assert!(under(serde_json::json!({"blocked_directories": ["c", "/x/y"]})).is_ok());
        for blocked in ["a/b/secret", "./c", "A", "b"] {
            assert!(under(serde_json::json!({"blocked_directories": [blocked]})).is_err(), "{blocked}");
        }
        for missing in ["link", "a/c"] {
            assert!(matches!(path(missing).open(&root), Err(Refusal::Narrowing(_))), "{missing}");
        }
        std::fs::write(home.path().join("a/.agentignore"), "*.key\n").unwrap();
        assert!(path("a").open(&root).is_ok());
        let hidden = path("a/b").open(&root).unwrap_err().to_string();
        assert!(hidden.contains(".agentignore"), "{hidden}");
    }
}
