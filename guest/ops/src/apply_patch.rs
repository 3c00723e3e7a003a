//! Applies a patch to all its files or to none. Every file is read and changed in memory, in the order of the patch,
//! before the first file is written.

use std::collections::{BTreeSet, HashMap};

use paddock_patch::{Action, FilePatch, Hunk, MAX_REJECTS, plan};
use paddock_text::encoding::is_binary;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Detail, Error, Result, Term, printable};
use paddock_types::match_pass::Pass;
use paddock_types::request::Matching;
use paddock_types::response::PatchAction;
use paddock_types::{request, response};
use paddock_workspace::Workspace;
use paddock_workspace::change::commit::commit;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;

mod checks;
mod counts;
mod operation;
mod outcome;

const OPERATION: &str = "patch";
/// Maximum total bytes of all files of a patch, before and after it: all contents are in memory at the same time.
const MAX_TOTAL_BYTES: usize = 64 * 1024 * 1024;
/// Number of leading bytes that are examined to tell text from binary content.
const HEAD: usize = 8 * 1024;

/// Applies a patch to all its files or to none. A dry run plans the patch without writing.
pub fn run(workspace: &Workspace<'_>, args: &request::ApplyPatch) -> Result<response::ApplyPatch> {
    let mut plan = Plan::make(workspace, args)?;
    let files = plan.results();
    let mut notes = std::mem::take(&mut plan.notes);
    let sections = std::mem::take(&mut plan.sections);
    if !args.dry_run {
        notes.extend(commit(workspace, OPERATION, plan.changes())?);
    }
    Ok(response::ApplyPatch { files, sections, backup: workspace.backup(), notes, dry_run: args.dry_run })
}

/// The planned result of a patch.
struct Plan<'w> {
    workspace: &'w Workspace<'w>,
    matching: Matching,
    files: Vec<Planned>,
    /// Indexes into `files` by resolved path, so that two spellings of one path share an entry.
    known: HashMap<String, usize>,
    sections: Vec<(PatchAction, String)>,
    notes: Vec<String>,
    /// Paths of files that an added or moved file replaces.
    replaced: BTreeSet<String>,
    /// Parts and hunks that do not apply, each with its error.
    failures: Vec<Error>,
    total: usize,
}

/// A file before the patch and after the parts of the patch that have been planned.
struct Planned {
    resolved: ResolvedPath,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    /// Index of the file whose content was moved here.
    from: Option<usize>,
    /// Whether the file originally at this path was deleted or moved away.
    is_replaced: bool,
    /// Whether a hunk failed, so that the content is unknown.
    is_unknown: bool,
    added: u64,
    removed: u64,
    pass: Pass,
}

impl<'w> Plan<'w> {
    fn make(workspace: &'w Workspace<'w>, args: &request::ApplyPatch) -> Result<Self> {
        let patch = args.patch.as_str();
        let limits = &workspace.policy.limits;
        if patch.len() as u64 > limits.max_file_bytes {
            let cause = format!("it has {} bytes, and at most {} are taken", patch.len(), limits.max_file_bytes);
            return Err(Error::argument(Term::Patch, cause).hint("split it into several patches"));
        }
        let parts = paddock_patch::parse(patch, args.matching)?;
        if parts.len() as u64 > limits.max_files {
            let cause =
                format!("the patch changes {} files, and one call changes at most {}", parts.len(), limits.max_files);
            return Err(Error::new(Code::LimitExceeded, cause).hint("split it into several patches"));
        }
        let mut plan = Self {
            workspace,
            matching: args.matching,
            files: Vec::new(),
            known: HashMap::new(),
            sections: Vec::new(),
            notes: Vec::new(),
            replaced: BTreeSet::new(),
            failures: Vec::new(),
            total: 0,
        };
        plan.parts(&parts)?;
        plan.check_nesting()?;
        plan.check_aliases()?;
        Ok(plan)
    }

