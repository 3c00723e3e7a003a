//! What a call touched: what a host that keeps a record of calls cannot know by
//! itself, since it knows no tool. No content, and no path of a secret.

use crate::error::{Code, Result};
use crate::fs::Filesystem;
use crate::patch;
use crate::policy::Policy;
use crate::request::Request;
use crate::response::{self, Change, ChangeKind, PatchAction, ReadOutcome, Response};
use crate::workspace::Workspace;

/// What a call touched: the `touched` of `wit/tools.wit`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// What was done.
    pub operation: &'static str,
    /// The paths, those of secrets left out.
    pub paths: Vec<String>,
    /// How many were left out.
    pub redacted: u64,
    /// Bytes read, written or searched.
    pub bytes: u64,
    /// Lines read, changed or found.
    pub lines: Option<u64>,
    /// Whether a limit cut the answer short.
    pub truncated: bool,
    /// What was changed.
    pub changes: Vec<Change>,
    /// The files that were written.
    pub written: Vec<Written>,
}

/// A file that a call wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: String,
    /// Bytes put at its end, or that it has.
    pub bytes: u64,
    /// How.
    pub mode: WriteMode,
}

/// How a call wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// Nothing was there.
    Create,
    /// What was there was replaced.
    Overwrite,
    /// Something was put after it.
    Append,
}

impl Touched {
    /// What a call touched that ended with `answer`; none where no host keeps a record.
    pub fn of(workspace: &Workspace<'_>, request: &Request, answer: &Result<Response>) -> Option<Self> {
        if !workspace.policy.host.records {
            return None;
        }
        let operation = match (request, answer) {
            (Request::View(_), Ok(Response::List(_))) => "list",
            _ => request.verb(),
        };
        let mut touched = Self { operation, changes: workspace.changes(), ..Self::default() };
        touched.written = touched.changes.iter().filter_map(Written::by).collect();
        match answer {
            Ok(response) => {
                touched.correct(request, response);
                touched.measure(response);
                touched.truncated = response.truncated();
                touched.show(response, request, workspace);
            }
            Err(error) => touched.tell(request.paths(), error.code, workspace),
        }
        Some(touched)
    }

    /// What was changed by something else than a request: taking over an overlay, a command. None where no host keeps a
    /// record.
    pub fn changed(policy: &Policy, operation: &'static str, changes: &[Change]) -> Option<Self> {
        let written: Vec<_> = changes.iter().filter_map(Written::by).collect();
        policy.host.records.then(|| Self {
            operation,
            paths: changes.iter().map(|change| change.path.clone()).collect(),
            bytes: written.iter().map(|file| file.bytes).sum(),
            changes: changes.to_vec(),
            written,
            ..Self::default()
        })
    }

    /// What a call asks to touch that was refused, or ended before it could tell.
    pub fn asked(fs: &dyn Filesystem, policy: &Policy, request: &Request, refused: Option<Code>) -> Option<Self> {
        if !policy.host.records {
            return None;
        }
        let mut touched = Self { operation: request.verb(), ..Self::default() };
        match Workspace::open(fs, policy) {
            Ok(workspace) => touched.tell(request.paths(), refused.unwrap_or(Code::Io), &workspace),
            // Without the rules, any path may be a secret's.
            Err(_) => touched.redacted = request.paths().len() as u64,
        }
        Some(touched)
    }

    /// Adds the paths that were asked for, by a call that failed. As many as a call may work on: each has to be looked at.
    fn tell(&mut self, paths: Vec<String>, code: Code, workspace: &Workspace<'_>) {
        let most = workspace.policy.limits.max_files;
        for path in paths {
            if code == Code::Denied || self.paths.len() as u64 >= most || workspace.is_secret(&path) {
                self.redacted += 1;
            } else {
                self.paths.push(path);
            }
        }
    }

