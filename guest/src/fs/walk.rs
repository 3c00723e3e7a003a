//! Walks (being written).
