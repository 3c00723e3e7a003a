//! Attempts to leave the roots. Each attempt fails and changes nothing outside. Attempts that do no harm are repeated
//! without confinement, where they must succeed: otherwise their failure would prove nothing.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};

use support::{Fixture, Outcome, Root, Start, attack, run};

/// An attempt, with its arguments for a given fixture.
struct Attempt {
    name: &'static str,
    arguments: fn(&Fixture) -> Vec<String>,
    /// Creates the files that the attempt needs.
    prepare: fn(&Fixture),
    /// Whether the attempt is repeated without confinement, where it must succeed.
    has_control: bool,
}

fn attempt(name: &'static str, arguments: fn(&Fixture) -> Vec<String>) -> Attempt {
    Attempt { name, arguments, prepare: |_| {}, has_control: true }
}

impl Attempt {
    fn after(self, prepare: fn(&Fixture)) -> Self {
        Self { prepare, ..self }
    }

    /// Makes the attempt only confined: unconfined it would do harm, or it needs a feature that the machine may lack.
    fn alone(self) -> Self {
        Self { has_control: false, ..self }
    }

    fn start(&self, fixture: &Fixture) -> Start {
        (self.prepare)(fixture);
        let arguments = (self.arguments)(fixture);
        let mut argv = vec![attack(), self.name];
        argv.extend(arguments.iter().map(String::as_str));
        let mut start = fixture.command(&argv);
        start.system.push(attack().to_owned());
        start
    }
}

fn check(attempts: &[Attempt]) {
    for attempt in attempts {
        let name = attempt.name;
        let fixture = Fixture::new();
        let start = attempt.start(&fixture);
        let before = fixture.snapshot();
        let outcome = run(start);
        assert!(outcome.confined.is_some(), "{name}: {outcome:#?}");
        assert_ne!(outcome.ended.exit_code, Some(0), "{name} worked: {outcome:#?}");
        assert_ne!(outcome.ended.exit_code, Some(2), "{name} was not tried: {outcome:#?}");
        assert!(!outcome.stdout.contains("secret"), "{name} told: {outcome:#?}");
        assert_eq!(fixture.snapshot(), before, "{name} changed what is outside");
        if attempt.has_control {
            let fixture = Fixture::new();
            let has_control = run(Start { confine: false, ..attempt.start(&fixture) });
            assert_eq!(has_control.ended.exit_code, Some(0), "{name} fails unconfined too: {has_control:#?}");
        }
    }
}

fn file(fixture: &Fixture) -> Vec<String> {
    vec![fixture.outside("file")]
}

#[test]
fn reading_and_writing_by_path() {
    check(&[
        attempt("read", file),
        attempt("read", |_| vec!["../outside/file".to_owned()]),
        attempt("write", file),
        attempt("append", file),
        attempt("empty", file),
        attempt("truncate", file),
        attempt("create", |fixture| vec![fixture.outside("new")]),
        attempt("nameless", |fixture| vec![fixture.outside("")]),
        attempt("list", |fixture| vec![fixture.outside("")]),
        attempt("unlink", file),
        attempt("rmdir", |fixture| vec![fixture.outside("empty")]),
        attempt("mkdir", |fixture| vec![fixture.outside("new")]),
        attempt("symlink", |fixture| vec!["target".to_owned(), fixture.outside("new")]),
        attempt("device", |fixture| vec![fixture.outside("new")]).alone(),
        attempt("device", |fixture| vec![fixture.inside("new")]).alone(),
        attempt("from-directory", |fixture| vec![fixture.outside(""), "file".to_owned()]),
        attempt("from-cwd", |fixture| vec![fixture.outside(""), "file".to_owned()]),
        attempt("openat2", file),
        attempt("handle", file),
        attempt("read", |_| vec!["/etc/shadow".to_owned()]).alone(),
    ]);
}

