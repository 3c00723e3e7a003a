//! Archive formats.

pub mod zip;
