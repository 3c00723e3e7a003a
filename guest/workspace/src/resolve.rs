//! From a path to a place: component by component against directory handles.
//! Links are read here and must stay inside; no backend ever follows one.

use std::collections::VecDeque;

use paddock_types::entry::Kind;
use paddock_types::error::{Code, Error, Result, Term};
use paddock_types::phrase;
use paddock_vfs::{Dir, Fault, Stat};

use crate::access_rules::Denial;
use crate::ignore_rules::Secrets;
use crate::resolved_path::Place;
use crate::{Root, Workspace};

/// Links that one path may go through, as on Linux.
const MAX_LINKS: usize = 40;
/// Bytes of a path, and of one name in it, as on Linux.
const MAX_PATH_BYTES: usize = 4_096;
const MAX_NAME_BYTES: usize = 255;

/// What to do with a link that is the last component.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// The place is what the link names.
    Follow,
    /// The place is the link.
    Keep,
}

impl Workspace<'_> {
    /// The place that `path` leads to, the last link followed.
    pub fn resolve(&self, path: &str, verb: &str) -> Result<Place> {
        self.resolve_with(path, verb, Last::Follow)
    }

    /// The place that `path` leads to.
    pub fn resolve_with(&self, path: &str, verb: &str, last: Last) -> Result<Place> {
        let (root, rest) = self.root_of(path, verb)?;
        let mut walk = Resolution::new(self, path, verb, root)?;
        walk.push_back(rest)?;
        walk.run(last)
    }

    /// Resolves the directory that a call searches.
    pub fn directory_to_search(&self, path: &str, verb: &str) -> Result<(Place, Dir)> {
        self.resolve_dir(path, verb).map_err(|error| match error.code {
            Code::NotADirectory => error
                .hint(phrase![Term::DescribeTool, " describes a file, and ", Term::ReadTool, " reads it"])
                .or_hint("it is a file: read it"),
            _ => error,
        })
    }

    /// The directory that `path` leads to.
    pub fn resolve_dir(&self, path: &str, verb: &str) -> Result<(Place, Dir)> {
        let place = self.resolve(path, verb)?;
        let stat = place.existing(self, verb)?;
        if stat.kind != Kind::Directory {
            return Err(Error::at(Code::NotADirectory, verb, path, "it is not a directory"));
        }
        let dir = place.open_dir(self, verb)?;
        Ok((place, dir))
    }

    /// The root of a path, and the path below it.
    fn root_of<'p>(&self, path: &'p str, verb: &str) -> Result<(usize, &'p str)> {
        check_path(path, verb)?;
        if !path.starts_with('/') {
            return Ok((0, path));
        }
        let named = self.roots.iter().enumerate().flat_map(|(index, root)| {
            root.names.iter().filter_map(move |name| Some((index, name.len(), below(path, name)?)))
        });
        let (index, _, rest) =
            named.max_by_key(|(_, length, _)| *length).ok_or_else(|| self.outside(path, verb, "it is in no root"))?;
        Ok((index, rest))
    }

    fn outside(&self, path: &str, verb: &str, cause: &str) -> Error {
        let others: Vec<_> = self
            .roots
            .iter()
            .map(|root| &root.label)
            .filter(|label| !label.is_empty())
            .map(|label| format!("`{label}`"))
            .collect();
        let error = Error::at(Code::OutsideWorkspace, verb, path, cause);
        match others.as_slice() {
            [] => error.hint("use a path relative to the workspace; `.` is its top"),
            others => error.hint(format!("use a path relative to the workspace, or one below {}", others.join(", "))),
        }
    }
}

/// One path being resolved.
struct Resolution<'w> {
    workspace: &'w Workspace<'w>,
    given: &'w str,
    verb: &'w str,
    root: usize,
    /// Directories passed below the root, each with its name and handle.
    trail: Vec<(String, Dir)>,
    /// What no tool may touch, from the root down to the last of `trail` and `missing`.
    secrets: Secrets,
    /// Names at the end of the path that do not exist.
    missing: Vec<String>,
    /// Components still to come.
    ahead: VecDeque<String>,
    /// How many of them, at the end, the caller gave; the others are from links.
    own: usize,
    /// The path ended in `/`, or went through one: what it names has to be a directory.
    needs_dir: bool,
    links: usize,
}

impl<'w> Resolution<'w> {
    fn new(workspace: &'w Workspace<'w>, given: &'w str, verb: &'w str, root: usize) -> Result<Self> {
        let mut resolution = Self {
            workspace,
            given,
            verb,
            root,
            trail: Vec::new(),
            secrets: Secrets::default(),
            missing: Vec::new(),
            ahead: VecDeque::new(),
            own: 0,
            needs_dir: false,
            links: 0,
        };
        resolution.start(root)?;
        Ok(resolution)
    }

