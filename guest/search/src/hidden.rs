//! Which hidden entries a walk shows.

use globset::{Candidate, GlobSet};

/// Which names that start with a dot are shown.
#[derive(Clone, Default)]
pub enum Hidden {
    /// None.
    #[default]
    Skip,
    /// All.
    Show,
    /// Those that match.
    Only(GlobSet),
}

impl Hidden {
    /// All or none.
    pub fn from_flag(include: bool) -> Self {
        if include { Self::Show } else { Self::Skip }
    }

    /// Returns whether the walk shows an entry of this name.
    pub fn shows(&self, name: &str) -> bool {
        match self {
            _ if !name.starts_with('.') => true,
            Self::Skip => false,
            Self::Show => true,
            Self::Only(names) => names.is_match_candidate(&Candidate::from_bytes(name)),
        }
    }
}
