//! Results of operations in the form of `FileOperationResult`.

use paddock_types::rendered::Rendered;
use paddock_types::request;
use paddock_types::response::Response;
use serde_json::Value;

use crate::args::Args;
use crate::dialect::answer::CallContext;
use crate::dialect::spec::{Output, ResultSchema};
use crate::text::render;

/// Schema of the result.
pub const SCHEMA: Output = Output::ResultSchema(&ResultSchema::Object(&[
    ("success", ResultSchema::Flag),
    ("operation", ResultSchema::Text),
    ("path", ResultSchema::Text),
    ("sizeBytes", ResultSchema::Optional(&ResultSchema::Whole)),
    ("backupPath", ResultSchema::Optional(&ResultSchema::Text)),
    ("timestamp", ResultSchema::Text),
]));

/// Result of an operation: the specification's `FileOperationResult`.
pub struct OperationResult {
    operation: &'static str,
    path: String,
    size: Option<u64>,
    backup: Option<String>,
}

impl OperationResult {
    /// Creates the result of an operation on `path`.
    pub fn new(operation: &'static str, path: &str) -> Self {
        Self { operation, path: path.to_owned(), size: None, backup: None }
    }

    /// Sets the size in bytes.
    #[must_use]
    pub fn size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    /// Sets the backup that undoes the operation.
    #[must_use]
    pub fn backup(mut self, backup: Option<String>) -> Self {
        self.backup = backup;
        self
    }

    /// Renders the result; the text is that of the operation itself.
    pub fn reported(self, context: &CallContext<'_>, response: &Response) -> Rendered {
        let members = [
            ("success", Some(true.into())),
            ("operation", Some(self.operation.into())),
            ("path", Some(self.path.into())),
            ("sizeBytes", self.size.map(Value::from)),
            ("backupPath", self.backup.map(Value::from)),
            ("timestamp", context.now.clone().map(Value::from)),
        ];
        let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Rendered::new(&Value::Object(members.collect()), render(response, &context.names))
    }
}

/// Renders the result of a copy or a move.
pub fn transferred(operation: &'static str, context: &CallContext<'_>, response: Response) -> Rendered {
    let (Response::Copy(transfer) | Response::Move(transfer)) = &response else {
        return Rendered::new(&Value::Null, String::new());
    };
    let result = OperationResult::new(operation, &transfer.destination).size(transfer.bytes);
    result.backup(transfer.backup.clone()).reported(context, &response)
}

/// Returns the request of a tool with a source and a destination.
pub fn transfer(args: &Args) -> request::Transfer {
    request::Transfer {
        source: args.text("source_path"),
        destination: args.text("destination_path"),
        overwrite: args.flag("overwrite"),
        recursive: false,
    }
}
