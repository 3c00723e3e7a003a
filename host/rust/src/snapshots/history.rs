//! Backups of a workspace that has moved: each names the root it is of, which has another identifier now.
//!
//! `guest/workspace/src/change/backup.rs` has the format: the old contents, a record as JSON, and the length of the record
//! in 16 digits. The name of the file is the time in milliseconds, a number and the size, separated by `-`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, OpenOptions};
use serde_json::{Map, Value};

use crate::directory::{Directory, private_file};

/// Number of digits at the end of a backup.
const LENGTH_DIGITS: u64 = 16;
/// Maximum size in bytes of a record, as the component has it.
const MAX_RECORD: u64 = 16 << 20;
/// Name of a backup that is not finished; the component removes those.
const UNFINISHED: &str = "unfinished-moved";

/// Copies backups to the directory of another workspace, whose first root has the identifier `root`. Returns their
/// number. Files that are no backups are left out, and so is a backup that the directory has already.
pub(super) fn add(from: &Dir, to: &Directory, root: &str) -> io::Result<u64> {
    let mut names: Vec<String> =
        from.entries()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    // A backup can name an earlier one, whose name has changed with its size.
    names.sort();
    let (mut renamed, mut count) = (HashMap::new(), 0);
    for name in names {
        let Some(prefix) = prefix(&name) else { continue };
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        let mut file = from.open_with(&name, &options)?.into_std();
        let Some((content, mut record)) = record(&mut file)? else { continue };
        move_record(&mut record, root, &renamed);
        let json = serde_json::to_string(&record)?;
        let end = format!("{json}{:0width$}", json.len(), width = LENGTH_DIGITS as usize);
        let new_name = format!("{prefix}-{}", content + end.len() as u64);
        if to.identity_of(&new_name).is_none() {
            copy(file, content, &end, to, &new_name)?;
            count += 1;
        }
        renamed.insert(name, new_name);
    }
    Ok(count)
}

/// Returns the name of a backup without its size; `None` if it is not the name of a backup.
fn prefix(name: &str) -> Option<&str> {
    let (prefix, size) = name.rsplit_once('-')?;
    let (time, number) = prefix.split_once('-')?;
    let is_decimal = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_hexadecimal = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_decimal(time) && is_decimal(size) && is_hexadecimal).then_some(prefix)
}

/// Returns the size of the contents in bytes, and the record; `None` if the backup is damaged.
fn record(file: &mut File) -> io::Result<Option<(u64, Map<String, Value>)>> {
    let size = file.metadata()?.len();
    let Some(end) = size.checked_sub(LENGTH_DIGITS) else { return Ok(None) };
    let digits = read(file, end, LENGTH_DIGITS)?;
    let length = std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse::<u64>().ok());
    let Some(length) = length.filter(|length| *length <= MAX_RECORD.min(end)) else { return Ok(None) };
    let content = end - length;
    let record = serde_json::from_slice(&read(file, content, length)?).ok();
    Ok(record.map(|record| (content, record)))
}

fn read(file: &mut File, start: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Gives a record the identifier of the first root, which has an empty label, and the new names of other backups.
fn move_record(record: &mut Map<String, Value>, root: &str, renamed: &HashMap<String, String>) {
    if let Some(Value::Object(roots)) = record.get_mut("roots")
        && let Some(id) = roots.get_mut("")
    {
        *id = root.into();
    }
    if let Some(Value::String(before)) = record.get_mut("before")
        && let Some(name) = renamed.get(before)
    {
        before.clone_from(name);
    }
}

/// Writes a backup: the first `content` bytes of the file, and the end.
fn copy(mut file: File, content: u64, end: &str, to: &Directory, name: &str) -> io::Result<()> {
    let mut target = to.open_file(UNFINISHED, private_file().create(true).truncate(true))?;
    file.rewind()?;
    io::copy(&mut file.take(content), &mut target)?;
    target.write_all(end.as_bytes())?;
    target.sync_all()?;
    to.entries().rename(OsStr::new(UNFINISHED), to.entries(), name)
}
