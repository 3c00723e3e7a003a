//! Outcomes of calls as JSON.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;

use crate::one_line::one_line;
use crate::tools::{Change, Failure, Outcome};

impl Outcome {
    /// Returns the outcome of a call that did not reach the tool.
    pub fn failed(error: Failure) -> Self {
        let hint = error.hint.as_ref().map(|hint| format!("\n{hint}")).unwrap_or_default();
        let text = format!("{}{hint}", error.message);
        Self { result: json!(&error).to_string(), text, error: Some(error), changes: Vec::new() }
    }

    /// Returns the outcome of a call whose arguments are wrong.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::failed(Failure::new("invalid-argument", message))
    }

    /// Returns the outcome as one line of JSON, as the command line prints it: `ok`, `error` if the call failed, `result`,
    /// `text` and `changes`.
    pub fn to_json(&self) -> String {
        // The structure has no map with other keys than strings, the only values that cannot be serialized.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the result as JSON on one line: where each answer is a line, a further line could pass for the answer to
    /// another call.
    pub(crate) fn raw_result(&self) -> Box<RawValue> {
        one_line(&self.result).unwrap_or_default()
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("Outcome", 5)?;
        record.serialize_field("ok", &self.error.is_none())?;
        if let Some(error) = &self.error {
            record.serialize_field("error", error)?;
        }
        record.serialize_field("result", &self.raw_result())?;
        record.serialize_field("text", &self.text)?;
        // A failed call seldom changes anything; if it did, the caller has to know.
        if self.error.is_none() || !self.changes.is_empty() {
            record.serialize_field("changes", &self.changes)?;
        }
        record.end()
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("Failure", 4)?;
        record.serialize_field("code", &self.code)?;
        record.serialize_field("message", &self.message)?;
        record.serialize_field("path", &self.path)?;
        record.serialize_field("hint", &self.hint)?;
        record.end()
    }
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = 2 + usize::from(self.to.is_some()) + usize::from(self.size.is_some());
        let mut record = serializer.serialize_struct("Change", fields)?;
        record.serialize_field("kind", &self.kind)?;
        record.serialize_field("path", &self.path)?;
        if let Some(to) = &self.to {
            record.serialize_field("to", to)?;
        }
        if let Some(size) = &self.size {
            record.serialize_field("size", size)?;
        }
        record.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_one_line_whatever_the_tools_return() {
        let outcome =
            Outcome { result: "{\n\"a\": \"\\n\"}\r\n".to_owned(), text: "a\nb".to_owned(), ..Outcome::default() };
        let json = outcome.to_json();
        assert_eq!(json, r#"{"ok":true,"result":{"a":"\n"},"text":"a\nb","changes":[]}"#);
        let broken = Outcome { result: "{".to_owned(), ..Outcome::default() };
        assert_eq!(broken.to_json(), r#"{"ok":true,"result":null,"text":"","changes":[]}"#);
    }

    #[test]
    fn a_failure_has_the_members_of_the_native_program() {
        let outcome = Outcome::failed(Failure::new("read-only", "cannot write").with_hint("read instead"));
        assert_eq!(
            outcome.to_json(),
            r#"{"ok":false,"error":{"code":"read-only","message":"cannot write","path":null,"hint":"read instead"},"result":{"code":"read-only","message":"cannot write","path":null,"hint":"read instead"},"text":"cannot write\nread instead"}"#
        );
        let changes = vec![Change { kind: "moved".into(), path: "a".into(), to: Some("b".into()), size: Some(1) }];
        let json = Outcome { changes, ..outcome }.to_json();
        assert!(json.ends_with(r#""changes":[{"kind":"moved","path":"a","to":"b","size":1}]}"#), "{json}");
    }
}
