//! Bounds: how much memory a command can make its supervisor use, how fast a command ends, and that its access is bound
//! to descriptors, not to paths.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic"
)]
#![cfg(target_os = "linux")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use paddock_supervisor::protocol::{FromSupervisor, Limits, ToSupervisor, Verdict};
use paddock_supervisor::wire;
use support::{Fixture, Outcome, Root, Running, Start, attack, begin, lives, processes_with, run, within_a_second};

/// Maximum memory of a supervisor in bytes, whatever its command does.
const MAX_MEMORY: u64 = 96 << 20;

/// Returns the process id of a running command's supervisor, the child of the process that outlives it.
fn supervisor(running: &Running) -> u32 {
    let reaper = running.supervisor.id();
    let children = || fs::read_to_string(format!("/proc/{reaper}/task/{reaper}/children")).unwrap();
    assert!(within_a_second(|| !children().is_empty()));
    children().split_whitespace().next().unwrap().parse().unwrap()
}

/// Returns the peak resident memory of a process, in bytes.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

fn attempt(fixture: &Fixture, arguments: &[&str]) -> Start {
    let mut argv = vec![attack()];
    argv.extend(arguments);
    let mut start = fixture.command(&argv);
    start.system.push(attack().to_owned());
    start
}

/// Creates directories `0`, `1` and so on in the root, each with `files` files.
fn fill(fixture: &Fixture, directories: usize, files: usize) {
    for directory in 0..directories {
        fs::create_dir(fixture.root.join(directory.to_string())).unwrap();
        for file in 0..files {
            fs::File::create(fixture.root.join(format!("{directory}/{file:04}"))).unwrap();
        }
    }
}

#[test]
fn names_that_are_made_and_opened_for_ever_take_no_memory() {
    let fixture = Fixture::new();
    let deep = (0..14).fold(fixture.root.clone(), |path, _| path.join("d".repeat(200)));
    fs::create_dir_all(&deep).unwrap();
    let start = Start { rules: true, ..attempt(&fixture, &["rename-and-open", deep.to_str().unwrap(), "8000"]) };
    let running = begin(start);
    let mut max = 0;
    let process = supervisor(&running);
    let outcome = running.finish(|_| {
        max = max.max(peak(process).unwrap_or(0));
        Verdict::default()
    });
    let outcome = outcome.succeeded();
    assert!(max > 0 && max < MAX_MEMORY, "{} MiB", max >> 20);
    assert!(outcome.ended.unrecorded > 0, "so many names are more than are remembered");
}

#[test]
fn a_kill_comes_before_questions_and_ends_them() {
    let fixture = Fixture::new();
    fill(&fixture, 6, 3000);
    let start = Start { rules: true, ..attempt(&fixture, &["rename-for-ever", fixture.root.to_str().unwrap(), "6"]) };
    let running = begin(start);
    let process = supervisor(&running);
    // The host answers questions for a while and then sends `Kill`.
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1500) {
        if let FromSupervisor::Question(question) = wire::receive::<FromSupervisor>(&running.socket).unwrap().0 {
            running.say(&ToSupervisor::Verdict(Verdict { id: question.id, ..Verdict::default() }));
        }
    }
    let max = peak(process).unwrap();
    assert!(max < MAX_MEMORY, "{} MiB", max >> 20);
    running.say(&ToSupervisor::Kill);
    let killed = Instant::now();
    let mut count = 0;
    let outcome = running.finish(|_| {
        count += 1;
        Verdict::default()
    });
    assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
    // Only the questions that were sent before `Kill` arrive.
    assert!(count <= 64, "{count}");
    assert_eq!(outcome.ended.signal, Some(libc::SIGKILL));
}

#[test]
fn no_more_questions_are_under_way_than_a_host_can_have() {
    let fixture = Fixture::new();
    fill(&fixture, 1, 2000);
    let start = Start { rules: true, ..fixture.shell("mv 0 other && echo moved") };
    let running = begin(start);
    let (mut waiting, mut max) = (Vec::new(), 0);
    let ended = loop {
        // Receives the questions that are sent before the host answers any.
        running.socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        match wire::receive::<FromSupervisor>(&running.socket) {
            Ok((FromSupervisor::Question(question), _)) => waiting.push(question.id),
            Ok((FromSupervisor::Ended(ended), _)) => break ended,
            Ok(_) => {}
            Err(_) => {
                max = max.max(waiting.len());
                for id in waiting.drain(..) {
                    running.say(&ToSupervisor::Verdict(Verdict { id, ..Verdict::default() }));
                }
            }
        }
    };
    assert_eq!(ended.exit_code, Some(0));
    assert!((1..=64).contains(&max), "{max}");
    assert_eq!(ended.before.len(), 4002, "the earlier content of each path is reported");
}

