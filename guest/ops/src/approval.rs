//! Approval of calls by a person. The approved object is a plan: the request with all its arguments, and the state of
//! every path that it would change. The host signs the digest of the plan with a key that only the host and this
//! component know. A call with a different plan needs an approval of its own.

use hmac::{Hmac, KeyInit, Mac};
use paddock_types::digest::hex;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::policy::Approval;
use paddock_types::request::Request;
use paddock_vfs::open_location::OpenLocation;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;
use paddock_workspace::{Workspace, tree};
use sha2::{Digest, Sha256};

use crate::operation;
use crate::operation::ChangingOperation;

pub use paddock_types::approval_plan::{Decision, Plan};

/// Checks that `request` has the approval that the policy requires.
///
/// # Errors
///
/// `Code::ApprovalRequired`, with the plan, if the approval is missing, expired or for another plan; `Code::Denied` if
/// it was refused.
pub fn check(workspace: &Workspace<'_>, request: &Request) -> Result<()> {
    if !request.can_change() || workspace.policy.approval == Approval::Never {
        return Ok(());
    }
    let Some(change) = operation::of(request).as_change() else { return Ok(()) };
    let Some(plan) = plan_of(workspace, request, change)? else { return Ok(()) };
    match &workspace.policy.host.decision {
        Some(Decision::Approved(signed)) if is_signed(workspace, &plan, signed) => Ok(()),
        Some(Decision::Refused(reason)) => Err(refused(&plan, reason)),
        Some(Decision::Approved(_)) | None => Err(required(workspace, plan)),
    }
}

/// Returns the plan of `request`, or `None` if the policy requires no approval for it.
fn plan_of(workspace: &Workspace<'_>, request: &Request, change: &dyn ChangingOperation) -> Result<Option<Plan>> {
    let asks_always = workspace.policy.approval == Approval::OnChange;
    if !asks_always && !change.can_delete() {
        return Ok(None);
    }
    let mut draft = PlanDraft::new(workspace, request);
    let deletes = change.plan(&mut draft)?;
    Ok((asks_always || deletes).then(|| draft.finish()))
}

/// A plan under construction.
pub struct PlanDraft<'w> {
    /// The workspace of the call, for a dry run.
    pub workspace: &'w Workspace<'w>,
    digest: Sha256,
    summary: String,
    paths: Vec<String>,
}

impl<'w> PlanDraft<'w> {
    fn new(workspace: &'w Workspace<'w>, request: &Request) -> Self {
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

    fn finish(self) -> Plan {
        Plan { digest: hex(&self.digest.finalize()), summary: self.summary, paths: self.paths }
    }
}

/// Returns whether the host signed this plan and the signature has not expired.
fn is_signed(workspace: &Workspace<'_>, plan: &Plan, signed: &str) -> bool {
    let Some(key) = workspace.policy.host.approval_key.as_deref().and_then(from_hex) else { return false };
    let Some((said, signature)) = signed.rsplit_once('.') else { return false };
    let Some((expires_ms, _nonce)) = said.split_once('.') else { return false };
    let Ok(expires_ms) = u64::from_str_radix(expires_ms, 16) else { return false };
    let now = workspace.fs.now();
    let now_ms = now.seconds * 1_000 + u64::from(now.nanoseconds / 1_000_000);
    let Some(signature) = from_hex(signature) else { return false };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else { return false };
    mac.update(signed_text(said, &plan.digest).as_bytes());
    key.len() >= 16 && now_ms < expires_ms && mac.verify_slice(&signature).is_ok()
}

/// Returns the text that the host signs with HMAC-SHA256.
fn signed_text(said: &str, digest: &str) -> String {
    format!("paddock approval 1\n{said}\n{digest}")
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || text.len() % 2 == 1 {
        return None;
    }
    let digit = |at: usize| text.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    (0..text.len()).step_by(2).map(digit).collect()
}

fn required(workspace: &Workspace<'_>, plan: Plan) -> Error {
    let hint = match workspace.policy.host.approval_key {
        Some(_) => "the person decides: wait, or continue without this change, and do not attempt it by other means",
        None => "this host cannot ask a person: continue without this change, or leave it to the person who runs this",
    };
    Error {
        path: plan.paths.first().cloned(),
        plan: Some(Box::new(plan.clone())),
        ..Error::new(Code::ApprovalRequired, format!("a person has to approve this first: {}", short(&plan))).hint(hint)
    }
}

fn refused(plan: &Plan, reason: &str) -> Error {
    let reason = if reason.is_empty() { String::new() } else { format!(": {}", printable(reason)) };
    Error {
        path: plan.paths.first().cloned(),
        ..Error::new(Code::Denied, format!("a person refused this{reason}: {}", short(plan)))
            .hint("continue without this change, and do not attempt it by other means")
    }
}

fn short(plan: &Plan) -> &str {
    plan.summary.lines().next().unwrap_or_default()
}
