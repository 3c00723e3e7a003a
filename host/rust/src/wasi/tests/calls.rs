//! Calls of a hostile guest: any of the functions that the component imports, with any arguments.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;

use super::fixture::{CANARY, Fixture, SIZE};
use crate::budget::CallBudget;
use crate::engine::runtime;
use crate::policy::Limits;
use crate::sandbox::{Sandbox, mock_guest};
use crate::store::SandboxConfig;
use crate::types::ErrorCode;

/// Functions that the component imports. Each letter stands for a parameter: `d` a directory or file, `e` a
/// listing, `s` a stream, `w` a pollable, `n` a name, `b` bytes, `p`, `o` and `m` the flags of a path, an open and
/// a descriptor, `l` a length or offset, `r` the address of the result. The number is the weight of the function.
const FUNCTIONS: [(&str, &str, u32); 25] = [
    ("types [method]descriptor.open-at", "dpnomr", 12),
    ("types [method]descriptor.read", "dllr", 8),
    ("types [method]descriptor.write", "dblr", 4),
    ("types [method]descriptor.stat-at", "dpnr", 6),
    ("types [method]descriptor.stat", "dr", 2),
    ("types [method]descriptor.read-directory", "dr", 4),
    ("types [method]directory-entry-stream.read-directory-entry", "er", 4),
    ("types [method]descriptor.readlink-at", "dnr", 3),
    ("types [method]descriptor.symlink-at", "dnnr", 4),
    ("types [method]descriptor.link-at", "dpndnr", 4),
    ("types [method]descriptor.rename-at", "dndnr", 6),
    ("types [method]descriptor.create-directory-at", "dnr", 2),
    ("types [method]descriptor.remove-directory-at", "dnr", 2),
    ("types [method]descriptor.unlink-file-at", "dnr", 3),
    ("types [method]descriptor.set-size", "dlr", 3),
    ("types [method]descriptor.sync", "dr", 1),
    ("types [resource-drop]descriptor", "d", 1),
    ("types [resource-drop]directory-entry-stream", "e", 1),
    ("preopens get-directories", "r", 1),
    ("environment get-environment", "r", 1),
    ("streams [method]output-stream.check-write", "sr", 1),
    ("streams [method]output-stream.write", "sbr", 1),
    ("streams [method]output-stream.blocking-flush", "sr", 1),
    ("streams [method]output-stream.subscribe", "s", 1),
    ("poll [method]pollable.block", "w", 1),
];

/// Number of descriptors that a guest stores. Initially they are the two roots, alternately.
const SLOTS: usize = 8;
/// Maximum size in bytes of a function's result.
const ANSWER: usize = 128;
const MAX_CALLS: usize = 48;
/// Address of the results.
const ANSWERS: usize = mock_guest::HEAP - (MAX_CALLS + 2) * ANSWER;
/// Names of entries, in the workspace and in the read-only root, and paths that are no names.
const NAMES: [&str; 45] = [
    "f",
    "d",
    "d/g",
    "d/deep",
    "out",
    "d/out",
    "file",
    "absolute",
    "up",
    "loop",
    "fifo",
    "d/../fifo",
    ".",
    "..",
    "",
    "/",
    "//",
    "./f",
    "f/",
    "d/.",
    "out/",
    "out/f",
    "absolute/f",
    "up/outside/f",
    "../outside",
    "../outside/f",
    "d/../../outside/f",
    "d/deep/../../../outside/f",
    "../ro/f",
    "{outside}",
    "{outside}/f",
    "new",
    "own",
    "own/f",
    "key",
    "root",
    "above",
    "above/root",
    "reserved",
    ".paddock-mode-0777",
    ".paddock-a.tmp",
    ".paddock-b.tmp",
    "f\0",
    "\u{202e}f",
    "d\\g",
];

#[derive(Clone, Debug)]
pub(super) struct Calls(Vec<Call>);

#[derive(Clone, Debug)]
struct Call {
    function: &'static str,
    arguments: Vec<Argument>,
    /// Index at which the opened descriptor is stored.
    into: usize,
}

#[derive(Clone, Debug)]
enum Argument {
    SystemFile(usize),
    Listing,
    Stream,
    Waiting,
    Text(Vec<u8>),
    Number(u32),
    Long(u64),
    /// Arbitrary address and length of a text or a buffer; they can be out of bounds.
    Wild(u32, u32),
    Answer,
}

pub(super) fn strategy() -> impl Strategy<Value = Calls> {
    vec(call(), 1..MAX_CALLS).prop_map(Calls)
}

