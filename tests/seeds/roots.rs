//! A root that the caller names through a symbolic link is reached by that name, in every dialect.

use std::os::unix::fs::symlink;

use paddock::{CallOptions, Workspace};
use serde_json::json;
use tempfile::TempDir;

#[test]
fn a_root_is_reached_by_the_name_that_the_caller_gave() {
    let home = TempDir::new().unwrap();
    let top = home.path().canonicalize().unwrap();
    let (real, link) = (top.join("real"), top.join("link"));
    std::fs::create_dir_all(real.join("sub")).unwrap();
    std::fs::create_dir(top.join("other")).unwrap();
    std::fs::write(real.join("sub/a.txt"), "inside\n").unwrap();
    std::fs::write(top.join("other/a.txt"), "outside\n").unwrap();
    symlink(&real, &link).unwrap();
    symlink(real.join("sub/a.txt"), real.join("absolute")).unwrap();
    let workspace = Workspace::builder().root(&link).build().unwrap();
    let read = |dialect: &str, tool: &str, argument: &str, path: &std::path::Path| {
        let arguments = match tool {
            "str_replace_based_edit_tool" => json!({"command": "view", argument: path}),
            _ => json!({argument: path}),
        };
        workspace.call_with(tool, &arguments.to_string(), &CallOptions::dialect(dialect))
    };
    let tools = [
        ("paddock", "read_file", "path"),
        ("codex", "read_file", "file_path"),
        ("anthropic", "str_replace_based_edit_tool", "path"),
        ("mcp-filesystem", "read_text_file", "path"),
        ("weakincentives", "read_file", "path"),
        ("dispatch", "read_file", "path"),
        ("chorus", "file.read", "path"),
        ("dotnet-prompt", "read_file", "file_path"),
        ("lincona", "read_file", "path"),
    ];
    for (dialect, tool, argument) in tools {
        for top in [&real, &link] {
            let outcome = read(dialect, tool, argument, &top.join("sub/a.txt"));
            assert!(outcome.ok && outcome.text.contains("inside"), "{dialect} {top:?}: {}", outcome.text);
        }
        let refused = read(dialect, tool, argument, &link.join("absolute"));
        assert!(!refused.ok && refused.text.contains("or has an absolute target"), "{dialect}: {}", refused.text);
        let outside = read(dialect, tool, argument, &top.join("other/a.txt"));
        assert!(!outside.ok && !outside.text.contains("outside\n"), "{dialect}: {}", outside.text);
    }
    // The workspace holds the directory. A link that is turned to another one leads no call there.
    std::fs::remove_file(&link).unwrap();
    symlink(top.join("other"), &link).unwrap();
    let outcome = read("paddock", "read_file", "path", &link.join("sub/a.txt"));
    assert!(outcome.ok && outcome.text.contains("inside"), "{}", outcome.text);
    assert!(!read("paddock", "read_file", "path", &link.join("a.txt")).ok);
}
