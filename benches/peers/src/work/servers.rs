//! Tasks through servers of the Model Context Protocol.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::change::checked;
use super::names::{push_children, tree_names};
use super::{ABSENT, Bench};
use crate::answers::Answer;
use crate::mcp::{self, Server};
use crate::measure::{Entrant, Row};
use crate::process::Run;
use crate::trees::{Kind, Tree, editable};
use crate::{directories, paddock, trees};

/// Name of the table of calls to running servers.
pub const GROUP: &str = "MCP";
/// Name of the table of server starts.
pub const START_GROUP: &str = "MCP start";

/// Part of the names to find. It is in lower case because one server searches in lower case only.
const NAME_PART: &str = "parser";
const WIDE_ENTRIES: usize = 1_000;

/// Server program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flavor {
    Paddock,
    Reference,
    Rust,
}

impl Flavor {
    const ALL: [Self; 3] = [Self::Paddock, Self::Reference, Self::Rust];

    fn name(self) -> &'static str {
        match self {
            Self::Paddock => "paddock mcp",
            Self::Reference => "reference server",
            Self::Rust => "rust-mcp-filesystem",
        }
    }

    /// Returns the command that starts the server, if it is installed.
    fn command(self, bench: &Bench, root: &Path) -> Result<Option<Command>> {
        let peers = &bench.peers;
        Ok(match self {
            Self::Paddock => {
                let mut command = Command::new(&bench.paddock);
                command.arg("mcp").args(paddock::options(root)?);
                Some(command)
            }
            Self::Reference => peers.node.as_ref().zip(peers.reference.as_ref()).map(|(node, reference)| {
                let mut command = Command::new(&node.program);
                command.arg(&reference.program).arg(root);
                command
            }),
            Self::Rust => peers.rust_mcp.as_ref().map(|server| {
                let mut command = Command::new(&server.program);
                command.arg("--allow-write").arg(root);
                command
            }),
        })
    }
}

/// Task of a server.
#[derive(Clone, Copy)]
enum Work {
    Read(&'static str),
    Search,
    List,
    Tree,
    /// An edit from one value to another.
    Edit(u8, u8),
}

impl Work {
    /// Returns the tool of a server and its arguments.
    fn request(self, flavor: Flavor, root: &Path) -> (&'static str, Value) {
        let ours = flavor == Flavor::Paddock;
        match self {
            Self::Read(file) if ours => ("read_file", json!({"path": file, "mode": "raw"})),
            Self::Read(file) => ("read_text_file", json!({"path": root.join(file)})),
            Self::Search if ours => {
                let pattern = format!("**/*{NAME_PART}*");
                ("glob", everything(&json!({"pattern": pattern, "limit": 10_000})))
            }
            Self::Search => ("search_files", json!({"path": root, "pattern": format!("**/*{NAME_PART}*")})),
            Self::List if ours => ("list_dir", everything(&json!({"limit": 10_000}))),
            Self::List => ("list_directory", json!({"path": root})),
            Self::Tree if ours => ("tree", everything(&json!({"depth": 10_000, "limit": 10_000}))),
            Self::Tree => ("directory_tree", json!({"path": root})),
            Self::Edit(old, new) if ours => {
                let edit = json!({"old_text": value(old), "new_text": value(new)});
                ("edit_file", json!({"path": "file0.rs", "edits": [edit]}))
            }
            Self::Edit(old, new) => {
                let edit = json!({"oldText": value(old), "newText": value(new)});
                ("edit_file", json!({"path": root.join("file0.rs"), "edits": [edit]}))
            }
        }
    }

