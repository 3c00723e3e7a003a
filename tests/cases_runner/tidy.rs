//! Checks of the cases themselves: each is complete, no two are equal, and there are enough of them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};

use super::case::{file_name, folders};
use super::expect::is_plain;
use super::tree;

/// Minimum number of cases in total, and for each operation.
const ALL: usize = 250;
const EACH: usize = 15;
const OPERATIONS: [&str; 5] = ["read", "edit", "patch", "grep", "list"];

/// Fails with every defect of the cases in `folder`.
pub fn check(folder: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    let mut all = 0;
    for operation in OPERATIONS.iter().filter(|operation| !folder.join(operation).is_dir()) {
        wrong.push(format!("{operation}: no cases"));
    }
    for operation in folders(folder)? {
        let cases = folders(&operation)?;
        all += cases.len();
        let name = file_name(&operation);
        if OPERATIONS.contains(&name.as_str()) && cases.len() < EACH {
            wrong.push(format!("{name}: {} cases, fewer than {EACH}", cases.len()));
        }
        let mut numbers = BTreeSet::new();
        for case in &cases {
            check_case(case, &name, &mut numbers, &mut wrong)?;
        }
    }
    if all < ALL {
        wrong.push(format!("{all} cases, fewer than {ALL}"));
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

fn check_case(case: &Path, operation: &str, numbers: &mut BTreeSet<String>, wrong: &mut Vec<String>) -> Result<()> {
    let name = file_name(case);
    let number = name.split('_').next().unwrap_or_default();
    if number.len() != 3 || !number.bytes().all(|byte| byte.is_ascii_digit()) || number.len() == name.len() {
        wrong.push(format!("{operation}/{name}: the name is not NNN_name"));
    }
    if !numbers.insert(number.to_owned()) {
        wrong.push(format!("{operation}/{name}: the number is there twice"));
    }
    for file in ["call.json", "result.json"] {
        if !case.join(file).is_file() {
            wrong.push(format!("{operation}/{name}: no {file}"));
        }
    }
    let input = case.join("input");
    for path in if input.is_dir() { tree::read(&input)? } else { tree::Tree::new() }.keys() {
        if !is_plain(path) {
            let path = String::from_utf8_lossy(path);
            wrong.push(format!("{operation}/{name}: `{path}` in input/ belongs in `setup`"));
        }
    }
    Ok(())
}
