//! Changes below a directory since a token. The state at the time of the token is stored in the state directory as a
//! snapshot and compared with the current content. A file with unchanged size and times is not read again if its times
//! are old enough to be reliable.

use std::collections::{HashMap, HashSet};

use paddock_search::hidden::Hidden;
use paddock_search::{cursor, page};
use paddock_types::digest::etag;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::response::{Response, Skipped};
use paddock_types::{phrase, request, response};
use paddock_vfs::open_location::OpenLocation;
use paddock_vfs::{Dir, Fault, Filesystem, FsResult, Stat};
use paddock_workspace::change_token::{Entry, Snapshot};
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;
use paddock_workspace::walk::{Options, Walk};
use paddock_workspace::{Workspace, change_token, walk};

use crate::operation::{ChangingOperation, Operation};
use crate::recorder::Recorder;

const OPERATION: &str = "look for changes in";
/// Number of entries between two checks of the deadline.
const ENTRIES_PER_CLOCK: usize = 64;

impl Operation for request::Changes {
    fn name(&self) -> &'static str {
        "changes"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        None
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Changes)
    }

    fn record(&self, _: &Response, recorder: &mut Recorder<'_>) {
        recorder.add(&self.path);
    }
}

/// Returns the changes since a token, with a new token.
pub fn run(workspace: &Workspace<'_>, args: &request::Changes) -> Result<response::Changes> {
    if args.limit == 0 {
        return Err(Error::argument(Term::Limit, "it has to be at least 1"));
    }
    if workspace.state.is_none() {
        return Err(Error::new(
            Code::Io,
            "cannot look for changes: the host keeps no state directory for this workspace",
        )
        .hint("the person who runs this has to give it one; until then read files again to see what changed"));
    }
    let (resolved, dir) = workspace.directory_to_search(&args.path, OPERATION)?;
    let searched = request::Changes { path: resolved.path.clone(), ..args.clone() };
    let fingerprint = cursor::fingerprint(&searched);
    let before = args.since.as_deref().map(|token| change_token::open(workspace, token, &fingerprint)).transpose()?;
    let mut comparison = Comparison::new(workspace, before.as_ref());
    let skipped = comparison.all(args, &resolved, &dir)?;
    let (taken, entries) = (comparison.taken, comparison.entries);
    let mut result = response::Changes {
        token: String::new(),
        created: Vec::new(),
        modified: Vec::new(),
        deleted: Vec::new(),
        total: 0,
        watched: entries.len() as u64,
        skipped,
        truncated: false,
    };
    let (created, modified) = (comparison.created, comparison.modified);
    let deleted = before.as_ref().map(|before| gone(workspace, before, &entries)).transpose()?;
    let lists = [
        (created, &mut result.created),
        (modified, &mut result.modified),
        (deleted.unwrap_or_default(), &mut result.deleted),
    ];
    let mut remaining = page::size(args.limit);
    for (paths, list) in lists {
        result.total += paths.len() as u64;
        result.truncated |= paths.len() > remaining;
        list.extend(paths.into_iter().take(remaining));
        remaining = remaining.saturating_sub(list.len());
    }
    result.token = change_token::keep(workspace, &Snapshot { fingerprint, taken, entries })?;
    Ok(result)
}

/// A scan of everything below a directory.
struct Comparison<'w> {
    workspace: &'w Workspace<'w>,
    /// Start time of this scan, in seconds.
    taken: u64,
    /// Start time of the scan that produced `before`, in seconds.
    taken_before: u64,
    before: HashMap<&'w str, &'w Entry>,
    is_first: bool,
    entries: Vec<Entry>,
    created: Vec<String>,
    modified: Vec<String>,
}

impl<'w> Comparison<'w> {
    fn new(workspace: &'w Workspace<'w>, before: Option<&'w Snapshot>) -> Self {
        let entries = before.map(|before| before.entries.as_slice()).unwrap_or_default();
        Self {
            workspace,
            taken: workspace.fs.now().seconds,
            taken_before: before.map_or(0, |before| before.taken),
            before: entries.iter().map(|entry| (entry.path.as_str(), entry)).collect(),
            is_first: before.is_none(),
            entries: Vec::new(),
            created: Vec::new(),
            modified: Vec::new(),
        }
    }

