//! The order in which a walk returns paths.

/// The order of a walk, for two paths relative to its top.
pub fn compare(a: &str, b: &str) -> std::cmp::Ordering {
    a.split('/').cmp(b.split('/'))
}
