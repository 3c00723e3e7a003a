//! Packs files and directories into a zip archive.

use std::collections::BTreeMap;

use paddock_archive::zip::MAX_TOTAL_BYTES;
use paddock_archive::zip::write::{Writer, can_hold};
use paddock_search::hidden::Hidden;
use paddock_types::entry::{Kind, Time};
use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::response::Response;
use paddock_types::{phrase, request, response};
use paddock_vfs::content::FileContent;
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::{Fault, Open, READ_SIZE};
use paddock_workspace::Workspace;
use paddock_workspace::change::commit::commit;
use paddock_workspace::change::file_change::FileChange;
use paddock_workspace::protected_paths::protected;
use paddock_workspace::resolved_path::ResolvedPath;
use paddock_workspace::walk::{Options, Walk};

use crate::operation::{ChangingOperation, Operation};
use crate::plan_draft::PlanDraft;
use crate::recorder::Recorder;

const OPERATION: &str = "pack";

impl Operation for request::Pack {
    fn name(&self) -> &'static str {
        "pack"
    }

    fn requested_paths(&self) -> Vec<String> {
        self.sources.iter().chain([&self.destination]).cloned().collect()
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        Some(self)
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Pack)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Pack(pack) = response else { return };
        self.requested_paths().iter().for_each(|path| recorder.add(path));
        recorder.measure(pack.size, None);
    }
}

impl ChangingOperation for request::Pack {
    fn can_delete(&self) -> bool {
        self.overwrite
    }

    fn plan(&self, draft: &mut PlanDraft<'_>) -> Result<bool> {
        let is_there = target(draft.workspace, self)?.stat.is_some();
        self.sources.iter().try_for_each(|source| draft.add_target("pack", source))?;
        let operation = if is_there { "replace by the archive" } else { "into the new archive" };
        draft.add_target(operation, &self.destination).map(|()| is_there)
    }
}

/// Packs files and directories into a zip archive.
pub fn run(workspace: &Workspace<'_>, args: &request::Pack) -> Result<response::Pack> {
    if args.sources.is_empty() {
        return Err(Error::argument(Term::Sources, "nothing is named").hint("give the files and directories to pack"));
    }
    let target = target(workspace, args)?;
    let mut plan = Plan::new(workspace, &target);
    args.sources.iter().try_for_each(|source| plan.source(source))?;
    if plan.items.is_empty() {
        return Err(Error::argument(Term::Sources, "they contain nothing to pack").hint("name other ones"));
    }
    let (archive, bytes) = plan.archive()?;
    let archive = FileContent::from(archive);
    let mut result = response::Pack {
        path: target.path.clone(),
        entries: plan.items.len() as u64,
        files: plan.items.values().filter(|item| item.file.is_some()).count() as u64,
        bytes,
        size: archive.size(),
        etag: archive.etag(),
        backup: None,
        notes: plan.notes(),
    };
    let old = target.stat.map(|_| workspace.read_whole(&target, OPERATION)).transpose()?;
    let old = old.map(|(bytes, _)| FileContent::from(bytes));
    if old.as_ref() != Some(&archive) {
        let change = FileChange { resolved: target.clone(), old, new: Some(archive), to: None };
        result.notes.extend(commit(workspace, OPERATION, vec![change])?);
        result.backup = workspace.backup();
    }
    Ok(result)
}

/// Resolves the path of the archive and checks that it may be written.
fn target(workspace: &Workspace<'_>, args: &request::Pack) -> Result<ResolvedPath> {
    let resolved = workspace.resolve(&args.destination, OPERATION)?;
    match resolved.stat {
        Some(stat) if stat.kind != Kind::File => return Err(resolved.not_a_file(OPERATION, stat.kind)),
        Some(_) if !args.overwrite => {
            return Err(Fault::Exists
                .at(OPERATION, &args.destination)
                .hint(phrase![Term::Overwrite, " replaces a file that is there"]));
        }
        None if resolved.requested_path.ends_with('/') || resolved.requested_path.ends_with("/.") => {
            return Err(Error::at(
                Code::NotAFile,
                OPERATION,
                &resolved.requested_path,
                "a path that ends in `/` names a directory",
            )
            .hint("name the archive itself"));
        }
        Some(_) | None => workspace.check_change(&resolved, OPERATION)?,
    }
    Ok(resolved)
}

