//! Tests with a hostile component that returns arbitrary answers. The host returns a value or an error and does not
//! panic, and each answer has one line.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::mock_guest::{self, DATA};
use crate::bindings::exports::paddock::files::commands::{Request, Script};
use crate::bindings::exports::paddock::files::tools;
use crate::call::Call;
use crate::outcome::Outcome;
use crate::types::*;

mod calls;
mod prepared;

use calls::{Fixture, Where, anywhere, call_all};
use prepared::{Answers, answers};

/// Size in bytes of an arbitrary answer, and texts that it may contain.
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
    #![proptest_config(mock_guest::config())]

    #[test]
    fn any_bytes_are_an_answer(answers in answers(), kind in anywhere()) {
        answered(&answers, kind);
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

/// Without this test, prepared answers could all be invalid, and would test nothing else.
#[test]
fn prepared_answers_are_valid() {
    let (answers, fixture) = (Answers::plain(), Fixture::new());
    with(&answers, || {
        let workspace = fixture.workspace(Where::Directory);
        let request_of = |length: usize| {
            let arguments = " ".repeat(length);
            let request = workspace.guests().run(&Call::unwatched(false), async |guest, store| {
                guest.commands(&mut *store)?.call_get_request(store, "", "", &arguments).await
            });
            request.unwrap().unwrap().unwrap()
        };
        assert!(matches!(request_of(0), Request::Run(run) if matches!(run.script, Script::Shell(_))));
        assert!(matches!(request_of(1), Request::Start(start) if start.size == (80, 24) && start.yield_ms == 100));
        assert!(
            matches!(request_of(2), Request::Write(write) if write.size == Some((80, 24)) && write.yield_ms == 100)
        );
        assert!(matches!(request_of(3), Request::Sessions));
        assert!(matches!(request_of(4), Request::Kill(1)));
        let differences = workspace.diff(&[], true).unwrap().differences;
        let is_file = |it: &Difference| [it.was, it.is] == [Some(EntryKind::File); 2] && it.content.is_some();
        assert!(!differences.is_empty() && differences.iter().all(is_file), "{differences:?}");
    });
}

/// Makes every call of the host to a guest, whose functions return these answers.
fn answered(answers: &Answers, kind: Where) {
    let fixture = Fixture::new();
    with(answers, || call_all(&fixture.workspace(kind), &fixture));
}

fn with(answers: &Answers, work: impl FnOnce()) {
    let body = |function: &str, has_result: bool| Some(answers.body(function, has_result));
    mock_guest::with(&answers.memory(), "", body, work);
}

/// Returns words that can be numbers, flags, addresses or lengths.
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

/// Returns texts that are JSON, almost JSON, or no JSON.
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
