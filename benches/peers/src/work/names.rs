//! Listings: finding files by name, and listing all names.

use anyhow::Result;
use serde_json::{Value, json};

use super::{ABSENT, Bench, Rules, add, invocation, printing};
use crate::answers::{Answer, Form};
use crate::directories;
use crate::measure::{Entrant, Row};
use crate::paddock::Paddock;
use crate::process::Invocation;
use crate::trees::{Kind, Tree};
use crate::work::grep::RG_RULES;

/// Name of the table of listings.
pub const GROUP: &str = "names";

/// fd's equivalent of [`RG_RULES`].
const FD_RULES: [&str; 3] = ["--no-require-git", "--no-global-ignore-file", "--no-ignore-parent"];
/// The only tree for which `tree` is measured, because Paddock's `tree` returns at most 10,000 entries.
const RENDERED_AS_TREE: Kind = Kind::Generated(1_000);

/// Names that a listing requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Rust,
    Files,
    /// Files and directories.
    Entries,
}

/// Adds the rows of all listings of `tree`.
pub fn rows(bench: &Bench, tree: &Tree, rows: &mut Vec<Row>) -> Result<()> {
    let paddock = Paddock::open(&bench.paddock, &tree.top)?;
    let mut work = vec![(Wanted::Rust, "glob **/*.rs"), (Wanted::Files, "all files")];
    if tree.kind == RENDERED_AS_TREE {
        work.push((Wanted::Entries, "tree"));
    }
    for (wanted, name) in work {
        for rules in Rules::BOTH {
            let mut row = Row::new(GROUP, tree.kind.to_string(), format!("{name}, {}", rules.words()));
            let mut entrants = ours(&paddock, wanted, rules)?;
            entrants.extend(theirs(bench, tree, wanted, rules, &mut row));
            bench.contest(&mut row, entrants, &std::collections::HashSet::new());
            rows.push(row);
        }
    }
    Ok(())
}

fn ours<'a>(paddock: &'a Paddock, wanted: Wanted, rules: Rules) -> Result<Vec<Entrant<'a>>> {
    let mut arguments = json!({
        "limit": 10_000,
        "include_hidden": rules.all(),
        "include_ignored": rules.all(),
    });
    let (name, value) = match wanted {
        Wanted::Rust => ("pattern", json!("**/*.rs")),
        Wanted::Files => ("pattern", json!("**")),
        Wanted::Entries => ("depth", json!(10_000)),
    };
    if let Some(object) = arguments.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
    if wanted == Wanted::Entries {
        return Ok(paddock.entrants("tree", &vec![arguments], false, |results| Ok(tree_names(results))));
    }
    let pages = paddock.pages("glob", arguments)?;
    Ok(paddock.entrants("glob", &pages, false, |results| Ok(Answer::paddock(results))))
}

/// Returns the paths in the results of Paddock's `tree`.
pub fn tree_names(results: &[Value]) -> Answer {
    let mut paths = Vec::new();
    for tree in results.iter().filter_map(|result| result.get("tree")) {
        push_children(tree, "", "name", &mut paths);
    }
    Answer::names(paths)
}

/// Adds the paths of all entries below a node of nested JSON.
pub fn push_children(node: &Value, above: &str, name_field: &str, paths: &mut Vec<String>) {
    for child in node.get("children").and_then(Value::as_array).into_iter().flatten() {
        let path = format!("{above}{}", child.get(name_field).and_then(Value::as_str).unwrap_or_default());
        push_children(child, &format!("{path}/"), name_field, paths);
        paths.push(path);
    }
}

fn theirs<'a>(bench: &'a Bench, tree: &Tree, wanted: Wanted, rules: Rules, row: &mut Row) -> Vec<Entrant<'a>> {
    let peers = &bench.peers;
    let mut entrants = Vec::new();
    let each = [
        ("fd", &peers.fd, fd(wanted, rules)),
        ("rg", &peers.rg, rg(wanted, rules)),
        ("find", &peers.find, find(wanted, rules)),
        ("node", &peers.node, plain("plain.mjs", wanted, rules)),
        ("python", &peers.python, plain("plain.py", wanted, rules)),
    ];
    for (name, peer, arguments) in each {
        let program_or_reason = invocation(peer.as_ref(), &tree.top).ok_or(ABSENT);
        let program_or_reason = program_or_reason.and_then(|program| Ok(with(program, name, &arguments?)));
        add(row, &mut entrants, name, program_or_reason);
    }
    entrants
}

fn with<'a>(program: Invocation, name: &'static str, arguments: &[String]) -> Entrant<'a> {
    printing(name, program.args(arguments).may_find_nothing(), Form::Names)
}

type Arguments = Result<Vec<String>, &'static str>;

fn fd(wanted: Wanted, rules: Rules) -> Arguments {
    let mut arguments = vec!["--color=never"];
    match rules {
        Rules::Everything => arguments.push("--unrestricted"),
        Rules::Respected => arguments.extend(FD_RULES),
    }
    match wanted {
        Wanted::Rust => arguments.extend(["--type=f", "--glob", "*.rs"]),
        Wanted::Files => arguments.push("--type=f"),
        Wanted::Entries => {}
    }
    Ok(owned(&arguments))
}

fn rg(wanted: Wanted, rules: Rules) -> Arguments {
    let mut arguments = vec!["--no-config", "--no-messages", "--files"];
    match rules {
        Rules::Everything => arguments.push("-uu"),
        Rules::Respected => arguments.extend(RG_RULES),
    }
    match (wanted, rules) {
        (Wanted::Files, _) => {}
        (Wanted::Rust, Rules::Everything) => arguments.extend(["--glob", "*.rs"]),
        (Wanted::Rust, Rules::Respected) => return Err("its --glob overrides ignore rules"),
        (Wanted::Entries, _) => return Err("names files only"),
    }
    arguments.push("./");
    Ok(owned(&arguments))
}

fn find(wanted: Wanted, rules: Rules) -> Arguments {
    match (rules, wanted) {
        (Rules::Respected, _) => Err("knows no ignore rules"),
        (_, Wanted::Rust) => Ok(owned(&[".", "-type", "f", "-name", "*.rs"])),
        (_, Wanted::Files) => Ok(owned(&[".", "-type", "f"])),
        (_, Wanted::Entries) => Ok(owned(&[".", "-mindepth", "1"])),
    }
}

fn plain(script: &str, wanted: Wanted, rules: Rules) -> Arguments {
    let suffix = match (rules, wanted) {
        (Rules::Respected, _) => return Err("knows no ignore rules"),
        (_, Wanted::Rust) => ".rs",
        (_, Wanted::Files) => "",
        (_, Wanted::Entries) => return Err("names files only"),
    };
    let script = directories::script(script).to_string_lossy().into_owned();
    Ok(vec![script, "names".to_owned(), suffix.to_owned()])
}

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|&argument| argument.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_names_everything_in_it() {
        let file = json!({"name": "f", "kind": "file"});
        let tree = json!({"name": ".", "kind": "directory", "children": [
            {"name": "d", "kind": "directory", "children": [file]}, {"name": "g", "kind": "file"},
        ]});
        let names = ["d", "d/f", "g"].map(str::to_owned);
        assert_eq!(tree_names(&[json!({ "tree": tree })]), Answer::names(names));
    }
}
