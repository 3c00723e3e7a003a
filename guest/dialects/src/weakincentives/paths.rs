//! Paths and patterns as weakincentives reads them.

use paddock_types::error::{Code, Error, Result};

use crate::args::Args;

/// Maximum number of names in a path to write, and of characters in each.
const MAX_DEPTH: usize = 16;
const MAX_NAME: usize = 80;
/// A glob that matches any path, including those with `/`.
const ANY: &str = "{*,*/**/*}";

/// Returns the argument `path` of a tool that lists or searches; an empty path is the root.
#[inline(never)]
pub fn directory(args: &Args) -> String {
    let path = args.text("path");
    if path.is_empty() { ".".to_owned() } else { path }
}

/// Returns the argument `path` of a tool that needs one.
#[inline(never)]
pub fn named(args: &Args, operation: &str) -> Result<String> {
    let path = args.text("path");
    if path.is_empty() { Err(Error::at(Code::InvalidPath, operation, "", "the path is empty")) } else { Ok(path) }
}

/// Returns the argument `path` of a tool that creates a file or directory, within the limits of the original. An
/// absolute path may be deeper, because it may include the path of the root.
#[inline(never)]
pub fn writable_path(args: &Args, operation: &str) -> Result<String> {
    let path = named(args, operation)?;
    let refused = |cause: &str| Err(Error::at(Code::InvalidPath, operation, &path, cause));
    let mut depth = 0_usize;
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        depth = if name == ".." { depth.saturating_sub(1) } else { depth + 1 };
        if name.chars().count() > MAX_NAME {
            return refused("Path segment exceeds limit of 80 characters");
        }
    }
    if depth > MAX_DEPTH && !path.starts_with('/') {
        return refused("Path depth exceeds limit of 16 segments");
    }
    // As in the original, a blank path is the root here.
    if depth == 0 || path.trim().is_empty() {
        return refused("cannot write to root directory");
    }
    Ok(path)
}

/// Returns the glob that matches what `pattern` matches in Python's `fnmatch`, where `*` matches `/` too. Unlike in
/// `fnmatch`, `**/` also matches no directory, and braces are special.
pub fn fnmatch(pattern: &str) -> String {
    // A glob that starts with `/` is compared with paths, not with names.
    let mut glob = String::from("/");
    let mut rest = pattern.trim_start_matches('/');
    while let Some(at) = rest.find(['*', '[']) {
        let (before, after) = rest.split_at(at);
        glob.push_str(before);
        if let Some(class) = after.strip_prefix('[') {
            // The first character of a class is part of it, even if it is a bracket.
            let first = if class.starts_with('!') { 2 } else { 1 };
            let end = class.char_indices().skip(first).find(|(_, c)| *c == ']').map(|(at, _)| at + 1);
            // A bracket that is never closed is an ordinary character.
            let (class, after) = end.and_then(|end| class.split_at_checked(end)).unwrap_or(("[]", class));
            glob.extend(["[", class]);
            rest = after;
        } else {
            let is_directories = glob.ends_with('/') && after.starts_with("**");
            rest = after.trim_start_matches('*');
            match rest.strip_prefix('/').filter(|_| is_directories) {
                Some(below) => {
                    glob.push_str("**/");
                    rest = below;
                }
                None => glob.push_str(ANY),
            }
        }
    }
    glob + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_a_slash() {
        for (pattern, glob) in [
            ("*.py", "/{*,*/**/*}.py"),
            ("**/*.py", "/**/{*,*/**/*}.py"),
            ("src/**", "/src/{*,*/**/*}"),
            ("a.py", "/a.py"),
            ("/a**b[*]c[]*]d[", "/a{*,*/**/*}b[*]c[]*]d[[]"),
            ("[!]a]*[b", "/[!]a]{*,*/**/*}[[]b"),
            ("*/x", "/{*,*/**/*}/x"),
            (" a.txt\n", "/ a.txt\n"),
            ("a/**/x", "/a/**/x"),
        ] {
            assert_eq!(fnmatch(pattern), glob, "{pattern}");
        }
    }
}