    /// Parses the answer of a server.
    fn answer(self, flavor: Flavor, root: &Path, answer: &[u8]) -> Result<Answer> {
        let result = mcp::result(answer)?;
        if flavor == Flavor::Paddock {
            return self.our_answer(root, result.get("structuredContent").context("no structured content")?);
        }
        let text = mcp::text(&result)?;
        Ok(match self {
            Self::Read(_) => Answer::text(text),
            Self::Search => Answer::files_below(text.lines().filter(|line| is_wanted(line)).map(str::to_owned), root),
            Self::List => Answer::names(text.lines().filter_map(|line| Some(line.split_once(' ')?.1.to_owned()))),
            Self::Tree => {
                let children: Value = serde_json::from_str(text).context("a tree that is no JSON")?;
                let mut paths = Vec::new();
                push_children(&json!({ "children": children }), "", "name", &mut paths);
                Answer::names(paths)
            }
            Self::Edit(..) => Answer::default(),
        })
    }

    fn our_answer(self, root: &Path, result: &Value) -> Result<Answer> {
        let paths = |list: &str, of: fn(&Value) -> Option<&str>| -> Vec<String> {
            let each = result.get(list).and_then(Value::as_array).into_iter().flatten();
            each.filter_map(of).map(str::to_owned).collect()
        };
        Ok(match self {
            Self::Read(_) => {
                Answer::text(result.get("content").and_then(Value::as_str).context("a read without content")?)
            }
            Self::Search => {
                Answer::files_below(paths("paths", Value::as_str).into_iter().filter(|path| is_wanted(path)), root)
            }
            Self::List => Answer::names(paths("entries", |entry| entry.get("path")?.as_str())),
            Self::Tree => tree_names(std::slice::from_ref(result)),
            Self::Edit(..) => Answer::default(),
        })
    }
}

fn everything(arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    if let Some(object) = arguments.as_object_mut() {
        object.extend(["include_hidden", "include_ignored"].map(|name| (name.to_owned(), json!(true))));
    }
    arguments
}

fn value(value: u8) -> String {
    format!("let value = {value};")
}

/// Returns whether a path is compared. One server ignores letter case; its additional results are not compared.
fn is_wanted(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains(NAME_PART))
}

/// Adds the rows that do not depend on a tree.
pub fn rows(bench: &Bench, rows: &mut Vec<Row>) -> Result<()> {
    let texts = trees::texts()?;
    rows.push(started(bench, &texts)?);
    rows.push(persistent_row(bench, "texts", "read 150 KB", &texts, Work::Read("middle.txt"))?);
    let wide = wide()?;
    rows.push(persistent_row(bench, "1,000 files in one", "list a directory", &wide, Work::List)?);
    rows.push(edits(bench)?);
    Ok(())
}

/// Adds the rows that depend on a tree.
pub fn rows_of_tree(bench: &Bench, tree: &Tree, rows: &mut Vec<Row>) -> Result<()> {
    if matches!(tree.kind, Kind::Generated(10_000) | Kind::Registry) {
        rows.push(persistent_row(bench, &tree.kind.to_string(), "search by name", &tree.top, Work::Search)?);
    }
    // Paddock's `tree` returns at most 10,000 entries.
    if tree.kind == Kind::Generated(1_000) {
        rows.push(persistent_row(bench, &tree.kind.to_string(), "directory tree", &tree.top, Work::Tree)?);
    }
    Ok(())
}

/// Returns the row of a task. The servers are started for this task alone, so that the peak memory belongs to it.
fn persistent_row(bench: &Bench, tree: &str, name: &str, root: &Path, work: Work) -> Result<Row> {
    let mut row = Row::new(GROUP, tree, name);
    let mut entrants = Vec::new();
    let mut servers = Vec::new();
    for flavor in Flavor::ALL {
        let Some(server) = server(bench, flavor, root, &mut row)? else { continue };
        let request = work.request(flavor, root);
        entrants.push(entrant(flavor, &server, vec![request], root, work));
        servers.push((flavor, server));
    }
    bench.contest(&mut row, entrants, &HashSet::new());
    add_peaks(&mut row, &servers);
    Ok(row)
}

