//! Plans of a replacement as passed back by the caller. A plan consists of a digest of the arguments and of every file
//! with its content, and of short checksums of the first files, which tell the differing files apart if the digest
//! differs. A plan grants no rights: the replacement applied is the one found in the current call.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use paddock_text::compare;
use paddock_types::digest::sha256;
use paddock_types::error::{Code, Error, Result, Term, printable};
use paddock_types::{phrase, request};
use paddock_vfs::content::FileContent;
use sha2::{Digest, Sha256};
use similar::DiffOp;

use crate::replace::Planned;

/// Number of hexadecimal digits of the digest.
const DIGEST_DIGITS: usize = 16;
/// Number of characters of a checksum, six bits each.
const CHECKSUM_CHARS: usize = 2;
/// Maximum number of files with a checksum.
const MAX_CHECKSUMS: usize = 64;
/// Maximum number of files that an error names.
const MAX_NAMED: usize = 5;

/// Returns the plan for these arguments and files.
pub fn of(args: &request::Replace, files: &[Planned]) -> String {
    of_arguments(&format!("{:?}", bare(args)), files)
}

fn of_arguments(arguments: &str, files: &[Planned]) -> String {
    let stamps: Vec<_> = files.iter().map(|file| file.stamp.as_str()).collect();
    let mut digest = sha256(format!("{arguments}\n{}", stamps.join("\n")).as_bytes());
    digest.truncate(DIGEST_DIGITS);
    let mut plan = format!("{digest}-{}", checksum(arguments));
    stamps.iter().take(MAX_CHECKSUMS).for_each(|stamp| plan.push_str(&checksum(stamp)));
    plan
}

/// Fails if `plan`, the value of an argument or a part of it, is not the plan for these arguments and files. A plan in
/// which no file is excluded may be carried out without some of its files.
pub fn check((argument, plan): (Term, &str), args: &request::Replace, files: &[Planned]) -> Result<()> {
    let mut bare = bare(args);
    let mut now = of_arguments(&format!("{bare:?}"), files);
    if plan == now {
        return Ok(());
    }
    bare.exclude_paths.clear();
    let whole = of_arguments(&format!("{bare:?}"), files);
    if plan == whole {
        return Ok(());
    }
    // The checksum of the arguments decides which of the two forms the plan is compared with.
    let arguments = DIGEST_DIGITS + 1 + CHECKSUM_CHARS;
    if plan.get(..arguments).and_then(|plan| plan.get(DIGEST_DIGITS..)) == whole.get(DIGEST_DIGITS..arguments) {
        now = whole;
    }
    let again = phrase![
        "nothing was changed; call again without ",
        argument,
        ", look at what would be replaced now, and pass that plan on"
    ];
    let (then, now) = match (checksums(plan), checksums(&now)) {
        (Some(then), Some(now)) => (then, now),
        _ => return Err(no_plan(argument).hint(again)),
    };
    if then.first() != now.first() {
        return Err(Error::argument(argument, "it was made for other arguments").hint(again).also_hint(phrase![
            "all arguments but ",
            argument,
            " have to be the same"
        ]));
    }
    let then = then.get(1..).unwrap_or_default();
    let now = now.get(1..).unwrap_or_default();
    let (named, gone) = differences(then, now, files);
    let mut causes: Vec<_> = named.iter().take(MAX_NAMED).map(|path| format!("`{}`", printable(path))).collect();
    if named.len() > MAX_NAMED {
        causes.push(format!("{} more", named.len() - MAX_NAMED));
    }
    if gone > 0 {
        causes.push(format!("{gone} of its files without a match now"));
    }
    if causes.is_empty() {
        causes.push(format!("a file after the first {MAX_CHECKSUMS}"));
    }
    let cause = format!("cannot replace: changed since the plan was made: {}", causes.join(", "));
    Err(Error { path: named.first().cloned(), ..Error::new(Code::ChangedSinceRead, cause).hint(again) })
}

/// Returns the files that differ, and the number of planned files that no longer match.
fn differences(then: &[u32], now: &[u32], files: &[Planned]) -> (Vec<String>, usize) {
    let (mut named, mut gone) = (Vec::new(), 0);
    for op in compare::numbers(then, now) {
        let (old, new) = (op.old_range().len(), op.new_range().len());
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        named.extend(files.get(op.new_range()).unwrap_or_default().iter().map(|file| file.resolved.path.clone()));
        // Files without a checksum move up when an earlier file disappears.
        gone += old.saturating_sub(new);
    }
    (named, gone)
}

fn no_plan(argument: Term) -> Error {
    Error::argument(argument, if argument == Term::Plan { "it is not a plan" } else { "it is not a cursor" })
}

/// Returns the cursor of the page after a number of lines.
pub fn cursor(lines: u64, plan: &str) -> String {
    format!("{lines}-{plan}")
}

/// Returns the number of lines and the plan in a cursor.
pub fn open(cursor: &str) -> Result<(u64, &str)> {
    let parts = cursor.split_once('-');
    parts.and_then(|(lines, plan)| Some((lines.parse().ok()?, plan))).ok_or_else(|| no_plan(Term::Cursor))
}

/// Returns the arguments without those that a plan does not cover.
fn bare(args: &request::Replace) -> request::Replace {
    let mut bare = args.clone();
    (bare.plan, bare.cursor) = (None, None);
    bare
}

/// Returns a text that identifies a file and its content.
pub fn stamp(path: &str, content: &FileContent) -> String {
    format!("{path:?} {}", content.etag())
}

fn checksum(text: &str) -> String {
    let mut checksum = URL_SAFE_NO_PAD.encode(Sha256::digest(text));
    checksum.truncate(CHECKSUM_CHARS);
    checksum
}

/// Returns the checksums of a plan as numbers; `None` if the text is not a plan.
fn checksums(plan: &str) -> Option<Vec<u32>> {
    let (digest, checksums) = plan.split_once('-')?;
    let is_plan = digest.len() == DIGEST_DIGITS && digest.bytes().all(|digit| digit.is_ascii_hexdigit());
    let has_checksums = (CHECKSUM_CHARS..=CHECKSUM_CHARS * (MAX_CHECKSUMS + 1)).contains(&checksums.len())
        && checksums.len().is_multiple_of(CHECKSUM_CHARS);
    let number = |checksum: &[u8; CHECKSUM_CHARS]| u32::from(u16::from_be_bytes(*checksum));
    (is_plan && has_checksums)
        .then(|| checksums.as_bytes().as_chunks::<CHECKSUM_CHARS>().0.iter().map(number).collect())
}
