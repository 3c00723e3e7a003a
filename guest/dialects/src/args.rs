//! Decodes JSON into arguments that match their table row: every name is known, every type and range is valid, every
//! default is filled in. Decoding has no side effects.

use paddock_policy::repeated_name::repeated_name;
use paddock_types::error::{Code, Error, Result, excerpt, printable};
use paddock_types::request::Replacement;
use serde_json::{Map, Value};

use crate::argument_names::nearest;
use crate::lenient_args;
use crate::param::{DefaultValue, Param, ParamKind};

/// Maximum number of unknown arguments, and of entries of a list, whose mistakes an error describes.
const MAX_MISTAKES: usize = 10;

/// Arguments that match the rows of their tool.
pub struct Args {
    values: Map<String, Value>,
}

impl Args {
    /// Decodes the JSON object `arguments` of a tool by its rows.
    ///
    /// # Errors
    ///
    /// `Code::InvalidArgument` for an unknown or missing argument, or a value outside its row. The message names the
    /// argument.
    pub fn decode(tool: &str, params: &[Param], arguments: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(arguments).map_err(|cause| {
            Error::new(Code::InvalidArgument, format!("the arguments of `{tool}` are not JSON: {cause}"))
                .hint(usage(tool, params))
        })?;
        let Value::Object(members) = value else {
            let message = format!("the arguments of `{tool}` are {}, not a JSON object", a_type(&value));
            return Err(Error::new(Code::InvalidArgument, message).hint(usage(tool, params)));
        };
        if let Some(name) = repeated_name(arguments) {
            let message =
                format!("the arguments of `{tool}` have `{}` twice in one object", printable(&excerpt(&name)));
            return Err(Error::new(Code::InvalidArgument, message).hint("name each argument once"));
        }
        let values = fit(params, members, "")
            .map_err(|error| if error.hint.is_empty() { error.hint(usage(tool, params)) } else { error })?;
        Ok(Self { values })
    }

    /// Returns an empty set of arguments.
    pub fn empty() -> Self {
        Self { values: Map::new() }
    }

    /// Returns whether the argument is present or has a default, or an alias of it is present.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Returns a string that is required or has a default.
    pub fn text(&self, name: &str) -> String {
        self.opt_text(name).unwrap_or_default()
    }

    /// Returns an optional string.
    pub fn opt_text(&self, name: &str) -> Option<String> {
        self.values.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    /// Returns an integer that is required or has a default.
    pub fn whole(&self, name: &str) -> u64 {
        self.opt_whole(name).unwrap_or_default()
    }

    /// Returns an optional integer.
    pub fn opt_whole(&self, name: &str) -> Option<u64> {
        self.values.get(name).and_then(Value::as_u64)
    }

    /// Returns an integer whose row limits it to 32 bits.
    pub fn whole32(&self, name: &str) -> u32 {
        u32::try_from(self.whole(name)).unwrap_or(u32::MAX)
    }

    /// Returns an optional integer that may be negative.
    pub fn opt_signed(&self, name: &str) -> Option<i64> {
        self.values.get(name).and_then(Value::as_i64)
    }

    /// Returns a number that is required or has a default.
    pub fn number(&self, name: &str) -> f64 {
        self.values.get(name).and_then(Value::as_f64).unwrap_or_default()
    }

    /// Returns a map from names to strings, in the caller's order; empty if absent.
    pub fn named(&self, name: &str) -> Vec<(String, String)> {
        let members = self.values.get(name).and_then(Value::as_object).into_iter().flatten();
        members.filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))).collect()
    }

    /// Returns an integer whose row limits it to 16 bits.
    pub fn opt_whole16(&self, name: &str) -> Option<u16> {
        self.opt_whole(name).map(|number| u16::try_from(number).unwrap_or(u16::MAX))
    }

    /// Returns an optional pair of integers.
    pub fn opt_pair(&self, name: &str) -> Option<(i64, i64)> {
        let mut numbers = self.items(name).map(Value::as_i64);
        Some((numbers.next()??, numbers.next()??))
    }

    /// Returns an optional object.
    pub fn opt_object(&self, name: &str) -> Option<Self> {
        self.values.get(name).and_then(Value::as_object).map(|values| Self { values: values.clone() })
    }

    /// Returns a boolean; false if absent.
    pub fn flag(&self, name: &str) -> bool {
        self.opt_flag(name).unwrap_or_default()
    }

    /// Returns an optional boolean.
    pub fn opt_flag(&self, name: &str) -> Option<bool> {
        self.values.get(name).and_then(Value::as_bool)
    }

    /// Returns a list of strings; empty if absent.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.items(name).filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Returns a list of objects; empty if absent.
    pub fn objects(&self, name: &str) -> Vec<Self> {
        self.items(name).filter_map(Value::as_object).map(|values| Self { values: values.clone() }).collect()
    }

    /// Returns a list of replacements whose members are named `old` and `new`.
    pub fn replacements(&self, name: &str, old: &str, new: &str) -> Vec<Replacement> {
        let replacement = |edit: Self| Replacement {
            old_text: edit.text(old),
            new_text: edit.text(new),
            replace_all: edit.flag("replace_all"),
        };
        self.objects(name).into_iter().map(replacement).collect()
    }

    /// Fails if both arguments are present.
    pub fn not_both(&self, one: &str, other: &str, hint: &str) -> Result<()> {
        if self.has(one) && self.has(other) {
            let message = format!("`{one}` and `{other}` exclude each other");
            return Err(Error::new(Code::InvalidArgument, message).hint(hint));
        }
        Ok(())
    }

    fn items(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.values.get(name).and_then(Value::as_array).into_iter().flatten()
    }
}

