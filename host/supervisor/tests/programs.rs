//! Which files are run as programs, and which programs may open files.
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
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use paddock_supervisor::protocol::{AccessQuestion, Verdict};
use support::{Fixture, Outcome, Start, attack, begin, run, run_with, within_a_second};

const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/// Returns a command that may run only these programs.
fn naming(fixture: &Fixture, argv: &[&str], programs: &[&str]) -> Start {
    let loaders: Vec<_> = LOADERS.iter().filter(|path| Path::new(path).exists()).map(|&it| it.to_owned()).collect();
    let programs = programs.iter().map(|&it| it.to_owned()).chain(loaders.clone()).collect();
    let mut start = Start { programs: Some(programs), loaders, ..fixture.command(argv) };
    start.system.push(attack().to_owned());
    start
}

fn loader() -> &'static str {
    LOADERS.into_iter().find(|path| Path::new(path).exists()).unwrap()
}

fn is_refused(outcome: &Outcome, path: &str) -> bool {
    outcome.ended.refused.iter().any(|refused| refused.path.contains(path))
}

#[test]
fn a_loader_runs_no_program_that_is_not_named() {
    let fixture = Fixture::new();
    let (id, copied) = ("/usr/bin/id", fixture.root.join("mine"));
    fs::copy(id, &copied).unwrap();
    fs::set_permissions(&copied, PermissionsExt::from_mode(0o644)).unwrap();
    std::os::unix::fs::symlink(loader(), fixture.root.join("link")).unwrap();
    let copied = copied.display().to_string();
    for line in [
        format!("{} {id}", loader()),
        format!("{} --list {id}", loader()),
        format!("{} {copied}", loader()),
        format!("./link {copied}"),
        format!("exec {} {id}", loader()),
        format!("cd / && .{} {id}", loader()),
    ] {
        let outcome = run(naming(&fixture, &["/bin/sh", "-c", &line], &["/bin/sh"]));
        assert_ne!(outcome.ended.exit_code, Some(0), "{line}: {outcome:#?}");
        assert!(!outcome.stdout.contains("uid=") && !outcome.stdout.contains("libc"), "{line}: {outcome:#?}");
        assert!(is_refused(&outcome, "ld-linux"), "{line}: {outcome:#?}");
    }
    // The line works if all programs may be run.
    let line = format!("{} {id}", loader());
    assert!(run(fixture.shell(&line)).succeeded().stdout.contains("uid="));
    // The line works if the loader itself is named.
    let named = Start { loaders: Vec::new(), ..naming(&fixture, &["/bin/sh", "-c", &line], &["/bin/sh"]) };
    assert!(run(named).succeeded().stdout.contains("uid="));
}

#[test]
fn the_program_that_is_looked_at_is_the_one_that_runs() {
    // The path of the program alternates between the program and the loader while it is executed.
    let fixture = Fixture::new();
    let start = naming(
        &fixture,
        &[attack(), "run-swapped", "/usr/bin/env", loader(), "/usr/bin/id"],
        &[attack(), "/usr/bin/env"],
    );
    let outcome = run(start);
    assert!(outcome.stdout.contains("begun"), "{outcome:#?}");
    assert!(!outcome.stdout.contains("uid="), "{outcome:#?}");
}

#[test]
fn no_file_in_memory_is_run_where_programs_are_named() {
    let fixture = Fixture::new();
    for how in ["memory-program", "memory-program-mode"] {
        let outcome = run(naming(&fixture, &[attack(), how, "/usr/bin/id"], &[attack()]));
        assert_ne!(outcome.ended.exit_code, Some(0), "{how}: {outcome:#?}");
        assert!(!outcome.stdout.contains("uid="), "{how}: {outcome:#?}");
        // The file in memory can still be written and read.
        assert!(outcome.stdout.contains("written"), "{how}: {outcome:#?}");
    }
    let mut free = fixture.command(&[attack(), "memory-program", "/usr/bin/id"]);
    free.system.push(attack().to_owned());
    assert!(run(free).succeeded().stdout.contains("uid="));
}

const SECRET: &str =
    "#include <stdio.h>\nstatic const char key[] = \"API_KEY=hidden\";\nint main(void) { return puts(key + 8) < 0; }\n";
const PRELOADED: &str = "#define _GNU_SOURCE\n#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n\
__attribute__((constructor)) static void look(void) {\n\
    FILE *maps = fopen(\"/proc/self/maps\", \"r\"); char line[512];\n\
    while (maps && fgets(line, sizeof line, maps)) {\n\
        unsigned long from, to; char may[8];\n\
        if (sscanf(line, \"%lx-%lx %7s\", &from, &to, may) != 3 || may[0] != 'r' || !strstr(line, \"secret\")) continue;\n\
        void *found = memmem((void *)from, to - from, \"API_KEY=\", 8);\n\
        if (found) printf(\"%.40s\\n\", (char *)found);\n\
    }\n\
    fflush(stdout); _exit(0);\n\
}\n";

fn compile(source: &str, to: &Path, flags: &[&str]) {
    let file = to.with_extension("c");
    fs::write(&file, source).unwrap();
    assert!(Command::new("cc").args(flags).arg("-o").arg(to).arg(&file).status().unwrap().success());
    fs::remove_file(file).unwrap();
}

