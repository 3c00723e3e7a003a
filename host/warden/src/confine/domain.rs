//! The second wall: a Landlock domain, which holds where the warden's own decisions would not.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use paddock_warden::protocol::Start;

use crate::area::{DEVICES, PROC_FILES, SYSTEM_STATE};

/// The newest version whose rights are handled where the kernel has them.
const NEWEST: ABI = ABI::V10;

/// Whom a domain is for.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum For {
    Command,
    /// What the command gets, and what is kept of changes, and what the kernel tells about processes.
    Warden,
}

/// Confines this thread and all that it starts, for good.
pub(crate) fn enter(start: &Start, terminal: Option<&Path>, who: For) -> Result<(), String> {
    let entered = ruleset(start, terminal, who).and_then(RulesetCreated::restrict_self);
    match entered {
        Ok(status) if status.ruleset != RulesetStatus::NotEnforced => Ok(()),
        Ok(_) => Err("Landlock is not enforced".to_owned()),
        Err(error) => Err(format!("Landlock: {error}")),
    }
}

fn ruleset(start: &Start, terminal: Option<&Path>, who: For) -> Result<RulesetCreated, RulesetError> {
    let mut handled = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !start.network {
        handled = handled.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = handled.create()?;
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let running = reading | AccessFs::Execute;
    for root in &start.roots {
        rules = allow(rules, &root.path, if root.writable { writing() } else { running })?;
    }
    rules = allow(rules, &start.temporary, writing())?;
    for path in &start.system {
        rules = allow(rules, path, running)?;
    }
    for path in start.files.iter().map(String::as_str).chain(PROC_FILES.iter().copied()) {
        rules = allow(rules, path, AccessFs::ReadFile)?;
    }
    for path in SYSTEM_STATE {
        rules = allow(rules, path, reading)?;
    }
    let terminal = terminal.into_iter().map(|it| (it, true));
    for (device, writable) in DEVICES.iter().map(|(path, writable)| (Path::new(path), *writable)).chain(terminal) {
        let writing = if writable { AccessFs::WriteFile | AccessFs::Truncate } else { BitFlags::EMPTY };
        rules = allow(rules, device, AccessFs::ReadFile | AccessFs::IoctlDev | writing)?;
    }
    if who == For::Warden {
        rules = allow(rules, "/proc", reading)?;
        rules = allow(rules, &start.spool, writing())?;
    }
    Ok(rules)
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
