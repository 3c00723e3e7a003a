//! The order in which a walk returns paths.

/// Compares two paths, relative to the top of a walk, in the order of the walk.
pub fn compare(a: &str, b: &str) -> std::cmp::Ordering {
    a.split('/').cmp(b.split('/'))
}
