//! The check whether a path is hidden from the agent, even if the path does not exist: the audit record of a failed
//! call must not contain a hidden name either.

use paddock_types::entry::Kind;
use paddock_types::error::Code;

use crate::Workspace;
use crate::ignore_rules::AgentIgnore;

const OPERATION: &str = "tell of";
/// Maximum size in bytes and maximum number of names of a path that is checked; a larger path counts as hidden.
const MAX_BYTES: usize = 4_096;
const MAX_NAMES: usize = 64;

impl Workspace<'_> {
    /// Returns whether `path` is hidden from the agent, or cannot be checked.
    pub fn is_hidden_from_agent(&self, path: &str) -> bool {
        if path.len() > MAX_BYTES {
            return true;
        }
        self.leads_to_hidden_path(path).unwrap_or_else(|| {
            // The path does not resolve, but it can still contain a hidden name.
            let names: Vec<_> = names(path).filter(|name| *name != "..").collect();
            names.len() > MAX_NAMES
                || self.leads_to_hidden_path(&collapsed(path)) == Some(true)
                || (0..self.roots.len()).any(|root| self.holds_hidden_path(root, &names))
        })
    }

    /// Returns whether the target of `path` is denied; `None` if the path does not resolve.
    fn leads_to_hidden_path(&self, path: &str) -> Option<bool> {
        match self.resolve(path, OPERATION) {
            Ok(_) => Some(false),
            Err(error) if error.code == Code::Denied => Some(true),
            Err(_) => None,
        }
    }

    /// Returns whether consecutive names among `names` form a path that the rules at the top of a root deny.
    fn holds_hidden_path(&self, root: usize, names: &[&str]) -> bool {
        let Ok(top) = self.agent_ignore_of(root, ".", OPERATION) else { return true };
        !top.is_empty() && (0..names.len()).any(|start| denies(&top, names.get(start..).unwrap_or_default()))
    }
}

/// Returns whether the rules deny one of the names, each an entry of the name before it, of any type.
fn denies(rules: &AgentIgnore, names: &[&str]) -> bool {
    let mut rules = rules.clone();
    names.iter().any(|name| {
        let denied = rules.denies(name, Kind::Directory) || rules.denies(name, Kind::Other);
        rules.enter_missing(name);
        denied
    })
}

/// Returns the names in a path, split at the separators of all hosts and at NUL.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '\\', '\0']).filter(|name| !name.is_empty() && *name != ".")
}

/// Resolves `..` in the path as if no name in it were a link.
fn collapsed(path: &str) -> String {
    let components = names(path).fold(Vec::new(), |mut components, name| {
        if name == ".." {
            components.pop();
        } else {
            components.push(name);
        }
        components
    });
    components.join("/")
}

#[cfg(test)]
mod tests {
    use paddock_types::policy::Policy;

    use crate::fixture;

    #[test]
    fn in_any_spelling() {
        let files: &[(&str, &[u8])] = &[
            (".agentignore", b".env\n/conf/key\nbuild/\n/logs/\n"),
            (".env", b"x"),
            ("a.txt", b"x"),
            ("conf/", b""),
            ("link -> .env", b""),
        ];
        fixture::with(files, &Policy::default(), |workspace| {
            let ignored_paths = [
                ".env",
                ".ENV",
                "./.env",
                "link",
                "conf/../.env",
                "/workspace/.env",
                "new/.env",
                "new/../.env",
                "a.txt/.env",
                "../elsewhere/.env",
                "/etc/.env",
                ".env\0",
                "new\\.env",
                "conf/key",
                "conf/new/../key",
                "../elsewhere/conf/key",
                "../elsewhere//conf/./key",
                "../elsewhere/logs/x",
                "build/x",
                "build",
                "new/build/x",
            ];
            for path in ignored_paths {
                assert!(workspace.is_hidden_from_agent(path), "{path:?}");
            }
            for path in [
                "a.txt",
                "new/a.txt",
                "key",
                "new/conf/key",
                "new/logs/x",
                "../a.txt",
                "/etc/passwd",
                "",
                ".",
                "conf",
                "b\0c",
            ] {
                assert!(!workspace.is_hidden_from_agent(path), "{path:?}");
            }
            assert!(
                !workspace.is_hidden_from_agent(&"a/".repeat(65))
                    && workspace.is_hidden_from_agent(&format!("../{}", "a/".repeat(65)))
            );
            assert!(!workspace.is_hidden_from_agent(&format!("../{}", "a/".repeat(64))));
            assert!(
                !workspace.is_hidden_from_agent(&"a".repeat(4_096))
                    && workspace.is_hidden_from_agent(&"a".repeat(4_097))
            );
        });
    }

    #[test]
    fn without_rules_nothing_is() {
        fixture::with(&[("a.txt", b"x")], &Policy::default(), |workspace| {
            assert!(["a.txt", ".env", "../.env", "new/.env"].iter().all(|path| !workspace.is_hidden_from_agent(path)));
        });
    }
}
