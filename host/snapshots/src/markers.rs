//! Markers of running operations: an operation that stores objects and one that removes objects exclude each other.
//!
//! Each writes its own marker first and then looks for markers of the other kind, so that at least one of two that begin
//! at once finds the other.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures_util::TryStreamExt;

use crate::error::{Error, Result};
use crate::object::Object;
use crate::store::Store;

/// Directory of the markers.
const DIRECTORY: &str = "running";

/// Age from which a marker is that of a killed process.
pub(crate) const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// Kind of a running operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Snapshot,
    Collection,
}

/// A marker in the store. [`Self::end`] removes it.
pub(crate) struct Marker {
    store: Store,
    key: String,
    begun: Instant,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Collection => "collection",
        }
    }

    fn operation(self) -> &'static str {
        match self {
            Self::Snapshot => "take the snapshot",
            Self::Collection => "remove objects",
        }
    }

    /// Returns the kind of the operations that exclude this one. Two removals exclude each other too.
    fn excluded(self) -> &'static [Self] {
        match self {
            Self::Snapshot => &[Self::Collection],
            Self::Collection => &[Self::Snapshot, Self::Collection],
        }
    }
}

impl Marker {
    /// Writes a marker. Fails if the store has one of an operation that excludes this one.
    pub(crate) async fn begin(store: &Store, kind: Kind) -> Result<Self> {
        let key = format!("{DIRECTORY}/{}-{}", kind.name(), random()?);
        let marker = Self { store: store.clone(), key, begun: Instant::now() };
        store.put(&marker.key, Bytes::from_static(b"\n")).await?;
        match marker.other(kind).await {
            Ok(None) => Ok(marker),
            Ok(Some(other)) => {
                marker.end().await?;
                Err(Error::Busy { operation: kind.operation(), marker: other })
            }
            Err(error) => {
                // The first error is the one to report.
                let _ = marker.end().await;
                Err(error)
            }
        }
    }

    /// Returns the marker of another operation that excludes this one.
    async fn other(&self, kind: Kind) -> Result<Option<String>> {
        let is_excluded = |key: &str| {
            let is_of = |kind: &Kind| key.starts_with(&format!("{DIRECTORY}/{}-", kind.name()));
            key != self.key && kind.excluded().iter().any(is_of)
        };
        // The time of the own marker, by the clock of the store: that of this machine can be wrong.
        let (mut now, mut latest) = (None, None::<Object>);
        let mut markers = self.store.list(DIRECTORY);
        while let Some(marker) = markers.try_next().await? {
            if marker.key == self.key {
                now = Some(marker.modified);
            } else if is_excluded(&marker.key) && latest.as_ref().is_none_or(|last| last.modified < marker.modified) {
                latest = Some(marker);
            }
        }
        let now = now.unwrap_or_else(SystemTime::now);
        let is_running = |marker: &Object| now.duration_since(marker.modified).unwrap_or_default() < STALE;
        Ok(latest.filter(is_running).map(|marker| marker.key))
    }

    /// Fails if the marker is so old that another process may ignore it.
    pub(crate) fn check(&self) -> Result<()> {
        match self.begun.elapsed() < STALE / 2 {
            true => Ok(()),
            false => Err(Error::Limit {
                operation: "take the snapshot",
                what: "the hours of its duration".to_owned(),
                limit: 12,
            }),
        }
    }

    pub(crate) async fn end(self) -> Result<()> {
        self.store.delete(&self.key).await
    }
}

/// Returns 16 random hexadecimal digits.
pub(crate) fn random() -> Result<String> {
    let value = getrandom::u64().map_err(|cause| Error::Task { cause: cause.to_string() })?;
    Ok(format!("{value:016x}"))
}
