//! Notifications about changed resources, whoever changes them. While there are subscriptions, the server compares the
//! fingerprint of each resource periodically.
//!
//! `notify` reports changes of directories of the host only, and not of a workspace in memory or the view of an
//! overlay.
//!
//! In the protocol revisions that start with `initialize`, a client subscribes by `resources/subscribe`, in the
//! stateless revision by `subscriptions/listen`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{Extensions, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::{ErrorData, RoleServer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use super::resources::{Files, failure, find, paths};
use super::roots::SessionWorkspace;
use crate::types::ToolError;
use crate::{CancelToken, Fingerprint, Workspace};

/// Maximum number of subscriptions of a session.
const MAX: usize = 100;
/// Minimum pause between two checks, and minimum ratio of the pause to the duration of the check before it.
const INTERVAL: Duration = Duration::from_secs(1);
const SPARING: u32 = 10;

/// Maximum number of threads of the process that check subscriptions.
pub(crate) const MAX_THREADS: usize = 4;
/// Permits for these threads.
static THREADS: Semaphore = Semaphore::const_new(MAX_THREADS);

/// Lock of the checks of subscriptions: those of all clients of a workspace take one thread at a time.
pub(crate) type Polls = Arc<tokio::sync::Mutex<()>>;

/// Subscriptions of the client of a session. Dropping the value ends the task that checks them.
pub(super) struct Subscriptions {
    session: Arc<SessionWorkspace>,
    dialect: String,
    polls: Polls,
    permits: Arc<Semaphore>,
    watched: Watched,
    looking: Mutex<Option<AbortHandle>>,
}

/// Subscriptions by their URIs.
#[derive(Clone, Default)]
struct Watched(Arc<Mutex<BTreeMap<String, Subscription>>>);

struct Subscription {
    path: String,
    fingerprint: Fingerprint,
    _permit: OwnedSemaphorePermit,
}

impl Subscriptions {
    pub(super) fn new(session: Arc<SessionWorkspace>, dialect: String, polls: Polls) -> Self {
        let (watched, looking) = (Watched::default(), Mutex::default());
        Self { session, dialect, polls, permits: Arc::new(Semaphore::new(MAX)), watched, looking }
    }

    /// Handles `resources/subscribe`. Fails if there is nothing at the path that a tool may show.
    pub(super) async fn add(&self, uri: String, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if self.watched.lock().contains_key(&uri) {
            return Ok(());
        }
        let (subscription, error) = self.subscription(&uri, context).await?;
        if let Some(error) = error {
            return Err(failure(&error, Some(&uri), &self.dialect));
        }
        let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        self.watched.lock().insert(uri, subscription);
        if looking.is_none() {
            let (watched, polls, mut context) = (self.watched.clone(), self.polls.clone(), context.clone());
            let (session, dialect) = (self.session.clone(), self.dialect.clone());
            // They may hold capacity of the server until the request has been handled.
            context.extensions = Extensions::default();
            let task =
                async move { watched.watch(&session, &dialect, &context, &polls, &Ear::Client(&context.peer)).await };
            *looking = Some(tokio::spawn(task).abort_handle());
        }
        Ok(())
    }

    /// Handles `resources/unsubscribe`.
    pub(super) fn remove(&self, uri: &str) {
        let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let mut watched = self.watched.lock();
        watched.remove(uri);
        if watched.is_empty()
            && let Some(task) = looking.take()
        {
            task.abort();
        }
    }

