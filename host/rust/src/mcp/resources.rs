//! Files of the workspace as resources. The list has the files at the top of the workspace; any other file is available
//! by its URI, `file:///` and its path as the tools know it. All access goes through calls of the tools of the `paddock`
//! dialect, so that a resource contains only what a tool may show, and the audit log has a record.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use url::Url;

use crate::events::Listener;
use crate::options::DIALECT;
use crate::types::{ErrorCode, ToolError};
use crate::{CallOptions, Workspace};

const TEMPLATE: &str = "file:///{path}";
/// Number of entries of the top directory that one page of the list covers.
const PAGE: u32 = 200;
/// Maximum size in bytes of a file that is read as a resource. Resources cannot be read in parts, unlike with
/// `read_file`.
const MAX_BYTES: usize = 1024 * 1024;
/// Maximum length of a URI in bytes: a path of 4096 bytes, each percent-encoded, and room for the rest. The server keeps
/// the URIs of subscriptions.
const MAX_URI_BYTES: usize = 16 * 1024;
/// Number of attempts to read a file that changes during the read.
const ATTEMPTS: usize = 3;

/// The files of a workspace, for one request.
pub(super) struct Files {
    pub(super) workspace: Workspace,
    /// Listener for the calls of the request.
    pub(super) listener: Option<Listener>,
}

/// Lists the files at the top of the workspace that `list_dir` shows, without those in directories.
pub(super) async fn list(
    files: &Files,
    dialect: &str,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    #[derive(Deserialize)]
    struct Listed {
        entries: Vec<Entry>,
        next_cursor: Option<String>,
    }
    #[derive(Deserialize)]
    struct Entry {
        path: String,
        kind: String,
        size: Option<u64>,
    }
    let arguments = json!({"path": ".", "limit": PAGE, "cursor": cursor});
    let listed: Listed = call(files, "list_dir", &arguments).await.map_err(|error| failure(&error, None, dialect))?;
    let files = listed.entries.into_iter().filter(|entry| entry.kind == "file");
    let resource = |entry: Entry| {
        let resource = Resource::new(uri(&entry.path)?, entry.path);
        Some(entry.size.map_or(resource.clone(), |size| resource.with_size(size)))
    };
    let mut result = ListResourcesResult::with_all_items(files.filter_map(resource).collect());
    result.next_cursor = listed.next_cursor;
    Ok(result)
}

pub(super) fn templates() -> ListResourceTemplatesResult {
    let file = ResourceTemplate::new(TEMPLATE, "file")
        .with_title("File of the workspace")
        .with_description("A file by its path in the workspace. One can subscribe to a directory too.");
    ListResourceTemplatesResult::with_all_items(vec![file])
}

/// Reads a whole file; the contents are text if the file is UTF-8 without NUL bytes.
pub(super) async fn read(files: &Files, dialect: &str, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let [path, absolute] = paths(uri)?;
    let mut read = whole(files, &path).await;
    if read.as_ref().is_err_and(is_missing)
        && let Ok(elsewhere) = whole(files, &absolute).await
    {
        read = Ok(elsewhere);
    }
    let (bytes, mime) = read.map_err(|error| failure(&error, Some(uri), dialect))?;
    let contents = match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => ResourceContents::text(text, uri),
        Ok(text) => ResourceContents::blob(STANDARD.encode(text), uri),
        Err(other) => ResourceContents::blob(STANDARD.encode(other.as_bytes()), uri),
    };
    Ok(ReadResourceResult::new(vec![contents.with_mime_type(mime)]))
}

/// Returns the path that a URI names, and the reason why no tool may show an entry there, if there is one. The audit log
/// gets a record of it.
pub(super) async fn find(files: &Files, uri: &str) -> Result<(String, Option<ToolError>), ErrorData> {
    let [path, absolute] = paths(uri)?;
    match stat(files, &path).await {
        Err(error) if is_missing(&error) && stat(files, &absolute).await.is_ok() => Ok((absolute, None)),
        described => Ok((path, described.err())),
    }
}

async fn stat(files: &Files, path: &str) -> Result<(), ToolError> {
    call::<IgnoredAny>(files, "stat", &json!({"path": path})).await.map(drop)
}

