//! Optional details of the entries in an answer, beyond those of a directory listing.

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result};
use paddock_types::request::Details;
use paddock_types::response::Entry;
use paddock_types::{response, time};
use paddock_vfs::Stat;
use paddock_workspace::Workspace;

use crate::read::content::OpenContent;

const OPERATION: &str = "describe";
/// Number of leading bytes returned for a file.
const HEAD: usize = 3;

/// Returns the entries at `paths`; paths that no longer exist are left out.
pub fn entries(workspace: &Workspace<'_>, details: &Details, paths: &[String]) -> Vec<Entry> {
    let mut entries: Vec<_> = paths.iter().filter_map(|path| entry(workspace, path)).collect();
    add(workspace, details, &mut entries);
    entries
}

/// Adds the requested details to the entries until the time of the call is up.
pub fn add(workspace: &Workspace<'_>, wanted: &Details, entries: &mut [Entry]) {
    let mut etags = wanted.etags;
    for entry in entries {
        if workspace.out_of_time() {
            return;
        }
        match entry.kind {
            Kind::File => {
                let is_hashed = etags > 0;
                etags = etags.saturating_sub(1);
                if is_hashed {
                    entry.details = etag(workspace, &entry.path).unwrap_or_default();
                }
                let has_head = |(least, max): (u64, u64)| entry.size.is_some_and(|size| (least..=max).contains(&size));
                if wanted.heads.is_some_and(has_head) {
                    entry.details.head = head(workspace, &entry.path).unwrap_or_default();
                    entry.details.read += entry.details.head.len() as u64;
                }
            }
            Kind::Link if wanted.link_targets => {
                entry.details.target_kind = target_kind(workspace, &entry.path);
            }
            Kind::Link | Kind::Directory | Kind::Other => {}
        }
    }
}

/// Returns the kind of the target of the link at `path`; `None` if there is no target. For a dangling link, no error is
/// built, because the hint for a missing path would search the workspace.
pub fn target_kind(workspace: &Workspace<'_>, path: &str) -> Option<Kind> {
    workspace.resolve(path, OPERATION).ok()?.stat.map(|stat| stat.kind)
}

fn entry(workspace: &Workspace<'_>, path: &str) -> Option<Entry> {
    let Stat { kind, size, modified, .. } = workspace.resolve(path, OPERATION).ok()?.stat?;
    Some(Entry {
        path: path.to_owned(),
        kind,
        size: (kind == Kind::File).then_some(size),
        modified: modified.and_then(time::rfc3339_seconds),
        details: response::Details::default(),
    })
}

/// Returns the etag of a file that is read whole, and the number of bytes read.
fn etag(workspace: &Workspace<'_>, path: &str) -> Result<response::Details> {
    let resolved = workspace.resolve(path, OPERATION)?;
    let content = OpenContent::open(workspace, &resolved, OPERATION)?;
    let read = content.whole.as_ref().map_or(0, |bytes| bytes.len() as u64);
    Ok(response::Details { etag: content.etag(), read, ..response::Details::default() })
}

fn head(workspace: &Workspace<'_>, path: &str) -> Result<Vec<u8>> {
    let resolved = workspace.resolve(path, OPERATION)?;
    let (file, _) = workspace.open_file(&resolved, OPERATION)?;
    let mut head = Vec::with_capacity(HEAD);
    let read = workspace.fs.read(&file, 0, HEAD, &mut head).map_err(|fault| fault.at(OPERATION, path))?;
    if read == 0 { Err(Error::at(Code::Io, OPERATION, path, "it is empty")) } else { Ok(head) }
}
