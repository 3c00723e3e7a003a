//! The layers of a policy, and the policy that results from them. Each layer overrides those below it, except the
//! workspace's own file: an agent can have written it, so it may only narrow the policy.
//!
//! `figment` merges values of layers, but has neither a layer that may only narrow, nor the line of each entry of a
//! list.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use paddock_policy::{Approval, NARROWED, Policy, Reason, Refusal, of_dialect};
use serde_json::{Map, Value};

use super::document::Format;
use super::layer::{Layer, Trust, argument, put};
use super::source::{Source, printable};
use super::{files, names};
#[cfg(all(target_os = "linux", feature = "containers"))]
use crate::container::Container;
use crate::error::Error;
use crate::options::DIALECT;

/// The layers of a policy, from the lowest: the user's file, the workspace's own file, the environment,
/// arguments.
///
/// Below all of them are the built-in values and those that the specification of a call's dialect sets.
///
/// ```no_run
/// use paddock::{Layers, Workspace};
///
/// # let directory = tempfile::tempdir()?;
/// # let root = directory.path();
/// let layers = Layers::load(root)?.set("limits.max_lines=500")?;
/// let workspace = Workspace::builder().root(root).policy_layers(&layers)?.build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Layers {
    layers: Vec<Layer>,
}

/// A setting that is in force.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Setting {
    /// Full name, such as `limits.max_lines`.
    pub name: String,
    /// The value, as a policy's file contains it.
    pub value: Value,
    /// Sources of the value, such as `/path/policy.yaml:12`. A list can have several.
    pub origins: Vec<String>,
}

impl Layers {
    /// Loads the layers of the user and of a workspace at `root`. The user's file is `policy.yaml` (`.yml`,
    /// `.toml`, `.json`) in `$XDG_CONFIG_HOME/paddock` or `~/.config/paddock`, on Windows in `%APPDATA%\paddock`. The workspace's own file is
    /// `.paddock.yaml` (or another of these formats) in `root`; it may only narrow the policy. The environment
    /// variable `PADDOCK_POLICY` contains JSON or YAML. Without the feature `policy-files`, a policy in another
    /// format than JSON is an error.
    ///
    /// # Errors
    ///
    /// [`Error::PolicySource`] if a file or the variable cannot be read, or has an error.
    pub fn load(root: impl AsRef<Path>) -> Result<Self, Error> {
        Self::with_project(files::project(root.as_ref())?)
    }

    /// Loads the layers for a workspace in memory, which has no file of its own when it is opened.
    ///
    /// # Errors
    ///
    /// As [`Self::load`].
    pub fn load_own() -> Result<Self, Error> {
        Self::with_project(None)
    }

    /// Loads the layers for a container. Its working directory contains the workspace's own file.
    ///
    /// # Errors
    ///
    /// As [`Self::load`].
    #[cfg(all(target_os = "linux", feature = "containers"))]
    pub fn load_in(container: &Container) -> Result<Self, Error> {
        let named = |path: PathBuf| {
            let inside = container.working_directory().join(path.file_name().unwrap_or_default());
            PathBuf::from(format!("{}:{}", container.name(), inside.display()))
        };
        Self::with_project(files::project(&container.way_in())?.map(|(path, text)| (named(path), text)))
    }

    fn with_project(project: Option<(PathBuf, String)>) -> Result<Self, Error> {
        let mut layers = Self::default();
        if let Some((path, text)) = files::user()? {
            layers = layers.text_of(&path, &text)?;
        }
        if let Some((path, text)) = project {
            let format = Format::of(&path);
            layers = layers.push(Layer::read(Source::File(path), &text, format, Trust::Project)?)?;
        }
        let variable = std::env::var_os("PADDOCK_POLICY").unwrap_or_default();
        let Ok(text) = variable.into_string() else {
            return Err(Error::PolicySource {
                origin: Source::Environment.to_string(),
                cause: "it is not UTF-8".into(),
            });
        };
        layers.push(Layer::read(Source::Environment, &text, Format::guess(&text), here())?)
    }

    /// Adds a file that the user names as the highest layer. Its name decides whether it is JSON, TOML or YAML.
    ///
    /// # Errors
    ///
    /// [`Error::PolicySource`] if the file cannot be read, or has an error.
    pub fn file(self, path: impl AsRef<Path>) -> Result<Self, Error> {
        let requested_path = path.as_ref();
        let path = std::path::absolute(requested_path).map_err(|cause| Source::unreadable(requested_path, cause))?;
        let text = files::own(&path)?;
        self.text_of(&path, &text)
    }

