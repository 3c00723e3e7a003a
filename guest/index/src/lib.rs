//! A search index: for each file the trigrams of its text, so that a search need not open a file that cannot match.
//!
//! A search derives from its regular expression a [`plan::Plan`], the trigrams that every matching text contains. The
//! index consists of segments. A segment lists, for each trigram, the files of the segment that contain it. An index can
//! only exclude files: a search reads every file that the plan does not exclude, so its results are the same without
//! the index. This crate performs no I/O.
//!
//! # Identity of a file
//!
//! A file is known by its [`segment::Stamp`], a hash of device, inode, size and times, by which the host says that the
//! content is the same. A file that was moved stays known, and a file that was replaced is not. Of paths, a segment stores
//! the starts of the first and of the last one: a search first loads the segments in whose range its paths are, so that a
//! search of few files does not read the whole index.
//!
//! The index also has [`listings`] of directories, which are known by stamps too.
//!
//! # Design
//!
//! Trigrams are hashed to 16 bits after ASCII letters were folded to lower case: the set of one file is then a bitmap of
//! 8 KiB, which stays in the processor's first cache while the file is read, and a segment needs no dictionary of
//! trigrams. Lists of files are written as gaps in a Rice code, which needs 3 to 5 bits a file. A list of more than a
//! quarter of the files excludes little, and is replaced by a code for all files.
//!
//! Other designs that were considered: Zoekt stores the position of each trigram, which makes an index larger than the
//! text. Google Code Search stores lists of files as this crate does, in bytes instead of bits and for exact trigrams,
//! about 20 % of the text. Sparse n-grams as in GitHub's Blackbird are fewer and longer, and need weights that are
//! trained on a corpus and a dictionary of the n-grams. `fst` stores such a dictionary, and `tantivy` one of words; with
//! hashed trigrams there is none. `roaring` takes 16 bits for each file of a short list, three times as much.

mod bits;
pub mod file_table;
pub mod grams;
pub mod listings;
pub mod path_range;
pub mod plan;
pub mod position_table;
pub mod segment;

#[cfg(test)]
mod properties;
