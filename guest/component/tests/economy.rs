//! Numbers of file system calls of operations, which results do not show.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::{Cell, RefCell};

use paddock_guest::engine;
use paddock_ops::parallel::{coordinate, prepare_worker};
use paddock_types::entry::Time;
use paddock_types::error::Code;
use paddock_types::policy::Policy;
use paddock_types::request::{Glob, Grep, Request, Stat};
use paddock_types::response::Response;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Dir, Fault, File, Filesystem, FsResult, Listing, Open, Preopen};
use paddock_workspace::Workspace;
use serde_json::{Value, json};

/// Counts the bytes that are read and the directories that are listed, and records the names whose removal failed because they did not exist.
struct Counting {
    inner: MemoryFs,
    read: Cell<u64>,
    listed: Cell<u64>,
    /// Milliseconds that have passed besides those of the inner file system.
    passed: Cell<u64>,
    removed_in_vain: RefCell<Vec<String>>,
}

macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($arg: $type),*) -> $result {
            self.inner.$name($($arg),*)
        })*
    };
}

impl Filesystem for Counting {
    forward! {
        preopens() -> Vec<Preopen>;
        open_dir(dir: &Dir, name: &str) -> FsResult<Dir>;
        open_file(dir: &Dir, name: &str, mode: Open) -> FsResult<File>;
        stat(dir: &Dir, name: &str) -> FsResult<paddock_vfs::Stat>;
        stat_file(file: &File) -> FsResult<paddock_vfs::Stat>;
        stat_dir(dir: &Dir) -> FsResult<paddock_vfs::Stat>;
        is_same_dir(dir: &Dir, other: &Dir) -> FsResult<bool>;
        read_link(dir: &Dir, name: &str) -> FsResult<String>;
        write(file: &File, offset: u64, bytes: &[u8]) -> FsResult<()>;
        set_size(file: &File, size: u64) -> FsResult<()>;
        sync_file(file: &File) -> FsResult<()>;
        sync_dir(dir: &Dir) -> FsResult<()>;
        make_dir(dir: &Dir, name: &str) -> FsResult<()>;
        link(dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()>;
        symlink(dir: &Dir, name: &str, target: &str) -> FsResult<()>;
        rename(dir: &Dir, name: &str, to_dir: &Dir, to: &str) -> FsResult<()>;
        remove_dir(dir: &Dir, name: &str) -> FsResult<()>;
        random() -> u64;
        now() -> Time;
    }

    fn clock_ms(&self) -> u64 {
        self.inner.clock_ms() + self.passed.get()
    }

    fn read(&self, file: &File, offset: u64, max: usize, into: &mut Vec<u8>) -> FsResult<usize> {
        let read = self.inner.read(file, offset, max, into)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }

    fn list(&self, dir: &Dir) -> FsResult<Listing> {
        self.listed.set(self.listed.get() + 1);
        self.inner.list(dir)
    }

    fn unlink(&self, dir: &Dir, name: &str) -> FsResult<()> {
        self.inner.unlink(dir, name).inspect_err(|fault| {
            if *fault == Fault::NotFound {
                self.removed_in_vain.borrow_mut().push(name.to_owned());
            }
        })
    }
}

impl Counting {
    fn new() -> Self {
        let inner = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 7, nanoseconds: 0 }, 1);
        Self {
            inner,
            read: Cell::new(0),
            listed: Cell::new(0),
            passed: Cell::new(0),
            removed_in_vain: RefCell::default(),
        }
    }

    fn call(&self, dialect: &str, tool: &str, arguments: &Value) -> Value {
        let policy = Policy::parse(r#"{"host": {"carries_modes": true}}"#, "paddock").unwrap();
        let outcome = engine::call(self, &policy, dialect, tool, &arguments.to_string());
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        serde_json::from_str(&outcome.result).unwrap()
    }
}

#[test]
fn a_listing_reads_the_files_that_it_hashes_and_those_once() {
    let fs = Counting::new();
    let (files, size) = (120, 1_000);
    for number in 0..files {
        fs.call("paddock", "write_file", &json!({"path": format!("f{number:03}.txt"), "content": "x".repeat(size)}));
    }
    for (tool, arguments) in [("glob", json!({"pattern": "*.txt"})), ("ls", json!({}))] {
        fs.read.set(0);
        let value = fs.call("weakincentives", tool, &arguments)["value"].take();
        let entries = value.get("matches").unwrap_or(&value).as_array().unwrap().clone();
        let hashed = entries.iter().filter(|entry| entry["content_hash"].is_string()).count();
        assert_eq!((entries.len(), hashed), (files, 100), "{tool}");
        assert_eq!(fs.read.get(), (hashed * size) as u64, "{tool}");
    }
}

/// Creates directories below the top with this number of files in each.
fn with_files(directories: usize, files: usize) -> Counting {
    let fs = Counting::new();
    let top = fs.inner.preopens().into_iter().find(|preopen| preopen.guest_path == "/workspace").unwrap().dir;
    for directory in 0..directories {
        let name = format!("d{directory:02}");
        fs.inner.make_dir(&top, &name).unwrap();
        let dir = fs.inner.open_dir(&top, &name).unwrap();
        for number in 0..files {
            fs.inner.open_file(&dir, &format!("f{number:05}"), Open::CreateNew).unwrap();
        }
    }
    fs
}