fn call() -> impl Strategy<Value = Call> {
    let functions = FUNCTIONS.map(|(function, takes, weight)| (weight, Just((function, takes))));
    proptest::strategy::Union::new_weighted(functions.to_vec()).prop_flat_map(|(function, takes)| {
        let arguments: Vec<_> = takes.chars().map(argument).collect();
        (arguments, 0..SLOTS).prop_map(move |(arguments, into)| Call { function, arguments, into })
    })
}

fn argument(takes: char) -> BoxedStrategy<Argument> {
    let wild = || (any_number(), any_number()).prop_map(|(at, length)| Argument::Wild(at, length));
    match takes {
        'd' => {
            prop_oneof![200 => (0..SLOTS).prop_map(Argument::SystemFile), 1 => any_number().prop_map(Argument::Number)]
                .boxed()
        }
        'e' => prop_oneof![50 => Just(Argument::Listing), 1 => any_number().prop_map(Argument::Number)].boxed(),
        's' => prop_oneof![50 => Just(Argument::Stream), 1 => any_number().prop_map(Argument::Number)].boxed(),
        'w' => prop_oneof![50 => Just(Argument::Waiting), 1 => any_number().prop_map(Argument::Number)].boxed(),
        'n' => prop_oneof![200 => name(), 1 => wild()].boxed(),
        'b' => prop_oneof![50 => vec(any::<u8>(), 0..64).prop_map(Argument::Text), 1 => wild()].boxed(),
        'p' => prop_oneof![3 => Just(0), 1 => Just(1)].prop_map(Argument::Number).boxed(),
        // `o`: create, directory, exclusive, truncate. `m`: read, write, three kinds of sync, change a directory.
        'o' => prop_oneof![4 => Just(0), 2 => Just(2), 1 => Just(5), 2 => 0..16_u32].prop_map(Argument::Number).boxed(),
        'm' => prop_oneof![4 => Just(1), 4 => Just(3), 1 => 0..64_u32].prop_map(Argument::Number).boxed(),
        'l' => long().prop_map(Argument::Long).boxed(),
        _ => prop_oneof![200 => Just(Argument::Answer), 1 => any_number().prop_map(Argument::Number)].boxed(),
    }
}

fn name() -> impl Strategy<Value = Argument> {
    let known = proptest::sample::select(NAMES.to_vec()).prop_map(|name| name.as_bytes().to_vec());
    let long = (0..6_000_usize).prop_map(|length| vec![b'a'; length]);
    prop_oneof![
        40 => known,
        30 => proptest::sample::select(vec!["f", ".paddock-a.tmp", "out", "file", "own", "key", "above", "reserved"]).prop_map(|name| name.as_bytes().to_vec()),
        2 => any::<String>().prop_map(String::into_bytes),
        1 => long,
        1 => vec(any::<u8>(), 0..8),
    ]
    .prop_map(Argument::Text)
}

fn long() -> impl Strategy<Value = u64> {
    let edges = [0, 1, 1 << 20, (1 << 31) - 1, 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX];
    prop_oneof![3 => 0..100_u64, 3 => proptest::sample::select(edges.to_vec()), 1 => any::<u64>()]
}

fn any_number() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 0..64_u32, Just(mock_guest::HEAP as u32), Just(u32::MAX), any::<u32>()]
}

impl Calls {
    /// Makes the calls in a guest. Returns whether the guest read anything from outside.
    pub(super) fn make(&self, fixture: &Fixture) -> bool {
        let mut data = Vec::new();
        let body = self.body(&mut data, &fixture.outside());
        let export = |name: &str, _| (name == "paddock:files/tools@0.1.0#dialects").then(|| body.clone());
        let mounts = fixture.mounts();
        let ended = mock_guest::with(&data, &fields(), export, || {
            let limits = Limits { max_memory_bytes: 64 << 20, ..Limits::default() };
            let guarded = fixture.guarded(&mounts);
            let around = SandboxConfig { mounts: &mounts, environment: &[], limits: &limits, guarded: &guarded };
            let budget = CallBudget::within(std::time::Duration::from_secs(20));
            let mut guest = Sandbox::new(runtime().unwrap(), &around, budget.clone()).unwrap();
            guest.run(budget, async |guest, store| guest.tools(&mut *store)?.call_dialects(store).await)
        });
        match ended {
            Ok(leaks) => !leaks.is_empty(),
            Err(error) => {
                assert!(matches!(error.code, ErrorCode::Io | ErrorCode::LimitExceeded), "{error:?}");
                false
            }
        }
    }

