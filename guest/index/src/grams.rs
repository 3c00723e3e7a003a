//! Trigrams of a text, hashed to 16 bits.
//!
//! ASCII letters are folded to lower case, so that one index serves searches with and without letter case. Line endings
//! and tabs are folded to spaces, because indentation says nothing about a file.

/// Number of different hashes of trigrams.
pub const GRAMS: usize = 1 << 16;

/// Multiplier of the hash: the upper bits of the product depend on all bits of the trigram.
const MULTIPLIER: u32 = 0x9e37_79b1;

/// Returns the folded form of a byte. A byte of a character that is not ASCII is its own.
pub const fn fold(byte: u8) -> u8 {
    match byte {
        b'\t' | b'\n' | b'\r' => b' ',
        byte => byte.to_ascii_lowercase(),
    }
}

/// Returns the hash of three folded bytes, the first in the lowest eight bits.
const fn hash(gram: u32) -> u16 {
    (gram.wrapping_mul(MULTIPLIER) >> 16) as u16
}

/// Returns the hashes of the trigrams of a folded text.
pub fn of(folded: &[u8]) -> impl Iterator<Item = u16> {
    folded.windows(3).filter_map(|gram| match gram {
        [first, second, third] => Some(hash(u32::from_le_bytes([*first, *second, *third, 0]))),
        _ => None,
    })
}

/// The trigrams of a group of texts.
pub struct GramSet {
    /// A bit for each hash.
    seen: Box<[u64; GRAMS / 64]>,
    /// The last two bytes of the current text, in bits 8 to 23.
    last: u32,
}

impl Default for GramSet {
    fn default() -> Self {
        Self { seen: Box::new([0; GRAMS / 64]), last: 0 }
    }
}

impl GramSet {
    /// Adds the next part of the current text. Trigrams that begin in an earlier part are added too.
    pub fn add(&mut self, text: &[u8]) {
        let mut gram = self.last;
        for byte in text {
            gram = gram >> 8 | u32::from(fold(*byte)) << 16;
            let hash = hash(gram);
            if let Some(word) = self.seen.get_mut(usize::from(hash / 64)) {
                *word |= 1 << (hash % 64);
            }
        }
        self.last = gram;
    }

    /// Ends the current text.
    pub fn end_text(&mut self) {
        self.last = 0;
    }

    /// Returns the hashes of the group in ascending order, and starts another group.
    pub fn take(&mut self) -> Vec<u16> {
        self.end_text();
        let mut hashes = Vec::new();
        for (index, word) in self.seen.iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                hashes.push((index * 64) as u16 | bits.trailing_zeros() as u16);
                bits &= bits - 1;
            }
        }
        hashes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(parts: &[&str]) -> Vec<u16> {
        let mut set = GramSet::default();
        parts.iter().for_each(|part| set.add(part.as_bytes()));
        set.take()
    }

    #[test]
    fn a_text_in_parts_has_the_trigrams_of_the_whole() {
        let whole = set(&["fn Main() {\n\tlet größe = 1;\r\n}"]);
        assert_eq!(whole, set(&["f", "n Main() {\n\tlet gr", "", "öß", "e = 1;\r", "\n}"]));
        assert_eq!(whole, set(&["FN main() {  let größe = 1;  }"]), "folded");
        let folded: Vec<u8> = "größe =".bytes().map(fold).collect();
        assert!(of(&folded).all(|hash| whole.contains(&hash)));
        assert!(!of(b"other").all(|hash| whole.contains(&hash)));
        assert!(whole.is_sorted());
    }

    #[test]
    fn a_taken_set_is_empty() {
        let mut set = GramSet::default();
        set.add(b"abcdef");
        assert!(set.take().len() >= 4);
        assert!(set.take().is_empty());
    }
}