    /// Adds one setting as the highest layer: `limits.max_lines=500`. The value is YAML, or JSON without the
    /// feature `policy-files`.
    ///
    /// # Errors
    ///
    /// [`Error::PolicySource`] if the text is not `NAME=VALUE`, or the value is wrong.
    pub fn set(self, assignment: &str) -> Result<Self, Error> {
        let source = Source::Argument("--set");
        match assignment.split_once('=') {
            Some((name, value)) => self.argument(source, name.trim(), value),
            None => {
                let cause = format!("`{}` is not `NAME=VALUE`", printable(assignment));
                Err(Error::PolicySource { origin: source.to_string(), cause })
            }
        }
    }

    /// Adds the setting `read_only` as the highest layer.
    ///
    /// # Errors
    ///
    /// [`Error::PolicySource`] if the layers contradict each other.
    pub fn read_only(self) -> Result<Self, Error> {
        self.argument(Source::Argument("--read-only"), "read_only", "true")
    }

    /// Returns every setting that is in force for calls in `dialect`, with its sources.
    ///
    /// # Errors
    ///
    /// [`Error::PolicySource`] if the layers contradict each other.
    pub fn effective(&self, dialect: &str) -> Result<Vec<Setting>, Error> {
        self.check()?;
        self.traced(dialect)
    }

    fn traced(&self, dialect: &str) -> Result<Vec<Setting>, Error> {
        let mut origins: HashMap<String, Vec<String>> = HashMap::new();
        let own = of_dialect(dialect).unwrap_or_default();
        for name in own.as_object().into_iter().flat_map(Map::keys) {
            origins.insert(name.clone(), vec![Source::Dialect(dialect.to_owned()).to_string()]);
        }
        let built_in = || vec![Source::BuiltIn.to_string()];
        let mut below = Self::default();
        for layer in &self.layers {
            let before: HashMap<_, _> = names::flat(&below.policy(dialect)?).into_iter().collect();
            below.layers.push(layer.clone());
            let after: HashMap<_, _> = names::flat(&below.policy(dialect)?).into_iter().collect();
            for (name, _) in layer.flat() {
                let (before, after) = (before.get(&name), after.get(&name));
                let adds = before.and_then(Value::as_array).is_some_and(|list| !list.is_empty());
                let origin = layer.source.at(layer.line(&name));
                let known = origins.entry(name.clone()).or_insert_with(built_in);
                match layer.narrows {
                    true if before == after => {}
                    true if adds => known.push(origin),
                    true | false => *known = vec![origin],
                }
            }
        }
        let setting = |(name, value)| {
            let origins = origins.remove(&name).unwrap_or_else(built_in);
            Setting { name, value, origins }
        };
        Ok(names::flat(&self.policy(dialect)?).into_iter().map(setting).collect())
    }

    /// Returns the merged settings for the component. Fails if layers contradict each other.
    pub(crate) fn settings(&self) -> Result<Map<String, Value>, Error> {
        self.check()?;
        Ok(self.merged())
    }

    fn check(&self) -> Result<(), Error> {
        let Err(wrong) = self.policy(DIALECT)?.check() else { return Ok(()) };
        let mut known = self.traced(DIALECT)?.into_iter().filter(|setting| setting.name == wrong.setting);
        let origin = known.next().and_then(|mut setting| setting.origins.pop()).unwrap_or_default();
        Err(Error::PolicySource { origin, cause: printable(&format!("`{}`: {}", wrong.setting, wrong.cause)) })
    }

    /// Returns the user's own policy files, which no tool may see or change.
    pub(crate) fn own_files(&self) -> impl Iterator<Item = PathBuf> {
        self.layers.iter().filter_map(|layer| match &layer.source {
            Source::File(path) if !layer.narrows => Some(path.clone()),
            _ => None,
        })
    }

    /// Adds a file of the user as the highest layer.
    fn text_of(self, path: &Path, text: &str) -> Result<Self, Error> {
        let directory = path.parent().unwrap_or(path);
        let source = Source::File(path.to_owned());
        self.push(Layer::read(source, text, Format::of(path), Trust::Own(directory))?)
    }

