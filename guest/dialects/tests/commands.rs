//! Texts of commands: output, remarks and sessions.

use std::rc::Rc;

use paddock_dialects::commands::{quoted, remarks, sessions};
use paddock_dialects::dialect::Names;
use paddock_dialects::registry::find;
use paddock_dialects::{codex, commands, paddock};
use paddock_types::response::{Captured, Change, ChangeKind, Ran, Refused, Session, Sessions, Unread};

fn captured(text: &str) -> Captured {
    Captured { text: text.to_owned(), bytes: text.len() as u64, ..Captured::default() }
}

fn text(ran: &Ran) -> String {
    commands::text(ran, &paddock::DIALECT.names(None))
}

#[test]
fn words_reach_the_shell_as_they_are() {
    assert_eq!(quoted(["ls", "-la", "a b", "it's", "", "$HOME", "a\nb"]), "ls -la 'a b' 'it'\\''s' '' '$HOME' 'a\nb'");
    // Words that the shell would interpret are quoted: an assignment, a home directory, braces, a reserved word.
    assert_eq!(quoted(["A=b", "~/x", "{a,b}", "!"]), "'A=b' '~/x' '{a,b}' '!'");
}

#[test]
fn output_end_changes_and_refusals_are_reported() {
    let changes: Vec<_> = (0..25)
        .map(|number| Change { kind: ChangeKind::Created, path: format!("{number}"), to: None, size: Some(1) })
        .collect();
    let ran = Ran {
        exit_code: Some(2),
        duration_ms: 1_249,
        stdout: captured("one"),
        stderr: Captured { bytes: 9_000, truncated: true, omitted: 8_996, ..captured("bad\n") },
        changes,
        total_changes: 25,
        ignored: 3,
        backup: Some("B".to_owned()),
        refused: vec![Refused { path: "/home/me/\u{1b}key".to_owned(), cause: "it is in no root".to_owned() }],
        confinement: "none: unconfined".to_owned(),
        notes: vec!["a note".to_owned()],
        ..Ran::default()
    };
    let names = (0..20).map(|number| format!("created {number}")).collect::<Vec<_>>().join(", ");
    let expected = format!(
        "one\n[stderr]\nbad\n[exit code 2 after 1.2 s]\n[8996 of 9000 bytes of standard error are left out]\n\
         [{names}, and 5 more; backup B undoes it]\n[3 changed file(s) that ignore rules hide or Git keeps are in no backup]\n\
         [refused access to `/home/me/\\u{{1b}}key`: it is in no root]\n[it ran unconfined]\n[a note]"
    );
    assert_eq!(text(&ran), expected);
}

#[test]
fn cut_output_names_the_tool_that_continues_it() {
    let cut = Captured { bytes: 9_000, truncated: true, omitted: 8_996, ..captured("bad\n") };
    let unread = Some(Unread { session: 3, offset: 4 });
    let ran = Ran { exit_code: Some(0), stdout: cut.clone(), stderr: cut, unread, ..Ran::default() };
    let own = "[8996 of 9000 bytes of output are left out; `write_stdin` with `session_id` 3 and `offset` 4 continues]\n\
               [8996 of 9000 bytes of standard error are left out]";
    assert!(text(&ran).ends_with(own), "{}", text(&ran));
    // The tool of Codex has no such argument, so the remark does not name it.
    let other = remarks(&ran, &codex::DIALECT.names(None));
    assert_eq!(other.first().unwrap(), "[8996 of 9000 bytes of output are left out]");
}

/// The list has a command tool, but not the tool that reads the rest of its output.
#[test]
fn a_combination_names_only_a_tool_that_it_has() {
    let cut = Captured { bytes: 9_000, truncated: true, omitted: 8_996, ..captured("bad\n") };
    let unread = Some(Unread { session: 3, offset: 4 });
    let ran = Ran { exit_code: Some(0), stdout: cut, unread, ..Ran::default() };
    let rendered_text = |list: &str, tool: &str| {
        let tools = Rc::new(find(list).unwrap());
        let names = Names::of(&tools, tools.entry(tool).unwrap());
        remarks(&ran, &names).remove(0)
    };
    for (list, tool) in [
        ("anthropic,paddock:shell", "shell"),
        ("anthropic,codex:exec_command", "exec_command"),
        ("paddock:grep,codex:exec_command", "exec_command"),
        ("paddock:shell,codex:write_stdin", "shell"),
        ("codex", "exec_command"),
    ] {
        assert_eq!(rendered_text(list, tool), "[8996 of 9000 bytes of output are left out]", "{list}");
    }
    for (list, tool) in
        [("paddock:shell,write_stdin", "shell"), ("codex:exec_command,paddock:write_stdin", "exec_command")]
    {
        assert!(rendered_text(list, tool).contains("; `write_stdin` with"), "{list}");
    }
}

#[test]
fn a_cause_is_reported_once_with_its_count() {
    let refused = |path: &str, cause: &str| Refused { path: path.to_owned(), cause: cause.to_owned() };
    let mut all: Vec<_> = (0..20).map(|number| refused(&format!("/x{number}"), "outside")).collect();
    all.insert(1, refused("/y", "protected"));
    let ran = Ran { exit_code: Some(0), refused: all, ..Ran::default() };
    let expected = "[exit code 0 after 0.0 s]\n[refused access to 20 paths: `/x0`, `/x1`, `/x2` and 17 more: outside]\n\
                    [refused access to `/y`: protected]";
    assert_eq!(text(&ran), expected);
}

#[test]
fn each_kind_of_end_has_its_own_text() {
    let end = |ran: Ran| text(&ran);
    assert_eq!(end(Ran { session: Some(3), ..Ran::default() }), "[session 3 runs, after 0.0 s]");
    assert_eq!(
        end(Ran { timed_out: true, signal: Some("SIGKILL".to_owned()), duration_ms: 60_049, ..Ran::default() }),
        "[its time was up: ended after 60.0 s]"
    );
    assert_eq!(end(Ran { signal: Some("SIGSEGV".to_owned()), ..Ran::default() }), "[ended by SIGSEGV after 0.0 s]");
    assert_eq!(end(Ran::default()), "[ended after 0.0 s]");
}

#[test]
fn sessions_are_lines() {
    let one = Session { id: 7, command: "sleep\t9".to_owned(), age_ms: 12_345, running: true };
    assert_eq!(sessions(&Sessions { sessions: vec![one] }), "7\truns\t12.3 s\tsleep\\t9");
    assert_eq!(sessions(&Sessions { sessions: Vec::new() }), "no session");
}
