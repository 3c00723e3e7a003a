//! Creates the workspace of a family of attacks, step by step.

use std::fs;
use std::io;

use rustix::fs::{FileType, makedev};
use serde::Deserialize;

use super::files::{above, file, link, special};
use super::fixture::Fixture;
use super::zip::{self, Member};

/// One step of `tree`.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Step {
    /// A file.
    File { path: String, text: String },
    /// A symbolic link.
    Link { symlink: String, target: String },
    /// A chain of numbered links, of which the last leads to the target.
    Chain { chain: String, links: u32, target: String },
    /// A directory.
    Directory { dir: String },
    /// A FIFO.
    Fifo { fifo: String },
    /// A socket.
    Socket { socket: String },
    /// A character device.
    Device { device: String, major: u32, minor: u32 },
    /// A hard link to a file. `to` is relative to the directory that contains the workspace.
    HardLink { hard_link: String, to: String },
    /// An archive with uncompressed entries.
    Archive { zip: String, members: Vec<Member> },
}

impl Step {
    /// Returns whether the step creates a text that no answer may contain.
    pub(super) fn has_canary(&self) -> bool {
        matches!(self, Self::File { text, .. } if text.contains("{canary}"))
    }

    /// Performs the step.
    pub(super) fn plant(&self, fixture: &Fixture) -> io::Result<()> {
        let at = |path: &str| fixture.root().join(fixture.fill(path));
        match self {
            Self::File { path, text } => file(&at(path), fixture.fill(text).as_bytes()),
            Self::Link { symlink, target } => link(&at(symlink), &fixture.fill(target)),
            Self::Chain { chain, links, target } => (0..*links).try_for_each(|number| {
                let next = if number + 1 == *links { target.clone() } else { format!("{chain}{}", number + 1) };
                link(&at(&format!("{chain}{number}")), &next)
            }),
            Self::Directory { dir } => fs::create_dir_all(at(dir)),
            Self::Fifo { fifo } => special(&at(fifo), FileType::Fifo, 0),
            Self::Socket { socket } => special(&at(socket), FileType::Socket, 0),
            Self::Device { device, major, minor } => {
                special(&at(device), FileType::CharacterDevice, makedev(*major, *minor))
            }
            Self::HardLink { hard_link, to } => {
                let first = fixture.root().parent().unwrap_or(fixture.root()).join(to);
                above(&at(hard_link))?;
                fs::hard_link(first, at(hard_link))
            }
            Self::Archive { zip, members } => file(&at(zip), &zip::archive(members, |text| fixture.fill(text))),
        }
    }
}
