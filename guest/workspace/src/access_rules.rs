//! Access rules of the policy, for every tool: blocked directories by name or path, blocked files by extension, and
//! the host's own files inside a root.

use paddock_text::name_folding;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error};
use paddock_types::path::{below, is_at_or_below};
use paddock_types::policy::{Policy, RootAccess};

/// Access rules of the policy in one root. A name matches in any spelling that some file system folds to it.
#[derive(Debug, Default)]
pub struct AccessRules {
    /// Names of directories that are blocked at any depth.
    names: Vec<String>,
    /// Blocked directories, by path from the top of the root.
    paths: Vec<String>,
    /// Files and directories that belong to the host, by path from the top of the root.
    private: Vec<String>,
    /// Allowed file extensions; empty if all are allowed.
    allowed: Vec<String>,
    /// Blocked file extensions.
    blocked: Vec<String>,
    /// Read-only roots inside this root, and links on the path to the host's own files.
    read_only: Vec<String>,
    /// All roots inside this root; no call may move or remove them.
    roots: Vec<String>,
}

/// Reason why a path is blocked for every tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// A rule of an `.agentignore`.
    AgentIgnored,
    /// A directory that the policy blocks.
    Directory,
    /// An extension that the policy blocks, or does not allow.
    Extension,
    /// A file or directory that belongs to the program that runs the tools.
    Private,
}

impl Denial {
    /// Returns the reason as the cause of an error message.
    pub fn cause(self) -> &'static str {
        match self {
            Self::AgentIgnored => "`.agentignore` keeps it from every tool",
            Self::Directory => "the policy blocks that directory",
            Self::Extension => "the policy allows no file with that extension",
            Self::Private => "it belongs to the program that runs the tools",
        }
    }

    /// Returns the error of an operation on a path that is closed to all tools.
    pub fn at(self, operation: &str, path: &str) -> Error {
        Error::at(Code::Denied, operation, path, self.cause()).hint("if the task needs it, ask the user")
    }
}

impl AccessRules {
    /// Returns the access rules of a root with the absolute names `root` and the path `host` on the host; `None` if
    /// there are no rules.
    pub fn of(policy: &Policy, root: &[String], host: Option<&str>) -> Option<Self> {
        let mut access_rules = Self::default();
        let (inner, outer) = (roots_inside(policy, host), roots_around(policy, host));
        for path in &policy.blocked_directories {
            let components = folded_path(path);
            match (path.starts_with('/'), path.contains('/')) {
                (true, _) => access_rules.paths.extend(within(&components, root)),
                (false, true) => {
                    // A relative path is blocked below the top of every root, even if a path through another root leads
                    // there.
                    access_rules.paths.extend(inner.iter().map(|(top, _)| format!("{top}/{components}")));
                    access_rules
                        .paths
                        .extend(outer.iter().filter_map(|own| within(&components, std::slice::from_ref(own))));
                    access_rules.paths.push(components);
                }
                (false, false) => access_rules.names.push(components),
            }
        }
        access_rules.roots = inner.iter().map(|(top, _)| top.clone()).collect();
        let read_only = |(top, access)| (access == RootAccess::ReadOnly).then_some(top);
        let fixed = policy.host.fixed.iter().filter_map(|path| within(&folded_path(path), root));
        let fixed = fixed.filter(|path| !path.is_empty());
        access_rules.read_only = inner.into_iter().filter_map(read_only).chain(fixed).collect();
        let private = policy.host.private.iter().filter_map(|path| within(&folded_path(path), root));
        access_rules.private = private.filter(|path| !path.is_empty()).collect();
        access_rules.allowed =
            policy.allowed_extensions.iter().map(|extension| name_folding::fold(extension)).collect();
        access_rules.blocked =
            policy.blocked_extensions.iter().map(|extension| name_folding::fold(extension)).collect();
        (!access_rules.is_empty()).then_some(access_rules)
    }

    fn is_empty(&self) -> bool {
        let Self { names, paths, private, allowed, blocked, read_only, roots } = self;
        [names, paths, private, allowed, blocked, read_only, roots].iter().all(|list| list.is_empty())
    }

    /// Returns why `name` is blocked in the directory `above`, a path from the top of the root with a trailing `/`
    /// unless it is empty; `None` if it is not blocked.
    pub fn bars(&self, above: &str, name: &str, kind: Kind) -> Option<Denial> {
        let folded = name_folding::fold(name);
        if kind == Kind::Directory && self.names.contains(&folded) {
            return Some(Denial::Directory);
        }
        if kind == Kind::Directory && holds(&self.paths, above, &folded) {
            return Some(Denial::Directory);
        }
        if holds(&self.private, above, &folded) {
            return Some(Denial::Private);
        }
        (kind == Kind::File && self.denies_file(&folded)).then_some(Denial::Extension)
    }