#[test]
fn through_links() {
    let to_file = |fixture: &Fixture| symlink(fixture.outside("file"), fixture.inside("link")).unwrap();
    let to_directory = |fixture: &Fixture| symlink(fixture.outside(""), fixture.inside("link")).unwrap();
    let dangling = |fixture: &Fixture| symlink(fixture.outside("new"), fixture.inside("link")).unwrap();
    let link = |fixture: &Fixture| vec![fixture.inside("link")];
    let below = |fixture: &Fixture| vec![fixture.inside("link/file")];
    let new = |fixture: &Fixture| vec![fixture.inside("link/new")];
    check(&[
        attempt("read", link).after(to_file),
        attempt("write", link).after(to_file),
        attempt("truncate", link).after(to_file),
        attempt("chmod", link).after(to_file),
        attempt("chown", link).after(to_file).alone(),
        attempt("read", below).after(to_directory),
        attempt("unlink", below).after(to_directory),
        attempt("mkdir", new).after(to_directory),
        attempt("create", new).after(to_directory),
        // Exclusive creation follows no link, confined or not.
        attempt("create", link).after(dangling).alone(),
        attempt("make", link).after(dangling),
        attempt("link", |fixture| vec![fixture.outside("file"), fixture.inside("new")]),
        attempt("link", |fixture| vec![fixture.inside("link/file"), fixture.inside("new")]).after(to_directory),
        attempt("link", |fixture| vec![fixture.inside("own"), fixture.outside("new")]).after(own),
        attempt("rename", |fixture| vec![fixture.outside("file"), fixture.inside("new")]),
        attempt("rename", |fixture| vec![fixture.outside("directory"), fixture.inside("new")]),
        attempt("rename", |fixture| vec![fixture.inside("own"), fixture.outside("new")]).after(own),
        attempt("rename", |fixture| vec![fixture.inside("own"), fixture.outside("file")]).after(own),
        attempt("exchange", |fixture| vec![fixture.inside("own"), fixture.outside("file")]).after(own),
        attempt("rename", |fixture| vec![fixture.inside(""), fixture.outside("new")]).alone(),
        attempt("rmdir", |fixture| vec![fixture.inside("")]),
    ]);
}

fn own(fixture: &Fixture) {
    fixture.write("own", "own");
}

#[test]
fn while_names_change() {
    let swapped = |fixture: &Fixture| {
        fixture.write("d/file", "own\n");
        symlink(fixture.outside(""), fixture.inside("e")).unwrap();
    };
    check(&[
        attempt("race", |fixture| vec![fixture.inside("d"), fixture.inside("e"), fixture.inside("d/file")])
            .after(swapped),
        attempt("rewritten", |fixture| vec![fixture.inside("own"), fixture.outside("file")]).after(own),
    ]);
}

#[test]
fn through_proc() {
    for name in ["environ", "maps", "mem", "status", "cmdline", "root/etc/passwd", "cwd/Cargo.toml", "fd/0"] {
        let fixture = Fixture::new();
        let mut start = fixture.command(&[attack(), "read", &format!("/proc/{}/{name}", std::process::id())]);
        start.system.push(attack().to_owned());
        let outcome = run(start);
        assert_eq!(outcome.ended.exit_code, Some(1), "{name}: {outcome:#?}");
        assert!(outcome.stdout.is_empty(), "{name}: {outcome:#?}");
    }
    // The supervisor is the parent process. A link in the root to /proc/self resolves to the supervisor's own
    // directory.
    let fixture = Fixture::new();
    symlink("/proc/self/environ", fixture.inside("environ")).unwrap();
    symlink("/proc/self/fd/0", fixture.inside("control")).unwrap();
    symlink("/proc/self", fixture.inside("self")).unwrap();
    for path in ["/proc/$PPID/environ", "/proc/$PPID/maps", "/proc/$PPID/status", "environ", "control", "self/status"] {
        let outcome = run(fixture.shell(&format!("cat {path}")));
        assert_ne!(outcome.ended.exit_code, Some(0), "{path}: {outcome:#?}");
        assert_eq!(outcome.stdout, "", "{path}");
    }
    let outcome = run(fixture.shell("cat /proc/self/cmdline; ls /proc/$PPID/fd /proc/$PPID/root/"));
    assert!(outcome.stdout.starts_with("cat"), "{outcome:#?}");
    assert_eq!(outcome.stdout.lines().count(), 1, "{outcome:#?}");
    check(&[
        attempt("read", |fixture| vec![format!("/proc/self/root{}", fixture.outside("file"))]),
        attempt("read", |_| vec!["/proc/self/cwd/../outside/file".to_owned()]),
        attempt("memory", |_| vec![std::process::id().to_string(), format!("{:p}", &raw const VICTIM)]),
    ]);
}

