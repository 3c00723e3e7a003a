//! Searches in file contents.

use anyhow::Result;
use serde_json::{Value, json};

use super::{ABSENT, Bench, Rules, add, invocation, printing};
use crate::answers::{Answer, Form};
use crate::directories;
use crate::measure::{Entrant, Row};
use crate::paddock::Paddock;
use crate::process::Invocation;
use crate::text::{COMMON, RARE, TEN};
use crate::trees::{Kind, Tree};

/// Name of the table of searches.
pub const GROUP: &str = "grep";

const NO_RULES: &str = "knows no ignore rules";

/// Maximum number of files for the scripts in Node and Python. They search so many files in seconds; with more, a round
/// would take minutes.
const SCRIPT_FILES: u64 = 20_000;
const TOO_SLOW: &str = "takes most of the bench's time; the smaller trees tell its ratio";

/// Kind of result of a search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Counts,
    Files,
    /// Lines that match, with two lines of context before and after.
    Context,
}

/// A search: its pattern and options.
pub struct Query {
    /// Description.
    pub name: &'static str,
    pattern: String,
    output: Output,
    insensitive: bool,
    multiline: bool,
}

impl Query {
    fn count(name: &'static str, pattern: impl Into<String>) -> Self {
        Self { name, pattern: pattern.into(), output: Output::Counts, insensitive: false, multiline: false }
    }
}

/// Returns the nine searches. In generated trees they find planted texts.
pub fn queries(kind: Kind) -> Vec<Query> {
    let words = |words: &[&str]| format!("(?:{})", words.join("|"));
    let real = ["io_uring", "epoll", "kqueue", "futex", "mmap", "eventfd", "timerfd", "inotify", "splice", "sendfile"];
    let [rare, common, classes, ten, capitals, multiline, files] = match kind {
        Kind::Generated(_) => {
            let block = r"begin_block \{\n\s+end_block".to_owned();
            [
                RARE.into(),
                COMMON.into(),
                r"fn [a-z]+_[a-z]+_config".into(),
                words(&TEN),
                "gateway".into(),
                block,
                COMMON.into(),
            ]
        }
        Kind::Registry => {
            let inline = r"#\[inline\]\n\s*pub unsafe fn".to_owned();
            [
                "from_raw_fd".into(),
                "unsafe".into(),
                r"fn [a-z]+_[a-z]+_unchecked".into(),
                words(&real),
                "todo".into(),
                inline,
                "impl".into(),
            ]
        }
    };
    vec![
        Query::count("rare literal", rare.clone()),
        Query::count("common literal", common),
        Query::count("classes", classes),
        Query::count("one of ten words", ten),
        Query { insensitive: true, ..Query::count("case-insensitive", capitals) },
        Query::count("no match", "nowhere_to_be_found"),
        Query { multiline: true, ..Query::count("across lines", multiline) },
        Query { output: Output::Context, ..Query::count("two lines of context", rare) },
        Query { output: Output::Files, ..Query::count("files only", files) },
    ]
}

/// Adds the rows of all searches in `tree`.
pub fn rows(bench: &Bench, tree: &Tree, rows: &mut Vec<Row>) -> Result<()> {
    let paddock = Paddock::open(&bench.paddock, &tree.top)?;
    for rules in Rules::BOTH {
        for query in queries(tree.kind) {
            rows.push(row(bench, tree, &paddock, &query, rules)?);
        }
    }
    Ok(())
}

/// Returns the row of a search in `tree`.
pub fn row(bench: &Bench, tree: &Tree, paddock: &Paddock, query: &Query, rules: Rules) -> Result<Row> {
    let mut row = Row::new(GROUP, tree.kind.to_string(), format!("{}, {}", query.name, rules.words()));
    let entrants = entrants(bench, tree, paddock, query, rules, &mut row)?;
    bench.contest(&mut row, entrants, &tree.odd);
    Ok(row)
}

