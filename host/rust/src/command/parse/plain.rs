//! Words without expansions.

use brush_parser::ParserOptions;
use brush_parser::ast::Word;
use brush_parser::word::{self, WordPiece};

/// Returns the text of a word without expansions; `None` for any other word.
pub(super) fn plain(word: &Word) -> Option<String> {
    // A `[` alone is a command.
    if word.value == "[" {
        return Some(word.value.clone());
    }
    let pieces = word::parse(&word.value, &ParserOptions::default()).ok()?;
    let mut text = String::new();
    for piece in &pieces {
        match &piece.piece {
            // These characters are expanded unless they are quoted.
            WordPiece::Text(part) if part.contains(['*', '?', '[', '{']) => return None,
            part => push_plain(&mut text, part)?,
        }
    }
    Some(text)
}

fn push_plain(text: &mut String, piece: &WordPiece) -> Option<()> {
    match piece {
        WordPiece::Text(part) | WordPiece::SingleQuotedText(part) => text.push_str(part),
        WordPiece::EscapeSequence(part) => text.push_str(part.strip_prefix('\\').unwrap_or(part)),
        WordPiece::DoubleQuotedSequence(inner) => {
            for piece in inner {
                push_plain(text, &piece.piece)?;
            }
        }
        _ => return None,
    }
    Some(())
}
