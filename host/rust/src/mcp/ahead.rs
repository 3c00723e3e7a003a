//! Requests that have been read and have not started.

use std::collections::VecDeque;

use rmcp::model::RequestId;

use super::batch::BatchNumber;
use super::load::Load;
use super::message::Received;

/// Maximum number of requests that are read ahead, and the total weight in bytes at which no more are.
pub(super) const MAX_AHEAD: usize = 256;
const MAX_AHEAD_WEIGHT: usize = 16 << 20;

/// Requests that wait for their start, in their order.
#[derive(Default)]
pub(super) struct ReadAhead {
    requests: VecDeque<Waiting>,
    weight: usize,
}

pub(super) struct Waiting {
    pub(super) id: RequestId,
    pub(super) request: Received,
    pub(super) weight: usize,
    pub(super) batch: Option<BatchNumber>,
}

impl ReadAhead {
    /// Removes the first request, if it has room, and counts it as in flight.
    pub(super) fn start_next(&mut self, load: &Load) -> Option<Waiting> {
        let first = self.requests.front()?;
        if !load.has_capacity(&first.id, first.weight) {
            return None;
        }
        let first = self.requests.pop_front()?;
        self.weight = self.weight.saturating_sub(first.weight);
        load.begin(first.id.clone(), first.weight);
        Some(first)
    }

    pub(super) fn push(&mut self, request: Waiting) {
        self.weight = self.weight.saturating_add(request.weight);
        self.requests.push_back(request);
    }

    pub(super) fn remove(&mut self, id: &RequestId) -> Option<Waiting> {
        let at = self.requests.iter().position(|waiting| waiting.id == *id)?;
        let removed = self.requests.remove(at)?;
        self.weight = self.weight.saturating_sub(removed.weight);
        Some(removed)
    }

    pub(super) fn has_capacity(&self) -> bool {
        self.requests.len() < MAX_AHEAD && self.weight < MAX_AHEAD_WEIGHT
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}