    /// Returns the body of the guest's function. It returns a list of one text if it reads anything from outside,
    /// and otherwise an empty list.
    fn body(&self, data: &mut Vec<u8>, outside: &str) -> String {
        let mut text = format!("(local $listing i32) {}", opening());
        for (number, call) in self.0.iter().enumerate() {
            let answer = ANSWERS + (number + 1) * ANSWER;
            let arguments: String =
                call.arguments.iter().map(|argument| argument.text(data, outside, answer)).collect();
            let called = format!(r#"(call $"{}" {arguments})"#, call.function);
            let keep = |what: &str| {
                format!(
                    "(if (i32.eqz (i32.load8_u (i32.const {answer}))) (then ({what} (i32.load offset=4 (i32.const {answer})))))"
                )
            };
            match call.function {
                "types [method]descriptor.open-at" => {
                    text += &(called + &keep(&format!("global.set $kept{}", call.into)))
                }
                "types [method]descriptor.read-directory" => text += &(called + &keep("local.set $listing")),
                "streams [method]output-stream.subscribe" => text += &format!("(global.set $waiting {called})"),
                _ => text += &called,
            }
            text += &looked(answer);
        }
        assert!(data.len() < ANSWERS - mock_guest::DATA, "the texts are too long");
        format!("{text} (i32.const {ANSWERS})")
    }
}

impl Argument {
    fn text(&self, data: &mut Vec<u8>, outside: &str, answer: usize) -> String {
        match self {
            Self::SystemFile(number) => format!("(global.get $kept{number})"),
            Self::Listing => "(local.get $listing)".to_owned(),
            Self::Stream => "(global.get $stream)".to_owned(),
            Self::Waiting => "(global.get $waiting)".to_owned(),
            Self::Number(number) => format!("(i32.const {number})"),
            Self::Long(number) => format!("(i64.const {number})"),
            Self::Wild(at, length) => format!("(i32.const {at}) (i32.const {length})"),
            Self::Answer => format!("(i32.const {answer})"),
            Self::Text(bytes) => {
                let bytes = match std::str::from_utf8(bytes) {
                    Ok(name) => name.replace("{outside}", outside).into_bytes(),
                    Err(_) => bytes.clone(),
                };
                let at = mock_guest::DATA + data.len();
                data.extend(&bytes);
                format!("(i32.const {at}) (i32.const {})", bytes.len())
            }
        }
    }
}

/// Returns the code that opens the roots, and stores them alternately in all descriptors.
fn opening() -> String {
    let (one, list) = (ANSWERS + 8, ANSWERS + 16);
    let mut text = format!(
        r#"(i32.store (i32.const {one}) (i32.const {ANSWERS})) (i32.store (i32.const {}) (i32.const 1))
        (call $"preopens get-directories" (i32.const {list})) (global.set $stream (call $"stderr get-stderr"))"#,
        one + 4
    );
    for slot in 0..SLOTS {
        let root = slot % 2 * 12;
        write!(text, "(global.set $kept{slot} (i32.load offset={root} (i32.load (i32.const {list}))))").unwrap();
    }
    text
}

/// Returns the code that returns a list of one text if the result, or the memory that was passed with it, contains
/// anything from outside.
fn looked(answer: usize) -> String {
    let (one, end) = (ANSWERS + 8, answer + ANSWER);
    format!(
        "(if (i32.or (call $sees (i32.const {answer}) (i32.const {end})) (call $sees (global.get $seen) (global.get $heap)))
            (then (return (i32.const {one}))))
        (global.set $seen (global.get $heap))"
    )
}

/// Returns the further fields of the mock guest's module: its globals, and a function that searches its memory for
/// anything from outside.
fn fields() -> String {
    let slots: String = (0..SLOTS).map(|slot| format!("(global $kept{slot} (mut i32) (i32.const 0))")).collect();
    let (canary, heap) = (u64::from_le_bytes(*CANARY), mock_guest::HEAP);
    format!(
        "{slots} (global $stream (mut i32) (i32.const 0)) (global $waiting (mut i32) (i32.const 0))
        (global $seen (mut i32) (i32.const {heap}))
        (func $sees (param $at i32) (param $end i32) (result i32) (local $is i64)
            (block $none (loop $next
                (br_if $none (i32.ge_u (local.get $at) (local.get $end)))
                (local.set $is (i64.load (local.get $at)))
                (if (i32.or (i64.eq (local.get $is) (i64.const {canary})) (i64.eq (local.get $is) (i64.const {SIZE})))
                    (then (return (i32.const 1))))
                (local.set $at (i32.add (local.get $at) (i32.const 1)))
                (br $next)))
            (i32.const 0))"
    )
}
