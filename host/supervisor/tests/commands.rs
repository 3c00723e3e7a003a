//! Common programs work in confinement.
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
use std::io::Write;

use support::{Fixture, Start, begin, run, supervisor};

use paddock_supervisor::protocol::{FromSupervisor, Limits, ToSupervisor, Verdict};
use paddock_supervisor::wire;

/// Runs a script and compares its output.
fn writes(script: &str, expected: &str) {
    let fixture = Fixture::new();
    let outcome = run(fixture.shell(script)).succeeded();
    assert_eq!(outcome.stdout, expected, "{script}: {}", outcome.stderr);
}

fn is_there(program: &str) -> bool {
    let there = std::env::split_paths("/usr/local/bin:/usr/bin:/bin").any(|it| it.join(program).exists());
    if !there {
        println!("not run: {program} is not installed");
    }
    there
}

#[test]
fn shells_and_coreutils() {
    writes("echo hello", "hello\n");
    writes("echo a > a; cp a b; cat b; mv b c; ls; rm a c; ls", "a\na\nc\n");
    writes("printf 'b\\na\\n' | sort | head -n 1", "a\n");
    writes("echo one > f; sed -i s/one/two/ f; cat f", "two\n");
    writes("printf 'a b\\nc d\\n' > f; awk '{print $2}' f", "b\nd\n");
    writes("mkdir d; echo x > d/f; tar cf t.tar d; rm -r d; tar xf t.tar; cat d/f", "x\n");
    writes("cat <<X\nhere\nX", "here\n");
    writes("f=$(mktemp); echo t > $f; cat $f; rm $f", "t\n");
    writes("umask 027; touch f; mkdir d; stat -c %a f d", "640\n750\n");
    writes("echo x | tee /dev/null /dev/stdout /dev/fd/1", "x\nx\nx\n");
    writes("echo piped | cat /dev/stdin /proc/self/fd/0", "piped\n");
    writes("mkfifo p; cat p & echo through > p; wait", "through\n");
    writes("touch f; test -r f && chmod 400 f && stat -c %a f; readlink -f f | wc -l", "400\n1\n");
    writes("find . -name nothing; cd /usr && pwd; head -c 3 /dev/zero | wc -c", "/usr\n3\n");
    if is_there("bash") {
        let fixture = Fixture::new();
        let outcome =
            run(fixture.command(&["bash", "-c", "cat <(echo a) <(echo b); echo c > >(cat); wait"])).succeeded();
        assert_eq!(outcome.stdout, "a\nb\nc\n");
    }
}

#[test]
fn git() {
    if is_there("git") {
        let who = "-c user.name=a -c user.email=a@b";
        let script =
            format!("git init -q . && echo x > f && git add f && git {who} commit -qm first && git log --format=%s");
        writes(&format!("{script} && git status --short && git mv f g && git status --short"), "first\nR  f -> g\n");
    }
}

#[test]
fn a_compiler() {
    if is_there("cc") {
        let source = "#include <stdio.h>\nint main(void) { puts(\"compiled\"); return 0; }\n";
        let fixture = Fixture::new();
        fixture.write("hello.c", source);
        let outcome = run(fixture.shell("cc -o hello hello.c && ./hello")).succeeded();
        assert_eq!(outcome.stdout, "compiled\n");
        if is_there("make") {
            fixture.write("Makefile", "all: one two\none two:\n\t@echo $@ > $@.txt\n");
            run(fixture.shell("make -j2 -s && test -e one.txt -a -e two.txt")).succeeded();
        }
    }
}

#[test]
fn interpreters() {
    if is_there("node") {
        let script = "const f = require('fs'); f.writeFileSync('a', 'node'); \
                      f.promises.readFile('a', 'utf8').then(t => console.log(t, require('child_process').execSync('echo x') + ''))";
        let fixture = Fixture::new();
        let outcome = run(fixture.command(&["node", "-e", script])).succeeded();
        assert_eq!(outcome.stdout, "node x\n\n");
    }
    if is_there("python3") {
        let script = "import subprocess, threading, tempfile, os\n\
                      t = threading.Thread(target=lambda: open('a', 'w').write('python')); t.start(); t.join()\n\
                      print(open('a').read(), subprocess.check_output(['echo', 'x']).decode().strip())";
        let fixture = Fixture::new();
        let outcome = run(fixture.command(&["python3", "-c", script])).succeeded();
        assert_eq!(outcome.stdout, "python x\n");
    }
}

