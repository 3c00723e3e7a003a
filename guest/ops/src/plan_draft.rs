//! The plan of a call while its operation adds what it would change.

use std::fmt::Write;

use paddock_text::diff::{Change, abridged, between, line_changes};
use paddock_text::document::Document;
use paddock_text::encoding::is_binary;
use paddock_types::approval_plan::Plan;
use paddock_types::digest::hex;
use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, printable};
use paddock_types::request::Request;
use paddock_vfs::content::FileContent;
use paddock_vfs::open_location::OpenLocation;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;
use paddock_workspace::{Workspace, tree};
use sha2::{Digest, Sha256};

/// Maximum size of the summary in bytes. A person reads no more, and the host copies it.
const MAX_SUMMARY: usize = 256 * 1024;

/// A plan under construction.
pub struct PlanDraft<'w> {
    /// The workspace of the call, for a dry run.
    pub workspace: &'w Workspace<'w>,
    digest: Sha256,
    summary: String,
    /// Digest of the whole text, of which the summary may be the start.
    text: Sha256,
    omitted_bytes: u64,
    omitted_lines: u64,
    paths: Vec<String>,
}

impl<'w> PlanDraft<'w> {
    /// Starts the plan of `request`.
    pub fn new(workspace: &'w Workspace<'w>, request: &Request) -> Self {
        // The debug format contains every argument, so that different requests have different digests.
        let digest = Sha256::new_with_prefix(format!("{request:?}"));
        Self {
            workspace,
            digest,
            summary: String::new(),
            text: Sha256::new(),
            omitted_bytes: 0,
            omitted_lines: 0,
            paths: Vec::new(),
        }
    }

    /// Adds a path with its current state, for an operation that acts on a symbolic link itself.
    pub fn add(&mut self, operation: &str, path: &str) -> Result<()> {
        self.add_resolved(operation, path, FollowSymlinks::No)
    }

    /// Adds the file to which a path leads, with its current state, for an operation that follows symbolic links.
    pub fn add_target(&mut self, operation: &str, path: &str) -> Result<()> {
        self.add_resolved(operation, path, FollowSymlinks::Yes)
    }

    fn add_resolved(&mut self, operation: &str, path: &str, follow: FollowSymlinks) -> Result<()> {
        let resolved = self.workspace.resolve_with(path, operation, follow)?;
        let state = self.state(&resolved, operation)?;
        self.digest.update(format!("\n{:?} {state}", resolved.path));
        let about = state.split_once(':').map_or(state.as_str(), |(about, _)| about);
        self.say(&format!("{operation} `{}` ({about})\n", printable(&resolved.path)));
        self.paths.push(resolved.path);
        Ok(())
    }

    /// Adds text to the summary. Text beyond its bound is counted.
    pub fn say(&mut self, words: &str) {
        self.text.update(words);
        let remaining_bytes = if self.omitted_bytes > 0 { 0 } else { MAX_SUMMARY - self.summary.len() };
        let (fits, omitted) = words.split_at_checked(words.floor_char_boundary(remaining_bytes)).unwrap_or_default();
        self.summary.push_str(fits);
        self.omitted_bytes += omitted.len() as u64;
        self.omitted_lines += omitted.matches('\n').count() as u64;
    }

    /// Adds the change of a file's content, as a diff if it is text.
    pub fn change(&mut self, path: &str, old: Option<&FileContent>, new: &FileContent) -> Result<()> {
        if old == Some(new) {
            self.say("the content stays the same\n");
            return Ok(());
        }
        let before = old.map_or(Ok(Some(Document::decode(Vec::new(), None))), |old| self.document(path, old))?;
        let after = self.document(path, new)?;
        if let (None, Some(old)) = (&before, old) {
            self.say_digest("before", old);
        }
        let Some(after) = after else {
            self.say_digest("after", new);
            return Ok(());
        };
        let before = before.unwrap_or_else(|| Document::decode(Vec::new(), None));
        let (was, is) = (format(&before), format(&after));
        if was != is {
            let was = if old.is_some() { was + ", then " } else { String::new() };
            self.say(&format!("encoding: {was}{is}\n"));
        } else if let (Some(old), true) = (old, before.text == after.text) {
            // The bytes differ where the encoding defines no character.
            self.say_digest("before", old);
            self.say_digest("after", new);
        }
        self.diff(path, (&before.text, &after.text), between(&before.text, &after.text).as_slice());
        Ok(())
    }

