//! Times as results show them.

use std::time::{Duration, UNIX_EPOCH};

use crate::entry::Time;

/// First second that RFC 3339 cannot represent: the start of the year 10000.
const END: u64 = 253_402_300_800;

/// Formats a time by RFC 3339 in UTC; `None` for a time after the year 9999.
pub fn rfc3339(time: Time) -> Option<String> {
    if time.seconds >= END || time.nanoseconds >= 1_000_000_000 {
        return None;
    }
    let time = UNIX_EPOCH.checked_add(Duration::new(time.seconds, time.nanoseconds))?;
    Some(humantime::format_rfc3339(time).to_string())
}

/// Formats a time by RFC 3339 in UTC with whole seconds, for listings.
pub fn rfc3339_seconds(time: Time) -> Option<String> {
    rfc3339(Time { nanoseconds: 0, ..time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_representable_times_are_formatted() {
        let rendered = |seconds, nanoseconds| rfc3339(Time { seconds, nanoseconds });
        assert_eq!(rendered(1_700_000_000, 0).as_deref(), Some("2023-11-14T22:13:20Z"));
        assert_eq!(rendered(0, 5).as_deref(), Some("1970-01-01T00:00:00.000000005Z"));
        assert_eq!(rendered(END - 1, 0).as_deref(), Some("9999-12-31T23:59:59Z"));
        assert_eq!((rendered(END, 0), rendered(u64::MAX, 0), rendered(0, u32::MAX)), (None, None, None));
    }
}