    fn all(&mut self, args: &request::Changes, resolved: &ResolvedPath, dir: &Dir) -> Result<Skipped> {
        let options = Options {
            hidden: Hidden::from_flag(args.include_hidden),
            include_ignored: args.include_ignored,
            ..Options::default()
        };
        let mut walk = Walk::new(self.workspace, resolved, dir, options, OPERATION)?;
        let mut failed = Skipped::default();
        while let Some(entry) = walk.next_entry() {
            match self.one(&entry) {
                Ok(()) | Err(Fault::NotFound) => {}
                Err(_) => failed.unreadable += 1,
            }
            if self.entries.len().is_multiple_of(ENTRIES_PER_CLOCK) && self.workspace.out_of_time() {
                walk.stopped = true;
                break;
            }
        }
        if walk.stopped {
            return Err(Error::at(
                Code::LimitExceeded,
                OPERATION,
                &resolved.requested_path,
                "there are more entries than one call can examine",
            )
            .hint(phrase!["give a directory with less in it as ", Term::Path]));
        }
        failed.add(&walk.skipped);
        Ok(failed)
    }

    fn one(&mut self, entry: &walk::Entry<'_>) -> FsResult<()> {
        let fs = self.workspace.fs;
        if !matches!(entry.kind, Kind::File | Kind::Link) {
            return Ok(());
        }
        let stat = fs.stat(entry.dir, entry.name)?;
        let mut now = Entry::of(entry.path, &stat);
        let before = self.before.get(entry.path).copied();
        let is_same = before.is_some_and(|before| before.is_like(&now) && before.is_settled(self.taken_before));
        now.etag = match before.filter(|_| is_same) {
            Some(before) if before.etag.is_some() => before.etag.clone(),
            _ => self.etag(entry, &stat)?,
        };
        match before {
            None if !self.is_first => self.created.push(now.path.clone()),
            Some(before) if !is_same && before.differs(&now) => self.modified.push(now.path.clone()),
            _ => {}
        }
        self.entries.push(now);
        Ok(())
    }

    /// Returns the etag of the content; `None` if the file is too large to read whole or too little time is left.
    fn etag(&self, entry: &walk::Entry<'_>, stat: &Stat) -> FsResult<Option<String>> {
        let limits = &self.workspace.policy.limits;
        match stat.kind {
            Kind::Link => Ok(link_etag(self.workspace.fs, entry)),
            _ if stat.size > limits.max_file_bytes => Ok(None),
            // The first scan of a large tree takes longest; its last entries are identified by size and times only.
            _ if self.is_first && self.workspace.time_left_ms() < limits.max_time_ms / 3 => Ok(None),
            _ => {
                let location = OpenLocation { dir: entry.dir.clone(), name: entry.name.to_owned() };
                let digest = location.digest(self.workspace.fs)?;
                Ok(digest.map(|digest| paddock_types::digest::etag_of(&digest)))
            }
        }
    }
}

fn link_etag(fs: &dyn Filesystem, entry: &walk::Entry<'_>) -> Option<String> {
    fs.read_link(entry.dir, entry.name).ok().map(|target| etag(target.as_bytes()))
}

