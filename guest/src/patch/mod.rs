//! Patches (being written).
