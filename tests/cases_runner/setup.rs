//! The initial tree of a case: `input/`, and the entries that git cannot store.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::tree::{self, Modes, Node, Tree};

/// A step of `setup`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Setup {
    Text(Text),
    Bytes(Bytes),
    Repeat(Repeat),
    Sparse(Sparse),
    Raw(RawName),
    Symlink(Symlink),
    Dir(Dir),
    Fifo(Fifo),
    HardLink(HardLink),
    Mode(Mode),
    Mtime(Mtime),
}

macro_rules! steps {
    ($($name:ident { $($field:ident: $type:ty),* })*) => {
        $(#[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($field: $type),* })*
    };
}

steps! {
    Text { path: String, text: String }
    Bytes { path: String, bytes_base64: String }
    Repeat { path: String, repeat: Times }
    Times { text: String, times: usize }
    Sparse { path: String, sparse: u64 }
    RawName { path_base64: String, text: String }
    Symlink { symlink: String, target: String }
    Dir { dir: String }
    Fifo { fifo: String }
    HardLink { hard_link: String, to: String }
    Mode { path: String, mode: String }
    Mtime { path: String, mtime: String }
}

/// The tree before the calls of a case, with attributes of its files.
#[derive(Default)]
pub struct Start {
    pub tree: Tree,
    /// Further hard links, each with the path of the first one.
    pub hard_links: Vec<(Vec<u8>, Vec<u8>)>,
    pub modes: Modes,
    pub modified: BTreeMap<Vec<u8>, SystemTime>,
}

impl Start {
    /// Reads `input/` of a case's folder and applies the steps of its setup.
    pub fn read(folder: &Path, steps: &[Setup]) -> Result<Self> {
        let input = folder.join("input");
        let tree = if input.is_dir() { tree::read(&input)? } else { Tree::new() };
        let mut start = Self { tree, ..Self::default() };
        for step in steps {
            start.take(step).with_context(|| format!("setup: {step:?}"))?;
        }
        Ok(start)
    }

    fn take(&mut self, step: &Setup) -> Result<()> {
        match step {
            Setup::Text(step) => self.put(&step.path, Node::File(step.text.clone().into_bytes())),
            Setup::Bytes(step) => self.put(&step.path, Node::File(STANDARD.decode(&step.bytes_base64)?)),
            Setup::Repeat(step) => self.put(&step.path, Node::File(step.repeat.text.repeat(step.repeat.times).into())),
            Setup::Sparse(step) => self.put(&step.path, Node::Sparse(step.sparse)),
            Setup::Raw(step) => {
                self.put_bytes(STANDARD.decode(&step.path_base64)?, Node::File(step.text.clone().into()))
            }
            Setup::Symlink(step) => self.put(&step.symlink, Node::Link(step.target.clone())),
            Setup::Dir(step) => self.put(&step.dir, Node::Directory),
            Setup::Fifo(step) => self.put(&step.fifo, Node::Fifo),
            Setup::HardLink(step) => {
                let content = self.tree.get(step.to.as_bytes()).context("no such file")?.clone();
                self.put(&step.hard_link, content)?;
                self.hard_links.push((step.hard_link.clone().into(), step.to.clone().into()));
                Ok(())
            }
            Setup::Mode(step) => {
                ensure!(self.tree.contains_key(step.path.as_bytes()), "no such file");
                self.modes.insert(step.path.clone().into(), u32::from_str_radix(&step.mode, 8)?);
                Ok(())
            }
            Setup::Mtime(step) => {
                ensure!(self.tree.contains_key(step.path.as_bytes()), "no such file or directory");
                self.modified.insert(step.path.clone().into(), humantime::parse_rfc3339(&step.mtime)?);
                Ok(())
            }
        }
    }

    fn put(&mut self, path: &str, node: Node) -> Result<()> {
        self.put_bytes(path.into(), node)
    }

    fn put_bytes(&mut self, path: Vec<u8>, node: Node) -> Result<()> {
        for (index, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let above = path.get(..index).unwrap_or_default();
            self.tree.entry(above.to_vec()).or_insert(Node::Directory);
        }
        ensure!(self.tree.insert(path, node).is_none(), "something is there already");
        Ok(())
    }
}
