//! Globs of tool arguments, and the limits that they imply for a walk.

use paddock_text::glob_class::split_class;
use paddock_types::error::{Argument, Code, Error, Result, Term};
use paddock_types::phrase;

use crate::globs::Globs;
use crate::hidden::Hidden;

/// Maximum number of bytes of a glob, and of nested braces, because compilation of larger globs takes too long.
const MAX_GLOB_BYTES: usize = 4 * 1024;
const MAX_BRACES: usize = 16;

/// Returns the name of the argument that has a glob.
pub type Name = fn() -> Argument;

/// A compiled glob, relative to the top of the walk.
pub struct Glob {
    globs: Globs,
    /// Whether the glob matches every entry, which takes no comparison.
    matches_all: bool,
    /// Whether the glob has no `/` and is compared with names.
    names: bool,
    /// Leading names that every match has.
    pub prefix: Vec<String>,
    /// Maximum depth of a match.
    pub max_depth: Option<u32>,
    /// Components of the glob that name hidden entries.
    dotted: Globs,
}

impl Glob {
    /// Compiles the glob of `argument`. `root_names` are the absolute paths of the roots, with which a glob must not
    /// start.
    pub fn parse(pattern: &str, argument: Name, root_names: &[&str]) -> Result<Self> {
        check(pattern, argument, root_names)?;
        let mut parts = names(pattern);
        let names = !pattern.contains('/');
        if pattern.ends_with('/') {
            parts.push("**");
        }
        if parts.is_empty() {
            return Err(Error::argument(argument(), "the glob is empty").hint("`**` matches every file"));
        }
        let glob = parts.join("/");
        let literal = |part: &&&str| !part.contains(['*', '?', '[', ']', '{', '}']);
        let bounded = !names && !glob.contains("**");
        Ok(Self {
            globs: Globs::compile([glob.as_str()]).map_err(|cause| {
                Error::argument(argument(), cause)
                    .hint("`*`, `?`, `[a-z]`, `{a,b}` and `**` are special; in brackets a character is itself: `[[]`")
            })?,
            matches_all: glob == "**" || glob == "**/*" || (names && glob == "*"),
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
        self.matches_all || self.globs.is_match(if self.names { name() } else { path })
    }

    /// Returns the hidden entries of the walk: all if requested, otherwise those that the glob names.
    pub fn hidden(&self, include: bool) -> Hidden {
        if include { Hidden::Show } else { Hidden::Only(self.dotted.clone()) }
    }
}

/// Compiles the globs of `argument`, which exclude paths relative to the top of the walk.
pub fn exclusion(patterns: &[String], argument: Name, root_names: &[&str]) -> Result<Globs> {
    let globs = patterns.iter().map(|pattern| {
        check(pattern, argument, root_names)?;
        let path = names(pattern).join("/");
        if path.is_empty() {
            return Err(Error::argument(argument(), "the glob is empty"));
        }
        Ok(if pattern.trim_matches('/').contains('/') { path } else { format!("**/{path}") })
    });
    let globs = globs.collect::<Result<Vec<_>>>()?;
    Globs::compile(globs.iter().map(String::as_str)).map_err(|cause| Error::argument(argument(), cause))
}

fn check(pattern: &str, argument: Name, root_names: &[&str]) -> Result<()> {
    if pattern.len() > MAX_GLOB_BYTES {
        return Err(Error::argument(argument(), format!("the glob is longer than {MAX_GLOB_BYTES} bytes")));
    }
    if pattern.contains('\0') {
        return Err(Error::argument(argument(), "a glob cannot contain a NUL byte"));
    }
    if pattern.contains('\\') {
        return Err(Error::argument(argument(), "a glob cannot contain a backslash")
            .hint("separate directories by `/`, and put a special character in brackets: `[*]`"));
    }
    if let Some((syntax, instead)) = unsupported(pattern) {
        return Err(Error::argument(argument(), format!("a glob has no {syntax}")).hint(instead));
    }
    if pattern.split('/').any(|part| part == "..") {
        return Err(Error::at(Code::OutsideWorkspace, "match", pattern, "a glob does not go up by `..`")
            .hint(phrase!["pass the directory as ", Term::Path, ", and a glob relative to it"])
            .or_hint("give the directory and a glob relative to it"));
    }
    let in_root = |name: &&str| pattern.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    if root_names.iter().any(in_root) {
        return Err(Error::argument(argument(), "a glob is not an absolute path")
            .hint(phrase!["pass the directory as ", Term::Path, ", and a glob relative to it"])
            .or_hint("give the directory and a glob relative to it"));
    }
    let brace_depths = pattern.chars().scan(0_usize, |depth, c| {
        *depth = if c == '{' { *depth + 1 } else { depth.saturating_sub(usize::from(c == '}')) };
        Some(*depth)
    });
    if brace_depths.max().unwrap_or(0) > MAX_BRACES {
        return Err(Error::argument(argument(), format!("braces are nested deeper than {MAX_BRACES}")));
    }
    Ok(())
}

/// Returns syntax of other globs in a pattern, which would be literal text here and match nothing, and what to write
/// instead.
fn unsupported(pattern: &str) -> Option<(&'static str, &'static str)> {
    if pattern.starts_with('!') {
        return Some(("negation by `!`", "name the wanted files; `./!a` is the name `!a`"));
    }
    let (mut at, mut before) = (0, b' ');
    // Whether braces are open that contain no comma so far, and whether they contain `..`.
    let (mut is_open, mut is_range) = (false, false);
    while let Some(&byte) = pattern.as_bytes().get(at) {
        at += 1;
        match byte {
            b'(' if b"@+?*!".contains(&before) && pattern.contains(')') => {
                return Some(("groups like `@(a|b)`", "write `{a,b}`; `[(]` is a parenthesis"));
            }
            b'}' if is_range => return Some(("ranges like `{1..3}`", "write `{1,2,3}`, or `[1-3]`")),
            b'{' | b',' | b'}' => (is_open, is_range) = (byte == b'{', false),
            b'.' if before == b'.' => is_range = is_open,
            b'[' => {
                let inside = pattern.get(at..).unwrap_or_default();
                let class = split_class(inside);
                if class.as_ref().map_or(inside, |class| class.written).contains("[:") {
                    return Some(("classes like `[:alpha:]`", "write `[a-zA-Z]`"));
                }
                at += class.map_or(0, |class| class.written.len());
            }
            _ => {}
        }
        before = byte;
    }
    None
}

/// Returns the names in a glob, without empty ones and `.`.
fn names(pattern: &str) -> Vec<&str> {
    pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

/// Returns the components that name a hidden entry: they, or one of their alternatives, start with a dot.
fn dotted(parts: &[&str]) -> Globs {
    let named = |part: &&str| part.starts_with('.') || part.contains("{.") || part.contains(",.");
    let globs = parts.iter().copied().filter(named).filter(|part| Globs::compile([*part]).is_ok());
    Globs::compile(globs).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, path: &str) -> bool {
        Glob::parse(glob, || Term::Pattern.into(), &[]).unwrap().matches(path)
    }

    #[test]
    fn syntax_of_other_globs_is_refused_by_name() {
        for (glob, syntax) in [
            ("!*.js", "negation by `!`"),
            ("@(x|y)", "groups like `@(a|b)`"),
            ("src/+(a|b).js", "groups"),
            ("[ab]?(x).js", "groups"),
            ("*(1).txt", "groups"),
            ("!(a)", "negation"),
            ("a/!(b)", "groups"),
            ("[[:alpha:]]*", "classes like `[:alpha:]`"),
            ("[_[:digit:]x]", "classes"),
            ("a{1..3}.txt", "ranges like `{1..3}`"),
        ] {
            let error = Glob::parse(glob, || Term::Pattern.into(), &[]).err().unwrap();
            assert!(error.message().contains(syntax), "{glob}: {error:?}");
            let excluded = exclusion(&[glob.to_owned()], || Term::Exclude.into(), &[]).err().unwrap();
            assert!(excluded.message().contains(syntax), "{glob}: {excluded:?}");
        }
    }

    #[test]
    fn similar_syntax_is_accepted() {
        for (glob, path) in [
            ("./!a", "!a"),
            ("a!b", "a!b"),
            ("*[(]1).txt", "a (1).txt"),
            ("[+(]x)", "+x)"),
            ("[@(]x)", "(x)"),
            ("a+(", "a+("),
            ("(a)", "(a)"),
            ("a..{b}", "a..b"),
            ("{c,a}..b", "a..b"),
            ("{c,a..b}", "a..b"),
            ("{a..b,c}", "a..b"),
            ("[!a]", "b"),
        ] {
            assert!(matches(glob, path), "{glob} {path}");
        }
    }

    #[test]
    fn an_excluded_path_is_at_the_top_and_a_bare_name_at_any_depth() {
        let is_out = |glob: &str, path: &str| {
            exclusion(&[glob.to_owned()], || Term::Exclude.into(), &[]).unwrap().is_match(path)
        };
        for glob in ["*.js", "/*.js", "**/*.js"] {
            assert!(is_out(glob, "a.js") && is_out(glob, "src/a.js"), "{glob}");
        }
        for glob in ["./*.js", ".//*.js", "././*.js"] {
            assert!(is_out(glob, "a.js") && !is_out(glob, "src/a.js"), "{glob}");
        }
        assert!(exclusion(&[String::new()], || "include".into(), &[]).is_err());
        assert!(is_out("a//./b", "a/b") && !is_out("a/b", "c/a/b"));
    }
}
