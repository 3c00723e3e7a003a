//! URLs of stores and snapshots.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use url::Url;

use crate::error::{Error, Result};

/// Maximum length of a snapshot's name in bytes.
const MAX_NAME: usize = 128;

/// A store, and the name of a snapshot in it: `STORE#NAME`, or `STORE` without a name.
///
/// The store is the path of a directory, a `file://` URL, or `s3://BUCKET/PREFIX`. In a path, the last `#` begins the
/// name; a directory whose own name has a `#` needs a `file://` URL with `%23`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub(crate) place: Place,
    text: String,
    name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Directory(PathBuf),
    S3 {
        bucket: String,
        /// Keys of the store begin with this and `/`; empty for the whole bucket.
        prefix: String,
    },
}

impl Location {
    /// Returns the name of the snapshot, if the location has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the store without the name of a snapshot, as the caller wrote it.
    pub fn store(&self) -> &str {
        &self.text
    }

    /// Returns the same store with the name of a snapshot.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] if no snapshot can have the name.
    pub fn with_name(&self, name: &str) -> Result<Self> {
        check_name(name)?;
        Ok(Self { name: Some(name.to_owned()), ..self.clone() })
    }
}

impl FromStr for Location {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (store, name) = text.rsplit_once('#').map_or((text, None), |(store, name)| (store, Some(name)));
        let wrong = |cause: &str| Error::Url { url: without_credentials(text, store), cause: cause.to_owned() };
        let place = if store.contains("://") {
            let url = Url::parse(store).map_err(|cause| wrong(&cause.to_string()))?;
            of_url(&url).map_err(wrong)?
        } else if store.is_empty() || store.contains('\0') {
            return Err(wrong("name a directory, or a bucket as `s3://BUCKET/PREFIX`"));
        } else {
            Place::Directory(store.into())
        };
        name.map_or(Ok(()), check_name)?;
        Ok(Self { place, text: store.to_owned(), name: name.map(str::to_owned) })
    }
}

/// Returns the store as it is in messages: escaped, and of a URL that can have a password or a signature, the scheme.
fn without_credentials(text: &str, store: &str) -> String {
    match store.split_once("://") {
        Some((scheme, _)) if text.contains(['@', '?']) => format!("{}://…", scheme.escape_debug()),
        _ => store.escape_debug().to_string(),
    }
}

fn of_url(url: &Url) -> Result<Place, &'static str> {
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.port().is_some() {
        return Err("the URL of a store has no user, password, port or query; credentials are in `AWS_…` variables");
    }
    match url.scheme() {
        "file" => url.to_file_path().map(Place::Directory).map_err(|()| "it is not the URL of a directory"),
        "s3" => {
            let bucket = url.host_str().filter(|bucket| !bucket.is_empty()).ok_or("the URL has no bucket")?.to_owned();
            Ok(Place::S3 { bucket, prefix: url.path().trim_matches('/').to_owned() })
        }
        _ => Err("a store is a directory, a `file` URL or an `s3` URL"),
    }
}

pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let is_name = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with('.');
    is_name.then_some(()).ok_or_else(|| Error::Name { name: name.escape_debug().to_string() })
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, "#{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_and_names_are_told_apart() {
        let location: Location = "/backups/w#monday".parse().unwrap();
        assert_eq!((location.store(), location.name()), ("/backups/w", Some("monday")));
        assert_eq!(location.place, Place::Directory("/backups/w".into()));
        let location: Location = "s3://bucket/a/b/".parse().unwrap();
        assert_eq!(location.place, Place::S3 { bucket: "bucket".to_owned(), prefix: "a/b".to_owned() });
        assert_eq!(location.with_name("x").unwrap().to_string(), "s3://bucket/a/b/#x");
        #[cfg(unix)]
        {
            let location: Location = "file:///a%23b#c".parse().unwrap();
            assert_eq!((location.place, location.name.as_deref()), (Place::Directory("/a#b".into()), Some("c")));
        }
        for wrong in
            ["", "#a", "a#", "a#..", "a#.b", "a#b/c", "a#b c", "s3://", "gs://bucket", "s3://u:p@bucket", "s3://b?x"]
        {
            assert!(wrong.parse::<Location>().is_err(), "{wrong:?}");
        }
        assert!(format!("a#{}", "x".repeat(129)).parse::<Location>().is_err());
    }

    #[test]
    fn no_message_has_credentials() {
        for url in [
            "s3://name:hunter2@bucket",
            "s3://name:hunter2@bucket#x",
            "s3://name:a#hunter2@bucket",
            "s3://name:a/hunter2@bucket",
            "s3://name:a?hunter2@bucket",
            "s3://hunter2@[bucket",
            "s3://bucket?X-Amz-Signature=hunter2",
            "https://bucket.example/?X-Amz-Signature=a@hunter2",
            "s3://bucket?a#hunter2",
        ] {
            let error = url.parse::<Location>().unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
