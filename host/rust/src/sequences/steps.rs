//! The steps of a sequence: calls of tools, commands, and acts of another process.

use super::*;

#[derive(Debug)]
pub(super) enum Step {
    Call(&'static str, Value),
    Other(Act),
}

/// Act of a process that does not belong to Paddock.
#[derive(Debug)]
pub(super) enum Act {
    /// Renames an entry.
    Rename(String, String),
    /// Replaces the entry at a path by a link to a directory outside.
    Link(String, String),
    /// Removes the entry at a path.
    Remove(String),
    /// Creates a directory with a file in it.
    Make(String),
}

/// Paths as a model may name them.
const PATHS: [&str; 28] = [
    ".",
    ".",
    ".",
    ".",
    "file.txt",
    "sub",
    "sub/file.txt",
    "sub/secret",
    "sub/deep",
    "sub/deep/file.txt",
    "a",
    "a/b",
    "a/b/secret",
    "bin",
    "bin/secret",
    "x",
    "x/file.txt",
    "x/secret",
    "x/own",
    "x/own",
    "x",
    "link/secret",
    ".state",
    ".state/own",
    "/inner0/secret",
    "/inner0",
    "/inner1/file.txt",
    "../outside/secret",
];

const LINES: [&str; 18] = [
    "cat file.txt secret sub/secret a/b/secret bin/secret x/secret; cat .state/own",
    "mv sub x; ls",
    "mv a/b x",
    "mv x sub",
    "rm -rf sub; mkdir -p sub/deep; echo new > sub/file.txt",
    "rm -rf a/b; ln -s {outside} a/b; cat a/b/secret",
    "ln -s {outside} link; cat link/secret; echo x > link/made",
    "ln -s {outside} x; ls x/",
    "rm -rf bin; ln -s {outside} bin; cat bin/secret",
    "ln -sfn {outside} ~/l; cat ~/l/secret; echo x > ~/l/made",
    "rm -rf ~; ln -s {outside} ~; cat ~/secret",
    "find . -name secret -exec cat {} +; cat x/own; ls -a x",
    "cp -r . x 2>/dev/null; cat x/.state/own; cat .state/*",
    "mkdir -p x/deep; mv -T x sub/deep",
    "cat {outside}/secret; echo x > {outside}/made; rm -rf {outside}/sub",
    "ln {outside}/secret hard; cat hard; ln file.txt ~/h; echo x > ~/h",
    "cd sub && mv deep ../x && ln -s {outside} deep; cat deep/secret",
    "tar c . 2>/dev/null | cat; chmod -R 777 . {outside}; touch {outside}/secret",
];

impl Step {
    pub(super) fn any(random: &mut Random, config: &Config) -> Self {
        match random.below(if config.commands { 5 } else { 4 }) {
            0 => Self::Other(Act::any(random, config)),
            4 => Self::Call("shell", json!({"command": LINES[random.below(LINES.len() as u64) as usize]})),
            _ => Self::tool(random),
        }
    }

    fn tool(random: &mut Random) -> Self {
        let (path, other) = (*random.one_of(&PATHS), *random.one_of(&PATHS));
        let patch = format!("*** Begin Patch\n*** Delete File: {path}\n*** Add File: {other}\n+new\n*** End Patch\n");
        let calls = [
            ("read_file", json!({"path": path})),
            ("read_file", json!({"path": other})),
            ("list_dir", json!({"path": path, "depth": 3})),
            ("grep", json!({"pattern": "CANARY|OWN|inside", "path": path})),
            ("glob", json!({"pattern": "**/*"})),
            ("write_file", json!({"path": path, "content": "written\n"})),
            ("edit_file", json!({"path": path, "edits": [{"old_text": "inside", "new_text": "changed"}]})),
            ("move", json!({"source": path, "destination": other, "recursive": true, "overwrite": true})),
            ("move", json!({"source": other, "destination": path, "recursive": true})),
            ("copy", json!({"source": path, "destination": other, "recursive": true})),
            ("delete", json!({"path": path, "recursive": true})),
            ("make_dir", json!({"path": path})),
            ("apply_patch", json!({"patch": patch})),
            ("restore", json!({"path": path})),
            ("stat", json!({"path": path, "checksum": true})),
        ];
        let (tool, arguments) = random.one_of(&calls).clone();
        Self::Call(tool, arguments)
    }

    /// Fills in the paths of the fixture.
    pub(super) fn at(self, fixture: &Fixture) -> Self {
        match self {
            Self::Call("shell", arguments) => {
                let line = arguments["command"].as_str().unwrap_or_default();
                let line = line.replace("{outside}", &fixture.top.join("outside").display().to_string());
                Self::Call("shell", json!({ "command": line }))
            }
            step => step,
        }
    }
}

impl Act {
    fn any(random: &mut Random, config: &Config) -> Self {
        const OURS: [&str; 9] =
            ["work", "work/sub", "work/sub/deep", "work/a", "work/a/b", "work/bin", "work/x", "work/.state", "moved"];
        const OUTSIDE: [&str; 4] = ["outside", "outside/work", "outside/sub", "outside/a/b"];
        let (path, other) = (*random.one_of(&OURS), *random.one_of(&OURS));
        // Paddock compares the paths of its own directories. A rename shows whether it also recognizes them under
        // another name.
        if config.own_in_root && random.is_one_in(3) {
            return Self::Rename("work/.state".to_owned(), "work/x".to_owned());
        }
        if let Some((inner, _)) = config.inner.first().filter(|_| random.is_one_in(4)) {
            return Self::Rename(format!("work/{inner}"), "work/x".to_owned());
        }
        match random.below(5) {
            0 | 1 => Self::Rename(path.to_owned(), other.to_owned()),
            2 => Self::Link(path.to_owned(), (*random.one_of(&OUTSIDE)).to_owned()),
            3 => Self::Remove(path.to_owned()),
            _ => Self::Make(path.to_owned()),
        }
    }

    /// Performs the act if it is possible now. It never changes the directory outside: if the path leads there
    /// through a link, it does nothing.
    pub(super) fn perform(&self, fixture: &Fixture) {
        let inside = |path: &str| {
            let path = fixture.top.join(path);
            let above = path.parent().and_then(|above| above.canonicalize().ok())?;
            (!above.starts_with(fixture.top.join("outside"))).then_some(path)
        };
        match self {
            Self::Rename(from, to) => {
                let (Some(from), Some(to)) = (inside(from), inside(to)) else { return };
                let _impossible = fs::rename(from, to);
            }
            Self::Link(at, to) => {
                let Some(at) = inside(at) else { return };
                remove(&at);
                let _there = symlink(fixture.top.join(to), at);
            }
            Self::Remove(path) => {
                inside(path).iter().for_each(|path| remove(path));
            }
            Self::Make(path) => {
                let Some(path) = inside(path).filter(|path| !path.is_symlink()) else { return };
                if fs::create_dir_all(&path).is_ok() {
                    let _there = fs::write(path.join("file.txt"), "inside\n");
                }
            }
        }
    }
}

/// Removes a file, a link, or a tree without following links.
fn remove(path: &Path) {
    if fs::remove_file(path).is_err() {
        let _gone = fs::remove_dir_all(path);
    }
}
