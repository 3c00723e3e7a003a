//! Messages name only arguments of the called tool and tools of the same dialect. Those of typed functions name only
//! functions and arguments of the WIT.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use paddock_dialects::call::Call;
use paddock_dialects::dialect::Dialect;
use paddock_dialects::dialect::spec::ToolSpec;
use paddock_dialects::param::{Param, ParamKind};
use paddock_dialects::registry::DIALECTS;
use paddock_guest::engine;
use paddock_types::entry::Time;
use paddock_types::error::{Error, NameCase, Term, TypedNames};
use paddock_types::policy::Policy;
use paddock_types::response::{ReadManyEntry, ReadOutcome, Response};
use paddock_vfs::memory::MemoryFs;
use paddock_vfs::{Filesystem, Open};
use serde_json::{Map, Value, json};

const TEXT: &str = "one\ntwo\ntwo\n";
const POLICY: &str = r#"{"limits": {"max_file_bytes": 100}}"#;

fn fixture() -> MemoryFs {
    let fs = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 7, nanoseconds: 0 }, 1);
    let top = fs.preopens().remove(0).dir;
    for (name, bytes) in [("text", TEXT.as_bytes()), ("bytes", b"\0\x01\x02"), ("large", &[b'x'; 200])] {
        let file = fs.open_file(&top, name, Open::CreateNew).unwrap();
        fs.write(&file, 0, bytes).unwrap();
    }
    for name in ["dir", "memories"] {
        fs.make_dir(&top, name).unwrap();
    }
    let inner = fs.open_dir(&top, "dir").unwrap();
    fs.open_file(&inner, "file", Open::CreateNew).unwrap();
    fs
}

/// Returns whether the tool accepts an argument of that name, possibly as a member of another.
fn takes(params: &[Param], name: &str) -> bool {
    params.iter().any(|param| {
        param.name == name
            || match param.kind {
                ParamKind::Object(members) | ParamKind::Objects(members) => takes(members, name),
                _ => false,
            }
    })
}

/// Returns values that are invalid in different ways.
fn values(param: &Param) -> Vec<Value> {
    match param.kind {
        ParamKind::Text | ParamKind::Choice(_) => {
            let texts =
                ["text", "bytes", "large", "dir", "none", "", "t\nw", "two", "../x", "/memories/none", "a(", "$9", "["];
            let choices = if let ParamKind::Choice(words) = param.kind { words } else { &[] };
            texts.iter().chain(choices).map(|text| json!(text)).collect()
        }
        ParamKind::Whole { .. } | ParamKind::Signed | ParamKind::Number => vec![json!(0), json!(1), json!(99)],
        ParamKind::Flag => vec![json!(true), json!(false)],
        ParamKind::Texts => vec![json!(["none", "bytes"]), json!([])],
        ParamKind::Named => vec![json!({})],
        ParamKind::Pair => vec![json!([9, 9])],
        ParamKind::Object(members) => vec![Value::Object(first(members, 0))],
        ParamKind::Objects(members) => vec![json!([]), json!([first(members, 0)]), json!([first(members, 5)])],
    }
}

/// Returns an object with the `index`-th value of each member.
fn first(members: &[Param], index: usize) -> Map<String, Value> {
    let member = |param: &Param| {
        let values = values(param);
        (param.name.to_owned(), values[index.min(values.len() - 1)].clone())
    };
    members.iter().map(member).collect()
}

/// Returns calls with each value of each argument, while the other arguments cycle through the kinds of paths.
fn calls(tool: &ToolSpec) -> Vec<Value> {
    let mut calls = Vec::new();
    for index in 0..5 {
        let base = first(tool.params, index);
        for (param, value) in tool.params.iter().flat_map(|param| values(param).into_iter().map(move |it| (param, it)))
        {
            // With all arguments, most calls fail because some exclude each other; hence also calls with only the
            // relevant ones.
            let mut all = base.clone();
            all.insert(param.name.to_owned(), value);
            let path = |name: &String| {
                name.contains("path") || tool.params.iter().any(|one| one.name == *name && name == param.name)
            };
            calls.push(Value::Object(all.clone().into_iter().filter(|(name, _)| path(name)).collect()));
            calls.push(Value::Object(all));
        }
    }
    calls
}

/// Returns whether a character is part of a name.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Returns the first words of the parts of a message that are in backticks.
fn quoted_names(reported: &str) -> Vec<String> {
    let name = |quoted: &'_ str| quoted.split(|c| !is_part(c)).next().unwrap_or_default().to_owned();
    reported.split('`').skip(1).step_by(2).map(name).collect()
}

/// Returns whether a name is that of an argument or a tool, in some interface.
fn is_name(name: &str) -> bool {
    let name = name.replace('-', "_");
    let typed = DIALECTS.iter().find(|dialect| dialect.name == "paddock").unwrap();
    Term::ALL.iter().any(|term| term.name() == name)
        || typed.all().any(|tool| tool.name == name || tool.params.iter().any(|param| param.name == name))
}

fn check(dialect: &Dialect, tool: &ToolSpec, arguments: &Value, reported: &str) {
    let names = quoted_names(reported);
    // Arguments of another tool are accepted if the message names that tool.
    let tools: Vec<_> = names.iter().filter_map(|name| dialect.tool(name)).chain([tool]).collect();
    // Some notes name an argument with its value: `offset=3`.
    let assigned =
        reported.split(|c| !is_part(c) && c != '=').filter_map(|word| Some(word.split_once('=')?.0.to_owned()));
    for name in names.iter().cloned().chain(assigned) {
        let is_known = dialect.tool(&name).is_some() || tools.iter().any(|tool| takes(tool.params, &name));
        let is_there = is_known || arguments.to_string().contains(name.as_str());
        assert!(!is_name(&name) || is_there, "{} {} {arguments}: `{name}` in {reported}", dialect.name, tool.name);
    }
}

