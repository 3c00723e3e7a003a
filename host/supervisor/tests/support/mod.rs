//! Test support: runs commands through the supervisor, as a host does.

#![allow(dead_code, reason = "each test program needs a part")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};

use paddock_supervisor::protocol::{
    self, AccessQuestion, Before, Ended, FromSupervisor, HardLinks, Identity, Kind, Limits, ToSupervisor, Verdict,
};
use paddock_supervisor::wire;
use rustix::fs::{CWD, Mode, OFlags, openat};
use tempfile::TempDir;

/// Directories that the programs of a usual machine need.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/root/.pyenv", "/etc/ssl", "/etc/alternatives"];
const FILES: [&str; 8] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/localtime",
    "/etc/hosts",
    "/etc/resolv.conf",
];

/// Like [`protocol::Start`], with paths instead of descriptors.
#[derive(Clone)]
pub struct Start {
    pub argv: Vec<String>,
    pub cwd: String,
    pub env: Vec<(String, String)>,
    pub terminal: bool,
    pub roots: Vec<Root>,
    pub system: Vec<String>,
    pub files: Vec<String>,
    pub temporary: String,
    pub staging: String,
    pub programs: Option<Vec<String>>,
    /// Programs in `programs` that only load others.
    pub loaders: Vec<String>,
    pub closed: Vec<String>,
    pub pinned: Vec<String>,
    /// Directories, each with a reserved name in it.
    pub reserved: Vec<(String, String)>,
    pub network: bool,
    pub confine: bool,
    pub rules: bool,
    pub git_data: bool,
    pub hard_links: HardLinks,
    pub limits: Limits,
}

#[derive(Clone)]
pub struct Root {
    pub path: String,
    pub writable: bool,
}

impl Start {
    /// Opens the paths and returns the descriptors in the order of their indices. Missing system paths are left out.
    fn opened(&self) -> (protocol::Start, Vec<OwnedFd>) {
        let mut opened = Vec::new();
        let mut open = |path: &str| {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            opened.push(openat(CWD, path, flags, Mode::empty()).unwrap_or_else(|error| panic!("{path}: {error}")));
            opened.len() - 1
        };
        let there =
            |paths: &[String]| paths.iter().filter(|path| Path::new(path).exists()).cloned().collect::<Vec<_>>();
        let mut all = |paths: &[String]| there(paths).iter().map(|path| open(path)).collect::<Vec<_>>();
        let (system, files) = (all(&self.system), all(&self.files));
        let programs = self.programs.as_deref().map(&mut all);
        let root = |root: &Root| protocol::Root { directory: open(&root.path), writable: root.writable };
        let roots = self.roots.iter().map(root).collect();
        let start = protocol::Start {
            argv: self.argv.clone(),
            cwd: open(&self.cwd),
            env: self.env.clone(),
            terminal: self.terminal,
            roots,
            system,
            files,
            temporary: open(&self.temporary),
            staging: open(&self.staging),
            programs,
            loaders: self.loaders.iter().map(|path| identity(path)).collect(),
            closed: self.closed.iter().map(|path| identity(path)).collect(),
            pinned: self.pinned.iter().map(|path| identity(path)).collect(),
            reserved: self
                .reserved
                .iter()
                .map(|(directory, name)| protocol::Reserved { directory: identity(directory), name: name.clone() })
                .collect(),
            lock: None,
            network: self.network,
            confine: self.confine,
            rules: self.rules,
            git_data: self.git_data,
            hard_links: self.hard_links,
            limits: self.limits,
        };
        (start, opened)
    }
}

fn identity(path: &str) -> Identity {
    let about = fs::metadata(path).unwrap();
    Identity { device: about.dev(), inode: about.ino() }
}

/// Fixture: a root, a directory outside it, and the directories that a command needs.
pub struct Fixture {
    directory: TempDir,
    pub root: PathBuf,
    pub outside: PathBuf,
    pub temporary: PathBuf,
    pub staging: PathBuf,
}

impl Fixture {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let sub = |name: &str| {
            let path = path.join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let fixture = Self {
            root: sub("work"),
            outside: sub("outside"),
            temporary: sub("tmp"),
            staging: sub("staging"),
            directory,
        };
        fs::write(fixture.outside.join("file"), "secret of outside\n").unwrap();
        fs::create_dir(fixture.outside.join("empty")).unwrap();
        fs::create_dir(fixture.outside.join("directory")).unwrap();
        fs::write(fixture.outside.join("directory/file"), "secret below\n").unwrap();
        fixture
    }

