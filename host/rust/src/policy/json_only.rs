//! Formats other than JSON, in a build without the feature `policy-files`. A policy in such a format is an error,
//! since it may contain restrictions.

use super::node::Fault;

const WITHOUT: &str = "this program reads policies in JSON alone, since its library is built without the feature \
    `policy-files`: write it as JSON, in a file whose name ends in `.json`";

pub(super) mod toml {
    use super::super::node::{Fault, Node};

    /// Fails for any text.
    pub(in super::super) fn parse(_: &str) -> Result<Option<Node>, Fault> {
        Err(super::refused())
    }
}

pub(super) mod yaml {
    use super::super::json;
    use super::super::node::{Fault, Node};

    /// Parses an empty text, or JSON, which is YAML too. Fails for any other text.
    pub(in super::super) fn parse(text: &str) -> Result<Option<Node>, Fault> {
        match text.trim() {
            "" => Ok(None),
            text if json::is_json(text) => json::parse(text),
            _ => Err(super::refused()),
        }
    }
}

fn refused() -> Fault {
    Fault::new(1, WITHOUT)
}

#[cfg(test)]
mod tests {
    use super::super::document::Format;

    #[test]
    fn a_policy_that_is_not_json_is_refused() {
        for (format, text) in
            [(Format::Yaml, "read_only: true\n"), (Format::Toml, "read_only = true\n"), (Format::Toml, "")]
        {
            assert!(format.parse(text).unwrap_err().cause.contains("`policy-files`"), "{text}");
        }
        assert_eq!(Format::Yaml.parse(" \n"), Ok(Vec::new()));
        assert_eq!(Format::guess("{\"read_only\": true}").parse("{\"read_only\": true}").unwrap().len(), 1);
    }
}
