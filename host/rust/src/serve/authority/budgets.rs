//! The remaining budgets of tokens. All requests with a token share its budgets.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::super::config::GrantSettings;
use super::denied::Denied;

/// Maximum number of budgets in memory. A budget cannot be forgotten before it expires, because its token would be valid
/// again.
const MAX_BUDGETS: usize = 65_536;

/// Maximum number of budgets of one issued token and of those that descend from it: its holder can add any number of
/// them.
const MAX_FAMILY: usize = 256;

/// Minimum time between two searches of all families, which take long.
const SWEEP: Duration = Duration::from_secs(1);

/// Budgets of tokens by the identifiers of restrictions, for each issued token.
#[derive(Default)]
pub(super) struct Budgets(Mutex<Families>);

#[derive(Default)]
struct Families {
    by_issued: HashMap<String, HashMap<String, Arc<Budget>>>,
    /// Number of budgets.
    count: usize,
    /// Time of the last search for budgets that can be forgotten, in all families.
    swept: Option<SystemTime>,
}

/// The calls and bytes that a token may still use.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) calls: AtomicU64,
    bytes: AtomicU64,
    pub(super) expires: Option<SystemTime>,
}

impl Budgets {
    /// Returns the budget of a restriction in a token that descends from the issued one. The first request makes it.
    pub(super) fn get(
        &self,
        issued: &str,
        id: &str,
        new: &Arc<Budget>,
        now: SystemTime,
    ) -> Result<Arc<Budget>, Denied> {
        let mut families = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(budget) = families.by_issued.get(issued).and_then(|family| family.get(id)) {
            return Ok(budget.clone());
        }
        if !families.has_room(issued, now) {
            let cause = "the server counts too many budgets of this token; use a token without a further one";
            return Err(Denied::Forbidden(cause.to_owned()));
        }
        families.by_issued.entry(issued.to_owned()).or_default().insert(id.to_owned(), new.clone());
        families.count += 1;
        Ok(new.clone())
    }
}

impl Families {
    /// Returns whether a family can have another budget. Forgets those of tokens that are not valid any more, if they take
    /// the room.
    fn has_room(&mut self, issued: &str, now: SystemTime) -> bool {
        if let Some(family) = self.by_issued.get_mut(issued)
            && family.len() >= MAX_FAMILY
        {
            let before = family.len();
            family.retain(|_, budget| budget.is_valid(now));
            self.count -= before - family.len();
            if family.len() >= MAX_FAMILY {
                return false;
            }
        }
        let is_due = self.swept.is_none_or(|swept| now.duration_since(swept).is_ok_and(|since| since >= SWEEP));
        if self.count >= MAX_BUDGETS && is_due {
            self.swept = Some(now);
            self.by_issued.values_mut().for_each(|family| family.retain(|_, budget| budget.is_valid(now)));
            self.by_issued.retain(|_, family| !family.is_empty());
            self.count = self.by_issued.values().map(HashMap::len).sum();
        }
        self.count < MAX_BUDGETS
    }
}

impl Budget {
    /// Returns the budget of a restriction in a token that expires at this time.
    pub(super) fn new(settings: &GrantSettings, expires: Option<SystemTime>) -> Arc<Self> {
        let rest = |limit: Option<u64>| AtomicU64::new(limit.unwrap_or(u64::MAX));
        Arc::new(Self { calls: rest(settings.calls), bytes: rest(settings.bytes), expires })
    }

    fn is_valid(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|expires| expires > now)
    }

    /// Returns whether a call can be taken.
    pub(super) fn has_rest(&self) -> bool {
        self.calls.load(Ordering::Acquire) > 0 && self.bytes.load(Ordering::Acquire) > 0
    }

    /// Takes a call, if there is one.
    pub(super) fn take_call(&self) -> bool {
        let take = |rest: u64| rest.checked_sub(1);
        self.bytes.load(Ordering::Acquire) > 0
            && self.calls.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
    }

    /// Returns a call that was taken.
    pub(super) fn return_call(&self) {
        self.calls.fetch_add(1, Ordering::AcqRel);
    }

    /// Takes bytes, or the rest of them.
    pub(super) fn take_bytes(&self, bytes: u64) {
        let take = |left: u64| Some(left.saturating_sub(bytes));
        // The function never refuses.
        let _ = self.bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(value: serde_json::Value) -> GrantSettings {
        serde_json::from_value(value).unwrap()
    }

    fn time(text: &str) -> Option<SystemTime> {
        humantime::parse_rfc3339(text).ok()
    }

    #[test]
    fn the_budgets_of_one_issued_token_are_bounded_and_expired_ones_are_forgotten() {
        let budgets = Budgets::default();
        let get = |issued: &str, id: String, expires: &str, now| {
            let settings = settings(serde_json::json!({"workspaces": ["*"], "calls": 2, "expires": expires}));
            budgets.get(issued, &id, &Budget::new(&settings, time(expires)), now)
        };
        let (start, later) = (SystemTime::UNIX_EPOCH, "1971-01-01T00:00:00Z");
        let made = (0..1000).take_while(|id| get("1", id.to_string(), later, start).is_ok()).count();
        assert_eq!(made, MAX_FAMILY);
        assert!(get("1", "0".to_owned(), later, start).is_ok() && get("2", "0".to_owned(), later, start).is_ok());
        budgets.0.lock().unwrap().count = MAX_BUDGETS;
        assert!(get("3", "0".to_owned(), "2999-01-01T00:00:00Z", SystemTime::now()).is_ok());
        assert_eq!(budgets.0.lock().unwrap().count, 1);
    }

    #[test]
    fn expired_budgets_of_a_family_make_room() {
        let budgets = Budgets::default();
        let get = |id: usize, expires: &str, now| {
            let settings = settings(serde_json::json!({"workspaces": ["*"], "calls": 2, "expires": expires}));
            budgets.get("1", &id.to_string(), &Budget::new(&settings, time(expires)), now)
        };
        let late = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        assert!((0..MAX_FAMILY).all(|id| get(id, "1970-01-01T00:10:00Z", SystemTime::UNIX_EPOCH).is_ok()));
        assert!(get(MAX_FAMILY, "1970-01-02T00:00:00Z", SystemTime::UNIX_EPOCH).is_err());
        assert!(get(MAX_FAMILY, "1970-01-02T00:00:00Z", late).is_ok());
        assert_eq!(budgets.0.lock().unwrap().count, 1);
    }
}