fn edits(bench: &Bench) -> Result<Row> {
    let mut row = Row::new(GROUP, "texts", "one edit");
    let top = directories::scratch("servers")?;
    let mut entrants = Vec::new();
    let mut servers = Vec::new();
    for flavor in Flavor::ALL {
        let root = top.join(flavor.name());
        fs::create_dir_all(&root)?;
        fs::write(root.join("file0.rs"), editable(1))?;
        let Some(server) = server(bench, flavor, &root, &mut row)? else { continue };
        let turns = [Work::Edit(1, 2), Work::Edit(2, 1)].map(|work| work.request(flavor, &root));
        entrants.push(checked(entrant(flavor, &server, turns.to_vec(), &root, Work::Edit(1, 2)), root));
        servers.push((flavor, server));
    }
    bench.contest(&mut row, entrants, &HashSet::new());
    add_peaks(&mut row, &servers);
    Ok(row)
}

type Shared = Rc<RefCell<Server>>;

fn server(bench: &Bench, flavor: Flavor, root: &Path, row: &mut Row) -> Result<Option<Shared>> {
    let Some(command) = flavor.command(bench, root)? else {
        row.leave_out(flavor.name(), ABSENT);
        return Ok(None);
    };
    let started = Server::start(flavor.name(), command).map_err(|cause| row.has_failed(flavor.name(), &cause));
    Ok(started.ok().map(|server| Rc::new(RefCell::new(server))))
}

fn entrant<'a>(
    flavor: Flavor,
    server: &Shared,
    turns: Vec<(&'static str, Value)>,
    root: &Path,
    work: Work,
) -> Entrant<'a> {
    let (server, root) = (Rc::clone(server), root.to_owned());
    Entrant {
        name: flavor.name(),
        run: Box::new(move |round| {
            let (tool, arguments) = turns.get(round % turns.len()).context("no turn")?;
            let (time, output) = server.borrow_mut().call(tool, arguments)?;
            // An error takes little time and would look like a fast answer. Errors are short, so only short answers are
            // parsed.
            if output.len() < 4096 {
                mcp::result(&output)?;
            }
            Ok(Run { time, outputs: vec![output] })
        }),
        answer: Box::new(move |outputs| work.answer(flavor, &root, outputs.first().context("no answer")?)),
        peak: None,
    }
}

fn add_peaks(row: &mut Row, servers: &[(Flavor, Shared)]) {
    for cell in &mut row.cells {
        let server = servers.iter().find(|(flavor, _)| flavor.name() == cell.name);
        cell.peak_kib = server.and_then(|(_, server)| server.borrow().peak_kib());
    }
}

/// Measures the time from the start of a server to its first answer.
fn started(bench: &Bench, texts: &Path) -> Result<Row> {
    let mut row = Row::new(START_GROUP, "texts", "start, initialize, read 4 KB");
    let mut entrants = Vec::new();
    let work = Work::Read("small.txt");
    for flavor in Flavor::ALL {
        if flavor.command(bench, texts)?.is_none() {
            row.leave_out(flavor.name(), ABSENT);
            continue;
        }
        entrants.push(Entrant {
            name: flavor.name(),
            run: Box::new(move |_| start_and_request(bench, flavor, texts, work)),
            answer: Box::new(move |outputs| work.answer(flavor, texts, outputs.first().context("no answer")?)),
            peak: None,
        });
    }
    bench.contest(&mut row, entrants, &HashSet::new());
    Ok(row)
}

fn start_and_request(bench: &Bench, flavor: Flavor, root: &Path, work: Work) -> Result<Run> {
    let command = flavor.command(bench, root)?.context(ABSENT)?;
    let (tool, arguments) = work.request(flavor, root);
    let start = Instant::now();
    let mut server = Server::start(flavor.name(), command)?;
    let (_, output) = server.call(tool, &arguments)?;
    let time: Duration = start.elapsed();
    mcp::result(&output)?;
    Ok(Run { time, outputs: vec![output] })
}

fn wide() -> Result<PathBuf> {
    trees::created_once("wide-1000", |top| {
        for number in 0..WIDE_ENTRIES {
            fs::write(top.join(format!("file{number:04}.txt")), "x\n")?;
        }
        Ok(())
    })
}
