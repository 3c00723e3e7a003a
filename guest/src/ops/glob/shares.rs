//! A search for names by several instances: a share is a part of the walk, from
//! one directory to another, which the helper walks itself.

use std::collections::VecDeque;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::{Area, Search};
use crate::error::Result;
use crate::fs::Kind;
use crate::fs::walk::{Options, Start};
use crate::ops::shares::{self, Findings, Found};
use crate::request::{self, Request};
use crate::response::{Glob, Response};
use crate::workspace::Workspace;

/// Entries that the leader looks at before it asks for help: less is not worth it.
const ALONE_ENTRIES: u64 = 512;
/// Shares of one search at most: to come to where each begins, the directories above it are listed again.
const MAX_SHARES: usize = 16;
/// Levels down to which a search is cut, and entries that are looked at to find where.
const MAX_LEVEL: u32 = 5;
const MAX_ENTRIES: u64 = 20_000;

/// The instance that has the page.
pub struct Lead<'w> {
    search: Search<'w>,
    args: &'w request::Glob,
    fingerprint: String,
    /// Shares that nobody has; none before the first is asked for.
    ahead: Option<VecDeque<Share>>,
    /// Shares that are not joined yet, first ones first.
    out: VecDeque<Share>,
    /// Entries that were looked at in what is joined.
    looked_at: u64,
    is_over: bool,
}

/// A part of the walk.
#[derive(Clone, Serialize, Deserialize)]
struct Share {
    start: Start,
    until: Option<String>,
}

impl<'w> Lead<'w> {
    /// Begins the search and makes the first part of it, or all of it.
    pub fn begin(workspace: &'w Workspace<'w>, args: &'w request::Glob) -> Result<Self> {
        let (area, fingerprint, position) = super::begin(workspace, args)?;
        let mut search = Search::new(&area, area.walk(super::start(position), None)?, args.limit);
        let is_over = !search.advance(ALONE_ENTRIES);
        Ok(Self { search, args, fingerprint, ahead: None, out: VecDeque::new(), looked_at: 0, is_over })
    }

    fn shares(&self) -> VecDeque<Share> {
        let start = Start { path: self.search.walk.reached().to_owned(), inclusive: false };
        let cuts = self.cuts(&start);
        let starts = cuts.iter().map(|path| Start { path: path.clone(), inclusive: true });
        let ends = cuts.iter().cloned().map(Some).chain([None]);
        std::iter::once(start.clone()).chain(starts).zip(ends).map(|(start, until)| Share { start, until }).collect()
    }

    /// Where what is left is cut: before directories of the first level that has enough of them.
    fn cuts(&self, start: &Start) -> Vec<String> {
        let mut cuts = Vec::new();
        let area = &self.search.area;
        for level in 1..=area.options.max_depth.unwrap_or(MAX_LEVEL).min(MAX_LEVEL) {
            let options = Options { max_depth: Some(level), start: Some(start.clone()), ..area.options.clone() };
            let Ok(mut walk) = area.walk_as(options) else { break };
            let mut found = Vec::new();
            while walk.looked_at() < MAX_ENTRIES
                && let Some(entry) = walk.next_entry()
            {
                if entry.depth == level && entry.kind == Kind::Directory {
                    found.push(entry.below.to_owned());
                }
            }
            if found.is_empty() || walk.looked_at() >= MAX_ENTRIES {
                break;
            }
            cuts = found;
            if cuts.len() >= MAX_SHARES {
                break;
            }
        }
        let step = cuts.len().div_ceil(MAX_SHARES).max(1);
        cuts.into_iter().step_by(step).collect()
    }

    /// Searches a share as if there were no helpers: a page has to end at the very match.
    fn search_alone(&mut self, share: Share) {
        let Ok(mut walk) = self.search.area.walk(Some(share.start), share.until) else {
            self.search.skipped.unreadable += 1;
            return;
        };
        walk.add_looked_at(self.looked_at);
        self.search.skipped = self.search.left_out();
        self.search.walk = walk;
        self.search.advance(u64::MAX);
        self.looked_at = self.search.walk.looked_at();
        self.is_over = self.search.end.is_some();
    }
}

impl shares::Lead for Lead<'_> {
    fn is_over(&self) -> bool {
        self.is_over
    }

    fn order(&self) -> (Request, u64) {
        (Request::Glob(self.args.clone()), self.search.area.workspace.time_left_ms())
    }

    fn next_share(&mut self) -> Option<String> {
        if self.is_over {
            return None;
        }
        if self.ahead.is_none() {
            self.looked_at = self.search.walk.looked_at();
            self.ahead = Some(self.shares());
        }
        let share = self.ahead.as_mut()?.pop_front()?;
        let told = serde_json::to_string(&share).ok()?;
        self.out.push_back(share);
        Some(told)
    }

    fn join(&mut self, findings: Findings) -> bool {
        let Some(share) = self.out.pop_front() else { return true };
        let looked_at = self.looked_at.saturating_add(findings.used);
        match findings.found {
            // A page that would be full has to know where its last path is.
            Found::Glob(found)
                if findings.done > 0
                    && self.search.paths.len() + found.paths.len() < self.search.size
                    && looked_at <= self.search.area.workspace.policy.limits.max_entries =>
            {
                self.looked_at = looked_at;
                self.search.paths.extend(found.paths);
                self.search.skipped.add(&found.skipped);
            }
            Found::Glob(_) | Found::Grep(_) => self.search_alone(share),
        }
        self.is_over
    }

    fn finish(mut self: Box<Self>) -> Response {
        match self.ahead.take() {
            None => drop(self.search.advance(u64::MAX)),
            Some(ahead) => {
                for share in ahead {
                    if !self.is_over {
                        self.search_alone(share);
                    }
                }
            }
        }
        Response::Glob(self.search.finish(&self.fingerprint))
    }
}

/// An instance that searches shares.
pub struct Helper<'w> {
    area: Rc<Area<'w>>,
    limit: u32,
}

impl<'w> Helper<'w> {
    /// Makes ready for shares of the search that `args` is.
    pub fn enlist(workspace: &'w Workspace<'w>, args: &request::Glob) -> Result<Self> {
        Ok(Self { area: Rc::new(Area::new(workspace, args)?), limit: args.limit })
    }

    fn search(&self, share: &str) -> Option<Search<'w>> {
        let Share { start, until } = serde_json::from_str(share).ok()?;
        let mut search = Search::new(&self.area, self.area.walk(Some(start), until).ok()?, self.limit);
        search.advance(u64::MAX);
        Some(search)
    }
}

impl shares::Help for Helper<'_> {
    fn look(&mut self, share: &str) -> Findings {
        let search = self.search(share);
        // What did not come to its end the leader searches itself.
        let done = search.filter(|search| search.end.is_none());
        let (done, used, paths, skipped) = done
            .map_or_else(Default::default, |search| (1, search.walk.looked_at(), search.paths, search.walk.skipped));
        let found = Glob { paths, skipped, truncated: false, next_cursor: None };
        Findings { done, found: Found::Glob(found), used }
    }
}
