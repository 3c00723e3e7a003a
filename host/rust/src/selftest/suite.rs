//! The attacks, read from `tests/escapes/`.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::plant::Step;

macro_rules! attacks {
    ($name:literal) => {
        include_str!(concat!(env!("PADDOCK_ESCAPES"), "/", $name))
    };
}

const PROBES: &str = attacks!("probes.json");
const SWEEP: &str = attacks!("sweep.json");
const FAMILIES: [&str; 15] = [
    attacks!("outside.json"),
    attacks!("spelling.json"),
    attacks!("links.json"),
    attacks!("steps.json"),
    attacks!("kernel.json"),
    attacks!("special.json"),
    attacks!("devices.json"),
    attacks!("hard_links.json"),
    attacks!("patterns.json"),
    attacks!("patches.json"),
    attacks!("archives.json"),
    attacks!("rules.json"),
    attacks!("fifo_rules.json"),
    attacks!("secrets.json"),
    attacks!("protected.json"),
];

/// The whole suite.
pub(super) struct Suite {
    pub(super) probes: Probes,
    pub(super) families: Vec<Family>,
    pub(super) sweep: Sweep,
}

/// Calls to try a hostile path with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Probes {
    /// Names of probes, separated by spaces, by the name of the set.
    sets: BTreeMap<String, String>,
    probes: BTreeMap<String, Probe>,
}

/// A call, with `{path}` in place of the path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Probe {
    pub(super) tool: String,
    pub(super) arguments: Value,
    #[serde(default = "paddock")]
    pub(super) dialect: String,
    /// JSON pointer to the error code of one path, for results that report errors by path.
    pub(super) code_at: Option<String>,
}

/// Attacks of one kind, in one tree.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Family {
    pub(super) family: String,
    pub(super) needs: Option<Needs>,
    pub(super) tree: Vec<Step>,
    #[serde(default)]
    pub(super) attempts: Vec<Attempt>,
    #[serde(default)]
    pub(super) sequences: Vec<Sequence>,
}

/// Requirements that not every host meets.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Needs {
    /// A disk.
    Disk,
    /// A disk, and the right to make devices on it.
    Devices,
    /// A disk, and a runtime that reports absolute targets of symbolic links.
    AbsoluteLinks,
    /// A disk, and a runtime that reports no absolute target.
    NoAbsoluteLinks,
}

/// Paths that are each tried with a set of probes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attempt {
    pub(super) why: String,
    pub(super) needs: Option<Needs>,
    probes: String,
    pub(super) paths: Vec<Text>,
    code: String,
    /// Other error codes, each with the names of its probes, separated by spaces.
    #[serde(default)]
    except: BTreeMap<String, String>,
}

/// A literal text, or a repeated one.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Text {
    Plain(String),
    Repeated {
        repeat: String,
        times: usize,
        #[serde(default)]
        then: String,
    },
}

/// Calls that follow each other in one tree.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sequence {
    pub(super) why: String,
    pub(super) calls: Vec<SequencedCall>,
}

/// One call of a sequence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SequencedCall {
    pub(super) tool: String,
    pub(super) arguments: Value,
    #[serde(default = "paddock")]
    pub(super) dialect: String,
    pub(super) code: String,
}

/// Hostile texts for every argument.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
    pub(super) tree: Vec<Step>,
    pub(super) hostile: Vec<Text>,
    /// Patches, with `{path}` in place of the path.
    pub(super) patches: Vec<String>,
}

fn paddock() -> String {
    "paddock".to_owned()
}

impl Suite {
    pub(super) fn read() -> io::Result<Self> {
        let families = FAMILIES.iter().map(|json| parse(json)).collect::<io::Result<_>>()?;
        Ok(Self { probes: parse(PROBES)?, families, sweep: parse(SWEEP)? })
    }
}

fn parse<T: DeserializeOwned>(json: &str) -> io::Result<T> {
    Ok(serde_json::from_str(json)?)
}

impl Attempt {
    /// Returns the probes of the attempt, each with its expected error code, or `ok` for success.
    pub(super) fn probes<'p>(&'p self, all: &'p Probes) -> io::Result<Vec<(&'p Probe, &'p str)>> {
        let wrong = |what: &str| io::Error::other(format!("`{}`: no probe or set `{what}`", self.why));
        let names = all.sets.get(&self.probes).ok_or_else(|| wrong(&self.probes))?;
        let code = |name: &str| {
            let other = self.except.iter().find(|(_, names)| names.split_whitespace().any(|it| it == name));
            other.map_or(self.code.as_str(), |(code, _)| code)
        };
        let probe = |name: &'p str| Ok((all.probes.get(name).ok_or_else(|| wrong(name))?, code(name)));
        names.split_whitespace().map(probe).collect()
    }
}

impl Text {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Repeated { repeat, times, then } => format!("{}{then}", repeat.repeat(*times)),
        }
    }
}