    /// Returns a confined command in the root, without network and rules.
    pub fn command<S: AsRef<str>>(&self, argv: &[S]) -> Start {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let environment = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
            ("HOME", self.temporary.to_str().unwrap()),
            ("TMPDIR", self.temporary.to_str().unwrap()),
            ("LC_ALL", "C.UTF-8"),
        ];
        Start {
            argv: argv.iter().map(|it| it.as_ref().to_owned()).collect(),
            cwd: text(&self.root),
            env: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            terminal: false,
            roots: vec![Root { path: text(&self.root), writable: true }],
            system: SYSTEM.map(str::to_owned).to_vec(),
            files: FILES.map(str::to_owned).to_vec(),
            temporary: text(&self.temporary),
            staging: text(&self.staging),
            programs: None,
            loaders: Vec::new(),
            closed: Vec::new(),
            pinned: Vec::new(),
            reserved: Vec::new(),
            network: false,
            confine: true,
            rules: false,
            git_data: false,
            hard_links: HardLinks::Keep,
            limits: Limits::default(),
        }
    }

    pub fn shell(&self, script: &str) -> Start {
        self.command(&["sh", "-c", script])
    }

    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub fn outside(&self, name: &str) -> String {
        self.outside.join(name).to_str().unwrap().to_owned()
    }

    pub fn inside(&self, name: &str) -> String {
        self.root.join(name).to_str().unwrap().to_owned()
    }

    /// Returns the copy of a path's previous content, if there is one.
    pub fn staged_content(&self, before: &Before) -> Option<String> {
        before.staged_file.as_ref().map(|name| fs::read_to_string(self.staging.join(name)).unwrap())
    }

    /// Returns every path outside with its content, mode, owner, modification time, number of links and names of
    /// extended attributes.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        let mut entries = BTreeMap::new();
        snapshot(&self.outside, &mut entries);
        entries
    }
}

fn snapshot(path: &Path, entries: &mut BTreeMap<PathBuf, String>) {
    let is = path.symlink_metadata().unwrap();
    let mut text = format!("{:o} {}:{} {} {}", is.mode(), is.uid(), is.gid(), is.mtime(), is.mtime_nsec());
    let mut names = vec![0; 4096];
    let length = rustix::fs::llistxattr(path, &mut names).unwrap_or(0);
    text += &format!(" {} {}", is.nlink(), String::from_utf8_lossy(&names[..length]));
    if is.is_file() {
        text += &String::from_utf8_lossy(&fs::read(path).unwrap());
    }
    if is.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            snapshot(&entry.unwrap().path(), entries);
        }
    }
    entries.insert(path.to_owned(), text);
}

/// A running command.
pub struct Running {
    pub socket: UnixStream,
    pub supervisor: Child,
    /// Write end of the command's standard input.
    pub input: Option<File>,
    output: JoinHandle<Vec<u8>>,
    error: JoinHandle<Vec<u8>>,
    roots: Vec<Root>,
}

/// Messages and output of a command that has ended.
#[derive(Debug, Default)]
pub struct Outcome {
    pub confined: Option<String>,
    pub unsupported: Option<String>,
    pub failed: Option<(String, Option<i32>)>,
    pub ended: Ended,
    pub stdout: String,
    pub stderr: String,
    pub questions: Vec<AccessQuestion>,
}

impl Outcome {
    /// Panics unless the command exited with 0.
    pub fn succeeded(self) -> Self {
        assert_eq!(self.ended.exit_code, Some(0), "{self:#?}");
        self
    }

    /// Returns the reported previous state of a path.
    pub fn before(&self, path: impl AsRef<Path>) -> Option<&Before> {
        self.ended.before.iter().find(|it| Path::new(&it.path) == path.as_ref())
    }

    pub fn kind(&self, path: impl AsRef<Path>) -> Option<Kind> {
        self.before(path).map(|it| it.kind)
    }
}

pub fn run(start: Start) -> Outcome {
    run_with(start, |_| Verdict::default())
}

pub fn run_with(start: Start, authorize: impl FnMut(&AccessQuestion) -> Verdict) -> Outcome {
    begin(start).finish(authorize)
}

/// Starts a supervisor and returns the socket to it.
pub fn supervisor() -> (UnixStream, Child) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let supervisor = Command::new(env!("CARGO_BIN_EXE_paddock-supervisor"))
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .unwrap();
    (ours, supervisor)
}

