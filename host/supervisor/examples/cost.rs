//! Measures the cost of the supervisor for starting a command and for opening files, and prints the figures.

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    #![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a measurement")]

    use std::fs::File;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use paddock_supervisor::protocol::{FromSupervisor, HardLinks, Limits, Root, Start, ToSupervisor};
    use paddock_supervisor::wire;

    const OPENS: &str = "i=0; while [ $i -lt 20000 ]; do : < file; i=$((i+1)); done";

    pub(super) fn main() {
        let supervisor = std::env::args().nth(1).unwrap_or_else(|| "target/component/paddock-supervisor".to_owned());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        for name in ["work", "tmp", "staging"] {
            std::fs::create_dir(path.join(name)).unwrap();
        }
        std::fs::write(path.join("work/file"), "x").unwrap();
        let plain = |script: &str| {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", script]).current_dir(path.join("work")).stdin(Stdio::null());
            assert!(shell.status().unwrap().success());
        };
        let through = |script: &str, confine: bool| run(&supervisor, start(&path, script, confine));
        let rows = [
            ("plain", median(|| plain("true"))),
            ("unconfined", median(|| through("true", false))),
            ("confined", median(|| through("true", true))),
        ];
        for (name, time) in rows {
            println!("sh -c true, {name}: {time:.2?}, {:.2} times plain", time.as_secs_f64() / rows[0].1.as_secs_f64());
        }
        for (name, time) in [("plain", timed(|| plain(OPENS))), ("confined", timed(|| through(OPENS, true)))] {
            println!("opens a second, {name}: {:.0}", 20_000.0 / time.as_secs_f64());
        }
    }

    fn timed(run: impl FnOnce()) -> Duration {
        let begun = Instant::now();
        run();
        begun.elapsed()
    }

    /// Returns the median time of 201 runs.
    fn median(run: impl Fn()) -> Duration {
        let mut times: Vec<_> = (0..201).map(|_| timed(&run)).collect();
        times.sort();
        times[100]
    }

    fn run(supervisor: &str, (start, descriptors): (Start, Vec<File>)) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut supervisor = Command::new(supervisor).stdin(Stdio::from(OwnedFd::from(theirs))).spawn().unwrap();
        let null = File::options().read(true).write(true).open("/dev/null").unwrap();
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        wire::send(&ours, &ToSupervisor::Descriptors, &descriptors).unwrap();
        wire::send(&ours, &ToSupervisor::Start(Box::new(start)), &[null.as_fd(); 3]).unwrap();
        let ended = std::iter::from_fn(|| wire::receive::<FromSupervisor>(&ours).ok()).last().unwrap().0;
        assert!(matches!(ended, FromSupervisor::Ended(ended) if ended.exit_code == Some(0)));
        supervisor.wait().unwrap();
    }

    fn start(path: &Path, script: &str, confine: bool) -> (Start, Vec<File>) {
        let own = ["work", "tmp", "staging"].map(|name| path.join(name));
        let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64"].map(PathBuf::from);
        let files = ["/etc/ld.so.cache", "/etc/passwd", "/etc/localtime"].map(PathBuf::from);
        let descriptors = own.iter().chain(&system).chain(&files).map(|path| File::open(path).unwrap()).collect();
        let start = Start {
            argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            cwd: 0,
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            terminal: false,
            roots: vec![Root { directory: 0, writable: true }],
            system: (3..8).collect(),
            files: (8..11).collect(),
            temporary: 1,
            staging: 2,
            programs: None,
            loaders: Vec::new(),
            closed: Vec::new(),
            pinned: Vec::new(),
            reserved: Vec::new(),
            lock: None,
            network: false,
            confine,
            rules: false,
            git_data: false,
            hard_links: HardLinks::Keep,
            limits: Limits::default(),
        };
        (start, descriptors)
    }
}
