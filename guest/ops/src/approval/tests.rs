//! Tests of the plan of each operation, and of the operations that need approval with `on-delete`.

use paddock_types::request::{
    ApplyPatch, Edit, MakeDir, Matching, Move, Pack, Replacement, Restore, Transfer, Unpack, Write,
};
use paddock_types::response::Response;

use super::*;
use crate::fixture::Fixture;

const FILES: &[(&str, &[u8])] = &[
    ("a.txt", b"one\ntwo\n"),
    ("b.txt", b"bee\n"),
    ("crlf.txt", b"one\r\n"),
    ("bytes", b"\0\x01\x02"),
    ("utf16.txt", b"\xff\xfea\0\n\0"),
];

/// Returns the plan of a call, or `None` if the call needs no approval.
fn pending_plan(fixture: &Fixture, approval: Approval, request: &Request) -> Option<Plan> {
    let mut policy = fixture.policy.clone();
    policy.rules.approval = approval;
    let workspace = crate::open(&fixture.memory, &policy, request.access()).unwrap();
    match check(&workspace, request) {
        Ok(()) => None,
        Err(error) => Some(*error.plan.clone().unwrap_or_else(|| panic!("{}", error.message()))),
    }
}

fn plan(fixture: &Fixture, request: &Request) -> Plan {
    pending_plan(fixture, Approval::OnChange, request).expect("a plan")
}

#[track_caller]
fn check_plan(request: Request, expected: &str) {
    assert_eq!(plan(&Fixture::new(FILES), &request).summary, expected);
}

#[track_caller]
fn check_needs_approval(fixture: &Fixture, request: &Request, needs_approval: bool) {
    assert_eq!(pending_plan(fixture, Approval::OnDelete, request).is_some(), needs_approval, "{request:?}");
}

fn write(path: &str, content: &str) -> Request {
    Request::Write(Write { path: path.to_owned(), content: content.to_owned(), ..Write::default() })
}

fn edit(old: &str, new: &str) -> Request {
    let edit = Replacement { old_text: old.to_owned(), new_text: new.to_owned(), replace_all: false };
    Request::Edit(Edit { path: "long".to_owned(), edits: vec![edit], ..Edit::default() })
}

fn patch(lines: &str, matching: Matching) -> Request {
    let patch = format!("*** Begin Patch\n{lines}*** End Patch\n");
    Request::ApplyPatch(ApplyPatch { patch, dry_run: false, matching })
}

fn transfer(source: &str, destination: &str, overwrite: bool) -> Transfer {
    Transfer { source: source.to_owned(), destination: destination.to_owned(), overwrite, recursive: true }
}

#[test]
fn a_written_file_is_shown_as_a_diff() {
    check_plan(
        write("a.txt", "one\n2\n"),
        "write `a.txt` (a file of 8 bytes)\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
    );
    check_plan(
        write("new", "first\nsecond"),
        "write `new` (nothing there now)\n--- a/new\n+++ b/new\n@@ -0,0 +1,2 @@\n+first\n+second\n\\ No newline at end of file\n",
    );
    check_plan(
        Request::Write(Write {
            path: "a.txt".to_owned(),
            content: "three\n".to_owned(),
            append: true,
            ..Write::default()
        }),
        "append to `a.txt` (a file of 8 bytes)\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n two\n+three\n",
    );
    check_plan(write("a.txt", "one\ntwo\n"), "write `a.txt` (a file of 8 bytes)\nthe content stays the same\n");
    check_plan(
        write("n\nl", "x\n"),
        "write `n\\nl` (nothing there now)\n--- a/n\\nl\n+++ b/n\\nl\n@@ -0,0 +1 @@\n+x\n",
    );
    check_plan(
        write("crlf.txt", "one\n"),
        "write `crlf.txt` (a file of 5 bytes)\n--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1 +1 @@\n-one\r\n+one\n",
    );
}

