//! Reads several files. The failure of one file is reported in its entry.

use paddock_search::glob::Glob;
use paddock_types::error::{Error, Result, Term};
use paddock_types::request::Read;
use paddock_types::response::{ReadManyEntry, ReadOutcome, Response, Skipped};
use paddock_types::{phrase, request, response};
use paddock_workspace::Workspace;

use crate::operation::{ChangingOperation, Operation};
use crate::read;
use crate::recorder::Recorder;

impl Operation for request::ReadMany {
    fn name(&self) -> &'static str {
        "read"
    }

    fn requested_paths(&self) -> Vec<String> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    fn as_change(&self) -> Option<&dyn ChangingOperation> {
        None
    }

    fn run(&self, workspace: &Workspace<'_>) -> Result<Response> {
        run(workspace, self).map(Response::ReadMany)
    }

    fn record(&self, response: &Response, recorder: &mut Recorder<'_>) {
        let Response::ReadMany(many) = response else { return };
        let (mut bytes, mut lines) = (0, 0);
        for entry in &many.entries {
            match &entry.outcome {
                ReadOutcome::Result(read) => {
                    recorder.add(&read.path);
                    let extent = read::extent(read);
                    (bytes, lines) = (bytes + extent.0, lines + extent.1.unwrap_or(0));
                }
                ReadOutcome::Error(error) => recorder.add_failed(&entry.path, error.code),
            }
        }
        recorder.measure(bytes, Some(lines));
    }
}

/// Reads several files. The failure of one file is reported in its entry.
pub fn run(workspace: &Workspace<'_>, args: &request::ReadMany) -> Result<response::ReadMany> {
    let max_files = usize::try_from(workspace.policy.limits.max_files).unwrap_or(usize::MAX);
    let (files, more, skipped) = match (&args.glob, args.files.as_slice()) {
        (Some(pattern), []) => matching(workspace, pattern)?,
        (None, files @ [_, ..]) => (files.to_vec(), false, Skipped::default()),
        (Some(_), _) => {
            return Err(Error::argument(Term::Glob, "files are named in two ways").hint(phrase![
                "give either ",
                Term::Files,
                " or ",
                Term::Glob
            ]));
        }
        (None, _) => {
            return Err(Error::argument(Term::Files, "no file is named").hint(phrase![
                "give ",
                Term::Files,
                ", or a ",
                Term::Glob
            ]));
        }
    };
    let mut entries = Vec::new();
    let limits = &workspace.policy.limits;
    // If all files are requested whole, they share the limit of a single whole file.
    let is_unlimited = files.iter().all(|file| file.unlimited);
    let mut remaining_bytes = if is_unlimited { bytes(limits.max_file_bytes) } else { limits.max_result_bytes };
    let mut left = files.as_slice();
    while let [file, rest @ ..] = left {
        if entries.len() >= max_files || workspace.out_of_time() {
            break;
        }
        let outcome = crate::read::run(workspace, file);
        let size = outcome.as_ref().map_or(0, |result| result.content.len());
        if size > remaining_bytes && !entries.is_empty() {
            break;
        }
        remaining_bytes = remaining_bytes.saturating_sub(size);
        let outcome = outcome.map_or_else(ReadOutcome::Error, |result| ReadOutcome::Result(Box::new(result)));
        entries.push(ReadManyEntry { path: file.path.clone(), outcome });
        left = rest;
    }
    let remaining: Vec<_> = left.iter().map(|file| file.path.clone()).collect();
    Ok(response::ReadMany { entries, truncated: more || !remaining.is_empty(), remaining, skipped })
}

fn bytes(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Returns the files that the pattern matches, whether there are more, and the entries that the search left out.
fn matching(workspace: &Workspace<'_>, pattern: &str) -> Result<(Vec<Read>, bool, Skipped)> {
    // The error must name this tool's argument, not that of the search.
    Glob::parse(pattern, || Term::Glob.into(), &workspace.root_names())?;
    let glob = crate::glob::run(
        workspace,
        &request::Glob {
            limit: u32::try_from(workspace.policy.limits.max_files).unwrap_or(u32::MAX),
            unlimited: true,
            ..request::Glob::of(pattern.to_owned())
        },
    )?;
    let files = glob.paths.into_iter().map(|path| Read::lines(path, 1, None)).collect();
    Ok((files, glob.truncated, glob.skipped))
}

#[cfg(test)]
mod tests {
    use paddock_types::error::Code;
    use paddock_types::policy::Policy;
    use paddock_workspace::fixture;

    use super::*;

    fn read_all(paths: &[&str], policy: &Policy) -> response::ReadMany {
        let file = |path: &&str| Read::lines(*path, 1, None);
        let args = request::ReadMany { files: paths.iter().map(file).collect(), glob: None };
        let files: &[(&str, &[u8])] = &[("a", b"aaaa\naaaa\n"), ("b", b"bbbb\n"), ("c", b"c")];
        fixture::with(files, policy, |workspace| run(workspace, &args)).unwrap()
    }

    #[test]
    fn one_failure_is_an_entry() {
        let result = read_all(&["a", "none", "c"], &Policy::default());
        let results = result.entries.iter().map(|entry| match &entry.outcome {
            ReadOutcome::Result(read) => Ok(read.content.as_str()),
            ReadOutcome::Error(error) => Err(error.code),
        });
        assert_eq!(results.collect::<Vec<_>>(), [Ok("aaaa\naaaa"), Err(Code::NotFound), Ok("c")]);
        assert!(!result.truncated);
    }

    #[test]
    fn files_beyond_the_limit_remain() {
        let mut policy = Policy::default();
        policy.limits.max_result_bytes = 6;
        let result = read_all(&["b", "c", "a", "c"], &policy);
        assert_eq!((result.entries.len(), result.truncated), (2, true));
        assert_eq!(result.remaining, ["a", "c"]);
        let first = read_all(&["a", "b"], &policy);
        assert_eq!(first.remaining, ["b"]);
        policy.limits.max_files = 1;
        assert_eq!(read_all(&["c", "c", "b"], &policy).remaining, ["c", "b"]);
    }

    #[test]
    fn files_are_named_by_exactly_one_argument() {
        let code = |args| fixture::with(&[], &Policy::default(), |workspace| run(workspace, &args)).unwrap_err().code;
        let files = vec![Read::lines("a", 1, None)];
        assert_eq!(code(request::ReadMany { files, glob: Some("*".to_owned()) }), Code::InvalidArgument);
        assert_eq!(code(request::ReadMany::default()), Code::InvalidArgument);
    }
}