/// Returns the paths that no longer exist. A path that this scan left out, because of a new rule or missing
/// permissions, is not reported as deleted.
fn gone(workspace: &Workspace<'_>, before: &Snapshot, now: &[Entry]) -> Result<Vec<String>> {
    let there: HashSet<_> = now.iter().map(|entry| entry.path.as_str()).collect();
    let mut gone = Vec::new();
    for (index, entry) in before.entries.iter().filter(|entry| !there.contains(entry.path.as_str())).enumerate() {
        if index.is_multiple_of(ENTRIES_PER_CLOCK) && workspace.out_of_time() {
            return Err(Error::new(
                Code::LimitExceeded,
                "cannot look for changes: there are more than one call can report",
            )
            .hint(phrase!["call without ", Term::Since, " for a new token, and list the files again"]));
        }
        match workspace.resolve_with(&entry.path, OPERATION, FollowSymlinks::No) {
            Ok(resolved) if resolved.stat.is_some_and(|stat| matches!(stat.kind, Kind::File | Kind::Link)) => {}
            Err(error) if matches!(error.code, Code::Denied | Code::PermissionDenied | Code::Io) => {}
            _ => gone.push(entry.path.clone()),
        }
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use paddock_types::entry::Time;
    use paddock_types::policy::Policy;
    use paddock_types::request::Changes;
    use paddock_vfs::Open;
    use paddock_vfs::memory::MemoryFs;

    use super::*;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(1_000) };
    }

    fn fixture(files: &[(&str, &str)]) -> MemoryFs {
        NOW.set(1_000);
        let now = || Time { seconds: NOW.get(), nanoseconds: 0 };
        let fs = MemoryFs::new(&["/workspace", "/paddock-state"], now, 1);
        files.iter().for_each(|(path, content)| put(&fs, path, content));
        fs
    }

    fn enter<'p>(fs: &MemoryFs, preopen: usize, path: &'p str) -> (Dir, &'p str) {
        let mut dir = fs.preopens().remove(preopen).dir;
        let mut names: Vec<_> = path.split('/').collect();
        let name = names.pop().unwrap();
        for above in names {
            let _ = fs.make_dir(&dir, above);
            dir = fs.open_dir(&dir, above).unwrap();
        }
        (dir, name)
    }

    /// Writes a file, in place if it exists.
    fn put(fs: &MemoryFs, path: &str, content: &str) {
        let (dir, name) = enter(fs, 0, path);
        let file =
            fs.open_file(&dir, name, Open::Write).or_else(|_| fs.open_file(&dir, name, Open::CreateNew)).unwrap();
        fs.write(&file, 0, content.as_bytes()).unwrap();
        fs.set_size(&file, content.len() as u64).unwrap();
    }

    fn remove(fs: &MemoryFs, path: &str) {
        let (dir, name) = enter(fs, 0, path);
        fs.unlink(&dir, name).unwrap();
    }

    fn call(fs: &MemoryFs, args: &Changes) -> Result<response::Changes> {
        let policy = Policy::default();
        run(&Workspace::open(fs, &policy).unwrap(), args)
    }

    #[track_caller]
    fn since(fs: &MemoryFs, token: &str) -> response::Changes {
        call(fs, &Changes::of(Some(token.to_owned()))).unwrap()
    }

    #[track_caller]
    fn token(fs: &MemoryFs) -> String {
        let first = call(fs, &Changes::of(None)).unwrap();
        assert_eq!((first.total, first.created.len()), (0, 0));
        first.token
    }

    /// Returns the changes as `A path`, `M path` and `D path`.
    fn reported(changes: &response::Changes) -> Vec<String> {
        let lists = [('A', &changes.created), ('M', &changes.modified), ('D', &changes.deleted)];
        lists.iter().flat_map(|(letter, paths)| paths.iter().map(move |path| format!("{letter} {path}"))).collect()
    }

    #[test]
    fn created_modified_and_deleted() {
        let fs = fixture(&[("a", "1"), ("b", "2"), ("d/c", "3"), ("d/e", "4")]);
        NOW.set(2_000);
        let first = token(&fs);
        assert_eq!(reported(&since(&fs, &first)), [""; 0]);
        put(&fs, "n/new", "5");
        put(&fs, "a", "one");
        remove(&fs, "d/c");
        let second = since(&fs, &first);
        assert_eq!(reported(&second), ["A n/new", "M a", "D d/c"]);
        assert_eq!((second.total, second.watched, second.truncated), (3, 4, false));
        // The new token stands for the current state; the old token still stands for the earlier state.
        assert_eq!(reported(&since(&fs, &second.token)), [""; 0]);
        assert_eq!(reported(&since(&fs, &first)), ["A n/new", "M a", "D d/c"]);
        put(&fs, "n/new", "6");
        assert_eq!(reported(&since(&fs, &second.token)), ["M n/new"]);
    }

    #[test]
    fn content_decides_and_not_the_time() {
        let fs = fixture(&[("a", "1"), ("b", "2")]);
        NOW.set(2_000);
        let first = token(&fs);
        put(&fs, "a", "1");
        put(&fs, "b", "3");
        assert_eq!(reported(&since(&fs, &first)), ["M b"]);
    }

    /// Two changes within the granularity of file times cannot be told apart by time.
    #[test]
    fn a_change_under_the_same_time_is_seen() {
        let fs = fixture(&[("a", "1")]);
        let first = token(&fs);
        put(&fs, "a", "2");
        assert_eq!(reported(&since(&fs, &first)), ["M a"]);
    }

    #[test]
    fn a_settled_file_is_not_read_again() {
        let fs = fixture(&[("a", "1"), ("b", "1")]);
        NOW.set(2_000);
        let (policy, first) = (Policy::default(), token(&fs));
        NOW.set(3_000);
        put(&fs, "b", "2");
        let workspace = Workspace::open(&fs, &policy).unwrap();
        let (resolved, dir) = workspace.resolve_dir(".", OPERATION).unwrap();
        let fingerprint = cursor::fingerprint(&Changes::of(None));
        let mut before = change_token::open(&workspace, &first, &fingerprint).unwrap();
        // The made-up etag is carried over if the file counts as unchanged.
        before.entries.iter_mut().for_each(|entry| entry.etag = Some("0123456789abcdef".to_owned()));
        let mut comparison = Comparison::new(&workspace, Some(&before));
        comparison.all(&Changes::of(None), &resolved, &dir).unwrap();
        let etags: Vec<_> = comparison.entries.iter().map(|entry| entry.etag.clone().unwrap()).collect();
        assert_eq!(etags, ["0123456789abcdef".to_owned(), etag(b"2")]);
    }

    #[test]
    fn links_and_directories() {
        let fs = fixture(&[("a", "1"), ("b", "1")]);
        let (top, _) = enter(&fs, 0, "x");
        fs.symlink(&top, "link", "a").unwrap();
        let first = token(&fs);
        fs.unlink(&top, "link").unwrap();
        fs.symlink(&top, "link", "b").unwrap();
        remove(&fs, "a");
        put(&fs, "a/inside", "1");
        fs.make_dir(&top, "empty").unwrap();
        assert_eq!(reported(&since(&fs, &first)), ["A a/inside", "M link", "D a"]);
    }

    /// A file that a new rule hides is not reported as deleted, and no hidden path is revealed.
    #[test]
    fn a_newly_hidden_file_is_not_reported_as_deleted() {
        let fs = fixture(&[("a", "1"), ("key", "2"), ("log", "3"), (".hidden", "4"), ("b", "5")]);
        let first = token(&fs);
        put(&fs, ".agentignore", "key\n");
        put(&fs, ".gitignore", "log\n");
        remove(&fs, "b");
        remove(&fs, ".hidden");
        let second = since(&fs, &first);
        assert_eq!(reported(&second), ["D b"]);
        assert_eq!((second.skipped.denied, second.skipped.ignored), (1, 1));
        remove(&fs, "key");
        assert_eq!(reported(&since(&fs, &first)), ["D b"]);
    }

    #[test]
    fn a_limit_cuts_the_lists_and_not_the_count() {
        let fs = fixture(&[("z", "1")]);
        let first = token(&fs);
        ["a", "b", "c"].iter().for_each(|name| put(&fs, name, "1"));
        remove(&fs, "z");
        let cut = call(&fs, &Changes { limit: 2, ..Changes::of(Some(first)) }).unwrap();
        assert_eq!((reported(&cut), cut.total, cut.truncated), (vec!["A a".to_owned(), "A b".to_owned()], 4, true));
    }

    #[test]
    fn a_token_that_is_none() {
        let fs = fixture(&[("a", "1"), ("d/b", "1")]);
        let first = token(&fs);
        let refused = |args: &Changes| {
            let error = call(&fs, args).unwrap_err();
            assert!(
                error.hint_text().unwrap().contains("without `since`") || error.message().contains("other arguments")
            );
            error.code
        };
        for forged in ["", "x", "../../workspace/a", "0000000001000-../../../../../", "1-0123456789abcdef"] {
            assert_eq!(refused(&Changes::of(Some(forged.to_owned()))), Code::InvalidArgument, "{forged}");
        }
        assert_eq!(refused(&Changes::of(Some("0000000001000-0123456789abcdef".to_owned()))), Code::NotFound);
        let other = Changes { path: "d".to_owned(), ..Changes::of(Some(first.clone())) };
        assert_eq!(refused(&other), Code::InvalidArgument);
        // Modified content under the token's name must be rejected.
        let path = format!("changes/{first}");
        let (dir, name) = enter(&fs, 1, &path);
        let file = fs.open_file(&dir, name, Open::Write).unwrap();
        fs.write(&file, 0, b"[").unwrap();
        assert_eq!(refused(&Changes::of(Some(first))), Code::NotFound);
    }

    #[test]
    fn the_oldest_tokens_go() {
        let fs = fixture(&[("a", "1")]);
        let tokens: Vec<_> = (0..40)
            .map(|step| {
                NOW.set(1_000 + step);
                token(&fs)
            })
            .collect();
        let is_retained = |token: &String| call(&fs, &Changes::of(Some(token.clone()))).is_ok();
        assert!(is_retained(&tokens[39]));
        assert!(!is_retained(&tokens[0]) && !is_retained(&tokens[7]));
        assert_eq!(fs.list(&enter(&fs, 1, "changes/x").0).unwrap().entries.len(), 32);
    }

    #[test]
    fn without_a_state_directory_there_is_no_snapshot() {
        let fs = MemoryFs::new(&["/workspace"], || Time { seconds: 1, nanoseconds: 0 }, 1);
        let error = call(&fs, &Changes::of(None)).unwrap_err();
        assert_eq!(error.code, Code::Io);
        assert!(error.message().contains("no state directory"));
    }
}
