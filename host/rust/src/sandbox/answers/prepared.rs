//! Answers that any bytes would seldom be: what to run, and what an overlay changed.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{ANSWER, TEXTS, word};
use crate::sandbox::mock_guest::DATA;

/// What a guest asks the host to run, and where, beside [`TEXTS`].
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
/// A request to run something, start it, write to it, list sessions, end one; and what any words are.
pub(super) const REQUESTS: usize = 6;
const REQUEST: usize = 128;
const DIFFERENCE: usize = 96;
const FILE: u32 = 0;
/// Texts that the answers of one guest name.
const TEXTS_NAMED: usize = 12;

/// What the guest's memory has, from [`DATA`] on: words, texts, and what is prepared.
const TEXT: usize = DATA + ANSWER;
const ASKED: usize = DATA + 4 * 1024;
const CHANGES: usize = ASKED + REQUESTS * REQUEST + ANSWER;
const DIFF: usize = CHANGES + 64;
const DIFFERENCES: usize = DIFF + 64;

/// A guest's answers.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    words: Vec<u32>,
    /// What prepared answers name.
    texts: Vec<usize>,
    /// Of a script, what it is; of a terminal, whether there is one.
    kinds: (u32, bool),
    differs: bool,
}

pub(super) fn answers() -> impl Strategy<Value = Answers> {
    // With many zeros, what is long is an answer more often.
    let words = (0..40_u32).prop_flat_map(|zeros| vec(prop_oneof![zeros + 1 => Just(0), 8 => word()], ANSWER / 4));
    let parts = (words, texts(), (0..3_u32, any::<bool>()), any::<bool>());
    parts.prop_map(|(words, texts, kinds, differs)| Answers { words, texts, kinds, differs })
}

/// A command and a directory, which are often such, and others.
fn texts() -> impl Strategy<Value = Vec<usize>> {
    let all = all_texts().count();
    let command = prop_oneof![3 => TEXTS.len()..all, 1 => 0..all];
    let directory = prop_oneof![2 => Just(0), 1 => 0..all];
    (command, directory, vec(0..all, TEXTS_NAMED - 2))
        .prop_map(|(command, directory, others)| [vec![command, directory], others].concat())
}

impl Answers {
    /// Ones that differ from others in nothing but what is prepared.
    pub(super) fn plain() -> Self {
        Self { words: vec![0; ANSWER / 4], texts: vec![0; TEXTS_NAMED], kinds: (0, true), differs: true }
    }

    /// What an exported function answers, as [`mock_guest::with`](crate::sandbox::mock_guest::with) takes it.
    pub(super) fn body(&self, function: &str, has_result: bool) -> String {
        let is = |interface: &str, name: &str| {
            function.contains(&format!("/{interface}@")) && function.ends_with(&format!("#{name}"))
        };
        let at = match () {
            // By how long the arguments are, which the sixth parameter tells.
            () if is("commands", "get-request") => {
                return format!("(i32.add (i32.const {ASKED}) (i32.mul (local.get 5) (i32.const {REQUEST})))");
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
            memory.put(ASKED + request * REQUEST, &self.request(request as u32));
        }
        memory.put(ASKED + (REQUESTS - 1) * REQUEST, &self.words);
        memory.put(CHANGES, &[1]);
        let count = self.texts.len() / 2;
        memory.put(DIFF, &[0, DIFFERENCES as u32, count as u32, 0, 0]);
        for at in 0..count {
            memory.put(DIFFERENCES + at * DIFFERENCE, &self.difference(at));
        }
        memory.0
    }

    /// `option<result<request, outcome>>`, a request of that kind.
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

    /// `difference`, a file that was and is.
    fn difference(&self, at: usize) -> Vec<u32> {
        let ([path, path_length], [content, content_length]) = (self.text(2 * at), self.text(2 * at + 1));
        let file = 1 | FILE << 8;
        let mut words = vec![path, path_length, file | file << 16, 0];
        words.extend([0; 17]);
        words.extend([1, content, content_length]);
        words
    }

    /// Where a text is, and its length.
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
