//! The HTML of the status page. The library escapes every value; names of files come from tools and may be hostile.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::super::super::narrowing::InnerPath;
use super::super::super::recent::{Active, RecentCall, RecentChange};
use crate::types::{HistoryEntry, HistoryResult};

/// Maximum number of paths of a change, and of characters of each.
const MAX_PATHS: usize = 8;
const MAX_CHARS: usize = 600;

/// The style, which the content security policy names by its hash.
const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #ddd}
td.number{text-align:right;font-variant-numeric:tabular-nums}
code{font:13px ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate}
ul{margin:0;padding:0;list-style:none}.failed{color:#a30000}
p.failure{border-left:4px solid #a30000;padding:.4rem .8rem;background:#fff3f3}
button{font:inherit;padding:.1rem .7rem}";

/// The content of the first page.
pub(super) struct Overview<'o> {
    /// Workspaces with recent calls.
    pub(super) active: &'o [Active],
    /// Other workspaces of the configuration.
    pub(super) idle: &'o [&'o str],
    /// Number of workspaces of the configuration that are left out.
    pub(super) left_out: usize,
    pub(super) running: usize,
    pub(super) sessions: usize,
    pub(super) open: usize,
}

/// The changes of a workspace, or of the part to which a token was limited.
pub(super) struct Changes {
    pub(super) part: Option<InnerPath>,
    /// The changes, the newest first, or the reason why there are none.
    pub(super) history: Result<HistoryResult, String>,
}

impl Overview<'_> {
    pub(super) fn render(&self) -> String {
        let body = html! {
            h1 { "Workspaces" }
            p { (self.running) " calls run, " (self.sessions) " sessions and " (self.open) " workspaces are open." }
            table {
                thead { tr { th { "Workspace" } th { "Recent calls" } th { "Last call" } th { "By" } th { "Tool" } th { "Outcome" } } }
                tbody {
                    @for active in self.active {
                        tr {
                            td { (link(&active.workspace)) }
                            td.number { (active.calls) }
                            td { (active.last.time) }
                            td { (code(&active.last.holder)) }
                            td { (code(&active.last.tool)) }
                            td { (outcome(&active.last)) }
                        }
                    }
                    @for name in self.idle { tr { td { (link(name)) } td.number { "0" } td {} td {} td {} td {} } }
                }
            }
            @if self.left_out > 0 { p { (self.left_out) " more workspaces had no recent call." } }
        };
        document("Workspaces", &body)
    }
}

/// Renders the page of a workspace, with the failure of an undo, if there is one.
pub(super) fn workspace(name: &str, calls: &[RecentCall], changes: &[Changes], failure: Option<&str>) -> String {
    let body = html! {
        p { a href="/status" { "All workspaces" } }
        h1 { "Workspace " (code(name)) }
        @if let Some(failure) = failure { p.failure role="alert" { "The change was not undone: " (code(failure)) } }
        @for changes in changes { (section(name, changes)) }
        h2 { "Recent calls" }
        table {
            thead { tr { th { "Time" } th { "By" } th { "Tool" } th { "Outcome" } th { "Paths and changes" } th { "Bytes" } th { "Milliseconds" } } }
            tbody { @for call in calls { (row(call)) } }
        }
        @if calls.is_empty() { p { "No call since the start of the server." } }
    };
    document(&format!("Workspace {name}"), &body)
}

fn section(name: &str, Changes { part, history }: &Changes) -> Markup {
    let part = part.as_ref().map(InnerPath::as_str).unwrap_or_default();
    html! {
        h2 { "Changes" @if !part.is_empty() { " of tokens for " (code(part)) } }
        @match history {
            Err(cause) => { p.failed { (code(cause)) } }
            Ok(history) if history.entries.is_empty() => { p { "No change that can be undone." } }
            Ok(history) => {
                table {
                    thead { tr { th { "Time" } th { "Operation" } th { "Paths" } th {} } }
                    tbody { @for entry in &history.entries { (change(name, part, entry)) } }
                }
                @if history.truncated { p { "There are older changes: " code { "paddock history" } " lists them." } }
            }
        }
    }
}

