//! The tools in the formats of models' interfaces.

use paddock_protocol::formats::{Describe, Listed};

use crate::types::Tool;

impl Describe for Tool {
    fn listed(&self) -> Listed<'_> {
        Listed {
            name: &self.name,
            title: &self.annotations.title,
            description: &self.description,
            input_schema: &self.input_schema,
            output_schema: &self.output_schema,
            read_only: self.annotations.read_only,
            destructive: self.annotations.destructive,
            idempotent: self.annotations.idempotent,
        }
    }
}