    /// Plans all parts. Fails with every part and hunk that does not apply, at most [`MAX_REJECTS`].
    fn parts(&mut self, parts: &[FilePatch<'_>]) -> Result<()> {
        for part in parts {
            match self.part(part) {
                Err(error) if error.code != Code::PatchRejected && self.failures.is_empty() => return Err(error),
                Err(error) => self.failures.push(error),
                Ok(()) => {}
            }
            if self.failures.len() >= MAX_REJECTS {
                break;
            }
        }
        let mut failures = std::mem::take(&mut self.failures).into_iter().take(MAX_REJECTS);
        let Some(mut all) = failures.next() else { return Ok(()) };
        let mut details = vec![subject(&mut all)];
        for mut failure in failures {
            details.push(subject(&mut failure));
            all = all.and_error(failure);
        }
        Err(all.detail(Detail::Failures(details)))
    }

    fn part(&mut self, part: &FilePatch<'_>) -> Result<()> {
        let path = part.path.as_str();
        let section = match &part.action {
            Action::Add(_) => (PatchAction::Add, path),
            Action::Update(_) => (PatchAction::Update, path),
            Action::Move { to, .. } => (PatchAction::Move, to.as_str()),
            Action::Delete(_) => (PatchAction::Delete, path),
        };
        self.sections.push((section.0, section.1.to_owned()));
        let file = match &part.action {
            Action::Add(hunks) => {
                let file = self.vacant(path)?;
                self.put(file, Vec::new(), path, hunks)?;
                file
            }
            Action::Update(hunks) => {
                let file = self.present(path, FollowSymlinks::Yes)?;
                let bytes = self.take(file);
                self.put(file, bytes, path, hunks)?;
                file
            }
            Action::Move { to, hunks } => self.moved(path, to, hunks)?,
            Action::Delete(hunks) => {
                let file = self.present(path, FollowSymlinks::No)?;
                self.delete(file, path, hunks.as_deref())?;
                file
            }
        };
        if let Some(mode) = &part.mode
            && let Some(planned) = self.files.get(file)
        {
            self.notes.push(format!(
                "`{}`: its mode was not set to {mode}, since WASI cannot set modes",
                planned.resolved.path
            ));
        }
        Ok(())
    }

    fn moved(&mut self, path: &str, to: &str, hunks: &[Hunk<'_>]) -> Result<usize> {
        let source = self.present(path, FollowSymlinks::No)?;
        let target = self.vacant(to)?;
        let bytes = self.take(source);
        let origin = self.files.get_mut(source).and_then(|file| {
            let own = Some(source).filter(|_| file.old.is_some() && !file.is_replaced);
            file.is_replaced = true;
            file.from.take().or(own)
        });
        let counted =
            self.files.get_mut(source).map(|file| (std::mem::take(&mut file.added), std::mem::take(&mut file.removed)));
        self.put(target, bytes, path, hunks)?;
        if let (Some(file), Some((added, removed))) = (self.files.get_mut(target), counted) {
            file.from = origin;
            file.added += added;
            file.removed += removed;
        }
        Ok(target)
    }

    fn delete(&mut self, file: usize, path: &str, hunks: Option<&[Hunk<'_>]>) -> Result<()> {
        let bytes = self.take(file);
        let removed = match hunks {
            Some(hunks) => {
                check_text(path, &bytes)?;
                match plan::emptied(path, bytes, hunks) {
                    Ok(removed) => removed,
                    Err(failures) => {
                        self.failures.extend(failures);
                        0
                    }
                }
            }
            None => counts::text_lines(&bytes),
        };
        if let Some(file) = self.files.get_mut(file) {
            file.removed += removed;
            file.from = None;
            file.is_replaced = true;
        }
        Ok(())
    }

    /// Returns the planned content and marks the file as absent.
    fn take(&mut self, file: usize) -> Vec<u8> {
        self.files.get_mut(file).and_then(|file| file.new.take()).unwrap_or_default()
    }

    /// Stores `bytes`, with the hunks applied, as the planned content of a file.
    fn put(&mut self, file: usize, bytes: Vec<u8>, path: &str, hunks: &[Hunk<'_>]) -> Result<()> {
        let limit = self.workspace.policy.limits.max_file_bytes;
        let before = bytes.len();
        let patched = if hunks.is_empty() {
            Ok(plan::Patched { bytes, added: 0, removed: 0, pass: Pass::Exact, corrections: Vec::new() })
        } else if self.files.get(file).is_some_and(|file| file.is_unknown) {
            Err(Vec::new())
        } else {
            check_text(path, &bytes)?;
            plan::patched(path, bytes, hunks, self.matching)
        };
        let patched = match patched {
            Ok(patched) => patched,
            Err(failures) => {
                self.failures.extend(failures);
                if let Some(file) = self.files.get_mut(file) {
                    (file.new, file.is_unknown) = (Some(Vec::new()), true);
                }
                return Ok(());
            }
        };
        if patched.bytes.len() as u64 > limit {
            let cause =
                format!("it would have {} bytes, and files are handled whole up to {limit}", patched.bytes.len());
            return Err(Error::at(Code::TooLarge, OPERATION, path, cause).hint("split it into several files"));
        }
        self.count(patched.bytes.len().saturating_sub(before))?;
        let corrections = patched.corrections.iter().map(|correction| format!("`{}`: {correction}", printable(path)));
        self.notes.extend(corrections);
        if let Some(file) = self.files.get_mut(file) {
            file.added += patched.added;
            file.removed += patched.removed;
            file.pass = file.pass.max(patched.pass);
            file.new = Some(patched.bytes);
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<()> {
        self.total = self.total.saturating_add(bytes);
        if self.total > MAX_TOTAL_BYTES {
            let cause =
                format!("the files of the patch have more than {MAX_TOTAL_BYTES} bytes together, before and after it");
            return Err(Error::new(Code::LimitExceeded, cause).hint("split it into several patches"));
        }
        Ok(())
    }

    /// Returns the index of the file at `path`, which must exist.
    fn present(&mut self, path: &str, last: FollowSymlinks) -> Result<usize> {
        let resolved = self.workspace.resolve_with(path, OPERATION, last)?;
        if let Some(&file) = self.known.get(&resolved.path) {
            if self.files.get(file).is_some_and(|file| file.new.is_some()) {
                return Ok(file);
            }
            return Err(rejected(path, "an earlier part of the patch deletes or moves it")
                .hint("put the parts in the order in which they apply"));
        }
        // Dialects distinguish a patch whose file is missing from other paths that are not found.
        resolved.existing(self.workspace, OPERATION).map_err(|error| match error.code {
            Code::NotFound => Error { code: Code::PatchRejected, ..error.detail(Detail::NoFileToPatch) },
            _ => error,
        })?;
        let (bytes, _) = self.workspace.read_whole(&resolved, OPERATION)?;
        self.count(bytes.len().saturating_mul(2))?;
        Ok(self.insert(resolved, Some(bytes)))
    }

    /// Returns the index of the file to be created at `path`, which must be free. With Codex matching, an existing file
    /// is overwritten.
    fn vacant(&mut self, path: &str) -> Result<usize> {
        let file = self.writable(path)?;
        if let Some(Planned { resolved, old: Some(_), .. }) = self.files.get(file) {
            self.replaced.insert(resolved.path.clone());
        }
        Ok(file)
    }

    fn writable(&mut self, path: &str) -> Result<usize> {
        let resolved = self.workspace.resolve_with(path, OPERATION, FollowSymlinks::No)?;
        let is_file = resolved.stat.is_some_and(|stat| stat.kind == Kind::File);
        if self.matching == Matching::Codex && (is_file || self.known.contains_key(&resolved.path)) {
            let file = match self.known.get(&resolved.path) {
                Some(&file) => file,
                None => self.present(path, FollowSymlinks::No)?,
            };
            return Ok(file);
        }
        let taken = "the path already exists";
        let hint = "update the existing entry, or delete it first, or use another path";
        match self.known.get(&resolved.path) {
            Some(&file) if self.files.get(file).is_some_and(|file| file.new.is_none()) => Ok(file),
            Some(_) => Err(rejected(path, taken).hint(hint)),
            None if resolved.stat.is_some() => Err(rejected(path, taken).hint(hint)),
            None => Ok(self.insert(resolved, None)),
        }
    }

    fn insert(&mut self, resolved: ResolvedPath, old: Option<Vec<u8>>) -> usize {
        let file = self.files.len();
        self.known.insert(resolved.path.clone(), file);
        let new = old.clone();
        self.files.push(Planned {
            resolved,
            old,
            new,
            from: None,
            is_replaced: false,
            is_unknown: false,
            added: 0,
            removed: 0,
            pass: Pass::Exact,
        });
        file
    }
}

/// Returns the path and the subject of an error.
fn subject(error: &mut Error) -> (String, Detail) {
    let detail = error.detail.take().map_or_else(|| Detail::Message(error.message()), |detail| *detail);
    (error.path.clone().unwrap_or_default(), detail)
}

fn rejected(path: &str, cause: &str) -> Error {
    Error::at(Code::PatchRejected, OPERATION, path, cause)
}

fn check_text(path: &str, bytes: &[u8]) -> Result<()> {
    if is_binary(head(bytes)) {
        return Err(Error::at(Code::BinaryFile, OPERATION, path, "it is not text")
            .hint("a patch can only delete or move it; write it by other means"));
    }
    Ok(())
}

fn head(bytes: &[u8]) -> &[u8] {
    bytes.get(..HEAD).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use paddock_types::digest::etag;
    use paddock_types::entry::Time;
    use paddock_types::policy::{HardLinks, Policy};
    use paddock_types::response::PatchedFile;
    use paddock_vfs::content::FileContent;
    use paddock_vfs::memory::MemoryFs;
    use paddock_vfs::{Dir, Filesystem, Open};

    use super::*;

    fn filesystem(files: &[(&str, &[u8])]) -> MemoryFs {
        let fs = MemoryFs::new(&["/workspace"], || Time { seconds: 0, nanoseconds: 0 }, 1);
        for (path, bytes) in files {
            let (dir, name) = enter(&fs, path);
            match name.strip_prefix("->") {
                Some(link) => fs.symlink(&dir, link, std::str::from_utf8(bytes).unwrap()).unwrap(),
                None => fs.write(&fs.open_file(&dir, name, Open::CreateNew).unwrap(), 0, bytes).unwrap(),
            }
        }
        fs
    }

    fn enter<'p>(fs: &MemoryFs, path: &'p str) -> (Dir, &'p str) {
        let mut dir = fs.preopens().remove(0).dir;
        let mut names: Vec<_> = path.split('/').collect();
        let last = names.pop().unwrap();
        for name in names {
            let _ = fs.make_dir(&dir, name);
            dir = fs.open_dir(&dir, name).unwrap();
        }
        (dir, last)
    }

    /// The results, the changes as `path > target: new content`, and the notes.
    type Planning = (Vec<PatchedFile>, Vec<String>, Vec<String>);

    fn request_for(patch: &str) -> request::ApplyPatch {
        request::ApplyPatch { patch: patch.to_owned(), ..request::ApplyPatch::default() }
    }

    fn plan_with(policy: &Policy, files: &[(&str, &[u8])], patch: &str) -> Result<Planning> {
        let fs = filesystem(files);
        let workspace = Workspace::open(&fs, policy).unwrap();
        let plan = Plan::make(&workspace, &request_for(patch))?;
        let (results, notes) = (plan.results(), plan.notes.clone());
        let changes = plan.changes().into_iter().map(|change| {
            let to = change.to.map(|to| format!(" > {}", to.path)).unwrap_or_default();
            let new = match change.new {
                Some(FileContent::Bytes(new, _)) => String::from_utf8_lossy(&new).into_owned(),
                Some(FileContent::FileRange(_)) => panic!("a patch is planned in memory"),
                None => "gone".to_owned(),
            };
            format!("{}{to}: {new}", change.resolved.path)
        });
        Ok((results, changes.collect(), notes))
    }

    fn plan(files: &[(&str, &[u8])], patch: &str) -> Result<Planning> {
        plan_with(&Policy::default(), files, patch)
    }

    fn envelope(sections: &str) -> String {
        format!("*** Begin Patch\n{sections}\n*** End Patch\n")
    }

    #[track_caller]
    fn changes(files: &[(&str, &[u8])], patch: &str, expected: &[&str]) {
        assert_eq!(plan(files, patch).unwrap().1, expected);
    }

    #[track_caller]
    fn fails(files: &[(&str, &[u8])], patch: &str, code: Code, message: &str) -> Error {
        let error = plan(files, patch).unwrap_err();
        assert_eq!((error.code, error.message().as_str()), (code, message));
        error
    }

    #[test]
    fn lines_are_counted_for_each_path() {
        let files: &[(&str, &[u8])] = &[("x", b"1\n2\n3\n"), ("a", b"a\nb\n")];
        let counts = |sections: &str| {
            let results = plan(files, &envelope(sections)).unwrap().0;
            let count = |file: &PatchedFile| (file.path.clone(), file.action, file.lines_added, file.lines_removed);
            results.iter().map(count).collect::<Vec<_>>()
        };
        let moved = "*** Update File: a\n*** Move to: x\n@@\n-b\n+B";
        let (x, a) = ("x".to_owned(), "a".to_owned());
        assert_eq!(
            counts(&format!("*** Delete File: x\n{moved}")),
            [(x.clone(), PatchAction::Update, 2, 3), (a.clone(), PatchAction::Delete, 0, 2)]
        );
        let moved = moved.replace(": x", ": y");
        assert_eq!(
            counts(&format!("{moved}\n*** Add File: a\n+new")),
            [(a, PatchAction::Update, 1, 2), ("y".to_owned(), PatchAction::Add, 2, 0)]
        );
        assert_eq!(counts("*** Update File: x\n@@\n-1\n+one\n*** Delete File: x"), [(x, PatchAction::Delete, 0, 3)]);
    }

    #[test]
    fn each_action_is_reported_and_made() {
        let files: &[(&str, &[u8])] = &[("u", b"a\nb\n"), ("d/gone", b"x\ny"), ("m", b"1\n2\n")];
        let patch = envelope(
            "*** Add File: new/f\n+n\n*** Update File: u\n@@\n-b\n+B\n+C\n*** Delete File: d/gone\n\
             *** Update File: m\n*** Move to: d/n\n@@\n-2",
        );
        let (results, changes, notes) = plan(files, &patch).unwrap();
        assert_eq!(changes, ["new/f: n\n", "u: a\nB\nC\n", "d/gone: gone", "m > d/n: 1\n"]);
        let reported: Vec<_> = results
            .iter()
            .map(|file| {
                (file.path.as_str(), file.action, file.moved_from.as_deref(), file.lines_added, file.lines_removed)
            })
            .collect();
        assert_eq!(
            reported,
            [
                ("new/f", PatchAction::Add, None, 1, 0),
                ("u", PatchAction::Update, None, 2, 1),
                ("d/gone", PatchAction::Delete, None, 0, 2),
                ("d/n", PatchAction::Move, Some("m"), 0, 1),
            ]
        );
        assert_eq!(results[0].etag.as_deref(), Some(etag(b"n\n").as_str()));
        assert_eq!((&results[2].etag, notes.len()), (&None, 0));
    }

    #[test]
    fn parts_for_one_file_are_done_in_order() {
        let u: &[(&str, &[u8])] = &[("u", b"a\nb\n"), ("->link", b"u"), ("d/f", b"")];
        let twice = envelope("*** Update File: u\n@@\n-a\n+x\n*** Update File: ./d/../link\n@@\n-x\n+y");
        changes(u, &twice, &["u: y\nb\n"]);
        assert_eq!(plan(u, &twice).unwrap().0.len(), 1);
        changes(u, &envelope("*** Add File: n\n+1\n*** Update File: n\n@@\n+2"), &["n: 1\n2\n"]);
        changes(u, &envelope("*** Delete File: u\n*** Add File: u\n+new"), &["u: new\n"]);
        changes(u, &envelope("*** Add File: n\n*** Delete File: n"), &[]);
        let chain = envelope(
            "*** Update File: u\n@@\n-a\n*** Update File: u\n*** Move to: v\n*** Update File: v\n*** Move to: w",
        );
        changes(u, &chain, &["u > w: b\n"]);
        let reported = plan(u, &chain).unwrap().0;
        assert_eq!((reported.len(), reported[0].moved_from.as_deref(), reported[0].lines_removed), (1, Some("u"), 1));
        let anew = envelope("*** Update File: u\n*** Move to: v\n*** Add File: u\n+new");
        changes(u, &anew, &["u: new\n", "v: a\nb\n"]);
        let over = envelope("*** Delete File: d/f\n*** Update File: u\n*** Move to: d/f");
        changes(u, &over, &["d/f: a\nb\n", "u: gone"]);
    }

    #[test]
    fn nothing_is_overwritten() {
        let files: &[(&str, &[u8])] = &[("a", b"1\n"), ("b", b"2\n"), ("->dangling", b"nowhere")];
        let taken = |path: &str| format!("cannot patch `{path}`: the path already exists");
        for patch in ["*** Add File: a\n+x", "*** Update File: b\n*** Move to: a", "*** Add File: dangling\n+x"] {
            let path = if patch.contains("dangling") { "dangling" } else { "a" };
            fails(files, &envelope(patch), Code::PatchRejected, &taken(path));
        }
        let inside = envelope("*** Add File: n\n+x\n*** Add File: n/m\n+y");
        fails(files, &inside, Code::PatchRejected, "cannot patch `n/m`: the patch makes `n` a file");
    }

    #[test]
    fn missing_files_are_rejected_with_similar_names() {
        let files: &[(&str, &[u8])] = &[("src/main.rs", b"a\n"), ("->link", b"src/main.rs")];
        let missing = "cannot patch `src/man.rs`: no such file or directory";
        for patch in ["*** Update File: src/man.rs\n@@\n-a", "*** Delete File: src/man.rs"] {
            let error = fails(files, &envelope(patch), Code::PatchRejected, missing);
            assert_eq!(error.hint_text().as_deref(), Some("did you mean `src/main.rs`?"));
        }
        let gone = envelope("*** Delete File: src/main.rs\n*** Update File: src/main.rs\n@@\n-a");
        fails(
            files,
            &gone,
            Code::PatchRejected,
            "cannot patch `src/main.rs`: an earlier part of the patch deletes or moves it",
        );
        fails(files, &envelope("*** Delete File: src"), Code::NotAFile, "cannot patch `src`: it is a directory");
        fails(files, &envelope("*** Delete File: link"), Code::NotAFile, "cannot patch `link`: it is a symbolic link");
        fails(
            files,
            &envelope("*** Update File: src\n@@\n-a"),
            Code::NotAFile,
            "cannot patch `src`: it is a directory",
        );
        assert_eq!(plan(files, &envelope("*** Add File: ../x\n+a")).unwrap_err().code, Code::OutsideWorkspace);
        // `run` checks at commit whether the path may be changed, so a dry run still renders it.
        assert!(plan(files, &envelope("*** Add File: .git/hooks/x\n+a")).is_ok());
    }

    #[test]
    fn a_hunk_that_does_not_apply_is_named() {
        let names: Vec<_> = (1..=10).map(|number| format!("f{number}")).collect();
        let files: Vec<(&str, &[u8])> =
            names.iter().map(|name| (name.as_str(), b"zero\none\ntwo\n".as_slice())).collect();
        let part = |(index, name): (usize, &String)| {
            let line = if index == 8 { 1 } else { 2 };
            let old = if index == 8 { "ten" } else { "one" };
            format!("--- a/{name}\n+++ b/{name}\n@@ -{line} +{line} @@\n-{old}\n+1\n")
        };
        let patch: String = names.iter().enumerate().map(part).collect();
        let message = "cannot patch `f9`: hunk 1 (patch line 43) does not apply: line 1 is `zero`, not `ten`";
        let error = fails(&files, &patch, Code::PatchRejected, message);
        assert_eq!(error.path.as_deref(), Some("f9"));
        let fs = filesystem(&files);
        let policy = Policy::default();
        let workspace = Workspace::open(&fs, &policy).unwrap();
        run(&workspace, &request_for(&patch)).unwrap_err();
        for name in names {
            let resolved = workspace.resolve(&name, "read").unwrap();
            assert_eq!(workspace.read_whole(&resolved, "read").unwrap().0, b"zero\none\ntwo\n");
        }
    }

    #[test]
    fn diffs_create_delete_and_note_modes() {
        let files: &[(&str, &[u8])] = &[("a", b"1\n2\n"), ("empty", b"")];
        let script = "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n";
        let (_, changed, notes) = plan(files, script).unwrap();
        assert_eq!(changed, ["run: x\n"]);
        assert_eq!(notes, ["`run`: its mode was not set to 100755, since WASI cannot set modes"]);
        changes(files, "--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n", &["a: gone"]);
        changes(files, "diff --git a/empty b/empty\ndeleted file mode 100644\n", &["empty: gone"]);
        changes(files, "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", &[]);
        let short = "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n";
        let left = "cannot patch `a`: the patch deletes the file, and 1 of its lines are not in the patch";
        fails(files, short, Code::PatchRejected, left);
    }

    #[test]
    fn other_encodings_and_binary_files() {
        let utf16: Vec<u8> = "\u{feff}a\r\nb\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let files: &[(&str, &[u8])] =
            &[("w", &utf16), ("bin", b"\x7fELF\0\0"), ("latin", b"caf\xe9 caf\xe9 d\xe9j\xe0\nb\n")];
        let fs = filesystem(files);
        let policy = Policy::default();
        let workspace = Workspace::open(&fs, &policy).unwrap();
        let plan = Plan::make(&workspace, &request_for(&envelope("*** Update File: w\n@@\n-b\n+c"))).unwrap();
        let expected: Vec<u8> = "\u{feff}a\r\nc\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(plan.changes()[0].new == Some(expected.into()));
        fails(files, &envelope("*** Update File: bin\n@@\n-b"), Code::BinaryFile, "cannot patch `bin`: it is not text");
        changes(files, &envelope("*** Delete File: bin"), &["bin: gone"]);
        changes(files, &envelope("*** Update File: bin\n*** Move to: b"), &["bin > b: \u{7f}ELF\0\0"]);
        let loss = plan_with(&policy, files, &envelope("*** Update File: latin\n@@\n-b\n+\u{4e16}")).unwrap_err();
        assert_eq!(loss.code, Code::EncodingLoss, "{}", loss.message());
    }

    #[test]
    fn limits_hold() {
        let mut policy = Policy::default();
        policy.limits.max_files = 1;
        policy.limits.max_file_bytes = 100;
        let code = |patch: &str| plan_with(&policy, &[("a", &[b'x'; 101])], patch).unwrap_err().code;
        assert_eq!(code(&envelope("*** Add File: b\n*** Add File: c")), Code::LimitExceeded);
        assert_eq!(code(&envelope("*** Delete File: a")), Code::TooLarge);
        assert_eq!(code(&envelope(&format!("*** Add File: b\n+{}", "x".repeat(101)))), Code::InvalidArgument);
    }

    #[test]
    fn one_file_under_two_hard_links_that_are_written_through_is_refused() {
        let rules = paddock_policy::Policy { hard_links: HardLinks::Keep, ..Default::default() };
        let policy = Policy { rules, ..Policy::default() };
        let fs = filesystem(&[("a", b"1\n2\n")]);
        let (dir, name) = enter(&fs, "a");
        fs.link(&dir, name, &dir, "b").unwrap();
        let workspace = Workspace::open(&fs, &policy).unwrap();
        let patch = envelope("*** Update File: a\n@@\n-1\n*** Update File: b\n@@\n-2");
        let error = Plan::make(&workspace, &request_for(&patch)).err().unwrap();
        assert_eq!(error.message(), "cannot patch `b`: it is the same file as `a`");
    }
}
