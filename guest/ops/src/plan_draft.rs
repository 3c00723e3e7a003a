//! The plan of a call while its operation adds what it would change.

use paddock_types::approval_plan::Plan;
use paddock_types::digest::hex;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::request::Request;
use paddock_vfs::open_location::OpenLocation;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;
use paddock_workspace::{Workspace, tree};
use sha2::{Digest, Sha256};

/// A plan under construction.
pub struct PlanDraft<'w> {
    /// The workspace of the call, for a dry run.
    pub workspace: &'w Workspace<'w>,
    digest: Sha256,
    summary: String,
    paths: Vec<String>,
}

impl<'w> PlanDraft<'w> {
    /// Starts the plan of `request`.
    pub fn new(workspace: &'w Workspace<'w>, request: &Request) -> Self {
        // The debug format contains every argument, so that different requests have different digests.
        let digest = Sha256::new_with_prefix(format!("{request:?}"));
        Self { workspace, digest, summary: String::new(), paths: Vec::new() }
    }

    /// Adds a path with its current state, for an operation that acts on a symbolic link itself.
    pub fn add(&mut self, operation: &str, path: &str) -> Result<()> {
        self.add_resolved(operation, path, FollowSymlinks::No)
    }

    /// Adds the file to which a path leads, with its current state, for an operation that follows symbolic links.
    pub fn add_target(&mut self, operation: &str, path: &str) -> Result<()> {
        self.add_resolved(operation, path, FollowSymlinks::Yes)
    }

    fn add_resolved(&mut self, operation: &str, path: &str, follow: FollowSymlinks) -> Result<()> {
        let resolved = self.workspace.resolve_with(path, operation, follow)?;
        let state = self.state(&resolved, operation)?;
        self.digest.update(format!("\n{:?} {state}", resolved.path));
        let about = state.split_once(':').map_or(state.as_str(), |(about, _)| about);
        self.say(&format!("{operation} `{}` ({about})\n", printable(&resolved.path)));
        self.paths.push(resolved.path);
        Ok(())
    }

    /// Adds text to the summary.
    pub fn say(&mut self, words: &str) {
        self.summary.push_str(words);
    }

    /// Adds a path whose state does not matter, such as the directory of a command.
    pub fn name(&mut self, path: &str) {
        self.paths.push(path.to_owned());
    }

    /// Describes the current state of a path: in words, followed by `:` and a digest of its content.
    fn state(&self, resolved: &ResolvedPath, operation: &str) -> Result<String> {
        let Some(stat) = resolved.stat else { return Ok("nothing there now".to_owned()) };
        let location = OpenLocation { dir: resolved.dir.clone(), name: resolved.name.clone() };
        let fs = self.workspace.fs;
        let to_error = |fault: paddock_vfs::Fault| fault.at(operation, &resolved.requested_path);
        match stat.kind {
            Kind::File => {
                let digest = location.digest(fs).map_err(to_error)?.unwrap_or_default();
                Ok(format!("a file of {} bytes:{digest}", stat.size))
            }
            Kind::Link => Ok(format!("a link:{:?}", fs.read_link(&location.dir, &location.name).ok())),
            Kind::Other => Ok("no file".to_owned()),
            Kind::Directory if resolved.is_root() => Ok("the workspace".to_owned()),
            Kind::Directory => {
                let mut entries = Vec::new();
                let add = |path: &str, location: &OpenLocation, kind: Kind| {
                    if self.workspace.out_of_time() {
                        return Err(self.out_of_time(operation, resolved));
                    }
                    let content = match kind {
                        Kind::File => location.digest(fs).map_err(to_error)?,
                        Kind::Link => fs.read_link(&location.dir, &location.name).ok(),
                        Kind::Directory | Kind::Other => None,
                    };
                    entries.push(format!("{path:?} {kind:?} {content:?}"));
                    Ok(())
                };
                tree::each(fs, &resolved.path, location, stat.kind, add, to_error)?;
                entries.sort_unstable();
                let digest = hex(&Sha256::digest(entries.join("\n")));
                Ok(format!("a directory with {} entries:{digest}", entries.len().saturating_sub(1)))
            }
        }
    }

    fn out_of_time(&self, operation: &str, resolved: &ResolvedPath) -> Error {
        let cause = "reading everything that needs approval takes longer than the time limit of a call";
        Error::at(Code::LimitExceeded, operation, &resolved.requested_path, cause)
            .hint("do it in parts, one directory below it at a time")
    }

    /// Returns the plan.
    pub fn finish(self) -> Plan {
        Plan { digest: hex(&self.digest.finalize()), summary: self.summary, paths: self.paths }
    }
}
