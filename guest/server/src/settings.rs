//! Settings from environment variables.

use std::ops::RangeInclusive;

use paddock_protocol::http::Config;

use crate::lock::Times;

/// Settings of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Settings of the server over HTTP, and the dialect.
    pub http: Config,
    /// Times of the lock.
    pub times: Times,
}

/// Seconds after which a lock expires whose holder has not released it.
const LEASE: (&str, u64, RangeInclusive<u64>) = ("PADDOCK_LOCK_SECONDS", 60, 1..=3600);
/// Seconds for which a call waits for the lock.
const WAIT: (&str, u64, RangeInclusive<u64>) = ("PADDOCK_LOCK_WAIT_SECONDS", 10, 0..=600);

impl Settings {
    /// Reads the settings. `variable` returns the value of an environment variable.
    ///
    /// | variable | value | default |
    /// | --- | --- | --- |
    /// | `PADDOCK_LOCK_SECONDS` | seconds, 1 to 3600, after which the lock of a call expires; longer than the longest call | 60 |
    /// | `PADDOCK_LOCK_WAIT_SECONDS` | seconds, 0 to 600, for which a call waits for others | 10 |
    ///
    /// [`Config::read`] lists the others.
    ///
    /// # Errors
    ///
    /// The reason why a value is refused.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let seconds = |(name, default, range): (&str, u64, RangeInclusive<u64>)| {
            let Some(value) = variable(name) else { return Ok(default) };
            let seconds = value.parse().ok().filter(|seconds| range.contains(seconds));
            seconds
                .ok_or_else(|| format!("{name}: `{value}` is not a number from {} to {}", range.start(), range.end()))
        };
        let times = Times { lease_ms: seconds(LEASE)? * 1000, wait_ms: seconds(WAIT)? * 1000 };
        Ok(Self { http: Config::read(&variable)?, times })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_ranges() {
        let read = |name: &'static str, value: &'static str| {
            Settings::read(move |other| (other == name).then(|| value.to_owned())).map(|settings| settings.times)
        };
        assert_eq!(read("", ""), Ok(Times { lease_ms: 60_000, wait_ms: 10_000 }));
        assert_eq!(read("PADDOCK_LOCK_SECONDS", "90"), Ok(Times { lease_ms: 90_000, wait_ms: 10_000 }));
        assert_eq!(read("PADDOCK_LOCK_WAIT_SECONDS", "0"), Ok(Times { lease_ms: 60_000, wait_ms: 0 }));
        for value in ["0", "3601", "-1", "x", ""] {
            assert!(read("PADDOCK_LOCK_SECONDS", value).unwrap_err().contains("from 1 to 3600"), "{value}");
        }
    }
}
