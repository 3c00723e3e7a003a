//! The user's own directories for files of programs, by the convention of the system.

use std::env;
use std::path::PathBuf;

/// Returns the directory for compiled code, which can be lost.
pub(crate) fn cache() -> Option<PathBuf> {
    absolute("PADDOCK_CACHE_DIR").or_else(|| of_paddock("XDG_CACHE_HOME", ".cache", "LOCALAPPDATA", "cache"))
}

/// Returns the directory for the user's policy.
pub(crate) fn config() -> Option<PathBuf> {
    of_paddock("XDG_CONFIG_HOME", ".config", "APPDATA", "")
}

/// Returns the directory that contains the state directories of all workspaces.
pub(crate) fn state() -> Option<PathBuf> {
    absolute("PADDOCK_STATE_DIR").or_else(|| of_paddock("XDG_STATE_HOME", ".local/state", "LOCALAPPDATA", "state"))
}

/// Returns the directory `paddock` in the directory that the variable `xdg` names, or in `below_home` of the user's
/// home directory. Windows has its own variable instead of the latter, for several purposes.
fn of_paddock(xdg: &str, below_home: &str, windows: &str, purpose: &str) -> Option<PathBuf> {
    let on_windows = || absolute(windows).map(|directory| directory.join("paddock").join(purpose));
    let on_unix = || env::home_dir().map(|home| home.join(below_home).join("paddock"));
    let own = || if cfg!(windows) { on_windows() } else { on_unix() };
    absolute(xdg).map(|directory| directory.join("paddock")).or_else(own)
}

fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
