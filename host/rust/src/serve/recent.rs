//! The most recent calls of each workspace, for the status page. Their number and size are bounded.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::narrowing::InnerPath;
use crate::Ended;
use crate::types::{Change, ChangeKind};

/// Maximum number of calls of one workspace.
const MAX_CALLS: usize = 50;

/// Maximum number of workspaces. The one without a call for the longest time is forgotten for another one.
const MAX_WORKSPACES: usize = 100;

/// Maximum number of paths of one call, and of bytes of a path and characters of a name.
const MAX_PATHS: usize = 8;
const MAX_CHARS: usize = 256;

/// The recent calls of all workspaces.
#[derive(Default)]
pub(super) struct Recent(Mutex<Calls>);

#[derive(Default)]
struct Calls {
    by_workspace: HashMap<String, OfWorkspace>,
    /// Number of calls so far.
    count: u64,
}

#[derive(Default)]
struct OfWorkspace {
    calls: VecDeque<RecentCall>,
    /// Number of the last call.
    last: u64,
}

/// A call that has ended.
#[derive(Clone, Debug)]
pub(super) struct RecentCall {
    /// Time of its end, in RFC 3339 and UTC.
    pub(super) time: String,
    pub(super) holder: String,
    /// Directory to which the token was limited, and to which the paths are relative.
    pub(super) part: Option<InnerPath>,
    pub(super) tool: String,
    pub(super) is_ok: bool,
    /// `ok`, or the code of the failure.
    pub(super) outcome: &'static str,
    pub(super) duration_ms: f64,
    pub(super) bytes: u64,
    /// Accessed paths, without those that `.agentignore` hides.
    pub(super) paths: Vec<String>,
    pub(super) changes: Vec<RecentChange>,
    /// Number of paths and changes that are left out.
    pub(super) left_out: u64,
}

/// A change of a path.
#[derive(Clone, Debug)]
pub(super) struct RecentChange {
    /// The kind, in the past tense.
    pub(super) kind: &'static str,
    pub(super) path: String,
    /// The new path of an entry that was moved.
    pub(super) to: Option<String>,
}

/// A workspace with recent calls.
#[derive(Clone, Debug)]
pub(super) struct Active {
    pub(super) workspace: String,
    pub(super) calls: usize,
    /// The last call.
    pub(super) last: RecentCall,
}

impl Recent {
    /// Adds a call that has ended.
    pub(super) fn add(&self, workspace: &str, holder: &str, part: Option<&InnerPath>, ended: &Ended) {
        let call = RecentCall::new(holder, part, ended);
        let mut calls = self.lock();
        calls.count += 1;
        let number = calls.count;
        if calls.by_workspace.len() >= MAX_WORKSPACES && !calls.by_workspace.contains_key(workspace) {
            let oldest = calls.by_workspace.iter().min_by_key(|(_, known)| known.last).map(|(name, _)| name.clone());
            oldest.into_iter().for_each(|name| drop(calls.by_workspace.remove(&name)));
        }
        let known = calls.by_workspace.entry(workspace.to_owned()).or_default();
        known.last = number;
        if known.calls.len() >= MAX_CALLS {
            known.calls.pop_front();
        }
        known.calls.push_back(call);
    }

    /// Returns the calls of a workspace, the newest first.
    pub(super) fn of(&self, workspace: &str) -> Vec<RecentCall> {
        self.lock()
            .by_workspace
            .get(workspace)
            .map(|known| known.calls.iter().rev().cloned().collect())
            .unwrap_or_default()
    }