fn hides(question: &AccessQuestion) -> Verdict {
    let is_hidden = question.path.rsplit('/').next().is_some_and(|name| name.starts_with("secret"));
    Verdict { refused: is_hidden.then(|| "the rules say so".to_owned()), ..Verdict::default() }
}

#[test]
fn a_hidden_program_is_not_run() {
    let fixture = Fixture::new();
    compile(SECRET, &fixture.root.join("secret"), &[]);
    compile(SECRET, &fixture.root.join("secret-static"), &["-static"]);
    compile(SECRET, &fixture.root.join("open"), &[]);
    compile(PRELOADED, &fixture.root.join("look.so"), &["-shared", "-fPIC"]);
    for line in [
        "./secret",
        "./secret-static",
        "LD_PRELOAD=$PWD/look.so ./secret",
        "ln -s secret other && LD_PRELOAD=$PWD/look.so ./other",
        "exec ./secret",
        "/lib64/ld-linux-x86-64.so.2 ./secret",
    ] {
        let start = Start { rules: true, ..fixture.shell(line) };
        let outcome = run_with(start, hides);
        assert_ne!(outcome.ended.exit_code, Some(0), "{line}: {outcome:#?}");
        assert!(!outcome.stdout.contains("hidden"), "{line}: {outcome:#?}");
        assert!(is_refused(&outcome, "secret"), "{line}: {outcome:#?}");
        let _none = fs::remove_file(fixture.root.join("other"));
    }
    let start = Start { rules: true, ..fixture.shell("./open && LD_PRELOAD=$PWD/look.so ./open") };
    assert_eq!(run_with(start, hides).succeeded().stdout, "hidden\n");
}

#[test]
fn a_hidden_program_that_is_run_by_a_race_opens_nothing() {
    let fixture = Fixture::new();
    compile(SECRET, &fixture.root.join("secret"), &[]);
    compile(PRELOADED, &fixture.root.join("look.so"), &["-shared", "-fPIC"]);
    let secret = fixture.inside("secret");
    let preloaded = format!("LD_PRELOAD={}", fixture.inside("look.so"));
    let mut start = fixture.command(&[attack(), "run-swapped", "/usr/bin/true", &secret, &preloaded]);
    start.system.push(attack().to_owned());
    let outcome = run_with(Start { rules: true, ..start }, hides);
    assert!(outcome.stdout.contains("begun") && !outcome.stdout.contains("hidden"), "{outcome:#?}");
}

#[test]
fn a_removed_file_is_not_opened_by_a_descriptor_from_before() {
    let fixture = Fixture::new();
    fixture.write("conf/secret", "hidden\n");
    fixture.write("conf/open", "shown\n");
    let go = fixture.inside("go");
    for (name, expected) in [("secret", false), ("open", false)] {
        let _none = fs::remove_file(&go);
        let _none = fs::rename(fixture.root.join("moved"), fixture.root.join("conf"));
        let path = fixture.inside(&format!("conf/{name}"));
        let moved = (fixture.inside("conf"), fixture.inside("moved"));
        let mut start = fixture.command(&[attack(), "removed-moved", &path, &moved.0, &moved.1, &go]);
        start.system.push(attack().to_owned());
        let running = begin(Start { rules: true, ..start });
        let signal = go.clone();
        let waiting = std::thread::spawn(move || {
            // By then the command has opened the file.
            std::thread::sleep(std::time::Duration::from_millis(300));
            fs::remove_file(path).unwrap();
            fs::write(signal, "").unwrap();
        });
        let outcome = running.finish(hides);
        waiting.join().unwrap();
        assert!(outcome.stdout.starts_with("begun"), "{outcome:#?}");
        assert_eq!(outcome.stdout.contains("hidden") || outcome.stdout.contains("shown"), expected, "{outcome:#?}");
        assert!(is_refused(&outcome, name), "{outcome:#?}");
    }
    // The command may reopen files that it has opened or created.
    let script = "echo mine > made; exec 3< made; rm made; cat /proc/self/fd/3
        exec 4< conf/kept; rm conf/kept; mv conf other; cat /proc/self/fd/4";
    let _none = fs::rename(fixture.root.join("moved"), fixture.root.join("conf"));
    fixture.write("conf/kept", "kept\n");
    assert_eq!(run_with(Start { rules: true, ..fixture.shell(script) }, hides).succeeded().stdout, "mine\nkept\n");
    assert!(within_a_second(|| !fixture.root.join("made").exists()));
}

#[test]
fn a_verdict_on_reading_is_asked_again_after_a_while() {
    let fixture = Fixture::new();
    fixture.write("open.txt", "open\n");
    let mut count = 0;
    let script = "cat open.txt open.txt; sleep 1; cat open.txt";
    let outcome = run_with(Start { rules: true, ..fixture.shell(script) }, |question| {
        count += usize::from(question.path.ends_with("open.txt"));
        Verdict { refused: (count > 1).then(|| "a rule came to be".to_owned()), ..Verdict::default() }
    });
    assert_eq!(outcome.stdout, "open\nopen\n", "{outcome:#?}");
    assert_eq!(count, 2);
}
