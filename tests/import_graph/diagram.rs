//! The diagram of the packages on the architecture page: it is made from the manifests.

use std::fmt::Write as _;
use std::fs;

use super::{LAYERS, dependencies, repository};

/// The page, and the lines around the diagram.
const PAGE: &str = "host/guide/src/architecture.md";
const START: &str = "<!-- packages -->\n\n```text\n";
const END: &str = "```\n";

/// Packages of the Rust host in the order of their layers, each with the packages whose binaries it embeds.
const HOSTS: [(&str, &[&str]); 3] =
    [("host/rust", &["component", "host/supervisor"]), ("host/supervisor", &[]), ("host/snapshots", &[])];

/// Returns the packages of this repository that a manifest lists as dependencies, for every system or for some, in the
/// order of the manifest. Crates of the guest are named without `paddock-`, packages of the host by their directories.
pub(super) fn packages_in(manifest: &str) -> Vec<String> {
    let mut is_listed = false;
    let mut packages = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_listed = line == "[dependencies]" || (line.starts_with("[target.") && line.ends_with(".dependencies]"));
        } else if is_listed && let Some(package) = package(line) {
            packages.push(package);
        }
    }
    packages
}

/// Returns the package of this repository that a line of the dependencies names.
fn package(line: &str) -> Option<String> {
    let name = line.split(['.', ' ', '=']).next()?;
    match name.strip_prefix("paddock-")? {
        name @ ("snapshots" | "supervisor") => Some(format!("host/{name}")),
        name => Some(name.to_owned()),
    }
}

/// A line of the diagram.
struct Row {
    package: String,
    dependencies: Vec<String>,
    embedded: &'static [&'static str],
}

impl Row {
    fn of_guest(name: &str) -> Self {
        Self { package: name.to_owned(), dependencies: dependencies(name), embedded: &[] }
    }

    fn of_host(directory: &str, embedded: &'static [&'static str]) -> Self {
        let manifest = fs::read_to_string(repository().join(directory).join("Cargo.toml")).unwrap();
        Self { package: directory.to_owned(), dependencies: packages_in(&manifest), embedded }
    }

    fn text(&self) -> String {
        let mut text = self.dependencies.join(", ");
        if !self.embedded.is_empty() {
            write!(text, "; embeds {}", self.embedded.join(", ")).unwrap();
        }
        text
    }
}

/// Returns the diagram: a line for each package, the uppermost first, with the number of its level.
fn diagram() -> String {
    let guests = LAYERS.iter().map(|name| Row::of_guest(name));
    let hosts = HOSTS.iter().rev().map(|(directory, embedded)| Row::of_host(directory, embedded));
    let mut rows: Vec<(usize, Row)> = Vec::new();
    for row in guests.chain(hosts) {
        let below = |(_, other): &&(usize, Row)| {
            row.dependencies.contains(&other.package) || row.embedded.contains(&other.package.as_str())
        };
        let level = rows.iter().filter(below).map(|(level, _)| level + 1).max().unwrap_or(0);
        rows.push((level, row));
    }
    rows.sort_by_key(|(level, _)| std::cmp::Reverse(*level));
    let mut lines = "level  package          uses\n".to_owned();
    for (level, row) in rows {
        let line = format!("{level:>5}  {:<15}  {}", row.package, row.text());
        writeln!(lines, "{}", line.trim_end()).unwrap();
    }
    lines
}

/// The page describes each crate of the guest below the diagram, as the component's own documentation does.
#[test]
fn the_architecture_page_shows_the_packages() {
    let path = repository().join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(START).unwrap();
    let (current, after) = rest.split_once(END).unwrap();
    let generated = diagram();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{before}{START}{generated}{END}{after}")).unwrap();
    } else {
        assert!(current == generated, "{PAGE} shows other packages; BLESS=1 writes this:\n{generated}");
    }
    let library = fs::read_to_string(repository().join("guest/component/src/lib.rs")).unwrap();
    for name in LAYERS {
        assert!(after.contains(&format!("`{name}`")), "{PAGE} does not describe {name}");
        assert!(library.contains(&format!("`{name}`")), "guest/component/src/lib.rs does not describe {name}");
    }
}

/// The build script builds the embedded packages, and builds them again after a change of any of their crates. The crates
/// above the component are those of the component server.
#[test]
fn the_build_script_builds_what_the_host_embeds() {
    let script = fs::read_to_string(repository().join("host/rust/build.rs")).unwrap();
    for package in ["\"paddock-guest\"", "\"paddock-files-supervisor\""] {
        assert!(script.contains(package), "{package}");
    }
    for name in LAYERS.iter().take_while(|name| **name != "protocol") {
        assert!(script.contains(&format!("\n    \"{name}\",\n")), "host/rust/build.rs does not watch guest/{name}");
    }
}

#[test]
fn dependencies_are_read() {
    let manifest = "[package]\nname = \"paddock-x\"\n\n[dependencies]\nmemchr.workspace = true\npaddock-text.workspace = true\n\n[target.'cfg(target_os = \"linux\")'.dependencies]\n\
        paddock-supervisor.path = \"../supervisor\"\n\n[target.'cfg(unix)'.dev-dependencies]\npaddock-vfs.workspace = true\n\n\
        [build-dependencies]\npaddock-types.workspace = true\n";
    assert_eq!(packages_in(manifest), ["text", "host/supervisor"]);
}
