//! Paths that tools may read but not change, because programs that run later execute or obey their content.

use paddock_text::name_folding::fold;

/// Names that are protected at any depth, with everything below them, whether or not they exist.
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
    ".npmrc",
    ".paddock",
    ".paddock.json",
    ".paddock.toml",
    ".paddock.yaml",
    ".paddock.yml",
    ".roo",
    ".vscode",
    ".windsurf",
    ".yarnrc.yml",
    ".zed",
];

/// Returns the protected component of `path`, in any spelling that a file system treats as equal.
pub fn protected(path: &str) -> Option<&str> {
    path.split('/').find(|component| {
        let folded = fold(component);
        PROTECTED.contains(&folded.as_str()) || is_short_git(&folded)
    })
}

/// Returns whether a name is a short name of `.git` on NTFS: `GIT~1`, or `GI` with four digits of a hash.
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
    use paddock_text::name_folding::IGNORABLE;

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
            ".npmrc",
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