    /// Goes to the top of a root.
    fn start(&mut self, root: usize) -> Result<()> {
        self.root = root;
        self.trail.clear();
        self.secrets = self.workspace.secrets_of(root, self.given, self.verb)?;
        Ok(())
    }

    fn push_back(&mut self, path: &str) -> Result<()> {
        self.needs_dir = ends_in_dir(path);
        self.ahead = components(path).map(str::to_owned).collect();
        self.own = self.ahead.len();
        self.ahead.iter().try_for_each(|name| check_name(name, self.given, self.verb))
    }

    fn run(mut self, last: Last) -> Result<Place> {
        while let Some(name) = self.ahead.pop_front() {
            let from_link = self.ahead.len() >= self.own;
            self.own = self.own.min(self.ahead.len());
            if name == ".." {
                self.up(from_link)?;
                continue;
            }
            if !self.missing.is_empty() {
                self.miss(name)?;
                continue;
            }
            let stat = match self.workspace.fs.stat(self.dir()?, &name) {
                Err(Fault::NotFound) => {
                    self.miss(name)?;
                    continue;
                }
                other => other.map_err(|fault| self.fault(&fault))?,
            };
            self.check_denied(&name, stat.kind)?;
            let is_last = self.ahead.is_empty();
            match stat.kind {
                // A slash after the name must not turn a call on the link into one on what it names.
                Kind::Link if is_last && self.needs_dir && last == Last::Keep => return Err(self.slash_after_link()),
                Kind::Link if !is_last || last == Last::Follow => self.follow(&name)?,
                Kind::Directory if !is_last => self.enter(name)?,
                kind if is_last && (kind == Kind::Directory || !self.needs_dir) => return self.place(name, Some(stat)),
                _ => return Err(self.fault(&Fault::NotDirectory)),
            }
        }
        self.finish()
    }

    /// Passes a name that is not there: it can become a directory and, as the last, anything.
    fn miss(&mut self, name: String) -> Result<()> {
        self.check_denied(&name, Kind::Directory)?;
        if self.ahead.is_empty() {
            self.check_denied(&name, Kind::Other)?;
        }
        self.secrets.enter_missing(&name);
        self.missing.push(name);
        Ok(())
    }

    /// The path has been walked to its end without meeting a last file.
    fn finish(mut self) -> Result<Place> {
        self.missing.iter().for_each(|_| self.secrets.leave());
        if let Some(name) = self.missing.pop() {
            return self.place(name, None);
        }
        match self.trail.pop() {
            Some((name, dir)) => {
                self.secrets.leave();
                let stat = self.workspace.fs.stat_dir(&dir).map_err(|fault| self.fault(&fault))?;
                self.place(name, Some(stat))
            }
            None => {
                let stat = self.workspace.fs.stat_dir(self.dir()?).map_err(|fault| self.fault(&fault))?;
                self.place(String::new(), Some(stat))
            }
        }
    }

    fn place(self, name: String, stat: Option<Stat>) -> Result<Place> {
        let names = self.trail.iter().map(|(name, _)| name.as_str()).chain(self.missing.iter().map(String::as_str));
        let relative = names.chain(Some(name.as_str()).filter(|name| !name.is_empty())).collect::<Vec<_>>().join("/");
        let path = self.top()?.shown(&relative);
        let dir = self.dir()?.clone();
        Ok(Place {
            root: self.root,
            dir,
            trail: self.trail,
            secrets: self.secrets,
            missing: self.missing,
            name,
            path,
            given: self.given.to_owned(),
            stat,
        })
    }

    fn up(&mut self, from_link: bool) -> Result<()> {
        if !self.missing.is_empty() {
            return Err(self.fault(&Fault::NotFound));
        }
        if self.trail.pop().is_none() {
            if self.leave_root()? {
                return Ok(());
            }
            if from_link {
                return Err(self.leads_out());
            }
            return Err(self.workspace.outside(self.given, self.verb, "`..` leads out of the root"));
        }
        self.secrets.leave();
        Ok(())
    }

    /// Goes up from the top of a root to the directory that holds it, where a root has the path `/`: that one is a
    /// whole tree of which the others are parts, and nothing is above it.
    fn leave_root(&mut self) -> Result<bool> {
        let is_whole = |root: &Root| root.names.first().is_some_and(|name| name == "/");
        let Some(whole) = self.workspace.roots.iter().position(is_whole) else { return Ok(false) };
        let above = self.top()?.names.first().and_then(|name| Some(name.rsplit_once('/')?.0));
        for name in components(above.unwrap_or_default()).collect::<Vec<_>>().into_iter().rev() {
            self.ahead.push_front(name.to_owned());
        }
        self.start(whole)?;
        Ok(true)
    }

