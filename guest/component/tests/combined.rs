//! Lists of tools that combine several dialects.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use paddock_dialects::registry::{DIALECTS, find};
use paddock_guest::engine;
use paddock_types::entry::Time;
use paddock_types::error::{Code, Error};
use paddock_types::outcome::Outcome;
use paddock_types::policy::Policy;
use paddock_vfs::memory::MemoryFs;
use serde_json::{Value, json};

const EDITOR: &str = "str_replace_based_edit_tool";

fn names(list: &str) -> Vec<&'static str> {
    find(list)
        .unwrap_or_else(|error| panic!("{list}: {error}"))
        .listed(false)
        .iter()
        .map(|tool| tool.spec.name)
        .collect()
}

fn refused(list: &str) -> Error {
    match find(list) {
        Ok(_) => panic!("{list}"),
        Err(error) => error,
    }
}

fn call(list: &str, tool: &str, arguments: &Value) -> Outcome {
    let fs = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 7, nanoseconds: 0 }, 1);
    let policy = Policy::parse("{}", list).unwrap();
    engine::call(&fs, &policy, "paddock", "write_file", r#"{"path": "a.txt", "content": "one\n"}"#);
    engine::call(&fs, &policy, list, tool, &arguments.to_string())
}

#[test]
fn an_item_is_a_dialect_or_some_of_its_tools() {
    assert_eq!(names("anthropic"), [EDITOR, "memory"]);
    assert_eq!(names("anthropic,paddock:grep,glob"), [EDITOR, "memory", "grep", "glob"]);
    assert_eq!(names("paddock:grep,glob,anthropic"), ["grep", "glob", EDITOR, "memory"]);
    assert_eq!(names("paddock:grep,codex:apply_patch,paddock:glob"), ["grep", "apply_patch", "glob"]);
    assert_eq!(names("paddock:grep,chorus:file_read,file.write"), ["grep", "file.read", "file.write"]);
    // Commands are listed only if the policy enables them.
    let list = find("anthropic,paddock:shell,grep").unwrap();
    assert_eq!(names(&list.name), [EDITOR, "memory", "grep"]);
    assert_eq!(
        list.listed(true).iter().map(|tool| tool.spec.name).collect::<Vec<_>>(),
        [EDITOR, "memory", "shell", "grep"]
    );
}

