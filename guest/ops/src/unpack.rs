//! Unpacks a zip archive into a directory, entirely or not at all. Every name, size and path is checked, and every
//! content held in memory, before the first file is written.

use std::collections::{HashMap, HashSet};

use paddock_archive::zip::MAX_TOTAL_BYTES;
use paddock_archive::zip::read::{Member, members};
use paddock_types::entry::{Kind, Time};
use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::policy::HardLinks;
use paddock_types::response::Response;
use paddock_types::{phrase, request, response};
use paddock_vfs::Fault;
use paddock_workspace::Workspace;
use paddock_workspace::change::commit::{Changes, commit_all};
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::resolved_path::ResolvedPath;

use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::recorder::Recorder;

const OPERATION: &str = "unpack";

impl Operation for request::Unpack {
    fn name(&self) -> &'static str {
        "unpack"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.source.clone(), self.destination.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Unpack)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Unpack(unpack) = response else { return };
        self.requested_paths().iter().for_each(|path| recorder.add(path));
        recorder.measure(unpack.bytes, None);
    }
}

impl ChangingOperation for request::Unpack {
    fn can_delete(&self) -> bool {
        self.overwrite
    }

    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        let archive = archive(draft.workspace, self)?;
        let members = members(&archive, &draft.workspace.policy.limits, &self.source)?;
        let plan = Plan::new(draft.workspace, self, &members)?;
        draft.add_target(OPERATION, &self.source)?;
        plan.directories.iter().try_for_each(|dir| draft.add("make the directory", &dir.path))?;
        for change in &plan.changes {
            draft.add(if change.old.is_some() { "replace" } else { "create" }, &change.resolved.path)?;
        }
        for change in &plan.changes {
            if let Some(new) = &change.new {
                draft.change(&change.resolved.path, change.old.as_ref(), new)?;
            }
        }
        Ok(plan.changes.iter().any(|change| change.old.is_some()))
    }
}

/// Unpacks a zip archive into a directory.
pub fn run(workspace: &Workspace<'_>, args: &request::Unpack) -> Result<response::Unpack> {
    let archive = archive(workspace, args)?;
    let members = members(&archive, &workspace.policy.limits, &args.source)?;
    let plan = Plan::new(workspace, args, &members)?;
    let mut result = response::Unpack {
        destination: plan.destination.clone(),
        entries: members.len() as u64,
        files: members.iter().filter(|member| !member.is_dir).count() as u64,
        bytes: members.iter().map(|member| member.size).sum(),
        backup: None,
        notes: plan.notes(),
    };
    let changes = Changes { files: plan.changes, directories: plan.directories, ..Changes::default() };
    result.notes.extend(commit_all(workspace, OPERATION, changes)?);
    result.backup = workspace.backup();
    Ok(result)
}

fn archive(workspace: &Workspace<'_>, args: &request::Unpack) -> Result<Vec<u8>> {
    let source = workspace.resolve(&args.source, OPERATION)?;
    let read = workspace.read_whole(&source, OPERATION).map_err(|error| match error.code {
        Code::TooLarge => error.hint("make several smaller archives of it"),
        _ => error,
    });
    read.map(|(archive, _)| archive)
}

/// The planned changes of an archive.
struct Plan<'w> {
    workspace: &'w Workspace<'w>,
    args: &'w request::Unpack,
    /// Rendered path of the destination.
    destination: String,
    /// Prefix of the paths of all entries.
    base: String,
    changes: Vec<FileChange>,
    /// Directories to create.
    directories: Vec<ResolvedPath>,
    /// Resolved paths of the files.
    known: HashSet<String>,
    /// Total bytes of the files, before and after.
    total: u64,
    /// Number of files that already equal those in the archive.
    same: u64,
    /// Number of new files that are executable in the archive.
    executable: u64,
}

