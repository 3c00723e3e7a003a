//! Loops over the bytes of a text, sixteen at a time: a search for one literal by [`Pair`] and for several by [`Teddy`],
//! lines, and strings of JSON.
//!
//! `aho-corasick` has the same algorithm as [`Teddy`], but its vectors are only those of x86-64 and aarch64. This is a
//! separate crate because it is optimized for speed, and most of the component for size.

mod block;
pub mod json;
pub mod lines;
mod pair;
mod teddy;
mod writer;

pub use pair::Pair;
pub use teddy::{MAX_LITERALS, Teddy};

/// Bytes in texts and programs, most frequent first. All other bytes are rarer.
const FREQUENT: &[u8] = b" etaoinsrlcdupmfh_gb.y,()-vw\"=;:0/k1x*{}'2TSAEICR>3<NL#&OPDMFq4j6z5U8[]+B97V";

/// Returns the estimated frequency of a byte, as a share of all bytes, from its rank.
pub fn frequency(byte: u8) -> f64 {
    let rank = FREQUENT.iter().position(|frequent| *frequent == byte).unwrap_or(FREQUENT.len() + 20);
    0.2 / (rank as f64 + 2.0)
}
