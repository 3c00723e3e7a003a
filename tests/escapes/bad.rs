//! A host that is known to be unsafe: it compares the text of paths, and then opens files by their paths.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use paddock::selftest::{Answer, Call, Fixture, Subject};
use serde_json::{Value, json};

/// Maximum number of bytes that are read from a file.
const LARGEST: u64 = 1 << 20;

#[derive(Default)]
pub struct Bad {
    root: PathBuf,
    /// Top directory of the run. This host refuses paths outside of it, so that it does no harm to the machine.
    cage: PathBuf,
}

impl Subject for Bad {
    fn open(&mut self, fixture: &Fixture) -> Result<(), String> {
        self.root = fixture.root().to_owned();
        self.cage = fixture.root().ancestors().nth(3).ok_or("no cage")?.to_owned();
        Ok(())
    }

    fn call(&mut self, call: &Call<'_>) -> Answer {
        match self.run(call.tool, call.arguments) {
            Ok((result, changed)) => Answer { code: None, all: result.to_string(), result, changed },
            Err(cause) => {
                let code = if cause.kind() == io::ErrorKind::PermissionDenied { "outside-workspace" } else { "io" };
                Answer { code: Some(code.to_owned()), result: Value::Null, changed: false, all: cause.to_string() }
            }
        }
    }
}

impl Bad {
    fn run(&self, tool: &str, arguments: &Value) -> io::Result<(Value, bool)> {
        let path = |name: &str| self.path(arguments[name].as_str().unwrap_or("."));
        let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        let read = |result: Value| Ok((result, false));
        match tool {
            "read_file" => read(json!({ "content": contents(&path("path")?)? })),
            "stat" => read(json!({ "size": fs::metadata(path("path")?)?.len() })),
            "list_dir" | "tree" => read(json!(names(&path("path")?)?)),
            "glob" => read(json!(self.glob(&text("pattern"))?)),
            "write_file" => self.write(&path("path")?, text("content").as_bytes()),
            "edit_file" => {
                let (path, edit) = (path("path")?, &arguments["edits"][0]);
                let (old, new) = (edit["old_text"].as_str(), edit["new_text"].as_str());
                let changed = contents(&path)?.replace(old.unwrap_or_default(), new.unwrap_or_default());
                self.write(&path, changed.as_bytes())
            }
            "make_dir" => self.changed(&path("path")?, |path| fs::create_dir_all(path)),
            "delete" => self.changed(&path("path")?, |path| fs::remove_file(path)),
            "copy" | "move" => {
                let (from, to) = (path("source")?, path("destination")?);
                self.write(&to, contents(&from)?.as_bytes())
            }
            "apply_patch" => self.patch(&text("patch")),
            "extract_archive" => self.unpack(&path("archive_path")?, &path("destination_path")?),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Returns the path without `..`, if its text begins with the path of the root.
    fn path(&self, path: &str) -> io::Result<PathBuf> {
        let mut real = PathBuf::new();
        for part in self.root.join(path).components() {
            match part {
                std::path::Component::ParentDir => drop(real.pop()),
                part => real.push(part),
            }
        }
        let is_below = real.to_string_lossy().starts_with(&*self.root.to_string_lossy());
        if is_below { Ok(real) } else { Err(io::Error::new(io::ErrorKind::PermissionDenied, "outside")) }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<(Value, bool)> {
        self.changed(path, |path| fs::write(path, bytes))
    }

    fn changed(&self, path: &Path, change: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<(Value, bool)> {
        let above = path.ancestors().skip(1).find_map(|above| above.canonicalize().ok()).unwrap_or_default();
        let leads_to =
            path.canonicalize().or_else(|_| Ok::<_, io::Error>(above.join(fs::read_link(path).unwrap_or_default())))?;
        let waits = fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir());
        if waits || !above.starts_with(&self.cage) || !leads_to.starts_with(&self.cage) {
            return Err(io::ErrorKind::Other.into());
        }
        change(path).map(|()| (json!({}), true))
    }

    /// Returns the names in the directory before the first wildcard of a pattern.
    fn glob(&self, pattern: &str) -> io::Result<Vec<String>> {
        let start: Vec<_> = pattern.split('/').take_while(|part| !part.contains(['*', '[', '{', '?'])).collect();
        names(&self.root.join(start.join("/")))
    }

    fn patch(&self, patch: &str) -> io::Result<(Value, bool)> {
        let header =
            |line: &str| Some(line.strip_prefix("*** Update File: ").or(line.strip_prefix("+++ b/"))?.to_owned());
        let name = patch.lines().find_map(header).ok_or(io::ErrorKind::InvalidInput)?;
        let path = self.path(&name)?;
        let text = contents(&path)?;
        self.write(&path, text.replacen("inside", "x", 1).as_bytes())
    }

    /// Unpacks stored entries to the paths in their names.
    fn unpack(&self, archive: &Path, destination: &Path) -> io::Result<(Value, bool)> {
        let bytes = bytes(archive)?;
        let mut rest = bytes.as_slice();
        let short = |bytes: &[u8], at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        while rest.starts_with(b"PK\x03\x04") {
            let (size, name) = (short(rest, 18), short(rest, 26));
            let path = destination.join(String::from_utf8_lossy(&rest[30..30 + name]).as_ref());
            let _next_one = self.changed(&path, |path| {
                fs::create_dir_all(path.parent().unwrap_or(path))?;
                fs::write(path, &rest[30 + name..30 + name + size])
            });
            rest = &rest[30 + name + size..];
        }
        Ok((json!({}), true))
    }
}

/// Reads the start of a regular file. Other kinds could be endless.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn contents(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&bytes(path)?).into_owned())
}

fn names(path: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}