    /// Adds the paths of an answer. None is a secret's: such a call fails.
    fn show(&mut self, response: &Response, request: &Request, workspace: &Workspace<'_>) {
        match response {
            Response::Read(read) => self.paths.push(read.path.clone()),
            Response::ReadMany(many) => many.entries.iter().for_each(|entry| match &entry.outcome {
                ReadOutcome::Result(read) => self.paths.push(read.path.clone()),
                ReadOutcome::Error(error) => self.tell(vec![entry.path.clone()], error.code, workspace),
            }),
            Response::Write(write) => self.paths.push(write.path.clone()),
            Response::Edit(edit) => self.paths.push(edit.path.clone()),
            Response::ApplyPatch(patch) => {
                let names = patch.files.iter().flat_map(|file| file.moved_from.iter().chain([&file.path]));
                self.paths.extend(names.cloned());
            }
            Response::MakeDir(made) => self.paths.push(made.path.clone()),
            Response::Copy(transfer) | Response::Move(transfer) => {
                self.paths.extend([transfer.source.clone(), transfer.destination.clone()]);
            }
            Response::Delete(delete) => self.paths.push(delete.path.clone()),
            Response::Restore(restore) => self.paths.extend(restore.restored.iter().cloned()),
            Response::Stat(stat) => self.paths.push(stat.path.clone()),
            Response::List(list) => self.paths.push(list.path.clone()),
            Response::Tree(tree) => self.paths.push(tree.path.clone()),
            Response::Pack(_) | Response::Unpack(_) => self.paths.extend(request.paths()),
            Response::Replace(replace) if replace.applied => {
                self.paths.extend(self.changes.iter().map(|change| change.path.clone()));
            }
            Response::Ran(_) => self.paths.extend(self.changes.iter().map(|change| change.path.clone())),
            Response::Sessions(_)
            | Response::History(_)
            | Response::Glob(_)
            | Response::Grep(_)
            | Response::Replace(_)
            | Response::Changes(_) => {
                self.paths.extend(request.paths());
            }
        }
    }

    /// How much was read, written or found.
    fn measure(&mut self, response: &Response) {
        let written = self.written.iter().map(|file| file.bytes).sum();
        (self.bytes, self.lines) = match response {
            Response::Read(read) => extent(read),
            Response::List(list) => (list.entries.iter().map(|entry| entry.details.read).sum(), None),
            Response::Glob(glob) => (glob.entries.iter().map(|entry| entry.details.read).sum(), None),
            Response::ReadMany(many) => {
                let read = many.entries.iter().filter_map(|entry| match &entry.outcome {
                    ReadOutcome::Result(read) => Some(extent(read)),
                    ReadOutcome::Error(_) => None,
                });
                let (bytes, lines) = read.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1.unwrap_or(0)));
                (bytes, Some(lines))
            }
            Response::Write(write) => (write.bytes_written, None),
            Response::Edit(edit) => {
                (written, Some(edit.lines.iter().map(|at| (at.end + 1).saturating_sub(at.start)).sum()))
            }
            Response::ApplyPatch(patch) => {
                (written, Some(patch.files.iter().map(|file| file.lines_added + file.lines_removed).sum()))
            }
            Response::Copy(transfer) | Response::Move(transfer) => (transfer.bytes, None),
            Response::Pack(pack) => (pack.size, None),
            Response::Unpack(unpack) => (unpack.bytes, None),
            Response::Restore(_) | Response::Replace(_) | Response::Ran(_) => (written, None),
            Response::Sessions(_) => (0, None),
            Response::Grep(grep) => (grep.bytes_searched, Some(grep.matches.len() as u64)),
            Response::MakeDir(_) | Response::Delete(_) | Response::History(_) | Response::Stat(_) => (0, None),
            Response::Tree(_) | Response::Changes(_) => (0, None),
        };
    }

    /// Says of the files written what their changes do not.
    fn correct(&mut self, request: &Request, response: &Response) {
        if let (Request::Write(asked), Response::Write(write)) = (request, response)
            && asked.append
        {
            for file in self.written.iter_mut().filter(|file| file.mode == WriteMode::Overwrite) {
                (file.mode, file.bytes) = (WriteMode::Append, write.bytes_written);
            }
        }
        if let (Request::ApplyPatch(asked), Response::ApplyPatch(patch)) = (request, response)
            && !asked.dry_run
        {
            // A file that was moved is written only where the patch changes it too.
            let is_changed = |file: &&response::PatchedFile| file.lines_added + file.lines_removed > 0;
            let moved = patch.files.iter().filter(|file| file.action == PatchAction::Move).filter(is_changed);
            self.written.extend(moved.map(|file| Written {
                path: file.path.clone(),
                bytes: file.size,
                mode: WriteMode::Create,
            }));
        }
    }
}

