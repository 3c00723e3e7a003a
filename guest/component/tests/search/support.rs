use paddock_ops::index::with_listings_after;
use paddock_types::entry::Time;
use paddock_types::policy::Policy;
use paddock_types::request::{Glob, List, Request};
use paddock_types::response::Response;
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Dir, Fault, Filesystem, Open};
use paddock_workspace::Workspace;

pub fn memory() -> MemoryFs {
    MemoryFs::new(&["/workspace"], || Time { seconds: 1_700_000_000, nanoseconds: 0 }, 1)
}

pub fn tree(files: &[(&str, &str)]) -> MemoryFs {
    let fs = memory();
    for (path, text) in files {
        put(&fs, path, text.as_bytes());
    }
    fs
}

/// Opens the directory of `path`, created if missing, and returns it with the last name.
pub fn parent<'p>(fs: &MemoryFs, path: &'p str) -> (Dir, &'p str) {
    let mut dir = fs.preopens().remove(0).dir;
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    for part in above.split('/').filter(|part| !part.is_empty()) {
        match fs.make_dir(&dir, part) {
            Ok(()) | Err(Fault::Exists) => {}
            Err(fault) => panic!("{fault:?}"),
        }
        dir = fs.open_dir(&dir, part).unwrap();
    }
    (dir, name)
}

pub fn put(fs: &MemoryFs, path: &str, bytes: &[u8]) {
    let (dir, name) = parent(fs, path);
    let file = fs.open_file(&dir, name, Open::CreateNew).unwrap();
    fs.write(&file, 0, bytes).unwrap();
}

pub fn run(fs: &dyn Filesystem, request: Request) -> paddock_types::error::Result<Response> {
    run_with(fs, &Policy::default(), request)
}

pub fn run_with(fs: &dyn Filesystem, policy: &Policy, request: Request) -> paddock_types::error::Result<Response> {
    paddock_ops::run(&with_listings_after(Workspace::open(fs, policy).unwrap(), 0), &request)
}

pub fn glob(pattern: &str) -> Glob {
    Glob::of(pattern.to_owned())
}

pub fn list() -> List {
    List::of(".".to_owned())
}

pub fn search(pattern: &str) -> paddock_types::request::Grep {
    paddock_types::request::Grep::of(pattern.to_owned())
}

pub fn globbed(fs: &dyn Filesystem, args: Glob) -> paddock_types::response::Glob {
    match run(fs, Request::Glob(args)).unwrap() {
        Response::Glob(result) => result,
        other => panic!("{other:?}"),
    }
}

pub fn listed(fs: &dyn Filesystem, args: List) -> paddock_types::response::List {
    match run(fs, Request::List(args)).unwrap() {
        Response::List(result) => result,
        other => panic!("{other:?}"),
    }
}

pub fn searched(fs: &dyn Filesystem, args: paddock_types::request::Grep) -> paddock_types::response::Grep {
    match run(fs, Request::Grep(args)).unwrap() {
        Response::Grep(result) => result,
        other => panic!("{other:?}"),
    }
}

/// Pseudo-random numbers, the same on every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }

    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}
