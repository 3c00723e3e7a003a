//! Replaces text in many files, in all of them or in none. A call without a plan changes nothing and returns the lines
//! that would change, with a plan. A call with the plan searches again and applies the replacement if the result still
//! matches the plan.

use paddock_search::matcher::Matcher;
use paddock_search::replacer::{Excess, Replacer};
use paddock_text::document::{Document, Splice};
use paddock_types::entry::Kind;
use paddock_types::error::{Error, Result, Term};
use paddock_types::response::{ReplacedFile, Response, Skipped};
use paddock_types::{request, response};
use paddock_vfs::Fault;
use paddock_vfs::content::FileContent;
use paddock_workspace::Workspace;
use paddock_workspace::change::commit::commit;
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;
use paddock_workspace::walk::Entry;

use crate::advice;
use crate::grep::{FileWalk, near};
use crate::index::exclusions::Exclusions;
use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::read::content;
use crate::recorder::Recorder;
use crate::replace::excluded::Excluded;
use crate::replace::file::Read;
use crate::replace::lines::Page;
use crate::replace::too_large::{narrower, too_much};

mod excluded;
mod file;
mod lines;
mod plan;
mod too_large;

/// Name of the operation in errors and in the history.
pub const OPERATION: &str = "replace in";
/// Maximum total bytes of all files, before and after: they are in memory at the same time.
const MAX_TOTAL_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum number of matches in one file: each is held in memory.
const MAX_MATCHES: usize = 100_000;
/// Maximum number of files that a result lists, and of unchangeable files that its notes name.
const MAX_LISTED: usize = 100;
const MAX_NOTED: usize = 10;

impl Operation for request::Replace {
    fn name(&self) -> &'static str {
        "replace"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Replace)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Replace(replace) = response else { return };
        match replace.applied {
            true => recorder.add_changed(),
            false => recorder.add(&self.path),
        }
        recorder.measure(recorder.written_bytes(), None);
    }
}

impl ChangingOperation for request::Replace {
    fn can_delete(&self) -> bool {
        false
    }

    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        let replacements = find(draft.workspace, self, 0)?;
        replacements.changing().try_for_each(|file| draft.add(OPERATION, &file.resolved.path))?;
        let mut files = replacements.changing();
        files.try_for_each(|file| draft.change(&file.resolved.path, Some(&file.old), &file.new)).map(|()| false)
    }
}

/// Plans a replacement, or applies it if the request has a plan.
pub fn run(workspace: &Workspace<'_>, args: &request::Replace) -> Result<response::Replace> {
    let is_planned = args.plan.is_some();
    let mut replacements =
        find(workspace, args, if is_planned { 0 } else { workspace.policy.limits.max_result_bytes })?;
    let mut result = replacements.result(args);
    if is_planned {
        let mut changes = Vec::new();
        for file in replacements.files {
            if !file.is_excluded {
                let Planned { resolved, old, new, .. } = file;
                changes.push(FileChange { resolved, old: Some(old), new: Some(new), to: None });
            }
        }
        result.notes.extend(commit(workspace, OPERATION, changes)?);
        result.backup = workspace.backup();
    }
    Ok(result)
}

