//! Data that every layer of the guest shares: requests, responses, errors and the policy.

pub mod accessed_paths;
pub mod approval_plan;
pub mod digest;
pub mod entry;
pub mod error;
pub mod match_pass;
pub mod outcome;
pub mod path;
pub mod path_order;
pub mod policy;
pub mod rendered;
pub mod request;
pub mod response;
#[cfg(feature = "schema")]
pub mod schema;
pub mod time;
