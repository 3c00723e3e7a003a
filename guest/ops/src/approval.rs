//! Approval of calls by a person. The approved object is a plan: the request with all its arguments, and the state of
//! every path that it would change. The host signs the digest of the plan with a key that only the host and this
//! component know. A call with a different plan needs an approval of its own.

use hmac::{Hmac, KeyInit, Mac};
use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::policy::Approval;
use paddock_types::request::Request;
use paddock_workspace::Workspace;
use sha2::Sha256;

use crate::operation;
use crate::operation::ChangingOperation;
use crate::plan_draft::PlanDraft;

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
    let always_needs_approval = workspace.policy.approval == Approval::OnChange;
    if !always_needs_approval && !change.can_delete() {
        return Ok(None);
    }
    let mut draft = PlanDraft::new(workspace, request);
    let deletes = change.plan(&mut draft)?;
    Ok((always_needs_approval || deletes).then(|| draft.finish()))
}

/// Returns whether the host signed this plan and the signature has not expired.
fn is_signed(workspace: &Workspace<'_>, plan: &Plan, signed: &str) -> bool {
    let Some(key) = workspace.policy.host.approval_key.as_deref().and_then(from_hex) else { return false };
    let Some((validity, signature)) = signed.rsplit_once('.') else { return false };
    let Some((expires_ms, _nonce)) = validity.split_once('.') else { return false };
    let Ok(expires_ms) = u64::from_str_radix(expires_ms, 16) else { return false };
    let now = workspace.fs.now();
    let now_ms = now.seconds * 1_000 + u64::from(now.nanoseconds / 1_000_000);
    let Some(signature) = from_hex(signature) else { return false };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else { return false };
    mac.update(signed_text(validity, &plan.digest).as_bytes());
    key.len() >= 16 && now_ms < expires_ms && mac.verify_slice(&signature).is_ok()
}

/// Returns the text that the host signs with HMAC-SHA256.
fn signed_text(validity: &str, digest: &str) -> String {
    format!("paddock approval 1\n{validity}\n{digest}")
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

#[cfg(test)]
mod tests;
