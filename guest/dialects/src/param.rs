//! Rows of arguments, and constructors of these rows for the tables of all dialects.

/// Largest offset that every host supports.
pub const MAX: u64 = paddock_vfs::MAX_OFFSET;
/// Maximum number of entries that a caller can request for a page.
pub const MAX_PAGE: u64 = 100_000;

/// An argument of a tool.
pub struct Param {
    /// Name of the argument.
    pub name: &'static str,
    /// Alternative names that are accepted but not listed.
    pub aliases: &'static [&'static str],
    /// Type and range of the value.
    pub kind: ParamKind,
    /// Value if the argument is absent.
    pub default: DefaultValue,
    /// Description with the unit of the value; empty if the description of the tool explains it.
    pub doc: &'static str,
}

/// Type and range of an argument.
pub enum ParamKind {
    /// A string.
    Text,
    /// An integer in a range.
    Whole {
        /// Minimum.
        min: u64,
        /// Maximum.
        max: u64,
    },
    /// An integer that may be negative.
    Signed,
    /// A non-negative number.
    Number,
    /// A boolean.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// A map from names chosen by the caller to strings.
    Named,
    /// A pair of integers.
    Pair,
    /// An object with these members.
    Object(&'static [Param]),
    /// A list of objects with these members.
    Objects(&'static [Param]),
}

/// Value of an absent argument.
#[derive(Clone, Copy)]
pub enum DefaultValue {
    /// The argument is required.
    Required,
    /// The argument is optional and has no default.
    None,
    /// A string or word.
    Text(&'static str),
    /// An integer.
    Whole(u64),
    /// A negative integer.
    Below(i64),
    /// A boolean.
    Flag(bool),
}

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