/// Returns the paths that a URI can name, as the tools know them: relative to the workspace, and absolute, which must
/// be in a root.
pub(super) fn paths(uri: &str) -> Result<[String; 2], ErrorData> {
    if uri.len() > MAX_URI_BYTES {
        return Err(ErrorData::invalid_params(format!("a URI may have at most {MAX_URI_BYTES} bytes"), None));
    }
    let wrong = |cause: &str| {
        let message = format!("`{uri}` names no resource: {cause}; use `{TEMPLATE}` with a path in the workspace");
        ErrorData::invalid_params(message, Some(json!({"uri": uri})))
    };
    let url = Url::parse(uri).map_err(|cause| wrong(&cause.to_string()))?;
    if url.scheme() != "file" || url.host().is_some() {
        return Err(wrong("it is no `file:///` URI"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("`?` and `#` have to be written as `%3F` and `%23`"));
    }
    let path = percent_decode_str(url.path()).decode_utf8().map_err(|_| wrong("its path is not UTF-8"))?;
    match path.trim_start_matches('/') {
        "" => Ok([".".to_owned(), "/".to_owned()]),
        below => Ok([below.to_owned(), format!("/{below}")]),
    }
}

fn is_missing(error: &ToolError) -> bool {
    error.code == ErrorCode::NotFound
}

/// Converts a tool's error to an error of the protocol, for a client with the tools of this dialect.
pub(super) fn failure(error: &ToolError, uri: Option<&str>, dialect: &str) -> ErrorData {
    if let (ErrorCode::NotFound | ErrorCode::Denied, Some(uri)) = (error.code, uri) {
        // The answer must not reveal whether a hidden or blocked entry exists.
        let message = format!(
            "nothing that a tool may show is at `{uri}`: it is missing, or the policy or `.agentignore` hides it"
        );
        return ErrorData::resource_not_found(message, Some(json!({"uri": uri, "code": ErrorCode::NotFound.name()})));
    }
    // The hint names tools of the `paddock` dialect.
    let hint = error.hint.as_ref().filter(|_| dialect == DIALECT);
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    let (message, data) = (format!("{}{hint}", error.message), json!({"uri": uri, "code": error.code.name()}));
    match error.code {
        ErrorCode::Io | ErrorCode::BackendGone | ErrorCode::LimitExceeded | ErrorCode::Cancelled => {
            ErrorData::internal_error(message, Some(data))
        }
        _ => ErrorData::invalid_params(message, Some(data)),
    }
}

/// Returns the URI of a path from a tool's result.
fn uri(path: &str) -> Option<String> {
    let mut url = Url::parse("file:///").ok()?;
    url.path_segments_mut().ok()?.clear().extend(path.split('/'));
    Some(url.into())
}

/// Reads the bytes of one version of a file, and its media type.
async fn whole(files: &Files, path: &str) -> Result<(Vec<u8>, String), ToolError> {
    for _ in 0..ATTEMPTS {
        if let Some(read) = attempt(files, path).await? {
            return Ok(read);
        }
    }
    Err(error(ErrorCode::ChangedSinceRead, format!("cannot read `{path}`: it keeps changing"), "try again later"))
}

/// Makes one attempt at [`whole`]; returns `None` if the file changed during it.
async fn attempt(files: &Files, path: &str) -> Result<Option<(Vec<u8>, String)>, ToolError> {
    let mut file = Pages { bytes: Vec::new(), offset: 1, version: None };
    loop {
        let arguments = json!({"path": path, "mode": "base64", "offset": file.offset});
        let page: Page = match call(files, "read_file", &arguments).await {
            // The file became shorter during the read.
            Err(error) if file.version.is_some() && error.code == ErrorCode::InvalidArgument => return Ok(None),
            other => other?,
        };
        if page.size > MAX_BYTES {
            let cause = format!("cannot read `{path}` as a resource: its {} bytes are over {MAX_BYTES}", page.size);
            return Err(error(ErrorCode::TooLarge, cause, "the tool `read_file` reads a part of it"));
        }
        let mime = page.mime.clone();
        let taken =
            file.take(page).map_err(|cause| error(ErrorCode::Io, format!("`{path}`: {cause}"), "report this"))?;
        match taken {
            Taken::Changed => return Ok(None),
            Taken::Part => {}
            Taken::All => return Ok(Some((file.bytes, mime))),
        }
    }
}

#[derive(Deserialize)]
struct Page {
    content: String,
    next_offset: Option<u64>,
    size: usize,
    modified: Option<String>,
    etag: Option<String>,
    mime: String,
}

/// A file that is assembled from its pages.
struct Pages {
    bytes: Vec<u8>,
    offset: u64,
    version: Option<(Option<String>, Option<String>, usize)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Part,
    All,
    /// The page belongs to another version of the file than the previous pages.
    Changed,
}

impl Pages {
    /// Appends the next page. Fails if the pages might never end.
    fn take(&mut self, page: Page) -> Result<Taken, String> {
        let version = (page.etag, page.modified, page.size);
        if *self.version.get_or_insert_with(|| version.clone()) != version {
            return Ok(Taken::Changed);
        }
        let content = STANDARD.decode(page.content).map_err(|cause| cause.to_string())?;
        let end = self.offset.checked_add(content.len() as u64);
        let is_empty = content.is_empty();
        self.bytes.extend(content);
        match page.next_offset {
            _ if self.bytes.len() > page.size => Err("it is longer than its size".to_owned()),
            // Each page is a call with its own time limit, so that pages without progress would be requested without
            // end.
            Some(next) if is_empty || end != Some(next) => Err("its pages are not consecutive".to_owned()),
            Some(next) => {
                self.offset = next;
                Ok(Taken::Part)
            }
            None => Ok(Taken::All),
        }
    }
}

async fn call<T: DeserializeOwned>(files: &Files, tool: &str, arguments: &Value) -> Result<T, ToolError> {
    // The client's dialect may not have the tool.
    let options = CallOptions { listener: files.listener.clone(), ..CallOptions::dialect(DIALECT) };
    let outcome = files.workspace.call_async(tool, &arguments.to_string(), options).await;
    if let Some(error) = outcome.error {
        return Err(error);
    }
    let result = serde_json::from_str(outcome.result.get());
    result.map_err(|cause| {
        error(ErrorCode::Io, format!("the result of `{tool}` has an unexpected form: {cause}"), "report this")
    })
}

fn error(code: ErrorCode, message: String, hint: &str) -> ToolError {
    ToolError { code, message, path: None, hint: Some(hint.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_an_end_are_refused() {
        let page = |content: &str, next_offset| Page {
            content: STANDARD.encode(content),
            next_offset,
            size: 4,
            modified: None,
            etag: None,
            mime: String::new(),
        };
        let pages = || Pages { bytes: Vec::new(), offset: 1, version: None };
        let mut whole = pages();
        assert_eq!(whole.take(page("ab", Some(3))), Ok(Taken::Part));
        assert_eq!((whole.take(page("cd", None)), whole.bytes), (Ok(Taken::All), b"abcd".to_vec()));
        let mut stuck = pages();
        assert!(stuck.take(page("a", Some(2))).is_ok() && stuck.take(page("b", Some(2))).is_err());
        let mut long = pages();
        assert!(long.take(page("abc", Some(4))).is_ok() && long.take(page("de", Some(6))).is_err());
        for (content, next) in [("", 1), ("", 2), ("", 3), ("", 4), ("ab", 2), ("ab", 4), ("ab", u64::MAX)] {
            assert!(pages().take(page(content, Some(next))).is_err(), "{content:?}, {next}");
        }
    }

    #[test]
    fn a_uri_names_the_path_that_it_was_made_of() {
        for path in ["a.txt", "src/main.rs", "with space/ä#?%.txt", "a%2Fb"] {
            assert_eq!(paths(&uri(path).unwrap()).unwrap()[0], path);
        }
        assert_eq!(paths("file:///").unwrap()[0], ".");
        assert_eq!(paths("file:///src%2Fmain.rs").unwrap(), ["src/main.rs", "/src/main.rs"]);
        assert_eq!(paths("file:///..%2Fx").unwrap()[0], "../x");
    }

    #[test]
    fn uris_without_a_path_are_refused() {
        for uri in ["a.txt", "https://host/a", "file://host/a", "file:///a?b", "file:///a#b", "file:///%FF"] {
            assert!(paths(uri).is_err(), "{uri}");
        }
    }
}
