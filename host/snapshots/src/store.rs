//! Stores of snapshots: a directory, or a bucket with the interface of S3.

use std::fmt;
use std::path::Path as FilePath;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{GetResult, GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, WriteMultipart};

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::location::{Location, Place};

/// A store of snapshots. Clones are the same store.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    objects: Arc<dyn ObjectStore>,
    /// The same store if it is a directory.
    directory: Option<LocalFileSystem>,
    /// Keys of all objects begin with this.
    prefix: Path,
    name: String,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.0.name)
    }
}

impl Store {
    /// Opens the store of a location. With `create`, a directory that does not exist is created, accessible to its owner
    /// alone. Credentials, region and endpoint of S3 are in the variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
    /// `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL` and `AWS_ALLOW_HTTP`.
    ///
    /// # Errors
    ///
    /// [`Error::Url`] if the directory cannot be opened, or the settings of S3 are wrong or incomplete.
    pub fn open(location: &Location, create: bool) -> Result<Self> {
        let wrong = |cause: String| Error::Url { url: location.store().to_owned(), cause };
        match &location.place {
            Place::Directory(directory) => {
                if create && !directory.exists() {
                    create_private(directory).map_err(|cause| wrong(cause.to_string()))?;
                }
                let top = directory.canonicalize().map_err(|cause| wrong(cause.to_string()))?;
                if !top.is_dir() {
                    return Err(wrong("it is not a directory".to_owned()));
                }
                let files = LocalFileSystem::new_with_prefix(&top).map_err(|cause| wrong(cause.to_string()))?;
                let files = files.with_fsync(true);
                let name = top.to_string_lossy().into_owned();
                Ok(Self::new(Arc::new(files.clone()), Some(files), Path::default(), name))
            }
            #[cfg(not(feature = "s3"))]
            Place::S3 { .. } => Err(wrong("this program was built without the feature `s3`".to_owned())),
            #[cfg(feature = "s3")]
            Place::S3 { bucket, prefix } => {
                // Another provider that the program has chosen stays.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let builder = object_store::aws::AmazonS3Builder::from_env().with_bucket_name(bucket);
                let objects = builder.build().map_err(|cause| wrong(cause.to_string()))?;
                let prefix = Path::parse(prefix).map_err(|cause| wrong(cause.to_string()))?;
                Ok(Self::new(Arc::new(objects), None, prefix, location.store().to_owned()))
            }
        }
    }

    fn new(objects: Arc<dyn ObjectStore>, directory: Option<LocalFileSystem>, prefix: Path, name: String) -> Self {
        Self(Arc::new(Inner { objects, directory, prefix, name }))
    }

    /// Creates a store over objects of another kind, for tests.
    #[cfg(test)]
    pub(crate) fn of_objects(objects: Arc<dyn ObjectStore>) -> Self {
        Self::new(objects, None, Path::default(), "test".to_owned())
    }