/// Checks every member of `arguments` against its row and adds the defaults. `within` is the prefix of names in messages.
/// The error contains every mistake.
fn fit(params: &[Param], mut arguments: Map<String, Value>, within: &str) -> Result<Map<String, Value>> {
    lenient_args::adopt(params, &mut arguments);
    let mut mistakes = unknown(params, &arguments, within);
    let mut values = Map::new();
    for param in params {
        // Models often pass null for an omitted argument.
        let mut names = std::iter::once(&param.name).chain(param.aliases);
        let entry = names.find_map(|name| Some((*name, arguments.remove(*name)?)));
        let value = entry.map(|(name, value)| {
            if name != param.name {
                // The name is added as an absent argument, because a tool may depend on the name that the caller used.
                values.insert(name.to_owned(), Value::Null);
            }
            value
        });
        let value = value.filter(|value| !value.is_null());
        let value = match value {
            Some(value) => check(param, lenient_args::fitted(param, value), within).map(Some),
            None => absent(param, within),
        };
        match value {
            Ok(Some(value)) => drop(values.insert(param.name.to_owned(), value)),
            Ok(None) => {}
            Err(error) => mistakes.push(error),
        }
    }
    all(mistakes).map(|()| values)
}

/// Returns an error for each member that no row has, with the argument that may be meant.
fn unknown(params: &[Param], arguments: &Map<String, Value>, within: &str) -> Vec<Error> {
    let known: Vec<_> = params.iter().map(|param| param.name).collect();
    let takes = match known.as_slice() {
        [] => "it takes no arguments".to_owned(),
        known => format!("it takes {}", known.join(", ")),
    };
    let mut names = lenient_args::unknown(params, arguments);
    let more = names.len().saturating_sub(MAX_MISTAKES);
    names.truncate(MAX_MISTAKES);
    let last = names.pop();
    let error = |name: &String, takes: Option<&str>| {
        let name = &*excerpt(name);
        let error = Error::new(Code::InvalidArgument, format!("unknown argument `{within}{name}`"));
        let near = lenient_args::lines_hint(params, arguments, name)
            .or_else(|| nearest(name, &known).map(|near| format!("did you mean `{within}{near}`?")));
        let mut hint = near.unwrap_or_default();
        // Only one of the errors lists the valid arguments.
        if let Some(takes) = takes {
            hint.push_str(if hint.is_empty() { "" } else { " " });
            hint.push_str(takes);
        }
        if hint.is_empty() { error } else { error.hint(hint) }
    };
    let mut errors: Vec<_> = names.iter().map(|name| error(name, None)).collect();
    errors.extend(last.map(|name| error(&name, Some(&takes))));
    errors.extend(more_mistakes(more, "unknown arguments"));
    errors
}

/// Returns the error that stands for `more` mistakes that an error does not describe.
fn more_mistakes(more: usize, kind: &str) -> Option<Error> {
    (more > 0).then(|| Error::new(Code::InvalidArgument, format!("and {more} more {kind}")))
}

/// Joins the mistakes of a call into one error.
fn all(mistakes: Vec<Error>) -> Result<()> {
    mistakes.into_iter().reduce(Error::and_error).map_or(Ok(()), Err)
}

fn absent(param: &Param, within: &str) -> Result<Option<Value>> {
    match param.default {
        DefaultValue::Required => {
            Err(Error::new(Code::InvalidArgument, format!("argument `{within}{}` is missing", param.name)))
        }
        DefaultValue::None => Ok(None),
        DefaultValue::Text(text) => Ok(Some(text.into())),
        DefaultValue::Whole(number) => Ok(Some(number.into())),
        DefaultValue::Below(number) => Ok(Some(number.into())),
        DefaultValue::Flag(flag) => Ok(Some(flag.into())),
    }
}