/// Returns all replacements, with at most `max_line_bytes` bytes of the lines that change. Fails if the request has a plan that does
/// not match them.
fn find<'w>(workspace: &'w Workspace<'w>, args: &request::Replace, max_line_bytes: usize) -> Result<Replacements<'w>> {
    let search = args.search();
    let cursor = args.cursor.as_deref().filter(|_| args.plan.is_none()).map(plan::open).transpose()?;
    let mut replacements = Replacements {
        workspace,
        replacer: Replacer::new(&search, &args.replacement)?,
        matcher: Matcher::new(&search)?,
        files: Vec::new(),
        total_files: 0,
        replacements: 0,
        searched: 0,
        same: 0,
        bytes: 0,
        unchangeable: Vec::new(),
        skipped: Skipped::default(),
        excluded: Excluded::new(workspace, &args.exclude_paths)?,
        page: Page::new(cursor.map_or(0, |(lines, _)| lines), max_line_bytes),
    };
    let resolved = workspace.resolve(&args.path, OPERATION)?;
    match resolved.existing(workspace, OPERATION)?.kind {
        Kind::File => replacements.named(resolved)?,
        Kind::Directory => {
            let dir = resolved.open_dir(workspace, OPERATION)?;
            let walk = FileWalk::new(workspace, &search, &resolved, &dir, None)?;
            replacements.all(walk, Exclusions::new(workspace, &search))?;
        }
        kind => return Err(resolved.not_a_file(OPERATION, kind)),
    }
    match (&args.plan, cursor) {
        (Some(plan), _) => plan::check((Term::Plan, plan), args, &replacements.files)?,
        (None, Some((_, plan))) => plan::check((Term::Cursor, plan), args, &replacements.files)?,
        (None, None) => {}
    }
    replacements.excluded.check(replacements.total_files > 0)?;
    Ok(replacements)
}

/// Replacements found so far.
struct Replacements<'w> {
    workspace: &'w Workspace<'w>,
    replacer: Replacer,
    /// Fast check on raw bytes that rules out most files without a match.
    matcher: Matcher,
    /// Files with matches that can be changed, in the order of the walk.
    files: Vec<Planned>,
    total_files: u64,
    replacements: u64,
    searched: u64,
    /// Number of matches that the replacement leaves as they are, in files that do not change.
    same: u64,
    /// Total bytes of the files that change, before and after.
    bytes: u64,
    /// Error of each file with matches that cannot be changed.
    unchangeable: Vec<Error>,
    skipped: Skipped,
    excluded: Excluded,
    page: Page,
}

/// A file with matches that can be changed.
struct Planned {
    resolved: ResolvedPath,
    old: FileContent,
    new: FileContent,
    count: u64,
    /// Whether the request leaves it out. Then it has no content here.
    is_excluded: bool,
    /// Whether the page contains lines of the file.
    is_on_page: bool,
    /// Path and etag of the content.
    stamp: String,
}

/// A file with matches.
struct Matches {
    old: Document,
    splices: Vec<Splice>,
}

