//! A configuration file that contains policies. It is parsed and checked like a policy: the same formats, no unknown
//! name, and the line of each error.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::document::Format;
use super::files;
use super::layer::{Layer, Trust, line, note_lines};
use super::layers::Layers;
use super::node::{Content, Node};
use super::source::Source;
use crate::error::Error;

/// Maximum size of a configuration file in bytes, which has room for 100,000 workspaces.
const MAX_BYTES: usize = 16 << 20;

/// A parsed configuration file.
pub(crate) struct Configuration {
    source: Source,
    directory: PathBuf,
    root: Node,
    lines: HashMap<String, usize>,
}

/// Settings of a policy in a configuration file, or in a token.
#[derive(Clone, Debug)]
pub(crate) struct PolicyLayer(Layer);

impl Configuration {
    /// Reads a file. Its name decides whether it is JSON, TOML or YAML.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let path = std::path::absolute(path).map_err(|cause| Source::unreadable(path, cause))?;
        let text = files::own_up_to(&path, MAX_BYTES)?;
        let directory = path.parent().unwrap_or(&path).to_owned();
        let format = Format::of(&path);
        let source = Source::File(path);
        let members = format.parse_up_to(&text, MAX_BYTES).map_err(|fault| source.fail(fault))?;
        let root = Node { line: 1, content: Content::Table(members) };
        let mut lines = HashMap::new();
        note_lines(&mut lines, "", &root);
        Ok(Self { source, directory, root, lines })
    }

    /// Returns the directory of the file, at which relative paths start.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        match &self.source {
            Source::File(path) => path,
            _ => &self.directory,
        }
    }

    /// Returns the values of the file. Fails with the line of a value that has another type. The error repeats no value of
    /// the member `secret`, in which a user may have written a secret by mistake.
    pub(crate) fn values<T: DeserializeOwned>(&self, secret: &str) -> Result<T, Error> {
        serde_path_to_error::deserialize(self.root.value()).map_err(|error| {
            let parts = error.path().iter().filter_map(|segment| match segment {
                Segment::Seq { index } => Some(index.to_string()),
                Segment::Map { key } => Some(key.clone()),
                Segment::Enum { .. } | Segment::Unknown => None,
            });
            let names: Vec<_> = parts.collect();
            let name = names.join(".");
            match names.first().is_some_and(|name| name == secret) {
                true => self.wrong(&name, "the member is missing or unknown, or has the wrong type"),
                false => self.wrong(&name, error.inner()),
            }
        })
    }

    /// Returns the error of the value with this full name, such as `workspaces.notes.root`.
    pub(crate) fn wrong(&self, name: &str, cause: impl std::fmt::Display) -> Error {
        self.source.wrong(line(&self.lines, &format!(".{name}")), name, cause)
    }

    /// Returns the policy in the table at `path`. Its relative paths start at the directory of the file.
    pub(crate) fn policy(&self, path: &[&str]) -> Result<PolicyLayer, Error> {
        let table = path.iter().try_fold(&self.root, |node, name| node.get(name));
        let members = match table.map(|node| &node.content) {
            Some(Content::Table(members)) => members.clone(),
            None | Some(Content::Scalar(Value::Null)) => Vec::new(),
            Some(_) => return Err(self.wrong(&path.join("."), "it is a table of settings of a policy")),
        };
        Layer::new(self.source.clone(), members, Trust::Own(&self.directory)).map(PolicyLayer)
    }
}

impl PolicyLayer {
    /// Returns settings of a token, which may only narrow the policy. `token` describes the token in errors.
    pub(crate) fn of_token(token: &str, settings: Map<String, Value>) -> Result<Self, Error> {
        let source = Source::Token(token.to_owned());
        Layer::read(source, &Value::Object(settings).to_string(), Format::Json, Trust::Project).map(Self)
    }

    /// Returns the settings by name.
    pub(crate) fn settings(&self) -> &Map<String, Value> {
        &self.0.settings
    }
}

impl Layers {
    /// Adds the settings as the highest layer.
    pub(crate) fn with(self, policy: &PolicyLayer) -> Result<Self, Error> {
        self.with_layer(policy.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Values {
        #[serde(rename = "workspaces")]
        _workspaces: HashMap<String, Workspace>,
        #[serde(default, rename = "tokens")]
        _tokens: Vec<Workspace>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Workspace {
        #[serde(rename = "root")]
        _root: String,
        #[serde(rename = "policy")]
        _policy: Option<serde::de::IgnoredAny>,
    }

    fn configuration(text: &str) -> Configuration {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("serve.yaml");
        std::fs::write(&path, text).unwrap();
        Configuration::read(&path).unwrap()
    }

    fn token(settings: Value) -> Result<PolicyLayer, Error> {
        PolicyLayer::of_token("the token of alice", settings.as_object().unwrap().clone())
    }

    #[test]
    fn an_error_has_its_line() {
        let wrong = |text: &str| configuration(text).values::<Values>("tokens").unwrap_err().to_string();
        let error = wrong("workspaces:\n  a:\n    root: /srv\n    rot: /srv\n");
        assert!(error.contains("serve.yaml:4") && error.contains("rot"), "{error}");
        let error = wrong("workspaces:\n  a:\n    root: [1]\n");
        assert!(error.contains("serve.yaml:3") && error.contains("`workspaces.a.root`"), "{error}");
        let error = wrong("workspaces: {}\ntokens:\n- pdk_secret\n");
        assert!(error.contains("serve.yaml:3") && !error.contains("pdk_secret"), "{error}");
        let text = "workspaces:\n  a:\n    root: /srv\n    policy:\n      read_onyl: true\n";
        let error = configuration(text).policy(&["workspaces", "a", "policy"]).unwrap_err().to_string();
        assert!(error.contains("serve.yaml:5") && error.contains("did you mean `read_only`"), "{error}");
    }

    #[test]
    fn a_token_narrows_what_others_narrow() {
        let project = token(json!({"limits": {"max_lines": 50}, "blocked_directories": ["a"]})).unwrap();
        let layers = Layers::default().with(&project).unwrap();
        let both = token(json!({"limits": {"max_files": 5}, "blocked_directories": ["b"], "read_only": true})).unwrap();
        let settings = layers.clone().with(&both).unwrap().settings().unwrap();
        let narrowed = &settings["narrowed"];
        assert_eq!(narrowed["limits"], json!({"max_lines": 50, "max_files": 5}));
        assert_eq!((&narrowed["blocked_directories"], &narrowed["read_only"]), (&json!(["a", "b"]), &json!(true)));
        let wider = layers.with(&token(json!({"limits": {"max_lines": 51}})).unwrap()).unwrap_err().to_string();
        assert!(wider.contains("the token of alice") && wider.contains("would allow more"), "{wider}");
        for settings in [json!({"allowed_directories": ["/"]}), json!({"mode": "unrestricted"})] {
            let layers = Layers::default();
            assert!(token(settings.clone()).and_then(|token| layers.with(&token)).is_err(), "{settings}");
        }
    }
}
