//! Prepared answers, which arbitrary bytes seldom form: requests to run a command, and differences of an overlay.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{ANSWER, TEXTS, word};
use crate::sandbox::mock_guest::DATA;

/// Commands and directories that a guest requests, in addition to [`TEXTS`].
const COMMANDS: [&str; 8] = [
    "true",
    "cat",
    "cat ../outside/secret",
    "echo in >in; echo out >../outside/out; cd ../outside && echo out >secret",
    "sleep 60 & kill -9 $$",
    ".",
    "../outside",
    "/workspace/../outside",
];
/// Number of requests: to run a command, start it, write to it, list sessions, end a session, and one of arbitrary
/// words.
pub(super) const REQUESTS: usize = 6;
const REQUEST: usize = 128;
const DIFFERENCE: usize = 112;
const FILE: u32 = 0;
/// Number of texts that the answers of one guest use.
const TEXTS_NAMED: usize = 12;

/// Layout of the guest's memory from [`DATA`] on: words, texts, and prepared answers.
const TEXT: usize = DATA + ANSWER;
const REQUEST_TABLE: usize = DATA + 4 * 1024;
const CHANGES: usize = REQUEST_TABLE + REQUESTS * REQUEST + ANSWER;
const DIFF: usize = CHANGES + 64;
const DIFFERENCES: usize = DIFF + 64;

/// Answers of a guest.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    words: Vec<u32>,
    /// Indices of the texts in prepared answers.
    texts: Vec<usize>,
    /// Kind of a script, and whether there is a terminal.
    kinds: (u32, bool),
    differs: bool,
}

pub(super) fn answers() -> impl Strategy<Value = Answers> {
    // Many zeros make it more probable that a long answer is valid.
    let words = (0..40_u32).prop_flat_map(|zeros| vec(prop_oneof![zeros + 1 => Just(0), 8 => word()], ANSWER / 4));
    let parts = (words, texts(), (0..3_u32, any::<bool>()), any::<bool>());
    parts.prop_map(|(words, texts, kinds, differs)| Answers { words, texts, kinds, differs })
}

/// Returns a command and a directory, usually valid ones, and further texts.
fn texts() -> impl Strategy<Value = Vec<usize>> {
    let all = all_texts().count();
    let command = prop_oneof![3 => TEXTS.len()..all, 1 => 0..all];
    let directory = prop_oneof![2 => Just(0), 1 => 0..all];
    (command, directory, vec(0..all, TEXTS_NAMED - 2))
        .prop_map(|(command, directory, others)| [vec![command, directory], others].concat())
}

impl Answers {
    /// Returns answers that are zero except the prepared ones.
    pub(super) fn plain() -> Self {
        Self { words: vec![0; ANSWER / 4], texts: vec![0; TEXTS_NAMED], kinds: (0, true), differs: true }
    }

    /// Returns the body of an exported function, for [`mock_guest::with`](crate::sandbox::mock_guest::with).
    pub(super) fn body(&self, function: &str, has_result: bool) -> String {
        let is = |interface: &str, name: &str| {
            function.contains(&format!("/{interface}@")) && function.ends_with(&format!("#{name}"))
        };
        let at = match () {
            // The length of the arguments, which is the sixth parameter, selects the request.
            () if is("commands", "get-request") => {
                return format!("(i32.add (i32.const {REQUEST_TABLE}) (i32.mul (local.get 5) (i32.const {REQUEST})))");
            }
            () if is("tools", "changes") => CHANGES,
            () if is("session", "diff") && self.differs => DIFF,
            () => DATA,
        };
        if has_result { format!("(i32.const {at})") } else { String::new() }
    }

    pub(super) fn memory(&self) -> Vec<u8> {
        let mut memory = Memory(Vec::new());
        memory.put(DATA, &self.words);
        memory.0.extend(all_texts().flat_map(str::bytes));
        for request in 0..REQUESTS - 1 {
            memory.put(REQUEST_TABLE + request * REQUEST, &self.request(request as u32));
        }
        memory.put(REQUEST_TABLE + (REQUESTS - 1) * REQUEST, &self.words);
        memory.put(CHANGES, &[1]);
        let count = self.texts.len() / 2;
        memory.put(DIFF, &[0, DIFFERENCES as u32, count as u32, 0, 0]);
        for at in 0..count {
            memory.put(DIFFERENCES + at * DIFFERENCE, &self.difference(at));
        }
        memory.0
    }

    /// Returns an `option<result<request, outcome>>` with a request of that kind.
    fn request(&self, kind: u32) -> Vec<u32> {
        let [command, directory, stdin] = [0, 1, 2].map(|at| self.text(at));
        let (script, terminal) = self.kinds;
        let mut words = vec![1, 0, 0, 0, kind, 0];
        match kind {
            0 => {
                words.extend([script, command[0], command[1], stdin[0], 0]);
                words.extend([directory, stdin].concat());
                words.extend([0, 1_000, 0]);
            }
            1 => {
                words.extend([command, directory].concat());
                words.extend([u32::from(terminal) | 80 << 16, 24, 100, 0, 1_000, 0]);
            }
            2 => {
                let resized = u32::from(terminal) << 16;
                words.extend([1, command[0], command[1], u32::from(!terminal) | resized, 24 << 16 | 80, 0]);
                words.extend([100, 0, 1_000, 0]);
            }
            _ => words.push(1),
        }
        words
    }

    /// Returns a `difference` of a file that exists on both sides.
    fn difference(&self, at: usize) -> Vec<u32> {
        let ([path, path_length], [content, content_length]) = (self.text(2 * at), self.text(2 * at + 1));
        let file = 1 | FILE << 8;
        let mut words = vec![path, path_length, file | file << 16, 0];
        words.extend([0; 17]);
        words.extend([1, content, content_length]);
        words
    }

    /// Returns the address and the length of a text.
    fn text(&self, at: usize) -> [u32; 2] {
        let before: usize = all_texts().take(self.texts[at]).map(str::len).sum();
        [TEXT + before, all_texts().nth(self.texts[at]).unwrap().len()].map(|number| number as u32)
    }
}

fn all_texts() -> impl Iterator<Item = &'static str> {
    TEXTS.into_iter().chain(COMMANDS)
}

struct Memory(Vec<u8>);

impl Memory {
    fn put(&mut self, at: usize, words: &[u32]) {
        assert!(self.0.len() <= at - DATA, "what is before it is too long");
        self.0.resize(at - DATA, 0);
        self.0.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
}
