//! Describes the entry at a path.

use paddock_types::entry::{Kind, Time};
use paddock_types::error::{Code, Result};
use paddock_types::response::Response;
use paddock_types::{request, response, time};
use paddock_workspace::Workspace;
use paddock_workspace::resolve::FollowSymlinks;
use paddock_workspace::resolved_path::ResolvedPath;

use crate::details;
use crate::operation::{ChangingOperation, Operation};
use crate::read::content::OpenContent;
use crate::recorder::Recorder;

const OPERATION: &str = "describe";

impl Operation for request::Stat {
    fn name(&self) -> &'static str {
        "stat"
    }

    fn requested_paths(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        None
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::Stat)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::Stat(stat) = response else { return };
        recorder.add(&stat.path);
    }
}

/// Describes the entry at a path.
pub fn run(workspace: &Workspace<'_>, args: &request::Stat) -> Result<response::Stat> {
    let last = if args.through { FollowSymlinks::Yes } else { FollowSymlinks::No };
    let resolved = workspace.resolve_with(&args.path, OPERATION, last)?;
    let stat = match args.hints {
        true => resolved.existing(workspace, OPERATION)?,
        false => resolved.stat.ok_or_else(|| resolved.not_found(OPERATION))?,
    };
    let rendered_time = |time: Option<Time>| time.and_then(time::rfc3339);
    let mut result = response::Stat {
        path: resolved.path.clone(),
        kind: stat.kind,
        size: None,
        modified: rendered_time(stat.modified),
        accessed: rendered_time(stat.accessed),
        changed: rendered_time(stat.changed),
        // Some file systems count subdirectories as links of a directory, which is of no use to the caller.
        hard_links: if stat.kind == Kind::Directory { 1 } else { stat.links },
        lines: None,
        encoding: None,
        mime: None,
        link_target: None,
        etag: None,
        sha256: None,
        target_kind: None,
    };
    match stat.kind {
        Kind::File => {
            result.size = Some(stat.size);
            if !args.brief {
                describe_content(workspace, &resolved, args.checksum, &mut result)?;
            }
        }
        Kind::Link => {
            result.link_target = inner_target(workspace, &resolved);
            result.target_kind = args.follow.then(|| details::target_kind(workspace, &args.path)).flatten();
        }
        Kind::Directory | Kind::Other => {}
    }
    Ok(result)
}

fn describe_content(
    workspace: &Workspace<'_>,
    resolved: &ResolvedPath,
    checksum: bool,
    result: &mut response::Stat,
) -> Result<()> {
    let content = match OpenContent::open(workspace, resolved, OPERATION) {
        // Metadata is available without permission to read the file.
        Err(error) if error.code == Code::PermissionDenied && !checksum => return Ok(()),
        other => other?,
    };
    let sample = content.sample()?;
    let format = content.format(&sample, None);
    result.size = Some(content.size());
    result.mime = Some(content.mime(&sample, format).to_owned());
    result.etag = content.etag();
    if let Some(format) = format {
        result.encoding = Some(format.detected.encoding.name().to_owned());
        result.lines = content.count_lines(format)?;
    }
    if checksum {
        result.sha256 = Some(content.sha256()?);
    }
    Ok(())
}

/// Returns the target of the link if it stays inside the workspace; a target outside is not revealed.
fn inner_target(workspace: &Workspace<'_>, resolved: &ResolvedPath) -> Option<String> {
    workspace.resolve(&resolved.requested_path, OPERATION).ok()?;
    workspace.fs.read_link(&resolved.dir, &resolved.name).ok()
}

#[cfg(test)]
mod tests {
    use paddock_types::policy::Policy;
    use paddock_workspace::fixture;

    use super::*;

    const FILES: &[(&str, &[u8])] = &[
        ("a.rs", b"fn a() {}\n\n"),
        ("b.bin", b"\0\x01"),
        ("d/", b""),
        ("in -> a.rs", b""),
        ("gone -> d/new", b""),
        ("out -> ../etc", b""),
        ("loop -> loop", b""),
    ];

    fn stat(path: &str, policy: &Policy) -> Result<response::Stat> {
        let args = request::Stat { checksum: path == "a.rs", ..request::Stat::of(path.to_owned()) };
        fixture::with(FILES, policy, |workspace| run(workspace, &args))
    }

    #[test]
    fn kinds() {
        let policy = Policy::default();
        let text = stat("a.rs", &policy).unwrap();
        assert_eq!((text.kind, text.size, text.lines, text.hard_links), (Kind::File, Some(11), Some(2), 1));
        assert_eq!((text.encoding.as_deref(), text.mime.as_deref()), (Some("UTF-8"), Some("text/x-rust")));
        assert!(text.sha256.unwrap().starts_with(&text.etag.unwrap()));
        let binary = stat("b.bin", &policy).unwrap();
        assert_eq!((binary.lines, binary.encoding, binary.sha256), (None, None, None));
        assert_eq!(binary.mime.as_deref(), Some("application/octet-stream"));
        let directory = stat("d", &policy).unwrap();
        assert_eq!((directory.kind, directory.size, directory.mime), (Kind::Directory, None, None));
        assert_eq!(stat(".", &policy).unwrap().path, ".");
        assert_eq!(stat("none", &policy).unwrap_err().code, Code::NotFound);
    }

    #[test]
    fn a_link_tells_its_target_only_where_that_is_inside() {
        let target = |path| {
            let stat = stat(path, &Policy::default()).unwrap();
            assert_eq!((stat.kind, stat.size), (Kind::Link, None));
            stat.link_target
        };
        assert_eq!([target("in"), target("gone")], [Some("a.rs".to_owned()), Some("d/new".to_owned())]);
        assert_eq!([target("out"), target("loop")], [None, None]);
    }

    #[test]
    fn over_the_whole_file_limit() {
        let mut policy = Policy::default();
        policy.limits.max_file_bytes = 4;
        let large = stat("a.rs", &policy).unwrap();
        assert_eq!((large.lines, large.etag, large.encoding.as_deref()), (None, None, Some("UTF-8")));
        assert_eq!(large.sha256, stat("a.rs", &Policy::default()).unwrap().sha256);
    }
}
