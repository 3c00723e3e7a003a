//! Reading a page of 200 lines.

use std::collections::HashSet;

use anyhow::Result;
use serde_json::{Value, json};

use super::{ABSENT, Bench, add, invocation, showing};
use crate::answers::Answer;
use crate::measure::Row;
use crate::paddock::Paddock;
use crate::{directories, trees};

/// Name of the table of reads.
pub const GROUP: &str = "read";

const PAGE: u64 = 200;

/// Adds the rows for a page of a small text and of a large one.
pub fn rows(bench: &Bench, rows: &mut Vec<Row>) -> Result<()> {
    let texts = trees::texts()?;
    let paddock = Paddock::open(&bench.paddock, &texts)?;
    let pages = [
        ("4 KB file", "small.txt", 1),
        ("100 MB file, its beginning", "large.txt", 1),
        ("100 MB file, its middle", "large.txt", 800_000),
    ];
    for (work, file, first) in pages {
        let mut row = Row::new(GROUP, "texts", format!("page of {work}"));
        let arguments = json!({"path": file, "offset": first, "limit": PAGE});
        let mut entrants = paddock.entrants("read_file", &vec![arguments], false, |results| Ok(content(results)));
        let sed = invocation(bench.peers.sed.as_ref(), &texts).ok_or(ABSENT);
        let last = first + PAGE - 1;
        let sed = sed.map(|sed| sed.args(["-n", &format!("{first},{last}p;{last}q"), file]));
        add(&mut row, &mut entrants, "sed", sed.map(|sed| showing("sed", sed)));
        let peers = &bench.peers;
        for (name, peer, script) in [("node", &peers.node, "plain.mjs"), ("python", &peers.python, "plain.py")] {
            let plain = invocation(peer.as_ref(), &texts).ok_or(ABSENT);
            let plain = plain.map(|plain| plain.args([directories::script(script)]));
            let plain = plain.map(|plain| plain.args(["page", file, &first.to_string(), &PAGE.to_string()]));
            add(&mut row, &mut entrants, name, plain.map(|plain| showing(name, plain)));
        }
        bench.contest(&mut row, entrants, &HashSet::new());
        rows.push(row);
    }
    Ok(())
}

/// Returns the text in the results of Paddock's `read_file`.
pub fn content(results: &[Value]) -> Answer {
    let text: String = results.iter().filter_map(|result| result.get("content").and_then(Value::as_str)).collect();
    Answer::text(&text)
}