    /// Returns the part of a `subscriptions/listen` request that the server supports: its resource URIs with valid
    /// paths.
    pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
        let uris = requested.resource_subscriptions.iter().flatten().filter(|uri| paths(uri).is_ok());
        SubscriptionFilter::builder().resource_subscriptions(uris).build()
    }

    /// Handles `subscriptions/listen` until the client cancels it. The client is also notified when a missing resource
    /// appears, but not when a resource that no tool may show does.
    pub(super) async fn listen(&self, context: &SubscriptionContext) -> Result<(), ErrorData> {
        let (watched, request) = (Watched::default(), context.request_context());
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            let (subscription, _) = self.subscription(uri, request).await?;
            watched.lock().insert(uri.clone(), subscription);
        }
        if !watched.lock().is_empty() {
            let ear = Ear::Listener(context.sink());
            tokio::select! {
                () = context.cancelled() => {}
                () = watched.watch(&self.session, &self.dialect, request, &self.polls, &ear) => {}
            }
        } else {
            context.cancelled().await;
        }
        Ok(())
    }

    /// Creates a subscription with the first fingerprint of its resource. Returns also the reason why no tool may show
    /// the resource, if there is one.
    async fn subscription(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<(Subscription, Option<ToolError>), ErrorData> {
        let permit = self.permits.clone().try_acquire_owned().map_err(|_| {
            let message =
                format!("cannot subscribe to `{uri}`: there are {MAX} subscriptions already; end another first");
            ErrorData::invalid_params(message, None)
        })?;
        let workspace = self.session.workspace(&self.dialect, context).await;
        let files = Files { workspace, listener: super::listener(context) };
        let turn = self.polls.lock().await;
        let permit_of_thread = THREADS.acquire().await;
        let found = find(&files, uri).await;
        drop(permit_of_thread);
        let (path, error) = found?;
        let first = fingerprints(files.workspace, vec![(path, None)]).await.0.pop();
        drop(turn);
        let (path, fingerprint) = first.ok_or_else(|| ErrorData::internal_error("the fingerprint was lost", None))?;
        let fingerprint = fingerprint.map_err(|error| failure(&error, Some(uri), &self.dialect))?;
        Ok((Subscription { path, fingerprint, _permit: permit }, error))
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        if let Some(task) = self.looking.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

/// Recipient of the notifications.
enum Ear<'e> {
    Client(&'e Peer<RoleServer>),
    Listener(&'e SubscriptionSink),
}

impl Ear<'_> {
    /// Notifies the recipient; returns false if it is gone.
    async fn tell(&self, uri: String) -> bool {
        match self {
            Self::Client(peer) => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_ok()
            }
            Self::Listener(sink) => sink.notify_resource_updated(uri).await.is_ok(),
        }
    }
}

impl Watched {
    /// Checks the resources periodically, and returns when the connection ends.
    async fn watch(
        &self,
        session: &SessionWorkspace,
        dialect: &str,
        context: &RequestContext<RoleServer>,
        polls: &Polls,
        ear: &Ear<'_>,
    ) {
        let mut pause = INTERVAL;
        loop {
            tokio::time::sleep(pause).await;
            // The client may have changed its roots in the meantime.
            let workspace = session.workspace(dialect, context).await;
            let turn = polls.lock().await;
            let (changed, time) = self.changed(workspace).await;
            drop(turn);
            for uri in changed {
                if !ear.tell(uri).await {
                    return;
                }
            }
            pause = INTERVAL.max(time.saturating_mul(SPARING));
        }
    }

    /// Returns the URIs of the resources that changed since the last check, and the time that the check took.
    async fn changed(&self, workspace: Workspace) -> (Vec<String>, Duration) {
        let (uris, last): (Vec<_>, Vec<_>) = {
            let watched = self.lock();
            let pair =
                |(uri, it): (&String, &Subscription)| (uri.clone(), (it.path.clone(), Some(it.fingerprint.clone())));
            watched.iter().map(pair).unzip()
        };
        let (now, time) = fingerprints(workspace, last).await;
        let mut watched = self.lock();
        let mut changed = Vec::new();
        for (uri, (_, fingerprint)) in uris.into_iter().zip(now) {
            // If the fingerprint could not be determined, the next check compares again.
            if let (Some(subscription), Ok(fingerprint)) = (watched.get_mut(&uri), fingerprint) {
                if fingerprint.differs(&subscription.fingerprint) {
                    changed.push(uri);
                }
                subscription.fingerprint = fingerprint;
            }
        }
        (changed, time)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Subscription>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Determines the fingerprint of each path on a thread that may block. Returns also the time that this took, without that of
/// waiting for a thread. Dropping the future cancels the work.
async fn fingerprints(
    workspace: Workspace,
    paths: Vec<(String, Option<Fingerprint>)>,
) -> (Vec<(String, Result<Fingerprint, ToolError>)>, Duration) {
    let cancel_on_drop = CancelOnDrop(CancelToken::default());
    let (mut fingerprints, mut time) = (Vec::new(), Duration::ZERO);
    for (path, before) in paths {
        let (workspace, cancel) = (workspace.clone(), cancel_on_drop.0.clone());
        // A permit for each path, so that subscriptions to many files let others have their turns.
        let Ok(permit) = THREADS.acquire().await else { break };
        let began = Instant::now();
        let work = move || {
            let fingerprint = workspace.fingerprint(&path, before.as_ref(), &cancel);
            drop(permit);
            (path, fingerprint)
        };
        let Ok(fingerprint) = tokio::task::spawn_blocking(work).await else { break };
        fingerprints.push(fingerprint);
        time += began.elapsed();
    }
    (fingerprints, time)
}

struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_check_waits_for_one_of_the_threads() {
        let home = tempfile::tempdir().unwrap();
        let workspace = Workspace::builder().root(home.path()).no_state_dir().build().unwrap();
        let others = THREADS.acquire_many(MAX_THREADS as u32).await.unwrap();
        let check = fingerprints(workspace, vec![(".".to_owned(), None)]);
        tokio::pin!(check);
        assert!(tokio::time::timeout(Duration::from_millis(200), &mut check).await.is_err());
        let freed = Instant::now();
        drop(others);
        let (found, time) = check.await;
        assert!(matches!(found.as_slice(), [(_, Ok(_))]), "{}", found.len());
        assert!(time <= freed.elapsed(), "the time of waiting for a thread does not count");
    }
}