    /// Returns the name by which two stores are told apart.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    fn path(&self, key: &str) -> Path {
        key.split('/').fold(self.0.prefix.clone(), |path, part| path.join(part))
    }

    /// Stores an object, and replaces one of the same key.
    pub(crate) async fn put(&self, key: &str, bytes: Bytes) -> Result<()> {
        let put = self.0.objects.put(&self.path(key), bytes.into()).await;
        put.map(drop).map_err(failed("write", key))
    }

    /// Stores an object, and returns whether there was none of the same key; otherwise that one stays.
    pub(crate) async fn put_new(&self, key: &str, bytes: Bytes) -> Result<bool> {
        match self.0.objects.put_opts(&self.path(key), bytes.into(), PutMode::Create.into()).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => Ok(false),
            Err(cause) => Err(failed("write", key)(cause)),
        }
    }

    /// Begins an object that is stored in parts of `part` bytes.
    pub(crate) async fn put_parts(&self, key: &str, part: usize) -> Result<WriteMultipart> {
        let upload = self.0.objects.put_multipart(&self.path(key)).await.map_err(failed("write", key))?;
        Ok(WriteMultipart::new_with_chunk_size(upload, part))
    }

    /// Returns the size of an object in bytes; `None` if there is none.
    pub(crate) async fn size(&self, key: &str) -> Result<Option<u64>> {
        self.check(key)?;
        match self.0.objects.head(&self.path(key)).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(cause) => Err(failed("inspect", key)(cause)),
        }
    }

    /// Begins to read an object; `None` if there is none.
    pub(crate) async fn get(&self, key: &str) -> Result<Option<GetResult>> {
        self.check(key)?;
        match self.0.objects.get(&self.path(key)).await {
            Ok(result) => Ok(Some(result)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(cause) => Err(failed("read", key)(cause)),
        }
    }

    /// Reads an object of at most `max` bytes; `None` if there is none.
    pub(crate) async fn get_bytes(&self, key: &str, max: u64) -> Result<Option<Vec<u8>>> {
        let Some(result) = self.get(key).await? else { return Ok(None) };
        let over = || Error::Limit { operation: "read the store", what: format!("the bytes of `{key}`"), limit: max };
        if result.meta.size > max {
            return Err(over());
        }
        let mut bytes = Vec::new();
        let mut parts = result.into_stream();
        while let Some(part) = parts.next().await {
            bytes.extend_from_slice(&part.map_err(failed("read", key))?);
            if bytes.len() as u64 > max {
                return Err(over());
            }
        }
        Ok(Some(bytes))
    }

    /// Lists the objects whose keys begin with this directory, each with its key.
    pub(crate) fn list(&self, directory: &str) -> BoxStream<'static, Result<(String, ObjectMeta)>> {
        let (prefix, failed_key) = (self.path(directory), directory.to_owned());
        let depth = self.0.prefix.parts().count();
        let listed = self.0.objects.list(Some(&prefix));
        let key = move |meta: ObjectMeta| {
            let parts: Vec<_> = meta.location.parts().skip(depth).map(|part| part.as_ref().to_owned()).collect();
            (parts.join("/"), meta)
        };
        listed.map(move |meta| meta.map(key).map_err(failed("list", &failed_key))).boxed()
    }

    /// Removes an object, if there is one.
    pub(crate) async fn delete(&self, key: &str) -> Result<()> {
        match self.0.objects.delete(&self.path(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(cause) => Err(failed("remove", key)(cause)),
        }
    }

    /// Fails if an object of a directory is not a regular file: a FIFO would be read for ever.
    fn check(&self, key: &str) -> Result<()> {
        let Some(directory) = &self.0.directory else { return Ok(()) };
        let path = directory.path_to_filesystem(&self.path(key)).map_err(failed("read", key))?;
        match path.symlink_metadata() {
            Ok(metadata) if !metadata.is_file() => {
                let cause = std::io::Error::other("it is not a regular file").into();
                Err(failed("read", key)(object_store::Error::Generic { store: "directory", source: cause }))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the key of the object with a file's content.
pub(crate) fn object_key(digest: &Digest) -> String {
    let text = digest.to_string();
    format!("objects/{}/{text}", text.get(..2).unwrap_or_default())
}

/// Returns the key of a snapshot's manifest.
pub(crate) fn manifest_key(name: &str) -> String {
    format!("snapshots/{name}")
}

/// Returns the open file if the store is a directory.
pub(crate) fn as_file(
    result: GetResult,
) -> std::result::Result<std::fs::File, BoxStream<'static, object_store::Result<Bytes>>> {
    match result.payload {
        GetResultPayload::File(file, _) => Ok(file),
        GetResultPayload::Stream(stream) => Err(stream),
    }
}

pub(crate) fn failed(operation: &'static str, key: &str) -> impl Fn(object_store::Error) -> Error + Send + 'static {
    let object = key.to_owned();
    move |cause| Error::Store { operation, object: object.clone(), cause }
}

/// Creates a directory that only its owner can enter, because objects lack the permissions of the files they are of.
fn create_private(directory: &FilePath) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
