//! The directories of a sequence: a tree of roots, and a directory outside with the same names.

use super::*;

/// Contents of every file outside, and of every file of Paddock's own.
const CANARY: &str = "CANARY-7c1e";
const OWN: &str = "OWN-52ab";

/// Directories in the outermost root. The same names exist outside, so a path that is redirected there finds a
/// file.
pub(super) const TREE: [&str; 6] = ["sub", "sub/deep", "a", "a/b", "bin", ".state"];

#[derive(Debug)]
pub(super) struct Config {
    /// Further roots, inside the outermost one.
    pub(super) inner: Vec<(&'static str, Access)>,
    pub(super) commands: bool,
    /// Directories in the outermost root that settings name.
    pub(super) readable: Option<&'static str>,
    pub(super) path: Option<&'static str>,
    pub(super) allowed: Option<&'static str>,
    /// Whether the state directory is inside the outermost root.
    pub(super) own_in_root: bool,
    /// Directory of the tree that is a link to the directory outside from the start.
    pub(super) link: Option<&'static str>,
}

pub(super) struct Fixture {
    _home: TempDir,
    pub(super) top: PathBuf,
    pub(super) config: Config,
    outside: Vec<String>,
    /// Handles of the test's own on the roots.
    opened: Vec<fs::File>,
}

impl Fixture {
    pub(super) fn new(random: &mut Random, has_commands: bool) -> Self {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().canonicalize().unwrap();
        let config = Config::any(random, has_commands);
        for directory in TREE {
            for side in ["work", "outside", "outside/work"] {
                fs::create_dir_all(top.join(side).join(directory)).unwrap();
            }
        }
        for directory in TREE.into_iter().chain([""]) {
            fs::write(top.join("work").join(directory).join("file.txt"), "inside\n").unwrap();
            for side in ["outside", "outside/work"] {
                fs::write(top.join(side).join(directory).join("file.txt"), CANARY).unwrap();
                fs::write(top.join(side).join(directory).join("secret"), CANARY).unwrap();
            }
        }
        fs::write(top.join("work/.state/own"), OWN).unwrap();
        if let Some(link) = config.link {
            let link = top.join("work").join(link);
            fs::remove_dir_all(&link).unwrap();
            symlink(top.join("outside"), link).unwrap();
        }
        let outside = fingerprint(&top.join("outside"));
        Self { _home: home, top, config, outside, opened: Vec::new() }
    }

    /// Opens the workspace. Returns `None` if its configuration is refused.
    pub(super) fn open(&mut self) -> Option<Workspace> {
        let work = self.top.join("work");
        let state = if self.config.own_in_root { work.join(".state") } else { self.top.join("state") };
        let named = |name: Option<&str>| name.map(|name| work.join(name)).into_iter().collect::<Vec<_>>();
        let commands = json!({
            "enabled": self.config.commands,
            "max_time_ms": 5_000,
            "readable": named(self.config.readable),
            "path": named(self.config.path),
        });
        let policy = json!({"commands": commands, "allowed_directories": named(self.config.allowed)});
        let mut builder = Workspace::builder().root(&work).state_dir(state);
        for (number, (inner, access)) in self.config.inner.iter().enumerate() {
            builder = builder.mount(work.join(inner), format!("/inner{number}"), *access);
        }
        let below = self.config.inner.iter().map(|(inner, _)| *inner).chain([""]);
        let open = |below| fs::OpenOptions::new().read(true).open(work.join(below));
        self.opened = below.filter_map(|below| open(below).ok()).collect();
        builder.policy_json(&policy.to_string()).unwrap().build().ok()
    }

    /// Returns the current name of each root, and the inode of the directory that contains it; `None` for a root
    /// that no longer exists.
    pub(super) fn roots(&self) -> Vec<Option<(PathBuf, u64)>> {
        let now = |root: &fs::File| {
            let path = fs::read_link(crate::mount::way_to(root)).ok()?;
            let above = fs::metadata(path.parent()?).ok()?;
            Some((PathBuf::from(path.file_name()?), above.ino()))
        };
        self.opened.iter().map(now).collect()
    }

    /// Fails if a result shows a file outside, or a file of Paddock's own.
    pub(super) fn shows_nothing(&self, outcome: &Outcome) -> Result<(), String> {
        let output = format!("{} {:?} {:?}", outcome.text, outcome.error, outcome.value().to_string());
        for (content, what) in [(CANARY, "what is outside"), (OWN, "what is Paddock's own")] {
            if output.contains(content) && (content == CANARY || self.config.own_in_root) {
                return Err(format!("{what} is shown: {output}"));
            }
        }
        Ok(())
    }

    /// Fails if anything outside changed.
    pub(super) fn check(&self) -> Result<(), String> {
        let now = fingerprint(&self.top.join("outside"));
        let changed = now.iter().find(|line| !self.outside.contains(line));
        let gone = self.outside.iter().find(|line| !now.contains(line));
        match changed.or(gone) {
            None => Ok(()),
            Some(line) => Err(format!("outside was changed: {line}")),
        }
    }
}

impl Config {
    fn any(random: &mut Random, has_commands: bool) -> Self {
        let mut inner = Vec::new();
        for directory in ["sub", "sub/deep", "a/b"] {
            if random.is_one_in(3) {
                let access = if random.is_one_in(3) { Access::ReadOnly } else { Access::ReadWrite };
                inner.push((directory, access));
            }
        }
        let named = |random: &mut Random, names: &[&'static str]| {
            let name = *random.one_of(names);
            Some(name).filter(|_| random.is_one_in(4))
        };
        Self {
            inner,
            commands: has_commands && random.is_one_in(3),
            readable: named(random, &["bin", "sub", "a/b"]),
            path: named(random, &["bin", "a/b"]),
            allowed: named(random, &["sub", "a", "bin"]),
            own_in_root: random.is_one_in(3),
            link: named(random, &["bin", "sub", "a/b"]),
        }
    }
}

/// Returns a line for each entry below a directory: path, mode, owner, times of change and content.
fn fingerprint(top: &Path) -> Vec<String> {
    let mut entries = Vec::new();
    let mut ahead = vec![top.to_owned()];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let about = fs::symlink_metadata(&path).unwrap();
            let content = if about.is_file() { fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
            let times = (about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec());
            entries.push(format!("{} {:o} {} {times:?} {content}", path.display(), about.mode(), about.uid()));
            if about.is_dir() {
                ahead.push(path);
            }
        }
    }
    entries.sort();
    entries
}