    fn enter(&mut self, name: String) -> Result<()> {
        let dir = self.workspace.fs.open_dir(self.dir()?, &name).map_err(|fault| self.fault(&fault))?;
        self.secrets.enter(&name, &dir, self.workspace.fs).map_err(|error| self.blame(error))?;
        self.trail.push((name, dir));
        Ok(())
    }

    /// Puts what the link `name` says in front of what is still to come.
    fn follow(&mut self, name: &str) -> Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Error::at(
                Code::InvalidPath,
                self.verb,
                self.given,
                "it goes through too many symbolic links, or round in a loop",
            ));
        }
        let target = match self.workspace.fs.read_link(self.dir()?, name) {
            Err(Fault::Outside) => return Err(self.leads_out()),
            other => other.map_err(|fault| self.fault(&fault))?,
        };
        let rest = if target.starts_with('/') {
            let (root, rest) = self.workspace.root_of(&target, self.verb).map_err(|_| self.leads_out())?;
            self.start(root)?;
            rest
        } else {
            check_path(&target, self.verb).map_err(|_| self.leads_out())?;
            &target
        };
        self.needs_dir |= self.ahead.is_empty() && ends_in_dir(rest);
        for component in components(rest).collect::<Vec<_>>().into_iter().rev() {
            check_name(component, self.given, self.verb)?;
            self.ahead.push_front(component.to_owned());
        }
        Ok(())
    }

    fn check_denied(&self, name: &str, kind: Kind) -> Result<()> {
        match self.secrets.denial(name, kind) {
            Some(denial) => Err(denied(denial, self.given, self.verb)),
            None => Ok(()),
        }
    }

    fn slash_after_link(&self) -> Error {
        let cause = "a `/` follows the name of a symbolic link";
        Error::at(Code::NotADirectory, self.verb, self.given, cause)
            .hint("leave the `/` out to mean the link itself, or name what it names")
    }

    fn leads_out(&self) -> Error {
        self.workspace.outside(self.given, self.verb, "a symbolic link on it leads outside the workspace")
    }

    fn dir(&self) -> Result<&Dir> {
        match self.trail.last() {
            Some((_, dir)) => Ok(dir),
            None => Ok(&self.top()?.dir),
        }
    }

    fn top(&self) -> Result<&'w Root> {
        self.workspace.roots.get(self.root).ok_or_else(|| self.fault(&Fault::Gone))
    }

    fn fault(&self, fault: &Fault) -> Error {
        fault.at(self.verb, self.given)
    }

    fn blame(&self, mut error: Error) -> Error {
        error.path = Some(self.given.to_owned());
        error
    }
}

/// The failure of a call on what is kept from every tool.
pub fn denied(denial: Denial, path: &str, verb: &str) -> Error {
    Error::at(Code::Denied, verb, path, denial.cause()).hint("do without it, or ask the person who runs this")
}

/// Refuses what cannot be a path on every host: hosts disagree on what a backslash means.
fn check_path(path: &str, verb: &str) -> Result<()> {
    let invalid = |cause: &str| Error::at(Code::InvalidPath, verb, path, cause);
    if path.is_empty() {
        return Err(invalid("the path is empty").hint("`.` is the top of the workspace"));
    }
    if path.contains('\0') {
        return Err(invalid("a path holds no NUL byte"));
    }
    if path.contains('\\') {
        return Err(invalid("a path holds no backslash").hint("separate directories by `/`"));
    }
    if path.len() > MAX_PATH_BYTES {
        let shown: String = path.chars().take(60).collect();
        return Err(Error::at(
            Code::InvalidPath,
            verb,
            &shown,
            format!("the path is longer than {MAX_PATH_BYTES} bytes"),
        ));
    }
    Ok(())
}

fn check_name(name: &str, path: &str, verb: &str) -> Result<()> {
    if name.len() > MAX_NAME_BYTES {
        return Err(Error::at(
            Code::InvalidPath,
            verb,
            path,
            format!("a name in it is longer than {MAX_NAME_BYTES} bytes"),
        ));
    }
    Ok(())
}

/// The components of a path, without empty ones and `.`.
fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|component| !component.is_empty() && *component != ".")
}

fn ends_in_dir(path: &str) -> bool {
    path.ends_with('/') || path.ends_with("/.")
}

/// What is left of an absolute `path` below `top`, compared component by component: `/ws` is not above `/ws-evil`.
pub fn below<'p>(path: &'p str, top: &str) -> Option<&'p str> {
    let top = top.trim_end_matches('/');
    let rest = path.strip_prefix(top)?;
    match rest.strip_prefix('/') {
        Some(rest) => Some(rest),
        None if rest.is_empty() => Some(""),
        None => None,
    }
}

#[cfg(test)]
mod tests;