    fn argument(self, source: Source, name: &str, value: &str) -> Result<Self, Error> {
        let members = argument(name, value).map_err(|fault| source.fail(fault))?;
        self.push(Layer::new(source, members, here())?)
    }

    /// Adds a layer of a configuration file or of a token as the highest one. A layer that narrows also keeps to what the
    /// layers that narrow below it permit.
    #[cfg(all(target_os = "linux", feature = "serve"))]
    pub(super) fn with_layer(self, mut layer: Layer) -> Result<Self, Error> {
        if layer.narrows {
            let below = self.policy(DIALECT)?;
            let mut all = match serde_json::to_value(&below)? {
                Value::Object(settings) => settings,
                _ => Map::new(),
            };
            all.insert(NARROWED.to_owned(), Value::Object(layer.settings.clone()));
            let (policy, refused) = Policy::narrowed(all, DIALECT)?;
            if let Some(refusal) = refused.first() {
                return Err(refuse(&layer, refusal, &below));
            }
            let both: HashMap<_, _> = names::flat(&policy).into_iter().collect();
            let named: Vec<String> = layer.flat().into_iter().map(|(name, _)| name).collect();
            named
                .iter()
                .filter_map(|name| both.get(name).map(|value| (name, value.clone())))
                .for_each(|(name, value)| put(&mut layer.settings, name, value));
        }
        self.push(layer)
    }

    /// Adds a layer as the highest one. Fails if it may only narrow the policy but would widen it.
    fn push(mut self, mut layer: Layer) -> Result<Self, Error> {
        let policy = self.policy(DIALECT)?;
        if layer.approval_at_least && policy.approval >= Approval::OnDelete {
            layer.settings.remove("approval");
        }
        self.layers.push(layer);
        let (_, refused) = Policy::narrowed(self.merged(), DIALECT)?;
        match (refused.first(), self.layers.last()) {
            (Some(refusal), Some(layer)) if layer.narrows => Err(refuse(layer, refusal, &policy)),
            _ => Ok(self),
        }
    }

    fn policy(&self, dialect: &str) -> Result<Policy, Error> {
        Ok(Policy::new(self.merged(), dialect)?)
    }

    /// Returns the user's settings, with the narrowing settings that no higher layer overrides.
    fn merged(&self) -> Map<String, Value> {
        let (mut own, mut narrowed) = (Map::new(), Map::new());
        for layer in &self.layers {
            for (name, value) in layer.flat() {
                if layer.narrows {
                    put(&mut narrowed, &name, value.clone());
                } else {
                    put(&mut own, &name, value.clone());
                    take(&mut narrowed, &name);
                }
            }
        }
        if !narrowed.is_empty() {
            own.insert(NARROWED.to_owned(), Value::Object(narrowed));
        }
        own
    }
}

/// Returns the error of a layer that would widen the policy in force.
fn refuse(layer: &Layer, refusal: &Refusal, policy: &Policy) -> Error {
    let Refusal { setting, reason } = refusal;
    let rendered = |value: Option<&Value>| value.map(|value| value.to_string().replace('"', "")).unwrap_or_default();
    let in_force = names::flat(policy).into_iter().find(|(name, _)| name == setting);
    let in_force = rendered(in_force.as_ref().map(|(_, value)| value));
    let wanted = rendered(layer.flat().into_iter().find(|(name, _)| name == setting).map(|(_, value)| value));
    let cause = match reason {
        Reason::Wider => format!("`{wanted}` would allow more than `{in_force}`, which is in force"),
        Reason::NothingLeft => format!("nothing of `{wanted}` is in `{in_force}`, which is in force"),
        Reason::NotHere => "it can only be set outside the workspace".to_owned(),
    };
    layer.source.wrong(layer.line(setting), setting, cause)
}

/// Returns the trust in an argument: its relative paths start at the current directory.
fn here() -> Trust<'static> {
    Trust::Own(Path::new("."))
}

/// Removes a setting by its full name.
fn take(settings: &mut Map<String, Value>, name: &str) {
    let Some((table, inner)) = name.split_once('.') else {
        settings.remove(name);
        return;
    };
    if let Some(Value::Object(members)) = settings.get_mut(table) {
        members.remove(inner);
    }
}
