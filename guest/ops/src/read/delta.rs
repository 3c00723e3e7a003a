//! What changed in a file since a version that the history holds, for a caller
//! that has that version already.

use paddock_text::document::Document;
use paddock_text::{diff, encoding};
use paddock_types::digest::etag_of;
use paddock_types::error::Result;
use paddock_types::{request, response};
use paddock_vfs::content::FileContent;
use paddock_workspace::change::backup;
use paddock_workspace::change::backup::Saved;

use crate::read::content::{Format, OpenContent};

/// The hunks since the version that the caller has; none where they are no shorter than the page that
/// was read, where no backup holds that version, or where lines do not tell all of the difference.
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
    // A history that cannot be read is no reason not to show what is there.
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
    // Whole: one that was cut off would pass for all that changed.
    let diff = diff::unified(&content.resolved.path, (&old.text, &new.text), &lines, diff::CONTEXT, usize::MAX);
    Ok(Some(diff).filter(|diff| !diff.is_empty() && diff.len() < page.content.len()))
}

/// The version of the file with that etag, from the newest backup that holds it.
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
            let Ok(kept) = saved.content(entry) else { continue };
            if etag_of(&kept.sha256()) == etag
                && let Ok(FileContent::Bytes(bytes)) = kept.load(workspace.fs)
            {
                return Ok(Some(bytes));
            }
        }
    }
    Ok(None)
}
