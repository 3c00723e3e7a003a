//! Search for the id of a request in a message that is too long to be held or parsed.

use crate::envelope::{Id, MAX_ID_BYTES};

/// Reader of the members of a JSON object whose text arrives in pieces. It holds a key or an id at a time, and reads
/// over everything else: a client may write the id before its long parameters or after them.
#[derive(Default)]
pub struct RequestIdReader {
    /// Number of open objects and arrays.
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    /// Text of the current key or value of the outer object, cut off when it is too long for an id.
    token: Vec<u8>,
    is_id_next: bool,
    has_method: bool,
    id: Option<Id>,
}

impl RequestIdReader {
    /// Reads the next bytes of the message.
    pub fn read(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.read_byte(*byte));
    }

    /// Returns the id if it is certain that the message is a request. A response has an id too, but the server's own.
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref().filter(|_| self.has_method)
    }

    /// Removes and returns the id, and prepares for the next message.
    pub fn take(&mut self) -> Option<Id> {
        let this = std::mem::take(self);
        this.id.filter(|_| this.has_method)
    }

    fn read_byte(&mut self, byte: u8) {
        if self.is_in_string {
            self.keep(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b':' if self.depth == 1 => self.end_key(),
            b',' if self.depth == 1 => self.end_value(),
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b'{' | b'[' => {
                // The token is no id from here on: an object or array is none.
                self.keep(byte);
                self.depth = self.depth.saturating_add(1);
            }
            _ => {
                self.is_in_string = byte == b'"';
                if !byte.is_ascii_whitespace() {
                    self.keep(byte);
                }
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= MAX_ID_BYTES {
            self.token.push(byte);
        }
    }

    fn end_key(&mut self) {
        self.is_id_next = self.token == br#""id""#;
        self.has_method |= self.token == br#""method""#;
        self.token.clear();
    }

    fn end_value(&mut self) {
        if self.is_id_next && self.token.len() <= MAX_ID_BYTES {
            self.id = serde_json::from_slice(&self.token).ok();
        }
        self.is_id_next = false;
        self.token.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the id that is known after `text`, read in pieces of every size.
    fn id_in(text: &str) -> Option<Id> {
        let read = |size: usize| {
            let mut reader = RequestIdReader::default();
            text.as_bytes().chunks(size).for_each(|piece| reader.read(piece));
            assert_eq!(reader.id().cloned(), reader.take(), "{text}");
            let known = reader.take();
            assert_eq!(known, None, "{text}");
            text.as_bytes().chunks(size).for_each(|piece| reader.read(piece));
            reader.take()
        };
        let whole = read(text.len());
        assert!((1..8).all(|size| read(size) == whole), "{text}");
        whole
    }

    #[test]
    fn the_id_of_a_request_is_found_before_and_after_its_parameters() {
        let number = Some(Id::Number(7));
        assert_eq!(id_in(r#"{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {"a": ["#), number);
        assert_eq!(
            id_in(r#" {"method":"x","params":{"id":1,"b":[{"id":2}],"c":"\"}"},"jsonrpc":"2.0","id": 7 }"#),
            number
        );
        assert_eq!(id_in(r#"{"id": "a\"}b", "method": "x", "#), Some(Id::Text("a\"}b".into())));
    }

    #[test]
    fn other_ids_are_none() {
        for text in [
            r#"{"jsonrpc": "2.0", "id": 7, "result": {"method": 1}}"#,
            r#"{"method": "x", "params": {"id": 7}, "#,
            r#"{"method": "x", "id": 7"#,
            r#"{"method": "x", "id": {"id": 7}, "#,
            r#"{"method": "x", "id": [7], "#,
            r#"{"method": "x", "id": null, "#,
            r#"[{"method": "x", "id": 7}, "#,
            r#""method", "id": 7"#,
            "}}]],,::",
        ] {
            assert_eq!(id_in(text), None, "{text}");
        }
        let long = "x".repeat(MAX_ID_BYTES);
        assert_eq!(id_in(&format!(r#"{{"method": "x", "id": "{long}", "#)), None);
    }
}
