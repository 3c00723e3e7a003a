//! A root that the caller names through a symbolic link can be reached by that name, in every dialect.

use std::os::unix::fs::symlink;

use paddock::{Access, CallOptions, Workspace};
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
        let absolute = read(dialect, tool, argument, &link.join("absolute"));
        assert!(absolute.ok && absolute.text.contains("inside"), "{dialect}: {}", absolute.text);
        let outside = read(dialect, tool, argument, &top.join("other/a.txt"));
        assert!(!outside.ok && !outside.text.contains("outside\n"), "{dialect}: {}", outside.text);
    }
    // The workspace holds the directory open, so a link that later leads to another directory does not redirect calls.
    std::fs::remove_file(&link).unwrap();
    symlink(top.join("other"), &link).unwrap();
    let outcome = read("paddock", "read_file", "path", &link.join("sub/a.txt"));
    assert!(outcome.ok && outcome.text.contains("inside"), "{}", outcome.text);
    assert!(!read("paddock", "read_file", "path", &link.join("a.txt")).ok);
}

/// Absolute targets of links are resolved below a root, by each of its names, and nowhere else.
#[test]
fn an_absolute_link_leads_to_a_root_and_no_further() {
    let home = TempDir::new().unwrap();
    let top = home.path().canonicalize().unwrap();
    for directory in ["root/dir", "root2", "further", "outside"] {
        std::fs::create_dir_all(top.join(directory)).unwrap();
        std::fs::write(top.join(directory).join("a.txt"), format!("{directory}\n")).unwrap();
    }
    let root = top.join("root");
    symlink(&root, top.join("link")).unwrap();
    let links = [
        ("whole", root.clone(), Some("root/dir")),
        ("file", root.join("dir/a.txt"), Some("root/dir")),
        ("by_alias", top.join("link/dir/a.txt"), Some("root/dir")),
        ("further", top.join("further/a.txt"), Some("further")),
        ("up", root.join("dir/../dir/a.txt"), Some("root/dir")),
        ("out_and_in", root.join("../root/dir/a.txt"), None),
        ("sibling", top.join("root2/a.txt"), None),
        ("outside", top.join("outside/a.txt"), None),
        ("guest", "/workspace/dir/a.txt".into(), None),
        ("loop", root.join("loop"), None),
    ];
    for (name, target, _) in &links {
        symlink(target, root.join(name)).unwrap();
    }
    let builder = Workspace::builder().root(top.join("link"));
    let workspace = builder.further_root(top.join("further"), Access::ReadWrite).build().unwrap();
    let call = |tool: &str, arguments: serde_json::Value| workspace.call(tool, &arguments.to_string());
    for (name, _, holds) in &links {
        let path = if *name == "whole" { "whole/dir/a.txt" } else { name };
        let read = call("read_file", json!({"path": path}));
        assert_eq!(read.ok, holds.is_some(), "{name}: {}", read.text);
        assert!(holds.is_none_or(|text| read.text.contains(text)), "{name}: {}", read.text);
        let refused = ["leads outside the workspace or has an absolute target", "too many symbolic links"];
        assert!(read.ok || refused.iter().any(|words| read.text.contains(words)), "{name}: {}", read.text);
        assert!(read.ok || !read.text.contains(top.to_str().unwrap()), "{name}: {}", read.text);
        // The error of a refused link does not reveal its target, and a write through it changes nothing.
        let stat = call("stat", json!({"path": name}));
        assert_eq!(stat.text.contains("link target"), holds.is_some(), "{name}: {}", stat.text);
    }
    assert!(call("write_file", json!({"path": "by_alias", "content": "new\n"})).ok);
    assert_eq!(std::fs::read_to_string(root.join("dir/a.txt")).unwrap(), "new\n");
    assert!(!call("write_file", json!({"path": "sibling", "content": "new\n"})).ok);
    assert_eq!(std::fs::read_to_string(top.join("root2/a.txt")).unwrap(), "root2\n");
    // A link keeps its target when it is deleted and restored, copied and moved.
    let target = |name: &str| std::fs::read_link(root.join(name)).unwrap();
    assert!(call("delete", json!({"path": "file"})).ok && std::fs::symlink_metadata(root.join("file")).is_err());
    let restored = call("restore", json!({"path": "file"}));
    assert!(restored.ok, "{}", restored.text);
    assert_eq!(target("file"), root.join("dir/a.txt"));
    let copied = call("copy", json!({"source": "file", "destination": "dir/copy"}));
    assert!(copied.ok, "{}", copied.text);
    assert_eq!(target("dir/copy"), root.join("dir/a.txt"));
    // If a link changes between two calls, the second call follows the new target.
    std::fs::remove_file(root.join("file")).unwrap();
    symlink(top.join("root2/a.txt"), root.join("file")).unwrap();
    assert!(!call("read_file", json!({"path": "file"})).ok);
    // The name of the root leads to the open directory, even if another directory has the name now.
    std::fs::remove_file(top.join("link")).unwrap();
    symlink(top.join("outside"), top.join("link")).unwrap();
    let read = call("read_file", json!({"path": "by_alias"}));
    assert!(read.ok && read.text.contains("new"), "{}", read.text);
}