    /// Returns whether `path`, from the top of the root, is or contains a blocked path.
    pub fn is_ancestor_of_blocked(&self, path: &str) -> bool {
        let path = folded_path(path);
        self.paths.iter().chain(&self.private).any(|access_rules| is_at_or_below(access_rules, &path))
    }

    /// Returns whether `path`, from the top of the root, is in a read-only part of the root, or contains one.
    pub fn is_read_only(&self, path: &str) -> bool {
        let path = folded_path(path);
        self.read_only.iter().any(|root| is_at_or_below(root, &path) || is_at_or_below(&path, root))
    }

    /// Returns whether `path`, from the top of the root, is or contains another root.
    pub fn holds_root(&self, path: &str) -> bool {
        let path = folded_path(path);
        self.roots.iter().any(|root| is_at_or_below(root, &path))
    }

    /// Returns whether the policy blocks files with the extension of `name`, in any spelling.
    pub fn denies_file(&self, name: &str) -> bool {
        let name = name_folding::fold(name);
        let has = |extension: &String| match extension.as_str() {
            "" => !name.trim_start_matches('.').contains('.'),
            extension => name.len() > extension.len() && name.ends_with(extension),
        };
        self.blocked.iter().any(has) || (!self.allowed.is_empty() && !self.allowed.iter().any(has))
    }
}

/// Returns whether `paths`, which are folded, contain the folded `name` in `above`, or the whole root.
fn holds(paths: &[String], above: &str, name: &str) -> bool {
    paths.iter().any(|path| {
        let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
        path.is_empty() || (last == name && folded_path(above) == parent)
    })
}

/// Returns the roots inside the root at `host`, by their paths from its top.
fn roots_inside(policy: &Policy, host: Option<&str>) -> Vec<(String, RootAccess)> {
    let Some(host) = host.map(str::to_owned) else { return Vec::new() };
    let top = |other: &str| within(&folded_path(other), std::slice::from_ref(&host)).filter(|path| !path.is_empty());
    policy.roots.iter().filter_map(|root| Some((top(root.host.as_deref()?)?, root.access))).collect()
}

/// Returns the paths of the root at `host` from the tops of the roots that contain it.
fn roots_around(policy: &Policy, host: Option<&str>) -> Vec<String> {
    let Some(host) = host.map(folded_path) else { return Vec::new() };
    let own = |other: &str| within(&host, &[other.to_owned()]).filter(|path| !path.is_empty());
    policy.roots.iter().filter_map(|root| own(root.host.as_deref()?)).collect()
}

/// Returns the folded names of a path, separated by one `/` each.
pub(crate) fn folded_path(path: &str) -> String {
    let names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
    names.map(name_folding::fold).collect::<Vec<_>>().join("/")
}