impl Written {
    /// The file that was written where a change has left one.
    fn by(change: &Change) -> Option<Self> {
        let mode = match change.kind {
            ChangeKind::Created => WriteMode::Create,
            ChangeKind::Modified => WriteMode::Overwrite,
            ChangeKind::Deleted | ChangeKind::Moved => return None,
        };
        Some(Self { path: change.path.clone(), bytes: change.size?, mode })
    }
}

/// Bytes and lines that a caller got to read.
fn extent(read: &response::Read) -> (u64, Option<u64>) {
    let shown = if read.end_line == 0 { 0 } else { (read.end_line + 1).saturating_sub(read.start_line) };
    if let Some(diff) = &read.diff {
        return (diff.len() as u64, None);
    }
    if read.encoding == "binary" { (shown, None) } else { (read.content.len() as u64, Some(shown)) }
}

impl Request {
    /// What it does, in a word. No wildcard, here and below: a new operation has to say.
    fn verb(&self) -> &'static str {
        match self {
            Self::Read(_) | Self::ReadMany(_) | Self::View(_) => "read",
            Self::Write(_) => "write",
            Self::Edit(_) => "edit",
            Self::ApplyPatch(_) => "patch",
            Self::MakeDir(_) => "make-directory",
            Self::Copy(_) => "copy",
            Self::Move(_) => "move",
            Self::Delete(_) => "delete",
            Self::Pack(_) => "pack",
            Self::Unpack(_) => "unpack",
            Self::Restore(_) => "restore",
            Self::History(_) => "history",
            Self::Stat(_) => "stat",
            Self::List(_) => "list",
            Self::Tree(_) => "tree",
            Self::Glob(_) => "glob",
            Self::Grep(_) => "grep",
            Self::Replace(_) => "replace",
            Self::Changes(_) => "changes",
            Self::Command(_) => "run",
        }
    }

    /// The paths that it names, as they were given.
    fn paths(&self) -> Vec<String> {
        match self {
            Self::Read(args) => vec![args.path.clone()],
            Self::ReadMany(args) => args.files.iter().map(|file| file.path.clone()).collect(),
            Self::View(args) => vec![args.read.path.clone()],
            Self::Write(args) => vec![args.path.clone()],
            Self::Edit(args) => vec![args.path.clone()],
            Self::ApplyPatch(args) => patched(&args.patch),
            Self::MakeDir(args) => vec![args.path.clone()],
            Self::Copy(args) | Self::Move(args) => vec![args.source.clone(), args.destination.clone()],
            Self::Delete(args) => vec![args.path.clone()],
            Self::Pack(args) => args.sources.iter().chain([&args.destination]).cloned().collect(),
            Self::Unpack(args) => vec![args.source.clone(), args.destination.clone()],
            Self::Restore(args) => args.path.iter().cloned().collect(),
            Self::History(_) => Vec::new(),
            Self::Stat(args) => vec![args.path.clone()],
            Self::List(args) => vec![args.path.clone()],
            Self::Tree(args) => vec![args.path.clone()],
            Self::Glob(args) => vec![args.path.clone()],
            Self::Grep(args) => vec![args.path.clone()],
            Self::Replace(args) => vec![args.path.clone()],
            Self::Changes(args) => vec![args.path.clone()],
            Self::Command(command) => command.workdir().cloned().into_iter().collect(),
        }
    }
}

