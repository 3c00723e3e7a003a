//! The search index in the state directory. [`update`] adds files and listings of directories to it, [`exclusions`] exclude
//! files from a search, and [`with_listings`] has walks use the listings.

pub mod exclusions;
mod indexed_files;
mod listings;
mod new_listings;
mod position;
mod segments;
mod settled;
mod tidy;
pub mod update;

pub use listings::{with_listings, with_listings_after};
