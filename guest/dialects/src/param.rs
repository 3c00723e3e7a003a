//! Constructors of argument rows for the tables of all dialects.

use crate::spec::{DefaultValue, Param, ParamKind};

/// Largest offset that every host supports.
pub const MAX: u64 = paddock_vfs::MAX_OFFSET;
/// Maximum number of entries that a caller can request for a page.
pub const MAX_PAGE: u64 = 100_000;

/// Returns a required string.
pub const fn required(name: &'static str, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Text, default: DefaultValue::Required, doc }
}

/// Returns an optional string.
pub const fn optional(name: &'static str, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Text, default: DefaultValue::None, doc }
}

/// Returns a string with a default.
pub const fn text(name: &'static str, default: &'static str, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Text, default: DefaultValue::Text(default), doc }
}

/// Returns a boolean with a default.
pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Flag, default: DefaultValue::Flag(default), doc }
}

/// Returns an integer in a range.
pub const fn whole(name: &'static str, min: u64, max: u64, default: DefaultValue, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Whole { min, max }, default, doc }
}

/// Returns an integer that may be negative.
pub const fn signed(name: &'static str, default: DefaultValue, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Signed, default, doc }
}

/// Returns a choice of words with a default.
pub const fn choice(
    name: &'static str,
    words: &'static [&'static str],
    default: &'static str,
    doc: &'static str,
) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Choice(words), default: DefaultValue::Text(default), doc }
}

/// Returns a list of strings.
pub const fn texts(name: &'static str, default: DefaultValue, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Texts, default, doc }
}

/// Returns a required list of objects.
pub const fn objects(name: &'static str, params: &'static [Param], doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Objects(params), default: DefaultValue::Required, doc }
}

impl Param {
    /// Makes the argument optional.
    #[must_use]
    pub const fn may_be_absent(mut self) -> Self {
        self.default = DefaultValue::None;
        self
    }

    /// Adds alternative names for the argument.
    #[must_use]
    pub const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}