/// Entries of the archive to write.
struct Plan<'w> {
    workspace: &'w Workspace<'w>,
    target: &'w ResolvedPath,
    /// Entries by name in the archive, in their order there; names of directories end in `/`.
    items: BTreeMap<String, Item>,
    /// Total size of the files in bytes, as reported by `stat`.
    total: u64,
    left_out: LeftOut,
}

/// A file or directory to pack.
struct Item {
    /// Rendered path.
    path: String,
    /// Location of the file; `None` for a directory.
    file: Option<OpenLocation>,
    /// Modification time. A directory takes the newest time of its files, so that packing again produces the same
    /// archive.
    modified: Option<Time>,
}

/// Numbers of entries that are not packed, by reason.
#[derive(Default)]
struct LeftOut {
    denied: u64,
    links: u64,
    special: u64,
    unnamed: u64,
    unsafe_names: u64,
    own: u64,
}

impl<'w> Plan<'w> {
    fn new(workspace: &'w Workspace<'w>, target: &'w ResolvedPath) -> Self {
        Self { workspace, target, items: BTreeMap::new(), total: 0, left_out: LeftOut::default() }
    }

    /// Adds a file or directory that the request names.
    fn source(&mut self, source: &str) -> Result<()> {
        let resolved = self.workspace.resolve(source, OPERATION)?;
        let stat = resolved.existing(self.workspace, OPERATION)?;
        match stat.kind {
            Kind::File if resolved.path == self.target.path => {
                let cause = "it is the archive that is to be written";
                Err(Error::at(Code::InvalidArgument, OPERATION, source, cause).hint("name another destination"))
            }
            Kind::File => self.file(resolved.path, OpenLocation { dir: resolved.dir, name: resolved.name }),
            Kind::Directory => self.directory(&resolved),
            Kind::Link | Kind::Other => Err(resolved.not_a_file(OPERATION, stat.kind)),
        }
    }

    /// Adds a directory with everything below it.
    fn directory(&mut self, resolved: &ResolvedPath) -> Result<()> {
        if resolved.path != "." {
            self.add(resolved.path.clone(), None, None)?;
        }
        let dir = resolved.open_dir(self.workspace, OPERATION)?;
        let options = Options { hidden: Hidden::Show, include_ignored: true, ..Options::default() };
        let mut walk = Walk::new(self.workspace, resolved, &dir, options, OPERATION)?;
        while let Some(entry) = walk.next_entry() {
            match entry.kind {
                Kind::Directory => drop(self.add(entry.path.to_owned(), None, None)?),
                Kind::File if entry.path == self.target.path => self.left_out.own += 1,
                Kind::File => {
                    let location = OpenLocation { dir: entry.dir.clone(), name: entry.name.to_owned() };
                    self.file(entry.path.to_owned(), location)?;
                }
                Kind::Link => self.left_out.links += 1,
                Kind::Other => self.left_out.special += 1,
            }
        }
        if walk.stopped {
            return Err(self.out_of_time(&resolved.requested_path));
        }
        if walk.skipped.unreadable > 0 {
            return Err(Error::at(
                Code::PermissionDenied,
                OPERATION,
                &resolved.requested_path,
                "a part of it cannot be read, or is too deep",
            )
            .hint("name its readable entries"));
        }
        self.left_out.denied += walk.skipped.denied;
        self.left_out.unnamed += walk.skipped.unnamed;
        Ok(())
    }

    fn file(&mut self, path: String, location: OpenLocation) -> Result<()> {
        let stat = self.workspace.fs.stat(&location.dir, &location.name).map_err(|fault| fault.at(OPERATION, &path))?;
        self.check_size(&path, stat.size)?;
        if self.add(path, Some(location), stat.modified)? {
            self.total = self.total.saturating_add(stat.size);
        }
        self.check_total(self.total)
    }

