//! The specification's `FileOperationResult`.

use paddock_types::rendered::Rendered;
use paddock_types::response::Response;
use serde_json::Value;

use crate::answer::CallContext;
use crate::text::render;

/// Result of a change: the specification's `FileOperationResult`.
pub struct Done {
    operation: &'static str,
    path: String,
    size: Option<u64>,
    backup: Option<String>,
}

impl Done {
    /// An operation that was done at `path`.
    pub fn new(operation: &'static str, path: &str) -> Self {
        Self { operation, path: path.to_owned(), size: None, backup: None }
    }

    /// The same with a size in bytes.
    #[must_use]
    pub fn size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    /// The same with the backup that undoes it.
    #[must_use]
    pub fn backup(mut self, backup: Option<String>) -> Self {
        self.backup = backup;
        self
    }

    /// As the dialect tells it; the text is the operation's own.
    pub fn reported(self, asked: &CallContext<'_>, response: &Response) -> Rendered {
        let members = [
            ("success", Some(true.into())),
            ("operation", Some(self.operation.into())),
            ("path", Some(self.path.into())),
            ("sizeBytes", self.size.map(Value::from)),
            ("backupPath", self.backup.map(Value::from)),
            ("timestamp", asked.now.clone().map(Value::from)),
        ];
        let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Rendered::new(&Value::Object(members.collect()), render(response))
    }
}