#[test]
fn messages_name_only_the_callers_tools_and_arguments() {
    let policy = Policy::parse(POLICY, "paddock").unwrap();
    let mut hints = BTreeSet::new();
    for dialect in DIALECTS {
        for tool in dialect.tools {
            for arguments in calls(tool) {
                let outcome = engine::call(&fixture(), &policy, dialect.name, tool.name, &arguments.to_string());
                check(dialect, tool, &arguments, &outcome.text);
                let Some(error) = outcome.error else { continue };
                check(dialect, tool, &arguments, &error.message);
                check(dialect, tool, &arguments, error.hint.as_deref().unwrap_or_default());
                hints.extend(error.hint.map(|hint| (dialect.name, hint)));
            }
        }
    }
    // Each dialect must have produced hints.
    assert!(DIALECTS.iter().all(|dialect| hints.iter().any(|(name, _)| *name == dialect.name)));
    assert!(hints.len() > 150, "{}", hints.len());
}

/// Returns the arguments of each function of the WIT, and their members.
fn functions() -> BTreeMap<String, BTreeSet<String>> {
    let (mut record, mut records, mut functions) = ("", BTreeMap::<_, Vec<_>>::new(), BTreeMap::new());
    let wit = [include_str!("../../../wit/files.wit"), include_str!("../../../wit/search.wit")];
    for line in wit.into_iter().flat_map(str::lines).map(str::trim) {
        if let Some(name) = line.strip_prefix("record ") {
            record = name.trim_end_matches(" {");
        } else if let Some((name, arguments)) = line.split_once(": func(args: ") {
            functions.insert(name.trim_start_matches('%'), arguments.split(')').next().unwrap());
        } else if let Some((name, kind)) = line.trim_end_matches(',').split_once(": ") {
            records.entry(record).or_default().push((name.trim_start_matches('%').to_owned(), kind));
        }
    }
    let arguments = |record: &str| {
        let members = |kind: &str| records.get(kind.strip_prefix("list<")?.strip_suffix('>')?);
        let fields = records[record].iter();
        fields
            .flat_map(|field| members(field.1).into_iter().flatten().chain([field]))
            .map(|(name, _)| name.clone())
            .collect()
    };
    functions.into_iter().map(|(name, record)| (name.to_owned(), arguments(record))).collect()
}

/// Returns the name of the function that performs the same operation as a tool of the `paddock` dialect.
fn function(tool: &str) -> &str {
    match tool {
        "read_file" => "read",
        "read_files" => "read-many",
        "write_file" => "write",
        "edit_file" => "edit",
        "apply_patch" => "apply-patch",
        "list_dir" => "list",
        "make_dir" => "make-directory",
        "move" => "move-entry",
        same => same,
    }
}

/// Returns the error of a call, or those in its response.
fn errors(answer: Result<Response, Error>) -> Vec<Error> {
    let of_entry = |entry: ReadManyEntry| match entry.outcome {
        ReadOutcome::Error(error) => Some(error),
        ReadOutcome::Result(_) => None,
    };
    match answer {
        Err(error) => vec![error],
        Ok(Response::ReadMany(many)) => many.entries.into_iter().filter_map(of_entry).collect(),
        Ok(_) => Vec::new(),
    }
}

#[test]
fn errors_of_typed_functions_name_functions_and_arguments_of_the_wit() {
    let functions = functions();
    assert_eq!(functions.len(), 20, "{functions:?}");
    let policy = Policy::parse(r#"{"limits": {"max_file_bytes": 100}}"#, "paddock").unwrap();
    let mut hints = BTreeSet::new();
    for tool in DIALECTS[0].tools {
        for arguments in calls(tool) {
            let Ok(call) = Call::decode("paddock", tool.name, &arguments.to_string(), &|| true) else { continue };
            for error in errors(engine::run(&fixture(), &policy, &call.request).0) {
                let error = error.in_names(&TypedNames(NameCase::Kebab));
                let reported = format!("{}; {}", error.message, error.hint.as_deref().unwrap_or_default());
                let names = quoted_names(&reported);
                let own = &functions[function(tool.name)];
                // Arguments of another function are accepted if the message names that function.
                let takes = |name| {
                    names.iter().filter_map(|name| functions.get(name)).chain([own]).any(|all| all.contains(name))
                };
                for name in &names {
                    let is_there = functions.contains_key(name) || takes(name) || arguments.to_string().contains(name);
                    assert!(!is_name(name) || is_there, "{} {arguments}: `{name}` in {reported}", tool.name);
                }
                hints.extend(error.hint);
            }
        }
    }
    for hint in ["`read` with `mode: \"base64\"` gives its bytes", "`list` shows a directory"] {
        assert!(hints.contains(hint), "{hints:?}");
    }
    assert!(hints.len() > 20, "{}", hints.len());
}

#[test]
fn a_dialect_s_names_are_those_of_its_tools_and_arguments() {
    for dialect in DIALECTS {
        for (term, name) in dialect.names {
            let first = name.split('`').next().unwrap();
            let is_there = match term.is_tool() {
                true => dialect.tool(first).is_some() || Term::UnpackTool == *term,
                false => dialect.tools.iter().any(|tool| takes(tool.params, name)),
            };
            assert!(is_there, "{}: {name}", dialect.name);
        }
    }
}