impl Replacements<'_> {
    /// Returns the files that change.
    fn changing(&self) -> impl Iterator<Item = &Planned> {
        self.files.iter().filter(|file| !file.is_excluded)
    }

    /// Searches the file that the request names, even if ignore rules exclude it. The call fails if the file cannot be
    /// changed.
    fn named(&mut self, resolved: ResolvedPath) -> Result<()> {
        match file::read(self.workspace, &resolved.dir, &resolved.name)
            .map_err(|fault| fault.at(OPERATION, &resolved.requested_path))?
        {
            Read::Text(bytes) => {
                self.searched += 1;
                let Some(matches) = self.matches(&resolved.path, bytes)? else { return Ok(()) };
                match self.planned(resolved, matches)? {
                    None => Ok(()),
                    Some(file) => self.add(file?),
                }
            }
            Read::Binary(bytes) => Err(content::binary(&resolved, OPERATION, bytes.len() as u64, &bytes)),
            Read::TooLarge(size) => Err(self.workspace.too_large(&resolved, OPERATION, size)),
        }
    }

    fn all(&mut self, mut hunt: FileWalk<'_>, mut exclusions: Exclusions<'_>) -> Result<()> {
        while hunt.advance() {
            let Some(entry) = hunt.walk.entry() else { break };
            match exclusions.find(entry.dir, entry.name, entry.path) {
                Some(file) if !file.is_binary => self.searched += 1,
                // The index does not know whether a binary file is over the limit.
                _ => self.read(&entry)?,
            }
            if self.workspace.out_of_time() {
                hunt.walk.stopped = true;
                break;
            }
        }
        self.skipped.add(&hunt.walk.skipped);
        if hunt.walk.stopped {
            return Err(narrower("the search did not end within the limits of one call"));
        }
        Ok(())
    }

    /// Reads and searches a file of a walk. A file that cannot be read is counted as skipped.
    fn read(&mut self, entry: &Entry<'_>) -> Result<()> {
        match file::read(self.workspace, entry.dir, entry.name) {
            Ok(Read::Text(bytes)) => self.one_of_many(entry.path, bytes)?,
            Ok(Read::Binary(_)) => self.skipped.binary += 1,
            Ok(Read::TooLarge(_)) => self.skipped.too_large += 1,
            Err(Fault::Link) => self.skipped.links += 1,
            Err(Fault::NotRegular | Fault::IsDirectory) => self.skipped.special += 1,
            Err(_) => self.skipped.unreadable += 1,
        }
        Ok(())
    }

    /// Searches a file of a walk. If it has matches and cannot be changed, it stays unchanged and is reported.
    fn one_of_many(&mut self, path: &str, bytes: Vec<u8>) -> Result<()> {
        let matches = if self.may_match(&bytes) { self.matches(path, bytes) } else { Ok(None) };
        // The index excludes files without a match, so that nothing but this count may depend on them.
        let Some(matches) = matches.transpose() else {
            self.searched += 1;
            return Ok(());
        };
        // The path is resolved again from the root, because only a resolved path has all access rules applied.
        let Ok(resolved) = self.workspace.resolve_with(path, OPERATION, FollowSymlinks::No) else {
            self.skipped.unreadable += 1;
            return Ok(());
        };
        self.searched += 1;
        match self.planned(resolved, matches?)? {
            None => Ok(()),
            Some(Ok(file)) => self.add(file),
            Some(Err(error)) => {
                self.unchangeable.push(error);
                Ok(())
            }
        }
    }

    /// Returns whether the file may have a match; false is certain.
    fn may_match(&self, bytes: &[u8]) -> bool {
        let is_utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || bytes.contains(&0);
        is_utf16 || self.matcher.may_match(bytes)
    }

    /// Returns the text of a file with the replacements of its matches; `None` if it has no match.
    fn matches(&mut self, path: &str, bytes: Vec<u8>) -> Result<Option<Matches>> {
        let old = Document::decode(bytes, None);
        let limit = self.max_bytes();
        // Every encoding needs at least a third of the bytes that UTF-8 needs for a character.
        let splices = self.replacer.splices(&old.text, MAX_MATCHES, limit.saturating_mul(3));
        let splices = splices.map_err(|excess| too_much(path, excess, limit))?;
        Ok((!splices.is_empty()).then_some(Matches { old, splices }))
    }

    /// Returns the maximum size in bytes of a changed file.
    fn max_bytes(&self) -> usize {
        usize::try_from(self.workspace.policy.limits.max_file_bytes).unwrap_or(usize::MAX)
    }

    /// Returns the file with its matches replaced, or the reason why it cannot be changed. `None` if nothing changes.
    fn planned(&mut self, resolved: ResolvedPath, matches: Matches) -> Result<Option<Result<Planned>>> {
        let (Matches { old, splices }, limit) = (matches, self.max_bytes());
        let new = match old.splice(&splices) {
            Ok(new) if new.len() > limit => return Err(too_much(&resolved.path, Excess::Bytes, limit)),
            Ok(new) if *old.bytes() == *new => {
                self.same += splices.len() as u64;
                return Ok(None);
            }
            new => new,
        };
        let new = self
            .workspace
            .check_change(&resolved, OPERATION)
            .and_then(|()| new.map_err(|loss| loss.at(OPERATION, &resolved.requested_path)));
        let new = match new {
            Ok(new) => new,
            Err(error) => return Ok(Some(Err(error))),
        };
        let count = splices.len() as u64;
        let is_excluded = self.excluded.has(&resolved.path);
        let is_on_page = !is_excluded && self.page.add(&resolved.path, &old.text, &splices);
        let (mut old, mut new) = (FileContent::from(old.into_bytes()), FileContent::from(new));
        let stamp = plan::stamp(&resolved.path, &old);
        if is_excluded {
            (old, new) = (Vec::new().into(), Vec::new().into());
        }
        Ok(Some(Ok(Planned { resolved, old, new, count, is_excluded, is_on_page, stamp })))
    }

    fn add(&mut self, file: Planned) -> Result<()> {
        let max = self.workspace.policy.limits.max_files;
        if !file.is_excluded {
            if self.total_files >= max {
                return Err(narrower(&format!("more than {max} files would change, the maximum for one call")));
            }
            self.bytes = self.bytes.saturating_add(file.old.size()).saturating_add(file.new.size());
            self.total_files += 1;
            self.replacements += file.count;
        }
        if self.bytes > MAX_TOTAL_BYTES {
            let cause = format!("the files have more than {MAX_TOTAL_BYTES} bytes together, before and after");
            return Err(narrower(&cause));
        }
        self.files.push(file);
        Ok(())
    }

    fn result(&mut self, args: &request::Replace) -> response::Replace {
        let applied = args.plan.is_some();
        let plan = (!applied && self.total_files > 0).then(|| plan::of(args, &self.files));
        let next_cursor = self.page.next().zip(plan.as_ref()).map(|(lines, plan)| plan::cursor(lines, plan));
        let mut files = Vec::new();
        for file in self.changing() {
            if if applied { files.len() < MAX_LISTED } else { file.is_on_page } {
                let (path, replacements) = (file.resolved.path.clone(), file.count);
                files.push(ReplacedFile { path, replacements, etag: file.new.etag() });
            }
        }
        response::Replace {
            truncated: next_cursor.is_some() || applied && self.total_files > MAX_LISTED as u64,
            files,
            total_files: self.total_files,
            total_replacements: self.replacements,
            lines: std::mem::take(&mut self.page.lines),
            plan,
            next_cursor,
            applied,
            files_searched: self.searched,
            unchangeable: self.unchangeable.len() as u64,
            skipped: self.skipped,
            backup: None,
            notes: self.notes(args),
        }
    }

    fn notes(&self, args: &request::Replace) -> Vec<String> {
        if self.files.is_empty() && self.unchangeable.is_empty() {
            return match self.same {
                0 => near::notes(self.workspace, &args.search(), self.searched, 0),
                same => vec![format!("matches that the replacement leaves as they are: {same}")],
            };
        }
        let mut notes: Vec<_> = self.unchangeable.iter().take(MAX_NOTED).map(Error::message).collect();
        notes.extend(excluded::note(&self.files));
        let more = self.unchangeable.len().saturating_sub(MAX_NOTED);
        notes.extend((more > 0).then(|| format!("{more} more files with matches stay as they are")));
        notes.extend(advice::of_replacement(&args.replacement).filter(|_| !args.fixed && args.plan.is_none()));
        notes
    }
}