/// Sends a command, with its descriptors.
pub fn send_start(socket: &UnixStream, start: &Start, streams: &[BorrowedFd<'_>]) {
    let (opened, descriptors) = start.opened();
    for some in descriptors.chunks(wire::MAX_DESCRIPTORS) {
        wire::send(socket, &ToSupervisor::Descriptors, &some.iter().map(AsFd::as_fd).collect::<Vec<_>>()).unwrap();
    }
    wire::send(socket, &ToSupervisor::Start(Box::new(opened)), streams).unwrap();
}

pub fn begin(start: Start) -> Running {
    let (socket, supervisor) = supervisor();
    let (input, input_end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let (output_end, output) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let (error_end, error) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let streams = [input.as_fd(), output.as_fd(), error.as_fd()];
    send_start(&socket, &start, &streams);
    let drain = |end: OwnedFd| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            File::from(end).read_to_end(&mut bytes).unwrap();
            bytes
        })
    };
    let (output, error) = (drain(output_end), drain(error_end));
    Running { socket, supervisor, input: Some(File::from(input_end)), output, error, roots: start.roots }
}

impl Running {
    pub fn say(&self, message: &ToSupervisor) {
        wire::send(&self.socket, message, &[]).unwrap();
    }

    /// Receives the first message: whether the command runs, and how it is confined.
    pub fn started(&self) -> FromSupervisor {
        wire::receive(&self.socket).unwrap().0
    }

    /// Answers questions until the command ends.
    pub fn finish(mut self, mut authorize: impl FnMut(&AccessQuestion) -> Verdict) -> Outcome {
        drop(self.input.take());
        let mut outcome = Outcome::default();
        loop {
            let Ok((message, _)) = wire::receive::<FromSupervisor>(&self.socket) else {
                panic!("the supervisor is gone: {:?}, {outcome:#?}", self.supervisor.wait());
            };
            match message {
                FromSupervisor::Confined { by } => outcome.confined = Some(by),
                FromSupervisor::Unsupported { missing } => {
                    outcome.unsupported = Some(missing);
                    break;
                }
                FromSupervisor::Failed { error, errno } => {
                    outcome.failed = Some((error, errno));
                    break;
                }
                FromSupervisor::Question(mut question) => {
                    question.path = absolute(&self.roots, question.root, &question.path);
                    let verdict = Verdict { id: question.id, ..authorize(&question) };
                    outcome.questions.push(question);
                    // After `Kill`, the supervisor may be gone before it reads the answer.
                    let _gone = wire::send(&self.socket, &ToSupervisor::Verdict(verdict), &[]);
                }
                FromSupervisor::Ended(mut ended) => {
                    for before in &mut ended.before {
                        before.path = absolute(&self.roots, before.root, &before.path);
                    }
                    outcome.ended = ended;
                    break;
                }
            }
        }
        assert!(self.supervisor.wait().unwrap().success());
        let text = |bytes: JoinHandle<Vec<u8>>| String::from_utf8_lossy(&bytes.join().unwrap()).into_owned();
        outcome.stdout = text(self.output);
        outcome.stderr = text(self.error);
        outcome
    }
}

fn absolute(roots: &[Root], root: usize, below: &str) -> String {
    match below {
        "" => roots[root].path.clone(),
        below => format!("{}/{below}", roots[root].path.trim_end_matches('/')),
    }
}

/// Returns the path of the attack program. It is compiled once, into a directory that commands may run programs from.
pub fn attack() -> &'static str {
    static PROGRAM: OnceLock<(TempDir, String)> = OnceLock::new();
    let (_, path) = PROGRAM.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("attack");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attack.c");
        let compiled = Command::new("cc").arg("-w").arg("-o").arg(&path).arg(source).arg("-pthread").status().unwrap();
        assert!(compiled.success());
        (directory, path.to_str().unwrap().to_owned())
    });
    path
}

/// Returns whether a process exists and is not a zombie.
pub fn lives(process: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z"))
}

/// Waits up to one second for a condition and returns whether it became true.
pub fn within_a_second(mut holds: impl FnMut() -> bool) -> bool {
    (0..100).any(|_| {
        let held = holds();
        if !held {
            thread::sleep(std::time::Duration::from_millis(10));
        }
        held
    })
}

/// Returns the running processes whose command line contains a text.
pub fn processes_with(text: &str) -> Vec<i32> {
    let all = fs::read_dir("/proc").unwrap().filter_map(|it| it.unwrap().file_name().to_str()?.parse::<i32>().ok());
    all.filter(|process| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        lives(*process) && has(&line, text.as_bytes())
    })
    .collect()
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|it| it == part)
}
