//! Rows of arguments, as the tables of every dialect write them.

use crate::spec::{DefaultValue, Param, ParamKind};

/// The largest offset that every host handles.
pub const MAX: u64 = paddock_vfs::MAX_OFFSET;
/// The most that a page of any tool can be asked to hold.
pub const MAX_PAGE: u64 = 100_000;

/// A text that has to be given.
pub const fn required(name: &'static str, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Text, default: DefaultValue::Required, doc }
}

/// A text that may be given.
pub const fn optional(name: &'static str, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Text, default: DefaultValue::None, doc }
}

/// A text that is `default` where it is not given.
pub const fn text(name: &'static str, default: &'static str, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Text, default: DefaultValue::Text(default), doc }
}

/// True or false.
pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Flag, default: DefaultValue::Flag(default), doc }
}

/// A whole number.
pub const fn whole(name: &'static str, min: u64, max: u64, default: DefaultValue, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Whole { min, max }, default, doc }
}

/// A whole number, -1 included.
pub const fn signed(name: &'static str, default: DefaultValue, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Signed, default, doc }
}

/// One of some words.
pub const fn choice(
    name: &'static str,
    words: &'static [&'static str],
    default: &'static str,
    doc: &'static str,
) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Choice(words), default: DefaultValue::Text(default), doc }
}

/// A list of texts.
pub const fn texts(name: &'static str, default: DefaultValue, doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Texts, default, doc }
}

/// A list of objects that has to be given.
pub const fn objects(name: &'static str, params: &'static [Param], doc: &'static str) -> Param {
    Param { name, aliases: &[], kind: ParamKind::Objects(params), default: DefaultValue::Required, doc }
}

impl Param {
    /// It need not be given.
    #[must_use]
    pub const fn may_be_absent(mut self) -> Self {
        self.default = DefaultValue::None;
        self
    }

    /// Other names that are taken for it.
    #[must_use]
    pub const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}