    /// Adds the change of a text.
    pub fn diff(&mut self, path: &str, texts: (&str, &str), changes: &[Change]) {
        let diff = abridged(&printable(path), texts, &line_changes(texts.0, texts.1, changes));
        self.say(if diff.is_empty() { "the text stays the same\n" } else { &diff });
    }

    /// Returns the text of a file; `None` if its content is binary, or larger than a file that is held in memory.
    fn document(&self, path: &str, content: &FileContent) -> Result<Option<Document>> {
        if content.size() > self.workspace.policy.limits.max_file_bytes {
            return Ok(None);
        }
        let content = content.load(self.workspace.fs).map_err(|fault| fault.at("read", path))?;
        Ok(match content {
            FileContent::Bytes(bytes, _) if !is_binary(&bytes) => Some(Document::decode(bytes, None)),
            FileContent::Bytes(..) | FileContent::FileRange(_) => None,
        })
    }

    fn say_digest(&mut self, when: &str, content: &FileContent) {
        let (size, sha256) = (content.size(), content.sha256());
        self.say(&format!("content {when}: {size} bytes, binary or too large to show, SHA-256 {sha256}\n"));
    }

    /// Adds a path whose state does not matter, such as the directory of a command.
    pub fn name(&mut self, path: &str) {
        self.paths.push(path.to_owned());
    }

    /// Describes the current state of a path: in words, followed by `:` and a digest of its content.
    fn state(&self, resolved: &ResolvedPath, operation: &str) -> Result<String> {
        let Some(stat) = resolved.stat else { return Ok("nothing there now".to_owned()) };
        let location = OpenLocation { dir: resolved.dir.clone(), name: resolved.name.clone() };
        let fs = self.workspace.fs;
        let to_error = |fault: paddock_vfs::Fault| fault.at(operation, &resolved.requested_path);
        match stat.kind {
            Kind::File => {
                let digest = location.digest(fs).map_err(to_error)?.unwrap_or_default();
                Ok(format!("a file of {} bytes:{digest}", stat.size))
            }
            Kind::Link => Ok(format!("a link:{:?}", fs.read_link(&location.dir, &location.name).ok())),
            Kind::Other => Ok("no file".to_owned()),
            Kind::Directory if resolved.is_root() => Ok("the workspace".to_owned()),
            Kind::Directory => {
                let mut entries = Vec::new();
                let add = |path: &str, location: &OpenLocation, kind: Kind| {
                    if self.workspace.out_of_time() {
                        return Err(self.out_of_time(operation, resolved));
                    }
                    let content = match kind {
                        Kind::File => location.digest(fs).map_err(to_error)?,
                        Kind::Link => fs.read_link(&location.dir, &location.name).ok(),
                        Kind::Directory | Kind::Other => None,
                    };
                    entries.push(format!("{path:?} {kind:?} {content:?}"));
                    Ok(())
                };
                tree::each(fs, &resolved.path, location, stat.kind, add, to_error)?;
                entries.sort_unstable();
                let digest = hex(&Sha256::digest(entries.join("\n")));
                Ok(format!("a directory with {} entries:{digest}", entries.len().saturating_sub(1)))
            }
        }
    }

    fn out_of_time(&self, operation: &str, resolved: &ResolvedPath) -> Error {
        let cause = "reading everything that needs approval takes longer than the time limit of a call";
        Error::at(Code::LimitExceeded, operation, &resolved.requested_path, cause)
            .hint("do it in parts, one directory below it at a time")
    }

    /// Returns the plan.
    pub fn finish(self) -> Plan {
        let Self { mut digest, mut summary, omitted_bytes, omitted_lines, paths, .. } = self;
        let text = self.text.finalize();
        digest.update(text);
        if omitted_bytes > 0 {
            let _ = writeln!(
                summary,
                "\n… {omitted_lines} lines with {omitted_bytes} bytes are not shown, SHA-256 of the whole text: {}",
                hex(&text)
            );
        }
        Plan { digest: hex(&digest.finalize()), summary, omitted_bytes, paths }
    }
}

/// Returns the encoding of a document for a person.
fn format(document: &Document) -> String {
    let bom_text = if document.bom { " with a byte order mark" } else { "" };
    format!("{}{bom_text}", document.encoding.name())
}
