//! Differences of two sequences, by Myers' algorithm. Every caller compares numbers, so that the component contains one
//! instance of the algorithm.

use std::collections::HashMap;

use similar::DiffOp;
use similar::algorithms::{Capture, Replace, myers};

/// Returns the edits that turn the lines `old` into `new`.
pub fn lines(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut known = HashMap::new();
    let [old, new] = [old, new].map(|lines| {
        let number = |line| {
            let next = known.len();
            *known.entry(line).or_insert(next as u32)
        };
        lines.iter().map(number).collect::<Vec<_>>()
    });
    numbers(&old, &new)
}

/// Returns the edits that turn the numbers `old` into `new`.
pub fn numbers(old: &[u32], new: &[u32]) -> Vec<DiffOp> {
    let mut hook = Replace::new(Capture::new());
    let Ok(()) = myers::diff(&mut hook, old, 0..old.len(), new, 0..new.len());
    hook.into_inner().into_ops()
}
