//! Changes of a file since a version in the history, for callers that have that version.

use paddock_text::document::Document;
use paddock_text::{diff, encoding};
use paddock_types::digest::is_etag;
use paddock_types::error::Result;
use paddock_types::{request, response};
use paddock_vfs::content::FileContent;
use paddock_workspace::change::backup;
use paddock_workspace::change::backup::Saved;

use crate::read::content::{Format, OpenContent};

/// Returns the hunks since the caller's version. `None` if they are not shorter than the page, if no backup holds that
/// version, or if the difference is not one of lines.
pub fn since(
    content: &OpenContent<'_>,
    format: Format,
    args: &request::Read,
    page: &response::Read,
) -> Result<Option<String>> {
    let (Some(etag), Some(bytes)) = (&args.if_none_match, &content.whole) else { return Ok(None) };
    if page.unchanged {
        return Ok(None);
    }
    // The full content is a valid answer if the history cannot be read.
    let Some(old) = version(content, etag).unwrap_or_default() else { return Ok(None) };
    let requested_path = args.encoding.as_ref().map(|_| format.detected.encoding);
    if encoding::is_binary(&old) {
        return Ok(None);
    }
    let (old, new) = (Document::decode(old, requested_path), Document::decode(bytes.clone(), requested_path));
    if (old.encoding, old.bom) != (new.encoding, new.bom) {
        return Ok(None);
    }
    let change = diff::between(&old.text, &new.text);
    let lines = diff::line_changes(&old.text, &new.text, change.as_slice());
    // A truncated diff would pass for the complete change.
    let diff = diff::unified(&content.resolved.path, (&old.text, &new.text), &lines, diff::CONTEXT, usize::MAX);
    Ok(Some(diff).filter(|diff| !diff.is_empty() && diff.len() < page.content.len()))
}

/// Returns the version of the file with this etag, from the newest backup that holds it.
fn version(content: &OpenContent<'_>, etag: &str) -> Result<Option<Vec<u8>>> {
    let (workspace, path) = (content.workspace, &content.resolved.path);
    for (id, _) in backup::ids(workspace)? {
        if workspace.out_of_time() {
            break;
        }
        let Some(saved) = Saved::find(workspace, &id)? else { continue };
        let is_meant = |entry: &&backup::Entry| {
            let size = entry.content.map(|(_, size)| size);
            entry.path == *path && size.is_some_and(|size| size <= workspace.policy.limits.max_file_bytes)
        };
        for entry in saved.record.entries.iter().filter(is_meant) {
            let Ok(old_content) = saved.content(entry) else { continue };
            if is_etag(&old_content.etag(), etag)
                && let Ok(FileContent::Bytes(bytes, _)) = old_content.load(workspace.fs)
            {
                return Ok(Some(bytes));
            }
        }
    }
    Ok(None)
}