static VICTIM: [u8; 16] = *b"sixteen bytes...";

#[test]
fn descriptors_of_the_host_do_not_arrive() {
    let fixture = Fixture::new();
    // Every process that this test starts inherits the descriptor.
    let secret = fs::File::open(fixture.outside("file")).unwrap();
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&secret);
    for confine in [true, false] {
        let script = format!("ls -l /proc/self/fd; {} read-fd {number}", attack());
        let mut start = fixture.shell(&script);
        start.system.push(attack().to_owned());
        let outcome = run(Start { confine, ..start });
        assert_eq!(outcome.ended.exit_code, Some(1), "{outcome:#?}");
        assert!(!outcome.stdout.contains("outside"), "{outcome:#?}");
    }
    // Without the supervisor, the descriptor is inherited.
    let plain = std::process::Command::new(attack()).args(["read-fd", &number.to_string()]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&plain.stdout), "secret of outside\n");
}

#[test]
fn metadata() {
    check(&[
        attempt("chmod", file),
        attempt("chmod-opened", |_| vec!["/usr/bin/env".to_owned()]).alone(),
        attempt("chmod-path", file),
        attempt("chown", file).alone(),
        attempt("chown-path", file).alone(),
        attempt("utimes", file),
        attempt("utimes-opened", |_| vec!["/usr/bin/env".to_owned()]).alone(),
        attempt("setxattr", file).alone(),
        attempt("chmod", |_| vec!["/dev/null".to_owned()]).alone(),
        attempt("unlink", |_| vec!["/dev/null".to_owned()]).alone(),
        attempt("chmod-set-user", |fixture| vec![fixture.inside("own")]).after(own),
    ]);
}

#[test]
fn metadata_of_read_only_files_cannot_be_changed() {
    for name in ["chmod-opened", "utimes-opened", "fsetxattr", "flags", "reopen", "write", "unlink", "chmod", "utimes"]
    {
        let fixture = Fixture::new();
        let mut start = fixture.command(&[attack(), name, &fixture.outside("file")]);
        start.system.push(attack().to_owned());
        start.roots.push(Root { path: fixture.outside(""), writable: false });
        let before = fixture.snapshot();
        let outcome = run(start);
        assert_eq!(outcome.ended.exit_code, Some(1), "{name}: {outcome:#?}");
        assert_eq!(fixture.snapshot(), before, "{name}");
        assert_eq!(outcome.ended.before, [], "{name}");
    }
}

#[test]
fn other_processes() {
    let process = |_: &Fixture| vec![std::process::id().to_string()];
    check(&[
        attempt("ptrace", process).alone(),
        attempt("kill", process),
        attempt("kill-all", |_| Vec::new()).alone(),
        attempt("queue", process).alone(),
        attempt("tgkill", process),
        attempt("pidfd", process),
        attempt("owner", process),
        attempt("prlimit", process),
        attempt("priority", process).alone(),
        attempt("affinity", process).alone(),
    ]);
    let fixture = Fixture::new();
    let outcome = run(fixture.shell("kill -9 $PPID; kill -9 -1; echo still here"));
    assert_eq!(outcome.stdout, "still here\n", "{outcome:#?}");
    let outcome = run(fixture.shell("sleep 100 & kill $! && wait $!; echo $?"));
    assert_eq!(outcome.stdout, "143\n", "{outcome:#?}");
}

