//! The commands that a person types (`$ paddock …`), each with the output that the page shows below it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{pages, project, run};

/// A command, without `paddock`, and the lines of output that the page shows.
struct Step {
    command: String,
    expected_output: Vec<String>,
}

fn steps(page: &pages::Page) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in page.blocks_in("console").iter().flat_map(|block| block.lines()) {
        if let Some(command) = line.strip_prefix("$ paddock ") {
            steps.push(Step { command: command.to_owned(), expected_output: Vec::new() });
        } else {
            steps.last_mut().expect(line).expected_output.push(line.to_owned());
        }
    }
    steps
}

/// Returns whether `expected_output` equals `printed`, where each `…` in `expected_output` matches any text.
fn matches_output(expected_output: &str, printed: &str) -> bool {
    let Some((before, last)) = expected_output.rsplit_once('…') else { return expected_output == printed };
    let mut parts = before.split('…');
    let Some(rest) = printed.strip_prefix(parts.next().unwrap()) else { return false };
    let rest = parts.try_fold(rest, |rest, part| Some(rest.split_once(part)?.1));
    rest.is_some_and(|rest| rest.ends_with(last))
}

/// Returns whether the lines equal the printed lines, where a line `…` matches all further lines.
fn match_output(expected_output: &[String], printed: &str) -> bool {
    match expected_output.split_last() {
        Some((last, before)) if last == "…" => {
            let lines: Vec<_> = printed.lines().take(before.len()).collect();
            lines == before
        }
        _ => printed.lines().collect::<Vec<_>>() == expected_output,
    }
}

fn check(Step { command, expected_output }: &Step, directory: &Path) {
    let output = run(command, directory);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let is_call = command.starts_with("call ") || command.starts_with("restore ");
    match expected_output.first() {
        Some(first) if first.starts_with(r#"{"ok":false"#) => {
            assert!(matches_output(first, stdout.trim_end()) && output.status.code() == Some(1), "{command}: {stdout}");
        }
        Some(first) if first.starts_with('{') => {
            let lines: String = expected_output.iter().map(|line| line.trim_start()).collect();
            assert!(matches_output(&lines, stdout.trim_end()), "{command}: {stdout}");
        }
        Some(_) => assert!(output.status.success() && match_output(expected_output, &stdout), "{command}: {stdout}"),
        None if is_call => {
            let outcome: Value = serde_json::from_str(&stdout).expect(command);
            assert_eq!(outcome["ok"], true, "{command}: {stdout}");
        }
        None => assert!(output.status.success() && !stdout.is_empty(), "{command}: {stdout}"),
    }
    assert!(command != "history" || stdout.contains("notes.txt"), "{stdout}");
}

/// Returns the content of `notes.txt` after the tour of a page.
fn notes_after(page: &str) -> &'static str {
    if page.ends_with("overlays.md") { "The color is red.\n" } else { "The colour is TODO.\n" }
}

#[test]
fn the_commands_of_each_page_have_the_documented_output() {
    let mut tried = 0;
    for page in pages::all() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().join("project");
        project(&directory);
        for step in steps(&page) {
            check(&step, &directory);
            tried += 1;
        }
        assert_eq!(fs::read_to_string(directory.join("notes.txt")).unwrap(), notes_after(&page.path), "{}", page.path);
        assert!(!directory.join("plan.txt").exists());
    }
    assert!(tried >= 30, "{tried} commands");
}

#[test]
fn the_readme_has_a_tour() {
    let tour = steps(&pages::readme());
    assert!(tour.len() >= 10, "{} commands", tour.len());
    assert!(tour.iter().filter(|step| !step.expected_output.is_empty()).count() >= 5);
}
