//! The lock of the state directory.
//!
//! A call that changes something must not overlap with another call, because every call that finds a journal finishes or
//! undoes the change in it, and would do so with a change that is still in progress. WASI has no locks, and an engine runs
//! requests in separate instances that share nothing but directories. The lock is therefore made of names in the directory
//! [`NAME`] of the state directory:
//!
//! - One file, the token, has the name `free`, or `held-EXPIRY-HOLDER` while a call holds the lock exclusively. A rename
//!   takes the token, returns it, or takes it from a holder whose time has expired. The file system performs a rename of
//!   one source only once, so that of several calls one succeeds. A name with the random number of its holder never
//!   returns: no call can take a token by a name that it read before the token changed.
//! - A file `reading-EXPIRY-HOLDER` is a call that only reads. It creates the file first, then looks for the token, and goes
//!   on only if the token is `free`. A call that changes something takes the token first, then looks for readers, and waits
//!   until there are none. Whichever of the two looks later sees the other.
//!
//! The steps rely on three properties of the directory: a rename fails if its source is gone, a list contains every entry
//! that existed during all of the listing, and both take effect for all processes in one order. Local file systems have
//! them. On a network file system they hold between processes of one machine, and between machines only without caches of
//! directory entries.
//!
//! A crash leaves the token with its holder's name. It expires: [`Times::lease_ms`] after it was taken, another call takes
//! it, and recovers the journal. The times are those of the wall clock, so that machines that share a state directory need
//! synchronized clocks. A call that takes longer than its lease loses the lock without notice until it ends. The engine
//! therefore has to end calls before this time; [`Kept::Lost`] reports that it did not.

use std::fmt;

/// Name of the directory of the lock in the state directory.
pub const NAME: &str = "component-lock";

const FREE: &str = "free";
const HELD: &str = "held-";
const READING: &str = "reading-";

/// First and longest pause before another attempt, in milliseconds.
const PAUSE_MS: u64 = 2;
const MAX_PAUSE_MS: u64 = 50;

/// The directory of a lock. Its operations take effect for all processes.
pub trait LockDirectory {
    /// Returns the names of all entries.
    fn names(&self) -> Result<Vec<String>, String>;

    /// Creates an empty file. It is no error if the file exists.
    fn create(&self, name: &str) -> Result<(), String>;

    /// Renames an entry. Returns false if there is no entry of the name `from`.
    fn rename(&self, from: &str, to: &str) -> Result<bool, String>;

    /// Removes a file. It is no error if the file does not exist.
    fn remove(&self, name: &str) -> Result<(), String>;
}

/// A directory that can contain the directory of a lock.
pub trait StateDirectory {
    /// Directory of a lock.
    type Lock: LockDirectory;

    /// Opens a directory, if it exists.
    fn open(&self, name: &str) -> Result<Option<Self::Lock>, String>;

    /// Creates and opens a directory.
    fn make(&self, name: &str) -> Result<Self::Lock, String>;

    /// Makes the names in this directory, and in `lock`, durable.
    fn sync(&self, lock: &Self::Lock) -> Result<(), String>;

    /// Renames a directory. Returns false if a directory with entries has the name `to`.
    fn rename(&self, from: &str, to: &str) -> Result<bool, String>;

    /// Removes an empty directory.
    fn remove(&self, name: &str) -> Result<(), String>;
}

/// Clocks and random numbers.
pub trait Clock {
    /// Returns the milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Waits.
    fn sleep_ms(&self, ms: u64);

    /// Returns a number that no other call of any process gets.
    fn random(&self) -> u64;
}

/// Times of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Milliseconds after which a lock expires that is not released. It has to be longer than the longest call.
    pub lease_ms: u64,
    /// Milliseconds for which a call waits for the lock.
    pub wait_ms: u64,
}

/// A lock.
pub struct Lock<D, C> {
    directory: D,
    clock: C,
    times: Times,
}

/// Why a lock was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockError {
    /// Other calls held the lock for the whole time.
    Busy,
    /// A call did not release the lock in time. The next call has to take the lock exclusively, and recovers the journal.
    Abandoned,
    /// The file system failed.
    Failed(String),
}

/// Whether a call had the lock until its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It had, and the lock was released.
    UntilEnd,
    /// The lock expired during the call, and another call took it.
    Lost,
    /// The lock was not released, and expires.
    Unreleased(String),
}

/// Opens the directory of the lock, and creates it if it does not exist.
///
/// The new directory gets its token before it gets its name, and a directory that is not empty is never replaced, so that
/// of several calls that create it, the directory of one remains.
///
/// # Errors
///
/// If the file system fails.
pub fn open<S: StateDirectory>(state: &S, random: u64) -> Result<S::Lock, LockError> {
    if let Some(lock) = state.open(NAME)? {
        return Ok(lock);
    }
    let new = format!("{NAME}.new-{random:016x}");
    let lock = state.make(&new)?;
    lock.create(FREE)?;
    state.sync(&lock)?;
    if !state.rename(&new, NAME)? {
        lock.remove(FREE)?;
        state.remove(&new)?;
    }
    let opened = state.open(NAME)?;
    opened.ok_or_else(|| LockError::Failed(format!("the directory `{NAME}` disappeared")))
}

impl<D: LockDirectory, C: Clock> Lock<D, C> {
    /// Creates the lock of a directory that [`open`] returned.
    pub fn new(directory: D, clock: C, times: Times) -> Self {
        Self { directory, clock, times }
    }

