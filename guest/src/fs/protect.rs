//! Paths that tools may read and not change, because a program that runs later
//! takes orders from them.

/// Names that are protected at any depth, with all below them, there or not.
const PROTECTED: &[&str] = &[
    ".agentignore",
    ".aider.conf.yml",
    ".amazonq",
    ".claude",
    ".clinerules",
    ".codex",
    ".continue",
    ".cursor",
    ".devcontainer",
    ".envrc",
    ".gemini",
    ".git",
    ".gitmodules",
    ".husky",
    ".idea",
    ".kiro",
    ".mcp.json",
    ".paddock",
    ".paddock.json",
    ".paddock.toml",
    ".paddock.yaml",
    ".paddock.yml",
    ".roo",
    ".vscode",
    ".windsurf",
    ".zed",
];

/// The component of `path` that is protected, under any spelling that some file system folds to it.
pub fn protected(path: &str) -> Option<&str> {
    path.split('/').find(|component| {
        let folded = fold(component);
        PROTECTED.contains(&folded.as_str()) || is_short_git(&folded)
    })
}

/// Case folded, and without what file systems ignore in names.
pub fn fold(name: &str) -> String {
    // Nearly all names are, and every path that is looked at is folded.
    if name.is_ascii() {
        let name = name.split_once(':').map_or(name, |(file, _stream)| file);
        return name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    }
    // Through upper case, so that `ſ` and the Kelvin sign become ASCII too.
    visible(name).chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Without what file systems ignore in names: invisible characters, trailing dots and
/// spaces, and the name of a stream.
pub fn visible(name: &str) -> String {
    let name = name.split_once(':').map_or(name, |(file, _stream)| file);
    let visible: String = name.chars().filter(|c| !is_ignorable(*c)).collect();
    visible.trim_end_matches(['.', ' ']).to_owned()
}

/// Unicode's `Default_Ignorable_Code_Point`, which the kernel's case folding on ext4, f2fs and tmpfs leaves out, and
/// U+200B to U+200F, U+202A to U+202E and U+206A to U+206F, which HFS+ does; each is among the former.
fn is_ignorable(c: char) -> bool {
    IGNORABLE.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// `DerivedCoreProperties.txt` of Unicode 16.0.
const IGNORABLE: [(char, char); 17] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// NTFS gives `.git` the short name `GIT~1`, or `GI` with four digits of a hash.
fn is_short_git(folded: &str) -> bool {
    folded.strip_prefix("gi").is_some_and(|rest| {
        rest.split_once('~').is_some_and(|(stem, number)| {
            let hash = stem.len() == 4 && stem.chars().all(|c| c.is_ascii_hexdigit());
            (stem == "t" || hash) && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_protected_name_is_protected() {
        let spellings = [
            ".git/hooks/pre-commit",
            "sub/.git/config",
            ".GIT",
            ".g\u{200c}it/config",
            ".git. ",
            ".git::$INDEX_ALLOCATION/config",
            "GIT~1/config",
            "gi7eba~1",
            ".v\u{17f}code/tasks.json",
            ".Cursor/mcp.json",
            ".mcp.json",
            ".paddock.yaml",
            "sub/.Paddock.YML",
            ".paddock.toml. ",
            ".paddock.json::$DATA",
        ];
        for spelling in spellings {
            assert!(protected(spelling).is_some(), "{spelling}");
        }
    }

    #[test]
    fn no_character_that_a_file_system_ignores_hides_a_protected_name() {
        for (first, last) in IGNORABLE {
            for c in first..=last {
                assert!(protected(&format!(".g{c}it/config")).is_some(), "U+{:04X}", u32::from(c));
                assert!(protected(&format!("{c}.agentignore")).is_some(), "U+{:04X}", u32::from(c));
            }
        }
        assert_eq!(protected(".g\u{301}it"), None);
    }

    #[test]
    fn neighbours_are_not() {
        for path in [
            ".github/workflows/ci.yml",
            ".gitignore",
            ".gitattributes",
            "git/config",
            "a.git",
            "digit~1",
            "gigabyte~x",
            "git~",
            "git~x",
            "git~1x",
            "gi7eb~1",
            "gi7ebaa~1",
            "giants~1",
            "gizz~1",
            "paddock.yaml",
        ] {
            assert_eq!(protected(path), None, "{path}");
        }
    }
}
