//! The picture of a terminal: commands that run here, and their output.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{compare_or_bless, project, run};

const FILE: &str = "host/guide/src/recording.svg";

/// The commands, as a shell runs them: `paddock` with `jq` behind it, or `ln`.
const COMMANDS: [&str; 6] = [
    r#"paddock call grep '{"pattern": "colou?r", "glob": "*.{rs,txt}"}' | jq -r .text"#,
    r#"paddock call edit_file '{"path": "notes.txt", "edits": [{"old_text": "colour", "new_text": "color"}]}' | jq -r .text"#,
    r"paddock restore notes.txt | jq -r .text",
    r#"paddock call read_file '{"path": "../../etc/passwd"}' | jq -r .error.message"#,
    r"ln -s /etc shortcut",
    r#"paddock call read_file '{"path": "shortcut/passwd"}' | jq -r .error.message"#,
];

const COLUMNS: usize = 96;
const CHARACTER: f64 = 8.43;
const LINE: f64 = 20.0;
const LEFT: f64 = 20.0;
const TOP: f64 = 62.0;

/// A line of the terminal and its colour.
struct Line {
    text: String,
    class: &'static str,
}

/// Returns the output of `command` in `directory`.
fn printed(command: &str, directory: &Path) -> String {
    let Some((call, filter)) = command.split_once(" | jq -r .") else {
        let mut words = command.split(' ');
        assert_eq!(words.next(), Some("ln"));
        assert!(Command::new("ln").args(words).current_dir(directory).status().unwrap().success());
        return String::new();
    };
    let output = run(call.strip_prefix("paddock ").unwrap(), directory);
    let outcome: Value = serde_json::from_slice(&output.stdout).expect(command);
    let member = filter.split('.').fold(&outcome, |value, name| &value[name]);
    with_fixed_backup(member.as_str().expect(command).trim_end())
}

/// Replaces the id of a backup, which is the time of this run.
fn with_fixed_backup(text: &str) -> String {
    const BEFORE: &str = "backup ";
    const ID: &str = "1795322715123";
    let Some((before, after)) = text.split_once(BEFORE) else { return text.to_owned() };
    let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    format!("{before}{BEFORE}{ID}{rest}")
}

/// Wraps the text at spaces to lines of at most [`COLUMNS`].
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        if lines.last().unwrap().chars().count() + word.trim_end().chars().count() > COLUMNS {
            lines.push("    ".to_owned());
        }
        *lines.last_mut().unwrap() += word;
    }
    lines
}

fn lines_of(command: &str, printed: &str) -> Vec<Line> {
    let is_refused = command.ends_with(".error.message");
    let class = |line: &str| match line.chars().next() {
        _ if is_refused => "refused",
        Some('+') => "added",
        Some('-') => "removed",
        _ => "output",
    };
    let typed = wrapped(&format!("$ {command}")).into_iter().map(|text| Line { text, class: "typed" });
    let blank = std::iter::once(Line { text: String::new(), class: "output" });
    let output =
        printed.lines().flat_map(|line| wrapped(line).into_iter().map(move |text| Line { text, class: class(line) }));
    typed.chain(output).chain(blank).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn drawn(lines: &[Line]) -> String {
    let width = LEFT * 2.0 + CHARACTER * COLUMNS as f64;
    let height = TOP + LINE * lines.len() as f64;
    let all = lines.iter().map(|line| line.text.trim_end()).collect::<Vec<_>>().join("\n");
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" aria-labelledby="title text">
<title id="title">A terminal in which paddock searches, edits and restores a file, and refuses to read outside of the workspace</title>
<desc id="text">{}</desc>
<style>
text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }}
.typed {{ fill: #f0f3f6; font-weight: 600; }} .output {{ fill: #b6c2cf; }} .added {{ fill: #7ee2a8; }} .removed {{ fill: #ffa198; }} .refused {{ fill: #f2cc60; }}
</style>
<rect width="100%" height="100%" rx="10" fill="#1b2420"/>
<circle cx="22" cy="20" r="6" fill="#4a5a52"/><circle cx="42" cy="20" r="6" fill="#4a5a52"/><circle cx="62" cy="20" r="6" fill="#4a5a52"/>
"##,
        escaped(&all)
    );
    for (index, Line { text, class }) in lines.iter().enumerate() {
        let y = TOP - LINE * 0.3 + LINE * index as f64;
        let text = escaped(text.trim_end());
        writeln!(svg, r#"<text x="{LEFT}" y="{y:.0}" class="{class}" xml:space="preserve">{text}</text>"#).unwrap();
    }
    svg + "</svg>\n"
}

#[test]
fn the_recording_equals_the_output_of_the_program() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path().join("project");
    project(&directory);
    fs::remove_file(directory.join("change.json")).unwrap();
    let record = |command: &&str| lines_of(command, &printed(command, &directory));
    let mut lines: Vec<_> = COMMANDS.iter().flat_map(record).collect();
    lines.pop();
    assert!(lines.iter().any(|line| line.class == "refused"));
    compare_or_bless(FILE, &drawn(&lines));
}
