//! JSON texts without line breaks, for transports that send each message as a line.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// Returns a JSON text without line breaks.
///
/// # Errors
///
/// If the text is not JSON.
pub(crate) fn one_line(json: &str) -> serde_json::Result<Box<RawValue>> {
    if json.contains(['\n', '\r']) {
        return to_raw_value(&serde_json::from_str::<Value>(json)?);
    }
    RawValue::from_string(json.to_owned())
}