#[test]
fn too_many_questions_are_refused() {
    let fixture = Fixture::new();
    let deep = (0..17).fold(fixture.root.join("top"), |path, _| path.join("d".repeat(200)));
    fs::create_dir_all(&deep).unwrap();
    for file in 0..3000 {
        fs::File::create(deep.join(format!("{file:04}"))).unwrap();
    }
    let outcome = run(Start { rules: true, ..fixture.shell("mv top other") });
    assert_ne!(outcome.ended.exit_code, Some(0));
    let is_refused =
        outcome.ended.refused.iter().any(|it| it.cause.contains("it contains more entries than can be checked"));
    assert!(is_refused, "{outcome:#?}");
}

#[test]
fn groups_take_no_memory_and_are_those_of_processes() {
    let fixture = Fixture::new();
    let running = begin(attempt(&fixture, &["groups", "60000"]));
    let process = supervisor(&running);
    let max = std::thread::spawn(move || {
        let mut max = 0;
        while let Some(now) = peak(process) {
            max = max.max(now);
            std::thread::sleep(Duration::from_millis(5));
        }
        max
    });
    running.finish(|_| Verdict::default()).succeeded();
    let max = max.join().unwrap();
    assert!(max < 16 << 20, "{} MiB", max >> 20);
}

#[test]
fn nothing_outlives_a_supervisor_that_is_killed() {
    let fixture = Fixture::new();
    let tag = format!("{}.{}", 90_000 + std::process::id() % 1000, 4711);
    let mut running = begin(attempt(&fixture, &["outlive", &tag]));
    assert!(matches!(running.started(), FromSupervisor::Confined { .. }));
    assert!(within_a_second(|| processes_with(&tag).len() >= 4), "{:?}", processes_with(&tag));
    let supervisor = supervisor(&running);
    assert!(Command::new("kill").args(["-9", &supervisor.to_string()]).status().unwrap().success());
    assert!(within_a_second(|| processes_with(&tag).is_empty()), "{:?}", processes_with(&tag));
    // The parent sees the process end and the socket close.
    assert!(!running.supervisor.wait().unwrap().success());
    assert!(wire::receive::<FromSupervisor>(&running.socket).is_err());
    assert!(!lives(i32::try_from(supervisor).unwrap()));
}

#[test]
fn a_file_has_names_in_roots_or_in_the_temporary_directory() {
    let fixture = Fixture::new();
    fixture.write("file", "inside");
    fixture.write("shared", "inside");
    fs::hard_link(fixture.root.join("shared"), fixture.root.join("shared-too")).unwrap();
    fs::create_dir(fixture.root.join("directory")).unwrap();
    fs::hard_link(fixture.root.join("shared"), fixture.root.join("directory/shared")).unwrap();
    fs::write(fixture.temporary.join("other"), "mine").unwrap();
    let script = "ln file \"$TMPDIR/file\" 2>/dev/null && echo linked >> \"$TMPDIR/file\"
        ln \"$TMPDIR/other\" other 2>/dev/null && echo linked >> other
        mv shared \"$TMPDIR/shared\" && echo moved >> \"$TMPDIR/shared\"
        mv directory \"$TMPDIR/directory\" && echo moved >> \"$TMPDIR/directory/shared\"; true";
    let outcome = run(fixture.shell(script)).succeeded();
    for (path, content) in [("file", "inside"), ("shared-too", "inside")] {
        assert_eq!(fs::read_to_string(fixture.root.join(path)).unwrap(), content, "{path}");
        assert!(outcome.before(fixture.root.join(path)).is_none(), "{path}");
    }
    // `mv` copies the file instead.
    assert!(outcome.before(fixture.root.join("shared")).is_some());
    assert_eq!(fs::read_to_string(fixture.temporary.join("shared")).unwrap(), "insidemoved\n");
    assert!(!fixture.root.join("other").exists());
    assert_eq!(fs::metadata(fixture.root.join("shared-too")).unwrap().nlink(), 1);
}