#[test]
fn content_that_is_not_text_is_shown_by_size_and_digest() {
    let before = "content before: 3 bytes, binary or too large to show, SHA-256 ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc\n";
    check_plan(
        write("bytes", "x\n"),
        &format!("write `bytes` (a file of 3 bytes)\n{before}--- a/bytes\n+++ b/bytes\n@@ -0,0 +1 @@\n+x\n"),
    );
    check_plan(
        write("b.txt", "\0"),
        "write `b.txt` (a file of 4 bytes)\n\
         content after: 1 bytes, binary or too large to show, SHA-256 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d\n",
    );
    // The text is the same, and the bytes are not.
    let utf8 = Write {
        path: "utf16.txt".to_owned(),
        content: "a\n".to_owned(),
        encoding: Some("utf-8".to_owned()),
        ..Write::default()
    };
    check_plan(
        Request::Write(utf8),
        "write `utf16.txt` (a file of 6 bytes)\n\
         encoding: UTF-16LE with a byte order mark, then UTF-8\nthe text stays the same\n",
    );
}

/// Of a long line, the plan shows the columns that change, and says how much of it does not change.
#[test]
fn the_change_of_a_long_line_is_shown() {
    let line = format!("{}evil = 0;{}\n", "x".repeat(60_000), "y".repeat(60_000));
    let fixture = Fixture::new(&[("long", line.as_bytes())]);
    let text = plan(&fixture, &edit("evil = 0", "evil = 1")).summary;
    let (head, tail) = ("x".repeat(193), "y".repeat(199));
    let rest = "\\ 59807 bytes before this part of the line and 59801 after it do not change\n";
    assert_eq!(
        text,
        format!(
            "edit `long` (a file of 120010 bytes)\n--- a/long\n+++ b/long\n@@ -1 +1 @@\n\
             -{head}evil = 0;{tail}\n{rest}+{head}evil = 1;{tail}\n{rest}"
        )
    );
    // Changed text is shown whole.
    let text = plan(&fixture, &edit("evil = 0", &"new ".repeat(5_000))).summary;
    assert!(text.contains(&"new ".repeat(5_000)), "{} bytes", text.len());
    // So is all text between two changes.
    let edits = ["xxevil", "yy\n"].map(|old| Replacement {
        old_text: old.to_owned(),
        new_text: "changed\n".to_owned(),
        replace_all: false,
    });
    let request = Request::Edit(Edit { path: "long".to_owned(), edits: edits.to_vec(), ..Edit::default() });
    assert_eq!(plan(&fixture, &request).summary.matches("changed\n").count(), 2);
}

/// A plan beyond the bound says how much it leaves out, and a change in the part that is left out is another plan.
#[test]
fn a_plan_says_what_it_leaves_out() {
    let fixture = Fixture::new(&[]);
    let content = "a line of text\n".repeat(100_000);
    let whole = plan(&fixture, &write("big", &content));
    assert!(whole.summary.len() <= 257 * 1024, "{} bytes", whole.summary.len());
    let (rendered, last) = whole.summary.trim_end().rsplit_once('\n').unwrap();
    let omitted = 100_000 - rendered.lines().filter(|line| *line == "+a line of text").count();
    let start =
        format!("… {omitted} lines with {} bytes are not shown, SHA-256 of the whole text: ", whole.omitted_bytes);
    assert!(omitted > 1 && last.starts_with(&start), "{last}\n{start}");
    assert!(whole.omitted_bytes > 1_200_000, "{}", whole.omitted_bytes);
    assert_eq!(plan(&fixture, &write("big", "short\n")).omitted_bytes, 0);
}

