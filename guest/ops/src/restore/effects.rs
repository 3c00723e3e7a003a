//! The effects of an undo, for the person who approves it.

use std::collections::BTreeMap;

use paddock_types::entry::Kind;
use paddock_types::error::{Result, printable};
use paddock_vfs::content::FileContent;
use paddock_workspace::change::backup::Action;
use paddock_workspace::resolve::FollowSymlinks;

use crate::plan_draft::PlanDraft;
use crate::restore::OPERATION;
use crate::restore::chosen::ChosenEntry;

/// The effect of an undo on one path.
struct Effect {
    operation: String,
    path: String,
    /// Content that the file gets; `None` if there is no file afterwards, or its content moves with it.
    content: Option<FileContent>,
}

/// Adds the effects of an undo to a plan: of each path its state, then the content that it gets.
pub fn add(draft: &mut PlanDraft<'_>, entries: &[ChosenEntry<'_, '_>]) -> Result<()> {
    let mut effects = Effects::default();
    entries.iter().try_for_each(|chosen| effects.entry(chosen))?;
    effects.effects.iter().try_for_each(|effect| draft.add(&effect.operation, &effect.path))?;
    for Effect { path, content, .. } in &effects.effects {
        let Some(content) = content else { continue };
        let resolved = draft.workspace.resolve_with(path, OPERATION, FollowSymlinks::No)?;
        let is_file = resolved.stat.is_some_and(|stat| stat.kind == Kind::File);
        let old = is_file.then(|| resolved.content(draft.workspace, OPERATION)).transpose()?;
        draft.change(path, old.as_ref(), content)?;
    }
    Ok(())
}

/// One effect for each path.
#[derive(Default)]
struct Effects {
    effects: Vec<Effect>,
    /// Indexes into `effects` by path.
    known: BTreeMap<String, u32>,
}

impl Effects {
    /// Adds the undo of an entry, which decides over the later changes of its path.
    fn entry(&mut self, ChosenEntry { saved, entry, .. }: &ChosenEntry<'_, '_>) -> Result<()> {
        let mut content = entry.content.map(|_| saved.content(entry)).transpose()?;
        let operation = match (entry.action, entry.kind) {
            (Action::Created, _) => "remove".to_owned(),
            (Action::Modified, _) | (Action::Deleted, Kind::File) => OPERATION.to_owned(),
            (Action::Deleted, Kind::Directory) => "make the directory".to_owned(),
            (Action::Deleted, Kind::Link) => {
                format!("restore the link to `{}`", printable(entry.target.as_deref().unwrap_or_default()))
            }
            (Action::Deleted, Kind::Other) => "leave".to_owned(),
            (Action::Moved, _) => {
                let from = entry.to.as_deref().unwrap_or_default();
                content = content.or(self.set("move".to_owned(), from, None));
                format!("move `{}` to", printable(from))
            }
        };
        self.set(operation, &entry.path, content);
        Ok(())
    }

    /// Sets the effect on a path, and returns the content that the path had by an earlier effect.
    fn set(&mut self, operation: String, path: &str, content: Option<FileContent>) -> Option<FileContent> {
        let index = self.known.get(path).and_then(|index| usize::try_from(*index).ok());
        if let Some(effect) = index.and_then(|index| self.effects.get_mut(index)) {
            effect.operation = operation;
            return std::mem::replace(&mut effect.content, content);
        }
        self.known.insert(path.to_owned(), u32::try_from(self.effects.len()).unwrap_or(u32::MAX));
        self.effects.push(Effect { operation, path: path.to_owned(), content });
        None
    }
}