#[test]
fn a_removed_name_does_not_decide_about_a_file_with_another_name() {
    let fixture = Fixture::new();
    let secret = fixture.write(".env", "secret\n");
    fs::hard_link(&secret, fixture.outside.join("second")).unwrap();
    let signal = fixture.inside("go");
    let start = Start { rules: true, ..attempt(&fixture, &["unlinked", &fixture.inside(".env"), &signal]) };
    let running = begin(start);
    let root = fixture.root.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        fs::write(root.join("new"), "other\n").unwrap();
        fs::rename(root.join("new"), root.join(".env")).unwrap();
        fs::write(signal, "").unwrap();
    });
    let outcome = running.finish(|question| Verdict {
        refused: question.path.ends_with("/.env").then(|| "secret".to_owned()),
        ..Verdict::default()
    });
    assert!(outcome.stdout.starts_with("begun") && !outcome.stdout.contains("secret"), "{outcome:#?}");
    assert_eq!(outcome.ended.exit_code, Some(1), "{outcome:#?}");
}

#[test]
fn a_name_that_ends_in_deleted_is_an_ordinary_name() {
    let fixture = Fixture::new();
    fixture.write("a (deleted)", "inside\n");
    let outcome = run(fixture.shell("cat 'a (deleted)' && echo more >> 'a (deleted)'")).succeeded();
    assert_eq!(outcome.stdout, "inside\n");
    assert!(outcome.before(fixture.root.join("a (deleted)")).is_some());
}

#[test]
fn rules_in_a_directory_whose_name_is_not_utf_8_close_it() {
    let fixture = Fixture::new();
    let directory = fixture.root.join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir_all(directory.join("sub")).unwrap();
    fs::write(directory.join(".agentignore"), "key\n").unwrap();
    for name in ["key", "sub/key", "open"] {
        fs::write(directory.join(name), "secret\n").unwrap();
    }
    let other = fixture.root.join(OsStr::from_bytes(b"th\xe9"));
    fs::create_dir(&other).unwrap();
    fs::write(other.join("open"), "open\n").unwrap();
    let script = "cat caf*/key caf*/sub/key caf*/open; ls caf*; cd th*; cat open; echo new > new && echo made";
    let outcome = run(Start { rules: true, ..fixture.shell(script) });
    assert_eq!(outcome.stdout, "open\nmade\n", "{outcome:#?}");
    let causes =
        outcome.ended.refused.iter().filter(|refused| refused.cause.contains("is not UTF-8 cannot be applied"));
    assert_eq!(causes.count(), 4, "{outcome:#?}");
}

#[test]
fn a_moved_root_remains_the_root() {
    let fixture = Fixture::new();
    fixture.write("file", "inside\n");
    let (root, outside) = (fixture.root.clone(), fixture.outside.clone());
    let moved = root.with_file_name("moved");
    let script = format!(
        "echo begun; while [ ! -e go ]; do sleep 0.01; done; cat file; echo new > new; cat {0}/file {0}/directory/file; \
         echo changed > {0}/file",
        root.display()
    );
    let running = begin(fixture.shell(&script));
    let to = moved.clone();
    let from = root.clone();
    let mover = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        fs::rename(&from, &to).unwrap();
        symlink(&outside, &from).unwrap();
        fs::write(to.join("go"), "").unwrap();
    });
    let before = fixture.snapshot();
    let outcome = running.finish(|_| Verdict::default());
    mover.join().unwrap();
    assert_eq!(outcome.stdout, "begun\ninside\n", "{outcome:#?}");
    assert_eq!(fixture.snapshot(), before);
    assert_eq!(fs::read_to_string(moved.join("new")).unwrap(), "new\n");
    assert_eq!(outcome.ended.before.iter().map(|it| it.path.rsplit('/').next().unwrap()).collect::<Vec<_>>(), ["new"]);
}

#[test]
fn nothing_is_made_at_the_path_of_a_root() {
    let fixture = Fixture::new();
    let inner = fixture.root.join("inner");
    fs::create_dir(&inner).unwrap();
    let mut start = fixture.shell(
        "echo begun; while [ -e inner ]; do sleep 0.01; done; ln -s /etc inner; mkdir inner; echo x > inner; ls",
    );
    start.roots.push(Root { path: fixture.inside("inner"), writable: true });
    let running = begin(start);
    let away = fixture.outside.join("inner");
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        fs::rename(inner, away).unwrap();
    });
    let outcome = running.finish(|_| Verdict::default());
    // The root is elsewhere now, so that its old path no longer leads to it, and another entry at the path is not part
    // of it.
    assert!(!outcome.stdout.contains("passwd"), "{outcome:#?}");
}

