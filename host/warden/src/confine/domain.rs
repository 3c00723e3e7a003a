//! The second wall: a Landlock domain, which holds where the warden's own decisions would not.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use paddock_warden::protocol::Start;

use crate::area::{DEVICES, SYSTEM_STATE};

/// The newest version whose rights are handled where the kernel has them.
const NEWEST: ABI = ABI::V10;

/// Whom a domain is for.
#[derive(Clone, Copy)]
pub(crate) enum For<'a> {
    /// The directories that it may run programs from, and the roots. Everything that it opens it is given.
    Command,
    /// Also what the command is given from elsewhere, its terminal among it, and the spool.
    Warden { terminal: Option<&'a Path> },
}

/// Confines this thread and all that it starts, for good.
pub(crate) fn enter(start: &Start, who: For<'_>) -> Result<(), String> {
    let entered = ruleset(start, who).and_then(RulesetCreated::restrict_self);
    match entered {
        Ok(status) if status.ruleset != RulesetStatus::NotEnforced => Ok(()),
        Ok(_) => Err("Landlock is not enforced".to_owned()),
        Err(error) => Err(format!("Landlock: {error}")),
    }
}

fn ruleset(start: &Start, who: For<'_>) -> Result<RulesetCreated, RulesetError> {
    let mut handled = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !start.network {
        handled = handled.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = handled.create()?;
    let running = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    for root in &start.roots {
        rules = allow(rules, &root.path, if root.writable { writing() } else { running })?;
    }
    rules = allow(rules, &start.temporary, writing())?;
    for path in &start.system {
        rules = allow(rules, path, running)?;
    }
    match who {
        For::Command => Ok(rules),
        For::Warden { terminal } => of_warden(rules, start, terminal),
    }
}

fn of_warden(
    mut rules: RulesetCreated,
    start: &Start,
    terminal: Option<&Path>,
) -> Result<RulesetCreated, RulesetError> {
    for path in &start.files {
        rules = allow(rules, path, AccessFs::ReadFile)?;
    }
    for path in SYSTEM_STATE.into_iter().chain(["/proc"]) {
        rules = allow(rules, path, AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    let terminal = terminal.into_iter().map(|it| (it, true));
    for (device, writable) in DEVICES.iter().map(|(path, writable)| (Path::new(path), *writable)).chain(terminal) {
        let writing = if writable { AccessFs::WriteFile | AccessFs::Truncate } else { BitFlags::EMPTY };
        rules = allow(rules, device, AccessFs::ReadFile | AccessFs::IoctlDev | writing)?;
    }
    allow(rules, &start.spool, writing())
}

/// Everything but devices and sockets.
fn writing() -> BitFlags<AccessFs> {
    let never =
        AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock | AccessFs::IoctlDev | AccessFs::ResolveUnix;
    AccessFs::from_all(NEWEST) & !never
}

/// What is not there needs no rule.
fn allow(
    rules: RulesetCreated,
    path: impl AsRef<Path>,
    access: impl Into<BitFlags<AccessFs>>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(opened) => rules.add_rule(PathBeneath::new(opened, access)),
        Err(_) => Ok(rules),
    }
}