fn check(param: &Param, value: Value, within: &str) -> Result<Value> {
    let name = format!("{within}{}", param.name);
    let wrong = |wanted: &str| {
        Error::argument(name.as_str(), format!("it is {}, and has to be {wanted}", quoted_value(&value)))
    };
    match &param.kind {
        ParamKind::Text if value.is_string() => Ok(value),
        ParamKind::Text => Err(wrong("a string")),
        ParamKind::Flag if value.is_boolean() => Ok(value),
        ParamKind::Flag => Err(wrong("true or false")),
        ParamKind::Whole { min, max } => match whole(&value) {
            Some(number) if (*min..=*max).contains(&number) => Ok(number.into()),
            _ => Err(wrong(&format!("a whole number from {min} to {max}"))),
        },
        ParamKind::Signed => match signed(&value) {
            Some(number) => Ok(number.into()),
            None => Err(wrong("a whole number")),
        },
        ParamKind::Number => match value.as_f64() {
            Some(number) if number >= 0.0 => Ok(value),
            _ => Err(wrong("a number of at least 0")),
        },
        ParamKind::Named => match value.as_object() {
            Some(members) if members.values().all(Value::is_string) => Ok(value),
            _ => Err(wrong("an object of strings")),
        },
        ParamKind::Pair => match value.as_array().map(Vec::as_slice) {
            Some([one, other]) if signed(one).is_some() && signed(other).is_some() => Ok(value),
            _ => Err(wrong("a list of two whole numbers")),
        },
        ParamKind::Choice(words) => match value.as_str() {
            Some(word) if words.contains(&word) => Ok(value),
            _ => Err(wrong(&format!("one of {}", words.join(", ")))),
        },
        ParamKind::Texts => match value.as_array() {
            Some(items) if items.iter().all(Value::is_string) => Ok(value),
            _ => Err(wrong("a list of strings")),
        },
        ParamKind::Object(params) => match value {
            Value::Object(members) => fit(params, members, &format!("{name}.")).map(Value::Object),
            _ => Err(wrong("an object")),
        },
        ParamKind::Objects(params) => objects(params, value, &name),
    }
}

fn objects(params: &[Param], value: Value, name: &str) -> Result<Value> {
    let takes = || format!("a list of objects with {}", params.iter().map(|p| p.name).collect::<Vec<_>>().join(", "));
    let Value::Array(items) = value else {
        return Err(Error::argument(name, format!("it is {}, and has to be {}", quoted_value(&value), takes())));
    };
    let (mut values, mut mistakes, mut more) = (Vec::new(), Vec::new(), 0);
    for (index, item) in items.into_iter().enumerate() {
        let fitted = match item {
            Value::Object(item) => fit(params, item, &format!("{name}[{index}].")),
            other => {
                let cause = format!("entry {index} is {}, and has to be an object", quoted_value(&other));
                Err(Error::argument(name, cause))
            }
        };
        match fitted {
            Ok(value) => values.push(Value::Object(value)),
            Err(error) if mistakes.len() < MAX_MISTAKES => mistakes.push(error),
            Err(_) => more += 1,
        }
    }
    mistakes.extend(more_mistakes(more, "entries with mistakes"));
    all(mistakes).map(|()| Value::Array(values))
}

/// Returns an integer, including one that is written as `3.0`.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        let fits = number >= 0.0 && number.fract() == 0.0 && number <= 9_007_199_254_740_992.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and in range")]
        fits.then_some(number as u64)
    })
}

fn signed(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0)?;
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
        Some(number as i64)
    })
}

fn usage(tool: &str, params: &[Param]) -> String {
    let param = |param: &Param| match param.default {
        DefaultValue::Required => param.name.to_owned(),
        _ => format!("{}?", param.name),
    };
    format!("`{tool}` takes {{{}}}", params.iter().map(param).collect::<Vec<_>>().join(", "))
}

/// Formats a value for a message: its type, and the value itself if it is short.
fn quoted_value(value: &Value) -> String {
    if let Value::String(json) = value
        && serde_json::from_str::<Value>(json).is_ok()
        && let Some(name) = repeated_name(json)
    {
        return format!("JSON that has `{}` twice in one object", printable(&excerpt(&name)));
    }
    let text = value.to_string();
    match value {
        Value::Array(_) | Value::Object(_) => type_name(value).to_owned(),
        _ if text.len() <= 40 => format!("{} {text}", type_name(value)),
        _ => type_name(value).to_owned(),
    }
}

fn a_type(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        other => type_name(other),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "the boolean",
        Value::Number(_) => "the number",
        Value::String(_) => "the string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