/// Models may call commands by other names, so the error lists the dialect's names.
#[test]
fn the_error_of_an_unknown_tool_lists_the_commands_that_the_policy_enables() {
    let hint = |policy: &str| {
        let fs = MemoryFs::new(&["/workspace", "/paddock-state"], || Time { seconds: 7, nanoseconds: 0 }, 1);
        let outcome = engine::call(&fs, &Policy::parse(policy, "codex").unwrap(), "codex", "shell", "{}");
        outcome.error.unwrap().hint.unwrap()
    };
    assert!(!hint("{}").contains("exec_command"));
    assert!(hint(r#"{"commands": {"enabled": true}}"#).ends_with("exec_command, write_stdin"));
}

#[test]
fn no_tool_has_the_name_of_a_dialect() {
    for dialect in DIALECTS {
        assert!(DIALECTS.iter().all(|other| other.tool(dialect.name).is_none()), "{}", dialect.name);
        assert!(!dialect.name.contains([',', ':']), "{}", dialect.name);
        assert!(dialect.all().all(|tool| !tool.name.contains([',', ':'])), "{}", dialect.name);
        assert_eq!(find(dialect.name).unwrap().listed(true).len(), dialect.all().count());
    }
}

#[test]
fn tools_of_the_same_name_are_refused() {
    let error = refused("codex,paddock");
    assert_eq!(error.code, Code::InvalidArgument);
    assert_eq!(
        error.message(),
        "the tool `read_file` of the dialect `codex` and the tool `read_file` of the dialect `paddock` have the same name"
    );
    let hint = "name the tools that you need of one dialect, as in `paddock:TOOL,TOOL`";
    assert_eq!(error.hint_text().unwrap(), hint);
    for twice in ["paddock,paddock", "paddock:grep,grep", "paddock:grep,glob,paddock:grep"] {
        assert!(refused(twice).message().contains("have the same name"), "{twice}");
    }
}

#[test]
fn unknown_names_are_refused_with_the_nearest_one() {
    for (list, code, message, hint) in [
        (
            "antropic",
            Code::UnknownDialect,
            "there is no dialect `antropic`",
            "did you mean `anthropic`? The dialects are",
        ),
        ("anthropic,grep", Code::UnknownDialect, "there is no dialect `grep`", "write `paddock:grep`"),
        ("anthropic,", Code::UnknownDialect, "there is no dialect ``", "the dialects are paddock, "),
        ("x:y", Code::UnknownDialect, "there is no dialect `x`", "the dialects are"),
        ("paddock:grpe", Code::UnknownTool, "the dialect `paddock` has no tool `grpe`", "did you mean `grep`?"),
        ("paddock:", Code::UnknownTool, "the dialect `paddock` has no tool ``", "the tools are read_file, "),
        ("paddock:grep,", Code::UnknownTool, "the dialect `paddock` has no tool ``", "the tools are read_file, "),
        ("paddock:grep,antropic", Code::UnknownTool, "has no tool `antropic`", "did you mean `anthropic`?"),
        ("paddock:grep, glob", Code::UnknownTool, "has no tool ` glob`", "did you mean `glob`?"),
    ] {
        let error = refused(list);
        assert_eq!(error.code, code, "{list}");
        assert!(error.message().contains(message), "{list}: {error}");
        assert!(error.hint_text().unwrap().contains(hint), "{list}: {:?}", error.hint_text());
        let outcome = call(list, "grep", &json!({"pattern": "one"}));
        assert_eq!((outcome.error.unwrap().code, outcome.result.contains(message)), (code, true), "{list}");
    }
}

#[test]
fn each_tool_is_decoded_and_answered_by_its_dialect() {
    let list = "anthropic,paddock:grep,codex:read_file";
    let viewed = call(list, EDITOR, &json!({"command": "view", "path": "a.txt"}));
    assert_eq!(viewed.result, r#"{"output":"Here's the result of running `cat -n` on a.txt:\n     1\tone\n"}"#);
    let counts = call(list, "grep", &json!({"pattern": "one", "output": "count"}));
    assert!(counts.result.contains(r#""path":"a.txt""#), "{}", counts.result);
    let missing = call(list, EDITOR, &json!({"command": "view", "path": "b"}));
    assert_eq!(missing.text, "The path b does not exist. Please provide a valid path.");
    let missing = call(list, "grep", &json!({"pattern": "one", "path": "b"}));
    let error = missing.error.unwrap();
    assert_eq!(missing.result, serde_json::to_string(&error).unwrap());
    let short = call(list, "read_file", &json!({"file_path": "a.txt", "offset": 9}));
    assert_eq!(short.text, "offset exceeds file length");
    // An unknown tool is an error of the list, in the form of its first dialect.
    let unknown = call(list, "glob", &json!({}));
    let error = unknown.error.unwrap();
    assert_eq!((error.code, error.message.as_str()), (Code::UnknownTool, "there is no tool `glob`"));
    assert_eq!(error.hint.unwrap(), format!("the tools are {EDITOR}, memory, grep, read_file"));
    assert!(unknown.result.starts_with(r#"{"error":"#), "{}", unknown.result);
    assert_eq!(call(list, "write_file", &json!({})).error.unwrap().code, Code::UnknownTool, "not of the list");
}

#[test]
fn hints_name_only_tools_of_the_list() {
    let grep = json!({"pattern": "one", "path": "b"});
    let hint = |list: &str| call(list, "grep", &grep).error.unwrap().hint.unwrap_or_default();
    assert_eq!(hint("paddock"), "`glob` and `list_dir` show what is there");
    assert_eq!(hint("anthropic,paddock:grep,list_dir"), "`list_dir` shows what is there");
    assert_eq!(hint("anthropic,paddock:grep"), "list the directory to see its entries");
    // A hint names a tool of another dialect in the list by its name in that dialect.
    assert_eq!(hint("paddock:grep,weakincentives:ls"), "`ls` shows what is there");
    assert_eq!(hint("paddock:grep,list_dir,weakincentives:ls"), "`list_dir` shows what is there");
}

#[test]
fn the_policy_of_a_dialect_applies_to_the_list() {
    let blocked = |list: &str| Policy::parse("{}", list).unwrap().blocked_directories.clone();
    let own = blocked("dotnet-prompt");
    assert!(own.contains(&"node_modules".to_owned()));
    assert_eq!(blocked("anthropic,paddock:grep,dotnet-prompt:read_file"), own);
    assert_ne!(blocked("anthropic,paddock:grep"), own);
}

#[test]
fn descriptions_name_only_tools_of_the_list() {
    let describe = |list: &str| {
        let tools = find(list).unwrap();
        tools.listed(true).into_iter().map(|tool| tools.description(tool)).collect::<Vec<_>>()
    };
    let write_file =
        "Write a whole file, or append to it. Makes missing directories. For a part of a file use edit_file.";
    assert_eq!(describe("paddock:write_file,edit_file")[0], write_file);
    assert_eq!(describe("paddock:write_file"), ["Write a whole file, or append to it. Makes missing directories."]);
    assert_eq!(describe("dispatch:create_file"), ["Create a new file. Makes missing directories."]);
    for dialect in DIALECTS {
        let own: Vec<_> = dialect.all().map(|tool| tool.description.to_owned()).collect();
        assert_eq!(describe(dialect.name), own, "{}", dialect.name);
    }
}

#[test]
fn the_lists_in_the_documents_and_in_the_help_exist() {
    let top = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut lists = 0;
    for file in [
        "README.md",
        "host/guide/src/dialects.md",
        "host/rust/cli/main.rs",
        "host/rust/cli/mcp.rs",
        "host/rust/cli/tools.rs",
    ] {
        let text = std::fs::read_to_string(format!("{top}/{file}")).unwrap();
        for words in text.split("--dialect ").skip(1) {
            let list = words.split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | ')' | ']')).next().unwrap();
            if list.contains(',') {
                find(list).unwrap_or_else(|error| panic!("{file}: {list}: {error}"));
                lists += 1;
            }
        }
    }
    assert!(lists >= 6, "{lists}");
}