fn entrants<'a>(
    bench: &'a Bench,
    tree: &Tree,
    paddock: &'a Paddock,
    query: &Query,
    rules: Rules,
    row: &mut Row,
) -> Result<Vec<Entrant<'a>>> {
    let pages = paddock.pages("grep", arguments(query, rules))?;
    let mut entrants = paddock.entrants("grep", &pages, true, |results| Ok(Answer::paddock(results)));
    let form = match query.output {
        Output::Counts => Form::Counts,
        Output::Files => Form::Names,
        Output::Context => Form::Lines,
    };
    for (name, single) in [("rg", false), ("rg -j1", true)] {
        let rg = invocation(bench.peers.rg.as_ref(), &tree.top).ok_or(ABSENT);
        add(row, &mut entrants, name, rg.map(|rg| printing(name, ripgrep(rg, query, rules, single), form)));
    }
    let grep = invocation(bench.peers.grep.as_ref(), &tree.top).ok_or(ABSENT);
    let grep = grep.and_then(|grep| Ok(printing("grep", gnu_grep(grep, query, rules)?, form)));
    add(row, &mut entrants, "grep", grep);
    let peers = &bench.peers;
    for (name, peer, script) in [("node", &peers.node, "plain.mjs"), ("python", &peers.python, "plain.py")] {
        let plain = invocation(peer.as_ref(), &tree.top).ok_or(ABSENT);
        let plain = plain.and_then(|plain| match tree.files > SCRIPT_FILES {
            true => Err(TOO_SLOW),
            false => Ok(printing(name, scripted(plain, script, query, rules)?, form)),
        });
        add(row, &mut entrants, name, plain);
    }
    Ok(entrants)
}

fn arguments(query: &Query, rules: Rules) -> Value {
    let output = match query.output {
        Output::Counts => "count",
        Output::Files => "files",
        Output::Context => "content",
    };
    let mut arguments = json!({
        "pattern": query.pattern,
        "output": output,
        "limit": 10_000,
        "include_hidden": rules.all(),
        "include_ignored": rules.all(),
    });
    let further = [
        ("case", query.insensitive.then(|| json!("insensitive"))),
        ("multiline", query.multiline.then(|| json!(true))),
        ("context", (query.output == Output::Context).then(|| json!(2))),
    ];
    if let Some(object) = arguments.as_object_mut() {
        object.extend(further.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    arguments
}

fn ripgrep(rg: Invocation, query: &Query, rules: Rules, single: bool) -> Invocation {
    let rg = rg.args(["--no-config", "--no-messages", "--color=never", "--no-heading"]);
    let rg = match rules {
        Rules::Everything => rg.args(["-uu"]),
        Rules::Respected => rg.args(RG_RULES),
    };
    let rg = match query.output {
        Output::Counts => rg.args(["--count", "--null", "--with-filename"]),
        Output::Files => rg.args(["--files-with-matches"]),
        Output::Context => rg.args(["--context=2", "--null", "--with-filename", "--line-number"]),
    };
    let rg = if query.insensitive { rg.args(["--ignore-case"]) } else { rg };
    let rg = if query.multiline { rg.args(["--multiline"]) } else { rg };
    let rg = if single { rg.args(["-j1"]) } else { rg };
    rg.args(["--regexp", &query.pattern, "./"]).may_find_nothing()
}

/// ripgrep's options for Paddock's ignore rules: only ignore files of the searched tree apply, whether or not it is a
/// repository.
pub const RG_RULES: [&str; 4] = ["--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-exclude"];

fn gnu_grep(grep: Invocation, query: &Query, rules: Rules) -> Result<Invocation, &'static str> {
    if rules == Rules::Respected {
        return Err(NO_RULES);
    }
    if query.multiline {
        return Err("searches line by line");
    }
    // `grep` is fastest in a locale with single-byte characters.
    let grep = grep.env("LC_ALL", "C").args(["--recursive", "-I", "--extended-regexp", "--no-messages"]);
    let grep = match query.output {
        Output::Counts => grep.args(["--count", "--null"]),
        Output::Files => grep.args(["--files-with-matches"]),
        Output::Context => grep.args(["--context=2", "--null", "--line-number"]),
    };
    let grep = if query.insensitive { grep.args(["--ignore-case"]) } else { grep };
    let pattern = query.pattern.replace("(?:", "(");
    Ok(grep.args(["-e", &pattern, "."]).may_find_nothing())
}

fn scripted(plain: Invocation, script: &str, query: &Query, rules: Rules) -> Result<Invocation, &'static str> {
    if rules == Rules::Respected {
        return Err(NO_RULES);
    }
    let output = match query.output {
        Output::Counts => "count",
        Output::Files => "files",
        Output::Context => return Err("the plain script shows no context"),
    };
    let flags = [("i", query.insensitive), ("m", query.multiline), ("-", true)];
    let flags: String = flags.into_iter().filter_map(|(flag, is_set)| is_set.then_some(flag)).collect();
    Ok(plain.args([directories::script(script)]).args(["grep", output, &flags, &query.pattern]))
}
