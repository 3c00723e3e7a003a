//! Facts that the pages state and the program defines: the policy, dialects, tools, sizes.

use std::fs;

use serde_json::Value;

use super::{pages, repository, run};

#[test]
fn the_table_of_the_policy_is_that_of_the_program() {
    let temporary = tempfile::tempdir().unwrap();
    let table = String::from_utf8(run("policy table", temporary.path()).stdout).unwrap();
    assert!(table.lines().count() > 20, "{table}");
    let page = pages::guide("policy").text;
    assert!(page.contains(&format!("\n\n{table}\n")), "`paddock policy table` prints another table:\n{table}");
}

/// Every block of YAML is a valid policy, and the block on the page about the policy has the described effects.
#[test]
fn every_policy_is_one() {
    let mut policies = 0;
    for page in pages::all() {
        for text in page.blocks_in("yaml") {
            let temporary = tempfile::tempdir().unwrap();
            fs::write(temporary.path().join("policy.yaml"), &text).unwrap();
            let output = run("policy show --json --policy policy.yaml", temporary.path());
            let output: Value = serde_json::from_slice(&output.stdout).expect(&page.path);
            if page.path.ends_with("/policy.md") {
                assert_eq!(output["limits.max_file_bytes"]["value"], 1_000_000);
                assert_eq!(output["allowed_directories"]["value"][1]["access"], "read-only");
            } else {
                assert_eq!(output["commands.enabled"]["value"], true, "{}", page.path);
            }
            policies += 1;
        }
    }
    assert!(policies >= 2, "{policies} policies");
}

#[test]
fn every_setting_that_is_named_exists() {
    let table = paddock::policy_table();
    let mut settings = 0;
    for page in pages::all() {
        for code in page.code_spans() {
            let name = code.split(':').next().unwrap();
            let is_setting = ["commands.", "limits.", "backups."].iter().any(|group| name.starts_with(group));
            if is_setting {
                assert!(table.contains(&format!("| `{name}` |")), "{}: `{code}`", page.path);
                settings += 1;
            }
        }
    }
    assert!(settings >= 40, "{settings} settings");
}

#[test]
fn all_json_is_json() {
    let blocks: Vec<_> = pages::all().iter().flat_map(|page| page.blocks_in("json")).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        serde_json::from_str::<Value>(&block).expect(&block);
    }
}

/// A block without a language would be compiled as Rust with the documentation.
#[test]
fn every_block_has_a_language_and_all_rust_is_compiled() {
    let library = fs::read_to_string(repository().join("host/rust/src/lib.rs")).unwrap();
    for page in pages::all() {
        let blocks = page.blocks();
        assert!(blocks.iter().all(|block| !block.language.is_empty()), "{}", page.path);
        let has_rust = blocks.iter().any(|block| block.language.starts_with("rust"));
        let included = format!("#[doc = include_str!(\"../../../{}\")]", page.path);
        assert!(!has_rust || library.contains(&included), "{}: `host/rust/src/lib.rs` does not include it", page.path);
    }
}

#[test]
fn all_dialects_and_tools_are_listed() {
    let (readme, dialects) = (pages::readme().text, pages::guide("dialects").text);
    for name in paddock::dialects().unwrap() {
        let tools = paddock::tools(&name).unwrap().len();
        assert!(readme.contains(&format!("\n| `{name}` | {tools} | ")), "{name}: {tools} tools");
        assert!(dialects.contains(&format!("\n| `{name}` | ")), "{name}");
    }
    let list = pages::guide("tools").code_spans();
    let short = pages::readme().code_spans();
    for tool in paddock::tools("paddock").unwrap() {
        assert!(list.contains(&tool.name) && short.contains(&tool.name), "{}", tool.name);
    }
}

/// The table of limits has the defaults of the policy.
#[test]
fn the_limits_are_the_defaults() {
    let page = pages::guide("limits").text;
    let limits = paddock::Limits::default();
    let of_1024 = |bytes: u64| match bytes.trailing_zeros() {
        30.. => format!("{} GiB", bytes >> 30),
        20.. => format!("{} MiB", bytes >> 20),
        _ => format!("{} KiB", bytes >> 10),
    };
    let of_1000 = |count: u64| format!("{},{:03}", count / 1000, count % 1000);
    let rows = [
        ("lines of a result", of_1000(limits.max_lines)),
        ("characters of a line", of_1000(limits.max_line_chars as u64)),
        ("text of a result: content of files, matches, diffs", of_1024(limits.max_result_bytes as u64)),
        ("size of a file that is held in memory (edits, patches, etags)", of_1024(limits.max_file_bytes)),
        ("entries of one copy or delete", of_1000(limits.max_files)),
        ("bytes of one copy", of_1024(limits.max_copy_bytes)),
        ("time of a call", format!("{} s", limits.max_time_ms / 1000)),
        ("memory of a call", of_1024(limits.max_memory_bytes)),
        ("bytes of a [tree in memory](memory.md)", of_1024(limits.max_tree_bytes)),
    ];
    for (limit, default) in rows {
        assert!(page.contains(&format!("\n| {limit} | {default} |")), "{limit}: {default}");
    }
}

/// The code that confines the component has at most as many lines as the page says.
#[test]
fn the_providers_have_no_more_lines_than_it_says() {
    let page = pages::guide("security").text;
    for directory in ["host/rust/src/wasi", "host/node/src/wasi"] {
        let (_, stated) = page.split_once(&format!("`{directory}`, under ")).unwrap();
        let stated: usize = stated.split_once(['.', ')', ';', ' ']).unwrap().0.replace(',', "").parse().unwrap();
        let files = fs::read_dir(repository().join(directory)).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.is_file() && path.file_stem().unwrap() != "tests");
        let lines: usize = files.map(|path| fs::read_to_string(path).unwrap().lines().count()).sum();
        assert!(lines < stated && lines * 3 > stated * 2, "{directory}: {lines} lines, the page says {stated}");
    }
}