/// Workers get ranges in any order, also ones before their last position.
#[test]
fn an_instance_of_a_search_lists_a_large_directory_once() {
    let (fs, policy) = (with_files(1, 12_000), Policy::parse("{}", "paddock").unwrap());
    let workspace = Workspace::open(&fs, &policy).unwrap();
    let request = Request::Grep(Grep { limit: 10_000, ..Grep::of("nothing".to_owned()) });
    fs.listed.set(0);
    let mut coordinator = coordinate(&workspace, &request).unwrap();
    let mut workers = [prepare_worker(&workspace, &request).unwrap(), prepare_worker(&workspace, &request).unwrap()];
    let mut partitions = 0;
    loop {
        let handed_out: Vec<_> = std::iter::from_fn(|| coordinator.next_partition()).collect();
        if handed_out.is_empty() {
            break;
        }
        partitions += handed_out.len();
        // Each worker gets its partitions in the reverse order of the walk.
        let searched = handed_out.iter().enumerate().rev().map(|(at, one)| workers[at % 2].search_partition(one));
        let results: Vec<_> = searched.collect();
        for result in results.into_iter().rev() {
            coordinator.join(Some(result));
        }
    }
    let Response::Grep(answer) = coordinator.finish() else { panic!("no text") };
    assert_eq!(answer.files_searched, 12_000);
    // Each of three instances lists the top and the directory, and a worker lists the directory again if it has searched its end.
    assert!(partitions >= 40 && fs.listed.get() <= 9, "{partitions}, {}", fs.listed.get());
}

#[test]
fn a_search_whose_time_is_up_lists_nothing_more() {
    let text = Request::Grep(Grep { limit: 10_000, ..Grep::of("nothing".to_owned()) });
    let names = Request::Glob(Glob { limit: 10_000, ..Glob::of("**/nothing".to_owned()) });
    for request in [text, names] {
        let (fs, policy) = (with_files(40, 300), Policy::parse("{}", "paddock").unwrap());
        let workspace = Workspace::open(&fs, &policy).unwrap();
        let mut coordinator = coordinate(&workspace, &request).unwrap();
        let mut worker = prepare_worker(&workspace, &request).unwrap();
        // The coordinator has listed the directory of the first partition.
        let first = coordinator.next_partition().unwrap();
        coordinator.next_partition().unwrap();
        assert!(!coordinator.join(Some(worker.search_partition(&first))));
        fs.listed.set(0);
        fs.passed.set(1_000_000);
        assert!(coordinator.join(None));
        let (cursor, searched) = match coordinator.finish() {
            Response::Grep(answer) => (answer.next_cursor, answer.files_searched),
            Response::Glob(answer) => (answer.next_cursor, 300),
            other => panic!("{other:?}"),
        };
        assert!(cursor.is_some() && searched == 300, "{cursor:?} {searched}");
        assert_eq!(fs.listed.get(), 0);
    }
}

#[test]
fn a_change_removes_only_names_that_exist() {
    let fs = Counting::new();
    fs.call("paddock", "write_file", &json!({"path": "a.txt", "content": "one\n"}));
    let edit = json!({"path": "a.txt", "edits": [{"old_text": "one", "new_text": "two"}]});
    fs.call("paddock", "edit_file", &edit);
    fs.call("paddock", "move", &json!({"source": "a.txt", "destination": "b.txt"}));
    fs.call("paddock", "delete", &json!({"path": "b.txt"}));
    assert_eq!(*fs.removed_in_vain.borrow(), Vec::<String>::new());
}

/// The hint of a missing path searches the workspace. No search is made for links that lead nowhere and for globs
/// without a match, whose answers have no such hint.
#[test]
fn an_answer_without_a_hint_searches_nothing() {
    let listings = |links: usize| {
        let fs = Counting::new();
        for number in 0..20 {
            fs.call("paddock", "make_dir", &json!({"path": format!("d{number}")}));
        }
        let top = fs.inner.preopens().into_iter().find(|preopen| preopen.guest_path == "/workspace").unwrap().dir;
        for number in 0..links {
            fs.inner.symlink(&top, &format!("l{number}"), &format!("gone{number}")).unwrap();
        }
        assert_eq!(fs.inner.list(&top).unwrap().entries.len(), 20 + links);
        fs.listed.set(0);
        let items = fs.call("dotnet-prompt", "list_directory", &json!({"directory_path": "."}))["items"].take();
        // The tool looks at the target of each link, and leaves out those that lead nowhere.
        assert_eq!(items.as_array().unwrap().len(), 20);
        let listed = fs.listed.take();
        fs.call("paddock", "glob", &json!({"pattern": "none.txt"}));
        (listed, fs.listed.get())
    };
    let (of_ls, of_glob) = listings(0);
    assert_eq!(listings(50), (of_ls, of_glob));
    // The walk of the glob itself lists the top and each directory.
    assert!(of_glob <= 24, "{of_glob}");
}

/// A subscription to a missing path determines its state each second, and shows no hint.
#[test]
fn the_state_of_a_missing_path_takes_no_search() {
    let fs = Counting::new();
    for number in 0..20 {
        fs.call("paddock", "make_dir", &json!({"path": format!("d{number}")}));
    }
    let policy = Policy::parse("{}", "paddock").unwrap();
    let listed = |hints: bool| {
        fs.listed.set(0);
        let stat = Stat { brief: true, hints, ..Stat::of("d3/gone.txt".to_owned()) };
        let error = engine::run(&fs, &policy, &Request::Stat(stat)).0.unwrap_err();
        assert_eq!((error.code, error.hint_text().is_some()), (Code::NotFound, hints));
        fs.listed.get()
    };
    assert_eq!(listed(false), 0);
    assert!(listed(true) > 20);
}
