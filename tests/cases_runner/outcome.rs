//! Makes calls and records their complete outcomes, without the parts that differ between runs.

use std::sync::LazyLock;

use anyhow::{Context, Result, bail};
use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::case::{Call, Case};

/// Values of `{root}` and `{outside}` on a backend.
pub struct Names {
    pub root: String,
    pub outside: String,
}

impl Names {
    pub fn in_memory() -> Self {
        Self { root: "/workspace".to_owned(), outside: "/paddock-outside".to_owned() }
    }

    pub fn fill(&self, text: &str) -> String {
        text.replace("{root}", &self.root).replace("{outside}", &self.outside)
    }

    pub fn clear(&self, text: &str) -> String {
        text.replace(&self.root, "{root}").replace(&self.outside, "{outside}")
    }
}

/// Makes the calls of a case one after the other, and returns their outcomes.
pub fn drive(case: &Case, names: &Names, call: impl Fn(&str, &str, &str) -> Value) -> Result<Vec<Value>> {
    let mut outcomes = Vec::new();
    let mut noted = Vec::new();
    for each in &case.calls {
        let arguments = arguments(each, names, &outcomes)?;
        let outcome = call(&each.dialect, &each.tool, &arguments);
        noted.push(normal(&outcome, "", case.absolute.then_some(names)));
        outcomes.push(outcome);
    }
    Ok(noted)
}

/// Returns the outcome of a call in the form of `result.json`.
pub fn record(ok: bool, result: Value, text: &str, changes: Value, truncated: bool) -> Value {
    let key = if ok { "result" } else { "error" };
    json!({ "ok": ok, key: result, "text": text, "changes": changes, "truncated": truncated })
}

fn arguments(call: &Call, names: &Names, outcomes: &[Value]) -> Result<String> {
    match &call.raw {
        Some(raw) => Ok(raw.clone()),
        None => Ok(filled(&call.arguments, names, outcomes)?.to_string()),
    }
}

/// Replaces placeholders and references to earlier results in the arguments.
fn filled(value: &Value, names: &Names, outcomes: &[Value]) -> Result<Value> {
    Ok(match value {
        Value::String(text) => match reference(text) {
            Some((index, path)) => value_at(index, path, outcomes).with_context(|| text.clone())?,
            None => Value::String(names.fill(text)),
        },
        Value::Array(items) => items.iter().map(|item| filled(item, names, outcomes)).collect::<Result<_>>()?,
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| Ok((name.clone(), filled(value, names, outcomes)?));
            Value::Object(members.iter().map(member).collect::<Result<_>>()?)
        }
        other => other.clone(),
    })
}

/// Parses a reference such as `$0.entries.1.path`: the index of a call, and a path in its result.
fn reference(text: &str) -> Option<(usize, &str)> {
    let (index, path) = text.strip_prefix('$')?.split_once('.')?;
    Some((index.parse().ok()?, path))
}

fn value_at(index: usize, path: &str, outcomes: &[Value]) -> Result<Value> {
    let outcome = outcomes.get(index).context("no such call before this one")?;
    let mut value = outcome.get("result").context("that call failed")?;
    for name in path.split('.') {
        let member = value.get(name).or_else(|| value.get(name.parse::<usize>().ok()?));
        value = member.with_context(|| format!("its result has no `{name}`: {outcome}"))?;
    }
    if value.is_null() {
        bail!("it is null: {outcome}");
    }
    Ok(value.clone())
}

/// Returns a value without the times of this run, and with `{root}` and `{outside}` in place of absolute paths.
fn normal(value: &Value, key: &str, names: Option<&Names>) -> Value {
    match value {
        Value::String(_) if matches!(key, "accessed" | "changed") => Value::String("<time>".to_owned()),
        Value::String(_) if matches!(key, "backup" | "undone") => Value::String("<backup>".to_owned()),
        Value::String(_) if key == "token" => Value::String("<token>".to_owned()),
        Value::String(text) => {
            let text = without_backups(&without_tokens(&without_times(text)));
            Value::String(names.map_or_else(|| text.clone(), |names| names.clear(&text)))
        }
        Value::Array(items) => {
            let key = if key == "also_undone" { "undone" } else { "" };
            items.iter().map(|item| normal(item, key, names)).collect()
        }
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), normal(value, key, names))).collect(),
        other => other.clone(),
    }
}

/// Replaces times since 2025, which are of this run. Earlier times come from the case.
fn without_times(text: &str) -> String {
    static TIME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(\d{4})-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").ok());
    let Some(time) = TIME.as_ref() else { return text.to_owned() };
    let replacement = |time_match: &Captures<'_>| {
        let of_case = time_match.get(1).is_some_and(|year| year.as_str() < "2025");
        if of_case { time_match.get(0).map_or("", |time| time.as_str()).to_owned() } else { "<time>".to_owned() }
    };
    time.replace_all(text, replacement).into_owned()
}

/// Replaces the short ids of backups, which contain times of this run.
fn without_backups(text: &str) -> String {
    static BACKUP: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?m)(^|[( ])(1[7-9]\d{11}(-[0-9a-f]+)*)( <time>|\]|; |\)| undoes)").ok());
    BACKUP.as_ref().map_or_else(|| text.to_owned(), |id| id.replace_all(text, "$1<backup>$4").into_owned())
}

/// Removes the time from the tokens of `changes`.
fn without_tokens(text: &str) -> String {
    static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"since=\d{13}-[0-9a-f]{16}").ok());
    TOKEN.as_ref().map_or_else(|| text.to_owned(), |token| token.replace_all(text, "since=<token>").into_owned())
}