impl<'w> Plan<'w> {
    fn new(workspace: &'w Workspace<'w>, args: &'w request::Unpack, members: &[Member<'_>]) -> Result<Self> {
        let resolved = workspace.resolve(&args.destination, OPERATION)?;
        let mut plan = Self {
            workspace,
            args,
            destination: resolved.path.clone(),
            base: resolved.base(),
            changes: Vec::new(),
            directories: Vec::new(),
            known: HashSet::new(),
            total: 0,
            same: 0,
            executable: 0,
        };
        plan.directory(resolved)?;
        members.iter().try_for_each(|member| plan.member(member))?;
        plan.check_aliases()?;
        Ok(plan)
    }

    /// Plans one entry. Its path is resolved like that of any other change.
    fn member(&mut self, member: &Member<'_>) -> Result<()> {
        if self.workspace.out_of_time() {
            return Err(Error::at(
                Code::LimitExceeded,
                OPERATION,
                &self.args.source,
                "it takes longer than the time limit of a call",
            )
            .hint("nothing was unpacked; make several smaller archives of it"));
        }
        if member.path.is_empty() {
            return Ok(());
        }
        let resolved = self.workspace.resolve(&format!("{}{}", self.base, member.path), OPERATION)?;
        self.check(&resolved)?;
        if member.is_dir { self.directory(resolved) } else { self.file(resolved, member) }
    }

    /// Refuses paths that may not be changed, and paths so deep that the names of all entries would exhaust memory.
    fn check(&self, resolved: &ResolvedPath) -> Result<()> {
        let max = self.workspace.policy.limits.max_depth;
        if resolved.depth() > usize::try_from(max).unwrap_or(usize::MAX) {
            let cause = format!("it would be in more than {max} directories, one in the other");
            return Err(Error::at(Code::InvalidPath, OPERATION, &resolved.requested_path, cause)
                .hint("use another destination"));
        }
        self.workspace.check_change(resolved, OPERATION)
    }

    fn directory(&mut self, resolved: ResolvedPath) -> Result<()> {
        match resolved.stat {
            Some(stat) if stat.kind == Kind::Directory => {}
            Some(_) => {
                let cause = "something is there that is not a directory";
                return Err(Error::at(Code::NotADirectory, OPERATION, &resolved.requested_path, cause)
                    .hint("use another destination"));
            }
            None => {
                self.check(&resolved)?;
                self.directories.push(resolved);
            }
        }
        Ok(())
    }

    fn file(&mut self, resolved: ResolvedPath, member: &Member<'_>) -> Result<()> {
        match resolved.stat {
            None => {}
            Some(stat) if stat.kind == Kind::Directory => {
                let cause = "a directory is there, and the archive has a file of that name";
                return Err(Error::at(Code::NotAFile, OPERATION, &resolved.requested_path, cause)
                    .hint("use another destination"));
            }
            Some(stat) if stat.kind != Kind::File => return Err(resolved.not_a_file(OPERATION, stat.kind)),
            Some(_) if !self.args.overwrite => {
                return Err(Fault::Exists
                    .at(OPERATION, &resolved.requested_path)
                    .hint("nothing was unpacked")
                    .also_hint(phrase![Term::Overwrite, " replaces files that are there"]));
            }
            Some(_) => {}
        }
        if !self.known.insert(resolved.path.clone()) {
            return Err(self.twice(&resolved));
        }
        let old =
            resolved.stat.map(|_| self.workspace.read_whole(&resolved, OPERATION)).transpose()?.map(|(bytes, _)| bytes);
        self.count(old.as_ref().map_or(0, Vec::len))?;
        let new = member.content(&self.args.source)?;
        self.count(new.len())?;
        if old.as_ref() == Some(&new) {
            self.same += 1;
            return Ok(());
        }
        self.executable += u64::from(member.is_executable && old.is_none());
        self.changes.push(FileChange { resolved, old: old.map(Into::into), new: Some(new.into()), to: None });
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<()> {
        self.total = self.total.saturating_add(bytes as u64);
        if self.total <= MAX_TOTAL_BYTES {
            return Ok(());
        }
        let cause = format!("its files and those that they replace have more than {MAX_TOTAL_BYTES} bytes together");
        Err(Error::at(Code::LimitExceeded, OPERATION, &self.args.source, cause)
            .hint("nothing was unpacked; use an empty destination, or several smaller archives"))
    }

    /// Fails if two entries may be the same file, by case folding or by a hard link that is written through: one would
    /// overwrite the other.
    fn check_aliases(&self) -> Result<()> {
        let time = |time: Option<Time>| time.map(|time| (time.seconds, time.nanoseconds));
        // These values are equal for all aliases of one file.
        let mut groups: HashMap<_, Vec<&ResolvedPath>> = HashMap::new();
        for change in &self.changes {
            if let Some(stat) = change.resolved.stat {
                groups.entry((stat.size, time(stat.changed), time(stat.modified))).or_default().push(&change.resolved);
            }
        }
        for resolved in groups.values().filter(|group| group.len() > 1).flatten() {
            let is_linked = resolved.stat.is_some_and(|stat| stat.links > 1);
            if (is_linked && self.workspace.policy.hard_links == HardLinks::Keep) || !self.is_listed(resolved) {
                return Err(self.twice(resolved));
            }
        }
        Ok(())
    }

    /// Returns whether the directory lists the name exactly as spelled.
    fn is_listed(&self, resolved: &ResolvedPath) -> bool {
        let listing = self.workspace.fs.list(&resolved.dir);
        listing.is_ok_and(|listing| listing.entries.iter().any(|entry| entry.name == resolved.name))
    }

    fn twice(&self, resolved: &ResolvedPath) -> Error {
        let cause = format!("another entry of the archive may lead to `{}` too", printable(&resolved.path));
        Error::at(Code::InvalidArgument, OPERATION, &resolved.requested_path, cause)
            .hint("nothing was unpacked; use a destination without symbolic and hard links")
    }

    fn notes(&self) -> Vec<String> {
        let reasons = [
            (self.same, "files existed already with the same content"),
            (self.executable, "new files can be executed in the archive and not here, since WASI cannot set modes"),
        ];
        let reported = reasons.iter().filter(|(count, _)| *count > 0);
        reported.map(|(count, what)| format!("{count} {what}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use paddock_archive::zip::fixture::{Forged, archive, file, stored};
    use paddock_types::request::Request;
    use paddock_types::response::{ChangeKind, Response};
    use paddock_vfs::Filesystem;

    use super::*;
    use crate::fixture::Fixture;

    fn directory(name: &str) -> Forged {
        Forged { mode: 0o040_755, ..stored(name, b"") }
    }

    /// Unpacks these entries, and removes the archive from the workspace.
    fn unpack(fixture: &Fixture, entries: &[Forged], destination: &str, overwrite: bool) -> Result<response::Unpack> {
        let (dir, _) = fixture.enter("in.zip");
        fixture.put("in.zip", &archive(entries));
        let (source, destination) = ("in.zip".to_owned(), destination.to_owned());
        let result = fixture.run(Request::Unpack(request::Unpack { source, destination, overwrite }));
        fixture.memory.unlink(&dir, "in.zip").unwrap();
        result.map(|(response, _)| match response {
            Response::Unpack(unpack) => unpack,
            other => panic!("{other:?}"),
        })
    }

    /// Checks that the archive is refused with this error and that nothing changes.
    #[track_caller]
    fn check_refused(fixture: &Fixture, entries: &[Forged], overwrite: bool, code: Code, cause: &str) {
        let before = fixture.tree();
        let error = unpack(fixture, entries, "out", overwrite).unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.message().contains(cause), "{error}");
        assert_eq!(fixture.tree(), before);
    }

    #[test]
    fn an_unpacked_tree_can_be_undone() {
        let fixture = Fixture::new(&[("out/kept", b"kept"), ("out/old", b"old"), ("out/same", b"same")]);
        let entries = [
            directory("new/"),
            directory("new/empty/"),
            file("new/in/deep", b"deep"),
            file("old", b"new"),
            file("same", b"same"),
            Forged { mode: 0o100_755, ..stored("run", b"#!") },
        ];
        let before = fixture.tree();
        let result = unpack(&fixture, &entries, "out", true).unwrap();
        assert_eq!((result.destination.as_str(), result.entries, result.files, result.bytes), ("out", 6, 4, 13));
        assert!(result.notes.iter().any(|note| note.starts_with("1 files existed already")), "{:?}", result.notes);
        assert!(result.notes.iter().any(|note| note.starts_with("1 new files can be executed")), "{:?}", result.notes);
        let expected = [
            "out/",
            "out/kept: kept",
            "out/new/",
            "out/new/empty/",
            "out/new/in/",
            "out/new/in/deep: deep",
            "out/old: new",
            "out/run: #!",
            "out/same: same",
        ];
        assert_eq!(fixture.tree(), expected);
        fixture.restore(result.backup);
        assert_eq!(fixture.tree(), before);
    }

    #[test]
    fn a_created_destination_can_be_undone() {
        let fixture = Fixture::new(&[]);
        for (entries, there) in [
            (vec![], vec!["a/", "a/b/"]),
            (vec![directory("./")], vec!["a/", "a/b/"]),
            (vec![directory("c/")], vec!["a/", "a/b/", "a/b/c/"]),
            (vec![stored("c/d", b"1")], vec!["a/", "a/b/", "a/b/c/", "a/b/c/d: 1"]),
        ] {
            let result = unpack(&fixture, &entries, "a/b", false).unwrap();
            assert_eq!(fixture.tree(), there);
            fixture.restore(result.backup);
            assert!(fixture.tree().is_empty(), "{:?}", fixture.tree());
        }
        let top = unpack(&fixture, &[stored("x", b"1")], ".", false).unwrap();
        assert_eq!((fixture.tree(), top.destination.as_str()), (vec!["x: 1".to_owned()], "."));
        assert_eq!(unpack(&fixture, &[stored("x", b"1")], ".", true).unwrap().backup, None);
    }

    #[test]
    fn changes_are_reported() {
        let fixture = Fixture::new(&[("out/old", b"old")]);
        fixture.put("a.zip", &archive(&[directory("d/"), file("d/new", b"1"), file("old", b"22")]));
        let request = request::Unpack { source: "a.zip".to_owned(), destination: "out".to_owned(), overwrite: true };
        let (_, changes) = fixture.run(Request::Unpack(request)).unwrap();
        let reported: Vec<_> = changes.iter().map(|change| (change.kind, change.path.as_str(), change.size)).collect();
        let expected = [
            (ChangeKind::Created, "out/d", None),
            (ChangeKind::Created, "out/d/new", Some(1)),
            (ChangeKind::Modified, "out/old", Some(2)),
        ];
        assert_eq!(reported, expected);
    }

    #[test]
    fn existing_files_stay_without_overwrite() {
        let fixture = Fixture::new(&[("out/a", b"mine"), ("out/d/x", b"x")]);
        check_refused(&fixture, &[file("new", b"1"), file("a", b"2")], false, Code::AlreadyExists, "`out/a`");
        check_refused(&fixture, &[file("d", b"2")], true, Code::NotAFile, "`out/d`: a directory is there");
        check_refused(&fixture, &[directory("a/")], true, Code::NotADirectory, "`out/a`");
        check_refused(&fixture, &[file("new", b""), file("a/b", b"2")], true, Code::NotADirectory, "`out/a/b`");
        let error = unpack(&fixture, &[], "out/a", true).unwrap_err();
        assert_eq!(error.code, Code::NotADirectory);
        unpack(&fixture, &[directory("d/"), file("d/y", b"y")], "out", false).unwrap();
        assert!(fixture.tree().contains(&"out/d/y: y".to_owned()));
    }

    #[test]
    fn nothing_leads_out_and_nothing_protected_or_ignored_is_written() {
        let fixture = Fixture::new(&[
            (".agentignore", b".env\n/out/secrets/\n"),
            ("out/up -> ../..", b""),
            ("out/abs -> /etc", b""),
            ("out/loop -> loop", b""),
            ("out/git/", b""),
        ]);
        let ok = file("fine", b"1");
        for (name, code) in [
            ("up/x", Code::OutsideWorkspace),
            ("abs/passwd", Code::OutsideWorkspace),
            ("loop/x", Code::InvalidPath),
            (".git/hooks/pre-commit", Code::ReadOnly),
            ("git/.GIT./config", Code::ReadOnly),
            ("new/.vscode/tasks.json", Code::ReadOnly),
            (".agentignore", Code::ReadOnly),
            ("new/.agentignore", Code::ReadOnly),
            (".env", Code::Denied),
            ("new/.ENV", Code::Denied),
            ("new/.env/x", Code::Denied),
            ("secrets/key", Code::Denied),
        ] {
            check_refused(&fixture, &[ok.clone(), file(name, b"1")], true, code, name);
        }
        check_refused(&fixture, &[ok.clone(), directory(".git/")], true, Code::ReadOnly, ".git");
        check_refused(&fixture, &[ok, stored("../x", b"")], true, Code::OutsideWorkspace, "entry `../x`");
        assert_eq!(unpack(&fixture, &[], ".git/new", false).unwrap_err().code, Code::ReadOnly);
        assert_eq!(unpack(&fixture, &[], "../out", false).unwrap_err().code, Code::OutsideWorkspace);
        let mut read_only = Fixture::new(&[]);
        read_only.policy.read_only = true;
        assert_eq!(unpack(&read_only, &[], "x", false).unwrap_err().code, Code::ReadOnly);
    }

    #[test]
    fn links_inside_are_followed_once() {
        let fixture = Fixture::new(&[("real/a", b"old"), ("out/in -> ../real", b""), ("out/one -> ../real/a", b"")]);
        let result = unpack(&fixture, &[file("in/b", b"1"), file("one", b"2")], "out", true).unwrap();
        assert!(fixture.tree().contains(&"real/a: 2".to_owned()) && fixture.tree().contains(&"real/b: 1".to_owned()));
        fixture.restore(result.backup);
        check_refused(
            &fixture,
            &[file("in/a", b"1"), file("one", b"2")],
            true,
            Code::InvalidArgument,
            "may lead to `real/a`",
        );
        check_refused(&fixture, &[file("in/a", b"1"), file("one", b"old")], true, Code::InvalidArgument, "may lead to");
    }

    #[test]
    fn hard_links_that_are_written_through_are_one_file() {
        let mut fixture = Fixture::new(&[("out/a", b"old")]);
        let (dir, _) = fixture.enter("out/");
        fixture.memory.link(&dir, "a", &dir, "b").unwrap();
        let entries = [file("a", b"1"), file("b", b"2")];
        fixture.policy.hard_links = HardLinks::Keep;
        check_refused(&fixture, &entries, true, Code::InvalidArgument, "another entry of the archive may lead to");
        fixture.policy.hard_links = HardLinks::Break;
        unpack(&fixture, &entries, "out", true).unwrap();
        assert_eq!(fixture.tree(), ["out/", "out/a: 1", "out/b: 2"]);
    }

    #[test]
    fn limits_apply_to_the_inflated_content() {
        let mut fixture = Fixture::new(&[("out/", b"")]);
        let part = vec![b'x'; 9 << 20];
        let eight: Vec<_> = (0..8).map(|n| file(&format!("{n}"), &part)).collect();
        check_refused(&fixture, &eight, false, Code::LimitExceeded, "more than 67108864 bytes together");
        // Replaced content counts toward the limit too.
        let four = &eight[..4];
        unpack(&fixture, four, "out", false).unwrap();
        let other: Vec<_> = (0..4).map(|n| file(&format!("{n}"), &vec![b'y'; 9 << 20])).collect();
        check_refused(&fixture, &other, true, Code::LimitExceeded, "and those that they replace");
        fixture.policy.limits.max_file_bytes = 100;
        check_refused(&fixture, &[file("x", &[0; 101])], false, Code::TooLarge, "");
        check_refused(&fixture, &[stored("x", &[1; 80])], false, Code::TooLarge, "`in.zip`");
        fixture.policy.limits.max_file_bytes = 1 << 20;
        fixture.policy.limits.max_files = 2;
        check_refused(&fixture, &[directory("a/"), file("b/c", b"")], false, Code::LimitExceeded, "more than 2 files");
        fixture.policy.limits.max_depth = 3;
        assert_eq!(unpack(&fixture, &[file("a", b"")], "x/y/z/", false).unwrap_err().code, Code::InvalidPath);
        assert_eq!(unpack(&fixture, &[], "x/y/z/w", false).unwrap_err().code, Code::InvalidPath);
        assert!(unpack(&fixture, &[file("a", b"")], "x/y", false).is_ok());
    }

    #[test]
    fn files_that_are_not_archives_are_refused() {
        let fixture = Fixture::new(&[("text", b"PK is not enough"), ("d/", b"")]);
        let code = |source: &str| {
            let (source, destination) = (source.to_owned(), "out".to_owned());
            fixture.run(Request::Unpack(request::Unpack { source, destination, overwrite: false })).unwrap_err().code
        };
        assert_eq!([code("text"), code("d"), code("none")], [Code::InvalidArgument, Code::NotAFile, Code::NotFound]);
        assert_eq!(fixture.tree(), ["d/", "text: PK is not enough"]);
    }
}