/// A patch is shown as the change that it makes, and not as the text that the model wrote.
#[test]
fn a_patch_is_shown_by_its_effect() {
    let update = "*** Update File: a.txt\n@@\n-two\n+2\n";
    check_plan(
        patch(update, Matching::Corrected),
        "change `a.txt` (a file of 8 bytes)\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
    );
    check_plan(
        patch(&format!("*** Delete File: b.txt\n{update}"), Matching::Corrected),
        "delete `b.txt` (a file of 4 bytes)\nchange `a.txt` (a file of 8 bytes)\n\
         --- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
    );
    check_plan(
        patch("*** Update File: a.txt\n*** Move to: c.txt\n@@\n-two\n+2\n", Matching::Corrected),
        "move `a.txt` (a file of 8 bytes)\nmove here `c.txt` (nothing there now)\n\
         --- a/c.txt\n+++ b/c.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
    );
}

#[test]
fn a_replaced_file_is_shown_and_asked_about() {
    let fixture = Fixture::new(FILES);
    let there = [
        patch("*** Delete File: a.txt\n*** Add File: a.txt\n+new\n", Matching::Corrected),
        patch(
            "*** Delete File: b.txt\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-two\n+2\n",
            Matching::Corrected,
        ),
        patch("*** Add File: a.txt\n+new\n", Matching::Codex),
        patch("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-two\n+2\n", Matching::Codex),
        Request::Copy(transfer("a.txt", "b.txt", true)),
        Request::Move(Move(transfer("a.txt", "b.txt", true))),
        Request::Pack(Pack { sources: vec!["a.txt".to_owned()], destination: "b.txt".to_owned(), overwrite: true }),
    ];
    there.iter().for_each(|request| check_needs_approval(&fixture, request, true));
    let free = [
        patch("*** Update File: a.txt\n@@\n-two\n+2\n", Matching::Corrected),
        patch("*** Add File: new\n+new\n", Matching::Codex),
        patch("*** Update File: a.txt\n*** Move to: new\n@@\n-two\n+2\n", Matching::Codex),
        Request::Copy(transfer("a.txt", "new", true)),
        Request::Move(Move(transfer("a.txt", "new", false))),
        Request::Pack(Pack { sources: vec!["a.txt".to_owned()], destination: "new".to_owned(), overwrite: true }),
        write("a.txt", "other\n"),
        Request::MakeDir(MakeDir { path: "new/dir".to_owned(), parents: true }),
    ];
    free.iter().for_each(|request| check_needs_approval(&fixture, request, false));
    check_plan(
        Request::Move(Move(transfer("a.txt", "b.txt", true))),
        "move `a.txt` (a file of 8 bytes)\nreplace `b.txt` (a file of 4 bytes)\n\
         --- a/b.txt\n+++ b/b.txt\n@@ -1 +1,2 @@\n-bee\n+one\n+two\n",
    );
    check_plan(
        Request::Copy(transfer("a.txt", "new", false)),
        "copy `a.txt` (a file of 8 bytes)\nto `new` (nothing there now)\n",
    );
    check_plan(
        patch("*** Delete File: b.txt\n*** Add File: b.txt\n+new\n", Matching::Corrected),
        "replace `b.txt` (a file of 4 bytes)\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-bee\n+new\n",
    );
}

#[test]
fn an_archive_is_shown_by_its_entries() {
    let fixture = Fixture::new(&[("src/new", b"new\n"), ("src/sub/same", b"same\n"), ("src/old", b"after\n")]);
    let sources = vec!["src/new".to_owned(), "src/sub".to_owned(), "src/old".to_owned()];
    let pack = Request::Pack(Pack { sources, destination: "in.zip".to_owned(), overwrite: false });
    assert_eq!(
        plan(&fixture, &pack).summary,
        "pack `src/new` (a file of 4 bytes)\npack `src/sub` (a directory with 1 entries)\n\
         pack `src/old` (a file of 6 bytes)\ninto the new archive `in.zip` (nothing there now)\n"
    );
    fixture.run(pack).unwrap();
    fixture.put("out/src/old", b"before\n");
    fixture.put("out/src/sub/same", b"same\n");
    let unpack = |destination: &str, overwrite| {
        Request::Unpack(Unpack { source: "in.zip".to_owned(), destination: destination.to_owned(), overwrite })
    };
    let rendered = plan(&fixture, &unpack("out", true));
    let (first, rest) = rendered.summary.split_once('\n').unwrap();
    assert!(first.starts_with("unpack `in.zip` (a file of "), "{first}");
    assert_eq!(
        rest,
        "create `out/src/new` (nothing there now)\nreplace `out/src/old` (a file of 7 bytes)\n\
         --- a/out/src/new\n+++ b/out/src/new\n@@ -0,0 +1 @@\n+new\n\
         --- a/out/src/old\n+++ b/out/src/old\n@@ -1 +1 @@\n-before\n+after\n"
    );
    assert_eq!(rendered.paths, ["in.zip", "out/src/new", "out/src/old"]);
    check_needs_approval(&fixture, &unpack("out", true), true);
    check_needs_approval(&fixture, &unpack("elsewhere", true), false);
    let summary = plan(&fixture, &unpack("x/y", false)).summary;
    assert!(summary.contains("make the directory `x/y` (nothing there now)\n"), "{summary}");
}

