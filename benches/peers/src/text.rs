//! Generated text that resembles source code. The same seed gives the same text on every machine.

/// Pattern of the search with the fewest matches: the text is in every fiftieth file.
pub const RARE: &str = "needle_in_haystack";
/// Ten words. Every thirtieth file contains one of them.
pub const TEN: [&str; 10] =
    ["aardvark", "basilisk", "capybara", "dormouse", "echidna", "flamingo", "gazelle", "hedgehog", "ibex", "jackdaw"];
/// A word that is on most lines of some files, and in no other file.
pub const COMMON: &str = "buffer";

const CAPITALS: [&str; 4] = ["gateway", "Gateway", "GATEWAY", "gateWay"];
const BLOCK: &str = "begin_block {\n    end_block";
const WORDS: [&str; 23] = [
    "let", "fn", "return", "value", "index", "stream", "error", "config", "handler", "request", "response", "parse",
    "token", "offset", "length", "match", "while", "struct", "impl", "self", "const", "string", "result",
];

/// Returns about `bytes` bytes of text. Every twelfth file contains [`COMMON`].
pub fn source(random: &mut Random, number: usize, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 200);
    let is_common = number % 12 == 5;
    while text.len() < bytes {
        push_line(random, is_common, &mut text);
    }
    let planted = [(50, RARE), (30, random.pick(&TEN)), (20, random.pick(&CAPITALS)), (30, BLOCK)];
    for (one_in, what) in planted {
        if random.below(one_in) == 0 {
            text.push_str(&format!("    {what} {}\n", random.pick(&WORDS)));
            push_line(random, is_common, &mut text);
        }
    }
    text
}

fn push_line(random: &mut Random, is_common: bool, text: &mut String) {
    text.push_str(&" ".repeat(random.below(5) * 4));
    for _ in 0..3 + random.below(8) {
        let is_this_common = is_common && random.below(5) == 0;
        text.push_str(if is_this_common { COMMON } else { random.pick(&WORDS) });
        text.push(if random.below(6) == 0 { '_' } else { ' ' });
    }
    text.push('\n');
}

/// SplitMix64: a small pseudo-random generator with a seed, which gives the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    /// Returns a number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit.max(1) as u64).unwrap_or_default()
    }

    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words.get(self.below(words.len())).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_has_the_same_text() {
        assert_eq!(source(&mut Random(7), 5, 500), source(&mut Random(7), 5, 500));
        assert_ne!(source(&mut Random(7), 5, 500), source(&mut Random(8), 5, 500));
    }

    #[test]
    fn a_common_word_is_in_some_files_only() {
        assert!(source(&mut Random(7), 5, 3000).matches(COMMON).count() > 10);
        assert!(!source(&mut Random(7), 6, 3000).contains(COMMON));
    }
}
