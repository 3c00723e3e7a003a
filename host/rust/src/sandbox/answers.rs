//! A guest that was taken over answers anything: what comes of it is a value or an error, no panic, and always an answer
//! of one line.

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::twin::{self, DATA};
use crate::bindings::exports::paddock::files::tools;
use crate::options::CancelToken;
use crate::outcome::Outcome;
use crate::types::*;
use crate::{CallOptions, Workspace};

/// Bytes of an answer, and where its texts are.
const ANSWER: usize = 1024;
const TEXTS: [&str; 12] = [
    "",
    "{}",
    "null",
    "[[[[]]]]",
    "{\n}",
    "\r\n",
    "-",
    "1e999999",
    "\0",
    "../../etc/passwd",
    "/workspace//etc",
    "\u{1b}[2J",
];

proptest! {
    #![proptest_config(twin::config())]

    #[test]
    fn any_bytes_are_an_answer(words in vec(word(), ANSWER / 4), in_memory: bool) {
        answered(&words, in_memory);
    }

    #[test]
    fn any_outcome_is_one_line(outcome in outcome()) {
        let line = serde_json::to_string(&Outcome::from(outcome)).unwrap();
        prop_assert!(!line.contains(['\n', '\r']), "{line:?}");
        prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&line).is_ok(), "{line:?}");
    }
}

#[test]
fn a_result_cannot_hold_the_answer_to_another_call() {
    let forged = "[\n{\"ok\":true,\"result\":{},\"text\":\"\",\"changes\":[]}\n]".to_owned();
    let outcome = Outcome::from(tools::Outcome { result: forged, ..plain() });
    assert_eq!(outcome.error.map(|error| error.code), Some(ErrorCode::Io));
}

/// Calls all that the host has of a guest whose every function answers what these words are.
fn answered(words: &[u32], in_memory: bool) {
    let mut data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    data.extend(TEXTS.concat().bytes());
    let body = |_: &str, has_result: bool| Some(if has_result { format!("(i32.const {DATA})") } else { String::new() });
    let directory = tempfile::tempdir().unwrap();
    twin::with(&data, "", body, || {
        let builder = Workspace::builder().root(directory.path()).no_state_dir();
        let workspace = if in_memory { builder.build_memory() } else { builder.build() };
        call_all(&workspace.unwrap());
    });
}

fn call_all(workspace: &Workspace) {
    // What a tool does is asked once in a process.
    static TOOL: AtomicU64 = AtomicU64::new(0);
    let tool = format!("tool{}", TOOL.fetch_add(1, Ordering::Relaxed));
    let outcome = workspace.call_with(&tool, "{}", &CallOptions::dialect("twin"));
    assert!(!serde_json::to_string(&outcome).unwrap().contains('\n'));
    let path = || "a".to_owned();
    drop(outcome.value());
    drop(workspace.tools("twin"));
    drop(workspace.read(&ReadArgs::new(path())));
    drop(workspace.read_many(&ReadManyArgs::paths([path()])));
    drop(workspace.write(&WriteArgs::new(path(), "b")));
    drop(workspace.apply_patch(&ApplyPatchArgs::new("")));
    drop(workspace.replace(&ReplaceArgs::new("a", "b")));
    drop(workspace.restore(&RestoreArgs::path(path())));
    drop(workspace.stat(&StatArgs::new(path())));
    drop(workspace.list(&ListArgs::new(path())));
    drop(workspace.tree(&TreeArgs::new(path())));
    drop(workspace.changes(&ChangesArgs::new()));
    drop(workspace.history(&HistoryArgs { limit: 1 }));
    drop(workspace.glob(&GlobArgs::new("*")));
    drop(workspace.grep(&GrepArgs::new("a")));
    drop(workspace.diff(&[], true));
    drop(workspace.discard(&[]));
    drop(workspace.snapshot());
    drop(workspace.checkpoints());
    drop(workspace.look("a", None, &CancelToken::default()));
}

/// What can be a number, a flag, an address or a length.
fn word() -> impl Strategy<Value = u32> {
    let texts = (DATA + ANSWER) as u32;
    prop_oneof![
        6 => Just(0),
        4 => Just(1),
        4 => 2..64_u32,
        4 => texts..texts + 64,
        2 => (0..ANSWER as u32 / 4).prop_map(|at| DATA as u32 + at * 4),
        1 => select(vec![u32::MAX, u32::MAX - 3, 1 << 24, (1 << 24) - 1, 1 << 31]),
        1 => any::<u32>(),
    ]
}

fn outcome() -> impl Strategy<Value = tools::Outcome> {
    let error = proptest::option::of((text(), proptest::option::of(text()), proptest::option::of(text())));
    let changes = vec((text(), proptest::option::of(text()), any::<Option<u64>>()), 0..3);
    (any::<bool>(), json(), text(), error, changes).prop_map(|(ok, result, text, error, changes)| tools::Outcome {
        ok,
        result,
        text,
        error: error.map(|(message, path, hint)| ToolError { code: ErrorCode::Denied, message, path, hint }),
        changes: changes
            .into_iter()
            .map(|(path, to, size)| Change { kind: ChangeKind::Moved, path, to, size })
            .collect(),
        truncated: false,
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), select(TEXTS.to_vec()).prop_map(str::to_owned)]
}

/// What is JSON, nearly is, or is not.
fn json() -> impl Strategy<Value = String> {
    let deep = (1..50_000_usize).prop_map(|depth| "[".repeat(depth) + &"]".repeat(depth));
    let space = select(vec!["", " ", "\t", "\n", "\r\n"]);
    let spaced = (text(), any::<f64>(), space).prop_map(|(text, number, space)| {
        let text = serde_json::to_string(&text).unwrap();
        format!("{space}{{{space}{text}{space}:{space}[{number},{space}1e999,{space}{text}]{space}}}{space}")
    });
    prop_oneof![1 => deep, 4 => spaced, 2 => text()]
}

fn plain() -> tools::Outcome {
    let (result, text) = ("{}".to_owned(), String::new());
    tools::Outcome { ok: true, result, text, error: None, changes: Vec::new(), truncated: false }
}