/// Returns the part of the plain absolute `path` below a root with one of the names `root`; an empty string if the
/// path is or contains the root, `None` if it is elsewhere.
fn within(path: &str, root: &[String]) -> Option<String> {
    root.iter().map(|name| folded_path(name)).find_map(|root| {
        if is_at_or_below(&root, path) {
            return Some(String::new());
        }
        below(path, &root).map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access_rules(settings: &str) -> AccessRules {
        let policy = Policy::parse(settings, "paddock").unwrap();
        AccessRules::of(&policy, &["/workspace".to_owned(), "/home/me/project".to_owned()], Some("/home/me/project"))
            .unwrap()
    }

    #[test]
    fn a_name_is_a_directory_at_any_depth_and_a_path_one_from_the_top() {
        let access_rules = access_rules(
            r#"{"blocked_directories": ["bin", "./obj", "src/gen", "/home/me/project/private", "/elsewhere"]}"#,
        );
        for (above, name) in
            [("", "bin"), ("a/b/", "BIN"), ("a/", "bin."), ("", "obj"), ("src/", "gen"), ("", "private")]
        {
            assert_eq!(access_rules.bars(above, name, Kind::Directory), Some(Denial::Directory), "{above}{name}");
        }
        for (above, name) in
            [("a/", "obj"), ("", "gen"), ("a/src/", "gen"), ("a/", "private"), ("", "bins"), ("", "elsewhere")]
        {
            assert_eq!(access_rules.bars(above, name, Kind::Directory), None, "{above}{name}");
        }
        assert_eq!(access_rules.bars("", "bin", Kind::File), None, "a file of that name");
    }

    #[test]
    fn a_blocked_path_that_holds_the_root_blocks_all_of_it() {
        for path in ["/home/me", "/home/me/project", "/"] {
            let access_rules = access_rules(&format!(r#"{{"blocked_directories": ["{path}"]}}"#));
            assert_eq!(access_rules.bars("a/", "b", Kind::Directory), Some(Denial::Directory), "{path}");
        }
    }

    #[test]
    fn extensions_count_in_any_spelling_and_for_files_alone() {
        let access_rules = access_rules(r#"{"blocked_extensions": [".exe", ".tar.gz"]}"#);
        for name in ["a.exe", "a.EXE", "a.exe.", "a.exe::$DATA", "b.tar.gz"] {
            assert_eq!(access_rules.bars("", name, Kind::File), Some(Denial::Extension), "{name}");
        }
        for (name, kind) in
            [("a.exe", Kind::Directory), ("a.exe", Kind::Link), ("exe", Kind::File), (".exe", Kind::File)]
        {
            assert_eq!(access_rules.bars("", name, kind), None, "{name}");
        }
    }

    #[test]
    fn a_list_of_allowed_extensions_allows_no_other() {
        let access_rules = access_rules(r#"{"allowed_extensions": [".md", ""]}"#);
        let allowed = |name| access_rules.bars("", name, Kind::File).is_none();
        assert!(allowed("a.md") && allowed("a.MD") && allowed("Makefile") && allowed(".gitignore"));
        assert!(!allowed("a.rs") && !allowed("a.md.sh"));
    }

    #[test]
    fn what_is_the_host_s_own_is_blocked_as_file_and_directory() {
        let access_rules =
            access_rules(r#"{"host": {"private": ["/home/me/project/.state", "/home/me/project", "/var/state"]}}"#);
        assert_eq!(access_rules.bars("", ".state", Kind::Directory), Some(Denial::Private));
        assert_eq!(access_rules.bars("", ".STATE", Kind::File), Some(Denial::Private));
        assert_eq!(access_rules.bars("", "src", Kind::Directory), None, "the root itself cannot be");
    }

    #[test]
    fn a_root_in_another_keeps_its_rules_there() {
        let access_rules = access_rules(
            r#"{"blocked_directories": ["./out"], "roots": [
                {"guest": "/workspace", "host": "/home/me/project", "access": "read-write"},
                {"guest": "/vendor", "host": "/home/me/project/vendor", "access": "read-only"},
                {"guest": "/sub", "host": "/home/me/project/sub", "access": "read-write"},
                {"guest": "/me", "host": "/home/me", "access": "read-only"},
                {"guest": "/other", "host": "/workspace/elsewhere", "access": "read-only"}
            ]}"#,
        );
        for above in ["", "vendor/", "sub/"] {
            assert_eq!(access_rules.bars(above, "out", Kind::Directory), Some(Denial::Directory), "{above}");
        }
        assert_eq!(access_rules.bars("other/", "out", Kind::Directory), None);
        for path in ["vendor", "VENDOR/a", "./vendor/a/b"] {
            assert!(access_rules.is_read_only(path), "{path}");
        }
        for path in ["sub/a", "vendors", "a/vendor", "elsewhere/a"] {
            assert!(!access_rules.is_read_only(path), "{path}");
        }
    }

    #[test]
    fn ancestors_of_a_blocked_path_are_known() {
        let access_rules = access_rules(
            r#"{"blocked_directories": ["./a/b", "name"], "host": {"private": ["/home/me/project/.config/paddock"]}}"#,
        );
        for path in ["a", ".config", ".CONFIG/paddock"] {
            assert!(access_rules.is_ancestor_of_blocked(path), "{path}");
        }
        for path in ["b", "a/c", ".config/other", ".conf", "name"] {
            assert!(!access_rules.is_ancestor_of_blocked(path), "{path}");
        }
    }

    #[test]
    fn a_link_on_the_path_to_private_files_cannot_be_changed() {
        let access_rules =
            access_rules(r#"{"host": {"fixed": ["/home/me/project/.config", "/home/me", "/var/link"]}}"#);
        assert!(access_rules.is_read_only(".config") && access_rules.is_read_only(".CONFIG/a"));
        assert!(!access_rules.is_read_only("src"), "the root that such a link leads to is not one");
        assert_eq!(access_rules.bars("", ".config", Kind::Link), None, "it may be followed");
    }

    #[test]
    fn a_policy_that_blocks_nothing_leaves_nothing_to_check() {
        let policy = Policy::parse(r#"{"blocked_directories": ["/elsewhere"]}"#, "paddock").unwrap();
        assert!(AccessRules::of(&policy, &["/workspace".to_owned()], None).is_none());
    }

    #[test]
    fn a_failure_says_what_denies_it() {
        let says = |denial: Denial, words: &str| assert!(denial.cause().contains(words), "{denial:?}");
        says(Denial::AgentIgnored, "`.agentignore`");
        says(Denial::Directory, "the policy blocks that directory");
        says(Denial::Extension, "no file with that extension");
        says(Denial::Private, "belongs to the program");
    }
}
