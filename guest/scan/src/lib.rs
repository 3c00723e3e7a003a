//! Literals searched for many places at a time: one by [`Pair`], several by [`Teddy`].
//!
//! A crate of its own, since the component is built to be small and this to be fast.

mod block;
mod pair;
mod teddy;

pub use pair::Pair;
pub use teddy::{MAX_LITERALS, Teddy};

/// The bytes of texts and programs, most frequent first; what is not here is rarer.
const FREQUENT: &[u8] = b" etaoinsrlcdupmfh_gb.y,()-vw\"=;:0/k1x*{}'2TSAEICR>3<NL#&OPDMFq4j6z5U8[]+B97V";

/// How often a byte is to be met, as a share of all, by its rank among bytes.
pub fn frequency(byte: u8) -> f64 {
    let rank = FREQUENT.iter().position(|frequent| *frequent == byte).unwrap_or(FREQUENT.len() + 20);
    0.2 / (rank as f64 + 2.0)
}