fn change(name: &str, part: &str, entry: &HistoryEntry) -> Markup {
    html! {
        tr {
            td { (entry.time) }
            td { (code(&entry.operation)) }
            td { (list(entry.paths.iter().map(String::as_str).take(MAX_PATHS), entry.paths.len().saturating_sub(MAX_PATHS))) }
            td {
                form method="post" action={ "/status/w/" (name) "/undo" } {
                    input type="hidden" name="backup" value=(entry.backup);
                    input type="hidden" name="part" value=(part);
                    button type="submit" { "Undo" }
                }
            }
        }
    }
}

fn row(call: &RecentCall) -> Markup {
    let left_out = usize::try_from(call.left_out).unwrap_or(usize::MAX);
    // The changes name the paths again.
    let paths = match call.changes.is_empty() {
        true => call.paths.clone(),
        false => call.changes.iter().map(described).collect(),
    };
    html! {
        tr {
            td { (call.time) }
            td { (code(&call.holder)) @if let Some(part) = &call.part { " in " (code(part.as_str())) } }
            td { (code(&call.tool)) }
            td { (outcome(call)) }
            td { (list(paths.iter().map(String::as_str), left_out)) }
            td.number { (call.bytes) }
            td.number { (format!("{:.1}", call.duration_ms)) }
        }
    }
}

fn list<'t>(texts: impl Iterator<Item = &'t str>, left_out: usize) -> Markup {
    html! {
        ul {
            @for text in texts { li { (code(text)) } }
            @if left_out > 0 { li { "and " (left_out) " that are not shown" } }
        }
    }
}

fn described(RecentChange { kind, path, to }: &RecentChange) -> String {
    to.as_ref().map_or_else(|| format!("{kind} {path}"), |to| format!("{kind} {path} to {to}"))
}

fn outcome(call: &RecentCall) -> Markup {
    html! { @if call.is_ok { "ok" } @else { span.failed { (call.outcome) } } }
}

fn link(name: &str) -> Markup {
    html! { a href={ "/status/w/" (name) } { (name) } }
}

fn code(text: &str) -> Markup {
    html! { code { (visible(text)) } }
}

fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { (title) " – Paddock" }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    };
    page.into_string()
}

/// Returns the policy of the page: its own style, and forms that it sends to itself.
pub(super) fn content_security_policy() -> String {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
}

/// Returns a text with escapes in place of the characters that are not seen or that reorder others, so that no name looks
/// like another one.
fn visible(text: &str) -> String {
    let mut characters = text.chars();
    let mut visible = String::new();
    for character in characters.by_ref().take(MAX_CHARS) {
        match is_hidden(character) {
            true => visible.extend(character.escape_unicode()),
            false => visible.push(character),
        }
    }
    if characters.next().is_some() { visible + "…" } else { visible }
}

fn is_hidden(character: char) -> bool {
    let is_format = matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    character.is_control() || is_format
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_escaped() {
        let name = "<script>alert(1)</script>\"'>\u{202e}txt.exe\n\0";
        let entry = HistoryEntry {
            backup: "\"><img src=x>".to_owned(),
            time: "<b>".to_owned(),
            operation: "<i>".to_owned(),
            paths: vec![name.to_owned(); 1000],
            size: 0,
        };
        let history = Ok(HistoryResult { entries: vec![entry], truncated: false });
        let text = workspace("notes", &[], &[Changes { part: None, history }], Some(name));
        for wrong in ["<script", "<img", "<b>", "<i>", "\u{202e}", "\0", "\"'>"] {
            assert!(!text.contains(wrong), "{wrong}: {text}");
        }
        assert!(text.contains("&lt;script&gt;") && text.contains("\\u{202e}txt.exe\\u{a}\\u{0}"), "{text}");
        assert_eq!(text.matches("alert(1)").count(), MAX_PATHS + 1);
        assert!(text.contains("and 992 that are not shown"));
    }

    #[test]
    fn a_long_name_is_cut() {
        assert_eq!(visible(&"a".repeat(10_000)).chars().count(), MAX_CHARS + 1);
    }
}