#[test]
fn parents_of_roots_and_pinned_entries_cannot_be_moved() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.root.join("holder/inner")).unwrap();
    fs::create_dir_all(fixture.root.join("kept/below")).unwrap();
    let mut start = fixture.shell(
        "mv holder x; mv holder/inner x; rmdir holder/inner; mv kept x; rmdir kept/below; mkdir y; mv -T y kept/below; ls",
    );
    start.roots.push(Root { path: fixture.inside("holder/inner"), writable: true });
    start.pinned = vec![fixture.inside("kept"), fixture.inside("kept/below")];
    let outcome = run(start);
    assert_eq!(outcome.stdout, "holder\nkept\ny\n", "{outcome:#?}");
    assert!(fixture.root.join("holder/inner").is_dir() && fixture.root.join("kept/below").is_dir());
}

#[test]
fn closed_files_are_closed_by_every_path() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.root.join("home/.cache/paddock")).unwrap();
    fs::write(fixture.root.join("home/.cache/paddock/code"), "native\n").unwrap();
    fs::create_dir(fixture.root.join("mounted")).unwrap();
    let (home, mounted) = (fixture.root.join("home"), fixture.root.join("mounted"));
    let bound =
        Command::new("mount").arg("--bind").args([&home, &mounted]).status().is_ok_and(|status| status.success());
    if !bound {
        println!("not run by a bind mount: this user cannot make one");
    }
    let script = "for top in home mounted; do cat $top/.cache/paddock/code; ls $top/.cache/paddock; \
        echo x > $top/.cache/paddock/new; rm $top/.cache/paddock/code; mv $top/.cache $top/c; \
        mv $top/.cache/paddock $top/p; echo fine > $top/.cache/other; ln $top/.cache/paddock/code $top/second; done";
    let mut start = fixture.shell(script);
    start.closed = vec![fixture.inside("home/.cache/paddock")];
    start.pinned = vec![fixture.inside("home"), fixture.inside("home/.cache")];
    let outcome = run(start);
    if bound {
        assert!(Command::new("umount").arg(&mounted).status().unwrap().success());
    }
    assert_eq!(outcome.stdout, "", "{outcome:#?}");
    let names = |path: &str| {
        let mut names: Vec<_> =
            fs::read_dir(fixture.root.join(path)).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!((names("home"), names("home/.cache")), (vec![".cache".into()], vec!["other".into(), "paddock".into()]));
    assert_eq!(names("home/.cache/paddock"), ["code"]);
}

#[test]
fn last_names_that_are_directories_on_the_way_are_no_names() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.root.join("a/b")).unwrap();
    for (arguments, left) in [
        (["rename", "a/b/..", "x"], "a"),
        (["rename", "a/.", "x"], "a"),
        (["rename", "a", "a/b/../.."], "a"),
        (["remove", "a/b/.", "1"], "a/b"),
        (["remove", "a/b/..", "1"], "a"),
    ] {
        let outcome = run(attempt(&fixture, &arguments));
        assert_eq!(outcome.ended.exit_code, Some(1), "{arguments:?} {outcome:#?}");
        assert!(fixture.root.join(left).is_dir(), "{arguments:?}");
    }
}

