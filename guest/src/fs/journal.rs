//! Journal (being written).
