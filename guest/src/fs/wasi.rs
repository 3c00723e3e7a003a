//! The host's preopens (being written).
