//! Landlock domain: a second layer of confinement, which applies even if a decision of the supervisor is wrong.
//!
//! Rules are built from the descriptors that the host sent, because another directory may have taken the path of one of
//! them. Only the kernel's own file systems are named by path.

use std::os::fd::AsFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use paddock_supervisor::protocol::Start;
use rustix::fs::FileType;

use crate::path_class::{DEVICES, SYSTEM_STATE};
use crate::sent_descriptors::SentDescriptors;

/// Newest Landlock ABI version whose rights are handled if the kernel supports them.
const NEWEST: ABI = ABI::V10;

/// Process that a domain is for.
#[derive(Clone, Copy)]
pub(crate) enum For<'a> {
    /// The command: the roots, the temporary directory and the directories that it may run programs from. The
    /// supervisor opens every file that the command opens.
    Command,
    /// The supervisor: also the other files that it opens for the command, among them its terminal, and the staging
    /// directory.
    Supervisor { terminal: Option<&'a Path> },
}

/// A domain that a thread can enter.
pub(crate) struct Rules(RulesetCreated);

/// Confines this thread and all that it starts, irrevocably.
pub(crate) fn enter(start: &Start, requested: &SentDescriptors, who: For<'_>) -> Result<(), String> {
    rules(start, requested, who)?.enter()
}

/// Returns the domain of the command or of its supervisor.
pub(crate) fn rules(start: &Start, requested: &SentDescriptors, who: For<'_>) -> Result<Rules, String> {
    ruleset(start, requested, who).map(Rules)
}

impl Rules {
    /// Confines this thread and all that it starts, irrevocably.
    pub(crate) fn enter(self) -> Result<(), String> {
        match self.0.restrict_self() {
            Ok(status) if status.ruleset != RulesetStatus::NotEnforced => Ok(()),
            Ok(_) => Err("Landlock is not enforced".to_owned()),
            Err(error) => Err(failed(error)),
        }
    }
}

fn ruleset(start: &Start, requested: &SentDescriptors, who: For<'_>) -> Result<RulesetCreated, String> {
    let mut rules = handled(start).map_err(failed)?;
    // If only named programs may run, only their rules grant the right to execute.
    let running = match start.programs {
        Some(_) => AccessFs::ReadFile | AccessFs::ReadDir,
        None => AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute,
    };
    let not_run = match start.programs {
        Some(_) => BitFlags::from(AccessFs::Execute),
        None => BitFlags::EMPTY,
    };
    for root in &start.roots {
        let access = if root.writable { writing() & !not_run } else { running };
        rules = held(rules, requested, root.directory, access)?;
    }
    rules = held(rules, requested, start.temporary, writing() & !not_run)?;
    for number in &start.system {
        rules = held(rules, requested, *number, running)?;
    }
    for number in start.programs.iter().flatten() {
        rules = held(rules, requested, *number, AccessFs::Execute.into())?;
    }
    match who {
        For::Command => Ok(rules),
        For::Supervisor { terminal } => of_supervisor(rules, start, requested, terminal),
    }
}

fn handled(start: &Start) -> Result<RulesetCreated, RulesetError> {
    let mut handled = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !start.network {
        handled = handled.handle_access(AccessNet::from_all(NEWEST))?;
    }
    handled.create()
}

fn of_supervisor(
    mut rules: RulesetCreated,
    start: &Start,
    requested: &SentDescriptors,
    terminal: Option<&Path>,
) -> Result<RulesetCreated, String> {
    for number in &start.files {
        rules = held(rules, requested, *number, AccessFs::ReadFile.into())?;
    }
    for path in SYSTEM_STATE.into_iter().chain(["/proc"]) {
        rules = named(rules, path, AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    let terminal = terminal.into_iter().map(|it| (it, true));
    for (device, writable) in DEVICES.iter().map(|(path, writable)| (Path::new(path), *writable)).chain(terminal) {
        let writing = if writable { AccessFs::WriteFile | AccessFs::Truncate } else { BitFlags::EMPTY };
        rules = named(rules, device, AccessFs::ReadFile | AccessFs::IoctlDev | writing)?;
    }
    held(rules, requested, start.staging, writing())
}

/// Returns all access rights except those for devices and sockets.
fn writing() -> BitFlags<AccessFs> {
    let never =
        AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock | AccessFs::IoctlDev | AccessFs::ResolveUnix;
    AccessFs::from_all(NEWEST) & !never
}

/// Allows `access` to a file or directory that the host sent, and to everything below it.
fn held(
    rules: RulesetCreated,
    requested: &SentDescriptors,
    number: usize,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, String> {
    let opened = requested.get(number).map_err(|error| format!("a descriptor of the host: {error}"))?;
    let stat = rustix::fs::fstat(opened).map_err(|error| format!("a descriptor of the host: {error}"))?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    // The kernel rejects a rule that grants directory rights for a file.
    let access = if is_directory { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(opened.as_fd(), access)).map_err(failed)
}

/// Allows `access` to a path of the kernel's file systems and to everything below it. A missing path needs no rule.
fn named(
    rules: RulesetCreated,
    path: impl AsRef<Path>,
    access: impl Into<BitFlags<AccessFs>>,
) -> Result<RulesetCreated, String> {
    match PathFd::new(path) {
        Ok(opened) => rules.add_rule(PathBeneath::new(opened, access)).map_err(failed),
        Err(_) => Ok(rules),
    }
}

fn failed(error: RulesetError) -> String {
    format!("Landlock: {error}")
}
