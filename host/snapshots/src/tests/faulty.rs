//! A store that fails, or during whose requests the tree changes.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult,
};

use super::*;

/// Action before each write of an object; an error is that of the write.
type Action = Box<dyn FnMut(&str) -> object_store::Result<()> + Send>;

/// Objects in memory, with an action before each write.
pub(super) struct Faulty {
    objects: object_store::memory::InMemory,
    action: Mutex<Action>,
}

impl Faulty {
    pub(super) fn new(action: impl FnMut(&str) -> object_store::Result<()> + Send + 'static) -> (Store, Arc<Self>) {
        let action = Mutex::new(Box::new(action) as Action);
        let faulty = Arc::new(Self { objects: Default::default(), action });
        (Store::of_objects(faulty.clone()), faulty)
    }

    fn act(&self, location: &Path) -> object_store::Result<()> {
        // Requests that the action itself makes have no action.
        self.action.try_lock().map_or(Ok(()), |mut action| action(location.as_ref()))
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> object_store::Result<PutResult> {
        self.act(path)?;
        self.objects.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.act(path)?;
        self.objects.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        self.objects.get_opts(path, options).await
    }

    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> object_store::Result<Vec<Bytes>> {
        self.objects.get_ranges(path, ranges).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.objects.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}

/// Returns the error of a store that cannot be reached.
pub(super) fn unreachable() -> object_store::Error {
    object_store::Error::Generic { store: "test", source: "it cannot be reached".into() }
}

/// A snapshot that fails at any write leaves no snapshot, and no marker of itself.
#[tokio::test]
async fn a_snapshot_is_visible_when_it_is_complete() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    fixture.write("b", "b");
    fixture.write("large", vec![1; 9 << 20]);
    // The marker, three contents and the manifest.
    for failing in 0..=5 {
        let mut count = 0;
        let (store, faulty) = Faulty::new(move |_| {
            count += 1;
            if count == failing + 1 { Err(unreachable()) } else { Ok(()) }
        });
        let result = fixture.snapshot_with(&store, "first", StatCache::default()).await;
        let listed = crate::list(&store).await.unwrap();
        assert_eq!((result.is_ok(), listed.len()), (failing == 5, usize::from(failing == 5)), "write {failing}");
        if let Err(error) = result {
            assert!(message(&error).contains("it cannot be reached"), "{error}");
        }
        let marker = Path::from("running");
        let markers: Vec<_> = futures_util::TryStreamExt::try_collect(faulty.list(Some(&marker))).await.unwrap();
        assert_eq!(markers.len(), 0, "{markers:?}");
    }
}

/// The control of the test above reads the large file back, which was stored in parts.
#[tokio::test]
async fn a_stream_of_parts_is_restored() {
    let fixture = Fixture::new();
    fixture.write("large", (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    let (store, _) = Faulty::new(|_| Ok(()));
    fixture.snapshot_with(&store, "first", StatCache::default()).await.unwrap();
    let destination = Destination::open(&fixture.path("restored")).unwrap();
    let mut staged = stage(&store, "first", destination, &Limits::default(), None).await.unwrap();
    let (path, _) = staged.commit(TREE).unwrap();
    assert_eq!(describe(&path), describe(&fixture.tree));
}
