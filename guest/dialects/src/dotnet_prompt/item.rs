//! Files and directories in the form of `FileSystemItem`, and the metadata of a single one.

use paddock_types::entry::Kind;
use paddock_types::response;
use serde_json::{Map, Value, json};

use crate::dialect::spec::ResultSchema;

/// Members of the metadata of a file or directory.
pub const METADATA: &[(&str, ResultSchema)] = &[
    ("name", ResultSchema::Text),
    ("path", ResultSchema::Text),
    ("type", ResultSchema::Words(&["file", "directory"])),
    ("sizeBytes", ResultSchema::Whole),
    ("created", ResultSchema::Nullable(&ResultSchema::Text)),
    ("modified", ResultSchema::Nullable(&ResultSchema::Text)),
    ("extension", ResultSchema::Optional(&ResultSchema::Text)),
    ("isHidden", ResultSchema::Flag),
    ("accessed", ResultSchema::Nullable(&ResultSchema::Text)),
    ("mimeType", ResultSchema::Nullable(&ResultSchema::Text)),
    ("encoding", ResultSchema::Nullable(&ResultSchema::Text)),
    ("lineCount", ResultSchema::Nullable(&ResultSchema::Whole)),
    ("checksum", ResultSchema::Nullable(&ResultSchema::Text)),
    ("linkTarget", ResultSchema::Nullable(&ResultSchema::Text)),
];

/// The members of `FileSystemItem`, a prefix of [`METADATA`].
pub const FIELDS: &[(&str, ResultSchema)] = METADATA.split_at(8).0;

/// Returns an entry of a listing. A link is listed as its target, and omitted if the target is not in the workspace.
pub fn of_entry(entry: &response::Entry) -> Option<Value> {
    let kind = match entry.kind {
        Kind::Link => entry.details.target_kind?,
        kind => kind,
    };
    if kind == Kind::Other {
        return None;
    }
    let modified = entry.modified.as_deref();
    Some(Value::Object(members(&entry.path, kind, entry.size, modified, modified)))
}

/// Returns the metadata of a path.
pub fn metadata(stat: &response::Stat) -> Value {
    let is_directory = Kind::Directory == stat.target_kind.unwrap_or(stat.kind);
    let kind = if is_directory { Kind::Directory } else { Kind::File };
    // .NET uses the older of modification and status change time if the file system reports no creation time.
    let created = [stat.modified.as_deref(), stat.changed.as_deref()].into_iter().flatten().min();
    let more = json!({
        "accessed": stat.accessed,
        "mimeType": stat.mime,
        "encoding": stat.encoding,
        "lineCount": stat.lines,
        "checksum": stat.sha256,
        "linkTarget": stat.link_target,
    });
    let mut members = members(&stat.path, kind, stat.size, created, stat.modified.as_deref());
    members.extend(more.as_object().cloned().unwrap_or_default());
    Value::Object(members)
}

fn members(
    path: &str,
    kind: Kind,
    size: Option<u64>,
    created: Option<&str>,
    modified: Option<&str>,
) -> Map<String, Value> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_dir = kind == Kind::Directory;
    let extension = name.rfind('.').filter(|dot| *dot > 0 && !is_dir).and_then(|dot| name.get(dot..));
    let members = [
        ("name", Some(name.into())),
        ("path", Some(path.into())),
        ("type", Some(if is_dir { "directory" } else { "file" }.into())),
        ("sizeBytes", Some(size.unwrap_or(0).into())),
        ("created", Some(created.into())),
        ("modified", Some(modified.into())),
        ("extension", extension.map(Value::from)),
        ("isHidden", Some(name.starts_with('.').into())),
    ];
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
