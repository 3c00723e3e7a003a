//! How strictly lines of a patch or an edit are compared with lines of a file.

/// Comparison of lines. The strict core uses [`Pass::Exact`] only; a dialect with looser matching uses more passes, and
/// reports the one that matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pass {
    /// The lines are equal, except for line endings.
    #[default]
    Exact,
    /// The lines are equal without white space at the end.
    TrailingSpace,
    /// The lines are equal without white space at both ends.
    Trimmed,
    /// The lines are equal after trimming, with dashes, quotes and spaces of Unicode replaced by ASCII characters.
    Punctuation,
}

impl Pass {
    /// All passes, the strictest first.
    pub const ALL: [Self; 4] = [Self::Exact, Self::TrailingSpace, Self::Trimmed, Self::Punctuation];

    /// Returns its name in results that needed it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::TrailingSpace => "without white space at line ends",
            Self::Trimmed => "without white space around lines",
            Self::Punctuation => "with Unicode punctuation as ASCII",
        }
    }
}
