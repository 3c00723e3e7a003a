//! Strings of JSON.

use crate::block::Block;
use crate::writer::Writer;

/// Appends `text` as a JSON string, with quotation marks and the escapes that `serde_json` writes.
pub fn string(into: &mut String, text: &str) {
    let (quotation_mark, backslash, space) = (Block::of(b'"'), Block::of(b'\\'), Block::of(b' '));
    let escaped = |block: Block| block.equals(quotation_mark).or(block.equals(backslash)).or(block.below(space)).bits();
    let mut writer = Writer::after(std::mem::take(into), text.len() + text.len() / 8);
    let mut rest = text.as_bytes();
    writer.push_byte(b'"');
    loop {
        let copied = writer.copy_until(rest, escaped);
        let Some((byte, after)) = rest.get(copied..).and_then(<[u8]>::split_first) else { break };
        escape(&mut writer, *byte);
        rest = after;
    }
    writer.push_byte(b'"');
    #[expect(unsafe_code, reason = "only ASCII characters of the text are replaced, by others")]
    {
        *into = unsafe { writer.into_text() };
    }
}

/// Appends the escape of a control character, a quotation mark or a backslash.
#[inline(always)]
fn escape(writer: &mut Writer, byte: u8) {
    writer.push_byte(b'\\');
    writer.push_byte(match byte {
        b'\n' => b'n',
        b'\t' => b't',
        b'\r' => b'r',
        8 => b'b',
        12 => b'f',
        b'"' | b'\\' => byte,
        _ => return escape_control(writer, byte),
    });
}

/// Appends the rest of the escape of a control character that has no short one.
#[cold]
fn escape_control(writer: &mut Writer, byte: u8) {
    let low = byte & 15;
    [b'u', b'0', b'0', b'0' + (byte >> 4), if low < 10 { b'0' + low } else { b'a' + low - 10 }]
        .into_iter()
        .for_each(|byte| writer.push_byte(byte));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    fn string(text: &str) -> String {
        let mut into = String::new();
        super::string(&mut into, text);
        into
    }

    proptest! {
        #[test]
        fn a_string_is_that_of_serde_json(text in "([ -~é中🦀]{0,40}[\"\\\\\u{0}-\u{20}\u{7f}]{0,3}){0,9}") {
            prop_assert_eq!(string(&text), serde_json::to_string(&text).unwrap());
        }
    }

    #[test]
    fn every_character_below_256_is_that_of_serde_json() {
        for character in '\0'..='\u{ff}' {
            let text = format!("{character}{}{character}", "x".repeat(14));
            assert_eq!(string(&text), serde_json::to_string(&text).unwrap());
        }
    }
}