    /// Returns the workspaces with calls, the most recently used first.
    pub(super) fn active(&self) -> Vec<Active> {
        let calls = self.lock();
        let mut active: Vec<_> = calls.by_workspace.iter().collect();
        active.sort_by_key(|(_, known)| std::cmp::Reverse(known.last));
        let active = active.into_iter().filter_map(|(name, known)| {
            let last = known.calls.back()?.clone();
            Some(Active { workspace: name.clone(), calls: known.calls.len(), last })
        });
        active.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecentCall {
    /// Returns the paths of the call.
    pub(super) fn all_paths(&self) -> impl Iterator<Item = &String> {
        self.paths.iter().chain(self.changes.iter().flat_map(RecentChange::paths))
    }

    /// Leaves out these paths.
    pub(super) fn hide(&mut self, is_hidden: impl Fn(&String) -> bool) {
        let before = self.paths.len() + self.changes.len();
        self.paths.retain(|path| !is_hidden(path));
        self.changes.retain(|change| !change.paths().any(&is_hidden));
        let left_out = before - self.paths.len() - self.changes.len();
        self.left_out = self.left_out.saturating_add(u64::try_from(left_out).unwrap_or(u64::MAX));
    }

    fn new(holder: &str, part: Option<&InnerPath>, ended: &Ended) -> Self {
        // A part of a path would be another path.
        let paths: Vec<_> = ended.paths.iter().filter(|path| is_short(path)).take(MAX_PATHS).cloned().collect();
        let changes: Vec<_> = ended.changes.iter().filter_map(RecentChange::new).take(MAX_PATHS).collect();
        let all = ended.paths.len() + ended.changes.len();
        let left_out = u64::try_from(all - paths.len() - changes.len()).unwrap_or(u64::MAX);
        Self {
            time: ended.time.clone(),
            holder: shortened(holder),
            part: part.cloned(),
            tool: ended.tool.clone(),
            is_ok: ended.error.is_none(),
            outcome: ended.error.map_or("ok", crate::types::ErrorCode::name),
            duration_ms: ended.duration_ms,
            bytes: ended.bytes,
            paths,
            changes,
            left_out: left_out.saturating_add(ended.redacted),
        }
    }
}

impl RecentChange {
    fn new(change: &Change) -> Option<Self> {
        let kind = match change.kind {
            ChangeKind::Created => "created",
            ChangeKind::Modified => "modified",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Moved => "moved",
        };
        let change = Self { kind, path: change.path.clone(), to: change.to.clone() };
        Some(change).filter(|change| change.paths().all(|path| is_short(path)))
    }

    fn paths(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.path).chain(&self.to)
    }
}

fn is_short(path: &str) -> bool {
    path.len() <= MAX_CHARS
}

fn shortened(text: &str) -> String {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(MAX_CHARS).collect();
    if characters.next().is_some() { format!("{start}…") } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(number: usize) -> Ended {
        let change = Change { kind: ChangeKind::Created, path: "x".repeat(MAX_CHARS), to: None, size: None };
        Ended {
            call: number.to_string(),
            time: "2026-01-01T00:00:00Z".to_owned(),
            dialect: "paddock".to_owned(),
            tool: number.to_string(),
            operation: None,
            paths: ["y".repeat(MAX_CHARS), "z".repeat(10_000)].into_iter().cycle().take(1000).collect(),
            redacted: 3,
            bytes: 0,
            lines: None,
            truncated: false,
            duration_ms: 0.0,
            error: None,
            changes: vec![change; 1000],
        }
    }

    #[test]
    fn calls_workspaces_and_paths_are_bounded() {
        let recent = Recent::default();
        for workspace in 0..300 {
            recent.add(&workspace.to_string(), "alice", None, &ended(workspace));
            // It is used again and again.
            recent.add("busy", "alice", None, &ended(workspace));
        }
        assert_eq!((recent.active().len(), recent.of("busy").len()), (MAX_WORKSPACES, MAX_CALLS));
        assert!(recent.of("0").is_empty() && recent.active()[0].workspace == "busy");
        let calls = recent.of("busy");
        assert_eq!((&*calls[0].tool, &*calls[MAX_CALLS - 1].tool), ("299", "250"));
        let call = &calls[0];
        assert_eq!((call.paths.len(), call.changes.len(), call.left_out), (MAX_PATHS, MAX_PATHS, 2 * (1000 - 8) + 3));
        let size: usize = call.all_paths().map(String::len).sum();
        assert_eq!(size, 2 * MAX_PATHS * MAX_CHARS);
    }
}
