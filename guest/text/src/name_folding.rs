//! Folding of names that some file system treats as the same name.

/// Folds case, and removes the characters that file systems ignore in names.
pub fn fold(name: &str) -> String {
    // Nearly all names are ASCII, and every resolved path is folded.
    if name.is_ascii() {
        let name = name.split_once(':').map_or(name, |(file, _stream)| file);
        return name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    }
    // Upper case first, so that `ſ` and the Kelvin sign become ASCII too.
    visible(name).chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Removes the parts of a name that file systems ignore: invisible characters, trailing dots and spaces, stream names.
pub fn visible(name: &str) -> String {
    let name = name.split_once(':').map_or(name, |(file, _stream)| file);
    let visible: String = name.chars().filter(|c| !is_ignorable(*c)).collect();
    visible.trim_end_matches(['.', ' ']).to_owned()
}

/// Code points that file systems ignore: Unicode's `Default_Ignorable_Code_Point`, which the kernel's case folding
/// ignores on ext4, f2fs and tmpfs. They include U+200B to U+200F, U+202A to U+202E and U+206A to U+206F, which HFS+
/// ignores.
fn is_ignorable(c: char) -> bool {
    IGNORABLE.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// `DerivedCoreProperties.txt` of Unicode 16.0.
pub const IGNORABLE: [(char, char); 17] = [
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
