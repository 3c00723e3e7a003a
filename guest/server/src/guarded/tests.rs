use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use super::*;
use crate::lock::Times;

/// Names in memory, and a clock that advances while a call waits.
#[derive(Clone, Default)]
struct Shared {
    names: Rc<RefCell<BTreeSet<String>>>,
    now_ms: Rc<Cell<u64>>,
    is_broken: bool,
}

impl LockDirectory for Shared {
    fn names(&self) -> Result<Vec<String>, String> {
        Ok(self.names.borrow().iter().cloned().collect())
    }

    fn create(&self, name: &str) -> Result<(), String> {
        if self.is_broken {
            return Err("read-only".to_owned());
        }
        self.names.borrow_mut().insert(name.to_owned());
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<bool, String> {
        let mut names = self.names.borrow_mut();
        Ok(names.remove(from) && names.insert(to.to_owned()))
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        self.names.borrow_mut().remove(name);
        Ok(())
    }
}

impl Clock for Shared {
    fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    fn sleep_ms(&self, ms: u64) {
        self.now_ms.set(self.now_ms.get() + ms.max(1));
    }

    fn random(&self) -> u64 {
        7
    }
}

/// A tool `write` that changes, and a tool `read` that does not. Each returns the names in the lock during the call.
struct Named(Shared);

impl Tools for Named {
    fn describe(&self, _dialect: &str) -> Result<Vec<Tool>, Failure> {
        Ok(Vec::new())
    }

    fn call(&self, _dialect: &str, name: &str, _arguments: &str) -> Outcome {
        if name == "slow" {
            self.0.now_ms.set(self.0.now_ms.get() + 1000);
            let other = Lock::new(self.0.clone(), Other(self.0.clone()), Times { lease_ms: 100, wait_ms: 0 });
            other.exclusive(|| ()).unwrap();
        }
        let names: Vec<_> = self.0.names.borrow().iter().cloned().collect();
        Outcome { text: names.join(" "), ..Outcome::default() }
    }
}

/// The clock of another call.
struct Other(Shared);

impl Clock for Other {
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }

    fn sleep_ms(&self, ms: u64) {
        self.0.sleep_ms(ms);
    }

    fn random(&self) -> u64 {
        8
    }
}

impl Backend for Named {
    fn changes(&self, _dialect: &str, name: &str) -> Option<bool> {
        match name {
            "write" | "slow" => Some(true),
            "read" => Some(false),
            _ => None,
        }
    }
}

#[derive(Clone, Default)]
struct Directory {
    lock: Option<Shared>,
    has_journal: bool,
}

impl Directories for Directory {
    type Lock = Shared;
    type Clock = Shared;

    fn lock(&self) -> Result<Option<Lock<Shared, Shared>>, LockError> {
        let lock = |shared: &Shared| Lock::new(shared.clone(), shared.clone(), Times { lease_ms: 100, wait_ms: 50 });
        Ok(self.lock.as_ref().map(lock))
    }

    fn has_journal(&self) -> bool {
        self.has_journal
    }
}

fn call(directory: &Directory, name: &str) -> Outcome {
    let shared = directory.lock.clone().unwrap_or_default();
    Guarded::new(Named(shared), directory.clone()).call("paddock", name, "{}")
}

fn with_names(names: &[&str]) -> Directory {
    let shared = Shared::default();
    shared.names.borrow_mut().extend(names.iter().map(|name| (*name).to_owned()));
    Directory { lock: Some(shared), has_journal: false }
}

#[test]
fn a_changing_call_is_exclusive_and_a_reading_call_is_shared() {
    let directory = with_names(&["free"]);
    assert_eq!(call(&directory, "write").text, "held-100-0000000000000007");
    assert_eq!(call(&directory, "read").text, "free reading-100-0000000000000007");
    assert_eq!(call(&directory, "unknown").text, "free reading-100-0000000000000007");
    let with_journal = Directory { has_journal: true, ..directory };
    assert_eq!(call(&with_journal, "read").text, "held-100-0000000000000007");
    assert_eq!(with_journal.lock.unwrap().names().unwrap(), ["free"]);
}

#[test]
fn a_reading_call_recovers_from_a_crashed_one() {
    let directory = with_names(&["held-5-0000000000000001"]);
    let waiting = call(&directory, "read");
    assert!(waiting.text.starts_with("held-") && waiting.error.is_none(), "{waiting:?}");
    let directory = with_names(&["held-5000-0000000000000001"]);
    let busy = call(&directory, "read").error.unwrap();
    assert_eq!(busy.code, "limit-exceeded");
    assert_eq!(
        call(&directory, "write").error.unwrap(),
        Failure { message: busy.message.replace("read", "write"), ..busy }
    );
}

#[test]
fn without_a_state_directory_calls_only_read() {
    let directory = Directory::default();
    assert_eq!(call(&directory, "read").error, None);
    assert_eq!(call(&directory, "unknown").error, None);
    let refused = call(&directory, "write").error.unwrap();
    assert_eq!(refused.code, "read-only");
    assert!(refused.hint.unwrap().contains("`/paddock-state`"));
    let refused = call(&Directory { has_journal: true, ..directory }, "read").error.unwrap();
    assert!(refused.message.contains("unfinished"));
}

#[test]
fn a_lock_that_fails_or_expires_is_told() {
    let mut directory = with_names(&["free"]);
    let outcome = call(&directory, "slow");
    assert!(outcome.error.is_none() && outcome.text.contains("lock expired"), "{outcome:?}");
    directory.lock.as_mut().unwrap().is_broken = true;
    let refused = call(&directory, "read").error.unwrap();
    assert_eq!(refused.code, "io");
    assert!(refused.hint.unwrap().contains("writable"));
}