    /// Adds a file or directory. Returns false if it is already included or its name is unsafe.
    fn add(&mut self, path: String, file: Option<OpenLocation>, modified: Option<Time>) -> Result<bool> {
        let end = if file.is_some() { "" } else { "/" };
        let name = format!("{}{end}", path.trim_start_matches('/'));
        if !can_hold(&name) {
            self.left_out.unsafe_names += 1;
            return Ok(false);
        }
        match self.items.get(&name) {
            // The request names it twice, or names a directory that contains it.
            Some(there) if there.path == path => return Ok(false),
            Some(there) => {
                let (one, other) = (printable(&there.path), printable(&path));
                let cause = format!("`{one}` and `{other}` would have one name in the archive");
                return Err(Error::argument(Term::Sources, cause).hint("pack them into two archives"));
            }
            None if self.items.len() as u64 >= self.workspace.policy.limits.max_files => {
                let max = self.workspace.policy.limits.max_files;
                let cause = format!("there are more than {max} files and directories, the maximum for one call");
                return Err(Error::at(Code::LimitExceeded, OPERATION, &self.target.requested_path, cause)
                    .hint("pack them into several archives, one directory at a time"));
            }
            None => {}
        }
        for (slash, _) in name.match_indices('/') {
            if let Some(above) = name.get(..=slash).and_then(|above| self.items.get_mut(above)) {
                above.modified = above.modified.max(modified);
            }
        }
        self.items.insert(name, Item { path, file, modified });
        Ok(true)
    }

    /// Returns the archive, and the total size of its files in bytes.
    fn archive(&self) -> Result<(Vec<u8>, u64)> {
        let mut writer = Writer::new();
        let requested_path = &self.target.requested_path;
        let failed = |cause: rawzip::Error| Error::at(Code::Io, OPERATION, requested_path, cause.to_string());
        let mut total = 0;
        for (name, item) in &self.items {
            let Some(location) = &item.file else {
                writer.directory(name, item.modified).map_err(failed)?;
                continue;
            };
            if self.workspace.out_of_time() {
                return Err(self.out_of_time(requested_path));
            }
            let content = self.content(&item.path, location)?;
            total += content.len() as u64;
            self.check_total(total)?;
            writer.file(name, item.modified, &content).map_err(failed)?;
            self.check_archive(writer.size())?;
        }
        let archive = writer.finish().map_err(failed)?;
        self.check_archive(archive.len() as u64)?;
        Ok((archive, total))
    }

