//! The age of changes that can be indexed.

use paddock_types::entry::Time;
use paddock_vfs::Stat;
use paddock_workspace::Workspace;

/// Minimum age of an indexed change in seconds, whatever the policy says: within the resolution of the clock, a file can
/// change again without a change of its times.
const MIN_AGE_SECONDS: u64 = 2;

/// Returns the minimum age in seconds of an indexed change.
pub fn min_age(workspace: &Workspace<'_>) -> u64 {
    workspace.policy.index.min_age_seconds.max(MIN_AGE_SECONDS)
}

/// Returns whether the last changes of an entry and of its metadata were more than `age` seconds ago.
pub fn is_settled(stat: &Stat, now: Time, age: u64) -> bool {
    [stat.modified, stat.changed].iter().all(|change| is_older(*change, now, age))
}

/// Returns whether the time of a change is known and more than `age` seconds ago.
fn is_older(change: Option<Time>, now: Time, age: u64) -> bool {
    let nanoseconds = |time: Time| u128::from(time.seconds) * 1_000_000_000 + u128::from(time.nanoseconds);
    let age = u128::from(age) * 1_000_000_000;
    change.is_some_and(|change| nanoseconds(now).checked_sub(nanoseconds(change)).is_some_and(|since| since > age))
}