#[test]
fn the_kernel() {
    check(&[
        attempt("mount", |fixture| vec![fixture.inside("")]).alone(),
        attempt("fsopen", |_| Vec::new()).alone(),
        attempt("unshare", |_| Vec::new()).alone(),
        attempt("clone-user", |_| Vec::new()).alone(),
        attempt("chroot", |fixture| vec![fixture.outside("")]).alone(),
        attempt("keyring", |_| Vec::new()).alone(),
        attempt("shared-memory", |_| Vec::new()),
        attempt("io_uring", |_| Vec::new()).alone(),
        attempt("powers", |_| Vec::new()).alone(),
    ]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn other_numbers_of_system_calls() {
    check(&[attempt("int80", |_| Vec::new()).alone(), attempt("x32", file).alone()]);
}

#[test]
fn programs_that_run_as_their_owner() {
    let fixture = Fixture::new();
    let program = fixture.root.join("attack");
    fs::copy(attack(), &program).unwrap();
    // The file belongs to another user, so that the program would run as that user.
    if std::os::unix::fs::chown(&program, Some(65534), Some(65534)).is_err() {
        println!("not run: it takes the superuser to make such a program");
        return;
    }
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let script = "id -u > id; ./attack set-user; grep ^Cap /proc/self/status";
    let outcome = run(fixture.shell(script));
    assert!(outcome.stderr.contains("set-user"), "{outcome:#?}");
    // Allowed are at most CAP_DAC_OVERRIDE and CAP_FOWNER, and no capability that a program could regain. Only the
    // superuser can drop capabilities from the bounding set; other users cannot gain them anyway.
    let superuser = rustix::process::geteuid().is_root();
    for line in outcome.stdout.lines().filter(|it| superuser || !it.starts_with("CapBnd")) {
        let powers = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!(powers & !0b1010, 0, "{line}");
    }
}

#[test]
fn unix_sockets() {
    let bound = |fixture: &Fixture| std::mem::forget(UnixListener::bind(fixture.outside("socket")).unwrap());
    let inside = |fixture: &Fixture| std::mem::forget(UnixListener::bind(fixture.inside("socket")).unwrap());
    let datagrams = |fixture: &Fixture| std::mem::forget(UnixDatagram::bind(fixture.outside("socket")).unwrap());
    let abstracted = |_: &Fixture| {
        use std::os::linux::net::SocketAddrExt;
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            let name = std::os::unix::net::SocketAddr::from_abstract_name(abstract_name()).unwrap();
            std::mem::forget(UnixListener::bind_addr(&name).unwrap());
        });
    };
    check(&[
        attempt("unix", |fixture| vec![fixture.outside("socket")]).after(bound),
        attempt("unix", |fixture| vec![fixture.inside("socket")]).after(inside),
        attempt("datagram", |fixture| vec![fixture.outside("socket")]).after(datagrams),
        attempt("abstract", |_| vec![abstract_name()]).after(abstracted),
    ]);
}

fn abstract_name() -> String {
    format!("paddock-supervisor-{}", std::process::id())
}

#[test]
fn the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let fixture = Fixture::new();
    let tried = |network: bool, confine: bool| -> Outcome {
        let mut start = fixture.command(&[attack(), "tcp", &port]);
        start.system.push(attack().to_owned());
        run(Start { network, confine, ..start })
    };
    assert_eq!(tried(false, true).ended.exit_code, Some(1));
    assert_eq!(tried(true, true).ended.exit_code, Some(0));
    assert_eq!(tried(false, false).ended.exit_code, Some(0));
}

#[test]
fn a_directory_that_has_a_root_in_it_stays() {
    let fixture = Fixture::new();
    fixture.write("parent/inner/file", "kept");
    let mut start = fixture.shell("mv parent other; chmod 600 parent/inner/file; echo x > parent/inner/file; ls");
    start.roots.push(Root { path: fixture.inside("parent/inner"), writable: false });
    let outcome = run(start);
    assert_eq!(outcome.stdout, "parent\n", "{outcome:#?}");
    assert_eq!(fs::read_to_string(fixture.root.join("parent/inner/file")).unwrap(), "kept");
}