#[test]
fn an_undo_is_shown_by_its_effect() {
    let fixture = Fixture::new(FILES);
    let undo = |path: Option<&str>| {
        Request::Restore(Restore { path: path.map(str::to_owned), last: Some(1), ..Restore::default() })
    };
    let run = |request| {
        let backup = match fixture.run(request).unwrap().0 {
            Response::Write(write) => write.backup,
            Response::Move(transfer) => transfer.backup,
            other => panic!("{other:?}"),
        };
        backup.unwrap()
    };
    let id = run(write("a.txt", "1\n"));
    assert_eq!(
        plan(&fixture, &undo(None)).summary,
        format!(
            "undo the write of the backup {id}\nrestore `a.txt` (a file of 2 bytes)\n\
             --- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-1\n+one\n+two\n"
        )
    );
    let id = run(write("new", "new\n"));
    assert_eq!(
        plan(&fixture, &undo(None)).summary,
        format!("undo the write of the backup {id}\nremove `new` (a file of 4 bytes)\n")
    );
    let id = run(Request::Move(Move(transfer("new", "b.txt", true))));
    assert_eq!(
        plan(&fixture, &undo(None)).summary,
        format!(
            "undo the move of the backup {id}\nrestore `b.txt` (a file of 4 bytes)\n\
             move `b.txt` to `new` (nothing there now)\n\
             --- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-new\n+bee\n"
        )
    );
}

/// The changes that an undo of the last call makes may become others, while the files stay the same.
#[test]
fn an_approval_of_an_undo_is_for_one_backup() {
    let fixture = Fixture::new(FILES);
    fixture.run(write("a.txt", "2\n")).unwrap();
    let undo = Request::Restore(Restore { last: Some(1), ..Restore::default() });
    let first = plan(&fixture, &undo);
    fixture.run(write("a.txt", "3\n")).unwrap();
    fixture.run(write("a.txt", "2\n")).unwrap();
    let second = plan(&fixture, &undo);
    assert_eq!(first.paths, second.paths);
    assert_ne!(first.digest, second.digest);
}

#[test]
fn a_directory_is_shown_with_its_parents() {
    check_plan(
        Request::MakeDir(MakeDir { path: "x/y/z".to_owned(), parents: true }),
        "make the directory `x/y/z` (nothing there now)\nand 2 directories above it\n",
    );
}

/// An approval through a symbolic link is for the content behind it.
#[test]
fn an_archive_behind_a_link_is_part_of_the_plan() {
    let links: &[(&str, &[u8])] = &[("real", b"one\n"), ("link -> real", b"")];
    let pack = |fixture: &Fixture| {
        let sources = vec!["link".to_owned()];
        plan(fixture, &Request::Pack(Pack { sources, destination: "z.zip".to_owned(), overwrite: false }))
    };
    let other = Fixture::new(&[("real", b"two\n"), links[1]]);
    assert_ne!(pack(&Fixture::new(links)).digest, pack(&other).digest);
}
