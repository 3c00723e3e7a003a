//! How one sequence becomes another, by Myers' algorithm. Everything is compared
//! as numbers, so that the algorithm is in the component once.

use std::collections::HashMap;

use similar::DiffOp;
use similar::algorithms::{Capture, Replace, myers};

/// How the lines `old` become `new`.
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

/// How the numbers `old` become `new`.
pub fn numbers(old: &[u32], new: &[u32]) -> Vec<DiffOp> {
    let mut hook = Replace::new(Capture::new());
    let Ok(()) = myers::diff(&mut hook, old, 0..old.len(), new, 0..new.len());
    hook.into_inner().into_ops()
}
