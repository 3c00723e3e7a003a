//! Transactions on an overlay: the differences from the base can be rendered, committed to the base or discarded, all
//! of them or some, and the overlay can be rolled back to a checkpoint. These functions serve a person or a program; no
//! tool calls them.

mod commit;
mod diff;
mod git;
mod merge;
mod note;
mod plan;
mod undo;
mod unfinished;

use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::path::is_at_or_below;
use paddock_types::policy::Policy;
use paddock_vfs::checkpoint::check_name;
use paddock_vfs::overlay::whiteouts::BaseEntry;
use paddock_vfs::overlay::{Difference, OverlayFs};
use paddock_vfs::{Dir, Fault, Filesystem, FsResult};

pub use crate::overlay::commit::{Commit, CommitArgs};
pub use crate::overlay::diff::{Diff, DiffArgs, RenderedDifference};
pub use crate::overlay::plan::Conflict;
pub use crate::overlay::unfinished::recover;

/// An overlay and its base.
pub struct Transaction<'f> {
    fs: &'f dyn Filesystem,
    policy: &'f Policy,
    overlay: OverlayFs<'f>,
    /// Whether an interrupted commit is completed.
    is_recovery: bool,
    /// Guest path of the root whose paths have no prefix.
    workspace: String,
}

impl<'f> Transaction<'f> {
    /// Opens the overlay that `fs` preopens.
    pub fn open(fs: &'f dyn Filesystem, policy: &'f Policy) -> Result<Self> {
        Self::of(fs, policy, OverlayFs::open(fs, policy))
    }

    /// Opens the overlay whose directory is `top`.
    fn open_at(fs: &'f dyn Filesystem, policy: &'f Policy, top: Dir) -> Result<Self> {
        Ok(Self { is_recovery: true, ..Self::of(fs, policy, OverlayFs::open_at(fs, policy, Some(top)))? })
    }

    fn of(
        fs: &'f dyn Filesystem,
        policy: &'f Policy,
        overlay: std::result::Result<OverlayFs<'f>, Fault>,
    ) -> Result<Self> {
        let overlay = overlay.map_err(|fault| failed("open", &fault))?;
        let first = overlay.preopens().into_iter().map(|preopen| preopen.guest_path).next();
        Ok(Self { fs, policy, overlay, is_recovery: false, workspace: first.unwrap_or_default() })
    }

    /// Returns the file system below the overlay.
    pub fn base(&self) -> &dyn Filesystem {
        self.fs
    }

    /// Returns the policy of the host.
    pub fn policy(&self) -> &Policy {
        self.policy
    }

    /// Saves the current changes as a named checkpoint.
    ///
    /// # Errors
    ///
    /// `Code::AlreadyExists` if the name is taken.
    pub fn checkpoint(&self, name: &str) -> Result<()> {
        check_name(name)?;
        self.overlay.checkpoint(name).map_err(|fault| match fault {
            Fault::Exists => Error::new(Code::AlreadyExists, format!("there is a checkpoint `{name}` already"))
                .hint("use another name"),
            fault => failed("keep a checkpoint of", &fault),
        })
    }

    /// Resets the overlay to a checkpoint.
    ///
    /// # Errors
    ///
    /// `Code::NotFound` if no checkpoint has this name.
    pub fn rollback(&self, name: &str) -> Result<()> {
        check_name(name)?;
        self.overlay.rollback(name).map_err(|fault| match fault {
            Fault::NotFound => Error::new(Code::NotFound, format!("there is no checkpoint `{name}`"))
                .hint(format!("there are: {}", self.overlay.checkpoints().unwrap_or_default().join(", "))),
            fault => failed("roll back", &fault),
        })
    }

    /// Returns the names of all checkpoints.
    pub fn checkpoints(&self) -> Result<Vec<String>> {
        self.overlay.checkpoints().map_err(|fault| failed("read the checkpoints of", &fault))
    }

    /// Returns the differences at and below these paths, or all differences if `paths` is empty. Fails if a path has no
    /// difference, or lies in a directory that was replaced as a whole.
    fn choose(&self, paths: &[String]) -> Result<Vec<Difference>> {
        let all = self.overlay.changes().map_err(|fault| failed("read", &fault))?;
        if paths.is_empty() {
            return Ok(all);
        }
        let paths: Vec<&str> = paths.iter().map(|path| plain(path)).collect();
        let difference_paths: Vec<String> = all.iter().map(|difference| self.path(difference)).collect();
        if let Some(path) = paths
            .iter()
            .find(|path| !difference_paths.iter().any(|difference_path| is_at_or_below(difference_path, path)))
        {
            return Err(Error::at(Code::NotFound, "choose", path, "nothing differs from the base there")
                .hint("`diff` shows what does"));
        }
        let (mut chosen, mut whole): (Vec<Difference>, Vec<&Difference>) = (Vec::new(), Vec::new());
        for (difference, path) in all.iter().zip(&difference_paths) {
            if paths.iter().any(|chosen| is_at_or_below(path, chosen)) {
                if let Some(above) = whole.iter().find(|above| difference.is_in(above)) {
                    return Err(Error::at(Code::InvalidArgument, "choose", path, "a directory above it was replaced")
                        .hint(format!("name `{}`, which is committed as a whole", printable(&self.path(above)))));
                }
                chosen.push(difference.clone());
            } else if difference.hides_directory() {
                whole.push(difference);
            }
        }
        Ok(chosen)
    }

    /// Returns the current base entry of each difference, and whether the base equals the overlay there. A replaced
    /// directory is equal only if all its entries are.
    fn now(&self, differences: &[Difference]) -> Result<Vec<(Option<BaseEntry>, bool)>> {
        let now = differences.iter().map(|difference| self.overlay.base_now(difference));
        let now = now.collect::<FsResult<Vec<_>>>().map_err(|fault| failed("compare", &fault))?;
        let same: Vec<_> =
            differences.iter().zip(&now).map(|(difference, now)| difference.is_same(now.as_ref())).collect();
        let is_whole = |(at, difference): (usize, &Difference)| {
            let mut within = differences.iter().zip(&same).skip(at).take_while(|(below, _)| below.is_in(difference));
            if difference.hides_directory() { within.all(|(_, same)| *same) } else { same.get(at) == Some(&true) }
        };
        let is_there: Vec<_> = differences.iter().enumerate().map(is_whole).collect();
        Ok(now.into_iter().zip(is_there).collect())
    }

    /// Returns the rendered path of a difference.
    fn path(&self, difference: &Difference) -> String {
        let path = difference.path.join("/");
        if difference.root == self.workspace { path } else { format!("{}/{path}", difference.root) }
    }
}

/// Normalizes a rendered path.
fn plain(path: &str) -> &str {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    if path == "." { "" } else { path }
}

/// Returns the error of a call whose overlay cannot be read or written.
pub fn failed(operation: &str, fault: &Fault) -> Error {
    let error = fault.at(operation, "the overlay");
    Error { code: Code::Io, path: None, ..error }
        .hint("the person who runs this has to check the overlay's directory; nothing in the workspace was changed")
}
