//! Stores of snapshots: a directory, or a bucket with the interface of S3.

use std::fmt;
use std::io::Read;
use std::path::Path as FilePath;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, WriteMultipart};

use crate::directory::Directory;
use crate::error::{Error, Result, StoreError};
use crate::location::{Location, Place};
use crate::object::Object;

/// A store of snapshots. Clones are the same store.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    objects: Arc<dyn ObjectStore>,
    /// The same store if it is a directory. `objects` writes to it; this reads, lists and removes.
    directory: Option<Directory>,
    /// Keys of all objects begin with this.
    prefix: Path,
    name: String,
}

/// Content of an object.
pub(crate) enum Content {
    File(std::fs::File),
    Stream(BoxStream<'static, object_store::Result<Bytes>>),
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
                let directory = Directory::open(&top).map_err(|cause| wrong(cause.to_string()))?;
                let name = top.to_string_lossy().into_owned();
                Ok(Self::new(Arc::new(files.with_fsync(true)), Some(directory), Path::default(), name))
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

    fn new(objects: Arc<dyn ObjectStore>, directory: Option<Directory>, prefix: Path, name: String) -> Self {
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

    /// Returns device and inode of a directory.
    pub(crate) fn identity(&self) -> Option<(u64, u64)> {
        self.0.directory.as_ref().and_then(|directory| directory.identity().ok())
    }

    fn path(&self, key: &str) -> Path {
        key.split('/').fold(self.0.prefix.clone(), |path, part| path.join(part))
    }

    /// Stores an object, and replaces one of the same key.
    pub(crate) async fn put(&self, key: &str, bytes: Bytes) -> Result<()> {
        self.check(key)?;
        let put = self.0.objects.put(&self.path(key), bytes.into()).await;
        put.map(drop).map_err(failed("write", key))
    }

    /// Stores an object, and returns whether there was none of the same key; otherwise that one stays.
    pub(crate) async fn put_new(&self, key: &str, bytes: Bytes) -> Result<bool> {
        self.check(key)?;
        match self.0.objects.put_opts(&self.path(key), bytes.into(), PutMode::Create.into()).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => Ok(false),
            Err(cause) => Err(failed("write", key)(cause)),
        }
    }

    /// Begins an object that is stored in parts of `part` bytes.
    pub(crate) async fn put_parts(&self, key: &str, part: usize) -> Result<WriteMultipart> {
        self.check(key)?;
        let upload = self.0.objects.put_multipart(&self.path(key)).await.map_err(failed("write", key))?;
        Ok(WriteMultipart::new_with_chunk_size(upload, part))
    }

    /// Returns the size of an object in bytes; `None` if there is none.
    pub(crate) async fn size(&self, key: &str) -> Result<Option<u64>> {
        if self.0.directory.is_some() {
            return Ok(self.get(key).await?.map(|(size, _)| size));
        }
        match self.0.objects.head(&self.path(key)).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(cause) => Err(failed("inspect", key)(cause)),
        }
    }

    /// Begins to read an object, and returns its size in bytes; `None` if there is none.
    pub(crate) async fn get(&self, key: &str) -> Result<Option<(u64, Content)>> {
        if let Some(directory) = &self.0.directory {
            let Some(file) = directory.get(key).map_err(failed("read", key))? else { return Ok(None) };
            let size = file.metadata().map_err(failed("read", key))?.len();
            return Ok(Some((size, Content::File(file))));
        }
        match self.0.objects.get(&self.path(key)).await {
            Ok(result) => Ok(Some((result.meta.size, Content::Stream(result.into_stream())))),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(cause) => Err(failed("read", key)(cause)),
        }
    }

    /// Reads an object of at most `max` bytes; `None` if there is none.
    pub(crate) async fn get_bytes(&self, key: &str, max: u64) -> Result<Option<Vec<u8>>> {
        let over = || Error::Limit { operation: "read the store", what: format!("the bytes of `{key}`"), limit: max };
        let (size, content) = match self.get(key).await? {
            None => return Ok(None),
            Some((size, _)) if size > max => return Err(over()),
            Some(found) => found,
        };
        let bytes = first_bytes(content, max.min(size).saturating_add(1), key).await?;
        if bytes.len() as u64 > max { Err(over()) } else { Ok(Some(bytes)) }
    }

    /// Reads the first `max` bytes of an object, or all if it has fewer; `None` if there is none.
    pub(crate) async fn get_start(&self, key: &str, max: u64) -> Result<Option<Vec<u8>>> {
        let content = if self.0.directory.is_some() {
            self.get(key).await?.map(|(_, content)| content)
        } else {
            let options = GetOptions { range: Some(GetRange::Bounded(0..max)), ..GetOptions::default() };
            match self.0.objects.get_opts(&self.path(key), options).await {
                Ok(result) => Some(Content::Stream(result.into_stream())),
                Err(object_store::Error::NotFound { .. }) => None,
                Err(cause) => return Err(failed("read", key)(cause)),
            }
        };
        let Some(content) = content else { return Ok(None) };
        first_bytes(content, max, key).await.map(Some)
    }

    /// Lists the objects whose keys begin with this directory.
    pub(crate) fn list(&self, directory: &str) -> BoxStream<'static, Result<Object>> {
        if let Some(store) = &self.0.directory {
            return match store.list(directory) {
                Ok(objects) => stream::iter(objects.into_iter().map(Ok)).boxed(),
                Err(cause) => stream::iter([Err(failed("list", directory)(cause))]).boxed(),
            };
        }
        let (prefix, fail) = (self.path(directory), failed("list", directory));
        let depth = self.0.prefix.parts().count();
        let listed = self.0.objects.list(Some(&prefix));
        listed
            .map_ok(move |meta| {
                let parts: Vec<_> = meta.location.parts().skip(depth).map(|part| part.as_ref().to_owned()).collect();
                Object { key: parts.join("/"), size: meta.size, modified: meta.last_modified.into() }
            })
            .map_err(fail)
            .boxed()
    }

    /// Removes an object, if there is one.
    pub(crate) async fn delete(&self, key: &str) -> Result<()> {
        if let Some(directory) = &self.0.directory {
            return directory.remove(key).map_err(failed("remove", key));
        }
        match self.0.objects.delete(&self.path(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(cause) => Err(failed("remove", key)(cause)),
        }
    }

    /// Fails if the object would be written through a link.
    fn check(&self, key: &str) -> Result<()> {
        let directory = self.0.directory.as_ref();
        directory.map_or(Ok(()), |directory| directory.check(key)).map_err(failed("write", key))
    }
}

/// Returns the first `max` bytes of a content.
async fn first_bytes(content: Content, max: u64, key: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match content {
        Content::File(file) => {
            file.take(max).read_to_end(&mut bytes).map_err(failed("read", key))?;
        }
        Content::Stream(mut parts) => {
            while (bytes.len() as u64) < max
                && let Some(part) = parts.next().await
            {
                bytes.extend_from_slice(&part.map_err(failed("read", key))?);
            }
            bytes.truncate(usize::try_from(max).unwrap_or(usize::MAX));
        }
    }
    Ok(bytes)
}

pub(crate) fn failed<E: Into<StoreError>>(operation: &'static str, key: &str) -> impl Fn(E) -> Error + Send + use<E> {
    let object = key.to_owned();
    move |cause| Error::Store { operation, object: object.clone(), cause: cause.into() }
}

/// Creates a directory that only its owner can enter, because objects lack the permissions of the files they are of.
fn create_private(directory: &FilePath) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
