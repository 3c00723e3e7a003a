//! The parts of the runner.

pub mod backend;
pub mod case;
pub mod container;
pub mod expect;
pub mod layers;
pub mod outcome;
pub mod setup;
pub mod tidy;
pub mod tree;