    /// Reads a file that a walk found, unless another kind of entry has replaced it.
    fn content(&self, path: &str, location: &OpenLocation) -> Result<Vec<u8>> {
        let fs = self.workspace.fs;
        let to_error = |fault: Fault| fault.at(OPERATION, path);
        let stat = fs.stat(&location.dir, &location.name).map_err(to_error)?;
        if stat.kind != Kind::File {
            return Err(to_error(Fault::NotRegular));
        }
        let file = fs.open_file(&location.dir, &location.name, Open::Read).map_err(to_error)?;
        let mut content = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0).min(READ_SIZE));
        while fs.read(&file, content.len() as u64, READ_SIZE, &mut content).map_err(to_error)? > 0 {
            self.check_size(path, content.len() as u64)?;
        }
        Ok(content)
    }

    fn check_size(&self, path: &str, size: u64) -> Result<()> {
        let limit = self.workspace.policy.limits.max_file_bytes;
        if size <= limit {
            return Ok(());
        }
        let cause = format!("it has {size} bytes, and files are packed up to {limit}");
        Err(Error::at(Code::TooLarge, OPERATION, path, cause).hint("name the other files, one directory at a time"))
    }
    fn check_total(&self, total: u64) -> Result<()> {
        if total <= MAX_TOTAL_BYTES {
            return Ok(());
        }
        let cause = format!("the files have more than {MAX_TOTAL_BYTES} bytes together");
        Err(Error::at(Code::LimitExceeded, OPERATION, &self.target.requested_path, cause)
            .hint("pack them into several archives"))
    }

    fn check_archive(&self, size: u64) -> Result<()> {
        let limit = self.workspace.policy.limits.max_file_bytes;
        if size <= limit {
            return Ok(());
        }
        let cause = format!("it would have more than {limit} bytes, the maximum for a whole file");
        Err(Error::at(Code::TooLarge, OPERATION, &self.target.requested_path, cause)
            .hint("pack them into several archives"))
    }

    fn out_of_time(&self, path: &str) -> Error {
        let cause = "it takes longer than the time limit of a call, or has too many entries";
        Error::at(Code::LimitExceeded, OPERATION, path, cause).hint("pack one directory at a time")
    }

    fn notes(&self) -> Vec<String> {
        let left_out = &self.left_out;
        let reasons = [
            (left_out.denied, "excluded by `.agentignore` or the policy"),
            (left_out.links, "symbolic links, which are not followed"),
            (left_out.special, "FIFOs, sockets or devices"),
            (left_out.unnamed, "with names that are not UTF-8"),
            (left_out.unsafe_names, "with names that would not be the same everywhere"),
            (left_out.own, "the archive itself"),
        ];
        let reported = reasons.iter().filter(|(count, _)| *count > 0);
        let mut notes: Vec<_> = reported.map(|(count, reason)| format!("left out: {count} {reason}")).collect();
        let load = self.items.keys().filter(|name| protected(name).is_some()).count();
        if load > 0 {
            notes.push(format!(
                "{load} entries have protected names, such as `.git`: with them, the archive cannot be unpacked here"
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use paddock_archive::zip::read::members;
    use paddock_types::digest::etag;
    use paddock_types::policy::{Limits, Policy};
    use paddock_types::request::Request;
    use paddock_types::response::Response;
    use paddock_vfs::Filesystem;

    use super::*;
    use crate::fixture::Fixture;

    fn pack(fixture: &Fixture, sources: &[&str], destination: &str, overwrite: bool) -> Result<response::Pack> {
        let sources = sources.iter().map(|source| (*source).to_owned()).collect();
        let request = request::Pack { sources, destination: destination.to_owned(), overwrite };
        fixture.run(Request::Pack(request)).map(|(response, _)| match response {
            Response::Pack(pack) => pack,
            other => panic!("{other:?}"),
        })
    }

    fn bytes(fixture: &Fixture, path: &str) -> Vec<u8> {
        let (dir, name) = fixture.enter(path);
        let file = fixture.memory.open_file(&dir, name, Open::Read).unwrap();
        let mut bytes = Vec::new();
        fixture.memory.read(&file, 0, usize::MAX, &mut bytes).unwrap();
        bytes
    }

    /// Returns the entries of an archive, one line each.
    fn contents(archive: &[u8]) -> Vec<String> {
        let members = members(archive, &Limits::default(), "a.zip").unwrap();
        let line = |member: &paddock_archive::zip::read::Member<'_>| match member.is_dir {
            true => format!("{}/", member.path),
            false => format!("{}: {}", member.path, String::from_utf8(member.content("a.zip").unwrap()).unwrap()),
        };
        members.iter().map(line).collect()
    }

    fn fixture() -> Fixture {
        Fixture::new(&[
            ("src/b.rs", b"b"),
            ("src/a.rs", b"a"),
            ("src/.hidden", b"h"),
            ("src/.gitignore", b"a.rs"),
            ("src/empty/", b""),
            ("src.txt", b"text"),
            ("link -> src", b""),
        ])
    }

    #[test]
    fn directories_with_all_that_is_in_them() {
        let fixture = fixture();
        let result = pack(&fixture, &["src.txt", "src"], "new/a.zip", false).unwrap();
        let archive = bytes(&fixture, "new/a.zip");
        let expected = [
            "src.txt: text",
            "src/",
            "src/.gitignore: a.rs",
            "src/.hidden: h",
            "src/a.rs: a",
            "src/b.rs: b",
            "src/empty/",
        ];
        assert_eq!(contents(&archive), expected);
        assert_eq!((result.path.as_str(), result.entries, result.files, result.bytes), ("new/a.zip", 7, 5, 11));
        assert_eq!((result.size, &result.etag), (archive.len() as u64, &etag(&archive)));
        assert!(result.notes.is_empty(), "{:?}", result.notes);
        fixture.restore(result.backup);
        assert_eq!(fixture.tree(), self::fixture().tree());
    }

    #[test]
    fn the_same_files_make_the_same_bytes() {
        let (one, two) = (fixture(), fixture());
        pack(&one, &["src", "src.txt"], "a.zip", false).unwrap();
        // The sources come in another order, some more than once, and through a symbolic link.
        pack(&two, &["src.txt", "./src/../src/a.rs", "src.txt", "link", "src/b.rs"], "src/new/a.zip", false).unwrap();
        let other = pack(&two, &["src.txt", "src"], "src/new/a.zip", true).unwrap();
        assert!(other.notes.contains(&"left out: 1 the archive itself".to_owned()), "{:?}", other.notes);
        let plain = |fixture: &Fixture, path| {
            contents(&bytes(fixture, path)).into_iter().filter(|line| line != "src/new/").collect::<Vec<_>>()
        };
        assert_eq!(plain(&one, "a.zip"), plain(&two, "src/new/a.zip"));
        let (dir, name) = two.enter("src/new/");
        assert!(name.is_empty());
        two.memory.unlink(&dir, "a.zip").unwrap();
        two.memory.remove_dir(&two.enter("src/").0, "new").unwrap();
        let again = pack(&two, &["src", "src.txt"], "a.zip", false).unwrap();
        assert_eq!(bytes(&one, "a.zip"), bytes(&two, "a.zip"));
        assert_eq!(pack(&two, &["src", "src.txt"], "a.zip", true).unwrap().backup, None);
        assert!(again.backup.is_some());
    }

    #[test]
    fn the_workspace_itself() {
        let fixture = fixture();
        let result = pack(&fixture, &["."], "a.zip", false).unwrap();
        assert_eq!(result.notes, ["left out: 1 symbolic links, which are not followed"]);
        assert_eq!(contents(&bytes(&fixture, "a.zip")).first().map(String::as_str), Some("src.txt: text"));
        let before = bytes(&fixture, "a.zip");
        pack(&fixture, &["."], "a.zip", true).unwrap();
        assert_eq!(bytes(&fixture, "a.zip"), before);
    }

    #[test]
    fn what_is_left_out_is_reported() {
        let fixture = Fixture::new(&[
            (".agentignore", b".env\nkeys/\n"),
            ("d/.env", b"secret"),
            ("d/keys/a", b"secret"),
            ("d/up -> ../..", b""),
            ("d/back\\slash", b"1"),
            ("d/.git/config", b"[core]"),
            ("d/x", b"x"),
        ]);
        let result = pack(&fixture, &["d"], "a.zip", false).unwrap();
        assert_eq!(contents(&bytes(&fixture, "a.zip")), ["d/", "d/.git/", "d/.git/config: [core]", "d/x: x"]);
        let expected = [
            "left out: 2 excluded by `.agentignore` or the policy",
            "left out: 1 symbolic links, which are not followed",
            "left out: 1 with names that would not be the same everywhere",
            "2 entries have protected names, such as `.git`: with them, the archive cannot be unpacked here",
        ];
        assert_eq!(result.notes, expected);
        for source in ["d/.env", "d/keys", "d/keys/a"] {
            assert_eq!(pack(&fixture, &[source], "b.zip", false).unwrap_err().code, Code::Denied);
        }
        assert_eq!(pack(&fixture, &["d/up"], "b.zip", false).unwrap_err().code, Code::OutsideWorkspace);
    }

    #[test]
    fn refusals_change_nothing() {
        let fixture = fixture();
        let before = fixture.tree();
        let code = |sources: &[&str], destination, overwrite| {
            pack(&fixture, sources, destination, overwrite).unwrap_err().code
        };
        assert_eq!(code(&[], "a.zip", false), Code::InvalidArgument);
        assert_eq!(code(&["none"], "a.zip", false), Code::NotFound);
        assert_eq!(code(&["../x"], "a.zip", false), Code::OutsideWorkspace);
        assert_eq!(code(&["src"], "../a.zip", false), Code::OutsideWorkspace);
        assert_eq!(code(&["src"], "src.txt", false), Code::AlreadyExists);
        assert_eq!(code(&["src", "src.txt"], "src.txt", true), Code::InvalidArgument);
        assert_eq!(code(&["src"], "src", true), Code::NotAFile);
        assert_eq!(code(&["src"], "new/", false), Code::NotAFile);
        assert_eq!(code(&["src"], ".git/a.zip", false), Code::ReadOnly);
        assert_eq!(fixture.tree(), before);
    }

    #[test]
    fn limits() {
        let mut fixture = fixture();
        let noise: Vec<u8> =
            (0u32..1 << 18).flat_map(|n| n.wrapping_mul(2_654_435_769).to_le_bytes().into_iter().rev()).collect();
        fixture.put("noise/1", &noise);
        fixture.put("noise/2", &noise.iter().map(|byte| byte ^ 0x5a).collect::<Vec<_>>());
        let before = fixture.tree();
        let refused = |fixture: &Fixture, source: &str| {
            let error = pack(fixture, &[source], "a.zip", false).unwrap_err();
            (error.code, error.path.unwrap())
        };
        fixture.policy.limits.max_file_bytes = noise.len() as u64 - 1;
        assert_eq!(refused(&fixture, "noise/1"), (Code::TooLarge, "noise/1".to_owned()));
        fixture.policy.limits.max_file_bytes = noise.len() as u64;
        assert_eq!(refused(&fixture, "noise"), (Code::TooLarge, "a.zip".to_owned()));
        fixture.policy.limits.max_files = 5;
        assert_eq!(refused(&fixture, "src"), (Code::LimitExceeded, "a.zip".to_owned()));
        assert_eq!(fixture.tree(), before);
    }

    #[test]
    fn all_files_together_have_a_bound() {
        let mut fixture = Fixture::new(&[]);
        let zeros = vec![0; 10 << 20];
        (0..7).for_each(|n| fixture.put(&format!("d/{n}"), &zeros));
        let error = pack(&fixture, &["d"], "a.zip", false).unwrap_err();
        assert_eq!(error.code, Code::LimitExceeded);
        assert!(error.message().contains("more than 67108864 bytes together"), "{error}");
        fixture.policy.limits.max_files = 7;
        assert!(pack(&fixture, &["d/1", "d/2", "d/3", "d/4", "d/5", "d/6", "d/1", "d/2"], "a.zip", false).is_ok());
    }

    #[test]
    fn two_roots_have_one_name_for_two_files() {
        use paddock_vfs::memory::MemoryFs;
        let clock = || Time { seconds: 1_700_000_000, nanoseconds: 0 };
        let fixture = Fixture { memory: MemoryFs::new(&["/workspace", "/notes"], clock, 7), policy: Policy::default() };
        fixture.put("notes/x", b"one");
        let notes = fixture.memory.preopens()[1].dir.clone();
        fixture.memory.write(&fixture.memory.open_file(&notes, "x", Open::CreateNew).unwrap(), 0, b"two").unwrap();
        let error = pack(&fixture, &["notes/x", "/notes/x"], "a.zip", false).unwrap_err();
        assert!(error.message().contains("`notes/x` and `/notes/x` would have one name"), "{error}");
        pack(&fixture, &["/notes"], "a.zip", false).unwrap();
        assert_eq!(contents(&bytes(&fixture, "a.zip")), ["notes/", "notes/x: two"]);
    }
}