    /// Does work that overlaps with no other work under this lock.
    ///
    /// # Errors
    ///
    /// If the lock cannot be taken in time. The work has not begun then.
    pub fn exclusive<R>(&self, work: impl FnOnce() -> R) -> Result<(R, Kept), LockError> {
        let mut attempts = self.attempts();
        let token = self.take_token(&mut attempts)?;
        if let Err(error) = self.wait_for_readers(&mut attempts) {
            self.directory.rename(&token, FREE)?;
            return Err(error);
        }
        let result = work();
        let kept = match self.directory.rename(&token, FREE) {
            Ok(true) => Kept::UntilEnd,
            Ok(false) => Kept::Lost,
            Err(cause) => Kept::Unreleased(cause),
        };
        Ok((result, kept))
    }

    /// Does work that overlaps with no exclusive work under this lock.
    ///
    /// # Errors
    ///
    /// If the lock cannot be taken in time. The work has not begun then.
    pub fn shared<R>(&self, work: impl FnOnce() -> R) -> Result<R, LockError> {
        let mut attempts = self.attempts();
        loop {
            let reader = self.name(READING, attempts.holder);
            self.directory.create(&reader)?;
            let state = self.directory.names().map(|names| self.token(&names));
            if let Ok(Token::Free) = &state {
                let result = work();
                // A reader that remains delays changes until it expires, and makes no result wrong.
                drop(self.directory.remove(&reader));
                return Ok(result);
            }
            self.directory.remove(&reader)?;
            match state? {
                Token::Expired(_) => return Err(LockError::Abandoned),
                Token::Free | Token::Held | Token::Unseen => attempts.pause(&self.clock)?,
            }
        }
    }

    /// Takes the token, and returns its name.
    fn take_token(&self, attempts: &mut Attempts) -> Result<String, LockError> {
        loop {
            let names = self.directory.names()?;
            // A network file system can report that a rename failed which was made.
            let own = |name: &&String| Entry::parse(name, HELD).is_some_and(|entry| entry.holder == attempts.holder);
            if let Some(own) = names.iter().find(own) {
                return Ok(own.clone());
            }
            let from = match self.token(&names) {
                Token::Free => Some(FREE.to_owned()),
                Token::Expired(name) => Some(name),
                Token::Held | Token::Unseen => None,
            };
            let token = self.name(HELD, attempts.holder);
            if let Some(from) = from
                && self.directory.rename(&from, &token)?
            {
                return Ok(token);
            }
            attempts.pause(&self.clock)?;
        }
    }

    /// Waits until no reader remains. New readers see the token and go back. Removes readers that have expired.
    fn wait_for_readers(&self, attempts: &mut Attempts) -> Result<(), LockError> {
        loop {
            let names = self.directory.names()?;
            let mut is_read = false;
            for (name, reader) in names.iter().filter_map(|name| Some((name, Entry::parse(name, READING)?))) {
                match reader.expiry_ms < self.clock.now_ms() {
                    true => self.directory.remove(name)?,
                    false => is_read = true,
                }
            }
            if !is_read {
                return Ok(());
            }
            attempts.pause(&self.clock)?;
        }
    }

    fn token(&self, names: &[String]) -> Token {
        let mut held = names.iter().filter_map(|name| Some((name, Entry::parse(name, HELD)?))).peekable();
        if held.peek().is_none() {
            return if names.iter().any(|name| name == FREE) { Token::Free } else { Token::Unseen };
        }
        let now = self.clock.now_ms();
        // During a rename, a list can contain the old name, the new one, both or none.
        match held.find(|(_, entry)| entry.expiry_ms < now) {
            Some((name, _)) if names.iter().filter(|name| name.starts_with(HELD)).count() == 1 => {
                Token::Expired(name.clone())
            }
            _ => Token::Held,
        }
    }

    fn name(&self, prefix: &str, holder: u64) -> String {
        let expiry_ms = self.clock.now_ms().saturating_add(self.times.lease_ms);
        format!("{prefix}{expiry_ms}-{holder:016x}")
    }

    fn attempts(&self) -> Attempts {
        let deadline_ms = self.clock.now_ms().saturating_add(self.times.wait_ms);
        Attempts { holder: self.clock.random(), deadline_ms, pause_ms: PAUSE_MS }
    }
}

/// State of the token in a list of names.
enum Token {
    Free,
    Held,
    /// A holder has not returned the token in time. The token has this name.
    Expired(String),
    /// The list was made during a rename.
    Unseen,
}

/// A name with the time at which it expires, and the random number of its holder.
struct Entry {
    expiry_ms: u64,
    holder: u64,
}

impl Entry {
    fn parse(name: &str, prefix: &str) -> Option<Self> {
        let (expiry, holder) = name.strip_prefix(prefix)?.split_once('-')?;
        Some(Self { expiry_ms: expiry.parse().ok()?, holder: u64::from_str_radix(holder, 16).ok()? })
    }
}

/// Attempts of one call to take the lock.
struct Attempts {
    holder: u64,
    deadline_ms: u64,
    pause_ms: u64,
}

impl Attempts {
    /// Waits before the next attempt, for a time that doubles and differs among calls. Fails after the deadline.
    fn pause(&mut self, clock: &impl Clock) -> Result<(), LockError> {
        if clock.now_ms() >= self.deadline_ms {
            return Err(LockError::Busy);
        }
        clock.sleep_ms(self.pause_ms + clock.random() % self.pause_ms.max(1));
        self.pause_ms = (self.pause_ms * 2).min(MAX_PAUSE_MS);
        Ok(())
    }
}

impl From<String> for LockError {
    fn from(cause: String) -> Self {
        Self::Failed(cause)
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => formatter.write_str("other calls are using the workspace"),
            Self::Abandoned => formatter.write_str("a call has not released its lock in time"),
            Self::Failed(cause) => write!(formatter, "the lock in the state directory cannot be taken: {cause}"),
        }
    }
}

impl std::error::Error for LockError {}

#[cfg(test)]
mod tests;
