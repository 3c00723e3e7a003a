//! Workspaces in memory that start with copies of directories.

use std::fs;

use paddock::types::ErrorCode;
use paddock::{HostMount, Policy, Workspace};
use tempfile::TempDir;

use super::{read, workspace_of, write};

struct Source(TempDir);

impl Source {
    fn new() -> Self {
        let source = Self(TempDir::new().unwrap());
        for (path, content) in [
            ("src/main.rs", "fn main() {}\n"),
            ("src/notes.md", "notes\n"),
            ("target/main.o", "object\n"),
            (".gitignore", "target\n"),
            (".agentignore", "*.key\n"),
            ("src/private.key", "secret\n"),
        ] {
            let path = source.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::create_dir(source.0.path().join("empty")).unwrap();
        source
    }

    fn mount(&self) -> HostMount {
        HostMount::new(self.0.path())
    }
}

#[test]
fn a_directory_is_copied_without_its_ignored_paths() {
    let source = Source::new();
    let workspace = Workspace::builder().host_mount(source.mount()).build_memory().unwrap();
    assert_eq!(read(&workspace, "src/main.rs"), "fn main() {}\n");
    assert_eq!(read(&workspace, "target/main.o"), "object\n", "what git ignores is there");
    let archive = workspace.snapshot().unwrap();
    assert!(!String::from_utf8_lossy(&archive).contains("secret"));
    assert!(workspace.call("stat", r#"{"path": "empty"}"#).ok);
    assert_eq!(write(&workspace, "src/other.key", "x")["code"], "denied", "the rules came along");
    write(&workspace, "src/main.rs", "changed");
    assert_eq!(fs::read_to_string(source.0.path().join("src/main.rs")).unwrap(), "fn main() {}\n");
}

#[cfg(unix)]
#[test]
fn no_link_is_followed() {
    let (source, outside) = (Source::new(), TempDir::new().unwrap());
    fs::write(outside.path().join("canary"), "canary").unwrap();
    let link = |target: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(target, source.0.path().join(name)).unwrap();
    };
    link(outside.path(), "absolute");
    let sibling = std::path::Path::new("..").join(outside.path().file_name().unwrap());
    link(&sibling, "relative");
    link("src/main.rs".as_ref(), "inside");
    let workspace = Workspace::memory(Policy::default()).unwrap();
    let mounted = workspace.copy_in(&source.mount()).unwrap();
    assert_eq!((mounted.files, mounted.absolute_links, mounted.skipped.denied), (5, 1, 1));
    assert_eq!(read(&workspace, "inside"), "fn main() {}\n");
    assert_eq!(read(&workspace, "relative/canary"), "outside-workspace");
    assert_eq!(read(&workspace, "absolute/canary"), "not-found");
    assert!(!String::from_utf8_lossy(&workspace.snapshot().unwrap()).contains("canary"));
}

#[test]
fn globs_and_limits_select_the_copied_files() {
    let source = Source::new();
    let workspace = Workspace::memory(Policy::default()).unwrap();
    let rust = source.mount().with_mount_path("/code/rust/").with_include_glob(["*.rs", "src/*.md"]);
    assert_eq!(workspace.copy_in(&rust).unwrap().files, 2);
    assert_eq!(read(&workspace, "code/rust/src/main.rs"), "fn main() {}\n");
    assert_eq!(read(&workspace, "code/rust/target/main.o"), "not-found");
    let without = source.mount().with_mount_path("rest").with_exclude_glob(["target", "*.md"]);
    let mounted = workspace.copy_in(&without).unwrap();
    assert_eq!((mounted.files, mounted.bytes), (3, 26));
    let exact = without.clone().with_mount_path("exact").with_max_bytes(26);
    assert_eq!(workspace.copy_in(&exact).unwrap().bytes, 26);
    let before = workspace.snapshot().unwrap();
    for (mount, code) in [
        (without.clone().with_mount_path("over").with_max_bytes(25), ErrorCode::LimitExceeded),
        (without.clone().with_mount_path("../out"), ErrorCode::OutsideWorkspace),
        (source.mount().with_include_glob(["["]), ErrorCode::InvalidArgument),
        (HostMount::new("/none/such"), ErrorCode::NotFound),
        (exact, ErrorCode::InvalidArgument),
    ] {
        let error = workspace.copy_in(&mount).unwrap_err();
        assert_eq!(error.code, code, "{mount:?}: {error:?}");
        assert_eq!(workspace.snapshot().unwrap(), before);
    }
    let refused = workspace_of(25).copy_in(&without).unwrap_err();
    assert_eq!(refused.code, ErrorCode::LimitExceeded);
}

#[test]
fn an_invalid_mount_opens_no_workspace() {
    let mount = HostMount::new("/none/such");
    let refused = Workspace::builder().host_mount(mount).build_memory().err().unwrap();
    assert_eq!(refused.to_string(), "cannot mount `/none/such`");
    let cause = std::error::Error::source(&refused).unwrap().to_string();
    assert!(cause.starts_with("cannot open the root `/none/such`"), "{cause}");
}
