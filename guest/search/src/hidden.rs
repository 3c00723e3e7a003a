//! Selection of the hidden entries that a walk returns.

use crate::globs::Globs;

/// Selection of names that start with a dot.
#[derive(Clone, Default)]
pub enum Hidden {
    /// No hidden name.
    #[default]
    Skip,
    /// Every hidden name.
    Show,
    /// Hidden names that match.
    Only(Globs),
}

impl Hidden {
    /// Selects all hidden names or none.
    pub fn from_flag(include: bool) -> Self {
        if include { Self::Show } else { Self::Skip }
    }

    /// Returns whether the walk returns an entry with this name.
    pub fn shows(&self, name: &str) -> bool {
        match self {
            _ if !name.starts_with('.') => true,
            Self::Skip => false,
            Self::Show => true,
            Self::Only(names) => names.is_match(name),
        }
    }
}