#[cfg(test)]
mod tests {
    use paddock_types::digest::etag;
    use paddock_types::entry::Time;
    use paddock_types::error::Code;
    use paddock_types::policy::Policy;
    use paddock_types::request::Replace;
    use paddock_vfs::memory::MemoryFs;
    use paddock_vfs::{Filesystem, Open};

    use super::*;

    fn fixture(files: &[(&str, &[u8])]) -> MemoryFs {
        let fs = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 9, nanoseconds: 0 }, 1);
        files.iter().for_each(|(name, bytes)| put(&fs, name, bytes));
        fs
    }

    /// Writes a file, replacing an existing one.
    fn put(fs: &MemoryFs, path: &str, bytes: &[u8]) {
        let mut dir = fs.preopens().remove(0).dir;
        let mut names: Vec<_> = path.split('/').collect();
        let name = names.pop().unwrap();
        for above in names {
            let _ = fs.make_dir(&dir, above);
            dir = fs.open_dir(&dir, above).unwrap();
        }
        let _ = fs.unlink(&dir, name);
        fs.write(&fs.open_file(&dir, name, Open::CreateNew).unwrap(), 0, bytes).unwrap();
    }

    fn bytes(fs: &MemoryFs, path: &str) -> Vec<u8> {
        let policy = Policy::default();
        let workspace = Workspace::open(fs, &policy).unwrap();
        workspace.read_whole(&workspace.resolve(path, "read").unwrap(), "read").unwrap().0
    }

    fn call(fs: &MemoryFs, policy: &Policy, args: &Replace) -> Result<response::Replace> {
        run(&Workspace::open(fs, policy).unwrap(), args)
    }

    fn request_for(pattern: &str, replacement: &str) -> Replace {
        Replace::of(pattern.to_owned(), replacement.to_owned())
    }

    /// Plans a replacement, then applies the plan.
    #[track_caller]
    fn applied(fs: &MemoryFs, args: &Replace) -> response::Replace {
        let policy = Policy::default();
        let planned = call(fs, &policy, args).unwrap();
        assert!(planned.plan.is_some() && !planned.applied && planned.backup.is_none());
        let applied = call(fs, &policy, &Replace { plan: planned.plan, ..args.clone() }).unwrap();
        assert_eq!((&applied.files, applied.total_replacements), (&planned.files, planned.total_replacements));
        assert!(applied.applied && applied.plan.is_none() && applied.lines.is_empty());
        applied
    }

    fn rendered_lines(planned: &response::Replace) -> Vec<String> {
        planned.lines.iter().map(|line| format!("{} {line}", line.path)).collect()
    }

    #[test]
    fn planned_then_done() {
        let fs =
            fixture(&[("a.rs", b"old(1);\nold(2);\n"), ("d/b.rs", b"old(x)"), ("c.txt", b"old"), ("n.rs", b"new")]);
        let args = Replace { glob: Some("*.rs".to_owned()), ..request_for(r"old\((\w+)\)", "new($1, $1)") };
        let planned = call(&fs, &Policy::default(), &args).unwrap();
        assert_eq!((planned.total_files, planned.total_replacements, planned.files_searched), (2, 3, 3));
        assert_eq!(
            rendered_lines(&planned),
            ["a.rs 1: «old(1 → new(1, 1»);", "a.rs 2: «old(2 → new(2, 2»);", "d/b.rs 1: «old(x → new(x, x»)"]
        );
        assert_eq!(bytes(&fs, "a.rs"), b"old(1);\nold(2);\n");
        let applied = applied(&fs, &args);
        assert_eq!(bytes(&fs, "a.rs"), b"new(1, 1);\nnew(2, 2);\n");
        assert_eq!((bytes(&fs, "d/b.rs"), bytes(&fs, "c.txt")), (b"new(x, x)".to_vec(), b"old".to_vec()));
        assert_eq!(applied.files[0].etag, etag(b"new(1, 1);\nnew(2, 2);\n"));
        assert!(applied.backup.is_some());
    }

    #[test]
    fn every_other_byte_stays() {
        let utf16: Vec<u8> = "\u{feff}aä\r\nb\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let fs = fixture(&[
            ("w", &utf16),
            ("bom", b"\xef\xbb\xbfb\r\n"),
            ("bad", b"b \xff\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 b"),
        ]);
        applied(&fs, &request_for("b", "c\nd"));
        let expected: Vec<u8> = "\u{feff}aä\r\nc\r\nd\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(bytes(&fs, "w"), expected);
        assert_eq!(bytes(&fs, "bom"), b"\xef\xbb\xbfc\r\nd\r\n");
        assert!(bytes(&fs, "bad").starts_with(b"c\nd \xff\xc3\xa4") && bytes(&fs, "bad").ends_with(b"\xa4 c\nd"));
    }

    #[test]
    fn unchangeable_files_stay_as_they_are_and_are_reported() {
        let latin = b"caf\xe9 caf\xe9 d\xe9j\xe0 vu, na\xefve\n";
        let files: &[(&str, &[u8])] =
            &[("latin", latin), (".vscode/x.json", b"caf"), ("bin", b"caf\0"), ("ok", b"caf"), ("big", &[b'c'; 200])];
        let fs = fixture(files);
        let mut policy = Policy::default();
        policy.limits.max_file_bytes = 100;
        let args = Replace { include_hidden: true, ..request_for("caf", "\u{4e16}") };
        let planned = call(&fs, &policy, &args).unwrap();
        assert_eq!((planned.total_files, planned.unchangeable), (1, 2));
        assert_eq!((planned.skipped.binary, planned.skipped.too_large), (1, 1));
        assert!(
            planned.notes[0].starts_with("cannot replace in `.vscode/x.json`: `.vscode` is protected"),
            "{:?}",
            planned.notes
        );
        assert!(planned.notes[1].starts_with("cannot replace in `latin`:"), "{:?}", planned.notes);
        let code =
            |path: &str| call(&fs, &policy, &Replace { path: path.to_owned(), ..args.clone() }).unwrap_err().code;
        assert_eq!(["latin", ".vscode/x.json"].map(code), [Code::EncodingLoss, Code::ReadOnly]);
        assert_eq!(["bin", "big", "none"].map(code), [Code::BinaryFile, Code::TooLarge, Code::NotFound]);
    }

    #[test]
    fn hidden_files_are_not_searched() {
        let fs = fixture(&[(".agentignore", b"key"), ("key", b"x"), ("d/key", b"x"), ("a", b"x")]);
        let planned =
            call(&fs, &Policy::default(), &Replace { include_hidden: true, ..request_for("x", "y") }).unwrap();
        assert_eq!((planned.total_files, planned.skipped.denied, planned.unchangeable), (1, 2, 0));
        let named = Replace { path: "key".to_owned(), ..request_for("x", "y") };
        assert_eq!(call(&fs, &Policy::default(), &named).unwrap_err().code, Code::Denied);
    }

    #[test]
    fn a_plan_is_bound_to_the_content() {
        let fresh = || fixture(&[("a", b"x 1"), ("b", b"x 2"), ("c", b"none"), ("d", b"x 3")]);
        let fs = fresh();
        let policy = Policy::default();
        let plan = call(&fs, &policy, &request_for("x", "y")).unwrap().plan;
        let refused = |change: &dyn Fn(&MemoryFs)| {
            let fs = fresh();
            change(&fs);
            let error = call(&fs, &policy, &Replace { plan: plan.clone(), ..request_for("x", "y") }).unwrap_err();
            assert_eq!((error.code, bytes(&fs, "a")), (Code::ChangedSinceRead, b"x 1".to_vec()));
            error.message()
        };
        let since = "cannot replace: changed since the plan was made: ";
        assert_eq!(refused(&|fs| put(fs, "b", b"x two")), format!("{since}`b`"));
        assert_eq!(refused(&|fs| put(fs, "c", b"x")), format!("{since}`c`"));
        assert_eq!(refused(&|fs| put(fs, "b", b"gone")), format!("{since}1 of its files without a match now"));
        assert_eq!(
            refused(&|fs| {
                put(fs, "b", b"x x");
                put(fs, "e", b"x")
            }),
            format!("{since}`b`, `e`")
        );
        let all = refused(&|fs| ["b", "d"].iter().for_each(|name| put(fs, name, b"")));
        assert_eq!(all, format!("{since}2 of its files without a match now"));
        // A new file without a match leaves the plan valid.
        put(&fs, "c", b"other");
        assert!(call(&fs, &policy, &Replace { plan, ..request_for("x", "y") }).unwrap().applied);
        assert_eq!(bytes(&fs, "d"), b"y 3");
    }

    #[test]
    fn a_plan_is_for_its_arguments_and_nothing_forged() {
        let fs = fixture(&[("a", b"x")]);
        let policy = Policy::default();
        let plan = call(&fs, &policy, &request_for("x", "y")).unwrap().plan;
        let others = [
            request_for("x", "z"),
            Replace { fixed: true, ..request_for("x", "y") },
            Replace { path: "a".to_owned(), ..request_for("x", "y") },
        ];
        for other in others {
            let error = call(&fs, &policy, &Replace { plan: plan.clone(), ..other }).unwrap_err();
            assert_eq!(error.message(), "argument `plan`: it was made for other arguments");
        }
        for forged in ["", "x", "0123456789abcdef", "0123456789abcdef-", "0123456789abcdef-Aé", "0123456789abcdef-AAA"]
        {
            let error =
                call(&fs, &policy, &Replace { plan: Some(forged.to_owned()), ..request_for("x", "y") }).unwrap_err();
            assert_eq!(error.message(), "argument `plan`: it is not a plan", "{forged}");
        }
        assert_eq!(bytes(&fs, "a"), b"x");
    }

    #[test]
    fn of_many_files_the_last_count_too() {
        let names: Vec<_> = (0..200).map(|number| format!("f{number:03}")).collect();
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), b"x".as_slice())).collect();
        let fs = fixture(&files);
        let policy = Policy::default();
        let planned = call(&fs, &policy, &request_for("x", "y")).unwrap();
        assert_eq!((planned.files.len(), planned.total_files, planned.truncated), (200, 200, false));
        assert!(planned.plan.as_ref().unwrap().len() < 150);
        let args = Replace { plan: planned.plan.clone(), ..request_for("x", "y") };
        let applied = call(&fixture(&files), &policy, &args).unwrap();
        assert_eq!((applied.files.len(), applied.total_files, applied.truncated), (100, 200, true));
        put(&fs, "f199", b"x!");
        let error = call(&fs, &policy, &Replace { plan: planned.plan, ..request_for("x", "y") }).unwrap_err();
        assert_eq!(error.message(), "cannot replace: changed since the plan was made: a file after the first 64");
    }

    #[test]
    fn nothing_to_do_is_no_plan() {
        let fs = fixture(&[("a", b"x")]);
        for args in [request_for("nowhere", "y"), request_for("x", "x"), request_for("(x)", "$1")] {
            let planned = call(&fs, &Policy::default(), &args).unwrap();
            assert_eq!((planned.total_files, planned.total_replacements, planned.plan), (0, 0, None));
        }
    }

    #[test]
    fn limits_hold() {
        let fs = fixture(&[("a", &[b'x'; 90]), ("b", b"x"), ("c", b"x")]);
        let mut policy = Policy::default();
        policy.limits.max_file_bytes = 100;
        assert_eq!(call(&fs, &policy, &request_for("x", "yy")).unwrap_err().code, Code::TooLarge);
        assert_eq!(call(&fs, &policy, &request_for("x", &"y".repeat(301))).unwrap_err().code, Code::TooLarge);
        policy.limits.max_files = 2;
        assert_eq!(call(&fs, &policy, &request_for("x", "y")).unwrap_err().code, Code::LimitExceeded);
        policy.limits.max_files = 3;
        assert_eq!(call(&fs, &policy, &request_for("x", "y")).unwrap().total_files, 3);
        policy.limits.max_entries = 2;
        assert_eq!(call(&fs, &policy, &request_for("x", "y")).unwrap_err().code, Code::LimitExceeded);
    }

    #[test]
    fn pages_of_a_plan_follow_each_other() {
        let names: Vec<_> = (0..9).map(|number| format!("f{number}")).collect();
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), b"  x 1\n\n  x x".as_slice())).collect();
        let fs = fixture(&files);
        let mut policy = Policy::default();
        policy.limits.max_result_bytes = 200;
        let (mut lines, mut pages, mut args) = (Vec::new(), 0, request_for("x", "y"));
        loop {
            let page = call(&fs, &policy, &args).unwrap();
            assert_eq!(
                (page.total_files, page.total_replacements, page.truncated),
                (9, 27, page.next_cursor.is_some())
            );
            assert!(page.files.len() < 9 && page.lines.iter().map(|line| line.old.len()).sum::<usize>() < 200);
            lines.extend(rendered_lines(&page));
            pages += 1;
            args.cursor = page.next_cursor;
            if args.cursor.is_none() {
                break;
            }
        }
        let expected = names.iter().flat_map(|name| [format!("{name} 1: «x → y» 1"), format!("{name} 3: «x x → y y»")]);
        assert_eq!(lines, expected.collect::<Vec<_>>());
        assert!(pages > 2);

        args.cursor = call(&fs, &policy, &request_for("x", "y")).unwrap().next_cursor;
        let other = call(&fs, &policy, &Replace { cursor: args.cursor.clone(), ..request_for("x", "z") }).unwrap_err();
        assert_eq!(other.message(), "argument `cursor`: it was made for other arguments");
        put(&fs, "f8", b"x");
        let changed = call(&fs, &policy, &args).unwrap_err();
        assert_eq!(changed.message(), "cannot replace: changed since the plan was made: `f8`");
        assert!(changed.hint_text().unwrap().contains("call again without `cursor`"));
        for forged in ["", "bnVsbA", "1-", "x-0123456789abcdef-AAAA", "1-0123456789abcdef-AAA"] {
            let args = Replace { cursor: Some(forged.to_owned()), ..request_for("x", "y") };
            assert_eq!(call(&fs, &policy, &args).unwrap_err().message(), "argument `cursor`: it is not a cursor");
        }
    }

    #[test]
    fn excluded_files_stay_as_they_are() {
        let fresh = || fixture(&[("a", b"x"), ("d/b", b"x"), ("d/c", b"x x"), ("e", b"x"), ("other", b"")]);
        let policy = Policy::default();
        let args = |paths: &[&str], plan: Option<&String>| Replace {
            exclude_paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            plan: plan.cloned(),
            ..request_for("x", "y")
        };
        let fs = fresh();
        let whole = call(&fs, &policy, &args(&[], None)).unwrap().plan.unwrap();
        let applied = call(&fs, &policy, &args(&["./d", "e"], Some(&whole))).unwrap();
        assert_eq!((applied.applied, applied.total_files, applied.total_replacements), (true, 1, 1));
        assert_eq!(applied.notes, ["left out of the plan, as requested: `d/b`, `d/c`, `e`"]);
        assert_eq!(["a", "d/b", "d/c", "e"].map(|path| bytes(&fs, path)), [&b"y"[..], b"x", b"x x", b"x"]);

        // Files that a plan left out stay left out.
        let fs = fresh();
        let part = call(&fs, &policy, &args(&["d/b"], None)).unwrap();
        assert_eq!((part.total_files, part.notes.len(), rendered_lines(&part).len()), (3, 1, 3));
        let part = part.plan.unwrap();
        assert_ne!(part, whole);
        for paths in [&[][..], &["a"], &["d/b", "a"]] {
            let error = call(&fs, &policy, &args(paths, Some(&part))).unwrap_err();
            assert_eq!(error.message(), "argument `plan`: it was made for other arguments");
        }
        assert_eq!(call(&fs, &policy, &args(&["d/b"], Some(&part))).unwrap().total_files, 3);
        assert_eq!(bytes(&fs, "d/b"), b"x");

        // An excluded file must still be unchanged.
        let fs = fresh();
        put(&fs, "e", b"x x");
        assert_eq!(call(&fs, &policy, &args(&["e"], Some(&whole))).unwrap_err().code, Code::ChangedSinceRead);
    }

    #[test]
    fn excluded_paths_are_files_of_the_plan() {
        let fs = fixture(&[("a", b"x"), ("d/b", b"x"), ("other", b""), (".agentignore", b"key"), ("key", b"x")]);
        let policy = Policy::default();
        let refused = |paths: &[&str]| {
            let exclude_paths = paths.iter().map(|path| (*path).to_owned()).collect();
            call(&fs, &policy, &Replace { exclude_paths, ..request_for("x", "y") }).unwrap_err()
        };
        let message = |paths: &[&str]| refused(paths).message();
        assert_eq!(
            message(&["a", "other", "dd"]),
            "argument `exclude_paths`: no file with a match is at `other`, `dd`"
        );
        assert_eq!(message(&["a", "d"]), "argument `exclude_paths`: it leaves out all files with a match");
        assert_eq!(refused(&["../x"]).code, Code::OutsideWorkspace);
        assert_eq!(refused(&["key"]).code, Code::Denied);
        let many = vec!["a"; 1_001];
        assert_eq!(message(&many), "argument `exclude_paths`: it has more than 1000 paths");
    }
}