#[test]
fn requests_and_sockets_are_those_of_a_list() {
    let fixture = Fixture::new();
    // The requests are SIOCGIFCONF, SIOCGIFHWADDR, SIOCGIFADDR, SIOCETHTOOL, FS_IOC_SETFLAGS, TIOCSTI, FIOSETOWN,
    // FITRIM, BTRFS_IOC_SUBVOL_CREATE and CIFS_IOC_COPYCHUNK_FILE.
    let requests =
        [0x8912_u32, 0x8927, 0x8915, 0x8946, 0x4008_6602, 0x5412, 0x8901, 0xc018_5879, 0x5000_940e, 0x4004_cf03];
    for request in requests {
        let outcome = run(attempt(&fixture, &["ioctl", &request.to_string()]));
        assert!(outcome.stderr.contains("Inappropriate ioctl"), "{request:x} {outcome:#?}");
    }
    run(attempt(&fixture, &["ioctl", &0x541b.to_string()])).succeeded();
    let network = |arguments: &[&str]| run(Start { network: true, ..attempt(&fixture, arguments) });
    let outcome = network(&["ioctl", &0x8946.to_string()]);
    assert!(outcome.stderr.contains("Inappropriate ioctl"), "{outcome:#?}");
    let (inet, stream, datagram, raw) = (libc::AF_INET, libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW);
    let sockets = [
        (inet, stream, 0, true),
        (inet, stream, libc::IPPROTO_TCP, true),
        (inet, datagram, libc::IPPROTO_UDP, true),
        (libc::AF_INET6, datagram, 0, true),
        (libc::AF_NETLINK, raw, 0, true),
        (inet, stream, libc::IPPROTO_MPTCP, false),
        (inet, stream, libc::IPPROTO_SCTP, false),
        (inet, datagram, libc::IPPROTO_ICMP, false),
        (inet, raw, libc::IPPROTO_TCP, false),
        (libc::AF_NETLINK, raw, libc::NETLINK_AUDIT, false),
        (libc::AF_VSOCK, stream, 0, false),
    ];
    for (domain, kind, protocol, works) in sockets {
        let numbers = [domain, kind, protocol].map(|number| number.to_string());
        let outcome = network(&["socket", &numbers[0], &numbers[1], &numbers[2]]);
        assert_eq!(outcome.ended.exit_code == Some(0), works, "{numbers:?} {outcome:#?}");
        assert_ne!(run(attempt(&fixture, &["socket", &numbers[0], &numbers[1], &numbers[2]])).ended.exit_code, Some(0));
    }
}

#[test]
fn memory_images_stay_out_of_the_way() {
    let fixture = Fixture::new();
    assert_eq!(run(attempt(&fixture, &["core"])).stdout, "1");
}

#[test]
fn only_named_programs_run_where_programs_are_named() {
    let fixture = Fixture::new();
    let copied = fixture.root.join("tool");
    fs::copy("/bin/echo", &copied).unwrap();
    fixture.write("script.sh", "#!/bin/sh\necho script\n");
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"].map(str::to_owned).to_vec();
    let named = |programs: &[&str]| {
        let programs = programs.iter().map(|&it| it.to_owned()).chain(loaders.clone());
        Some(programs.filter(|path| Path::new(path).exists()).collect())
    };
    let run = |argv: &[&str], programs: &[&str]| {
        let outcome: Outcome = run(Start { programs: named(programs), ..fixture.command(argv) });
        (outcome.stdout, outcome.failed.map(|(_, errno)| errno))
    };
    assert_eq!(run(&["/bin/echo", "x"], &["/bin/echo"]), ("x\n".to_owned(), None));
    let refused = (String::new(), Some(Some(libc::EACCES)));
    assert_eq!(run(&["/bin/ls"], &["/bin/echo"]), refused);
    assert_eq!(run(&[copied.to_str().unwrap(), "x"], &["/bin/echo"]), refused);
    assert_eq!(run(&[copied.to_str().unwrap(), "x"], &[fixture.root.to_str().unwrap()]), ("x\n".to_owned(), None));
    // A named program cannot run one that is not named.
    assert_eq!(run(&["/usr/bin/env", "/bin/echo", "x"], &["/usr/bin/env"]).0, "");
    assert_eq!(run(&["/usr/bin/env", "/bin/echo", "x"], &["/usr/bin/env", "/bin/echo"]).0, "x\n");
}

#[test]
fn a_time_limit_of_the_host_holds_whatever_is_requested() {
    // A host whose time limit is over sends `Kill` and only waits for the end.
    let fixture = Fixture::new();
    fill(&fixture, 4, 1000);
    let limits = Limits { max_processes: 64, ..Limits::default() };
    let start = attempt(&fixture, &["rename-for-ever", fixture.root.to_str().unwrap(), "4"]);
    let began = Instant::now();
    let outcome = {
        let running = begin(Start { rules: true, limits, ..start });
        std::thread::sleep(Duration::from_millis(200));
        running.say(&ToSupervisor::Kill);
        running.finish(|_| Verdict::default())
    };
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(outcome.ended.signal, Some(libc::SIGKILL));
}
