//! Paddock's guest (essay to come).

pub mod error;
pub mod fs;
pub mod limits;
pub mod ops;
pub mod patch;
pub mod policy;
pub mod request;
pub mod response;
pub mod search;
pub mod text;
pub mod workspace;
