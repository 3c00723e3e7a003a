//! Globs of tool arguments, and the limits that they imply for a walk.

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use paddock_text::glob_class::split_class;
use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::phrase;

use crate::hidden::Hidden;

/// Maximum number of bytes of a glob, and of nested braces, because compilation of larger globs takes too long.
const MAX_GLOB_BYTES: usize = 4 * 1024;
const MAX_BRACES: usize = 16;

/// A compiled glob, relative to the top of the walk.
pub struct Glob {
    set: GlobSet,
    /// Whether the glob has no `/` and is compared with names.
    names: bool,
    /// Leading names that every match has.
    pub prefix: Vec<String>,
    /// Maximum depth of a match.
    pub max_depth: Option<u32>,
    /// Components of the glob that name hidden entries.
    dotted: GlobSet,
}

impl Glob {
    /// Compiles the glob of `argument`. `root_names` are the absolute paths of the roots, with which a glob must not
    /// start.
    pub fn parse(pattern: &str, argument: &str, root_names: &[&str]) -> Result<Self> {
        check(pattern, argument, root_names)?;
        let names = !pattern.contains('/');
        let mut parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if pattern.ends_with('/') {
            parts.push("**");
        }
        if parts.is_empty() {
            return Err(Error::argument(argument, "the glob is empty").hint("`**` matches every file"));
        }
        let glob = parts.join("/");
        let literal = |part: &&&str| !part.contains(['*', '?', '[', ']', '{', '}']);
        let bounded = !names && !glob.contains("**");
        Ok(Self {
            set: compile([glob.as_str()]).map_err(|cause| {
                Error::argument(argument, cause)
                    .hint("`*`, `?`, `[a-z]`, `{a,b}` and `**` are special; in brackets a character is itself: `[[]`")
            })?,
            names,
            prefix: if names {
                Vec::new()
            } else {
                parts.iter().take_while(literal).map(|part| (*part).to_owned()).collect()
            },
            max_depth: bounded.then(|| u32::try_from(glob.split('/').count()).unwrap_or(u32::MAX)),
            dotted: dotted(&parts),
        })
    }

    /// Returns whether the glob matches the entry at `path`, relative to the top of the walk.
    pub fn matches(&self, path: &str) -> bool {
        let name = || path.rsplit('/').next().unwrap_or(path);
        self.set.is_match_candidate(&Candidate::from_bytes(if self.names { name() } else { path }))
    }

    /// Returns the hidden entries of the walk: all if requested, otherwise those that the glob names.
    pub fn hidden(&self, include: bool) -> Hidden {
        if include { Hidden::Show } else { Hidden::Only(self.dotted.clone()) }
    }
}

/// Compiles the globs of `argument`, which exclude paths relative to the top of the walk.
pub fn exclusion(patterns: &[String], argument: &str, root_names: &[&str]) -> Result<GlobSet> {
    let globs = patterns.iter().map(|pattern| {
        check(pattern, argument, root_names)?;
        let path = pattern.trim_matches('/');
        Ok(if path.contains('/') { path.to_owned() } else { format!("**/{path}") })
    });
    let globs = globs.collect::<Result<Vec<_>>>()?;
    compile(globs.iter().map(String::as_str)).map_err(|cause| Error::argument(argument, cause))
}

fn check(pattern: &str, argument: &str, root_names: &[&str]) -> Result<()> {
    if pattern.len() > MAX_GLOB_BYTES {
        return Err(Error::argument(argument, format!("the glob is longer than {MAX_GLOB_BYTES} bytes")));
    }
    if pattern.contains('\0') {
        return Err(Error::argument(argument, "a glob cannot contain a NUL byte"));
    }
    if pattern.contains('\\') {
        return Err(Error::argument(argument, "a glob cannot contain a backslash")
            .hint("separate directories by `/`, and put a special character in brackets: `[*]`"));
    }
    if pattern.split('/').any(|part| part == "..") {
        return Err(Error::at(Code::OutsideWorkspace, "match", pattern, "a glob does not go up by `..`")
            .hint(phrase!["pass the directory as ", Term::Path, ", and a glob relative to it"])
            .or_hint("give the directory and a glob relative to it"));
    }
    let in_root = |name: &&str| pattern.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    if root_names.iter().any(in_root) {
        return Err(Error::argument(argument, "a glob is not an absolute path")
            .hint(phrase!["pass the directory as ", Term::Path, ", and a glob relative to it"])
            .or_hint("give the directory and a glob relative to it"));
    }
    let levels = pattern.chars().scan(0_usize, |level, c| {
        *level = if c == '{' { *level + 1 } else { level.saturating_sub(usize::from(c == '}')) };
        Some(*level)
    });
    if levels.max().unwrap_or(0) > MAX_BRACES {
        return Err(Error::argument(argument, format!("braces are nested deeper than {MAX_BRACES}")));
    }
    Ok(())
}

fn compile<'g>(globs: impl IntoIterator<Item = &'g str>) -> std::result::Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let built = GlobBuilder::new(&within_names(glob))
            .literal_separator(true)
            .backslash_escape(false)
            .empty_alternates(true)
            .build();
        set.add(built.map_err(|error| error.kind().to_string())?);
    }
    set.build().map_err(|_| "the glob is too complex".to_owned())
}

/// Rewrites character classes so that they do not match `/`.
fn within_names(glob: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(glob.len()), glob);
    while let Some((before, inside)) = rest.split_once('[') {
        let (class, after) = split_class(inside);
        out.extend([before, "[", &class]);
        rest = after;
    }
    out + rest
}

/// Returns the components that name a hidden entry: they, or one of their alternatives, start with a dot.
fn dotted(parts: &[&str]) -> GlobSet {
    let named = |part: &&str| part.starts_with('.') || part.contains("{.") || part.contains(",.");
    let globs = parts.iter().copied().filter(named).filter(|part| compile([*part]).is_ok());
    compile(globs).unwrap_or_default()
}