#[test]
fn input_output_and_status() {
    let fixture = Fixture::new();
    let mut running = begin(fixture.shell("cat; echo error >&2; exit 7"));
    running.input.as_mut().unwrap().write_all(b"given").unwrap();
    let outcome = running.finish(|_| Verdict::default());
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("given", "error\n"));
    assert_eq!((outcome.ended.exit_code, outcome.ended.signal), (Some(7), None));
    assert!(outcome.ended.max_rss.is_some_and(|it| it > 100_000), "{:?}", outcome.ended.max_rss);
    assert!(outcome.confined.unwrap().starts_with("landlock "));
    let outcome = run(fixture.shell("kill -USR1 $$"));
    assert_eq!((outcome.ended.exit_code, outcome.ended.signal), (None, Some(libc::SIGUSR1)));
}

#[test]
fn commands_that_cannot_be_started_are_reported() {
    let fixture = Fixture::new();
    let outcome = run(fixture.command(&["no-such-program"]));
    assert_eq!(outcome.failed.unwrap().1, Some(libc::ENOENT));
    let start = Start { cwd: fixture.inside("file"), ..fixture.shell("true") };
    fixture.write("file", "");
    assert_eq!(run(start).failed.unwrap().1, Some(libc::ENOTDIR));
    fs::copy("/bin/true", fixture.outside.join("true")).unwrap();
    let outcome = run(fixture.command(&[fixture.outside("true")]));
    assert_eq!(outcome.failed.unwrap().1, Some(libc::EACCES));
}

#[test]
fn only_a_start_message_starts_a_command() {
    let (socket, mut supervisor) = supervisor();
    wire::send(&socket, &ToSupervisor::Kill, &[]).unwrap();
    assert!(wire::receive::<FromSupervisor>(&socket).is_err());
    assert!(!supervisor.wait().unwrap().success());
}

#[test]
fn a_terminal() {
    let fixture = Fixture::new();
    let terminal = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&terminal).unwrap();
    rustix::pty::unlockpt(&terminal).unwrap();
    let name = rustix::pty::ptsname(&terminal, Vec::new()).unwrap();
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let slave = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty()).unwrap();
    // A terminal that is not the command's.
    let other = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&other).unwrap();
    rustix::pty::unlockpt(&other).unwrap();
    let other = rustix::pty::ptsname(&other, Vec::new()).unwrap().into_string().unwrap();
    let script = format!("tty; echo direct > /dev/tty; echo by-name > $(tty); cat {other}; echo x > {other}; echo end");
    let start = Start { terminal: true, ..fixture.shell(&script) };
    let (socket, mut supervisor) = supervisor();
    let streams = [&slave, &slave, &slave].map(std::os::fd::AsFd::as_fd);
    support::send_start(&socket, &start, &streams);
    let ended = std::iter::from_fn(|| wire::receive::<FromSupervisor>(&socket).ok()).last().unwrap().0;
    assert!(matches!(ended, FromSupervisor::Ended(ended) if ended.exit_code == Some(0)));
    assert!(supervisor.wait().unwrap().success());
    drop(slave);
    // The read fails after all output has been read, because the other end is closed.
    let mut text = Vec::new();
    let mut part = [0; 4096];
    while let Ok(length) = rustix::io::read(&terminal, &mut part) {
        text.extend(&part[..length]);
    }
    let text = String::from_utf8_lossy(&text).replace('\r', "");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[..3], [name.to_str().unwrap(), "direct", "by-name"], "{text}");
    assert_eq!(text.matches("ermission denied").count(), 2, "{text}");
    assert_eq!(*lines.last().unwrap(), "end", "{text}");
}

#[test]
fn limits_hold() {
    let fixture = Fixture::new();
    let limits = Limits { max_file_bytes: 1000, ..Limits::default() };
    let outcome = run(Start {
        limits,
        ..fixture.shell("trap '' XFSZ; head -c 2000 /dev/zero > f; truncate -s 2000 g; wc -c f g")
    });
    assert!(outcome.stdout.contains("1000 f") && !outcome.stdout.contains("2000"), "{outcome:#?}");
    let limits = Limits { max_memory_bytes: 50 << 20, ..Limits::default() };
    let outcome = run(Start { limits, ..fixture.shell("x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo ${#x}") });
    assert!(!outcome.stdout.contains("100000000"), "{outcome:#?}");
}