/// The files that a patch names; none of one that does not parse.
fn patched(text: &str) -> Vec<String> {
    let parts = patch::parse(text).unwrap_or_default();
    let names = parts.into_iter().flat_map(|part| {
        let to = match part.action {
            patch::Action::Move { to, .. } => Some(to),
            patch::Action::Add(_) | patch::Action::Delete(_) | patch::Action::Update(_) => None,
        };
        [Some(part.path), to]
    });
    names.flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::engine;
    use crate::fs::memory::MemoryFs;
    use crate::fs::{Open, Time};
    use crate::outcome::Outcome;

    const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+two\n*** Add File: c.txt\n+c\n*** Delete File: old.txt\n*** End Patch\n";

    /// Makes calls in one workspace that keeps `.env` secret; what the last one touched.
    fn last(policy: &Policy, calls: &[(&str, &str, Value)]) -> Outcome {
        let fs = MemoryFs::new(&["/workspace"], || Time { seconds: 1_700_000_000, nanoseconds: 0 }, 7);
        let call = |dialect: &str, tool: &str, arguments: &Value| {
            engine::call(&fs, policy, dialect, tool, &arguments.to_string())
        };
        let top = fs.preopens()[0].dir.clone();
        for (name, bytes) in [("a.txt", "one\n"), ("old.txt", "x\ny\n"), (".agentignore", ".env\n")] {
            let file = fs.open_file(&top, name, Open::CreateNew).unwrap();
            fs.write(&file, 0, bytes.as_bytes()).unwrap();
        }
        let outcomes: Vec<_> = calls.iter().map(|(dialect, tool, arguments)| call(dialect, tool, arguments)).collect();
        outcomes.into_iter().next_back().unwrap()
    }

    fn recording() -> Policy {
        let mut policy = Policy::default();
        policy.host.records = true;
        policy
    }

    fn touched(tool: &str, arguments: Value) -> Touched {
        last(&recording(), &[("paddock", tool, arguments)]).touched.unwrap()
    }

    fn written(path: &str, bytes: u64, mode: WriteMode) -> Written {
        Written { path: path.to_owned(), bytes, mode }
    }

    #[test]
    fn what_was_read() {
        let read = touched("read_file", json!({"path": "./a.txt"}));
        assert_eq!((read.operation, read.paths.as_slice()), ("read", ["a.txt".to_owned()].as_slice()));
        assert_eq!((read.bytes, read.lines, read.redacted), (3, Some(1), 0));
        let bytes = touched("read_file", json!({"path": "old.txt", "mode": "base64", "limit": 3}));
        assert_eq!((bytes.bytes, bytes.lines, bytes.truncated), (3, None, true));
        let many = touched("read_files", json!({"paths": ["a.txt", ".env", "none", "old.txt"]}));
        assert_eq!((many.paths, many.redacted), (["a.txt", "none", "old.txt"].map(str::to_owned).to_vec(), 1));
        assert_eq!((many.bytes, many.lines), (6, Some(3)));
        let found = touched("grep", json!({"pattern": "one", "path": "."}));
        assert_eq!((found.paths.as_slice(), found.lines), (["."].map(str::to_owned).as_slice(), Some(1)));
    }

    #[test]
    fn what_other_dialects_read() {
        let read =
            |policy: &Policy, dialect: &str, tool: &str, arguments: Value| last(policy, &[(dialect, tool, arguments)]);
        let many = || json!({"paths": ["a.txt", ".env", "old.txt"]});
        let touched = read(&recording(), "mcp-filesystem", "read_multiple_files", many()).touched.unwrap();
        assert_eq!((touched.operation, touched.bytes, touched.redacted), ("read", 8, 1));
        assert_eq!(touched.paths, ["a.txt", "old.txt"]);
        let mut one = recording();
        one.limits.max_files = 1;
        let outcome = read(&one, "mcp-filesystem", "read_multiple_files", many());
        assert_eq!(outcome.touched.unwrap().paths, ["a.txt"]);
        assert!(outcome.truncated && outcome.text.contains("old.txt: Error - not read"), "{}", outcome.text);
        let view = |path: &str| {
            let arguments = json!({"command": "view", "path": path});
            read(&recording(), "anthropic", "str_replace_based_edit_tool", arguments).touched.unwrap()
        };
        assert_eq!((view("a.txt").operation, view("a.txt").bytes, view("a.txt").lines), ("read", 3, Some(1)));
        assert_eq!((view(".").operation, view(".").paths), ("list", vec![".".to_owned()]));
        let listed = read(&recording(), "weakincentives", "ls", json!({})).touched.unwrap();
        assert_eq!((listed.operation, listed.bytes), ("list", 13));
    }

    #[test]
    fn what_was_written() {
        let new = touched("write_file", json!({"path": "d/n", "content": "abc"}));
        assert_eq!(new.written, [written("d/n", 3, WriteMode::Create)]);
        let over = touched("write_file", json!({"path": "a.txt", "content": "abc"}));
        assert_eq!(over.written, [written("a.txt", 3, WriteMode::Overwrite)]);
        let more = touched("write_file", json!({"path": "a.txt", "content": "abc", "append": true}));
        assert_eq!((more.written, more.bytes), (vec![written("a.txt", 3, WriteMode::Append)], 3));
        let same = touched("write_file", json!({"path": "a.txt", "content": "one\n"}));
        assert_eq!((same.written, same.changes), (vec![], vec![]));
        let edit = json!({"path": "a.txt", "edits": [{"old_text": "one", "new_text": "three"}]});
        let edited = touched("edit_file", edit);
        assert_eq!((edited.written, edited.lines), (vec![written("a.txt", 6, WriteMode::Overwrite)], Some(1)));
    }

    #[test]
    fn what_a_patch_did() {
        let patched = touched("apply_patch", json!({ "patch": PATCH }));
        assert_eq!(patched.paths, ["a.txt", "b.txt", "c.txt", "old.txt"]);
        assert_eq!((patched.lines, patched.changes.len(), patched.bytes), (Some(5), 3, 6));
        let mut files = patched.written;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        assert_eq!(files, [written("b.txt", 4, WriteMode::Create), written("c.txt", 2, WriteMode::Create)]);
        let looked = touched("apply_patch", json!({ "patch": PATCH, "dry_run": true }));
        assert_eq!((looked.written, looked.changes, looked.paths.len()), (vec![], vec![], 4));
        let failed = touched("apply_patch", json!({ "patch": PATCH.replace("-one", "-nine") }));
        assert_eq!((failed.paths.len(), failed.redacted, failed.changes), (4, 0, vec![]));
        let secret = touched("apply_patch", json!({ "patch": PATCH.replace("c.txt", ".env") }));
        assert_eq!((secret.paths, secret.redacted), (vec![], 4));
    }

    #[test]
    fn what_was_refused() {
        let outside = touched("read_file", json!({"path": "../x"}));
        assert_eq!((outside.paths, outside.redacted), (vec!["../x".to_owned()], 0));
        let mut read_only = recording();
        read_only.read_only = true;
        let write = |path: &str| ("paddock", "write_file", json!({"path": path, "content": "x"}));
        let told = |path: &str| last(&read_only, &[write(path)]).touched.unwrap();
        assert_eq!((told("n").paths, told("n").redacted), (vec!["n".to_owned()], 0));
        assert_eq!((told(".env").paths, told("d/.env").redacted), (vec![], 1));
        assert_eq!((told(".env").operation, told(".env").bytes), ("write", 0));
    }

    #[test]
    fn as_many_paths_as_one_call_may_work_on() {
        let mut policy = recording();
        policy.limits.max_files = 2;
        let touched = last(&policy, &[("paddock", "apply_patch", json!({ "patch": PATCH }))]).touched.unwrap();
        assert_eq!((touched.paths.len(), touched.redacted), (2, 2));
    }

    #[test]
    fn nothing_where_nobody_asks_or_the_arguments_do_not_fit() {
        let read = || ("paddock", "read_file", json!({"path": "a.txt"}));
        assert_eq!(last(&Policy::default(), &[read()]).touched, None);
        assert_eq!(last(&recording(), &[("paddock", "read_file", json!({"file": "a.txt"}))]).touched, None);
        assert_eq!(last(&recording(), &[("paddock", "none", json!({}))]).touched, None);
    }

    #[test]
    fn in_any_dialect() {
        let write = ("weakincentives", "write_file", json!({"file_path": "n", "content": "abc"}));
        let touched = last(&recording(), &[write]).touched.unwrap();
        assert_eq!((touched.operation, touched.written), ("write", vec![written("n", 3, WriteMode::Create)]));
    }
}
