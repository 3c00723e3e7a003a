//! Links, paths, the guide's summary, and the README's length.

use std::fs;
use std::path::Path;

use super::pages::{self, GUIDE, Page};
use super::repository;

/// Returns the targets of the links and pictures in the prose.
fn targets(page: &Page) -> Vec<String> {
    let prose = page.prose();
    let targets = prose.split("](").skip(1).map(|rest| rest.split_once(')').unwrap().0.to_owned());
    targets.filter(|target| !target.starts_with("https://")).collect()
}

/// Returns the anchor of a heading, as GitHub and mdbook generate it.
fn anchor(heading: &str) -> String {
    let anchor_char = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c => c.is_alphanumeric().then(|| c.to_ascii_lowercase()),
    };
    heading.chars().filter_map(anchor_char).collect()
}

/// Fails if `target` names no file, or no heading in it.
fn check(page: &Page, target: &str) {
    let (file, fragment) = target.split_once('#').map_or((target, None), |(file, name)| (file, Some(name)));
    let directory = Path::new(&page.path).parent().unwrap();
    let path = if file.is_empty() { page.path.clone().into() } else { directory.join(file) };
    assert!(repository().join(&path).exists(), "{}: `{target}` leads to no file", page.path);
    let Some(fragment) = fragment else { return };
    let text = fs::read_to_string(repository().join(&path)).unwrap();
    let linked = Page { path: path.display().to_string(), text };
    let anchors: Vec<_> = linked.headings().iter().map(|heading| anchor(heading)).collect();
    assert!(anchors.iter().any(|anchor| anchor == fragment), "{}: `{target}` leads to no heading", page.path);
}

#[test]
fn every_link_leads_somewhere() {
    let mut links = 0;
    for page in pages::all().into_iter().chain([pages::contributing()]) {
        for target in targets(&page) {
            check(&page, &target);
            links += 1;
        }
    }
    assert!(links >= 60, "{links} links");
}

/// The guide is built from its own directory: a link out of it would be broken there.
#[test]
fn the_guide_links_to_its_own_pages() {
    for name in pages::names().into_iter().chain(pages::decisions()) {
        let directory = Path::new(&name).parent().unwrap();
        for target in targets(&pages::guide(&name)) {
            let inside = target.strip_prefix("../").filter(|_| directory != Path::new("")).unwrap_or(&target);
            assert!(!inside.contains('/'), "{name}.md: `{target}` is outside of the guide");
        }
    }
}

#[test]
fn the_summary_has_every_page_once() {
    let mut listed: Vec<_> = targets(&pages::guide("SUMMARY"));
    listed.sort();
    let names = pages::names().into_iter().chain(pages::decisions());
    let mut pages: Vec<_> = names.map(|name| format!("{name}.md")).collect();
    pages.sort();
    assert_eq!(listed, pages);
}

#[test]
fn the_readme_links_to_every_page() {
    let readme = targets(&pages::readme());
    for name in pages::names().iter().filter(|name| *name != "introduction") {
        assert!(readme.contains(&format!("{GUIDE}/{name}.md")), "{name}.md");
    }
}

/// Every picture has a text for readers who do not see pictures.
#[test]
fn every_picture_has_a_text() {
    let mut pictures = 0;
    for page in pages::all() {
        for picture in page.prose().split("![").skip(1) {
            let (text, rest) = picture.split_once("](").unwrap();
            assert!(text.len() > 20, "{}: `{text}`", page.path);
            let (target, _) = rest.split_once(')').unwrap();
            let file = repository().join(Path::new(&page.path).parent().unwrap()).join(target);
            let is_described = || fs::read_to_string(&file).unwrap().contains("<desc id=\"text\">");
            assert!(!target.ends_with(".svg") || is_described(), "{}: {target}", page.path);
            pictures += 1;
        }
    }
    assert!(pictures >= 4, "{pictures} pictures");
}

#[test]
fn the_readme_is_short() {
    let lines = pages::readme().text.lines().count();
    assert!(lines <= 250, "{lines} lines");
}

#[test]
fn every_path_that_is_named_exists() {
    let tops = ["wit/", "guest/", "host/", "tests/", "benches/", ".ci/"];
    let mut paths = 0;
    for page in pages::all().into_iter().chain([pages::contributing()]) {
        let spans = page.code_spans();
        // `NAME` is a placeholder for the reader's value.
        let named = spans.iter().filter(|code| tops.iter().any(|top| code.starts_with(top)) && !code.contains("NAME"));
        for path in named {
            // The arguments of a script follow its path.
            let path = path.split(' ').next().unwrap();
            assert!(repository().join(path).exists(), "{}: {path}", page.path);
            paths += 1;
        }
    }
    assert!(paths >= 20, "{paths} paths");
}
